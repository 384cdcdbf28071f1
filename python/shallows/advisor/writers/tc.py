"""Linux: `tc qdisc` commands, and for hosts sysctls and routes.

`red` averages with a weight of at most one half, has one curve, and counts bytes; `ets` serves strict bands
before bands with quanta.
"""

import math
from fractions import Fraction

from shallows.advisor.configuration import Curve, PortProfile, Queue, Switch
from shallows.advisor.linux_red import AVERAGE_PACKET, CERTAIN, MOST_SIZE, applied, fits, weight_of
from shallows.advisor.readers.tc import ADAPTIVE, EARLY, MARKED
from shallows.advisor.writers import hosts
from shallows.advisor.writers.lines import (
    NO_REASONS,
    Reasons,
    Text,
    Told,
    at,
    called,
    difference,
    flat,
    in_bytes,
)

ALL_PORTS = "$DEV"
"""Placeholder for the device of a profile without ports."""

MOST_BANDS, FEWEST_BANDS = 16, 2
"""Largest number of bands of ets and prio, and smallest number for prio: TCQ_ETS_MAX_BANDS, TCQ_PRIO_BANDS
and TCQ_MIN_PRIO_BANDS of Linux' pkt_sched.h.
"""


def write(before: Switch | None, after: Switch, reasons: Reasons = NO_REASONS) -> Text:
    """Write the change as root commands."""
    return difference(tell, flat("#"), before, after, reasons)


def tell(switch: Switch) -> Told:
    """Return all tc, ip and sysctl commands of a switch."""
    told = Told()
    for profile in switch.profiles:
        for port in profile.ports or (ALL_PORTS,):
            _device(switch, profile, port, told)
        if profile.pfc:
            told.cannot(f"PFC at {called(profile)}: `dcb pfc set`, where the driver has it")
        if profile.groups:
            told.cannot(f"memory of the priority groups of {called(profile)}")
        if profile.maps.dscp_to_class:
            told.cannot(f"code points of {called(profile)}: `dcb app`, or a filter, where the driver has it")
    for pool in switch.pools:
        told.cannot(f"pool {pool.name}: a qdisc has memory of its own")
    hosts.tell(switch, told)
    return told


def _device(switch: Switch, profile: PortProfile, port: str, told: Told) -> None:
    queues = list(profile.queues)
    if not queues:
        return
    if len(queues) == 1 and queues[0].scheduler is None:
        _red(switch, profile, queues[0], port, "root", "1:", told)
        return
    bands = _bands(profile, told)
    strict = sum(queue.scheduler is not None and queue.scheduler.kind == "strict" for queue in bands)
    slot = f"qdisc dev {port} root"
    priorities = [band for _, band in profile.maps.class_to_queue] if profile.name in ("ets", "prio") else []
    text = f"tc qdisc replace dev {port} root handle 1: "
    if profile.name == "prio" and len(bands) < FEWEST_BANDS:
        told.cannot(f"{called(profile)}: prio takes from {FEWEST_BANDS} bands")
        return
    if profile.name == "prio":
        text += f"prio bands {len(bands)}"
    else:
        quanta = [_quantum(profile, queue, told) for queue in bands[strict:]]
        text += f"ets bands {len(bands)} strict {strict}" + (
            f" quanta {' '.join(quanta)}" if quanta and all(quanta) else ""
        )
    text += f" priomap {' '.join(map(str, priorities))}" if priorities else ""
    told.say(text, slot=slot, undo=f"tc qdisc del dev {port} root", about=called(profile))
    for band, queue in enumerate(bands):
        _red(switch, profile, queue, port, f"parent 1:{band + 1:x}", f"{band + 11:x}:", told)


def _bands(profile: PortProfile, told: Told) -> list[Queue]:
    """Return queues in the order of bands: by number if read from Linux, otherwise strict queues first."""
    if profile.name in ("ets", "prio"):
        return sorted(profile.queues, key=lambda queue: queue.number)
    found = sorted(
        profile.queues,
        key=lambda queue: (queue.scheduler is None or queue.scheduler.kind != "strict", -queue.number),
    )
    numbers = ", ".join(str(queue.number) for queue in found)
    told.cannot(f"{called(profile)}: its bands are queues {numbers}; which packets go there is not written")
    if len(found) > MOST_BANDS:
        told.cannot(f"{called(profile)}: more than {MOST_BANDS} bands")
    return found[:MOST_BANDS]


def _quantum(profile: PortProfile, queue: Queue, told: Told) -> str:
    scheduler = queue.scheduler
    if scheduler is None:
        return "1514"
    if scheduler.has_rates:
        told.cannot(f"{at(profile, queue)}: rates of a band")
    if scheduler.percent is not None:
        return str(max(int(scheduler.percent * 1514), 1514))
    if profile.name == "ets":
        return str(scheduler.weight) if scheduler.weight else ""
    return str((scheduler.weight or 1) * 1514)


def _red(
    switch: Switch, profile: PortProfile, queue: Queue, port: str, place: str, handle: str, told: Told
) -> None:
    marking, where = switch.marking(queue.marking), at(profile, queue)
    allotment = queue.allotment
    if allotment and (allotment.alpha is not None or allotment.reserved or allotment.trims):
        told.cannot(f"{where}: a qdisc has a fixed limit, and no share of a pool")
    if marking is None:
        return
    curve = marking.marking_curve() or marking.curves[0]
    if len(marking.curves) > 1:
        told.cannot(f"{where}: more than one curve; that of green packets that are marked is written")
    low, high = in_bytes(curve.minimum), in_bytes(curve.maximum)
    if low is None or high is None or curve.probability is None:
        told.cannot(f"{where}: a curve of red takes whole bytes and a probability")
        return
    if low < 1 or high < 1:  # tc/q_red.c treats a threshold of 0 as missing
        told.cannot(f"{where}: a threshold of 0 is written as 1 byte: for 0 tc takes a default")
        low, high = max(low, 1), max(high, 1)
    limit = in_bytes(allotment.limit) if allotment else None
    limit = min(4 * high, MOST_SIZE) if limit is None else limit
    if why := _refused(curve, low, high, limit):
        told.cannot(f"{where}: {why}; no red is written")
        return
    text = f"tc qdisc replace dev {port} {place} handle {handle} red"
    text += f" limit {limit} min {low} max {high}"
    text += _averaged(curve, low, where, told)
    text += " ecn" if curve.marks_ect else ""
    text += " harddrop" if curve.drops_above else ""
    text += " nodrop" if curve.drops_not_ect is False and curve.marks_ect else ""
    text += f" probability {CERTAIN if curve.probability == 1 else _decimal(curve.probability)}"
    text += _extras(switch, marking.name)
    told.say(
        text, slot=f"qdisc dev {port} {place}", undo=f"tc qdisc del dev {port} {place}", about=marking.name
    )


def _refused(curve: Curve, low: int, high: int, limit: int) -> str:
    """Explain why tc or the kernel rejects a curve; empty if they accept it."""
    if low > high:
        return "red's minimum is above its maximum, which the kernel refuses (red_check_params of net/red.h)"
    if max(high, limit) > MOST_SIZE or limit < 1:
        return f"red takes sizes from 1 to {MOST_SIZE:,} bytes (get_size of lib/utils_math.c)"
    if not fits(high, max(curve.weight or 1, 1)):
        return (
            "red's thresholds must have fewer than 32 bits together with the weight of the average "
            "(red_check_params of net/red.h)"
        )
    if applied(high - low, curve.probability or Fraction(0)) is None:
        return (
            "tc refuses a probability of 0, and one below (max - min) / 2^31 (tc_red_eval_P of tc/tc_red.c)"
        )
    return ""


def _extras(switch: Switch, name: str) -> str:
    """Return red's options for which `Curve` has no field."""
    said = {each.name: each.value for each in switch.settings if each.scope == name}
    events = {"early_drop": EARLY, "mark": MARKED}
    return (" adaptive" if ADAPTIVE in said else "") + "".join(
        f" qevent {event} block {said[setting]}" for event, setting in events.items() if setting in said
    )


def _averaged(curve: Curve, low: int, where: str, told: Told) -> str:
    """Return tc's options that set the weight of the average; omit `burst` if no burst gives this weight."""
    if curve.weight is None:
        told.cannot(f"{where}: the weight of the average is not known; that of tc's default burst is written")
        return f" avpkt {AVERAGE_PACKET}"
    wanted = max(curve.weight, 1)
    if curve.weight == 0:
        told.cannot(f"{where}: red cannot look at the backlog itself: it averages, by half at least")
    least = max(math.ceil(low / AVERAGE_PACKET), 1)
    burst = next((burst for burst in _bursts(least) if weight_of(low, burst) == wanted), None)
    if burst is None:
        told.cannot(f"{where}: no burst makes tc average by 2^-{wanted}; that of its default is written")
        return f" avpkt {AVERAGE_PACKET}"
    return f" avpkt {AVERAGE_PACKET} burst {burst}"


def _bursts(least: int) -> list[int]:
    return [least + more for more in (*range(64), *(1 << power for power in range(6, 24)))]


def _decimal(share: Fraction) -> str:
    """Format a probability in the fewest exact digits.

    >>> _decimal(Fraction(1)), _decimal(Fraction(1, 50))
    ('1', '0.02')
    """
    return f"{float(share):.9f}".rstrip("0").rstrip(".")
