"""Errors with remedies, and the shortening of their messages."""

import math
import re
from collections.abc import Iterable, Sequence

LONGEST_WORD, MOST_DIGITS = 400, 40
"""Longest word in characters, and longest number in digits, that a message repeats unchanged."""

LONGEST_PATH = 4096
"""Longest word in a remedy, in characters; remedies may contain commands with long paths."""


class ShallowsError(Exception):
    """An error that the user can correct.

    Parameters
    ----------
    message
        The error, in one line.
    remedy
        The way to correct it, in one line.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message = shorten(message)
        self.remedy = shorten(remedy, LONGEST_PATH)
        super().__init__(self.message, self.remedy)

    def __str__(self) -> str:
        return f"{self.message}\n  {self.remedy}" if self.remedy else self.message


class NoSpaceError(ShallowsError):
    """Error for a write that failed because the disk is full or the user's quota is exhausted."""


class ClaimLostError(ShallowsError):
    """Error for an output folder that another process has taken over or removed."""


NAMED = 12
"""Number of names that an error lists."""


def listed(words: str, names: Sequence[object]) -> str:
    """Return a remedy that lists up to `NAMED` names.

    >>> listed("there are", [1, 2])
    'there are: 1, 2'
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{words}: {', '.join(map(str, names[:NAMED]))}{more}"


def shorten(message: str, longest: int = LONGEST_WORD) -> str:
    """Shorten the words and numbers of a message: words to `longest` characters, long numbers to six digits.

    >>> shorten("a load of 1" + 308 * "0")
    'a load of 1e+308'
    >>> len(shorten("there is no " + 9_000 * "x"))
    413
    >>> shorten(f"runs/{45 * '1'}-s1 is damaged") == f"runs/{45 * '1'}-s1 is damaged"
    True
    """
    # Digits in a path are not a number.
    message = re.sub(rf"(?<![\w/.-])[0-9.]{{{MOST_DIGITS},}}(?![\w/-])", _rounded, message)
    return re.sub(rf"\S{{{longest + 1},}}", lambda word: f"{word[0][:longest]}…", message)


def _rounded(digits: "re.Match[str]") -> str:
    try:
        number = float(digits[0])
    except ValueError:  # several dots: not a number
        return digits[0]
    return digits[0] if math.isinf(number) else f"{number:.6g}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question that suggests the known word nearest to `word`; an empty text if none is near.

    >>> did_you_mean("fctt", ["fct", "queue"])
    "did you mean 'fct'?"
    """
    from difflib import get_close_matches

    near = get_close_matches(word, [*known], n=1)
    return f"did you mean {near[0]!r}?" if near else ""


class ScenarioError(ValueError):
    """Error for a scenario that cannot run; the message names file, line and column."""


class DefectError(RuntimeError):
    """A failed assertion in the engine: a defect of Shallows, not of the scenario."""


class UnknownMetric(Exception):  # noqa: N818
    """Error for an unknown part of a metric's name; `of` returns the error for users, with the full name.

    Parameters
    ----------
    reason
        The wrong part of the name; empty if the whole name is unknown.
    remedy
        The way to correct the name.
    """

    def __init__(self, reason: str = "", remedy: str = "docs/results.md lists the metrics") -> None:
        super().__init__(reason, remedy)
        self.reason = reason
        self.remedy = remedy

    def of(self, name: str) -> ShallowsError:
        """Return the error for users, with the full name of the metric."""
        reason = f": {self.reason}" if self.reason else ""
        return ShallowsError(f"unknown metric {name!r}{reason}", self.remedy)
