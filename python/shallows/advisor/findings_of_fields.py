"""Findings about inconsistent fields: modes of pools, PFC maps, and the PFC watchdog."""

from collections.abc import Iterator

from shallows.advisor.configuration import Allotment, PortProfile, Setting, Source
from shallows.advisor.finding import Finding, Rule
from shallows.advisor.resolved import Resolved
from shallows.quantity import size

WATCHED = "pfc-watchdog.priorities"
"""Name of the port setting with the priorities that SONiC's PFC watchdog watches in software."""


def modes(resolved: Resolved) -> Iterator[Finding]:
    """Find fixed limits in pools with dynamic thresholds, and dynamic limits in pools with fixed limits."""
    seen = set()
    for profile in resolved.switch.profiles:
        told = [(f"queue {queue.number}", queue.allotment) for queue in profile.queues]
        told += [(f"priority group {group.number}", group.allotment) for group in profile.groups]
        for place, each in told:
            pool = resolved.switch.pool(each.pool) if each else None
            if each is None or pool is None or (each.name, pool.name) in seen:
                continue
            seen.add((each.name, pool.name))
            if (each.limit is not None and pool.dynamic) or (each.alpha is not None and not pool.dynamic):
                yield Finding(
                    "mode-mismatch",
                    "note",
                    f"{place}: {each.name or 'the profile'} has {_limit(each)}, but pool {pool.name} has "
                    f"{'dynamic' if pool.dynamic else 'static'} thresholds",
                    "in SAI, the mode of a profile overrides the mode of its pool; whether a chip supports "
                    "both modes in one pool is not published",
                    f"give the profile a {'dynamic' if pool.dynamic else 'fixed'} limit",
                    "SAI: saibuffer.h; sonic-swss, orchagent/bufferorch.cpp",
                    each.source,
                )


def _limit(each: Allotment) -> str:
    if each.alpha is not None:
        return f"α = {each.alpha}"
    return f"a fixed limit of {size(float(each.limit.amount))}" if each.limit else "no limit"


def groups(resolved: Resolved) -> Iterator[Finding]:
    """Find lossless classes whose priority group pauses a different priority."""
    seen = set()
    for profile in resolved.switch.profiles:
        for wrong in _elsewhere(profile):
            if wrong in seen:
                continue
            seen.add(wrong)
            traffic_class, queue, group, priority, expected = wrong
            yield Finding(
                "group-mismatch",
                "error",
                f"class {traffic_class} uses lossless queue {queue} and priority group {group}, but priority "
                f"{priority} is paused by priority group {expected}",
                f"a full priority group {group} does not pause the senders of class {traffic_class}, so this "
                "lossless class loses packets",
                f"map class {traffic_class} to priority group {expected}",
                "IEEE 802.1Qbb; SONiC: TC_TO_PRIORITY_GROUP_MAP, PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
                profile.source,
            )


def _elsewhere(profile: PortProfile) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield traffic classes in a wrong priority group: class, queue, group, priority, and the right group."""
    to_queue, to_group = dict(profile.maps.class_to_queue), dict(profile.maps.class_to_group)
    for priority in profile.pfc:
        queue = dict(profile.maps.pfc_to_queue).get(priority, priority)
        expected = dict(profile.maps.pfc_to_group).get(priority, priority)
        for traffic_class, group in to_group.items():
            if to_queue.get(traffic_class, traffic_class) == queue and group != expected:
                yield traffic_class, queue, group, priority, expected


def watchdogs(resolved: Resolved) -> Iterator[Finding]:
    """Find SONiC ports with PFC that have no PFC watchdog."""
    if resolved.switch.format != "sonic":
        return
    watched = {
        port: setting
        for setting in resolved.switch.settings
        if setting.name == WATCHED
        for port in setting.scope.split(",")
    }
    found: dict[tuple[int, ...], list[str]] = {}
    for profile in resolved.switch.profiles:
        for port in profile.ports:
            left = tuple(sorted({*profile.pfc} - _priorities(watched.get(port))))
            if left:
                found.setdefault(left, []).append(port)
    for left, ports in found.items():
        priorities = ", ".join(map(str, left))
        several = f" and {len(ports) - 1:,} more ports" if len(ports) > 1 else ""
        yield Finding(
            "no-watchdog",
            "warning",
            f"{ports[0]}{several}: pfc_enable has priorities {priorities}, but pfcwd_sw_enable does not",
            "the PFC watchdog checks only the priorities of pfcwd_sw_enable; without it, a pause storm can "
            "stop the fabric",
            "set pfcwd_sw_enable to the priorities of pfc_enable, and start the watchdog (PFC_WD)",
            "sonic-swss, orchagent/qosorch.cpp and pfcwdorch.cpp",
            _source(watched.get(ports[0]), ports[0]),
        )


def _priorities(setting: Setting | None) -> set[int]:
    parts = (setting.value if setting else "").split(",")
    return {
        int(part) for part in parts if part.strip().isascii() and part.strip().isdecimal() and len(part) < 4
    }


def _source(setting: Setting | None, port: str) -> Source:
    return setting.source if setting else Source(place=f"PORT_QOS_MAP|{port}")


RULES: tuple[Rule, ...] = (groups, watchdogs, modes)
