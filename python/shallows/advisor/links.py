"""Links of a fabric's file: rate, delays, the largest packet, and what leads upwards."""

from dataclasses import dataclass

from shallows.advisor.reading import Table
from shallows.errors import ShallowsError

KEYS = ("rate", "rtt", "delay", "host_delay", "mtu", "ports", "uplinks")

DELAY_S = 1e-6
"""Of a link, one way, unless the file says otherwise."""


@dataclass(frozen=True)
class Links:
    """What connects hosts and switches."""

    rate: float
    """Of a host's link, in bit/s."""
    rtt: float
    """Base round trip between two hosts, in seconds, with all that hosts need."""
    delay: float
    """Of one link, one way."""
    mtu: int
    ports: int | None
    """To hosts, of one switch; nothing: all that are no uplinks."""
    uplinks: int
    """Of each leaf, to as many spines; 0: one switch."""
    uplink_rate: float

    @property
    def hops(self) -> int:
        """Links from one host to another."""
        return 4 if self.uplinks else 2

    @property
    def host_delay(self) -> float:
        """Spent in each host, one way: what of the round trip the links do not explain."""
        return max(0.0, (self.rtt - 2 * self.hops * self.delay) / 4)


def links_of(table: Table) -> Links:
    """All that the file says of links.

    Raises
    ------
    ShallowsError
        If rate or round trip are missing, or something cannot be.
    """
    rate = rate_of(table)
    uplinks, uplink_rate = 0, rate
    if "uplinks" in table.content:
        inner = Table(f"{table.place}.uplinks", table.content["uplinks"], ("count", "rate"))
        uplinks, uplink_rate = inner.whole("count", 1, 64), rate_of(inner, rate)
    times = times_of(table)
    if times is None:
        raise table.need("rtt", 'a measured round-trip time such as "80us", or delay and host_delay')
    delay, rtt = times
    ports = table.whole("ports", 1, 1024) if "ports" in table.content else None
    return Links(rate, rtt, delay, mtu_of(table), ports, uplinks, uplink_rate)


def rate_of(table: Table, default: float | None = None) -> float:
    """Bit/s of a link."""
    rate = table.quantity("rate", "bits per second", default)
    if not 1e6 <= rate <= 1e13:
        raise table.wrong("rate", "a rate from 1Mbps to 10Tbps")
    return rate


def mtu_of(table: Table) -> int:
    """Bytes of the largest IP packet."""
    return table.whole("mtu", 576, 65_535, 1500)


def times_of(table: Table) -> tuple[float, float] | None:
    """Delay of a link, one way, and base round trip between hosts, in seconds; nothing if neither is said."""
    hops = 4 if "uplinks" in table.content else 2
    delay = table.quantity("delay", "seconds", DELAY_S)
    if "rtt" in table.content:
        if "host_delay" in table.content:
            raise ShallowsError(f"{table.place}: both rtt and host_delay are given", "leave one of them out")
        rtt = table.quantity("rtt", "seconds")
        if "delay" not in table.content:
            delay = min(delay, rtt / (2 * hops))
    elif "host_delay" in table.content:
        rtt = 2 * hops * delay + 4 * table.quantity("host_delay", "seconds")
    else:
        return None
    if not 1e-7 <= rtt <= 10:
        raise table.wrong("rtt", "a round-trip time from 100ns to 10s")
    if rtt < 2 * hops * delay * (1 - 1e-9):
        raise table.wrong("rtt", f"as long as {2 * hops} links of {delay * 1e6:g} us")
    return delay, rtt
