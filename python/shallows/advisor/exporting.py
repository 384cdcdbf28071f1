"""Translates a switch's configuration to another vendor's format."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shallows.advisor import readers, writers
from shallows.advisor.hints import hints_of
from shallows.advisor.units import converted
from shallows.foreign.writing import refuse_existing
from shallows.runs.folder import check_writable, write_whole


@dataclass(frozen=True)
class Exported:
    """A switch's configuration in another format."""

    text: str
    inexpressible: tuple[str, ...]
    """Settings that the format lacks, one sentence each."""
    unread: tuple[str, ...]
    """Lines of the source that were not understood, with their places."""
    path: Path | None = None
    """The written file, if there is one."""


def export_switch(
    sources: str | Path | Sequence[str | Path],
    to: str,
    out: str | Path | None = None,
    *,
    fabric: str | Path | None = None,
    chip: str | None = None,
    rate: str | None = None,
    force: bool = False,
) -> Exported:
    """Translate a switch's configuration to another vendor's format.

    Parameters
    ----------
    sources
        A file, several files of one switch, or a folder, in a format of docs/advisor.md.
    to
        Target format: `sonic`, `eos`, `avd`, `nvue`, `nxos`, `junos` or `tc`.
    out
        File to write; none by default.
    fabric, chip, rate
        Facts that the sources lack, as for `explain`.
    force
        Whether to replace an existing file.

    Raises
    ------
    ShallowsError
        If a file cannot be read or written, the format is unknown, or a value is invalid.

    Examples
    --------
    >>> import shallows as sh
    >>> path = folder / "qdisc.txt"
    >>> _ = path.write_text(
    ...     "qdisc red 1: dev eth0 root limit 400000b min 30000b max 90000b ewma 3 probability 0.1 ecn"
    ... )
    >>> sh.export_switch(path, "nvue", rate="10Gbps").text.splitlines()[0].split()[0]
    'nv'
    """
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    switch = readers.read([str(each) for each in given])
    made = converted(switch, to, hints_of(fabric, chip, rate))
    text = writers.write(to, None, made.switch)
    path = None
    if out is not None:
        path = Path(out)
        refuse_existing([path], force=force)
        check_writable(path.parent)
        write_whole(path, text.change)
    unread = tuple(f"{source}: {source.text}" for source in switch.unread)
    return Exported(text.change, (*made.said, *text.inexpressible), unread, path)
