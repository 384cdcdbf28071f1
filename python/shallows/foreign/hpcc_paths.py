"""Longest round-trip time and largest bandwidth-delay product of a network (HPCC's third.cc)."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from shallows.foreign.hpcc_topology import Network
from shallows.foreign.writing import Cable

NS_PER_S = 10**9


class Path(NamedTuple):
    """Path between two nodes. Bytes are transmitted one link after the other."""

    delay_ns: int
    transmission_ns: int
    """Time to transmit the data of a full packet, without headers, on every link."""
    rate: int
    """Smallest rate of the links, in bit/s."""

    def then(self, other: "Path") -> "Path":
        """Return this path followed by another one."""
        delay, transmission = self.delay_ns + other.delay_ns, self.transmission_ns + other.transmission_ns
        return Path(delay, transmission, min(self.rate, other.rate))

    @property
    def rtt_ns(self) -> int:
        """Round-trip time without queues; the acknowledgement is transmitted in no time."""
        return 2 * self.delay_ns + self.transmission_ns

    @property
    def bdp(self) -> int:
        """Bandwidth-delay product in bytes."""
        return self.rtt_ns * self.rate // NS_PER_S // 8


class Longest(NamedTuple):
    """Largest RTT and BDP of all pairs of hosts (`maxRtt` and `maxBdp` of third.cc), and rates of NICs."""

    rtt_ns: int
    bdp: int
    nics: tuple[int, ...]
    """Rates of the hosts' links, in ascending order."""
    of_each_nic: bool = False
    """Whether windows are `rtt_ns` at the rate of the NIC, as in ns3-datacenter, instead of `bdp`."""


def longest(network: Network, payload: int) -> Longest:
    """Return the largest RTT and BDP for packets with `payload` bytes of data; both are 0 without a path.

    Hosts with the same switch, rate and delay have the same paths, so one search per switch suffices.
    """
    inner: dict[str, list[tuple[str, Path]]] = {}
    hosts: dict[str, Counter[Path]] = {}
    for cable in network.cables:
        path = _link(cable, payload)
        one, other = sorted(cable.ends)
        if one.startswith("host"):
            hosts.setdefault(other, Counter())[path] += 1
        else:
            inner.setdefault(one, []).append((other, path))
            inner.setdefault(other, []).append((one, path))
    for links in inner.values():
        links.sort(key=lambda link: int(link[0].removeprefix("switch")))
    found = [path for switch in hosts for path in _pairs(switch, inner, hosts)]
    rtts, bdps = (path.rtt_ns for path in found), (path.bdp for path in found)
    nics = {path.rate for links in hosts.values() for path in links}
    return Longest(
        max(rtts, default=0), max(bdps, default=0), tuple(sorted(nics)), of_each_nic=network.of_powertcp
    )


def _link(cable: Cable, payload: int) -> Path:
    # ns-3 counts in nanoseconds.
    return Path(cable.delay_ps // 1_000, payload * NS_PER_S * 8 // cable.rate, cable.rate)


def _pairs(
    switch: str, inner: dict[str, list[tuple[str, Path]]], hosts: dict[str, Counter[Path]]
) -> Iterator[Path]:
    """Yield the paths from the hosts of a switch to all other hosts; hosts with equal links share a path."""
    for one, count in hosts[switch].items():
        yield from (one.then(other) for other in hosts[switch] if other != one or count > 1)
    for end, path in _shortest(switch, inner).items():
        for one in hosts[switch]:
            yield from (one.then(path).then(other) for other in hosts.get(end, ()))


def _shortest(switch: str, inner: dict[str, list[tuple[str, Path]]]) -> dict[str, Path]:
    """Return the first shortest path to each other switch; the number of links is the length."""
    found: dict[str, Path] = {}
    queue: list[tuple[str, Path | None]] = [(switch, None)]
    for node, path in queue:
        for other, link in inner.get(node, ()):
            if other != switch and other not in found:
                found[other] = path.then(link) if path else link
                queue.append((other, found[other]))
    return found
