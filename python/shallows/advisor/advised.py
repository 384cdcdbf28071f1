"""Apply configuration rules from the literature to a fabric, and find rules that contradict each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shallows.advisor import rules
from shallows.advisor.fabric import TRANSPORTS, Fabric, TrafficClass
from shallows.advisor.rules import Advice, bdp
from shallows.advisor.simulated_groups import marks_first
from shallows.quantity import digits, ranges, size

BUSY = (1, 4, 8, 16)
"""Number of busy ports in each row of the table of limits."""

METRE = 5e-9
"""Propagation delay of one metre of fibre, in seconds."""


@dataclass(frozen=True)
class Contradiction:
    """Two rules or common practices that give different numbers, and the reason for the difference."""

    name: str
    numbers: str
    """The numbers that the contradicting rules give for this fabric."""
    cause: str
    applies: str
    """Statement of which rule applies to this fabric."""


def of_transport(each: TrafficClass, fabric: Fabric) -> Advice:
    """Return the threshold K for the transport of a class."""
    link, rtt = fabric.links.rate, fabric.links.rtt
    match each.transport:
        case "dctcp":
            return rules.dctcp_practice(link, rtt)
        case "cubic":
            return rules.cubic(link, rtt)
        case _:
            return rules.halving(link, rtt)


def advised(fabric: Fabric) -> list[Advice]:
    """Return every number that a rule gives for this fabric, from thresholds to the hosts' RTO."""
    return [*_thresholds(fabric), *_classes(fabric), *_buffer(fabric), *_hosts(fabric)]


def _thresholds(fabric: Fabric) -> list[Advice]:
    link, rtt = fabric.links.rate, fabric.links.rtt
    transports = {each.transport for each in fabric.classes}
    found = []
    if "dctcp" in transports:
        practice = rules.dctcp_practice(link, rtt)
        found += [
            rules.dctcp_bound(link, rtt),
            rules.dctcp_fluid(link, rtt),
            rules.dctcp_with_bursts(link, rtt),
            practice,
            rules.dctcp_queue_minimum(link, rtt, practice.number, 2, fabric.links.mtu),
        ]
    if transports & {"ecn-star", "reno"}:
        found.append(rules.halving(link, rtt))
    if "cubic" in transports:
        found.append(rules.cubic(link, rtt))
    return found


def _classes(fabric: Fabric) -> list[Advice]:
    if len(fabric.classes) == 1:
        return []
    queues = [each for each in fabric.classes if not each.strict]
    weights = [each.weight for each in queues]
    first = len(fabric.classes) - len(queues)
    link, rtt = fabric.links.rate, fabric.links.rtt
    alike: dict[tuple[float, float], list[int]] = {}
    for place, each in enumerate(queues):
        alike.setdefault((each.weight, TRANSPORTS[each.transport]), []).append(place)
    found = []
    for (_, share), places in alike.items():
        rule = rules.per_class(link, rtt, weights, places[0], share, first)
        found.append(replace(rule, name=_of_queues([first + place for place in places])))
    return [*found, rules.sojourn(rtt, fabric.need)]


def _of_queues(numbers: Sequence[int]) -> str:
    """Return the name of a threshold that applies to each of these queues.

    >>> _of_queues([2]), _of_queues([0, 1, 2, 5])
    ('K of queue 2, all queues busy', 'K of each of queues 0–2, 5, all queues busy')
    """
    which = f"queue {numbers[0]}" if len(numbers) == 1 else f"each of queues {ranges(numbers)}"
    return f"K of {which}, all queues busy"


def _buffer(fabric: Fabric) -> list[Advice]:
    link, rtt, buffer = fabric.links.rate, fabric.links.rtt, fabric.buffer
    alpha = chosen_alpha(fabric)
    found = [] if buffer.alpha is not None else [_alpha(fabric)]
    queues = [count for count in BUSY if count <= buffer.ports]
    found += [rules.share_of_pool(buffer.pool, alpha, count, buffer.reserved) for count in queues]
    found.append(rules.conservative(buffer.pool, alpha, buffer.ports, buffer.reserved, fabric.need))
    needed = rules.required(link, rtt, fabric.need, buffer.reserved)
    kmax = rules.pool_kmax(buffer.pool, alpha, needed.number)
    found += [needed, kmax, rules.pool_kmin(kmax.number, link, buffer.ports)]
    found.append(rules.burst_limit(buffer.pool, alpha, min(2, buffer.ports), buffer.reserved))
    cable = fabric.links.delay if fabric.lossless else 100 * METRE
    headroom = rules.headroom(link, cable, fabric.links.mtu)
    return [*found, *([headroom] if headroom else []), *_marks_first(fabric)]


def _marks_first(fabric: Fabric) -> list[Advice]:
    """Return advice on the threshold K below which ECN marks packets before PFC pauses their senders.

    The result is empty if a class is lossy, priority groups have a fixed limit, or the engine rejects the
    switch.
    """
    groups, count = fabric.groups, len(fabric.lossless)
    below = marks_first(fabric)
    if below is None or groups.limit is not None:
        return []
    return [rules.marks_before_pauses(fabric.buffer.pool, groups.alpha, fabric.buffer.ports, count, below)]


def _hosts(fabric: Fabric) -> list[Advice]:
    link, buffer = fabric.links.rate, fabric.buffer
    longest = rules.busy_share(buffer.pool, chosen_alpha(fabric), 1) + buffer.reserved
    found = [rules.least_rto(fabric.links.rtt, longest * 8 / link)]
    if fabric.incast:
        window = min(fabric.window, fabric.incast.size)
        found.append(rules.first_windows(fabric.incast.senders, window))
    return found


def _alpha(fabric: Fabric) -> Advice:
    incast = fabric.incast
    burst = incast.senders * min(fabric.window, incast.size) if incast else fabric.pipe
    buffer = fabric.buffer
    return rules.alpha_for(buffer.pool, fabric.silicon.alphas, burst, min(2, buffer.ports), buffer.reserved)


def chosen_alpha(fabric: Fabric) -> float:
    """Return the α in the fabric's file; if the file has none, the α that the rule for bursts gives."""
    return fabric.buffer.alpha if fabric.buffer.alpha is not None else _alpha(fabric).number


def contradictions(fabric: Fabric) -> list[Contradiction]:
    """Return pairs of rules that contradict each other for this fabric, each with the rule that applies."""
    link, rtt, pipe = fabric.links.rate, fabric.links.rtt, fabric.pipe
    transports = {each.transport for each in fabric.classes}
    found = []
    if "dctcp" in transports:
        low, high = rules.dctcp_bound(link, rtt), rules.dctcp_practice(link, rtt)
        found.append(
            Contradiction(
                "0.14, 0.17, 0.72 or 1 bandwidth-delay product",
                f"{low.text} (theory) to {high.text} (practice) and {size(pipe)} (a transport that halves)",
                "different transports, smooth senders or bursts of offload, flows in step or not",
                "hosts here are simulated with "
                + " and ".join(sorted(transports))
                + ", and send window by window without offload: what comes out may be below practice; "
                f"allow {size(rules.TSO)} more where offload is on",
            )
        )
    found += [_which_rtt(fabric), *_queue_or_port(fabric)]
    if fabric.silicon.at == "dequeue":
        where = "this chip marks as packets leave: the signal is not late by the wait"
    else:
        where = "this chip marks as packets come: the signal waits in the queue, K/C longer"
    found.append(
        Contradiction(
            "marked at enqueue or at dequeue",
            f"K/C = {rules.seconds(high_k(fabric) * 8 / link)} of delay, and one packet of "
            f"{size(fabric.links.mtu)}",
            "thresholds of BCC are for dequeue, those of DCTCP and MQ-ECN for enqueue",
            where,
        )
    )
    found += _step_or_ramp(fabric, transports)
    found.append(_alphas(fabric))
    return found


def high_k(fabric: Fabric) -> float:
    """Return the largest threshold that a transport of the fabric needs."""
    return max(of_transport(each, fabric).number for each in fabric.classes)


def _which_rtt(fabric: Fabric) -> Contradiction:
    links = fabric.links
    wire = 2 * links.hops * links.delay
    return Contradiction(
        "which round-trip time",
        f"C·RTT is {size(bdp(links.rate, wire))} for the wires alone, {size(fabric.pipe)} with the hosts",
        "papers mean the base time with hosts, vendors' tables often that of the wires, measurements one "
        "under load",
        f"all rules here take {rules.seconds(links.rtt)}, of which hosts have "
        f"{rules.seconds(links.rtt - wire)}; with "
        "several, the longest decides on throughput",
    )


def _queue_or_port(fabric: Fabric) -> list[Contradiction]:
    count = len(fabric.classes)
    if count == 1:
        return []
    threshold = high_k(fabric)
    return [
        Contradiction(
            "threshold of a queue, or of a port",
            f"{size(threshold)} for each of {count} queues allows {size(count * threshold)} at the port",
            "rules are for one queue that has the link; vendors' defaults are for each queue of several",
            "queues share the link here: K_i by weight, MQ-ECN or TCN keep what one K promises",
        )
    ]


def _step_or_ramp(fabric: Fabric, transports: set[str]) -> list[Contradiction]:
    if "dctcp" not in transports:
        return []
    link, rtt, mtu = fabric.links.rate, fabric.links.rtt, fabric.links.mtu
    backlogs = [rules.ramp_backlog(link, rtt, flows, 2**20, 2**21, 0.05, mtu) for flows in (1, 8)]
    return [
        Contradiction(
            "one step, or a ramp",
            f"on SONiC's ramp of 1 to 2 MiB, 5 %, one long flow settles at {size(backlogs[0])}, eight at "
            f"{size(backlogs[1])}: {digits(backlogs[0] / fabric.pipe)} and "
            f"{digits(backlogs[1] / fabric.pipe)} C·RTT",
            "on a ramp DCTCP settles where p(q) = 2/W; DCQCN wants a ramp, DCTCP a step",
            "classes here run DCTCP: a step, or a ramp with Pmax = 100 %",
        )
    ]


def _alphas(fabric: Fabric) -> Contradiction:
    buffer = fabric.buffer
    few, many = max(fabric.silicon.alphas), min(each for each in fabric.silicon.alphas if each >= 1 / 16)
    numbers = [
        f"α = {rules.alpha_text(alpha)}: {size(rules.busy_share(buffer.pool, alpha, 1))} for one busy queue, "
        f"{size(rules.busy_share(buffer.pool, alpha, buffer.ports))} each for {buffer.ports}"
        for alpha in (few, many)
    ]
    degree = fabric.incast.senders if fabric.incast else 0
    side = (
        f"an incast of {degree} to one port asks for a large α"
        if degree
        else "no incast is described: bursts of single flows matter, and small α protects them"
    )
    return Contradiction(
        "large or small α",
        "; ".join(numbers),
        "a large α absorbs the burst of one busy queue, a small one keeps room for those that come later",
        side,
    )
