"""Juniper Junos: `set` and `delete` commands below `class-of-service`."""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from shallows.advisor.configuration import Curve, PortProfile, Queue, Switch
from shallows.advisor.readers.junos_names import (
    BUFFER_SIZE,
    CABLE,
    COLOURS,
    LOSS,
    MRU,
    PAUSED_POINTS,
    PAUSED_QUEUE,
    PAUSED_TAGS,
    WATCHDOG,
)
from shallows.advisor.writers.lines import (
    NO_REASONS,
    Reasons,
    Text,
    Told,
    at,
    called,
    difference,
    flat,
    gigabits,
    whole_percent,
)

INDEXES = {Fraction(2) ** (index - 7): index for index in range(11)}
"""Dictionary that maps an alpha to its number in `buffer-dynamic-threshold`."""

LOSSES = {colour: loss for loss, colour in COLOURS.items()}


def write(before: Switch | None, after: Switch, reasons: Reasons = NO_REASONS) -> Text:
    """Write the change as commands to enter between `configure` and `commit`."""
    return difference(tell, flat("#"), before, after, reasons)


def tell(switch: Switch) -> Told:
    """Return all Junos lines of a switch."""
    told = Told()
    _pools(switch, told)
    settings = {(each.name, each.scope): each.value for each in switch.settings}
    numbers = {scope: value for (name, scope), value in settings.items() if name == "forwarding-class"}
    paused = {} if numbers else _paused(switch)
    for profile in switch.profiles:
        for queue in profile.queues:
            numbers.setdefault(_kind(queue), str(queue.number))
    for kind, number in numbers.items():
        more = " no-loss" if ("no-loss", kind) in settings else ""
        priority = settings.get(("forwarding-class.pfc-priority", kind)) or paused.get(int(number))
        more += f" pfc-priority {priority}" if priority is not None else ""
        _set(told, f"forwarding-classes class {kind}", f" queue-num {number}{more}", f"queue {number}")
    classes = _Classes.of(numbers, settings)
    named = _Named()
    for place, profile in enumerate(switch.profiles):
        _profile(switch, profile, place, classes, settings, named, told)
    for marking in switch.markings:
        if marking.scope != "queue":
            told.cannot(f"{marking.name}: Junos marks by queues alone")
    return told


def _set(told: Told, path: str, value: str, about: str) -> None:
    told.say(
        f"set class-of-service {path}{value}", slot=path, undo=f"delete class-of-service {path}", about=about
    )


def _kind(queue: Queue) -> str:
    plain = (
        queue.name and queue.name.replace("-", "").replace("_", "").isalnum() and "queue" not in queue.name
    )
    return queue.name if plain and queue.name else f"class-{queue.number}"


@dataclass
class _Named:
    """Names in use, each with its object; an object gets a new name if a different object has its name."""

    drops: dict[str, str] = field(default_factory=dict)
    schedulers: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class _Classes:
    """Forwarding classes by queue and by priority, computed once for all ports."""

    by_queue: dict[str, str]
    """First class of each queue."""
    by_priority: dict[str, list[int]]
    """Queues of the forwarding classes, by PFC priority."""

    @classmethod
    def of(cls, numbers: dict[str, str], settings: dict[tuple[str, str], str]) -> "_Classes":
        """Build the classes of all queues, with the PFC priorities that settings give them."""
        by_priority: dict[str, list[int]] = {}
        for kind, number in numbers.items():
            if priority := settings.get(("forwarding-class.pfc-priority", kind)):
                by_priority.setdefault(priority, []).append(int(number))
        return cls({number: kind for kind, number in reversed(numbers.items())}, by_priority)


def _paused(switch: Switch) -> dict[int, str]:
    """Return the paused priority of each queue, as set at the first port that pauses it."""
    found: dict[int, str] = {}
    for profile in switch.profiles:
        mapped = dict(profile.maps.class_to_queue)
        for priority in profile.pfc:
            found.setdefault(mapped.get(priority, priority), str(priority))
    return found


def _pools(switch: Switch, told: Told) -> None:
    for pool in switch.pools:
        side, _, part = pool.name.partition(".")
        share = pool.percent
        if side not in ("ingress", "egress") or not pool.of_shared or (share and share.denominator != 1):
            told.cannot(f"pool {pool.name}: Junos divides the memory into its own partitions, in percent")
            continue
        start = f"shared-buffer {side} buffer-partition {part}"
        if share is not None:
            _set(told, f"{start} percent", f" {share}", pool.name)
        if pool.alpha in INDEXES:
            _set(told, f"{start} dynamic-threshold", f" {INDEXES[pool.alpha]}", pool.name)
        elif pool.alpha is not None:
            told.cannot(f"alpha {pool.alpha} of {pool.name}: Junos knows alpha 1/128, 1/64, … 8 alone")
    bound = {_names(profile)[1] for profile in switch.profiles if _names(profile)}
    for each in switch.settings:
        if each.name in ("dedicated-buffer", "shared-buffer"):
            _set(told, f"{each.name} {each.scope} percent", f" {each.value.rstrip('%')}", each.name)
        elif each.name == PAUSED_QUEUE and len(words := each.scope.split()) == 3:
            start = f"congestion-notification-profile {words[0]} output ieee-802.1 code-point {words[1]}"
            _set(told, f"{start} flow-control-queue {words[2]}", "", each.name)
        elif each.name == MRU and len(words := each.scope.split()) == 3:
            bits = f"{int(words[2]):0{6 if words[1] == 'dscp' else 3}b}"
            start = f"congestion-notification-profile {words[0]} input {words[1]} code-point {bits}"
            _set(told, f"{start} pfc mru", f" {each.value}", each.name)
        elif each.name in (PAUSED_POINTS, PAUSED_TAGS) and each.scope not in bound:
            kind, width = ("dscp", 6) if each.name == PAUSED_POINTS else ("ieee-802.1", 3)
            for point in map(int, each.value.split(",")):
                start = f"congestion-notification-profile {each.scope} input {kind}"
                _set(told, f"{start} code-point {point:0{width}b} pfc", "", each.name)
        elif each.name == CABLE:
            path = f"congestion-notification-profile {each.scope} input cable-length"
            _set(told, path, f" {each.value}", each.name)
        elif each.name == WATCHDOG:
            _set(told, f"congestion-notification-profile {each.scope} pfc-watchdog", "", each.name)


def _names(profile: PortProfile) -> list[str]:
    """Return the names of a profile's scheduler map, congestion notification profile and classifier."""
    words = (profile.name or "").split()
    return words if len(words) == 3 else []


def _profile(
    switch: Switch,
    profile: PortProfile,
    place: int,
    classes: _Classes,
    settings: dict[tuple[str, str], str],
    taken: _Named,
    told: Told,
) -> None:
    named = _names(profile)
    default = f"shallows-{place + 1}"
    scheduler_map, pause, classifier = named or (default, default, default)
    for queue in profile.queues:
        scheduler = _scheduler(switch, profile, queue, default, settings, taken, told)
        path = f"scheduler-maps {scheduler_map} forwarding-class {_kind(queue)}"
        _set(told, path, f" scheduler {scheduler}", f"queue {queue.number}")
    mapped = dict(profile.maps.class_to_queue)
    points: dict[int, list[int]] = {}
    for point, number in profile.maps.dscp_to_class:
        kind = classes.by_queue.get(str(mapped.get(number, number)))
        if kind is None or classifier == "-":
            told.cannot(f"code point {point} of {called(profile)}: no forwarding class has its queue")
            continue
        if not profile.ports:
            told.cannot(f"maps of {called(profile)}: no port has them")
            continue
        points.setdefault(mapped.get(number, number), []).append(point)
        bits = f"{point:06b}"
        loss = settings.get((LOSS, f"{classifier} {bits}"), "low")
        slot = (
            f"classifiers dscp {classifier} forwarding-class {kind} loss-priority {loss} code-points {bits}"
        )
        _set(told, slot, "", "maps")
    tags = settings.get((PAUSED_TAGS, pause), "").split(",")
    for priority in profile.pfc:
        if str(priority) in tags:
            path = f"congestion-notification-profile {pause} input ieee-802.1 code-point {priority:03b} pfc"
            _set(told, path, "", "pfc")
            continue
        wanted = classes.by_priority.get(str(priority), [mapped.get(priority, priority)])
        known = settings.get((PAUSED_POINTS, pause))
        found = [
            point
            for number in wanted
            for point in points.get(number, [])
            if known is None or str(point) in known.split(",")
        ]
        if not found or pause == "-":
            told.cannot(f"PFC of priority {priority} at {called(profile)}: no code point goes to its queue")
        for point in found:
            if pause != "-":
                path = f"congestion-notification-profile {pause} input dscp code-point {point:06b} pfc"
                _set(told, path, "", "pfc")
    if profile.cable is not None and profile.cable.denominator == 1 and pause != "-":
        path = f"congestion-notification-profile {pause} input cable-length"
        _set(told, path, f" {profile.cable}", "pfc")
    elif profile.cable is not None:
        told.cannot(f"cables of {called(profile)}: whole metres of a profile that the port has")
    if profile.groups:
        told.cannot(f"memory of the priority groups of {called(profile)}: Junos works it out itself")
    for port in profile.ports:
        if (profile.queues or named) and scheduler_map != "-":
            _set(told, f"interfaces {port} scheduler-map", f" {scheduler_map}", scheduler_map)
        if (profile.pfc or profile.cable or named) and pause != "-":
            _set(told, f"interfaces {port} congestion-notification-profile", f" {pause}", pause)
        if (profile.maps.dscp_to_class or named) and classifier != "-":
            _set(told, f"interfaces {port} unit * classifiers dscp", f" {classifier}", classifier)
        for word, value in (("speed", gigabits(profile, "g", told)), ("mtu", profile.mtu)):
            if value:
                told.say(
                    f"set interfaces {port} {word} {value}",
                    slot=f"{port} {word}",
                    undo=f"delete interfaces {port} {word}",
                )


def _scheduler(
    switch: Switch,
    profile: PortProfile,
    queue: Queue,
    default: str,
    settings: dict[tuple[str, str], str],
    taken: _Named,
    told: Told,
) -> str:
    """Add the lines of a queue's scheduler; return its name."""
    scheduler = queue.scheduler
    words = (scheduler.name or "").split() if scheduler else []
    marking = switch.marking(queue.marking)
    name = words[0] if words and len(words) < 3 and "/" not in words[0] else f"{default}-{queue.number}"
    share, rounded = _share(profile, queue)
    alpha = queue.allotment and queue.allotment.alpha
    what = (scheduler and replace(scheduler, name=None), share, marking, alpha)
    if taken.schedulers.setdefault(name, what) != what:
        # Another scheduler, with other settings, already has this name.
        name = f"{default}-{queue.number}"
    about, start = f"queue {queue.number}", f"schedulers {name}"
    if scheduler:
        if scheduler.kind == "strict" or len(words) == 2:
            strict = (
                words[1] if len(words) == 2 and (words[1] == "low") == (scheduler.kind != "strict") else None
            )
            if strict or scheduler.kind == "strict":
                _set(told, f"{start} priority", f" {strict or 'strict-high'}", about)
        if rounded:
            told.cannot(
                f"weight {scheduler.weight} of {at(profile, queue)}: written as percent, rounded down"
            )
        for word, percent, rate in (
            ("transmit-rate", share, scheduler.guaranteed),
            ("shaping-rate", scheduler.shape_percent, scheduler.shape),
        ):
            # Juniper's reference: 0 through 100 percent.
            if percent is not None and percent.denominator == 1 and 0 <= percent <= 100:
                _set(told, f"{start} {word}", f" percent {percent}", about)
            elif percent is not None:
                told.cannot(
                    f"{word} of {at(profile, queue)}: {float(percent)} percent, where Junos takes whole ones "
                    "from 0 to 100"
                )
            elif rate is not None:
                _set(told, f"{start} {word}", f" {rate}", about)
        if scheduler.remainder:
            _set(told, f"{start} transmit-rate", " remainder", about)
        if scheduler.guaranteed_percent is not None or (share is not None and scheduler.guaranteed):
            told.cannot(f"{at(profile, queue)}: both a share and a least rate; transmit-rate is one of them")
    if size := settings.get((BUFFER_SIZE, name)):
        _set(told, f"{start} {BUFFER_SIZE}", f" {size}", about)
    if marking:
        before = len(told.lines)
        for curve in marking.curves:
            _curve(curve, name, marking.name, at(profile, queue), settings, taken, told)
        if marking.marks_ect and len(told.lines) > before:
            _set(told, f"{start} explicit-congestion-notification", "", marking.name)
    elif ("ecn.without-profile", name) in settings:
        _set(told, f"{start} explicit-congestion-notification", "", about)
    each = queue.allotment
    if each and each.alpha in INDEXES:
        _set(told, f"{start} buffer-dynamic-threshold", f" {INDEXES[each.alpha]}", about)
    if each and (
        each.alpha not in (None, *INDEXES) or each.limit or each.reserved or each.unlimited or each.trims
    ):
        told.cannot(f"what {at(profile, queue)} may hold: Junos knows alpha 1/128, 1/64, … 8 alone")
    return name


def _share(profile: PortProfile, queue: Queue) -> tuple[Fraction | None, bool]:
    """Return a queue's share of the rate, and whether it was computed from weights and rounded."""
    scheduler = queue.scheduler
    if (
        scheduler is None
        or scheduler.percent is not None
        or scheduler.kind == "strict"
        or not scheduler.weight
    ):
        return (scheduler.percent if scheduler else None), False
    weights = [
        each.scheduler.weight or 0
        for each in profile.queues
        if each.scheduler and each.scheduler.kind != "strict"
    ]
    return Fraction(scheduler.weight * 100 // sum(weights)), True


def _curve(
    curve: Curve,
    scheduler: str,
    about: str,
    where: str,
    settings: dict[tuple[str, str], str],
    taken: _Named,
    told: Told,
) -> None:
    loss, share = LOSSES[curve.colour], whole_percent(curve.probability)
    ends = (curve.minimum, curve.maximum)
    # Juniper's reference: fill-level and drop-probability are whole numbers from 0 through 100.
    if any(
        end is None or end.unit != "percent" or end.amount.denominator != 1 or not 0 <= end.amount <= 100
        for end in ends
    ):
        told.cannot(f"{where}: fill levels are whole percent of what the queue has been given")
        return
    if share is None:
        told.cannot(f"{where}: a probability that is no whole percent")
        return
    low, high = (int(end.amount) for end in ends if end)
    body = f" fill-level [ {low} {high} ] drop-probability [ 0 {share} ]"
    name = settings.get(("drop-profile", f"{scheduler} {loss}"), f"{scheduler}-{loss}")
    if taken.drops.setdefault(name, body) != body:
        name = f"{name}-{scheduler}"
        taken.drops[name] = body
    start = f"drop-profiles {name} interpolate"
    told.say(
        f"delete class-of-service {start}\nset class-of-service {start} fill-level [ {low} {high} ]"
        f"\nset class-of-service {start} drop-probability [ 0 {share} ]",
        slot=start,
        undo=f"delete class-of-service {start}",
        about=about,
    )
    path = f"schedulers {scheduler} drop-profile-map loss-priority {loss} protocol any"
    _set(told, path, f" drop-profile {name}", about)
    if curve.marks_ect and curve.drops_not_ect:
        told.cannot(
            f"{where}: packets that are not ECN-capable are dropped by no curve where others are marked"
        )
