"""A configuration resolved for a chip and a port rate: sizes in bytes, and the limits of the buffer."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shallows.advisor.chips import Chip, chip, dynamic_limit
from shallows.advisor.configuration import (
    COLOURS,
    PS_PER_SECOND,
    Allotment,
    Curve,
    Marking,
    Pool,
    PortProfile,
    PriorityGroup,
    Queue,
    Source,
    Switch,
    Threshold,
)
from shallows.advisor.unread import Unread
from shallows.collector import paused

BUSY = (1, 4, 8, 16)
"""Numbers of busy queues in tables."""

NO_LIMIT = Fraction(128)
"""SONiC's alpha of 128 (written as 7), which means no limit on Spectrum."""

SPECTRUM = "NVIDIA Spectrum"


@dataclass(frozen=True)
class Hints:
    """Facts that no switch's file contains."""

    chip: Chip | None = None
    rate: int | None = None
    """Rate of ports in bit/s, where the switch's file does not state it."""

    rtt: int | None = None
    """Round-trip time without queues, in picoseconds."""

    mtu: int = 1500
    """Largest packet of a lossless class, in bytes."""

    cable: Fraction | None = None
    """Length of cables in metres, where the switch's file does not state it."""

    pool: int | None = None
    """Bytes that queues share, where the file states percentages only."""

    reserved: int = 0
    """Reserved buffer of each queue in bytes, where the file does not state it."""

    busy: Sequence[int] = BUSY


@dataclass(frozen=True)
class Limit:
    """Limit of a queue or priority group, for each number of busy queues or groups."""

    at: tuple[tuple[int, int], ...]
    """Pairs of a number of busy queues and the limit in bytes."""

    memory: int
    """Bytes of the pool, or of the whole chip if no pool is known."""

    dynamic: bool
    of_chip: bool = False
    """Whether the chip's memory replaces a pool of unknown size."""

    alpha: Fraction | None = None
    """Alpha of a dynamic limit."""

    @property
    def most(self) -> int:
        """Return the limit in bytes while only one queue is busy."""
        return self.at[0][1]


@dataclass(frozen=True)
class Class:
    """Equally configured queues with the same number, at ports of one rate."""

    queue: Queue
    """One of these queues."""

    profiles: tuple[PortProfile, ...]
    """Profiles of the ports with these queues."""

    rate: int | None
    marking: Marking | None
    curve: Curve | None
    """Curve of ECN-capable packets."""

    kmin: int | None
    """Minimum of the curve in bytes; None if unknown."""

    kmax: int | None
    limit: Limit | None
    group: PriorityGroup | None
    """Priority group that pauses the senders of these queues, if the queues are lossless."""

    group_limit: Limit | None
    unread: Source | None = None
    """First line about marking or dropping that was not understood and may concern these queues."""

    unread_memory: Source | None = None
    """First line about memory or pauses that was not understood and may concern these queues."""

    @property
    def reach(self) -> tuple[tuple[int, Fraction], ...]:
        """Return the marking probability at the queue's limit, for each number of busy queues.

        This is the highest probability that any backlog of the queue can have. The result is empty if curve
        or limit is unknown.
        """
        return _reach((self.kmin, self.kmax), self.curve, self.limit)

    @property
    def ports(self) -> int:
        """Return the number of ports with these queues."""
        return sum(len(profile.ports) for profile in self.profiles)

    @property
    def name(self) -> str:
        """Return the name of these queues in tables."""
        called = f" ({self.queue.name})" if self.queue.name else ""
        return f"queue {self.queue.number}{called}"


@dataclass(frozen=True)
class Resolved:
    """A switch with its hints, and its queues in bytes."""

    switch: Switch
    hints: Hints
    chip: Chip | None
    classes: tuple[Class, ...]

    def rate_of(self, profile: PortProfile) -> int | None:
        """Return the rate of a profile's ports in bit/s, if known."""
        return profile.rate or self.hints.rate

    def bdp(self, rate: int | None) -> int | None:
        """Return the bandwidth-delay product in bytes, if rate and round-trip time are known."""
        if rate is None or self.hints.rtt is None:
            return None
        return rate * self.hints.rtt // (8 * PS_PER_SECOND)

    def drops_not_ect(self, curve: Curve) -> bool | None:
        """Return whether a curve drops packets that are not ECN-capable; None if unknown."""
        if curve.drops_not_ect is None and self.chip and self.chip.family == SPECTRUM:
            return False
        return curve.drops_not_ect

    def early(self, each: Class) -> Curve | None:
        """Return the curve that drops packets early, if uncoloured packets are not marked; otherwise None.

        If a profile has a curve for each colour, the curve of the best colour that drops early is returned.
        A curve that begins beyond the limit of its queue drops nothing, and is skipped.
        """
        if each.curve is not None or each.marking is None:
            return None
        dropping = filter(self.drops_not_ect, each.marking.curves)
        found = [curve for curve in dropping if self.highest(each, curve) != 0]
        return min(found, key=lambda curve: ("all", *COLOURS).index(curve.colour), default=None)

    def highest(self, each: Class, curve: Curve) -> Fraction | None:
        """Return a curve's probability at the limit of a queue while no other queue is busy.

        The result is None if the limit reaches the end of the curve, or is unknown.
        """
        ends = self.ends(each, curve)
        found = _reach(ends, curve, each.limit) if ends else ()
        return found[0][1] if found and each.limit and each.limit.most < ends[1] else None

    def ends(self, each: Class, curve: Curve) -> tuple[int, ...]:
        """Return the minimum and maximum of a curve in bytes for these queues; empty if unknown."""
        found = [_bytes(end, self.chip, each.rate, each.limit) for end in (curve.minimum, curve.maximum)]
        known = tuple(end for end in found if end is not None)
        return known if len(known) == len(found) else ()


def _reach(
    ends: Sequence[int | None], curve: Curve | None, limit: Limit | None
) -> tuple[tuple[int, Fraction], ...]:
    """Return the marking probability at a queue's limit by number of busy queues; empty if unknown."""
    low, high = ends
    if curve is None or limit is None or low is None or high is None:
        return ()
    found = []
    for busy, held in limit.at:
        share = Fraction(int(held > high))
        if low < held <= high:
            if curve.probability is None:
                return ()
            share = curve.probability * Fraction(held - low, high - low)
        found.append((busy, share))
    return tuple(found)


def microseconds(count: int, rate: int) -> float:
    """Return the time in µs that a port needs to send `count` bytes."""
    return count * 8e6 / rate


@paused()
def resolve(switch: Switch, hints: Hints | None = None) -> Resolved:
    """Resolve the queues of a switch to bytes, with the limits of its buffer."""
    hints = hints or Hints()
    on = hints.chip or (chip(switch.chip) if switch.chip else None)
    marks, memory = Unread(switch.unread, "marking", "dropping"), Unread(switch.unread, "memory")
    found: dict[
        tuple[object, ...], tuple[list[tuple[PortProfile, Queue]], tuple[Source | None, Source | None]]
    ]
    found = {}
    for profile, queue in switch.queues():
        group = group_of(profile, queue)
        hidden = marks.about(profile, queue.number), memory.about(profile, queue.number)
        key = (queue, group.allotment if group else None, profile.rate, hidden)
        found.setdefault(key, ([], hidden))[0].append((profile, queue))
    classes = [_class(switch, hints, on, places, hidden) for places, hidden in found.values()]
    classes.sort(key=lambda each: (each.queue.number, -each.ports))
    return Resolved(switch, hints, on, tuple(classes))


def _class(
    switch: Switch,
    hints: Hints,
    on: Chip | None,
    places: list[tuple[PortProfile, Queue]],
    hidden: tuple[Source | None, Source | None],
) -> Class:
    profile, queue = places[0]
    rate = profile.rate or hints.rate
    marking = switch.marking(queue.marking)
    curve = marking.marking_curve() if marking else None
    limit = limit_of(switch, queue.allotment, on, hints)
    group = group_of(profile, queue)
    return Class(
        queue,
        tuple(each for each, _ in places),
        rate,
        marking,
        curve,
        _bytes(curve.minimum, on, rate, limit) if curve else None,
        _bytes(curve.maximum, on, rate, limit) if curve else None,
        limit,
        group,
        limit_of(switch, group.allotment, on, hints) if group else None,
        *hidden,
    )


def group_of(profile: PortProfile, queue: Queue) -> PriorityGroup | None:
    """Return the priority group that pauses the senders of a lossless queue."""
    if not queue.lossless:
        return None
    classes = [of for of, to in profile.maps.class_to_queue if to == queue.number] or [queue.number]
    groups = dict(profile.maps.class_to_group)
    numbers = [groups.get(each, each) for each in classes]
    return next((group for group in profile.groups if group.number in numbers), None)


def _bytes(threshold: Threshold | None, on: Chip | None, rate: int | None, limit: Limit | None) -> int | None:
    if threshold is None:
        return None
    cell = on.cell.value if on and on.cell else None
    return threshold.bytes(cell=cell, rate=rate, limit=limit.most if limit else None)


def limit_of(
    switch: Switch, allotment: Allotment | None, on: Chip | None, hints: Hints | None = None
) -> Limit | None:
    """Return the limit of an allotment; None if neither pool nor memory is known."""
    if allotment is None:
        return None
    hints = hints or Hints()
    pool, busy = switch.pool(allotment.pool), hints.busy
    memory = pool_size(pool, on, hints.pool) if pool else hints.pool
    of_chip = memory is None
    if memory is None and on and on.memory:
        share = pool.percent if pool and pool.percent is not None else Fraction(100)
        memory = int(on.memory.value * share / 100)
    if memory is None:
        return None
    cell = on.cell.value if on and on.cell else None
    reserved = hints.reserved if allotment.reserved is None else allotment.reserved.bytes(cell=cell) or 0
    alpha = allotment.alpha
    if alpha is None and allotment.limit is None and pool:
        alpha = pool.alpha
    free = allotment.unlimited or (
        alpha is not None and alpha >= NO_LIMIT and (on is None or on.family == SPECTRUM)
    )
    if free:
        return Limit(tuple((count, memory) for count in busy), memory, False, of_chip)
    if alpha is not None:
        shares = tuple((count, reserved + dynamic_limit(alpha, memory, count)) for count in busy)
        return Limit(shares, memory, True, of_chip, alpha)
    if allotment.limit is not None:
        fixed = allotment.limit.bytes(cell=cell, limit=memory)
        if fixed is not None:
            return Limit(tuple((count, min(fixed, memory)) for count in busy), memory, False, of_chip)
    return None


def pool_size(pool: Pool | None, on: Chip | None, shared: int | None = None) -> int | None:
    """Return the size of a pool in bytes, if known; `shared` is the memory that queues can share."""
    if pool is None or pool.size is not None or pool.percent is None:
        return pool.size if pool else None
    whole = shared if pool.of_shared else on.memory.value if on and on.memory else None
    return None if whole is None else int(whole * pool.percent / 100)
