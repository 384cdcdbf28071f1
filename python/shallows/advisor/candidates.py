"""Candidate settings to simulate: from rules, from vendors, and values in between that the chip supports.

The order is fixed: the current setting, rules, vendors' defaults, values in between. If two candidates are
equally good, the earlier one is recommended; therefore, numbers with a reason come first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from shallows.advisor import rules
from shallows.advisor.advised import chosen_alpha, of_transport
from shallows.advisor.fabric import TRANSPORTS, Fabric
from shallows.advisor.lossless import ALPHAS, Groups
from shallows.advisor.simulated_groups import fits, marks_first, needed, planned
from shallows.quantity import percent, size

BETWEEN = (0.1, 0.25, 0.36, 0.5, 1.4)
"""Thresholds in bandwidth-delay products that fill gaps between the rules' thresholds."""

PMAX_OF_RAMPS = (0.1, 0.25, 1.0)
"""Maximum probabilities of ramps around the threshold that operators use for DCTCP."""

TODAY = "today"

LEAST_SHIFT = 0.02
"""Minimum change in some class's share of the link for other weights to become a candidate."""


@dataclass(frozen=True)
class Curve:
    """A marking curve with a linear probability between two thresholds.

    Marking starts at the first threshold and is certain from the second on. Equal thresholds make a step.
    """

    kmin: int
    kmax: int
    pmax: float = 1.0

    @property
    def text(self) -> str:
        """Return the curve in words."""
        if self.kmin == self.kmax:
            return size(self.kmin)
        return f"{size(self.kmin)} to {size(self.kmax)}, {percent(self.pmax)}"

    def marker(self, **where: Any) -> dict[str, Any]:
        """Return the curve as a scenario's marker."""
        if self.kmin == self.kmax:
            return {"kind": "threshold", "k": f"{self.kmin}B", **where}
        return {"kind": "red", "kmin": f"{self.kmin}B", "kmax": f"{self.kmax}B", "pmax": self.pmax, **where}


@dataclass(frozen=True)
class Candidate:
    """A setting of a switch."""

    name: str
    why: str
    """Reason for the candidate's numbers, such as a rule's formula and source."""
    origin: str
    """Kind of the reason: `rule`, `default` (of a vendor), `between` (rules) or `today` (as configured)."""
    queues: tuple[Curve | None, ...]
    """Marking of each class's queue; None for no marking."""
    alpha: float
    pool: Curve | None = None
    sojourn: float | None = None
    """Threshold on a packet's waiting time, in seconds; replaces the queue curves."""
    follows: int | None = None
    """MQ-ECN's K for a queue that is busy alone, in bytes; replaces the queue curves."""
    groups: Groups | None = None
    """Priority groups of lossless classes; None without such classes."""
    weights: tuple[float, ...] | None = None
    """Weights of the classes' queues in the round robin; None for the fabric's weights."""
    lossy: bool = True
    """Whether some class is lossy; α limits the queues of lossy classes only."""

    @property
    def settings(self) -> tuple[object, ...]:
        """Return a key that is equal for candidates with equal settings."""
        alpha = self.alpha if self.lossy else None
        return self.queues, alpha, self.pool, self.sojourn, self.follows, self.groups, self.weights

    @property
    def text(self) -> str:
        """Return the numbers of the setting in one line."""
        if self.sojourn is not None:
            marking = f"T {rules.seconds(self.sojourn)}"
        elif self.follows is not None:
            marking = f"MQ-ECN {size(self.follows)}"
        else:
            texts = [curve.text if curve else "no marks" for curve in self.queues]
            marking = texts[0] if len(set(texts)) == 1 else " / ".join(texts)
        pool = f", pool {self.pool.text}" if self.pool else ""
        alpha = f", α {rules.alpha_text(self.alpha)}" if self.lossy else ""
        groups = f", {self.groups.text}" if self.groups else ""
        weights = f", weights {weights_text(self.weights)}" if self.weights else ""
        return f"{marking}{pool}{alpha}{groups}{weights}"

    def markers(self, at: str) -> list[dict[str, Any]]:
        """Return the markers of a scenario with this setting."""
        found: list[dict[str, Any]] = []
        if self.sojourn is not None:
            found.append({"kind": "tcn", "threshold": f"{self.sojourn * 1e9:.0f}ns"})
        elif self.follows is not None:
            found.append({"kind": "mq-ecn", "k": f"{self.follows}B"})
        elif len(set(self.queues)) == 1:
            found += [curve.marker(at=at) for curve in self.queues[:1] if curve]
        else:
            found += [curve.marker(at=at, queues=[place]) for place, curve in enumerate(self.queues) if curve]
        if self.pool:
            found.append(self.pool.marker(at=at, scope="pool"))
        return found


def weights_text(weights: Sequence[float]) -> str:
    """Format weights.

    >>> weights_text((8, 18.0, 22.5))
    '8/18/22.5'
    """
    return "/".join(f"{each:g}" for each in weights)


@dataclass(frozen=True)
class Default:
    """A setting that a vendor ships or documents."""

    name: str
    kmin: int
    kmax: int
    pmax: float
    source: str


DEFAULTS = (
    Default("SONiC 1–2 MiB", 1_048_576, 2_097_152, 0.05, "sonic-buildimage: the template of 182 platforms"),
    Default(
        "SONiC 2–10 MB", 2_000_000, 10_000_000, 0.05, "sonic-buildimage: Tomahawk 2, Spectrum-3, Jericho 2"
    ),
    Default(
        "SONiC 167–283 KB",
        166_912,
        282_624,
        0.05,
        "sonic-buildimage: Tomahawk 5 and Spectrum-4, lossy queues",
    ),
    Default("Cumulus 150–1500 KB", 150_000, 1_500_000, 1.0, "Cumulus Linux 5.13, default-global"),
    Default("NX-OS 150–3000 KB", 150_000, 3_000_000, 0.07, "Cisco's guides for AI and ML fabrics"),
    Default("step of 300 KB", 300_000, 300_000, 1.0, "Azure Local's network design"),
)
"""Published settings that are found on many switches, whatever the rate of the ports."""


def candidates(fabric: Fabric, today: Candidate | None = None) -> list[Candidate]:
    """Return all distinct settings to simulate, in a fixed order, including the current setting."""
    found: list[Candidate] = []
    mine = [*_rules(fabric), *_defaults(fabric), *_between(fabric)]
    if fabric.lossless:
        mine = _with_groups(fabric, mine)
    for each in [*([today] if today else []), *mine]:
        if all(each.settings != other.settings for other in found):
            found.append(each)
    return found


def _with_groups(fabric: Fabric, mine: Sequence[Candidate]) -> list[Candidate]:
    """Return settings with the planned priority groups, and settings that vary groups and weights."""
    groups, lossy = planned(fabric), fabric.has_lossy
    # The simulation of lossless classes has no markers that act when packets leave.
    found = [replace(each, groups=groups, lossy=lossy) for each in mine if each.sojourn is None]
    standard = next(each for each in found if each.name == "standard")
    if below := marks_first(fabric):
        first = below // fabric.silicon.cell * fabric.silicon.cell
        if first > fabric.links.mtu:
            why = f"K ≤ αB/(n·(1 + cα)) ({rules.DCQCN} §4)"
            queues = (Curve(first, first),) * len(fabric.classes)
            first_marks = replace(standard, name="ECN first", why=why, queues=queues)
            found.insert(found.index(standard) + 1, first_marks)
    return [*found, *_jointly(fabric, standard, groups)]


def _jointly(fabric: Fabric, standard: Candidate, base: Groups) -> Iterator[Candidate]:
    """Yield variants of `standard`: the combinations of weights, α of priority groups, and headroom."""
    for weights, alpha, (name, headroom) in product(
        (None, *_weightings(fabric)), _group_alphas(fabric, base), _headrooms(fabric, base)
    ):
        groups = replace(headroom, alpha=alpha)
        if groups == base and weights is None:
            continue
        parts = [f"PFC α {rules.alpha_text(alpha)}"] if alpha != base.alpha else []
        parts += [name] if name else []
        parts += [f"weights {weights_text(weights)}"] if weights else []
        named = f"standard, {', '.join(parts)}"
        yield replace(standard, name=named, origin="between", groups=groups, weights=weights)


def _weightings(fabric: Fabric) -> Iterator[tuple[float, ...]]:
    """Yield weights in proportion to the load of each class, unless the fabric already has these weights."""
    weighted = [each for each in fabric.classes if not each.strict]
    total, share = sum(each.weight for each in weighted), sum(each.share for each in weighted)
    own = tuple(
        each.weight if each.strict else float(max(1, round(100 * each.share / share)))
        for each in fabric.classes
    )
    if any(abs(each.weight / total - each.share / share) > LEAST_SHIFT for each in weighted):
        yield own


def _group_alphas(fabric: Fabric, base: Groups) -> list[float]:
    if base.limit is not None or "alpha" in fabric.fixed:
        return [base.alpha]
    possible = [each for each in fabric.silicon.alphas if each in ALPHAS]
    return [base.alpha, *_neighbours(possible, base.alpha)]


def _headrooms(fabric: Fabric, base: Groups) -> Iterator[tuple[str, Groups]]:
    """Yield pairs of a name and priority groups.

    The first pair has an empty name and the groups `base`. A second pair has pooled headroom if each group of
    `base` has its own headroom, and separate headroom if `base` has a pool. The second pair is left out if
    the fabric's file sets the headroom, or if the headroom takes too much memory.
    """
    yield "", base
    if {"headroom", "headroom_pool"} & {*fabric.fixed}:
        return
    if base.pool is not None:
        other = "headroom of each group", replace(base, headroom=None, pool=None)
    else:
        groups = fabric.buffer.ports * len(fabric.lossless)
        half = groups * (base.headroom or needed(fabric)) // 2
        other = f"pool of headroom {size(half)}", replace(base, pool=half)
    if fits(fabric, other[1]):
        yield other


def step(fabric: Fabric, threshold: float) -> Curve:
    """Return a step curve at this threshold, rounded to whole cells."""
    rounded = fabric.rounded(threshold)
    return Curve(rounded, rounded)


def ramp(fabric: Fabric, kmin: float, kmax: float, pmax: float) -> Curve:
    """Return a ramp with thresholds in whole cells and a maximum probability that the chip supports."""
    low, high = fabric.rounded(kmin), fabric.rounded(kmax)
    return Curve(low, high, 1.0 if low == high else fabric.probability(pmax))


def pool_curve(fabric: Fabric, alpha: float) -> Curve | None:
    """Return BCC's marking curve for a pool; None if the pool is too small or cannot mark packets."""
    if "pool" not in fabric.marks:
        return None
    buffer, link = fabric.buffer, fabric.links.rate
    needed = rules.required(link, fabric.links.rtt, fabric.need, buffer.reserved).number
    kmax = rules.pool_kmax(buffer.pool, alpha, needed).number
    kmin = rules.pool_kmin(kmax, link, buffer.ports).number
    return ramp(fabric, kmin, kmax, rules.POOL_PMAX) if kmin >= fabric.silicon.cell else None


def _plain(fabric: Fabric, name: str, why: str, origin: str, threshold: float) -> Candidate:
    curve = step(fabric, threshold)
    return Candidate(name, why, origin, (curve,) * len(fabric.classes), chosen_alpha(fabric))


def _rules(fabric: Fabric) -> Iterator[Candidate]:
    """Yield the settings that rules give.

    `standard` has the usual threshold of each class's transport. BCC precedes it if BCC's rule applies.
    """
    practice = [of_transport(each, fabric) for each in fabric.classes]
    standard = Candidate(
        "standard",
        "; ".join(dict.fromkeys(f"{advice.formula} ({advice.source})" for advice in practice)),
        "rule",
        tuple(step(fabric, advice.number) for advice in practice),
        chosen_alpha(fabric),
    )
    buffer, link, rtt = fabric.buffer, fabric.links.rate, fabric.links.rtt
    if pool := pool_curve(fabric, standard.alpha):
        why = f"{standard.why}; Kmax = B − B_R/α, Kmin = Kmax − C·N·h ({rules.BCC})"
        yield replace(standard, name="BCC", why=why, pool=pool)
    yield standard
    careful = rules.conservative(buffer.pool, standard.alpha, buffer.ports, buffer.reserved, fabric.need)
    yield _plain(fabric, "conservative", f"{careful.formula} ({rules.BCC} §III-B)", "rule", careful.number)
    if "dctcp" in {each.transport for each in fabric.classes}:
        for name, advice in (
            ("fluid", rules.dctcp_fluid(link, rtt)),
            ("bound and burst", rules.dctcp_with_bursts(link, rtt)),
        ):
            yield _plain(fabric, name, f"{advice.formula} ({advice.source})", "rule", advice.number)
    yield _plain(fabric, "1 BDP", f"K = C·RTT ({rules.BCC} §II-B)", "rule", fabric.pipe)
    if len(fabric.classes) > 1:
        yield from _of_classes(fabric, standard)


def _of_classes(fabric: Fabric, standard: Candidate) -> Iterator[Candidate]:
    """Yield the rules' settings for several queues: K by weight, MQ-ECN and TCN."""
    link, rtt = fabric.links.rate, fabric.links.rtt
    weights = [each.weight for each in fabric.classes if not each.strict]
    first = len(fabric.classes) - len(weights)
    shares = [TRANSPORTS[each.transport] for each in fabric.classes]
    split = [
        rules.per_class(link, rtt, weights, place, shares[first + place]).number
        for place in range(len(weights))
    ]
    own = (*standard.queues[:first], *(step(fabric, threshold) for threshold in split))
    yield replace(standard, name="K by weight", why=f"K_i = C·RTT·λ·w_i/Σw ({rules.MQ_ECN} §2)", queues=own)
    if "mq-ecn" in fabric.marks and not first:
        alone = fabric.rounded(fabric.pipe * fabric.need)
        why = f"K_i = min(quantum_i/T_round, C)·RTT·λ ({rules.MQ_ECN})"
        yield replace(standard, name="MQ-ECN", why=why, follows=alone)
    if "sojourn" in fabric.marks:
        time = rules.sojourn(rtt, fabric.need)
        yield replace(standard, name="TCN", why=f"{time.formula} ({time.source})", sojourn=time.number)


def _defaults(fabric: Fabric) -> Iterator[Candidate]:
    """Yield vendors' defaults, including those that never mark because their threshold exceeds the pool."""
    alpha = chosen_alpha(fabric)
    count = len(fabric.classes)
    yield Candidate("no ECN", "SONiC's lossy queues: no WRED profile", "default", (None,) * count, alpha)
    for each in DEFAULTS:
        curve = ramp(fabric, each.kmin, each.kmax, each.pmax)
        yield Candidate(each.name, each.source, "default", (curve,) * count, alpha)


def _between(fabric: Fabric) -> Iterator[Candidate]:
    """Yield settings with thresholds, ramps and values of α near the values that rules give."""
    limit = fabric.buffer.pool + fabric.buffer.reserved
    standard = max(of_transport(each, fabric).number for each in fabric.classes)
    for share in BETWEEN:
        if share * fabric.pipe < limit:
            yield _plain(fabric, f"{share:g} BDP", "between the rules", "between", share * fabric.pipe)
    for pmax in PMAX_OF_RAMPS:
        curve = ramp(fabric, standard / 2, min(2 * standard, limit), pmax)
        name = f"ramp, {percent(curve.pmax)}"
        why = "Kmin and Kmax half and twice the threshold of practice"
        yield Candidate(name, why, "between", (curve,) * len(fabric.classes), chosen_alpha(fabric))
    if fabric.has_lossy:
        # α limits the queues of lossy classes only.
        yield from _other_alphas(fabric, standard)


def _other_alphas(fabric: Fabric, standard: float) -> Iterator[Candidate]:
    mine = chosen_alpha(fabric)
    for alpha in _neighbours(fabric.alphas(), mine):
        curve = step(fabric, standard)
        name = f"standard, α {rules.alpha_text(alpha)}"
        yield Candidate(name, "another α", "between", (curve,) * len(fabric.classes), alpha)
        if pool := pool_curve(fabric, alpha):
            yield Candidate(
                f"BCC, α {rules.alpha_text(alpha)}",
                "another α",
                "between",
                (curve,) * len(fabric.classes),
                alpha,
                pool,
            )


def _neighbours(alphas: Sequence[float], mine: float) -> list[float]:
    """Return a quarter of α and four times α, as far as the chip supports these values."""
    return [each for each in sorted(alphas) if each in {mine / 4, mine * 4}]
