"""The recommendation in a vendor's words: the smallest change to what there is, and how it is rounded."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from shallows.advisor import readers, writers
from shallows.advisor.candidates import Candidate, Curve
from shallows.advisor.configuration import Allotment, Marking, Pool, PortProfile, Queue, Switch, Threshold
from shallows.advisor.configuration import Curve as SwitchCurve
from shallows.advisor.fabric import Fabric
from shallows.advisor.today import in_bytes, memory_of, today_of
from shallows.advisor.units import converted
from shallows.errors import ShallowsError
from shallows.quantity import size

POOL = "shared"
"""The name of the pool where the configuration has none."""


@dataclass(frozen=True)
class Configured:
    """A change in a vendor's words."""

    format: str
    change: str
    rollback: str
    left_out: tuple[str, ...]
    """What the format cannot say."""
    rounded: Candidate | None
    """What the switch will do, if that is not what is recommended."""


def configured(format_: str, before: Switch | None, fabric: Fabric, chosen: Candidate) -> Configured:
    """Write the change, and read back what it says.

    Raises
    ------
    ShallowsError
        If there is no such format.
    """
    hints = memory_of(fabric)
    made = converted(told(before, fabric, chosen), format_, hints)
    if before is not None:
        before = converted(before, format_, hints).switch
    after = made.switch
    reasons = {marking.name: chosen.why for marking in after.markings}
    text = writers.write(format_, before, after, reasons)
    left_out = [*made.said, *text.inexpressible]
    if chosen.follows is not None:
        left_out.append("MQ-ECN: thresholds that follow the queue's share are no setting of this format")
    if chosen.sojourn is not None and not fabric.silicon.marks:
        left_out.append("marks by waiting time")
    return Configured(
        format_,
        text.change,
        text.rollback,
        tuple(left_out),
        _read_back(format_, after, fabric, chosen) if chosen.follows is None else None,
    )


def told(before: Switch | None, fabric: Fabric, chosen: Candidate) -> Switch:
    """What the switch shall be told: what it is told now, but for marks and α of the classes' queues."""
    switch = before or Switch("", profiles=(PortProfile((), rate=int(fabric.links.rate)),))
    names = {each.queue: f"ADVISED-{number}" for number, each in enumerate(fabric.classes)}
    curves = dict(zip(names, chosen.queues, strict=True))
    if chosen.sojourn is not None:
        held = round(chosen.sojourn * fabric.links.rate / 8)
        curves = dict.fromkeys(names, Curve(held, held))
    if len(set(curves.values())) == 1:
        names = dict.fromkeys(names, "ADVISED")
    # A profile that marks these queues alone keeps its name: the change is then its numbers.
    names = {number: _known(switch, number, {*names}, curves) or name for number, name in names.items()}
    made = {
        names[number]: _marking(switch, fabric, names[number], curve)
        for number, curve in curves.items()
        if curve
    }
    profiles = tuple(_profile(each, names, curves, chosen.alpha) for each in switch.profiles)
    kept = [each for each in switch.markings if each.name not in made]
    switch = replace(switch, profiles=profiles, markings=(*kept, *made.values()))
    return _with_pool(switch, fabric, chosen) if chosen.pool else switch


def _known(switch: Switch, number: int, ours: set[int], curves: Mapping[int, Curve | None]) -> str | None:
    """The name of the marking of a queue, if it marks only queues that get the same curve."""
    used: dict[str, set[int]] = {}
    for _, queue in switch.queues():
        if queue.marking:
            used.setdefault(queue.marking, set()).add(queue.number)
    for name, numbers in used.items():
        if number in numbers and numbers <= ours and len({curves[each] for each in numbers}) == 1:
            return name
    return None


def _marking(switch: Switch, fabric: Fabric, name: str, curve: Curve, scope: str = "queue") -> Marking:
    """A curve under a name; as it is written already if it says the same."""
    there = switch.marking(name)
    if there is not None and in_bytes(there, fabric, []) == curve:
        return there
    line = SwitchCurve(
        Threshold.of_bytes(curve.kmin),
        Threshold.of_bytes(curve.kmax),
        Fraction(curve.pmax).limit_denominator(1000),
    )
    return Marking(name, (line,), "pool" if scope == "pool" else "queue")


def _profile(
    profile: PortProfile, names: Mapping[int, str], curves: Mapping[int, Curve | None], alpha: float
) -> PortProfile:
    queues = {queue.number: queue for queue in profile.queues}
    for number, name in names.items():
        queue = queues.get(number, Queue(number))
        allotment = queue.allotment or Allotment()
        if allotment.alpha is None or float(allotment.alpha) != alpha:
            allotment = replace(allotment, alpha=Fraction(alpha), limit=None, unlimited=False)
        marking = name if curves[number] else None
        queues[number] = replace(queue, marking=marking, allotment=allotment)
    return replace(profile, queues=tuple(queues[number] for number in sorted(queues)))


def _with_pool(switch: Switch, fabric: Fabric, chosen: Candidate) -> Switch:
    """The curve of the pool, at the pool that queues take from."""
    if chosen.pool is None:
        return switch
    pools = switch.pools or (Pool(POOL, "egress", int(fabric.buffer.pool)),)
    place = next((place for place, each in enumerate(pools) if each.direction != "ingress"), 0)
    name = pools[place].marking or "ADVISED-POOL"
    changed = tuple(
        replace(each, marking=name) if number == place else each for number, each in enumerate(pools)
    )
    kept = [each for each in switch.markings if each.name != name]
    return replace(
        switch, pools=changed, markings=(*kept, _marking(switch, fabric, name, chosen.pool, "pool"))
    )


def _read_back(format_: str, after: Switch, fabric: Fabric, chosen: Candidate) -> Candidate | None:
    """What a switch does that is told all this in this format; nothing if that is what is recommended."""
    try:
        whole = writers.write(format_, None, after).change
        read, _ = today_of(readers.reader(format_).read(whole, f"advice.{format_}"), fabric)
    except ShallowsError:
        # What a format cannot say at all is among what is left out.
        return None
    rounded = replace(read, name=f"{chosen.name}, as {format_} has it", why=chosen.why, alpha=chosen.alpha)
    return None if rounded.settings == chosen.settings else rounded


def differences(rounded: Candidate, chosen: Candidate) -> str:
    """What rounding changed, in words."""
    pairs = [*zip(rounded.queues, chosen.queues, strict=True), (rounded.pool, chosen.pool)]
    said = [
        f"{_said(theirs)} becomes {_said(mine)}" for mine, theirs in dict.fromkeys(pairs) if mine != theirs
    ]
    return "; ".join(said)


def _said(curve: Curve | None) -> str:
    if curve is None:
        return "none"
    return curve.text if curve.kmin != curve.kmax else f"{size(curve.kmin)} ({curve.kmin:,} B)"
