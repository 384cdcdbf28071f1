"""Links of a fabric's file: rate, delays, largest packet and uplinks."""

from dataclasses import dataclass

from shallows.advisor.reading import Table
from shallows.errors import ShallowsError

KEYS = ("rate", "rtt", "delay", "host_delay", "mtu", "ports", "uplinks")

DELAY_S = 1e-6
"""Default delay of a link, one way."""


@dataclass(frozen=True)
class Links:
    """Links between hosts and switches."""

    rate: float
    """Rate of a host's link in bit/s."""
    rtt: float
    """Base round-trip time between two hosts in seconds, including the delays in the hosts."""
    delay: float
    """Delay of one link, one way, in seconds."""
    mtu: int
    ports: int | None
    """Host ports of one switch; None for all ports that are not uplinks."""
    uplinks: int
    """Number of uplinks of each leaf, one to each spine; 0 for a single switch."""
    uplink_rate: float

    @property
    def hops(self) -> int:
        """Return the number of links from one host to another."""
        return 4 if self.uplinks else 2

    @property
    def host_delay(self) -> float:
        """Return the one-way delay in a host: a quarter of the round-trip time that is not spent on links."""
        return max(0.0, (self.rtt - 2 * self.hops * self.delay) / 4)


def links_of(table: Table) -> Links:
    """Read the values about links from a fabric's file.

    Raises
    ------
    ShallowsError
        If rate or round trip are missing, or a value is invalid.
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
    """Return the rate of a link in bit/s."""
    rate = table.quantity("rate", "bits per second", default)
    if not 1e6 <= rate <= 1e13:
        raise table.wrong("rate", "a rate from 1Mbps to 10Tbps")
    return rate


def mtu_of(table: Table) -> int:
    """Return the size of the largest IP packet, in bytes."""
    return table.whole("mtu", 576, 65_535, 1500)


def times_of(table: Table) -> tuple[float, float] | None:
    """Return a link's one-way delay and the base round-trip time in seconds; None if neither is given."""
    hops = 4 if "uplinks" in table.content else 2
    delay = table.quantity("delay", "seconds", DELAY_S)
    if "rtt" in table.content:
        if "host_delay" in table.content:
            raise ShallowsError(
                f"{table.place}: rtt and host_delay must not be given together", "remove rtt or host_delay"
            )
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
        raise table.wrong(
            "rtt",
            f"at least {2 * hops * delay * 1e6:g} us (a round trip crosses {2 * hops} links with a delay "
            f"of {delay * 1e6:g} us each)",
        )
    return delay, rtt
