"""Findings about buffer memory and scheduling, and findings for the `Note`s made while a file was read."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from shallows.advisor.finding import DT, Finding, Rule, Severity, queues, together
from shallows.advisor.linux_red import CERTAIN
from shallows.advisor.lossless import Groups, Wire, headroom, thresholds
from shallows.advisor.resolved import Class, Limit, Resolved
from shallows.advisor.unread import cited
from shallows.quantity import digits, rate, size

PS_PER_METRE = 5_000
"""Delay of a metre of fibre in picoseconds."""

MOST_PORTS = 4096
"""Maximum number of ports for which pause thresholds are computed."""

SHARES = Fraction(1, 1000)
"""Tolerated excess of a sum of percentages over 100 %, as a share; percentages are rounded."""


def pauses(resolved: Resolved) -> Iterator[Finding]:
    """Find lossless queues that pause their senders before the marking curve ends."""
    for classes in together(resolved.classes):
        each = classes[0]
        limit, curve = each.group_limit, each.curve
        if not each.queue.lossless or limit is None or curve is None or each.kmin is None:
            continue
        kmax = each.kmax if each.kmax is not None else each.kmin
        late = [(count, share) for count, share in limit.at if share <= kmax]
        if not late:
            continue
        count, share = late[0]
        before = [(busy, least) for busy, least in limit.at if least <= each.kmin]
        also = f"; with {before[0][0]} or more, PFC pauses before the first mark" if before else ""
        yield Finding(
            "pause-before-mark",
            "warning",
            f"{queues(classes)}: with {count} busy priority groups, PFC pauses each at {size(share)}, "
            f"but the curve ends at {size(kmax)}{also}",
            "PFC stops whole links before ECN has slowed the senders (assuming that one ingress port feeds "
            "the queue)",
            f"end the curve below {size(share)}, or raise the priority group's α",
            f"Zhu et al., DCQCN, SIGCOMM 2015, §4; {DT}",
            curve.source,
        )


def marks_after_pauses(resolved: Resolved) -> Iterator[Finding]:
    """Find lossless queues that mark, or may mark, only after PFC has paused the senders."""
    for classes in together(resolved.classes):
        each = classes[0]
        if each.group_limit is None or each.curve is None or not each.kmin or each.rate is None:
            continue
        ports = sum(len(profile.ports) for profile in resolved.switch.profiles if profile.groups)
        row = _thresholds(resolved, each, each.group_limit, each.kmin, ports)
        if row is None:
            continue
        late = [level for level in row["levels"] if level["groups"] > 1 and level["pause_first"]]
        if late:
            senders, backlog = late[0]["groups"], late[0]["queue_bytes"]
            yield Finding(
                "mark-after-pause",
                "warning",
                f"{queues(classes)}: marking begins at {size(each.kmin)}, but if {senders} ports send to one "
                f"port, PFC pauses them when {size(backlog)} wait for it",
                "PFC stops whole links, and ECN never slows the senders",
                f"begin the curve below {size(backlog)}; below {size(row['mark_below_bytes'])}, marks come "
                "before pauses for any traffic",
                f"Zhu et al., DCQCN, SIGCOMM 2015, §4; {DT}",
                each.curve.source,
            )
        elif each.kmin > row["mark_below_bytes"]:
            yield Finding(
                "mark-after-pause",
                "note",
                f"{queues(classes)}: marking begins at {size(each.kmin)}; only below "
                f"{size(row['mark_below_bytes'])} does it come before PFC for any traffic between "
                f"{ports} ports",
                "if one port sends to several congested ports, its priority group can pause it while none of "
                "their queues marks",
                f"begin the curve below {size(row['mark_below_bytes'])} if the queue then still fills its "
                "link, or raise the priority group's α",
                "Zhu et al., DCQCN, SIGCOMM 2015, §4",
                each.curve.source,
            )


def _thresholds(
    resolved: Resolved, each: Class, limit: Limit, kmin: int, ports: int
) -> Mapping[str, Any] | None:
    """Return the pause thresholds that the engine computes for a queue's priority group; None if unknown."""
    group = each.group
    if not 2 <= ports <= MOST_PORTS or each.rate is None or group is None:
        return None
    chip = resolved.chip
    cell = chip.cell.value if chip and chip.cell else None
    held = group.allotment.reserved if group.allotment else None
    reserved = (held.bytes(cell=cell) or 0) if held else 0
    if limit.alpha is not None:
        groups = Groups(alpha=float(limit.alpha), reserved=reserved)
    else:
        groups = Groups(limit=limit.most, reserved=reserved)
    lossless = {queue.number for queue in each.profiles[0].queues if queue.lossless}
    wire = Wire(each.rate, 0, resolved.hints.mtu)
    return thresholds(wire, ports, limit.memory, groups, len(lossless), kmin, cell)


def headrooms(resolved: Resolved) -> Iterator[Finding]:
    """Find priority groups with less headroom than the data that may arrive after the decision to pause."""
    seen = set()
    for profile in resolved.switch.profiles:
        speed, metres = resolved.rate_of(profile), profile.cable or resolved.hints.cable
        if speed is None or metres is None:
            continue
        terms = headroom(Wire(speed, int(metres * PS_PER_METRE), resolved.hints.mtu))
        needed = terms["needed_bytes"] if terms else None
        for group in profile.groups:
            cell = resolved.chip.cell.value if resolved.chip and resolved.chip.cell else None
            has = group.xoff.bytes(cell=cell) if group.xoff else None
            if needed is None or has is None or has >= needed or (speed, metres, has) in seen:
                continue
            seen.add((speed, metres, has))
            yield Finding(
                "headroom-insufficient",
                "error",
                f"priority group {group.number} has {size(has)} of headroom, but {size(needed)} may arrive "
                f"after the decision to pause ({rate(speed)}, {digits(float(metres))} m, "
                f"MTU {resolved.hints.mtu})",
                "a lossless class loses packets",
                f"give at least {needed:,} B, plus the chip's cells and pipeline",
                "IEEE 802.1Qbb; IEEE 802.3 31B.3.7",
                group.source,
            )


def no_headroom(resolved: Resolved) -> Iterator[Finding]:
    """Find lossless queues whose priority group has no headroom."""
    for classes in together(resolved.classes):
        group = classes[0].group
        if group is None or group.xoff is not None or group.allotment is None:
            continue
        pool = resolved.switch.pool(group.allotment.pool)
        if pool is None or pool.headroom:
            # Without a pool, the platform provides the headroom.
            continue
        hidden = classes[0].unread_memory
        yield Finding(
            "not-known" if hidden else "headroom-insufficient",
            "warning",
            f"{queues(classes)}: whether lossless priority group {group.number} has headroom is not known: "
            f"{cited(hidden)}"
            if hidden
            else f"{queues(classes)}: lossless priority group {group.number} has no headroom",
            "packets that arrive after PAUSE are dropped",
            "set xoff in the profile of the priority group, or give the pool shared headroom",
            "sonic-net/SONiC issue 480",
            group.source,
        )


def sums(resolved: Resolved) -> Iterator[Finding]:
    """Find percentages of rates or memory that add up to more than 100."""
    for profile in resolved.switch.profiles:
        shares = [
            queue.scheduler.percent for queue in profile.queues if queue.scheduler and queue.scheduler.percent
        ]
        if sum(shares) > 100 + SHARES:
            yield Finding(
                "sum-over-100",
                "error",
                f"the shares of {profile.name or 'a port'}'s queues sum to {digits(float(sum(shares)))} %",
                "a port cannot give its queues more than 100 % of its rate",
                "reduce the shares to a sum of 100 %",
                "NVUE and NX-OS reject larger sums",
                profile.source,
            )
    for direction in ("ingress", "egress"):
        pools = [
            pool for pool in resolved.switch.pools if pool.direction in (direction, "both") and pool.percent
        ]
        total = sum((pool.percent or Fraction(0) for pool in pools), Fraction(0))
        if total > 100 + SHARES:
            yield Finding(
                "sum-over-100",
                "error",
                f"{direction} pools {', '.join(pool.name for pool in pools)} sum to {digits(float(total))} %",
                "the pools cannot have more than 100 % of the memory",
                "reduce the shares to a sum of 100 %",
                "NVUE: traffic-pool memory-percent",
                pools[0].source,
            )


def beyond_memory(resolved: Resolved) -> Iterator[Finding]:
    """Find pools that are larger than the chip's memory."""
    chip = resolved.chip
    if chip is None or chip.memory is None:
        return
    for pool in resolved.switch.pools:
        if pool.size and pool.size > chip.memory.value:
            yield Finding(
                "pool-beyond-memory",
                "warning",
                f"pool {pool.name} has {size(pool.size)}, but {chip.title} has {size(chip.memory.value)}",
                "limits computed from the pool are too high",
                "check the name of the chip and the size of the pool",
                chip.memory.source,
                pool.source,
            )


def alphas(resolved: Resolved) -> Iterator[Finding]:
    """Find values of alpha that the chip does not support."""
    chip = resolved.chip
    if chip is None or chip.alphas is None:
        return
    for classes in together(resolved.classes):
        allotment = classes[0].queue.allotment
        alpha = allotment.alpha if allotment else None
        unlimited = classes[0].limit is not None and not classes[0].limit.dynamic
        if allotment is None or alpha is None or unlimited or chip.legal_alpha(alpha) == alpha:
            continue
        yield Finding(
            "alpha-rounded",
            "warning",
            f"{queues(classes)}: {chip.title} does not support α = {alpha}; the next supported value is "
            f"{chip.legal_alpha(alpha)}",
            "the effect on the platform is not published",
            f"write one of {', '.join(map(str, chip.alphas.value))}",
            chip.alphas.source,
            allotment.source,
        )


_SEEN: dict[str, tuple[Severity, str, str]] = {
    "value-with-blank": (
        "note",
        "some programs do not remove the spaces",
        "remove the spaces around the value",
    ),
    "several-switches": (
        "warning",
        "this explanation covers only one switch; the lines of the other switches count as not understood",
        "write the configuration of each switch to its own file",
    ),
    "zero-threshold": (
        "warning",
        "SAI reads 0 as the whole buffer, so the profile has no effect if the limit of the queue is lower; "
        "the smallest threshold is one cell (saiwred.h; sonic-mgmt issue 24277)",
        "write the size of a cell to mark all packets, or remove the threshold",
    ),
    "pool-without-size": (
        "warning",
        "with buffer_model = traditional, orchagent passes the pool unchanged to SAI, which rejects a pool "
        "without a size",
        "give the pool a size, or set buffer_model = dynamic in DEVICE_METADATA",
    ),
    # In sonic-swss e6b0c5b5d, parseReference of orchagent/orch.cpp returns an empty name for an empty field.
    # With an empty name, handleQueueTable of qosorch.cpp and the table handlers of bufferorch.cpp fail;
    # handlePortQosMapTable retries the row.
    "empty-reference": (
        "warning",
        "orchagent applies no field of such a row: it ignores a row of QUEUE or BUFFER tables, and retries a "
        "row of PORT_QOS_MAP forever",
        "remove the field",
    ),
    # Since pull request 1754 of sonic-swss (release 202111), parseReference rejects brackets, and orchagent
    # retries the row. In earlier releases, [] made handleQueueTable unbind the queue's WRED profile.
    "bracketed-reference": (
        "warning",
        "since release 202111, orchagent rejects brackets: it applies no field of such a row, and retries "
        "forever. Before 202111, [TABLE|ROW] named a row, and [] removed the binding; this explanation "
        "assumes the earlier meaning (sonic-swss, pull request 1754)",
        "write only the name of the row, or remove the field",
    ),
    "probability-overflow": (
        "warning",
        "packets are marked less often than configured, and the probability differs between machines",
        f"write probability {CERTAIN}, which does not overflow",
    ),
    "probability-moves": (
        "note",
        "DCTCP expects a marking probability that depends only on the backlog",
        "remove adaptive from queues that carry DCTCP",
    ),
    "not-valid": (
        "warning",
        "the setting has no effect, or not the intended one",
        "correct or remove the setting",
    ),
}
"""Severity, reason and remedy of the finding for each code of a `Note`."""


def notes(resolved: Resolved) -> Iterator[Finding]:
    """Yield a finding for each `Note` that was made while the switch's file was read."""
    for note in resolved.switch.notes:
        severity, why, fix = _SEEN[note.code]
        yield Finding(note.code, severity, note.what, why, fix, "", note.source)


RULES: tuple[Rule, ...] = (
    headrooms,
    pauses,
    marks_after_pauses,
    no_headroom,
    sums,
    beyond_memory,
    alphas,
    notes,
)
