"""The plan of a build: which branches, with which fixed work, and why. Pure."""

from orchard.planning.costs import Costs
from orchard.planning.plan import make

__all__ = ["Costs", "make"]
