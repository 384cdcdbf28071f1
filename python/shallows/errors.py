"""Errors with remedies."""

import math
import re
from collections.abc import Iterable, Sequence

LONGEST_WORD, MOST_DIGITS = 400, 40
"""Characters of a word, and digits of a number, that a message repeats as they are."""

LONGEST_PATH = 4096
"""Characters of a word in a remedy, which may be a command with paths."""


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
        self.message = shorten(message)
        self.remedy = shorten(remedy, LONGEST_PATH)
        super().__init__(self.message, self.remedy)

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


def shorten(message: str, longest: int = LONGEST_WORD) -> str:
    """A message whose words are not much longer than paths are; a number of many digits becomes one of few.

    >>> shorten("a load of 1" + 308 * "0")
    'a load of 1e+308'
    >>> len(shorten("there is no " + 9_000 * "x"))
    413
    >>> shorten(f"runs/{45 * '1'}-s1 is damaged") == f"runs/{45 * '1'}-s1 is damaged"
    True
    """
    # Digits in a path are no number.
    message = re.sub(rf"(?<![\w/.-])[0-9.]{{{MOST_DIGITS},}}(?![\w/-])", _rounded, message)
    return re.sub(rf"\S{{{longest + 1},}}", lambda word: f"{word[0][:longest]}…", message)


def _rounded(digits: "re.Match[str]") -> str:
    try:
        number = float(digits[0])
    except ValueError:  # several dots
        return digits[0]
    return digits[0] if math.isinf(number) else f"{number:.6g}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question that names the known word nearest to a mistyped one; nothing if none is near.

    >>> did_you_mean("fctt", ["fct", "queue"])
    "did you mean 'fct'?"
    """
    from difflib import get_close_matches

    near = get_close_matches(word, [*known], n=1)
    return f"did you mean {near[0]!r}?" if near else ""


class ScenarioError(ValueError):
    """A scenario that cannot run; its text says what is wrong, with file, line and column."""


class DefectError(RuntimeError):
    """An assertion failed inside the engine: a defect of Shallows, not of the scenario."""


class UnknownMetric(Exception):  # noqa: N818
    """A part of a metric's name that no run has; `of` says how the metric was called.

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

    def of(self, name: str) -> ShallowsError:
        """The error for users."""
        reason = f": {self.reason}" if self.reason else ""
        return ShallowsError(f"there is no metric {name!r}{reason}", self.remedy)
