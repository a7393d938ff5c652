"""Bringing bundles into service: stage, prove, switch, go back."""

from orchard.publishing.publisher import Publisher, publisher
from orchard.publishing.switching import go_live, rollback

__all__ = ["Publisher", "go_live", "publisher", "rollback"]
