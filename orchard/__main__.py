"""`python -m orchard`."""

from __future__ import annotations

import sys

from orchard.cli.main import main

sys.exit(main())
