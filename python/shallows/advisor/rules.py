"""Rules of the literature: one function per rule, with its formula and source.

Rates are in bits per second, times in seconds, sizes in bytes. This module depends on neither fabric nor
chip; `advised.py` applies the rules.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from shallows.advisor import lossless
from shallows.quantity import digits, percent, rate, size

PACKET = 1500
"""Size in bytes of the packets in which DCTCP's authors count their thresholds."""

TSO = 65_536
"""Maximum number of bytes that a host with segmentation offload passes to its NIC at once (GSO in Linux)."""

FLUID = 0.17
"""Threshold K that DCTCP needs in a fluid model, as a share of a bandwidth-delay product."""

LAMBDA_DCTCP = 0.72
"""Threshold K that DCTCP needs with the bursts of real hosts, as a share of a bandwidth-delay product."""

LAMBDA_HALVING = 1.0
"""Threshold K that a window-halving transport needs, as a share of a bandwidth-delay product."""

H = 8e-6
"""BCC's h, in seconds: Kmin = Kmax − C·N·h for N ports of rate C."""

POOL_PMAX = 0.1
"""BCC's Pmax: marking probability at the upper threshold of a pool."""

Unit = Literal["B", "s", "packets", "share", "alpha"]

D10 = "DCTCP (Alizadeh et al., SIGCOMM '10)"
BCC = "BCC (Bai et al., INFOCOM '20)"
MQ_ECN = "MQ-ECN (Bai et al., NSDI '16)"
DCQCN = "DCQCN (Zhu et al., SIGCOMM '15)"
DT = "Choudhury and Hahne (IEEE/ACM ToN, 1998)"


@dataclass(frozen=True)
class Advice:
    """A number from a rule, with everything needed to check it."""

    name: str
    number: float
    unit: Unit
    formula: str
    inputs: tuple[tuple[str, str], ...]
    """Symbols of the formula with their values."""
    source: str
    valid_for: str

    @property
    def text(self) -> str:
        """Return the number with its unit."""
        return said(self.number, self.unit)

    @property
    def given(self) -> str:
        """Return the inputs of the rule in one line."""
        return ", ".join(f"{symbol} = {text}" for symbol, text in self.inputs)


def said(number: float, unit: Unit) -> str:
    """Format a number with its unit.

    >>> said(142_857.1, "B"), said(5e-3, "s"), said(8e-6, "s"), said(0.1, "share"), said(0.5, "alpha")
    ('143 KB', '5 ms', '8 µs', '10 %', '1/2')
    """
    match unit:
        case "B":
            return size(number)
        case "s":
            return seconds(number)
        case "share":
            return percent(number)
        case "alpha":
            return alpha_text(number)
        case "packets":
            return f"{digits(number)} packets"


def seconds(value: float) -> str:
    """Format a time in a suitable unit.

    >>> seconds(0.25), seconds(0.0024), seconds(57.6e-6), seconds(0)
    ('250 ms', '2.4 ms', '57.6 µs', '0 s')
    """
    for scale, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if value == 0 or abs(value) * scale >= 1:
            return f"{digits(value * scale)} {unit}"
    return f"{digits(value * 1e9)} ns"


def alpha_text(alpha: float) -> str:
    """Format an alpha as switches write it: a power of two.

    >>> alpha_text(8), alpha_text(0.0078125)
    ('8', '1/128')
    """
    return digits(alpha) if alpha >= 1 else f"1/{digits(1 / alpha)}"


def bdp(link: float, rtt: float) -> float:
    """Return the bandwidth-delay product C · RTT in bytes.

    >>> round(bdp(100e9, 80e-6))
    1000000
    """
    return link * rtt / 8


def _pipe(link: float, rtt: float) -> tuple[tuple[str, str], ...]:
    return ("C", rate(link)), ("RTT", seconds(rtt)), ("C·RTT", size(bdp(link, rtt)))


def dctcp_bound(link: float, rtt: float) -> Advice:
    """Return the smallest K at which synchronised long flows never empty the queue."""
    return Advice(
        "K, DCTCP's bound",
        bdp(link, rtt) / 7,
        "B",
        "K > C·RTT / 7",
        _pipe(link, rtt),
        f"{D10} §3.4",
        "synchronised long flows that send smoothly; no bursts of offload",
    )


def dctcp_queue_minimum(link: float, rtt: float, k: float, flows: int, packet: int = PACKET) -> Advice:
    """Return the lowest backlog of N synchronised flows, in packets; if negative, the link idles."""
    pipe, threshold = bdp(link, rtt) / packet, k / packet
    amplitude = math.sqrt(2 * flows * (pipe + threshold)) / 2
    return Advice(
        "Qmin, DCTCP's analysis",
        threshold + flows - amplitude,
        "packets",
        "Qmin = K + N − ½·√(2N·(C·RTT + K))",
        (*_pipe(link, rtt), ("K", size(k)), ("N", f"{flows}"), ("packet", size(packet))),
        f"{D10} §3.3",
        "N ≤ 10 synchronised long flows; the link never idles if Qmin is above zero",
    )


def dctcp_fluid(link: float, rtt: float) -> Advice:
    """Return the K that DCTCP needs for full throughput in the fluid model."""
    return Advice(
        "K, DCTCP as a fluid",
        FLUID * bdp(link, rtt),
        "B",
        "K = 0.17·C·RTT",
        _pipe(link, rtt),
        "Alizadeh, Javanmard and Prabhakar (SIGMETRICS '11), as quoted in BCC §II-B",
        "hosts that pace; 94 % of the throughput even with K = 0",
    )


def dctcp_with_bursts(link: float, rtt: float, burst: float = TSO) -> Advice:
    """Return DCTCP's smallest K (`dctcp_bound`) plus one burst of a NIC with segmentation offload."""
    return Advice(
        "K, DCTCP with offload",
        bdp(link, rtt) / 7 + burst,
        "B",
        "K = C·RTT / 7 + burst",
        (*_pipe(link, rtt), ("burst", size(burst))),
        f"{D10} §3.5, Fig. 14: bursts of 30 to 40 packets add to K; the sum of both terms is ours",
        "TSO or GSO on: one segment of 64 KiB reaches the queue at the rate of the NIC",
    )


def dctcp_practice(link: float, rtt: float) -> Advice:
    """Return K as operators set it for DCTCP: 20 or 65 packets up to 10 Gb/s, then a share of the BDP."""
    if link <= 10e9:
        packets = 20 if link <= 1e9 else 65
        return Advice(
            "K, DCTCP in practice",
            packets * PACKET,
            "B",
            f"K = {packets} packets",
            (("C", rate(link)), ("packet", size(PACKET))),
            f"{D10} §4; the defaults of Linux' documentation",
            "1 and 10 Gb/s with RTTs of 100 to 300 µs, offloads on",
        )
    return Advice(
        "K, DCTCP in practice",
        LAMBDA_DCTCP * bdp(link, rtt),
        "B",
        "K = 0.72·C·RTT",
        _pipe(link, rtt),
        f"{BCC} §II-B, Fig. 1: 250 KB at 100 Gb/s and some 30 µs; 0.6 to 0.7 with Windows",
        "Linux hosts with offloads; what papers call the standard setting",
    )


def halving(link: float, rtt: float) -> Advice:
    """Return the K of a transport that halves its window at a mark."""
    return Advice(
        "K, ECN* and Reno",
        LAMBDA_HALVING * bdp(link, rtt),
        "B",
        "K = C·RTT",
        _pipe(link, rtt),
        f"{BCC} §II-B; {MQ_ECN} §2",
        "few long flows; dividing K by √n (Appenzeller et al., SIGCOMM '04) is not safe with few flows",
    )


def cubic(link: float, rtt: float, beta: float = 0.7) -> Advice:
    """Return the K that CUBIC needs; at a mark, CUBIC multiplies its window by `beta`."""
    return Advice(
        "K, CUBIC with ECN",
        (1 - beta) / beta * bdp(link, rtt),
        "B",
        "K = (1 − β)/β · C·RTT",
        (*_pipe(link, rtt), ("β", digits(beta))),
        "derived: a window of C·RTT + K times β must still fill C·RTT; β of RFC 9438",
        "one long flow; Alternative Backoff (RFC 8511) reduces the window less and needs a smaller K",
    )


def per_class(
    link: float, rtt: float, weights: Sequence[float], place: int, share: float, first: int = 0
) -> Advice:
    """Return MQ-ECN's threshold of one round-robin queue while all queues are busy.

    The first queue of the round robin has the number `first`.
    """
    part = weights[place] / sum(weights)
    return Advice(
        f"K of queue {first + place}, all queues busy",
        min(part, 1.0) * bdp(link, rtt) * share,
        "B",
        "K_i = min(quantum_i / T_round, C)·RTT·λ",
        (
            *_pipe(link, rtt),
            ("quantum_i/T_round", rate(part * link)),
            ("λ", digits(share)),
        ),
        f"{MQ_ECN} §4, Eq. 3",
        "WRR and DWRR; K of a single busy queue is C·RTT·λ, and MQ-ECN adapts K to the busy queues",
    )


def sojourn(rtt: float, share: float) -> Advice:
    """Return TCN's threshold on the waiting time of a packet."""
    return Advice(
        "T, sojourn time",
        rtt * share,
        "s",
        "T = RTT·λ",
        (("RTT", seconds(rtt)), ("λ", digits(share))),
        "TCN (Bai et al., CoNEXT '16)",
        "any scheduler, on chips that mark departing packets by their sojourn time",
    )


def busy_share(pool: float, alpha: float, busy: int) -> float:
    """Return the bytes that each of `busy` queues holds in a pool under Dynamic Threshold.

    >>> round(busy_share(3_145_728, 4, 8))
    381300
    """
    return alpha * pool / (1 + busy * alpha)


def share_of_pool(pool: float, alpha: float, busy: int, reserved: float = 0) -> Advice:
    """Return the limit of a queue while `busy` queues are busy."""
    return Advice(
        f"limit of a queue, {busy} busy",
        busy_share(pool, alpha, busy) + reserved,
        "B",
        "αB / (1 + nα) + S",
        (("α", alpha_text(alpha)), ("B", size(pool)), ("n", str(busy)), ("S", size(reserved))),
        DT,
        "the steady state; a K above this limit never marks while n queues are busy",
    )


def conservative(pool: float, alpha: float, busy: int, reserved: float, share: float) -> Advice:
    """Return the largest K that still leaves room for one round trip of packets when all ports are busy."""
    limit = busy_share(pool, alpha, busy) + reserved
    return Advice(
        "K, conservative",
        limit * share / (1 + share),
        "B",
        "K = (αB / (1 + nα) + S)·λ / (1 + λ)",
        (
            ("α", alpha_text(alpha)),
            ("B", size(pool)),
            ("n", str(busy)),
            ("S", size(reserved)),
            ("λ", digits(share)),
        ),
        f"{BCC} §III-B requires a K below the average buffer of a port, and uses 200 KB; leaving the rest to "
        "C·RTT, in the proportion of B_R, is ours",
        "all ports busy at once; reduces throughput while few ports are busy",
    )


def required(link: float, rtt: float, share: float, reserved: float = 0) -> Advice:
    """Return the buffer that a queue needs for full throughput without losses."""
    return Advice(
        "B_R, buffer of a queue",
        bdp(link, rtt) * (1 + share) - reserved,
        "B",
        "B_R = C·RTT·(1 + λ) − S_min",
        (*_pipe(link, rtt), ("λ", digits(share)), ("S_min", size(reserved))),
        f"{BCC} §IV-C",
        "slow start, which doubles the arrivals for one round trip and so adds C·RTT to the threshold",
    )


def pool_kmax(pool: float, alpha: float, needed: float) -> Advice:
    """Return BCC's upper threshold of a pool; negative if the pool is too small for one queue."""
    return Advice(
        "Kmax of the pool, BCC",
        pool - needed / alpha,
        "B",
        "Kmax = B − B_R / α",
        (("B", size(pool)), ("B_R", size(needed)), ("α", alpha_text(alpha))),
        f"{BCC} Eq. 2",
        "pools of equal ports under Dynamic Threshold; with several α, the smallest applies",
    )


def pool_kmin(kmax: float, link: float, ports: int, h: float = H) -> Advice:
    """Return BCC's lower threshold of a pool."""
    return Advice(
        "Kmin of the pool, BCC",
        kmax - bdp(link, h) * ports,
        "B",
        "Kmin = Kmax − C·N·h",
        (("Kmax", size(kmax)), ("C", rate(link)), ("N", str(ports)), ("h", seconds(h))),
        f"{BCC} Eq. 3",
        f"h = 8 µs is the paper's rule of thumb; Pmax = {percent(POOL_PMAX)} goes with it",
    )


def burst_limit(pool: float, alpha: float, busy: int, reserved: float = 0) -> Advice:
    """Return the burst in bytes that an idle queue can absorb while `busy` other queues are at their limits.

    Each of the other queues holds αB/(1 + nα), so B/(1 + nα) of the memory is free. The queue of the burst
    may grow to α times the free memory. The burst therefore gets α/(1 + α) of the memory that was free, if
    the other queues do not shrink meanwhile.
    """
    left = pool / (1 + busy * alpha)
    return Advice(
        f"burst that fits, {busy} busy",
        left * alpha / (1 + alpha) + reserved,
        "B",
        "B / (1 + nα) · α / (1 + α) + S",
        (("B", size(pool)), ("α", alpha_text(alpha)), ("n", str(busy)), ("S", size(reserved))),
        f"{DT}; the last step is ours",
        "bursts that are faster than the other queues drain; simulate such bursts if they matter",
    )


def alpha_for(pool: float, alphas: Sequence[float], burst: float, busy: int, reserved: float = 0) -> Advice:
    """Return the largest α of a chip at which a burst fits, or else the α that absorbs most of the burst."""
    best = max(sorted(alphas), key=lambda alpha: burst_limit(pool, alpha, busy, reserved).number)
    fitting = [each for each in sorted(alphas) if burst_limit(pool, each, busy, reserved).number >= burst]
    chosen = fitting[-1] if fitting else best
    return Advice(
        "α of Dynamic Threshold",
        chosen,
        "alpha",
        "the largest α with B/(1 + nα) · α/(1 + α) + S ≥ burst",
        (("B", size(pool)), ("n", str(busy)), ("S", size(reserved)), ("burst", size(burst))),
        f"{DT}; the condition is ours",
        "a large α favours few busy queues, a small α the queues that become busy last"
        + ("" if fitting else f"; no α admits the whole burst, {alpha_text(best)} admits the largest part"),
    )


def first_windows(senders: int, window: float) -> Advice:
    """Return the bytes that an incast sends to a port at once."""
    return Advice(
        "first windows of an incast",
        senders * window,
        "B",
        "n·IW",
        (("n", str(senders)), ("IW", size(window))),
        "arithmetic; initial windows of RFC 6928",
        "answers of at least one window; packets beyond αB/(1 + α) are lost, and a sender that loses its "
        "whole window waits for a timeout",
    )


def headroom(link: float, cable: float, mtu: int) -> Advice | None:
    """Return the headroom for data that arrives after the decision to pause; `cable` is a one-way delay.

    The result is None for a rate for which IEEE 802.3 has no response time.
    """
    terms = lossless.headroom(lossless.Wire(round(link), round(cable * 1e12), mtu))
    if terms is None:
        return None
    return Advice(
        "headroom of a lossless priority",
        float(terms["needed_bytes"]),
        "B",
        "own frame + pause frame + 2·C·cable + response + the peer's frame + the frame beyond the limit",
        (
            ("C", rate(link)),
            ("cable", seconds(cable)),
            ("MTU", size(mtu)),
            ("response", size(terms["response_bytes"])),
        ),
        "IEEE 802.1Qbb; the response is IEEE 802.3 Annex 31B's",
        "lossless priorities only; chips need more for cells, pipelines and a margin",
    )


def marks_before_pauses(pool: float, alpha: float, ports: int, classes: int, below: float) -> Advice:
    """Return the rule for the threshold K below which ECN marks packets before PFC pauses their senders.

    `below` is this threshold, as the engine computes it.
    """
    return Advice(
        "K, marks before pauses",
        below,
        "B",
        "K ≤ αB / (n·(1 + cα))",
        (("α", alpha_text(alpha)), ("B", size(pool)), ("n", str(ports)), ("c", str(classes))),
        f"{DCQCN} §4",
        "only lossless classes, n ports, c lossless classes, any traffic; in whole cells of the chip",
    )


def least_rto(rtt: float, queueing: float, delayed_ack: float = 0.0) -> Advice:
    """Return the smallest RTO that no queue triggers spuriously."""
    return Advice(
        "RTOmin",
        max(5e-3, 10 * (rtt + queueing) + delayed_ack),
        "s",
        "max(5 ms, 10·(RTT + longest wait) + delayed acknowledgement)",
        (("RTT", seconds(rtt)), ("longest wait", seconds(queueing)), ("delayed ack", seconds(delayed_ack))),
        "Vasudevan et al. (SIGCOMM '09): a few milliseconds; 5 ms in BCC and MQ-ECN, 10 ms in DCTCP; "
        "factor 10 is ours",
        "hosts with timers of a millisecond; Linux needs `ip route … rto_min` or tcp_rto_min_us",
    )


def ramp_backlog(
    link: float, rtt: float, flows: int, kmin: float, kmax: float, pmax: float, packet: int
) -> float:
    """Return the backlog at which DCTCP's long flows settle on a ramp: p(q) = 2/W, W = (C·RTT + q)/N.

    >>> [round(ramp_backlog(100e9, 30e-6, n, 2**20, 2**21, 0.05, 1500) / 1e6, 2) for n in (1, 8, 32)]
    [1.09, 1.34, 1.92]
    """
    low, high = kmin, kmax

    def excess(backlog: float) -> float:
        window = (bdp(link, rtt) + backlog) / (flows * packet)
        return pmax * (backlog - kmin) / (kmax - kmin) - 2 / window

    if kmax <= kmin or excess(high) < 0:
        return kmax
    while high - low > 1:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high
