"""What can go wrong, and what the user can do about it."""

from collections.abc import Sequence


class ShallowsError(Exception):
    """A mistake or a condition that the user can mend.

    Parameters
    ----------
    message
        What was found, in one line.
    remedy
        What to do about it, in one line.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message


class NoSpaceError(ShallowsError):
    """Nothing more can be written: no space is left, or none that this user may have."""


class ClaimLostError(ShallowsError):
    """Another process has taken over what this one was writing, or removed it."""


NAMED = 12
"""How many names an error lists."""


def listed(words: str, names: Sequence[object]) -> str:
    """A remedy that names what there is.

    >>> listed("there are", [1, 2])
    'there are: 1, 2'
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{words}: {', '.join(map(str, names[:NAMED]))}{more}"


class ScenarioError(ValueError):
    """A scenario that cannot run; its text says what is wrong, with file, line and column."""


class DefectError(RuntimeError):
    """An assertion failed inside the engine: a defect of Shallows, not of the scenario."""


class UnknownMetric(Exception):  # noqa: N818
    """A number that no run has; `measures` says how it was called.

    Parameters
    ----------
    reason
        What of its name is wrong, if it is not the whole.
    remedy
        What to write instead.
    """

    def __init__(self, reason: str = "", remedy: str = "docs/claims.md lists them") -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy
