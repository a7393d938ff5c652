"""The servers of the local profile: what they are, how they start, stop and are looked at."""
