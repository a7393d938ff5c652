"""The project's own exceptions: a headline, the offending value and the way out."""

from __future__ import annotations

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_BAD_INPUT = 64
EXIT_TRY_AGAIN = 75


class OrchardError(Exception):
    """Something went wrong that a person can understand.

    Args:
        headline: one sentence that says what was wrong.
        value: the offending value, as it was given; left out of the text when empty.
        way_out: what the person can do about it.
    """

    exit_code = EXIT_FAILED

    def __init__(self, headline: str, *, value: object = None, way_out: str = "") -> None:
        self.headline = headline
        self.value = value
        self.way_out = way_out
        super().__init__(headline)

    def __str__(self) -> str:
        parts = [self.headline.rstrip(".") + "."]
        if self.value is not None:
            parts.append(f"Value: {self.value!r}.")
        if self.way_out:
            parts.append(self.way_out.rstrip(".") + ".")
        return " ".join(parts)


class BadInput(OrchardError):
    """The input cannot be used as it is; trying again without a change is of no use (exit 64)."""

    exit_code = EXIT_BAD_INPUT


class NotFound(BadInput):
    """A named thing (project, data set, endpoint, …) does not exist."""


class TryAgain(OrchardError):
    """An engine is away or busy; the same call may succeed later (exit 75)."""

    exit_code = EXIT_TRY_AGAIN
