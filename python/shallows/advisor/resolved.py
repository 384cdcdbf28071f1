"""What a configuration amounts to on a chip, at a rate: bytes, and what the buffer allows."""

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
"""How many queues of a pool are busy at once, in tables."""

NO_LIMIT = Fraction(128)
"""SONiC writes 7, an alpha of 128, where a queue of Spectrum shall have no limit."""

SPECTRUM = "NVIDIA Spectrum"


@dataclass(frozen=True)
class Hints:
    """What no switch's file says."""

    chip: Chip | None = None
    rate: int | None = None
    """Bit/s of ports whose rate the file does not say."""

    rtt: int | None = None
    """Round-trip time without queues, in picoseconds."""

    mtu: int = 1500
    """Bytes of the largest packet of a lossless class."""

    cable: Fraction | None = None
    """Metres of cables whose length the file does not say."""

    pool: int | None = None
    """Bytes that queues can share, where percent of them are all that the file says."""

    private: int = 0
    """Bytes of each queue alone, where the file does not say."""

    busy: Sequence[int] = BUSY


@dataclass(frozen=True)
class Limit:
    """What a queue or a priority group may hold, by how many are busy."""

    at: tuple[tuple[int, int], ...]
    """Numbers of busy ones, and bytes for each of them."""

    memory: int
    """Bytes of the pool, or of the whole chip where no pool is known."""

    dynamic: bool
    of_chip: bool = False
    """Whether the size of no pool was known, and that of the chip's memory was taken."""

    alpha: Fraction | None = None
    """Of a dynamic one."""

    @property
    def most(self) -> int:
        """Bytes of the only busy one."""
        return self.at[0][1]


@dataclass(frozen=True)
class Class:
    """Queues of equal number that are told alike, at ports of one rate."""

    queue: Queue
    """One of them."""

    profiles: tuple[PortProfile, ...]
    """Of ports that have it."""

    rate: int | None
    marking: Marking | None
    curve: Curve | None
    """What ECN-capable packets meet there."""

    kmin: int | None
    """Bytes; nothing if they cannot be told."""

    kmax: int | None
    limit: Limit | None
    group: PriorityGroup | None
    """That pauses senders to it, if it is lossless."""

    group_limit: Limit | None
    unread: Source | None = None
    """The first line about marking or dropping that was not understood and may be about these queues."""

    unread_memory: Source | None = None
    """Likewise, about memory or pauses."""

    @property
    def reach(self) -> tuple[tuple[int, Fraction], ...]:
        """The highest probability of a mark, by how many queues are busy: that at the limit of the queue.

        Empty if curve or limit cannot be told.
        """
        return _reach((self.kmin, self.kmax), self.curve, self.limit)

    @property
    def ports(self) -> int:
        """How many ports have it."""
        return sum(len(profile.ports) for profile in self.profiles)

    @property
    def name(self) -> str:
        """As tables call it."""
        called = f" ({self.queue.name})" if self.queue.name else ""
        return f"queue {self.queue.number}{called}"


@dataclass(frozen=True)
class Resolved:
    """A switch, what is known beside its file, and its queues in bytes."""

    switch: Switch
    hints: Hints
    chip: Chip | None
    classes: tuple[Class, ...]

    def rate_of(self, profile: PortProfile) -> int | None:
        """Bit/s of its ports, if anything says it."""
        return profile.rate or self.hints.rate

    def bdp(self, rate: int | None) -> int | None:
        """Bytes of a bandwidth-delay product, if rate and round-trip time are known."""
        if rate is None or self.hints.rtt is None:
            return None
        return rate * self.hints.rtt // (8 * PS_PER_SECOND)

    def drops_not_ect(self, curve: Curve) -> bool | None:
        """As the curve says, or as the chip is known to do."""
        if curve.drops_not_ect is None and self.chip and self.chip.family == SPECTRUM:
            return False
        return curve.drops_not_ect

    def early(self, each: Class) -> Curve | None:
        """The curve by which packets are dropped early where those that nobody coloured are not marked.

        That of packets without a colour if there is one, and else that of the best colour. One that begins
        beyond what the queue may hold drops nothing.
        """
        if each.curve is not None or each.marking is None:
            return None
        dropping = filter(self.drops_not_ect, each.marking.curves)
        found = [curve for curve in dropping if self.highest(each, curve) != 0]
        return min(found, key=lambda curve: ("all", *COLOURS).index(curve.colour), default=None)

    def highest(self, each: Class, curve: Curve) -> Fraction | None:
        """The probability at the limit of the only busy queue, where a curve's maximum cannot be reached."""
        ends = self.ends(each, curve)
        found = _reach(ends, curve, each.limit) if ends else ()
        return found[0][1] if found and each.limit and each.limit.most < ends[1] else None

    def ends(self, each: Class, curve: Curve) -> tuple[int, ...]:
        """Bytes at which a curve begins and ends in these queues; empty if they cannot be told."""
        found = [_bytes(end, self.chip, each.rate, each.limit) for end in (curve.minimum, curve.maximum)]
        known = tuple(end for end in found if end is not None)
        return known if len(known) == len(found) else ()


def _reach(
    ends: Sequence[int | None], curve: Curve | None, limit: Limit | None
) -> tuple[tuple[int, Fraction], ...]:
    """The probability at what a queue may hold, by how many are busy; empty if it cannot be told."""
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
    """How long a port of that rate needs for so many bytes."""
    return count * 8e6 / rate


@paused()
def resolve(switch: Switch, hints: Hints | None = None) -> Resolved:
    """What each queue of a switch is told, in bytes, and what its buffer lets it hold."""
    hints = hints or Hints()
    on = hints.chip or (chip(switch.chip) if switch.chip else None)
    marks, memory = Unread(switch.unread, "marking", "dropping"), Unread(switch.unread, "memory")
    found: dict[
        tuple[object, ...], tuple[list[tuple[PortProfile, Queue]], tuple[Source | None, Source | None]]
    ]
    found = {}
    for profile, queue in switch.queues():
        group = _group(profile, queue)
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
    group = _group(profile, queue)
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


def _group(profile: PortProfile, queue: Queue) -> PriorityGroup | None:
    """The priority group whose pauses hold back what goes into a lossless queue."""
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
    """What a share of the memory amounts to; nothing if neither its pool nor the chip's memory is known."""
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
    private = hints.private if allotment.reserved is None else allotment.reserved.bytes(cell=cell) or 0
    alpha = allotment.alpha
    if alpha is None and allotment.limit is None and pool:
        alpha = pool.alpha
    free = allotment.unlimited or (
        alpha is not None and alpha >= NO_LIMIT and (on is None or on.family == SPECTRUM)
    )
    if free:
        return Limit(tuple((count, memory) for count in busy), memory, False, of_chip)
    if alpha is not None:
        shares = tuple((count, private + dynamic_limit(alpha, memory, count)) for count in busy)
        return Limit(shares, memory, True, of_chip, alpha)
    if allotment.limit is not None:
        fixed = allotment.limit.bytes(cell=cell, limit=memory)
        if fixed is not None:
            return Limit(tuple((count, min(fixed, memory)) for count in busy), memory, False, of_chip)
    return None


def pool_size(pool: Pool | None, on: Chip | None, shared: int | None = None) -> int | None:
    """Bytes of a pool, if they can be told; `shared` are those that queues can share."""
    if pool is None or pool.size is not None or pool.percent is None:
        return pool.size if pool else None
    whole = shared if pool.of_shared else on.memory.value if on and on.memory else None
    return None if whole is None else int(whole * pool.percent / 100)
