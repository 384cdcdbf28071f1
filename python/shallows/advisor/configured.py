"""The recommendation in a vendor's syntax: the smallest change, and the values that it rounds."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from shallows.advisor import readers, writers
from shallows.advisor.candidates import Candidate, Curve
from shallows.advisor.configuration import Allotment, Marking, Pool, PortProfile, Queue, Switch, Threshold
from shallows.advisor.configuration import Curve as SwitchCurve
from shallows.advisor.configured_groups import left_out as missing_places
from shallows.advisor.configured_groups import with_groups
from shallows.advisor.fabric import Fabric
from shallows.advisor.today import in_bytes, memory_of, today_of
from shallows.advisor.units import converted
from shallows.errors import ShallowsError
from shallows.quantity import size

POOL = "shared"
"""Name of the pool in the written change if the configuration has no pool."""


@dataclass(frozen=True)
class Configured:
    """A change in a vendor's syntax."""

    format: str
    change: str
    rollback: str
    left_out: tuple[str, ...]
    """Settings that the format lacks."""
    others: str
    """Treatment of packets that are not ECN-capable, if it differs from the simulation."""
    rounded: Candidate | None
    """Setting after rounding, if it differs from the recommended one."""


def configured(format_: str, before: Switch | None, fabric: Fabric, chosen: Candidate) -> Configured:
    """Write the change that applies the chosen setting in a vendor's syntax; read it back to find rounding.

    Raises
    ------
    ShallowsError
        If the format is unknown.
    """
    hints = memory_of(fabric)
    # WRED is off by default (sonic-wred-profile.yang), and some platforms then mark nothing: issue 4545 of
    # sonic-buildimage. The template qos_config.j2 of that repository enables WRED.
    drops = True if format_ == "sonic" else None
    made = converted(target_of(before, fabric, chosen, drops_not_ect=drops), format_, hints)
    if before is not None:
        before = converted(before, format_, hints).switch
    after = made.switch
    reasons = {marking.name: chosen.why for marking in after.markings}
    text = writers.write(format_, before, after, reasons)
    left_out = [*made.said, *text.inexpressible, *missing_places(after, chosen)]
    if chosen.follows is not None:
        left_out.append("MQ-ECN: thresholds that follow the queue's share are no setting of this format")
    if chosen.sojourn is not None and not fabric.silicon.marks:
        left_out.append("marks by waiting time")
    shown = _shown(format_, after)
    return Configured(
        format_,
        text.change,
        text.rollback,
        tuple(left_out),
        _others(shown, fabric),
        _read_back(format_, shown, fabric, chosen) if shown and chosen.follows is None else None,
    )


def target_of(
    before: Switch | None, fabric: Fabric, chosen: Candidate, *, drops_not_ect: bool | None = None
) -> Switch:
    """Return the current configuration with the marking curves and α of a candidate setting.

    A queue that already has a marking curve keeps that curve's colours, and still drops packets that are not
    ECN-capable if it did so before. For a queue without a curve, `drops_not_ect` decides whether such packets
    are dropped.
    """
    switch = before or Switch("", profiles=(PortProfile((), rate=int(fabric.links.rate)),))
    names = {each.queue: f"ADVISED-{number}" for number, each in enumerate(fabric.classes)}
    curves = dict(zip(names, chosen.queues, strict=True))
    if chosen.sojourn is not None:
        held = round(chosen.sojourn * fabric.links.rate / 8)
        curves = dict.fromkeys(names, Curve(held, held))
    there = {number: _there(switch, number) for number in names}
    if len({(curves[number], _manner(there[number])) for number in names}) == 1:
        names = dict.fromkeys(names, "ADVISED")
    # A profile that marks only these queues keeps its name, so that the change only replaces numbers.
    names = {number: _known(switch, number, {*names}, curves) or name for number, name in names.items()}
    made = {
        names[number]: _marking(fabric, names[number], curve, there[number], drops_not_ect=drops_not_ect)
        for number, curve in curves.items()
        if curve
    }
    lossless = {fabric.classes[place].queue for place in fabric.lossless}
    profiles = tuple(_profile(each, names, curves, chosen.alpha, lossless) for each in switch.profiles)
    kept = [each for each in switch.markings if each.name not in made]
    switch = replace(switch, profiles=profiles, markings=(*kept, *made.values()))
    switch = with_groups(switch, fabric, chosen)
    return _with_pool(switch, fabric, chosen) if chosen.pool else switch


def _known(switch: Switch, number: int, ours: set[int], curves: Mapping[int, Curve | None]) -> str | None:
    """Return the name of a queue's current profile, if all queues of that profile get the same curve."""
    used: dict[str, set[int]] = {}
    for _, queue in switch.queues():
        if queue.marking:
            used.setdefault(queue.marking, set()).add(queue.number)
    for name, numbers in used.items():
        if number in numbers and numbers <= ours and len({curves[each] for each in numbers}) == 1:
            return name
    return None


def _there(switch: Switch, number: int) -> Marking | None:
    """Return the current marking of a queue, from the first port at which the queue has a marking."""
    found = (
        switch.marking(queue.marking)
        for _, queue in switch.queues()
        if queue.number == number and queue.marking
    )
    return next(found, None)


def _manner(there: Marking | None) -> object:
    """Return each colour that a profile marks, and whether its packets without ECN are dropped."""
    return tuple((each.colour, each.drops_not_ect) for each in _marks(there))


def _marks(there: Marking | None) -> list[SwitchCurve]:
    """Return the marking curves of a profile; empty if it does not mark uncoloured packets."""
    return [each for each in there.curves if each.marks_ect] if there and there.marking_curve() else []


def _marking(
    fabric: Fabric,
    name: str,
    curve: Curve,
    there: Marking | None,
    scope: Literal["queue", "pool"] = "queue",
    *,
    drops_not_ect: bool | None = None,
) -> Marking:
    """Return a renamed copy of the profile `there`, with this curve for each colour that it marks.

    A profile that already has the name and the curve is returned unchanged.
    """
    if there is not None and there.name == name and in_bytes(there, fabric, []) == curve:
        return there
    made = [
        replace(
            each,
            minimum=Threshold.of_bytes(curve.kmin),
            maximum=Threshold.of_bytes(curve.kmax),
            probability=Fraction(curve.pmax).limit_denominator(1000),
            weight=0,
        )
        for each in _marks(there) or [SwitchCurve(None, None, drops_not_ect=drops_not_ect)]
    ]
    coloured = [
        each
        for each in (there.curves if there else ())
        if not each.marks_ect and each.colour not in ("all", "green")
    ]
    return Marking(name, (*made, *coloured), scope)


def _profile(
    profile: PortProfile,
    names: Mapping[int, str],
    curves: Mapping[int, Curve | None],
    alpha: float,
    lossless: Set[int],
) -> PortProfile:
    """Return a profile with these markings, and with this α for the queues of lossy classes."""
    queues = {queue.number: queue for queue in profile.queues}
    # A queue without an allotment gets the allotment of another queue, preferably one in a pool.
    others = (each.allotment for each in profile.queues if each.allotment and not each.lossless)
    other = next((each for each in others if each.pool), Allotment())
    for number, name in names.items():
        queue = queues.get(number, Queue(number))
        allotment = queue.allotment
        if number not in lossless:
            allotment = allotment or other
            if allotment.alpha is None or float(allotment.alpha) != alpha:
                allotment = replace(allotment, alpha=Fraction(alpha), limit=None, unlimited=False)
        marking = name if curves[number] else None
        queues[number] = replace(queue, marking=marking, allotment=allotment)
    return replace(profile, queues=tuple(queues[number] for number in sorted(queues)))


def _with_pool(switch: Switch, fabric: Fabric, chosen: Candidate) -> Switch:
    """Return the configuration with the candidate setting's pool curve at the pool that the queues use."""
    if chosen.pool is None:
        return switch
    pools = switch.pools or (Pool(POOL, "egress", int(fabric.buffer.pool)),)
    place = next((place for place, each in enumerate(pools) if each.direction != "ingress"), 0)
    name = pools[place].marking or "ADVISED-POOL"
    changed = tuple(
        replace(each, marking=name) if number == place else each for number, each in enumerate(pools)
    )
    kept = [each for each in switch.markings if each.name != name]
    made = _marking(fabric, name, chosen.pool, switch.marking(name), "pool")
    return replace(switch, pools=changed, markings=(*kept, made))


def _shown(format_: str, after: Switch) -> Switch | None:
    """Write the configuration `after` in a format, and read it back; None if it cannot be read back."""
    try:
        whole = writers.write(format_, None, after).change
        return readers.reader(format_).read(whole, f"advice.{format_}")
    except ShallowsError:
        # Settings that the format cannot express are listed in `left_out`.
        return None


def _others(shown: Switch | None, fabric: Fabric) -> str:
    """Describe the treatment of packets that are not ECN-capable; empty if every marking curve drops them."""
    if shown is None:
        return ""
    found = [_there(shown, each.queue) for each in fabric.classes]
    ways = {curve.drops_not_ect for each in found if each and (curve := each.marking_curve())}
    if None in ways and shown.format == "sonic":
        return (
            "WRED is off in the profile: some platforms mark nothing then, so look at the counters of marked "
            "packets; what is not ECN-capable may pass, and was dropped in the simulation"
        )
    if None in ways:
        return "the platform decides on packets that are not ECN-capable; in the simulation they were dropped"
    if False in ways:
        return "packets that are not ECN-capable pass until the limit; in the simulation they were dropped"
    return ""


def _read_back(format_: str, shown: Switch, fabric: Fabric, chosen: Candidate) -> Candidate | None:
    """Return the recommended setting as the format rounds it; None if not rounded or not readable."""
    try:
        read, _ = today_of(shown, fabric)
    except ShallowsError:
        return None
    # Weights and numbers of priority groups are written exactly or listed as left out.
    rounded = replace(
        chosen,
        name=f"{chosen.name}, as {format_} has it",
        origin=read.origin,
        queues=read.queues,
        pool=read.pool,
        sojourn=None,
    )
    return None if rounded.settings == chosen.settings else rounded


def differences(rounded: Candidate, chosen: Candidate) -> str:
    """Describe the differences between a rounded setting and the recommended one."""
    pairs = [*zip(rounded.queues, chosen.queues, strict=True), (rounded.pool, chosen.pool)]
    said = [
        f"{_said(theirs)} becomes {_said(mine)}" for mine, theirs in dict.fromkeys(pairs) if mine != theirs
    ]
    return "; ".join(said)


def _said(curve: Curve | None) -> str:
    if curve is None:
        return "none"
    return curve.text if curve.kmin != curve.kmax else f"{size(curve.kmin)} ({curve.kmin:,} B)"
