"""`python -m trainers <command> …`: the entry point of a training pod."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence

from orchard.errors import EXIT_BAD_INPUT, OrchardError

# Each command is imported only when it is called: most need Paddle, which takes seconds to load.
COMMANDS = {
    "backbones": "trainers.backbones.store:main",
    "trial": "trainers.trial:main",
}


def main(arguments: Sequence[str]) -> int:
    """Run the command that the first argument names; its exit code (see `orchard.errors`)."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    if not arguments or arguments[0] not in COMMANDS:
        print(f"usage: python -m trainers {{{','.join(COMMANDS)}}} …", file=sys.stderr)
        return EXIT_BAD_INPUT
    module, function = COMMANDS[arguments[0]].split(":")
    try:
        return int(getattr(importlib.import_module(module), function)(arguments[1:]))
    except OrchardError as error:
        logging.getLogger(__name__).error("%s", error)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
