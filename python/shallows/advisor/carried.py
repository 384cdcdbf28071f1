"""Lossless classes of a switch's configuration, carried over to the fabric that is simulated.

Each setting that the simulation cannot express is named in a note.
"""

from collections.abc import Iterator
from dataclasses import replace

from shallows.advisor.configuration import PortProfile, PriorityGroup, Queue, Switch
from shallows.advisor.fabric import Fabric, TrafficClass
from shallows.advisor.findings_of_memory import PS_PER_METRE
from shallows.advisor.lossless import ALPHAS, Groups
from shallows.advisor.resolved import group_of, pool_size
from shallows.advisor.rules import alpha_text
from shallows.advisor.simulated_groups import needed
from shallows.advisor.today import most_frequent
from shallows.quantity import digits, ranges, size


def carry(switch: Switch, fabric: Fabric) -> tuple[Fabric, list[str]]:
    """Return the fabric with a configuration's lossless classes and weights, and notes on differences.

    A class is lossless if its queue is lossless in the profile that most ports have. Values in the fabric's
    file override those of the configuration.

    Raises
    ------
    ShallowsError
        If no port has queues, or a link's rate has no response time to PFC.
    """
    profile = most_frequent(switch.profiles)
    queues = {queue.number: queue for queue in profile.queues}
    paused = {number for number, queue in queues.items() if queue.lossless}
    notes: list[str] = []
    if len(fabric.classes) == 1 and fabric.classes[0].queue not in queues and paused:
        fabric = replace(fabric, classes=(replace(fabric.classes[0], queue=min(paused)),))
        notes.append(f"The fabric's class is simulated in lossless queue {min(paused)}.")
    notes += _unlike(fabric, paused)
    classes = tuple(replace(each, lossless=each.lossless or each.queue in paused) for each in fabric.classes)
    fabric = replace(fabric, classes=classes)
    if not fabric.lossless:
        return fabric, notes
    fabric = replace(fabric, classes=_weighed(fabric, queues, notes))
    found = [(each, group_of(profile, queues[each.queue])) for each in classes if each.queue in paused]
    groups = [(each, group) for each, group in found if group is not None]
    if len(groups) < len(found):
        notes.append(
            "The configuration has no priority group for some lossless queues; those of the fabric's file, "
            "or the defaults, are simulated."
        )
    if groups:
        first, group = groups[0]
        others = [each.name for each, other in groups if _numbers(other) != _numbers(group)]
        if others:
            notes.append(
                f"The priority groups of {', '.join(others)} differ from that of {first.name}, which is "
                "simulated for all lossless classes."
            )
        fabric = replace(fabric, groups=_groups(switch, fabric, group, notes))
    notes += _left_out(switch, profile, fabric)
    return fabric, notes


def _unlike(fabric: Fabric, paused: set[int]) -> Iterator[str]:
    """Yield notes on queues that are lossless only in the fabric's file, or only in the configuration."""
    named = {each.queue for each in fabric.classes}
    if others := sorted(paused - named):
        yield (
            f"Lossless queues {ranges(others)} of the configuration carry no class of the fabric's file; "
            "they are not simulated."
        )
    lossy = [each.name for each in fabric.classes if each.lossless and each.queue not in paused]
    if lossy:
        yield (
            f"{', '.join(lossy)}: lossless in the fabric's file, but not in the configuration; simulated as "
            "lossless in every setting."
        )


def _weighed(fabric: Fabric, queues: dict[int, Queue], notes: list[str]) -> tuple[TrafficClass, ...]:
    """Return the classes with the configured weights, unless the fabric's file gives weights."""
    weighted = [each for each in fabric.classes if not each.strict]
    configured = {each.name: _weight(queues.get(each.queue)) for each in weighted}
    found = {name: weight for name, weight in configured.items() if weight is not None}
    if len(weighted) < 2 or not found:
        return fabric.classes
    if any(each.weight != weighted[0].weight for each in weighted):
        if any(each.weight != found.get(each.name, each.weight) for each in weighted):
            notes.append("The weights of the fabric's file are simulated, not those of the configuration.")
        return fabric.classes
    if len(found) < len(weighted):
        notes.append("The configuration has no weights for some queues; the fabric's file gives all weights.")
        return fabric.classes
    return tuple(replace(each, weight=found.get(each.name, each.weight)) for each in fabric.classes)


def _weight(queue: Queue | None) -> float | None:
    scheduler = queue.scheduler if queue else None
    if scheduler is None or scheduler.kind == "strict":
        return None
    share = scheduler.percent if scheduler.percent is not None else scheduler.weight
    return float(share) if share else None


def _numbers(group: PriorityGroup) -> object:
    return group.allotment, group.xoff, group.xon, group.xon_offset


def _groups(switch: Switch, fabric: Fabric, group: PriorityGroup, notes: list[str]) -> Groups:
    """Return the configured priority groups; keys of the fabric's file override them."""
    allotment, cell = group.allotment, fabric.silicon.cell
    pool = switch.pool(allotment.pool) if allotment else None
    there = pool_size(pool, None, int(fabric.buffer.pool)) if pool else None
    if pool is not None and there and abs(there - fabric.buffer.pool) > fabric.buffer.pool / 100:
        notes.append(
            f"Pool {pool.name} of the configuration has {size(there)}; the {size(fabric.buffer.pool)} of the "
            "fabric's file are simulated."
        )
    found = fabric.groups
    has = {
        "reserved": allotment.reserved if allotment else None,
        "headroom": group.xoff,
        "xon": group.xon,
        "xon_offset": group.xon_offset,
    }
    amounts = {key: each.bytes(cell=cell) for key, each in has.items() if each is not None}
    found = replace(
        found,
        **{key: amount for key, amount in amounts.items() if key not in fabric.fixed and amount is not None},
    )
    if "headroom_pool" not in fabric.fixed and pool is not None and pool.headroom:
        found = replace(found, pool=pool.headroom)
    if not {"alpha", "limit"} & {*fabric.fixed}:
        found = _limited(found, group, fabric, float(pool.alpha) if pool and pool.alpha else None, notes)
    return found


def _limited(
    found: Groups, group: PriorityGroup, fabric: Fabric, of_pool: float | None, notes: list[str]
) -> Groups:
    allotment = group.allotment
    if allotment is None:
        return found
    if allotment.limit is not None:
        limit = allotment.limit.bytes(cell=fabric.silicon.cell, limit=int(fabric.buffer.pool))
        return found if limit is None else replace(found, limit=limit)
    alpha = of_pool if allotment.alpha is None else float(allotment.alpha)
    if allotment.unlimited or alpha is None:
        alpha = ALPHAS[-1] if allotment.unlimited else found.alpha
        notes.append(
            f"The configuration gives no α of priority group {group.number}; α = {alpha_text(alpha)} is "
            "simulated."
        )
    nearest = min(ALPHAS, key=lambda each: abs(each - alpha))
    if nearest != alpha:
        notes.append(
            f"Priority group {group.number} has α = {alpha_text(alpha)}; the simulation has powers of two "
            f"from 1/128 to 8, so {alpha_text(nearest)} is simulated."
        )
    return replace(found, alpha=nearest)


def _left_out(switch: Switch, profile: PortProfile, fabric: Fabric) -> Iterator[str]:
    """Yield notes on configured settings of lossless classes that the simulation omits or changes."""
    groups, links = fabric.groups, fabric.links
    in_bytes, in_cells = needed(fabric, in_cells=False), needed(fabric)
    if groups.headroom is not None and groups.headroom < in_cells:
        lack = (
            f"is less than the {size(in_bytes)} that can arrive on the simulated links"
            if groups.headroom < in_bytes
            else "holds what can arrive on the simulated links in full packets, but not the "
            f"{size(in_cells)} that the smallest packets occupy in cells"
        )
        yield (
            f"The headroom of {size(groups.headroom)} {lack}. It is simulated in the current setting; other "
            "settings have enough."
        )
    if profile.cable is not None:
        delay = float(profile.cable) * PS_PER_METRE
        if abs(delay - links.delay * 1e12) > links.delay * 1e11:
            yield (
                f"The configuration has cables of {digits(float(profile.cable))} m ({delay / 1000:.0f} ns); "
                f"the simulated links have {links.delay * 1e9:.0f} ns (links.delay)."
            )
    if any(each.name.startswith("pfc-watchdog") for each in switch.settings):
        yield "The PFC watchdog of the configuration is not simulated."
    if any(queue.scheduler is not None and queue.scheduler.has_rates for queue in profile.queues):
        yield "Guaranteed and maximum rates of queues are not simulated."
