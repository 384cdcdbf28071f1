"""Weights and priority groups of a candidate setting, in a switch's configuration."""

from collections.abc import Mapping, Set
from dataclasses import replace
from fractions import Fraction

from shallows.advisor.candidates import Candidate
from shallows.advisor.configuration import (
    Allotment,
    PortProfile,
    PriorityGroup,
    Queue,
    Scheduler,
    Switch,
    Threshold,
)
from shallows.advisor.fabric import Fabric
from shallows.advisor.lossless import Groups
from shallows.advisor.resolved import group_of
from shallows.advisor.simulated_groups import needed
from shallows.quantity import size


def with_groups(switch: Switch, fabric: Fabric, chosen: Candidate) -> Switch:
    """Return the configuration with the weights and priority groups of a candidate setting.

    Only settings that differ from the current ones change. A pool shrinks by the bytes that headroom gains,
    as in the simulation.
    """
    if chosen.weights is not None:
        numbers = [each.queue for each in fabric.classes if not each.strict]
        weights = dict(zip(numbers, chosen.weights[len(fabric.classes) - len(numbers) :], strict=True))
        shared: dict[str, set[float | None]] = {}
        for _, queue in switch.queues():
            if queue.scheduler is not None and queue.scheduler.name is not None:
                shared.setdefault(queue.scheduler.name, set()).add(weights.get(queue.number))
        # A scheduler keeps its name if all of its queues get the same weight.
        kept = {name for name, found in shared.items() if len(found) == 1}
        profiles = tuple(_weighed(each, weights, kept) for each in switch.profiles)
        switch = replace(switch, profiles=profiles)
    groups = chosen.groups
    if groups is None or groups == fabric.groups:
        return switch
    lossless = [fabric.classes[place].queue for place in fabric.lossless]
    pools: dict[str, int] = {}
    profiles = tuple(_grouped(each, lossless, fabric, groups, pools) for each in switch.profiles)
    own = needed(fabric)
    gained = {
        name: _taken(groups, own, count) - _taken(fabric.groups, own, count) for name, count in pools.items()
    }
    return replace(
        switch,
        profiles=profiles,
        pools=tuple(
            replace(
                each,
                headroom=groups.pool,
                size=None if each.size is None else each.size - gained[each.name],
            )
            if each.name in gained
            else each
            for each in switch.pools
        ),
    )


def left_out(switch: Switch, chosen: Candidate) -> list[str]:
    """Return the settings of priority groups that a configuration cannot express."""
    groups = chosen.groups
    if groups is None or groups.pool is None or any(each.headroom == groups.pool for each in switch.pools):
        return []
    return [f"pool of headroom {size(groups.pool)}: the configuration has no pool of the priority groups"]


def _taken(groups: Groups, own: int, count: int) -> int:
    """Return the headroom in bytes of `count` groups, each of which needs `own` bytes."""
    if groups.pool is not None:
        return groups.pool
    return count * (own if groups.headroom is None else groups.headroom)


def _weighed(profile: PortProfile, weights: Mapping[int, float], kept: Set[str]) -> PortProfile:
    queues = {queue.number: queue for queue in profile.queues}
    for number, weight in weights.items():
        queue = queues.get(number, Queue(number))
        before = queue.scheduler or Scheduler("dwrr")
        name = before.name if before.name in kept else None
        if before.percent is not None:
            after = replace(before, percent=Fraction(round(weight)), name=name)
        else:
            after = replace(before, weight=round(weight), name=name)
        if after != before:
            queues[number] = replace(queue, scheduler=after)
    return replace(profile, queues=tuple(queues[number] for number in sorted(queues)))


def _grouped(
    profile: PortProfile, lossless: list[int], fabric: Fabric, groups: Groups, pools: dict[str, int]
) -> PortProfile:
    """Return a profile with these groups; count the groups of each pool in `pools`."""
    queues = {queue.number: queue for queue in profile.queues}
    found = {group.number: group for group in profile.groups}
    before, pfc = fabric.groups, {*profile.pfc}
    for number in lossless:
        queue = queues.setdefault(number, Queue(number))
        group = group_of(profile, replace(queue, lossless=True)) or PriorityGroup(number, Allotment())
        if not queue.lossless:
            queues[number] = replace(queue, lossless=True)
            pfc.add(number)
        allotment = group.allotment or Allotment()
        is_new = allotment.alpha is None and allotment.limit is None and not allotment.unlimited
        if (groups.alpha, groups.limit) != (before.alpha, before.limit) or is_new:
            limit = None if groups.limit is None else Threshold.of_bytes(groups.limit)
            alpha = Fraction(groups.alpha) if limit is None else None
            allotment = replace(allotment, alpha=alpha, limit=limit, unlimited=False)
        xoff = group.xoff
        if groups.headroom != before.headroom or xoff is None:
            xoff = Threshold.of_bytes(needed(fabric) if groups.headroom is None else groups.headroom)
        found[group.number] = replace(group, allotment=allotment, xoff=xoff)
        if allotment.pool is not None:
            pools[allotment.pool] = pools.get(allotment.pool, 0) + len(profile.ports)
    return replace(
        profile,
        queues=tuple(queues[number] for number in sorted(queues)),
        groups=tuple(found[number] for number in sorted(found)),
        pfc=tuple(sorted(pfc)),
    )
