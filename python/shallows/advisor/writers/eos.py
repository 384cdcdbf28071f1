"""Arista EOS: lines of a running configuration, as pyavd 6.4 renders them.

Port profiles with the same name become one `qos profile` with the settings of the first of them. Interfaces
of the other profiles have lines of their own for the settings that differ.
"""

from collections.abc import Sequence
from fractions import Fraction

from shallows.advisor.configuration import (
    Allotment,
    Curve,
    Marking,
    PortProfile,
    Queue,
    Scheduler,
    Setting,
    Switch,
    Threshold,
)
from shallows.advisor.syntax import indented
from shallows.advisor.writers.lines import (
    NO_REASONS,
    Line,
    Reasons,
    Text,
    Told,
    at,
    called,
    commented,
    common_maps,
    difference,
    whole_percent,
)

ALPHAS = tuple(Fraction(1, 1 << power) for power in range(7, 0, -1)) + tuple(
    Fraction(1 << power) for power in range(4)
)
"""Alphas of the MMU: 1/128 to 8."""

MOST_WEIGHT = 15
"""Largest weight exponent of the averaged backlog, from the schema of pyavd 6.4 like the limits below."""

PERCENT = range(1, 101)
"""Valid percentages of probabilities, and of rate shares (EOS's manual: tx-queue, bandwidth percent)."""

MTU = range(68, 65_536)

_WATCHDOG = {"timeout", "recovery-time", "polling-interval"}


def write(before: Switch | None, after: Switch, reasons: Reasons = NO_REASONS) -> Text:
    """Write the change as lines for `configure`."""
    return difference(tell, render, before, after, reasons)


def render(lines: Sequence[Line], reasons: Reasons) -> str:
    """Format lines with their sections; a changed MMU profile is applied again after its changes."""
    found: list[tuple[Sequence[str], str]] = []
    for line, why in commented(lines, reasons, "!"):
        found += [(line.sections, row) for row in (*why, line.text)]
    memory = {line.sections[0] for line in lines if line.sections and line.sections[0].startswith("platform")}
    applied = {line.text for line in lines}
    found += [
        ((), f"{section} apply")
        for section in sorted(memory)
        if not {f"{section} apply", f"no {section} apply"} & applied
    ]
    return "\n".join(indented.write(found)) + "\n" if found else ""


def tell(switch: Switch) -> Told:
    """Return all EOS lines of a switch."""
    told = Told()
    _memory(switch, told)
    bases: dict[str, PortProfile] = {}
    named = _named(switch)
    for name, profile in named:
        if name not in bases:
            bases[name] = profile
            _profile(switch, profile, name, told)
    for name, profile in named:
        _ports(switch, profile, bases[name], name, told)
    _globally(switch, told)
    for pool in switch.pools:
        if pool.size is not None or pool.percent is not None or pool.headroom is not None:
            told.cannot(f"pool {pool.name}: its size is the platform's")
    return told


def _named(switch: Switch) -> list[tuple[str, PortProfile]]:
    taken = {profile.name for profile in switch.profiles if profile.name}
    found = []
    for number, profile in enumerate(switch.profiles, 1):
        name = profile.name
        while not name or len(name.split()) != 1:
            name = f"ports-{number}" if f"ports-{number}" not in taken else f"ports-{number}-shallows"
        found.append((name, profile))
    return found


def _memory(switch: Switch, told: Told) -> None:
    """Add the MMU profile: the limits of queues, which are the same at all ports."""
    queues: dict[int, Allotment] = {}
    groups: dict[int, Allotment] = {}
    for profile in switch.profiles:
        kept = [(queues, queue.number, queue.allotment) for queue in profile.queues]
        for table, number, each in [
            *kept,
            *((groups, group.number, group.allotment) for group in profile.groups),
        ]:
            if each is not None and table.setdefault(number, each) != each:
                told.cannot(
                    f"{called(profile)} has memory of its own; that of the first ports is written for all"
                )
        for group in profile.groups:
            if group.xoff or group.xon or group.xon_offset:
                told.cannot(f"headroom of priority group {group.number}: EOS works it out itself")
    section = "platform trident mmu queue profile " + next(
        (
            each.name
            for each in [*queues.values(), *groups.values()]
            if each.name and len(each.name.split()) == 1
        ),
        "shallows",
    )
    settings = [each for each in switch.settings if each.name.startswith(("ingress.", "drop-precedence-"))]
    for setting in settings:
        if setting.name.startswith("ingress."):
            slot = f"ingress {setting.name.partition('.')[2]}"
            told.say(f"{slot} {setting.value}", section, slot=slot, about=setting.name)
    for number, each in sorted(groups.items()):
        _allotment(each, f"ingress priority-group {number}", section, f"group {number}", told)
    for number, each in sorted(queues.items()):
        _allotment(each, f"egress unicast queue {number}", section, f"queue {number}", told)
    for setting in settings:
        if setting.scope.startswith("queue "):
            slot = f"egress unicast {setting.scope} drop-precedence {setting.name[16]}"
            told.say(f"{slot} drop-threshold {setting.value}", section, slot=slot, about=setting.name)
    if any(line.sections == (section,) for line in told.lines):
        told.say(f"{section} apply")


def _allotment(each: Allotment, start: str, section: str, what: str, told: Told) -> None:
    if each.reserved:
        unit = each.reserved.unit
        if unit in ("bytes", "cells") and each.reserved.amount.denominator == 1:
            told.say(
                f"{start} reserved {unit} {each.reserved.amount}",
                section,
                slot=f"{start} reserved",
                about=what,
            )
        else:
            told.cannot(f"memory reserved for {what} in {unit}")
    if each.alpha in ALPHAS:
        told.say(f"{start} threshold {each.alpha}", section, slot=f"{start} threshold", about=what)
    elif each.alpha is not None:
        told.cannot(f"alpha {each.alpha} of {what}: EOS knows 1/128, 1/64, … 8")
    if each.limit or each.unlimited or each.trims:
        told.cannot(f"{what} with a fixed limit, with none, or that trims")


def _profile(switch: Switch, profile: PortProfile, name: str, told: Told) -> None:
    section = f"qos profile {name}"
    for setting in switch.settings:
        if setting.name == "trust" and setting.scope == section:
            told.say(f"qos trust {setting.value}", section, slot="qos trust", about="trust")
    _pfc(profile.pfc, section, told)
    for queue in profile.queues:
        _queue(switch, profile, queue, section, name, told)


def _pfc(priorities: Sequence[int], section: str, told: Told) -> None:
    if priorities:
        told.say("priority-flow-control on", section, undo="no priority-flow-control", about="pfc")
    for priority in priorities:
        told.say(f"priority-flow-control priority {priority} no-drop", section, about="pfc")


def _ports(switch: Switch, profile: PortProfile, base: PortProfile, name: str, told: Told) -> None:
    """Add the lines of interfaces: their profile, and the settings in which they differ from `base`."""
    for port in profile.ports:
        section = f"interface {port}"
        told.say(f"service-profile {name}", section, slot="service-profile", about=name)
        if profile.rate:
            unit = f"{profile.rate // 10**9}g" if not profile.rate % 10**9 else str(profile.rate // 10**6)
            told.say(f"speed {unit}", section, slot="speed")
        if profile.mtu in MTU:
            told.say(f"mtu {profile.mtu}", section, slot="mtu")
        elif profile.mtu:
            told.cannot(f"{port}: an MTU of {profile.mtu:,}, where EOS takes {MTU.start} to {MTU.stop - 1:,}")
        if profile is base:
            continue
        if profile.pfc != base.pfc:
            _pfc(profile.pfc, section, told)
        common = {queue.number: queue for queue in base.queues}
        for queue in profile.queues:
            old = common.get(queue.number)
            if old is None or (old.scheduler, old.marking) != (queue.scheduler, queue.marking):
                _queue(switch, profile, queue, section, port, told, old)
        if missing := common.keys() - {queue.number for queue in profile.queues}:
            told.cannot(f"{port} without queue {min(missing)} of profile {name}")


def _queue(
    switch: Switch,
    profile: PortProfile,
    queue: Queue,
    section: str,
    where: str,
    told: Told,
    old: Queue | None = None,
) -> None:
    kind = queue.name if queue.name in ("tx-queue", "uc-tx-queue") else "uc-tx-queue"
    inner = (section, f"{kind} {queue.number}")
    marking = switch.marking(queue.marking)
    settings = [each for each in switch.settings if each.scope == f"{where}/{queue.number}"]
    scheduler = queue.scheduler
    if scheduler and (old is None or scheduler != old.scheduler):
        strict = scheduler.kind == "strict"
        told.say(
            "priority strict" if strict else "no priority",
            *inner,
            slot="priority",
            undo="default priority",
            about=f"queue {queue.number}",
        )
        if scheduler.percent is not None:
            if scheduler.percent in PERCENT:
                told.say(
                    f"bandwidth percent {scheduler.percent}",
                    *inner,
                    slot="bandwidth",
                    about=f"queue {queue.number}",
                )
            else:
                told.cannot(
                    f"{float(scheduler.percent):g} percent of the rate for {at(profile, queue)}: EOS takes "
                    "whole ones from 1 to 100"
                )
        elif scheduler.weight is not None and not strict:
            _share(profile, queue, inner, told)
        _rates(scheduler, inner, at(profile, queue), f"queue {queue.number}", told)
    if marking and (old is None or queue.marking != old.marking):
        _marking(marking, profile, queue, inner, told)
    for setting in settings:
        _of_queue(setting, inner, told)


def _rates(scheduler: Scheduler, inner: tuple[str, ...], where: str, about: str, told: Told) -> None:
    """Add the guaranteed and the maximum rate of a queue."""
    shape = None if scheduler.shape is None else Fraction(scheduler.shape, 1000)
    for start, share, end in (
        ("bandwidth guaranteed percent", scheduler.guaranteed_percent, ""),
        ("shape rate", scheduler.shape_percent, " percent"),
        ("shape rate", shape, " kbps"),
    ):
        if share is None:
            continue
        if share.denominator != 1:
            told.cannot(f"{where}: {start} {float(share)}{end}, which is not whole")
            continue
        slot = start.removesuffix(" percent")
        told.say(f"{start} {share}{end}", *inner, slot=slot, about=about)
    if scheduler.guaranteed is not None:
        told.cannot(f"{where}: at least {scheduler.guaranteed} bit/s, which is percent of the rate here")


def _share(profile: PortProfile, queue: Queue, inner: tuple[str, ...], told: Told) -> None:
    """Add a queue's weight as a percentage of the total weight of the port's non-strict queues."""
    weights = {
        each.number: each.scheduler.weight or 0
        for each in profile.queues
        if each.scheduler and each.scheduler.kind != "strict"
    }
    share = weights[queue.number] * 100 // sum(weights.values())
    told.say(f"bandwidth percent {max(share, 1)}", *inner, slot="bandwidth", about=f"queue {queue.number}")
    told.cannot(f"weight {weights[queue.number]} of {at(profile, queue)}: written as percent, rounded down")


def _of_queue(setting: Setting, inner: tuple[str, ...], told: Told) -> None:
    match setting.name:
        case "ecn.count":
            told.say("random-detect ecn count", *inner, about=setting.name)


def _marking(
    marking: Marking, profile: PortProfile, queue: Queue, inner: tuple[str, ...], told: Told
) -> None:
    marks = [curve for curve in marking.curves if curve.marks_ect]
    kept = marking.marking_curve()
    if any(
        (each.minimum, each.maximum, each.probability) != (kept.minimum, kept.maximum, kept.probability)
        for each in marks
        if kept
    ):
        told.cannot(f"{at(profile, queue)}: marks that depend on the colour; those of green are written")
    if kept:
        _curve(
            "random-detect ecn", "max-mark-probability", kept, marking.name, at(profile, queue), inner, told
        )
    for curve in marking.curves:
        if not curve.marks_ect:
            level = {
                "all": "",
                "green": " drop-precedence 0",
                "yellow": " drop-precedence 1",
                "red": " drop-precedence 2",
            }
            start = f"random-detect drop{level[curve.colour]}"
            _curve(start, "drop-probability", curve, marking.name, at(profile, queue), inner, told)


def _curve(
    start: str, word: str, curve: Curve, about: str, where: str, inner: tuple[str, ...], told: Told
) -> None:
    # The schema of pyavd 6.4 and fixed systems have no microseconds for marks of a uc-tx-queue.
    coarse = start == "random-detect ecn" and inner[-1].startswith("uc-tx-queue")
    low, high = size(curve.minimum, coarse=coarse), size(curve.maximum, coarse=coarse)
    if low is None or high is None:
        times = "milliseconds" if coarse else "microseconds"
        told.cannot(
            f"{where}: a curve whose ends are not both given in whole bytes, cells or {times}, from 1"
        )
        return
    if curve.weight is not None and curve.weight > MOST_WEIGHT:
        told.cannot(
            f"{where}: a weight of {curve.weight}, where EOS takes 0 to {MOST_WEIGHT}; no curve is written"
        )
        return
    text = f"{start} minimum-threshold {low} maximum-threshold {high}"
    if curve.probability is not None:
        share = whole_percent(curve.probability)
        if share is not None and share in PERCENT:
            text += f" {word} {share}"
        else:
            told.cannot(
                f"{where}: a probability of {float(curve.probability):.3%}, which is no whole percent from 1"
            )
            return
    elif word == "drop-probability":
        text += f" {word} 100"
    if curve.weight is not None:
        text += f" weight {curve.weight}"
    told.say(text, *inner, slot=start, about=about)


def size(threshold: Threshold | None, *, coarse: bool = False) -> str | None:
    """Format a threshold in the largest EOS unit that keeps it whole; times in ms if `coarse`.

    >>> size(Threshold.of_bytes(200_000)), size(Threshold.of_bytes(1_234)), size(Threshold.of_bytes(0))
    ('200 kbytes', '1234 bytes', None)
    """
    if threshold is None or threshold.amount < 1 or threshold.amount.denominator != 1:
        return None
    amount = int(threshold.amount)
    match threshold.unit:
        case "bytes":
            return f"{amount // 1000} kbytes" if not amount % 1000 else f"{amount} bytes"
        case "cells":
            return f"{amount} segments"
        case "ps":
            unit, length = ("milliseconds", 10**9) if coarse else ("microseconds", 10**6)
            return f"{amount // length} {unit}" if not amount % length else None
    return None


def _globally(switch: Switch, told: Told) -> None:
    settings = {each.name: each.value for each in switch.settings if not each.scope}
    for marking in switch.markings:
        if marking.scope == "pool" and (curve := marking.marking_curve()):
            low, high = size(curve.minimum), size(curve.maximum)
            if low is None or high is None or "microseconds" in low + high:
                told.cannot(f"{marking.name}: marks by the pool take whole bytes or cells")
                continue
            slot = "qos random-detect ecn global-buffer"
            told.say(
                f"{slot} minimum-threshold {low} maximum-threshold {high}", slot=slot, about=marking.name
            )
            if curve.probability not in (None, 1):
                told.cannot(f"{marking.name}: a probability of marks by the pool")
    marks = [curve for marking in switch.markings for curve in marking.curves if curve.marks_ect]
    allowed = settings.get(
        "not-ect.allowed", "yes" if marks and all(each.drops_not_ect is False for each in marks) else None
    )
    if allowed:
        slot = "qos random-detect ecn allow non-ect"
        told.say(slot if allowed == "yes" else f"{slot} {allowed}", slot=slot, about="not-ect.allowed")
    for each in switch.settings:
        if each.name == "trust" and each.scope.startswith("interface "):
            told.say(f"qos trust {each.value}", each.scope, slot="qos trust", about="trust")
    if "rewrite-dscp" in settings:
        told.say("qos rewrite dscp", about="rewrite-dscp")
    maps = common_maps(switch, told)
    for point, number in maps.dscp_to_class:
        told.say(
            f"qos map dscp {point} to traffic-class {number}", slot=f"qos map dscp {point}", about="maps"
        )
    for number, queue in maps.class_to_queue:
        slot = f"qos map traffic-class {number} to tx-queue"
        told.say(f"{slot} {queue}", slot=slot, about="maps")
    if "pfc-watchdog.action" in settings:
        slot = "priority-flow-control pause watchdog action"
        told.say(f"{slot} {settings['pfc-watchdog.action']}", slot=slot, about="pfc-watchdog.action")
    for what in sorted(_WATCHDOG):
        if value := settings.get(f"pfc-watchdog.{what}"):
            slot = f"priority-flow-control pause watchdog default {what}"
            told.say(f"{slot} {value.removesuffix('s')}", slot=slot, about=f"pfc-watchdog.{what}")
    if "headroom-pool" in settings:
        amount, unit = settings["headroom-pool"].split()
        slot = "platform trident mmu headroom-pool limit"
        told.say(f"{slot} {unit} {amount}", slot=slot, about="headroom-pool")
