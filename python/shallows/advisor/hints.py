"""What `shallows explain` is told beside a switch's file: by options, and by a fabric's file."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from shallows.advisor.chips import Chip, Sourced, chip
from shallows.advisor.configuration import PS_PER_SECOND
from shallows.advisor.resolved import Hints
from shallows.bounded import parse_toml, quoted, read_text
from shallows.errors import ShallowsError
from shallows.quantity import parse_quantity

REMEDY = "docs/advisor.md describes a fabric's file"
HIGHEST_RATE = 10**13
"""Bit/s: six times that of the fastest port."""

LONGEST_RTT = 10 * PS_PER_SECOND


def amount(value: object, of: str, what: str) -> Fraction:
    """A quantity of a kind: `seconds`, `bits per second`, `bytes`, or a plain number.

    Raises
    ------
    ShallowsError
        If it is none; it says of `what`.
    """
    examples = {"seconds": "30us", "bits per second": "100Gbps", "bytes": "16MB", "": "0.5"}
    try:
        found = parse_quantity(value)
    except ValueError:
        found = None
    if found is None or found.of != of:
        raise ShallowsError(
            f"{what}: {quoted(str(value))} is no such quantity", f"write {examples[of]}, for example"
        )
    return found.number


def rate_of(value: object, what: str) -> int:
    """Bit/s of a rate above zero."""
    found = amount(value, "bits per second", what)
    if not 0 < found <= HIGHEST_RATE:
        raise ShallowsError(
            f"{what}: {quoted(str(value))} is no rate of a port", "write 100Gbps, for example"
        )
    return int(found)


def rtt_of(value: object, what: str) -> int:
    """Picoseconds of a round-trip time above zero."""
    found = amount(value, "seconds", what) * PS_PER_SECOND
    if not 0 < found <= LONGEST_RTT:
        raise ShallowsError(f"{what}: {quoted(str(value))} is no round-trip time", "write 30us, for example")
    return int(found)


def of_fabric(path: str | Path) -> Hints:
    """Chip, rate, round-trip time and MTU of a fabric's file.

    Raises
    ------
    ShallowsError
        If it cannot be read, or one of these is not what it should be.
    """
    text = read_text(path, remedy=REMEDY)
    try:
        content = parse_toml(text)
    except ValueError as error:
        raise ShallowsError(f"{path} is not TOML: {error}", REMEDY) from None
    links = content.get("links", {})
    if not isinstance(links, Mapping):
        raise ShallowsError(f"{path}: links is no table", REMEDY)
    hints = Hints()
    if "chip" in content:
        hints = replace(hints, chip=_chip(content["chip"], f"{path}: chip"))
    if "rate" in links:
        hints = replace(hints, rate=rate_of(links["rate"], f"{path}: links.rate"))
    if (rtt := _rtt(links, str(path))) is not None:
        hints = replace(hints, rtt=rtt)
    if "mtu" in links:
        mtu = links["mtu"]
        if not isinstance(mtu, int) or isinstance(mtu, bool) or not 64 <= mtu <= 1 << 16:
            raise ShallowsError(f"{path}: links.mtu is no size of a packet", "write 1500, for example")
        hints = replace(hints, mtu=mtu)
    return hints


def _rtt(links: Mapping[str, Any], path: str) -> int | None:
    """As it is given, or as links and hosts make it: each link twice, each host four times."""
    if "rtt" in links:
        return rtt_of(links["rtt"], f"{path}: links.rtt")
    if "host_delay" not in links:
        return None
    hops = 4 if "uplinks" in links else 2
    one = amount(links.get("delay", "1us"), "seconds", f"{path}: links.delay")
    host = amount(links["host_delay"], "seconds", f"{path}: links.host_delay")
    return int((2 * hops * one + 4 * host) * PS_PER_SECOND)


def _chip(given: object, what: str) -> Chip:
    if isinstance(given, str):
        return chip(given)
    if not isinstance(given, Mapping):
        raise ShallowsError(
            f"{what} is neither a name nor a table", "`shallows chips` lists those that are known"
        )
    told = {
        name: amount(given[name], "bytes", f"{what}.{name}") for name in ("memory", "cell") if name in given
    }
    parts = given.get("parts", 1)
    if not isinstance(parts, int) or isinstance(parts, bool) or not 1 <= parts <= 64:
        raise ShallowsError(f"{what}.parts is no number of parts", "write a whole number from 1 to 64")
    if any(value < 1 for value in told.values()):
        raise ShallowsError(f"{what}: memory and cell are at least a byte", REMEDY)
    return Chip(
        name="described",
        title="the fabric's chip",
        family="described",
        aliases=(),
        platforms=(),
        ports=(),
        cell=_told(told.get("cell"), what),
        memory=_told(told.get("memory"), what),
        parts=Sourced(parts, "published", what),
        nominal=None,
        header=None,
        longest_queue=None,
        probabilities=_list(given, "probabilities", what),
        alphas=_list(given, "alphas", what),
        marks_at=Sourced(str(given.get("marks_at", "unknown")), "published", what),
        granularity=Sourced("unknown", "published", what),
        times=False,
    )


def _told(value: Fraction | None, what: str) -> Sourced[int] | None:
    return None if value is None else Sourced(int(value), "published", what)


def _list(given: Mapping[str, Any], name: str, what: str) -> Sourced[tuple[Fraction, ...]] | None:
    if name not in given:
        return None
    values = given[name]
    if not isinstance(values, list) or not values:
        raise ShallowsError(f"{what}.{name} is no list of numbers", REMEDY)
    return Sourced(tuple(amount(value, "", f"{what}.{name}") for value in values), "published", what)
