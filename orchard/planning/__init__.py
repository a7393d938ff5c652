"""The plan of a build: which branches, with which fixed work, and why. Pure."""

from orchard.planning.plan import make
from orchard.tasks.costs import Costs

__all__ = ["Costs", "make"]
