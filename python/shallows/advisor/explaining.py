"""Explains a switch's configuration: reads its files, and returns or writes the explanation."""

from collections.abc import Sequence
from pathlib import Path

from shallows.advisor import explain as explaining
from shallows.advisor import readers
from shallows.advisor.explain import Explanation
from shallows.advisor.explained_page import page
from shallows.advisor.hints import hints_of
from shallows.advisor.resolved import resolve
from shallows.runs.folder import check_writable, write_whole


def explain(
    files: str | Path | Sequence[str | Path],
    *,
    fabric: str | Path | None = None,
    chip: str | None = None,
    rate: str | None = None,
    rtt: str | None = None,
    html: str | Path | None = None,
) -> Explanation:
    """Explain a switch's configuration: marking thresholds, buffer limits, drops and findings.

    Parameters
    ----------
    files
        A file, several files of one switch, or a folder, in a format of docs/advisor.md.
    fabric
        A fabric's file with chip, rate and round-trip time.
    chip
        Name of the chip, from `chips()`.
    rate
        Rate of ports for which the files state no rate, such as `"100Gbps"`.
    rtt
        Base round-trip time without queues, such as `"30us"`.
    html
        File for the explanation as a page.

    Returns
    -------
    Explanation
        `verdict`, `findings` and `tables`; `document()` returns everything for `json.dumps`.

    Raises
    ------
    ShallowsError
        If a file cannot be read or written, or a value is invalid.

    Examples
    --------
    >>> import shallows as sh
    >>> path = folder / "qdisc.txt"
    >>> _ = path.write_text(
    ...     "qdisc red 1: dev eth0 root limit 400000b min 30000b max 90000b ewma 3 probability 0.1 ecn"
    ... )
    >>> sh.explain(path, rate="10Gbps", rtt="50us").findings[0].code
    'averaged'
    """
    if html is not None:
        check_writable(Path(html).parent)
    given = [files] if isinstance(files, str | Path) else list(files)
    paths = [str(each) for each in given]
    found = explaining.explain(resolve(readers.read(paths), hints_of(fabric, chip, rate, rtt)))
    if html is not None:
        write_whole(Path(html), page(found, paths))
    return found
