"""Settings worth a simulation: what rules give, what vendors ship, and what lies between; as the chip has it.

Their order is fixed: rules first, then defaults, then the space between. Of two that do equally well the
earlier one is recommended, so that a number with a reason is preferred to one without.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shallows.advisor import rules
from shallows.advisor.advised import chosen_alpha, of_transport
from shallows.advisor.fabric import TRANSPORTS, Fabric
from shallows.quantity import percent, size

BETWEEN = (0.1, 0.25, 0.36, 0.5, 1.4)
"""Thresholds in bandwidth-delay products, where rules leave gaps."""

PMAX_OF_RAMPS = (0.1, 0.25, 1.0)
"""Of ramps around the threshold of practice."""

TODAY = "today"


@dataclass(frozen=True)
class Curve:
    """Where marking begins, where it is certain, and the probability below that; a step if both are one."""

    kmin: int
    kmax: int
    pmax: float = 1.0

    @property
    def text(self) -> str:
        """In words."""
        if self.kmin == self.kmax:
            return size(self.kmin)
        return f"{size(self.kmin)} to {size(self.kmax)}, {percent(self.pmax)}"

    def marker(self, **where: Any) -> dict[str, Any]:
        """As a scenario has it."""
        if self.kmin == self.kmax:
            return {"kind": "threshold", "k": f"{self.kmin}B", **where}
        return {"kind": "red", "kmin": f"{self.kmin}B", "kmax": f"{self.kmax}B", "pmax": self.pmax, **where}


@dataclass(frozen=True)
class Candidate:
    """A setting of a switch."""

    name: str
    why: str
    """Where its numbers are from."""
    origin: str
    """`rule`, `default`, `between` or `today`."""
    queues: tuple[Curve | None, ...]
    """The marking of each class's queue; none: nothing is marked there."""
    alpha: float
    pool: Curve | None = None
    sojourn: float | None = None
    """Seconds; instead of curves of queues."""
    follows: int | None = None
    """MQ-ECN's K for a queue that is alone, in bytes; instead of curves of queues."""

    @property
    def settings(self) -> tuple[object, ...]:
        """What makes two candidates the same."""
        return self.queues, self.alpha, self.pool, self.sojourn, self.follows

    @property
    def text(self) -> str:
        """Its numbers in one line."""
        if self.sojourn is not None:
            marking = f"T {rules.seconds(self.sojourn)}"
        elif self.follows is not None:
            marking = f"MQ-ECN {size(self.follows)}"
        else:
            texts = [curve.text if curve else "no marks" for curve in self.queues]
            marking = texts[0] if len(set(texts)) == 1 else " / ".join(texts)
        pool = f", pool {self.pool.text}" if self.pool else ""
        return f"{marking}{pool}, α {rules.alpha_text(self.alpha)}"

    def markers(self, at: str) -> list[dict[str, Any]]:
        """The markers of a scenario whose switches are set so."""
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


@dataclass(frozen=True)
class Default:
    """What a vendor ships, or its documents say."""

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
"""Published settings that are found on many switches, whatever their rate."""


def candidates(fabric: Fabric, today: Candidate | None = None) -> list[Candidate]:
    """All of them in their order, none twice; what runs today is always among them."""
    found: list[Candidate] = []
    for each in [*([today] if today else []), *_rules(fabric), *_defaults(fabric), *_between(fabric)]:
        if all(each.settings != other.settings for other in found):
            found.append(each)
    return found


def step(fabric: Fabric, threshold: float) -> Curve:
    """A threshold, in whole cells."""
    rounded = fabric.rounded(threshold)
    return Curve(rounded, rounded)


def ramp(fabric: Fabric, kmin: float, kmax: float, pmax: float) -> Curve:
    """A ramp, in whole cells and with a probability of the chip's."""
    low, high = fabric.rounded(kmin), fabric.rounded(kmax)
    return Curve(low, high, 1.0 if low == high else fabric.probability(pmax))


def pool_curve(fabric: Fabric, alpha: float) -> Curve | None:
    """BCC's curve of the pool; none where the pool is too small for the rule, or cannot mark."""
    if "pool" not in fabric.marks:
        return None
    buffer, link = fabric.buffer, fabric.links.rate
    needed = rules.required(link, fabric.links.rtt, fabric.need, buffer.private).number
    kmax = rules.pool_kmax(buffer.pool, alpha, needed).number
    kmin = rules.pool_kmin(kmax, link, buffer.ports).number
    return ramp(fabric, kmin, kmax, rules.POOL_PMAX) if kmin >= fabric.silicon.cell else None


def _plain(fabric: Fabric, name: str, why: str, origin: str, threshold: float) -> Candidate:
    curve = step(fabric, threshold)
    return Candidate(name, why, origin, (curve,) * len(fabric.classes), chosen_alpha(fabric))


def _rules(fabric: Fabric) -> Iterator[Candidate]:
    """What the rules give, the standard setting first."""
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
    careful = rules.conservative(buffer.pool, standard.alpha, buffer.ports, buffer.private, fabric.need)
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
    """Thresholds that know of several queues."""
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
    """What vendors ship. A threshold beyond the pool is kept: it never fires, as in such a switch."""
    alpha = chosen_alpha(fabric)
    count = len(fabric.classes)
    yield Candidate("no ECN", "SONiC's lossy queues: no WRED profile", "default", (None,) * count, alpha)
    for each in DEFAULTS:
        curve = ramp(fabric, each.kmin, each.kmax, each.pmax)
        yield Candidate(each.name, each.source, "default", (curve,) * count, alpha)


def _between(fabric: Fabric) -> Iterator[Candidate]:
    """Other thresholds, ramps and α around the rules."""
    limit = fabric.buffer.pool + fabric.buffer.private
    standard = max(of_transport(each, fabric).number for each in fabric.classes)
    for share in BETWEEN:
        if share * fabric.pipe < limit:
            yield _plain(fabric, f"{share:g} BDP", "between the rules", "between", share * fabric.pipe)
    for pmax in PMAX_OF_RAMPS:
        curve = ramp(fabric, standard / 2, min(2 * standard, limit), pmax)
        name = f"ramp, {percent(curve.pmax)}"
        why = "Kmin and Kmax half and twice the threshold of practice"
        yield Candidate(name, why, "between", (curve,) * len(fabric.classes), chosen_alpha(fabric))
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
    """A quarter and four times it, as far as the chip has them."""
    return [each for each in sorted(alphas) if each in {mine / 4, mine * 4}]
