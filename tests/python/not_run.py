"""List of the tests that were not run, by reason, with the command that installs the missing requirement."""

from collections import Counter
from collections.abc import Sequence

INSTALL = "; install it with: "


def needs(what: str, command: str) -> str:
    """Return the reason of a test that is skipped until `command` has installed `what`."""
    return f"needs {what}{INSTALL}{command}"


def lines(reasons: Sequence[str], run: int) -> list[str]:
    """Return the list for the end of a test run.

    Parameters
    ----------
    reasons
        The reason of each test that was not run.
    run
        Number of tests that were run.
    """
    if not reasons:
        return [f"All {run:,} tests were run."]
    rows = []
    for reason, count in Counter(reasons).most_common():
        # A reason takes one line, even if a program has printed several.
        why, _, command = " ".join(reason.split()).partition(INSTALL)
        rows.append((f"{count:5,}  {why}", command))
    width = max(len(why) for why, command in rows if command) if any(command for _, command in rows) else 0
    total = len(reasons)
    return [
        f"{total:,} of {total + run:,} tests were not run:",
        *(f"{why:{width}}  {command}".rstrip() for why, command in rows),
    ]
