"""Values for `shallows explain` that a switch's file lacks: from options and from a fabric's file."""

from dataclasses import replace
from pathlib import Path

from shallows.advisor import links
from shallows.advisor.chips import Chip, chip
from shallows.advisor.configuration import PS_PER_SECOND
from shallows.advisor.fabric import buffer_table, pool_of
from shallows.advisor.reading import KEYS, Table, load
from shallows.advisor.resolved import Hints
from shallows.advisor.silicon import chip_of


def hints_of(
    fabric: str | Path | None = None,
    chip_name: str | None = None,
    rate: str | None = None,
    rtt: str | None = None,
) -> Hints:
    """Return `Hints` from a fabric's file; the other arguments override the values in that file.

    Raises
    ------
    ShallowsError
        If the file cannot be read, the chip is unknown, or a value is invalid.
    """
    beside = of_fabric(fabric) if fabric is not None else Hints()
    return of_options(rate, rtt, chip(chip_name) if chip_name is not None else None, beside)


def of_options(rate: str | None, rtt: str | None, named: Chip | None, beside: Hints) -> Hints:
    """Return `Hints` from command-line options; if an option is missing, its value comes from `beside`.

    Raises
    ------
    ShallowsError
        If an option is invalid.
    """
    given = {key: value for key, value in (("rate", rate), ("rtt", rtt)) if value is not None}
    told = _of_links(Table("--rate and --rtt", given, links.KEYS), named)
    # Rates and round-trip times are never zero.
    return replace(
        beside, chip=named or beside.chip, rate=told.rate or beside.rate, rtt=told.rtt or beside.rtt
    )


def of_fabric(path: str | Path) -> Hints:
    """Return chip, rate, round-trip time and MTU from a fabric's file, if the file states them.

    Raises
    ------
    ShallowsError
        If the file cannot be read, or one of these values is invalid.
    """
    table = Table(str(path), load(path), KEYS)
    of_links = Table(f"{path}: links", table.content.get("links", {}), links.KEYS)
    rate = links.rate_of(of_links) if "rate" in of_links.content else None
    known = chip_of(table.content["chip"], str(path), rate) if "chip" in table.content else None
    buffer = buffer_table(str(path), table.content.get("buffer", {}))
    return replace(
        _of_links(of_links, known),
        pool=int(pool_of(buffer)) if "pool" in buffer.content else None,
        reserved=int(buffer.quantity("reserved", "bytes", 0.0)),
    )


def _of_links(table: Table, known: Chip | None) -> Hints:
    times = links.times_of(table)
    return Hints(
        chip=known,
        rate=int(links.rate_of(table)) if "rate" in table.content else None,
        rtt=None if times is None else round(times[1] * PS_PER_SECOND),
        mtu=links.mtu_of(table),
    )
