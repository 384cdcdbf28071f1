"""Findings about curves: marks, drops, and rounding by the chip."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from shallows.advisor.configuration import COLOURS, Curve, Marking, Threshold
from shallows.advisor.finding import DT, Finding, Rule, queues, together
from shallows.advisor.resolved import Class, Resolved, microseconds
from shallows.advisor.unread import cited
from shallows.quantity import digits, percent, rate, size

WRED = "SAI: saiwred.h; sonic-mgmt pull request 8179"
RFC8257 = "RFC 8257 §3.1, §5"
LATE_US = 1000.0
"""Largest plausible threshold in µs: more than a millisecond suggests a wrong unit or port rate."""

LATEST_US = 2500.0
"""Largest plausible curve maximum in µs: vendors ship at most 2,400 µs (SONiC's 12 MB at 40 Gb/s)."""

FEWEST = 256
"""Smallest plausible threshold in bytes. The cells of one small packet exceed any smaller threshold."""


def never_fires(resolved: Resolved) -> Iterator[Finding]:
    """Find curves whose minimum no backlog can reach."""
    for each, curve in _marking(resolved):
        reason = never(each, curve)
        if reason:
            yield Finding(
                "never-fires",
                "warning",
                f"{each.marking.name if each.marking else ''} at {queues([each])} never marks: {reason}"
                + (f"; this is uncertain: {cited(each.unread_memory)}" if each.unread_memory else ""),
                "the buffer drops packets before any is marked; many templates disable marking in this way",
                "lower the minimum below the limit of the queue, or remove the profile to disable marking",
                DT,
                curve.source,
            )


def never(each: Class, curve: Curve) -> str:
    """Explain why a curve marks nothing; empty if it can mark."""
    if curve.probability == 0 and (each.kmax is None or each.limit is None or each.kmax >= each.limit.most):
        return "the probability is 0"
    if each.kmin is None or each.limit is None:
        return ""
    if each.kmin >= each.limit.memory:
        return f"marking begins at {size(each.kmin)}, but the pool has only {size(each.limit.memory)}"
    if each.kmin >= each.limit.most:
        return f"marking begins at {size(each.kmin)}, but the limit of the queue is {size(each.limit.most)}"
    return ""


def fires_after_limit(resolved: Resolved) -> Iterator[Finding]:
    """Find marking curves that begin beyond a queue's limit when several queues are busy."""
    for each, curve in _marking(resolved):
        if each.kmin is None or each.limit is None or not each.limit.dynamic or never(each, curve):
            continue
        late = [(count, share) for count, share in each.limit.at if share <= each.kmin]
        if late:
            count, share = late[0]
            yield Finding(
                "fires-after-limit",
                "warning",
                f"{queues([each])}: with {count} busy queues, the limit of each is {size(share)}, "
                f"but marking begins at {size(each.kmin)}",
                "when several ports are busy, packets are dropped before any packet is marked",
                f"begin marking below {size(share)}, or mark by the pool{_or_alpha(resolved, each)}",
                DT,
                curve.source,
            )


def maximum_beyond_limit(resolved: Resolved) -> Iterator[Finding]:
    """Find curves whose end no backlog can reach, so that their highest probability is never applied."""
    for each, curve in _marking(resolved):
        if not each.reach or each.limit is None or each.kmax is None or each.kmin is None:
            continue
        short = [
            (busy, share, held)
            for (busy, share), (_, held) in zip(each.reach, each.limit.at, strict=True)
            if each.kmin < held < each.kmax
        ]
        if not short or never(each, curve):
            continue
        busy, share, held = short[0]
        alone = busy == each.limit.at[0][0]
        others = ", ".join(f"{percent(float(most))} with {count}" for count, most, _ in short[1:])
        yield Finding(
            "maximum-beyond-limit",
            "warning" if alone else "note",
            f"{queues([each])}: the curve ends at {size(each.kmax)}, but with {busy} busy "
            f"{'queue the limit' if busy == 1 else 'queues the limit of each'} is {size(held)}: at most "
            f"{percent(float(share))} of packets are marked{f', {others}' if others else ''}",
            "the buffer drops packets before the curve reaches its maximum, so few senders learn of "
            "congestion, and they learn late",
            f"end the curve below {size(held)}",
            DT,
            curve.source,
        )


def _or_alpha(resolved: Resolved, each: Class) -> str:
    """Suggest a larger alpha if the chip has one."""
    alpha = each.queue.allotment.alpha if each.queue.allotment else None
    has = resolved.chip.alphas.value if resolved.chip and resolved.chip.alphas else ()
    return "" if alpha is None or (has and alpha >= max(has)) else ", or raise α"


def no_profile(resolved: Resolved) -> Iterator[Finding]:
    """Find queues that mark nothing, whether they drop early or at their limit."""
    without = [each for each in resolved.classes if each.curve is None and each.unread is None]
    of_all = len(without) == len(resolved.classes)
    plain = [each for each in without if not (each.queue.scheduler and each.queue.scheduler.kind == "strict")]
    kinds = together(plain, lambda each: (_drops_early(resolved, each), tuple(other_colours(each))))
    for found in sorted(kinds, key=lambda found: _drops_early(resolved, found[0])):
        early, others = _drops_early(resolved, found[0]), other_colours(found[0])
        nothing = f"no packets but {' and '.join(others)} ones are" if others else "nothing is"
        yield Finding(
            "no-profile",
            "warning" if of_all else "note",
            f"{nothing} marked in {queues(found)} of some ports"
            + (", nor in any other queue" if of_all else ""),
            "these queues drop packets of ECN-capable transports early, instead of marking them"
            if early
            else "ECN-capable transports fill the buffer of these queues, and then lose packets",
            "bind a marking profile to queues that carry DCTCP, DCQCN or TCP with ECN",
            "RFC 7567 §4.2",
            found[0].queue.source,
        )


def other_colours(each: Class) -> list[str]:
    """Return the colours that are marked although uncoloured packets are not."""
    return [curve.colour for curve in _curves(each) if curve.marks_ect and not each.curve]


def _drops_early(resolved: Resolved, each: Class) -> bool:
    """Return whether uncoloured packets are dropped before the limit."""
    curve = resolved.early(each)
    return curve is not None and curve.colour in ("all", "green")


def not_known(resolved: Resolved) -> Iterator[Finding]:
    """Find queues for which a line on marking or dropping was not understood."""
    for classes in together(resolved.classes, lambda each: (each.unread, each.curve is None)):
        source = classes[0].unread
        if source is None:
            continue
        silent = classes[0].curve is None
        yield Finding(
            "not-known",
            "warning" if silent else "note",
            f"{queues(classes)}: {'whether packets are marked' if silent else 'all that is done to packets'} "
            f"is not known: {cited(source)}",
            "this line may change the meaning of the other lines",
            "look up the line in the vendor's guide, and report the line as not understood",
            "",
            source,
        )


def not_ect_dropped(resolved: Resolved) -> Iterator[Finding]:
    """Find curves that drop packets without ECN early, when the buffer still has room."""
    for classes in together(resolved.classes, lambda each: (_curves(each), each.kmin, each.queue.lossless)):
        first = classes[0]
        curves = [curve for curve in _curves(first) if resolved.drops_not_ect(curve)]
        if not curves:
            continue
        lossless = [each for each in classes if each.queue.lossless]
        without_marks = [curve for curve in curves if not curve.marks_ect]
        marks = not without_marks
        colours = [curve.colour for curve in without_marks or curves]
        packets = "packets" if {"all", "green"} & {*colours} else f"{' and '.join(colours)} packets"
        whose = (
            "that are not ECN-capable are dropped" if marks else "are dropped, even if they are ECN-capable"
        )
        why = "SYNs, UDP and TCP without ECN lose packets where ECN-capable packets are marked"
        if not marks:
            why = "DCTCP and DCQCN see losses instead of marks"
        yield Finding(
            "not-ect-dropped",
            "warning" if lossless else "note",
            f"{queues(classes)}: above {_from(first)} {packets} {whose}",
            "a lossless queue loses packets although PFC is on" if lossless else why,
            "let the profile mark without drops, or move such traffic to another queue",
            f"sonic-buildimage issue 27606; {RFC8257}" if lossless else RFC8257,
            curves[0].source,
        )


def enable_false(resolved: Resolved) -> Iterator[Finding]:
    """Find profiles that mark, but do not state whether they drop packets that are not ECN-capable."""
    for marking in _markings(resolved):
        curves = [curve for curve in marking.curves if curve.marks_ect and curve.drops_not_ect is None]
        if not curves or resolved.drops_not_ect(curves[0]) is not None:
            continue
        if resolved.switch.format != "sonic":
            yield Finding(
                "not-ect-unknown",
                "note",
                f"{marking.name}: above the minimum, the platform decides whether packets that are not "
                "ECN-capable are dropped; no setting specifies this",
                "SYNs, UDP and TCP without ECN may lose packets where ECN-capable packets are marked",
                "check the counters of dropped packets under load",
                RFC8257,
                curves[0].source,
            )
        else:
            yield Finding(
                "enable-false",
                "warning",
                f"{_of(marking, curves[0])} has marking on but WRED off: the platform decides whether "
                "packets are marked, and whether packets that are not ECN-capable are dropped",
                "with WRED off, some platforms mark and drop only at the limit, others do not mark at all",
                ("" if resolved.chip else "name the chip (--chip), and ")
                + "check the counters of marked packets under load",
                "sonic-mgmt pull request 8179; sonic-buildimage issue 4545",
                curves[0].source,
            )


def probability(resolved: Resolved) -> Iterator[Finding]:
    """Find probabilities that the chip does not support."""
    chip = resolved.chip
    if chip is None or chip.probabilities is None:
        return
    for marking in _markings(resolved):
        wanted = {curve.probability: curve for curve in reversed(list(_each(marking)))}
        for value, curve in wanted.items():
            if value is None or chip.legal_probability(value) == value:
                continue
            legal = percent(float(chip.legal_probability(value)))
            yield Finding(
                "pmax-rounded",
                "warning",
                f"{_of(marking, curve)}: the chip rounds {percent(float(value))} down to {legal}",
                f"{chip.title} supports only a few probabilities, and uses the next lower one",
                f"write {legal}, or the next higher probability that the chip supports",
                chip.probabilities.source,
                curve.source,
            )


def steps(resolved: Resolved) -> Iterator[Finding]:
    """Find ramps of zero width."""
    for marking in _markings(resolved):
        for curve in _each(marking):
            if _is_step(curve) and curve.probability is not None and 0 < curve.probability < 1:
                yield Finding(
                    "step-with-probability",
                    "note",
                    f"{_of(marking, curve)}: minimum equals maximum, so the probability of "
                    f"{percent(float(curve.probability))} has no effect",
                    "at and above the maximum all packets are marked",
                    "write 100 %, the effective probability",
                    "sonic-mgmt: tests/ecn; OpenConfig: openconfig-qos-mem-mgmt.yang",
                    curve.source,
                )


def _is_step(curve: Curve) -> bool:
    return curve.minimum is not None and curve.minimum == curve.maximum


def order(resolved: Resolved) -> Iterator[Finding]:
    """Find curves whose minimum exceeds their maximum."""
    for marking in _markings(resolved):
        for curve in _each(marking):
            low, high = curve.minimum, curve.maximum
            if low and high and low.unit == high.unit and low.amount > high.amount:
                yield Finding(
                    "minimum-above-maximum",
                    "error",
                    f"{_of(marking, curve)}: the minimum ({_said(low.amount, low.unit)}) must be at most the "
                    f"maximum ({_said(high.amount, high.unit)})",
                    "no platform documents the effect; SONiC's models reject such a curve, others accept it",
                    "exchange the two thresholds",
                    "sonic-buildimage: sonic-wred-profile.yang",
                    curve.source,
                )


def cells(resolved: Resolved) -> Iterator[Finding]:
    """Find thresholds that are not whole cells."""
    chip = resolved.chip
    if chip is None or chip.cell is None:
        return
    for marking in _markings(resolved):
        for curve in _each(marking):
            both = [each for each in (curve.minimum, curve.maximum) if each and each.unit == "bytes"]
            rounded = [each for each in both if each.amount % chip.cell.value]
            if rounded:
                texts = [
                    f"{int(each.amount):,} → {chip.whole_cells(int(each.amount)):,} B" for each in rounded
                ]
                yield Finding(
                    "cell-rounded",
                    "note",
                    f"{_of(marking, curve)}: {'; '.join(texts)}",
                    f"the chip counts in cells of {chip.cell.value} B; thresholds that are not whole cells "
                    "are often copied from another chip",
                    "write a multiple of the cell size",
                    chip.cell.source,
                    curve.source,
                )


def colours(resolved: Resolved) -> Iterator[Finding]:
    """Find profiles that mark a better colour at a lower backlog than a worse colour."""
    for marking in _markings(resolved):
        by_colour = {curve.colour: curve for curve in marking.curves if curve.minimum and curve.maximum}
        present = [by_colour[colour] for colour in COLOURS if colour in by_colour]
        starts = [curve.minimum.amount for curve in present if curve.minimum]
        if any(later > earlier for earlier, later in pairwise(starts)):
            yield Finding(
                "colour-inconsistent",
                "note",
                f"{marking.name}: " + ", ".join(f"{each.colour} from {_start(each)}" for each in present),
                "yellow and red packets should be dropped before green packets; this matters only if packets "
                "are coloured",
                "give all colours the same curve, or give the worse colour the lower curve",
                "RFC 2597 §2: drop precedence",
                present[0].source,
            )


def weight(resolved: Resolved) -> Iterator[Finding]:
    """Find curves that use an averaged backlog; DCTCP needs the instantaneous backlog."""
    for marking in _markings(resolved):
        for curve in _each(marking):
            if curve.weight:
                yield Finding(
                    "averaged",
                    "warning",
                    f"{_of(marking, curve)}: marking uses an average backlog, with weight {curve.weight}",
                    "DCTCP and DCQCN need the current backlog; an average reports bursts late",
                    "set the weight to 0",
                    "Alizadeh et al., DCTCP, SIGCOMM 2010, §3.1",
                    curve.source,
                )


def moving(resolved: Resolved) -> Iterator[Finding]:
    """Find thresholds that are given in percent of a dynamic limit."""
    for each, curve in _marking(resolved):
        if curve.minimum and curve.minimum.unit == "percent" and each.limit and each.limit.dynamic:
            few, many = each.limit.at[0], each.limit.at[-1]
            share = curve.minimum.amount / 100
            yield Finding(
                "percent-of-dynamic",
                "note",
                f"{queues([each])}: marking begins at {percent(float(share))} of the limit of the queue: "
                f"{size(float(share * few[1]))} with {few[0]} busy, "
                f"{size(float(share * many[1]))} with {many[0]} busy",
                "a share of a dynamic threshold falls when other queues become busy",
                "compare the smallest threshold with the bandwidth-delay product",
                DT,
                curve.source,
            )


def times(resolved: Resolved) -> Iterator[Finding]:
    """Find thresholds in units of time on chips that support only bytes."""
    if resolved.chip is None or resolved.chip.times:
        return
    for marking in _markings(resolved):
        for curve in _each(marking):
            if curve.minimum and curve.minimum.unit == "ps":
                yield Finding(
                    "time-unsupported",
                    "error",
                    f"{_of(marking, curve)}: the thresholds are times",
                    f"{resolved.chip.title} supports only bytes or cells",
                    "write the thresholds in bytes: time × rate / 8",
                    "Arista AVD issue 4900",
                    curve.source,
                )


def units(resolved: Resolved) -> Iterator[Finding]:
    """Find thresholds whose value suggests a wrong unit."""
    for each, curve in _marking(resolved):
        said = _odd(each, curve)
        if not said or never(each, curve):
            continue
        yield Finding(
            "unit-suspect",
            "warning",
            f"{queues([each])}: {said}",
            "a link usually needs 10 to a few 100 µs to send the bytes of a threshold",
            "check the unit (bytes, KB, cells), and whether the thresholds were chosen for another rate",
            "published settings from 0.6 to 480 µs: docs/advisor.md",
            curve.source,
        )


def _odd(each: Class, curve: Curve) -> str:
    """Explain which threshold of a curve is implausible; empty if both are plausible."""
    ends = (("begin", curve.minimum, each.kmin, LATE_US), ("end", curve.maximum, each.kmax, LATEST_US))
    for verb, end, count, latest in ends:
        if end is None:
            continue
        wait = _wait(end, count, each.rate)
        told = _said(end.amount, end.unit) if count is None else size(count)
        if wait is not None and wait > latest:
            at = f" at {rate(each.rate)}" if each.rate else ""
            return f"marking {verb}s at {told}, which is {digits(wait)} µs{at}"
        if verb == "begin" and count is not None and count < FEWEST and end.amount:
            return f"marking {verb}s at {told}, less than one small packet"
    return ""


def _wait(end: Threshold, count: int | None, rated: int | None) -> float | None:
    """Return the time in µs that a port needs to send a backlog of this threshold; None if unknown.

    A threshold that is written as a time is returned as it is.
    """
    if end.unit == "ps":
        return float(end.amount / 10**6)
    return microseconds(count, rated) if rated and count is not None else None


def speeds(resolved: Resolved) -> Iterator[Finding]:
    """Find thresholds in bytes that ports of several rates share."""
    by_name: dict[str, list[Class]] = {}
    for each in resolved.classes:
        if each.marking and each.rate and each.kmin:
            by_name.setdefault(each.marking.name, []).append(each)
    for marking in _markings(resolved):
        own = by_name.get(marking.name, [])
        rates = sorted({each.rate for each in own if each.rate})
        curve = marking.marking_curve()
        if len(rates) > 1 and curve and curve.minimum and curve.minimum.unit in ("bytes", "cells"):
            kmin = own[0].kmin or 0
            yield Finding(
                "speed-independent",
                "warning",
                f"{marking.name}: marking begins at {size(kmin)} on ports of {', '.join(map(rate, rates))}: "
                f"{digits(microseconds(kmin, rates[0]))} and {digits(microseconds(kmin, rates[-1]))} µs",
                "the threshold that a link needs grows with its rate: K is proportional to C·RTT",
                "write a profile for each rate",
                "Alizadeh et al., DCTCP, SIGCOMM 2010, §3.4",
                curve.source,
            )


def unsaid(resolved: Resolved) -> Iterator[Finding]:
    """Find thresholds that the file does not state, so that the platform's default applies."""
    hidden = {each.marking.name: each.unread for each in resolved.classes if each.marking and each.unread}
    for marking in _markings(resolved):
        if marking.name in hidden:
            continue
        for curve in _each(marking):
            told = {"minimum": curve.minimum, "maximum": curve.maximum, "probability": curve.probability}
            missing = [name for name, value in told.items() if value is None]
            if missing:
                yield Finding(
                    "default-nobody-set",
                    "note" if missing == ["probability"] else "warning",
                    f"{_of(marking, curve)}: {' and '.join(missing)} "
                    f"{'are' if len(missing) > 1 else 'is'} missing",
                    "the platform's default applies; it is not published, or is the whole buffer",
                    "write minimum, maximum and probability, if the platform supports them",
                    WRED,
                    curve.source,
                )
    for default in resolved.switch.defaults:
        yield Finding(
            "default-nobody-set",
            "note",
            f"{default.what}: {default.value}",
            "the configuration does not set it",
            "set it, so that the next release cannot change it",
            default.citation,
        )


RULES: tuple[Rule, ...] = (
    order,
    times,
    never_fires,
    fires_after_limit,
    maximum_beyond_limit,
    not_ect_dropped,
    enable_false,
    units,
    probability,
    steps,
    speeds,
    weight,
    no_profile,
    not_known,
    moving,
    colours,
    cells,
    unsaid,
)


def _markings(resolved: Resolved) -> Iterator[Marking]:
    """Yield all marking profiles, including those that no queue uses."""
    yield from resolved.switch.markings


def _each(marking: Marking) -> Iterator[Curve]:
    """Yield a profile's distinct active curves."""
    seen = set()
    for curve in marking.curves:
        told = (curve.minimum, curve.maximum, curve.probability, curve.weight)
        if (curve.marks_ect or curve.drops_not_ect) and told not in seen:
            seen.add(told)
            yield curve


def _curves(each: Class) -> tuple[Curve, ...]:
    return each.marking.curves if each.marking else ()


def _marking_of(each: Class) -> Iterator[tuple[Class, Curve]]:
    if each.curve is not None:
        yield each, each.curve


def _marking(resolved: Resolved) -> Iterator[tuple[Class, Curve]]:
    """Yield queues that mark, with their curves; queues that differ only in number and ports count once."""
    for classes in together(resolved.classes):
        yield from _marking_of(classes[0])


def _of(marking: Marking, curve: Curve) -> str:
    return marking.name if curve.colour == "all" else f"{marking.name}, {curve.colour}"


def _from(each: Class) -> str:
    return "its minimum" if each.kmin is None else size(each.kmin)


def _start(curve: Curve) -> str:
    return _said(curve.minimum.amount, curve.minimum.unit) if curve.minimum else "–"


def _said(amount: Fraction, unit: str) -> str:
    if unit == "ps":
        return f"{digits(float(amount / 10**6))} µs"
    return size(float(amount)) if unit == "bytes" else f"{digits(float(amount))} {unit}"
