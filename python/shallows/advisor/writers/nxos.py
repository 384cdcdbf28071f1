"""Cisco NX-OS: lines of a running configuration of a Nexus 9000."""

from collections.abc import Sequence
from fractions import Fraction

from shallows.advisor.configuration import Curve, PortProfile, Queue, Setting, Switch, Threshold
from shallows.advisor.readers.nxos import OPTIMIZED
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
    difference,
    whole_percent,
)

INDEXES = {Fraction(2) ** (index - 7): index for index in range(11)}
"""Dictionary that maps an alpha to its number in `queue-limit dynamic`."""


MOST_WEIGHT = 15
"""Largest weight of the average. Unverified: no published range was found for it, nor for `drop-probability`
(0 to 100 percent here). Published configurations have weight 0, and 7 or 100 percent.
"""

LEAST_MTU, MOST_MTU = 576, 9216
"""MTU range in bytes of an Ethernet port and of a network-qos class: CiscoDevNet/terraform-provider-nxos
0.14, gen/definitions/physical_interface.yaml and network_qos.yaml (`ipqosSetMTU`).
"""


def write(before: Switch | None, after: Switch, reasons: Reasons = NO_REASONS) -> Text:
    """Write the change as lines for `configure terminal`."""
    return difference(tell, render, before, after, reasons)


def render(lines: Sequence[Line], reasons: Reasons) -> str:
    """Format lines with their sections."""
    found = [
        (line.sections, row) for line, why in commented(lines, reasons, "!") for row in (*why, line.text)
    ]
    return "\n".join(indented.write(found, 2)) + "\n" if found else ""


def tell(switch: Switch) -> Told:
    """Return all NX-OS lines of a switch."""
    told = Told()
    _classifiers(switch, told)
    _lossless(switch, told)
    first: dict[str, PortProfile] = {}
    for number, profile in enumerate(switch.profiles):
        name = _name(profile, number)
        if profile.queues and first.setdefault(name, profile) is profile:
            for queue in profile.queues:
                _queue(switch, profile, queue, name, told)
        elif profile.queues and first[name].queues != profile.queues:
            told.cannot(f"{called(profile)} differs from other ports of policy {name}")
    common = next((profile for profile in switch.profiles if not profile.ports and profile.queues), None)
    if common:
        name = _name(common, switch.profiles.index(common))
        told.say(
            f"service-policy type queuing output {name}",
            "system qos",
            slot="service-policy queuing",
            undo=f"no service-policy type queuing output {name}",
            about=name,
        )
    for number, profile in enumerate(switch.profiles):
        _ports(switch, profile, _name(profile, number), common, told)
    for setting in switch.settings:
        if setting.name in ("pfc.mode", "pfc-watchdog") and setting.scope:
            word = {"pfc.mode": "mode", "pfc-watchdog": "watch-dog-interval"}[setting.name]
            slot = f"priority-flow-control {word}"
            told.say(f"{slot} {setting.value}", f"interface {setting.scope}", slot=slot, about=setting.name)
    for pool in switch.pools:
        told.cannot(f"pool {pool.name}: the platform divides the memory")
    for marking in switch.markings:
        if marking.scope != "queue":
            told.cannot(f"{marking.name}: NX-OS marks by queues alone")
    return told


def _name(profile: PortProfile, number: int) -> str:
    return profile.name if profile.name and len(profile.name.split()) == 1 else f"shallows-{number + 1}"


def _ports(switch: Switch, profile: PortProfile, name: str, common: PortProfile | None, told: Told) -> None:
    shared = common is not None and (profile.name, profile.queues) == (common.name, common.queues)
    for port in profile.ports:
        section = f"interface {port}"
        if profile.queues and not shared:
            told.say(
                f"service-policy type queuing output {name}",
                section,
                slot="service-policy queuing",
                undo=f"no service-policy type queuing output {name}",
                about=name,
            )
        if profile.mtu and _has_mtu(profile.mtu, port, told):
            told.say(f"mtu {profile.mtu}", section, slot="mtu")
        if profile.rate and not profile.rate % 10**6:
            told.say(f"speed {profile.rate // 10**6}", section, slot="speed")
        elif profile.rate:
            told.cannot(f"{port}: {profile.rate:,} bit/s, which are no whole Mb/s")
    del switch


def _has_mtu(mtu: int, where: str, told: Told) -> bool:
    """Return whether NX-OS accepts an MTU; report an invalid one."""
    takes = LEAST_MTU <= mtu <= MOST_MTU
    if not takes:
        told.cannot(f"{where}: an MTU of {mtu:,}, where NX-OS takes {LEAST_MTU:,} to {MOST_MTU:,}")
    return takes


def _queue(switch: Switch, profile: PortProfile, queue: Queue, policy: str, told: Told) -> None:
    name = queue.name if queue.name and "c-out" in queue.name else f"c-out-8q-q{queue.number or '-default'}"
    section = (f"policy-map type queuing {policy}", f"class type queuing {name}")
    about, scheduler = f"queue {queue.number}", queue.scheduler
    settings = {each.name: each.value for each in switch.settings if each.scope == f"{policy}/{queue.number}"}
    told.say(section[1], section[0], about=about)
    if scheduler and scheduler.kind == "strict":
        level = settings.get("priority.level", "1")
        told.say(f"priority level {level}", *section, slot="priority", about=about)
    share = scheduler.percent if scheduler else None
    if scheduler and share is None and scheduler.kind != "strict" and scheduler.weight is not None:
        weights = [
            each.scheduler.weight or 0
            for each in profile.queues
            if each.scheduler and each.scheduler.kind != "strict"
        ]
        share = Fraction(scheduler.weight * 100 // max(sum(weights), 1))
        told.cannot(f"weight {scheduler.weight} of {at(profile, queue)}: written as percent, rounded down")
    if share is not None:
        if share.denominator == 1 and 0 <= share <= 100:
            remaining = "" if "bandwidth" in settings else " remaining"
            told.say(f"bandwidth{remaining} percent {share}", *section, slot="bandwidth", about=about)
        else:
            told.cannot(f"{float(share)} percent of the rate for {at(profile, queue)}")
    if scheduler and scheduler.has_rates:
        told.cannot(f"{at(profile, queue)}: rates of a queue are not read or written here")
    if marking := switch.marking(queue.marking):
        curve = marking.marking_curve() or marking.curves[0]
        if len(marking.curves) > 1:
            told.cannot(
                f"{at(profile, queue)}: more than one curve; that of green packets that are marked is written"
            )
        _curve(curve, section, marking.name, at(profile, queue), settings.get(OPTIMIZED), told)
    if each := queue.allotment:
        if each.alpha in INDEXES:
            told.say(f"queue-limit dynamic {INDEXES[each.alpha]}", *section, slot="queue-limit", about=about)
        elif each.limit and (limit := _size(each.limit)):
            told.say(f"queue-limit {limit}", *section, slot="queue-limit", about=about)
        elif each.alpha is not None or each.limit:
            told.cannot(
                f"what {at(profile, queue)} may hold: NX-OS knows alpha 1/128, 1/64, … 8, or whole bytes"
            )
        if each.reserved or each.unlimited or each.trims:
            told.cannot(f"memory reserved for {at(profile, queue)}, without limit, or trimming")


def _size(threshold: Threshold | None) -> str | None:
    if threshold is None or threshold.unit != "bytes" or threshold.amount.denominator != 1:
        return None
    amount = int(threshold.amount)
    return f"{amount // 1000} kbytes" if not amount % 1000 else f"{amount} bytes"


def _curve(
    curve: Curve, section: tuple[str, str], about: str, where: str, optimized: str | None, told: Told
) -> None:
    ends = [(curve.minimum, _size(curve.minimum)), (curve.maximum, _size(curve.maximum))]
    if any(size is not None and text is None for size, text in ends):
        told.cannot(f"{where}: thresholds are whole bytes here")
        return
    own = optimized and curve.minimum is None and curve.maximum is None
    text = f"random-detect threshold {optimized}" if own else "random-detect"
    for word, (_, size) in zip(("minimum-threshold", "maximum-threshold"), ends, strict=True):
        text += f" {word} {size}" if size else ""
    if curve.probability is not None:
        share = whole_percent(curve.probability)
        if share is None:
            told.cannot(
                f"{where}: a probability of {float(curve.probability):.3%}, which is no whole percent"
            )
            return
        text += f" drop-probability {share}"
    if curve.weight is not None and curve.weight > MOST_WEIGHT:
        told.cannot(
            f"{where}: a weight of {curve.weight}, where NX-OS takes 0 to {MOST_WEIGHT}; no curve is written"
        )
        return
    if curve.weight is not None:
        text += f" weight {curve.weight}"
    text += " ecn" if curve.marks_ect else ""
    told.say(text, *section, slot="random-detect", about=about)


def _classifiers(switch: Switch, told: Told) -> None:
    """Add the lines that map code points to groups: with existing classes, or with a new class per group."""
    named = [each for each in switch.settings if each.name.startswith("classifier")]
    points = {each.scope: each.value for each in named if each.name == "classifier.dscp"}
    groups = [(*each.scope.split(" ", 1), each.value) for each in named if each.name == "classifier.group"]
    applied = [each for each in named if each.name == "classifier"]
    maps = next((profile.maps for profile in switch.profiles if profile.maps.dscp_to_class), None)
    said = {
        (int(point), int(group))
        for _, name, group in groups
        for point in points.get(name, "").split(",")
        if point
    }
    if maps and said != set(maps.dscp_to_class):
        by_group: dict[int, list[int]] = {}
        for point, number in maps.dscp_to_class:
            by_group.setdefault(number, []).append(point)
        points = {f"shallows-group-{number}": ",".join(map(str, found)) for number, found in by_group.items()}
        groups = [("shallows-classes", f"shallows-group-{number}", str(number)) for number in by_group]
        applied = [
            Setting("classifier", "shallows-classes", each.scope)
            for each in applied or [Setting("classifier", "")]
        ]
    if maps and (maps.class_to_queue and any(one != other for one, other in maps.class_to_queue)):
        told.cannot("classes that go to a queue of another number")
    for name, found in points.items():
        told.say(
            f"match dscp {found}", f"class-map type qos match-any {name}", slot="match dscp", about="maps"
        )
    for policy, name, group in groups:
        told.say(
            f"set qos-group {group}",
            f"policy-map type qos {policy}",
            f"class {name}",
            slot="set qos-group",
            about="maps",
        )
    for each in applied:
        section = f"interface {each.scope}" if each.scope else "system qos"
        told.say(
            f"service-policy type qos input {each.value}",
            section,
            slot="service-policy qos",
            undo=f"no service-policy type qos input {each.value}",
            about="maps",
        )


def _lossless(switch: Switch, told: Told) -> None:
    """Add the network-qos policy: paused priorities and their memory."""
    base = switch.profiles[0] if switch.profiles else PortProfile(())
    if any(profile.pfc != base.pfc for profile in switch.profiles):
        told.cannot("PFC for priorities that differ between ports: those of the first are written for all")
    names = {each.scope: each.value for each in switch.settings if each.name == "network-qos.class"}
    mtus = [each for each in switch.settings if each.name == "network-qos.mtu"]
    policy = next((each.value for each in switch.settings if each.name == "network-qos"), "shallows-lossless")
    top = f"policy-map type network-qos {policy}"
    groups = {group.number: group for group in base.groups}
    for number in groups.keys() - set(base.pfc):
        told.cannot(f"memory of priority group {number}, which is not paused")
    kept = {scope: name for scope, name in names.items() if set(map(int, scope.split(","))) <= set(base.pfc)}
    left = [priority for priority in base.pfc if all(str(priority) not in scope.split(",") for scope in kept)]
    for scope, name in [*kept.items(), *((str(priority), f"c-8q-nq{priority}") for priority in left)]:
        section = (top, f"class type network-qos {name}")
        told.say(f"pause pfc-cos {scope}", *section, slot="pause pfc-cos", about="pfc")
        group = groups.get(int(scope.split(",")[0]))
        each = group.allotment if group else None
        if group and each and each.reserved and each.limit and group.xon:
            start = "pause buffer-size"
            sizes = (each.reserved.amount, each.limit.amount, group.xon.amount)
            told.say(
                f"{start} {sizes[0]} pause-threshold {sizes[1]} resume-threshold {sizes[2]}",
                *section,
                slot=start,
                about=f"group {group.number}",
            )
        elif group:
            told.cannot(
                f"memory of priority group {group.number}: NX-OS takes a size, a pause and a resume threshold"
            )
    for setting in mtus:
        if _has_mtu(int(setting.value), setting.scope, told):
            section = (top, f"class type network-qos {setting.scope}")
            told.say(f"mtu {setting.value}", *section, slot="mtu", about="mtu")
    if base.pfc or mtus:
        told.say(
            f"service-policy type network-qos {policy}",
            "system qos",
            slot="service-policy network-qos",
            undo=f"no service-policy type network-qos {policy}",
            about="pfc",
        )
