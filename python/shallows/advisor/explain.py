"""Meaning of a switch's configuration: verdict, curves, fate of packets, and findings."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shallows.advisor.configuration import Curve, Pool, Scheduler
from shallows.advisor.finding import SEVERITIES, Finding, together
from shallows.advisor.findings import find
from shallows.advisor.findings_of_marking import never, other_colours
from shallows.advisor.resolved import Class, Limit, Resolved, microseconds, pool_size
from shallows.advisor.unread import Unread, cited
from shallows.collector import paused
from shallows.quantity import digits, percent, ranges, rate, size
from shallows.runs.table import Table

ZONES = ("below the minimum", "in between", "above the maximum", "beyond the limit")
"""Zones of a queue's backlog at a packet's arrival."""


@dataclass(frozen=True)
class Explanation:
    """Complete explanation of a switch's configuration, to print, draw or write as JSON."""

    resolved: Resolved
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """Return a verdict of a few sentences."""
        return " ".join(_verdict(self.resolved, self.findings))

    @property
    def tables(self) -> list[Table]:
        """Return tables of curves, limits and the fate of packets."""
        made = [curves(self.resolved), reached(self.resolved), limits(self.resolved), zones(self.resolved)]
        return [table for table in made if table.rows]

    @property
    def sources(self) -> list[str]:
        """Return the distinct sources of the findings."""
        return list(dict.fromkeys(finding.citation for finding in self.findings if finding.citation))

    def document(self) -> dict[str, Any]:
        """Return the explanation as a JSON document: sizes in bytes, times in µs, rates in bit/s."""
        switch, chip = self.resolved.switch, self.resolved.chip
        return {
            "format": switch.format,
            "name": switch.name,
            "platform": switch.platform,
            "chip": chip.name if chip else None,
            "verdict": self.verdict,
            "classes": [_class_document(self.resolved, each) for each in self.resolved.classes],
            "pools": _pool_documents(self.resolved),
            "findings": [finding.document() for finding in self.findings],
            "understood": switch.understood,
            "unread": [{"file": each.file, "place": each.place, "text": each.text} for each in switch.unread],
            "defaults": [vars(default) for default in switch.defaults],
            "settings": [
                {"name": each.name, "value": each.value, "scope": each.scope} for each in switch.settings
            ],
        }


@paused()
def explain(resolved: Resolved) -> Explanation:
    """Explain a resolved configuration."""
    return Explanation(resolved, find(resolved))


def alike(resolved: Resolved) -> list[list[Class]]:
    """Group classes that have the same marking at ports of one rate."""
    return together(
        resolved.classes,
        lambda each: (_curves(each), each.kmin, each.kmax, each.rate, each.reach, each.unread),
    )


def _curves(each: Class) -> tuple[Curve, ...]:
    return each.marking.curves if each.marking else ()


def _names(classes: Sequence[Class]) -> str:
    names = list(dict.fromkeys(each.marking.name for each in classes if each.marking))
    return (names[0] + (", …" if len(names) > 1 else "")) if names else "–"


def numbers(classes: Sequence[Class]) -> str:
    """Return the numbers of queues as ranges, for use in a table.

    >>> from shallows.advisor.configuration import Queue
    >>> numbers([Class(Queue(n), (), None, None, None, None, None, None, None, None) for n in (0, 1, 2, 5)])
    '0–2, 5'
    """
    return ranges(each.queue.number for each in classes)


def ports(classes: Sequence[Class]) -> int:
    """Count the ports that have a queue of one of these classes."""
    found = {id(profile): len(profile.ports) for each in classes for profile in each.profiles}
    return sum(found.values())


def _ports(classes: Sequence[Class]) -> str:
    """Count the ports, or list name patterns if the number of ports is unknown."""
    names = {port for each in classes for profile in each.profiles for port in profile.ports}
    patterns = sorted(name for name in names if "*" in name)
    return ", ".join(patterns) or (f"{ports(classes):,}" if names else "–")


def curves(resolved: Resolved) -> Table:
    """Tabulate where each queue starts to mark, in bytes, in time and in bandwidth-delay products."""
    columns = ["queues", "served", "profile", "ports", "rate", "marks", "at most", "µs", "BDP"]
    made = []
    for classes in alike(resolved):
        each = classes[0]
        lines = [numbers(classes), served([one.queue.scheduler for one in classes]), _names(classes)]
        lines += [_ports(classes), rate(each.rate) if each.rate else "–"]
        made.append([*lines, *_curve_cells(resolved, each)])
    for pool, curve in pool_curves(resolved):
        made.append([f"pool {pool.name}", "–", pool.marking or "–", "–", "–", *_pool_cells(resolved, curve)])
    notes = []
    if any(each.rate is None for each in resolved.classes):
        notes.append("The rate of the ports is unknown; give it with --rate.")
    if resolved.hints.rtt is None:
        notes.append("Give the round-trip time with --rtt to see bandwidth-delay products.")
    return Table("Where queues mark", columns, made, names=3, note=" ".join(notes))


def _curve_cells(resolved: Resolved, each: Class) -> list[str]:
    if each.curve is None:
        return ["not known" if each.unread else "never", "–", "–", "–"]
    if each.kmin is None or each.kmax is None:
        return [as_written(each.curve), percent_of(each.curve), "–", "–"]
    ends = (each.kmin, each.kmax)
    highest = resolved.highest(each, each.curve)
    most = percent_of(each.curve) if highest is None else percent(float(highest))
    bdp = resolved.bdp(each.rate)
    waits = [digits(microseconds(end, each.rate)) for end in ends] if each.rate else []
    return [
        span([size(end) for end in ends]),
        most,
        span(waits),
        span([digits(end / bdp) for end in ends]) if bdp else "–",
    ]


def reached(resolved: Resolved) -> Table:
    """Tabulate the highest marking probability of each queue, which applies at the queue's limit."""
    busy = resolved.hints.busy
    made = []
    for classes in together(resolved.classes, lambda each: (_curves(each), each.kmin, each.kmax, each.reach)):
        each = classes[0]
        if each.reach:
            most = [percent(float(share)) for _, share in each.reach]
            made.append([numbers(classes), _names(classes), *most])
    return Table(
        "Marked at most, by how many queues are busy",
        ["queues", "profile", *(f"{count} busy" for count in busy)],
        made,
        names=2,
        note="Each cell is the marking probability at the limit of the queue. Above the maximum of "
        "the curve, all packets are marked.",
    )


def pool_curves(resolved: Resolved) -> Iterator[tuple[Pool, Curve]]:
    """Yield pools with marking curves."""
    for pool in resolved.switch.pools:
        marking = resolved.switch.marking(pool.marking)
        curve = marking.marking_curve() if marking else None
        if curve is not None:
            yield pool, curve


def _pool_cells(resolved: Resolved, curve: Curve) -> list[str]:
    cell = resolved.chip.cell.value if resolved.chip and resolved.chip.cell else None
    ends = [each.bytes(cell=cell) if each else None for each in (curve.minimum, curve.maximum)]
    known = [size(end) for end in ends if end is not None]
    return [span(known) if len(known) == 2 else as_written(curve), percent_of(curve), "–", "–"]


def as_written(curve: Curve) -> str:
    """Return thresholds in their written unit.

    >>> from fractions import Fraction
    >>> from shallows.advisor.configuration import Threshold
    >>> as_written(Curve(Threshold(Fraction(787), "cells"), Threshold(Fraction(3937), "cells")))
    '787 – 3,937 cells'
    """
    ends = [each for each in (curve.minimum, curve.maximum) if each is not None]
    if len(ends) < 2 or ends[0].unit != ends[1].unit:
        return "not known"
    unit = {"percent": "% of its limit", "ps": "µs"}.get(ends[0].unit, ends[0].unit)
    scale = 10**6 if ends[0].unit == "ps" else 1
    return f"{span([digits(float(each.amount / scale), 6) for each in ends])} {unit}"


def span(ends: Sequence[str]) -> str:
    """Return a range; one value if both ends are equal.

    >>> span(["1 MB", "2 MB"]), span(["1 MB", "1 MB"]), span([])
    ('1 MB – 2 MB', '1 MB', '–')
    """
    return " – ".join(dict.fromkeys(ends)) or "–"


def percent_of(curve: Curve) -> str:
    """Return the probability at a curve's maximum, in percent."""
    if curve.probability is None:
        return "not known"
    return percent(float(curve.probability))


def served(schedulers: Sequence[Scheduler | None]) -> str:
    """Describe how queues are served: scheduler and weight.

    >>> served([Scheduler("dwrr", 14), Scheduler("dwrr", 15), None])
    'dwrr 14, dwrr 15, …'
    """
    ways = list(dict.fromkeys(_served(scheduler) for scheduler in schedulers))
    return ", ".join(ways[:2]) + (", …" if len(ways) > 2 else "")


def _served(scheduler: Scheduler | None) -> str:
    if scheduler is None:
        return "–"
    share = f"{digits(float(scheduler.percent))} %" if scheduler.percent is not None else scheduler.weight
    return scheduler.kind if share is None or scheduler.kind == "strict" else f"{scheduler.kind} {share}"


def limits(resolved: Resolved) -> Table:
    """Tabulate, for each number of busy queues, a queue's limit and the backlog that pauses its senders."""
    busy = resolved.hints.busy
    made = []
    for classes in together(resolved.classes, lambda each: (_share(each), each.limit, each.group_limit)):
        each = classes[0]
        if each.limit:
            made.append(_limit_row(numbers(classes), _share(each), each.limit))
        if each.group_limit:
            made.append(_limit_row(numbers(classes), "paused at", each.group_limit))
    notes = []
    chip = resolved.chip
    if chip and chip.parts and chip.parts.value > 1 and made:
        notes.append(
            f"{chip.title} has {chip.parts.value} memories ({chip.parts.source}); the division of a pool "
            f"among them is not published, so a queue may get only 1/{chip.parts.value} of these limits."
        )
    if any(each.limit and each.limit.of_chip for each in resolved.classes):
        notes.append(
            "The limits of a pool of unknown size are upper bounds, computed from the chip's whole "
            "memory; set buffer.pool with --fabric."
        )
    columns = ["queues", "share", "pool", *(f"{count} busy" for count in busy)]
    return Table("What the buffer allows", columns, made, names=2, note=" ".join(notes))


def _limit_row(name: str, share: str, limit: Limit) -> list[str]:
    return [name, share, size(limit.memory), *(size(held) for _, held in limit.at)]


def _share(each: Class) -> str:
    allotment = each.queue.allotment
    if each.limit is None or allotment is None:
        return "–"
    if each.limit.dynamic:
        return f"α = {each.limit.alpha}"
    return "fixed" if allotment.limit else "no limit"


def zones(resolved: Resolved) -> Table:
    """Tabulate the fate of packets by the backlog at their arrival."""
    made = []
    rows = {id(each): [*zone_rows(resolved, each)] for each in resolved.classes}
    groups = [*together(resolved.classes, lambda each: (_curves(each), str(rows[id(each)])))]
    counts = Counter(numbers(classes) for classes in groups if rows[id(classes[0])])
    for classes in groups:
        # The profile's name distinguishes queues with the same number at different ports.
        name = (
            numbers(classes) if counts[numbers(classes)] == 1 else f"{numbers(classes)} ({_names(classes)})"
        )
        for bits, row in rows[id(classes[0])]:
            made.append([name, bits, *row])
    return Table(
        "What happens to a packet",
        ["queues", "ECN bits", *ZONES],
        made,
        names=6,
        note="A packet that arrives marked stays marked. The limit depends on how many queues are busy.",
    )


def zone_rows(resolved: Resolved, each: Class) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a class: ECN bits, and the fate of packets in each range of the backlog (`ZONES`)."""
    if not each.marking or not each.marking.curves:
        return
    drops = _dropped(resolved, each)
    yield "00 (not capable)", drops
    if each.curve is not None:
        above = "dropped" if each.curve.drops_above else "marked"
        yield "01, 10 (capable)", _zones(resolved, each, each.curve, "marked", above)
        hard = each.curve.drops_above
        yield "11 (marked before)", ["passed", "passed", "dropped" if hard else "passed", "dropped"]
    else:
        same = ["not known"] * 3 + ["dropped"] if each.unread else drops
        yield "01, 10 (capable)", same
        yield "11 (marked before)", same


def _dropped(resolved: Resolved, each: Class) -> list[str]:
    """Describe the treatment of packets that are not ECN-capable."""
    green = [curve for curve in _curves(each) if curve.colour in ("all", "green")]
    told = {resolved.drops_not_ect(curve): curve for curve in green}
    if True in told:
        return _zones(resolved, each, told[True], "dropped", "dropped")
    if None in told:
        return ["passed", "platform decides", "platform decides", "dropped"]
    return ["passed", "passed", "passed", "dropped"]


def _zones(resolved: Resolved, each: Class, curve: Curve, what: str, above: str) -> list[str]:
    """Describe the effect of a curve on packets in each range of the backlog (`ZONES`)."""
    highest = resolved.highest(each, curve)
    if highest is None:
        return ["passed", f"{what}, up to {percent_of(curve)}", above, "dropped"]
    between = f"{what}, up to {percent(float(highest))}" if highest else "never reached"
    return ["passed", between, "never reached", "dropped"]


def _verdict(resolved: Resolved, findings: Sequence[Finding]) -> Iterator[str]:
    marking = [classes for classes in alike(resolved) if classes[0].curve and not _is_off(classes[0])]
    unread = len(resolved.switch.unread)
    if not resolved.classes:
        yield "No line about queues was understood." if unread else "The file has no settings of queues."
    for classes in marking[:3]:
        yield _marks(resolved, classes)
    if len(marking) > 3:
        yield f"The tables show {len(marking) - 3} more groups of queues that mark."
    for pool, curve in pool_curves(resolved):
        held, most, *_ = _pool_cells(resolved, curve)
        yield f"Pool {pool.name} marks from {_to(held)} with {_most(most)}."
    yield from _silent(resolved, any_marks=bool(marking))
    yield from _unknown(resolved)
    if unread:
        lines = resolved.switch.understood + unread
        yield f"{unread:,} of {lines:,} lines or values about queues were not understood."
    counts = {severity: sum(each.severity == severity for each in findings) for severity in SEVERITIES}
    said = [f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count]
    if said:
        yield f"Found: {', '.join(said)}."
    elif resolved.classes:
        yield "No problem was found."


def _silent(resolved: Resolved, *, any_marks: bool) -> Iterator[str]:
    """Yield sentences about queues that mark nothing, with the backlog at which they drop packets."""
    silent = [each for each in resolved.classes if not each.curve and not each.unread]
    off = [each for each in resolved.classes if _is_off(each)]
    if off:
        yield f"{_queues(off, 'mark')} nothing, because the profile never takes effect."
        hidden = next((each.unread_memory for each in off if each.unread_memory), None)
        if hidden:
            yield f"This is uncertain: {cited(hidden)}."
    some = [each for each in silent if other_colours(each)]
    for classes in together(some, _curves):
        yield f"{_queues(classes, 'mark')} only {' and '.join(other_colours(classes[0]))} packets."
    early = [each for each in silent if resolved.early(each)]
    for classes in together(early, lambda each: (_dropped_early(resolved, each), bool(other_colours(each)))):
        nothing = "" if other_colours(classes[0]) else f"{_verb(classes, 'mark')} nothing and "
        how = _dropped_early(resolved, classes[0])
        yield f"{_subject(classes)} {nothing}{_verb(classes, 'drop')} {how}."
    tail = [each for each in silent if not resolved.early(each) and not other_colours(each)]
    if not tail:
        return
    if len(tail) == len(resolved.classes) and not any_marks:
        yield "No queue marks; all queues drop packets at their limit."
    else:
        platforms = any(each.what[:4] == "ECN " for each in resolved.switch.defaults)
        yield f"{_queues(tail, 'mark')} nothing{' according to the file' if platforms else ''}."


def _dropped_early(resolved: Resolved, each: Class) -> str:
    """Describe early drops: which packets a queue drops, at which backlogs, and with which probability."""
    curve = resolved.early(each)
    assert curve is not None  # noqa: S101 - called only for classes with early drops
    ends = [size(end) for end in resolved.ends(each, curve)]
    highest = resolved.highest(each, curve)
    most = _most(percent_of(curve)) if highest is None else f"at most {percent(float(highest))}"
    where = _to(span(ends) if ends else as_written(curve))
    whom = "" if curve.colour in ("all", "green") else f"{curve.colour} packets "
    return f"{whom}early, from {where} with {most}"


def _unknown(resolved: Resolved) -> Iterator[str]:
    """Yield sentences about queues for which a line on marking or dropping was not understood."""
    for classes in together(resolved.classes, lambda each: each.unread):
        each = classes[0]
        if each.unread is None:
            continue
        silent = [one for one in classes if not one.curve]
        if silent:
            yield f"Whether {_queues(silent, 'mark').lower()} is not known: {cited(each.unread)}."
        else:
            yield f"More about {_subject(classes).lower()} is not known: {cited(each.unread)}."
    marks = Unread(resolved.switch.unread, "marking", "dropping")
    beside = marks.beside(resolved.switch.profiles)
    for port, source in list(beside.items())[:3]:
        yield f"Whether {port} marks is not known: {cited(source)}."
    if len(beside) > 3:
        yield f"The same is true of {len(beside) - 3} more ports."


def _is_off(each: Class) -> bool:
    return each.curve is not None and bool(never(each, each.curve))


def _marks(resolved: Resolved, classes: Sequence[Class]) -> str:
    each = classes[0]
    held, most, wait, bdp = _curve_cells(resolved, each)
    inside = [f"{_to(wait)} µs" if wait != "–" else "", f"{_to(bdp)} BDP" if bdp != "–" else ""]
    aside = ", ".join(part for part in inside if part)
    at = f" at {rate(each.rate)}" if each.rate and aside else ""
    where = "an unknown backlog" if held == "not known" else _to(held)
    up_to = _at_most(each) or f"with {_most(most)}"
    return f"{_queues(classes, 'mark')} from {where}{f' ({aside}{at})' if aside else ''} {up_to}."


def _at_most(each: Class) -> str:
    """Describe the highest reachable probability; empty if the backlog can reach the curve's maximum."""
    if not each.reach or each.limit is None or each.kmax is None or each.curve is None:
        return ""
    held = dict(each.limit.at)
    short = {busy: percent(float(share)) for busy, share in each.reach if held[busy] < each.kmax}
    if not short:
        return ""
    if len(short) < len(held):
        fewer = ", ".join(f"{most} with {busy} busy" for busy, most in short.items())
        return f"with up to {percent_of(each.curve)}, but at most {fewer}"
    first, *others = short.items()
    if len({*short.values()}) == 1:
        return f"with at most {first[1]}, because the limit of the queue is {size(each.limit.most)}"
    more = ", ".join(f"{most} with {busy}" for busy, most in others)
    return f"with at most {first[1]} if no other queue is busy, {more}"


def _most(probability: str) -> str:
    return "an unknown probability" if probability == "not known" else f"up to {probability}"


def _to(text: str) -> str:
    """Replace the dash of a range by "to", for use in a sentence."""
    return text.replace(" – ", " to ")


def _queues(classes: Sequence[Class], verb: str) -> str:
    return f"{_subject(classes)} {_verb(classes, verb)}"


def _subject(classes: Sequence[Class]) -> str:
    return f"Queue{'s' if _several(classes) else ''} {numbers(classes)}"


def _verb(classes: Sequence[Class], verb: str) -> str:
    return verb if _several(classes) else f"{verb}s"


def _several(classes: Sequence[Class]) -> bool:
    text = numbers(classes)
    return "–" in text or "," in text


def _pool_documents(resolved: Resolved) -> list[dict[str, Any]]:
    curves = {each.name: curve for each, curve in pool_curves(resolved)}
    return [_pool_document(resolved, each, curves.get(each.name)) for each in resolved.switch.pools]


def _pool_document(resolved: Resolved, pool: Pool, found: Curve | None) -> dict[str, Any]:
    cell = resolved.chip.cell.value if resolved.chip and resolved.chip.cell else None
    return {
        "name": pool.name,
        "direction": pool.direction,
        "size_bytes": pool_size(pool, resolved.chip, resolved.hints.pool),
        "headroom_bytes": pool.headroom,
        "kmin_bytes": found.minimum.bytes(cell=cell) if found and found.minimum else None,
        "kmax_bytes": found.maximum.bytes(cell=cell) if found and found.maximum else None,
    }


def _class_document(resolved: Resolved, each: Class) -> dict[str, Any]:
    bdp = resolved.bdp(each.rate)
    ends = {"kmin": each.kmin, "kmax": each.kmax}
    zone = dict(zone_rows(resolved, each))
    return {
        "queue": each.queue.number,
        "ports": each.ports,
        "rate_bps": each.rate,
        "served": _served(each.queue.scheduler),
        "lossless": each.queue.lossless,
        "marking": each.marking.name if each.marking else None,
        "marks": "yes" if each.curve else "not known" if each.unread else "no",
        **{f"{name}_bytes": count for name, count in ends.items()},
        **{
            f"{name}_us": microseconds(count, each.rate) if count is not None and each.rate else None
            for name, count in ends.items()
        },
        **{f"{name}_bdp": count / bdp if count is not None and bdp else None for name, count in ends.items()},
        "pmax": float(each.curve.probability) if each.curve and each.curve.probability is not None else None,
        "reach": {busy: float(share) for busy, share in each.reach} or None,
        "limit_bytes": dict(each.limit.at) if each.limit else None,
        "pause_bytes": dict(each.group_limit.at) if each.group_limit else None,
        "zones": {bits: dict(zip(ZONES, row, strict=True)) for bits, row in zone.items()},
    }
