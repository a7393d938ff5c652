"""What nobody owns any more: found project by project, while no build of the project runs.

A project is tidied under its lease, so that no build of it begins meanwhile; a project that a run
works on is left out whole. Besides, only what has lain untouched for some days goes.
"""

from orchard.tidying.removal import Removal, Tidied
from orchard.tidying.search import search

__all__ = ["Removal", "Tidied", "search"]
