"""NVIDIA Cumulus Linux: `nv set` and `nv unset` commands."""

from fractions import Fraction

from shallows.advisor.configuration import Allotment, Curve, PortProfile, Queue, Switch
from shallows.advisor.writers.lines import (
    NO_REASONS,
    Reasons,
    Text,
    Told,
    at,
    called,
    common_maps,
    difference,
    flat,
    gigabits,
    in_bytes,
    whole_percent,
)

ALL = "default-global"
ALPHAS = {Fraction(0): "alpha_0"} | {
    Fraction(2) ** power: f"alpha_{2**power}" if power >= 0 else f"alpha_1_{2**-power}"
    for power in range(-7, 7)
}
"""Alphas of Spectrum: 0, and 1/128 to 64."""

MOST_BYTES = (1 << 32) - 1
"""Largest values of `shared-bytes` and `reserved` in bytes, from NVIDIA's command reference."""

PERCENT = range(1, 101)
"""Valid percentages of `probability` and `bw-percent`, from NVIDIA's command reference."""


def write(before: Switch | None, after: Switch, reasons: Reasons = NO_REASONS) -> Text:
    """Write the change as commands to enter before `nv config apply`."""
    return difference(tell, flat("#"), before, after, reasons)


def tell(switch: Switch) -> Told:
    """Return all NVUE commands of a switch."""
    told = Told()
    for pool in switch.pools:
        if pool.percent is None or pool.percent.denominator != 1 or not 0 <= pool.percent <= 100:
            told.cannot(f"pool {pool.name}: sizes are percent of the memory")
        else:
            _set(told, f"qos traffic-pool {pool.name} memory-percent", str(pool.percent), pool.name)
    for setting in switch.settings:
        match setting.name.split("-priority-"):
            case ["traffic-pool.switch", priority]:
                _bare(told, f"qos traffic-pool {setting.value} switch-priority {priority}", setting.name)
            case ["roce"]:
                _set(told, "qos roce mode", setting.value, "roce")
            case ["trust"] if setting.scope == ALL:
                _set(told, f"qos mapping {ALL} trust", setting.value, "trust")
            case ["ingress-lossless.shared-alpha"]:
                start = f"qos advance-buffer-config {ALL} ingress-lossless-buffer shared-alpha"
                _set(told, start, setting.value, setting.name)
            case ["ecn.disabled"]:
                profile, _, number = setting.scope.rpartition("/")
                _set(
                    told,
                    f"qos congestion-control {profile} traffic-class {number} ecn",
                    "disable",
                    setting.name,
                )
    maps = common_maps(switch, told)
    for point, aim in maps.dscp_to_class:
        _set(told, f"qos mapping {ALL} dscp {point} switch-priority", str(aim), "maps")
    for first, queue in maps.class_to_queue:
        _set(
            told, f"qos egress-queue-mapping {ALL} switch-priority {first} traffic-class", str(queue), "maps"
        )
    said: dict[int, Allotment] = {}
    for each in switch.profiles:
        _profile(switch, each, switch.profiles[0], told)
        _memory(each, said, told)
    for marking in switch.markings:
        if marking.scope != "queue":
            told.cannot(f"{marking.name}: Cumulus Linux marks by queues alone")
    return told


def _set(told: Told, path: str, value: str, about: str) -> None:
    told.say(f"nv set {path} {value}", slot=path, undo=f"nv unset {path}", about=about)


def _bare(told: Told, path: str, about: str) -> None:
    told.say(f"nv set {path}", slot=path, undo=f"nv unset {path}", about=about)


def _profile(switch: Switch, profile: PortProfile, base: PortProfile, told: Told) -> None:
    fallback = ALL if profile is base or not profile.name else profile.name
    control = _control(profile, fallback)
    order = next(
        (queue.scheduler.name for queue in profile.queues if queue.scheduler and queue.scheduler.name),
        fallback,
    )
    if not order.replace("-", "").replace("_", "").isalnum() or any(
        queue.scheduler and queue.scheduler.name != order for queue in profile.queues
    ):
        order = fallback
    for queue in profile.queues:
        _marking(switch, profile, queue, control, told)
        _scheduler(profile, queue, order, told)
    pause = ALL if (profile.pfc, profile.cable) == (base.pfc, base.cable) else fallback
    for priority in profile.pfc:
        _bare(told, f"qos pfc {pause} switch-priority {priority}", "pfc")
    if profile.cable is not None and profile.pfc:
        _set(told, f"qos pfc {pause} cable-length", str(int(profile.cable)), "pfc")
    if profile.groups:
        told.cannot(
            f"memory of the priority groups of {called(profile)}: Cumulus Linux works it out from cables"
        )
    for port in profile.ports:
        for feature, name in (("congestion-control", control), ("egress-scheduler", order), ("pfc", pause)):
            if name != ALL:
                _set(told, f"interface {port} qos {feature} profile", name, name)
        if speed := gigabits(profile, "G", told):
            _set(told, f"interface {port} link speed", speed, "")
        if profile.mtu:
            _set(told, f"interface {port} link mtu", str(profile.mtu), "")


def _control(profile: PortProfile, fallback: str) -> str:
    """Return PROFILE if all markings have names PROFILE/QUEUE with the same PROFILE; otherwise `fallback`."""
    names = {
        queue.marking.rpartition("/")[0]
        for queue in profile.queues
        if queue.marking and queue.marking.endswith(f"/{queue.number}")
    }
    plain = len(names) == 1 and all("/" not in name and len(name.split()) == 1 for name in names)
    marked = all(queue.marking is None or "/" in queue.marking for queue in profile.queues)
    return names.pop() if plain and marked else fallback


def _marking(switch: Switch, profile: PortProfile, queue: Queue, control: str, told: Told) -> None:
    marking = switch.marking(queue.marking)
    if marking is None:
        return
    start = f"qos congestion-control {control} traffic-class {queue.number}"
    curve = marking.marking_curve() or marking.curves[0]
    if len(marking.curves) > 1:
        told.cannot(
            f"{at(profile, queue)}: more than one curve; that of green packets that are marked is written"
        )
    _curve(curve, start, marking.name, at(profile, queue), told)


def _curve(curve: Curve, start: str, about: str, where: str, told: Told) -> None:
    low, high = in_bytes(curve.minimum), in_bytes(curve.maximum)
    for each, ends in ((curve.minimum, low), (curve.maximum, high)):
        if each is not None and ends is None:
            told.cannot(f"{where}: thresholds are whole bytes here, not {each.unit}")
            return
    share = whole_percent(curve.probability)
    if share is not None and share not in PERCENT:
        told.cannot(
            f"{where}: a probability of {share} %, where NVUE takes 1 to 100; its curve is not written"
        )
        return
    if max(low or 0, high or 0) > MOST_BYTES:
        told.cannot(f"{where}: a threshold above {MOST_BYTES:,} bytes; its curve is not written")
        return
    if low is not None:
        _set(told, f"{start} min-threshold", str(low), about)
    if high is not None:
        _set(told, f"{start} max-threshold", str(high), about)
    _set(told, f"{start} ecn", "enable" if curve.marks_ect else "disable", about)
    _set(told, f"{start} red", "enable" if curve.drops_not_ect else "disable", about)
    if share is not None and share != 100:
        _set(told, f"{start} probability", str(share), about)
    elif share is None and curve.probability is not None:
        told.cannot(f"{where}: a probability that is no whole percent")
    if curve.weight:
        told.cannot(f"{where}: a weight of the average")


def _scheduler(profile: PortProfile, queue: Queue, order: str, told: Told) -> None:
    scheduler = queue.scheduler
    if scheduler is None:
        return
    start, about = f"qos egress-scheduler {order} traffic-class {queue.number}", f"queue {queue.number}"
    strict = scheduler.kind == "strict"
    _set(told, f"{start} mode", "strict" if strict else "dwrr", about)
    share = scheduler.percent
    if share is None and scheduler.weight is not None and not strict:
        weights = [
            each.scheduler.weight or 0
            for each in profile.queues
            if each.scheduler and each.scheduler.kind != "strict"
        ]
        share = Fraction(max(scheduler.weight * 100 // max(sum(weights), 1), 1))
        told.cannot(f"weight {scheduler.weight} of {at(profile, queue)}: written as percent, rounded down")
    if share is not None and share in PERCENT:
        _set(told, f"{start} bw-percent", str(share), about)
    elif share is not None and (share or not strict):
        told.cannot(
            f"{at(profile, queue)}: {float(share):g} percent, where NVUE takes whole ones from 1 to 100"
        )
    if scheduler.has_rates:
        told.cannot(f"{at(profile, queue)}: rates of a queue are not read or written here")


def _memory(profile: PortProfile, said: dict[int, Allotment], told: Told) -> None:
    for queue in profile.queues:
        each = queue.allotment
        if each is None:
            continue
        if said.setdefault(queue.number, each) != each:
            told.cannot(
                f"{at(profile, queue)} with memory of its own; that of the first ports is written for all"
            )
            continue
        start, about = (
            f"qos advance-buffer-config {ALL} egress-lossy-buffer traffic-class {queue.number}",
            f"queue {queue.number}",
        )
        if each.unlimited or each.alpha in ALPHAS:
            value = "alpha_infinity" if each.unlimited or each.alpha is None else ALPHAS[each.alpha]
            _set(told, f"{start} shared-alpha", value, about)
        elif each.alpha is not None:
            told.cannot(f"alpha {each.alpha} of {at(profile, queue)}: Spectrum knows 0, 1/128, 1/64, … 64")
        for word, size in (("shared-bytes", each.limit), ("reserved", each.reserved)):
            if size is not None:
                if in_bytes(size) is None:
                    told.cannot(f"{at(profile, queue)}: {word} in {size.unit}")
                elif (in_bytes(size) or 0) > MOST_BYTES:
                    told.cannot(f"{at(profile, queue)}: {word} above {MOST_BYTES:,} bytes")
                else:
                    _set(told, f"{start} {word}", str(in_bytes(size)), about)
        if each.trims:
            told.cannot(f"{at(profile, queue)} trims")
