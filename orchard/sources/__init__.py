"""Where data come from: import roots, URIs, folders and archives, judged before they are read."""

from orchard.sources.base import Entry, Limits, Refusal, Source
from orchard.sources.listing import Listing

__all__ = ["Entry", "Limits", "Listing", "Refusal", "Source"]
