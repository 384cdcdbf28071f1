"""Conversion of units between vendors: cells, times, percent and bytes, where the inputs are known.

Writers express only their vendor's units. To convert a threshold to bytes, the chip's cell size (for cells),
the queue's limit (for percent) or the port's rate (for times) must be known. A value that cannot be converted
stays unchanged, and the writer lists it with the reason; rounding is reported as well.
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction

from shallows.advisor.chips import Chip, chip
from shallows.advisor.configuration import (
    Allotment,
    Curve,
    Marking,
    Pool,
    PortProfile,
    PriorityGroup,
    Queue,
    Scheduler,
    Switch,
    Threshold,
    Unit,
)
from shallows.advisor.readers.junos_names import BUFFER_SIZE
from shallows.advisor.resolved import Hints, limit_of, pool_size
from shallows.quantity import digits, size

_MEMORY: frozenset[Unit] = frozenset({"bytes", "cells"})

THRESHOLDS: dict[str, frozenset[Unit]] = {
    "sonic": frozenset({"bytes"}),
    "eos": frozenset({"bytes", "cells", "ps"}),
    "avd": frozenset({"bytes", "cells", "ps"}),
    "nvue": frozenset({"bytes"}),
    "nxos": frozenset({"bytes"}),
    "junos": frozenset({"percent"}),
    "tc": frozenset({"bytes"}),
}
"""Units in which each format can state marking thresholds."""

SHARES: dict[str, frozenset[Unit]] = {
    **dict.fromkeys(THRESHOLDS, frozenset({"bytes"})),
    "eos": _MEMORY,
    "avd": _MEMORY,
}
"""Units in which each format can state amounts of memory."""

PERCENT_OF_RATE = ("eos", "avd", "junos")
"""Formats that state a queue's rate in percent of the port's rate."""


@dataclass
class Converted:
    """A switch in the units of a format, with notes on rounding and missing inputs."""

    switch: Switch
    said: dict[str, None] = field(default_factory=dict)
    """Notes in order."""

    def say(self, what: str) -> None:
        """Add a note unless it was added before."""
        self.said[what] = None


def converted(switch: Switch, format_: str, hints: Hints | None = None) -> Converted:
    """Convert a switch's numbers to the units of a format.

    Parameters
    ----------
    switch
        A switch in any units.
    format_
        Target format.
    hints
        Facts that the switch's file lacks: the chip, the rate of ports, the shared memory.
    """
    hints = hints or Hints()
    on = hints.chip or (chip(switch.chip) if switch.chip else None)
    made = Converted(switch)
    used: dict[str, list[tuple[PortProfile, Queue]]] = {}
    for profile, queue in switch.queues():
        if queue.marking:
            used.setdefault(queue.marking, []).append((profile, queue))
    work = _Conversion(switch, format_, hints, on, made, used, switch.format != format_)
    made.switch = replace(
        switch,
        markings=tuple(map(work.marking, switch.markings)),
        profiles=tuple(map(work.profile, switch.profiles)),
        pools=tuple(map(work.pool, switch.pools)),
    )
    if format_ != "tc":
        for marking in switch.markings:
            if any(curve.drops_above for curve in marking.curves):
                made.say(f"{marking.name}: drops above its maximum (harddrop), where {format_} marks")
    if work.foreign:
        for each in switch.settings:
            if each.name == BUFFER_SIZE:
                made.say(
                    f"{each.name} {each.value} of scheduler {each.scope}: of the port's own memory, whose "
                    "size is not published"
                )
    return made


@dataclass
class _Conversion:
    switch: Switch
    format: str
    hints: Hints
    on: Chip | None
    made: Converted
    used: dict[str, list[tuple[PortProfile, Queue]]]
    """Queues by their marking."""

    foreign: bool
    """Whether the switch was read from another format; units that both formats have stay unchanged."""

    @property
    def cell(self) -> int | None:
        return self.on.cell.value if self.on and self.on.cell else None

    def pool(self, pool: Pool) -> Pool:
        """Convert a pool; its size is converted if the format has sizes of pools."""
        known = pool_size(pool, self.on, self.hints.pool) if self.foreign and self.format == "sonic" else None
        return pool if known is None else replace(pool, size=known)

    def marking(self, marking: Marking) -> Marking:
        places = self.used.get(marking.name, [])
        return replace(marking, curves=tuple(self.curve(marking, curve, places) for curve in marking.curves))

    def curve(self, marking: Marking, curve: Curve, places: list[tuple[PortProfile, Queue]]) -> Curve:
        ends = [self.threshold(marking, each, places) for each in (curve.minimum, curve.maximum)]
        return replace(curve, minimum=ends[0], maximum=ends[1])

    def threshold(
        self, marking: Marking, threshold: Threshold | None, places: list[tuple[PortProfile, Queue]]
    ) -> Threshold | None:
        """Convert a threshold; return it unchanged if that fails, or if the result differs between queues."""
        units = THRESHOLDS[self.format]
        if threshold is None or threshold.unit in units:
            return threshold
        if marking.scope != "queue" and threshold.unit in _MEMORY | {"percent"}:
            places = []
        found = {self.at(threshold, *place) for place in places} or {self.at(threshold, None, None)}
        what = f"{marking.name}: {_said(threshold)}"
        if None in found:
            self.made.say(f"{what}: {self.missing(threshold, places)}")
            return threshold
        if len(found) > 1:
            several = " and ".join(sorted(_said(each) for each in found if each))
            self.made.say(f"{what} is {several}, by port: no single threshold")
            return threshold
        [new] = found
        if new is not None and (new.unit == "percent" or threshold.unit == "percent"):
            self.made.say(
                f"{what} is written as {_said(new)}, of what the queue may hold while it is the only busy one"
            )
        return new

    def at(self, threshold: Threshold, profile: PortProfile | None, queue: Queue | None) -> Threshold | None:
        """Convert a queue's threshold to bytes, or to percent if the format lacks bytes; None if unknown."""
        rate = (profile.rate if profile else None) or self.hints.rate
        limit = limit_of(self.switch, queue.allotment, self.on, self.hints) if queue else None
        most = limit.most if limit and not limit.of_chip else None
        count = threshold.bytes(cell=self.cell, rate=rate, limit=most)
        if count is None or "bytes" in THRESHOLDS[self.format]:
            return None if count is None else Threshold.of_bytes(count)
        if not most or count > most:
            return None
        return Threshold(Fraction(round(Fraction(100 * count, most))), "percent")

    def missing(self, threshold: Threshold, places: list[tuple[PortProfile, Queue]]) -> str:
        """Name the input that is missing for the conversion of a threshold."""
        if threshold.unit == "cells" and self.cell is None:
            return "the size of a cell depends on the chip; name the chip with --chip"
        if threshold.unit == "ps" and any((profile.rate or self.hints.rate) is None for profile, _ in places):
            return "converting a time requires the rate of the port; set it with --rate"
        if not places:
            return "no queue uses this threshold, so its percentage refers to no known limit"
        for _, queue in places:
            limit = limit_of(self.switch, queue.allotment, self.on, self.hints)
            if limit is None or limit.of_chip:
                alpha = queue.allotment and (queue.allotment.alpha or queue.allotment.limit)
                pool = self.switch.pool(queue.allotment.pool) if queue.allotment else None
                if not alpha and not (pool and pool.alpha):
                    return (
                        f"what queue {queue.number} may hold is not said: its alpha is the platform's default"
                    )
                return "how much queues share is not known: buffer.pool of --fabric says it"
        return "it is more than the queue may hold"

    def profile(self, profile: PortProfile) -> PortProfile:
        return replace(
            profile,
            queues=tuple(self.queue(profile, queue) for queue in profile.queues),
            groups=tuple(map(self.group, profile.groups)),
            limits=tuple(map(self.allotment, profile.limits)),
        )

    def queue(self, profile: PortProfile, queue: Queue) -> Queue:
        return replace(
            queue,
            scheduler=self.scheduler(profile, queue, queue.scheduler) if queue.scheduler else None,
            allotment=self.allotment(queue.allotment) if queue.allotment else None,
        )

    def allotment(self, each: Allotment) -> Allotment:
        pool = self.switch.pool(each.pool)
        alpha = each.alpha
        if self.foreign and alpha is None and each.limit is None and not each.unlimited and pool:
            alpha = pool.alpha
        return replace(
            each,
            alpha=alpha,
            reserved=self.memory(each.reserved, None, each.name or "a queue's memory"),
            limit=self.memory(each.limit, pool_size(pool, self.on, self.hints.pool), each.name or "a limit"),
        )

    def group(self, group: PriorityGroup) -> PriorityGroup:
        name = f"headroom of priority group {group.number}"
        return replace(
            group,
            allotment=self.allotment(group.allotment) if group.allotment else None,
            xoff=self.memory(group.xoff, None, name),
            xon=self.memory(group.xon, None, name),
            xon_offset=self.memory(group.xon_offset, None, name),
        )

    def memory(self, amount: Threshold | None, whole: int | None, what: str) -> Threshold | None:
        """Convert a part of the memory to a unit of the format, if possible."""
        if amount is None or amount.unit in SHARES[self.format]:
            return amount
        count = amount.bytes(cell=self.cell, limit=whole)
        if count is None:
            missing = "the chip: --chip" if amount.unit == "cells" else "the pool's size"
            self.made.say(f"{what}: {_said(amount)} takes {missing}")
            return amount
        return Threshold.of_bytes(count)

    def scheduler(self, profile: PortProfile, queue: Queue, each: Scheduler) -> Scheduler:
        where = f"queue {queue.number} of {profile.name or ', '.join(profile.ports[:2]) or 'all ports'}"
        rate = profile.rate or self.hints.rate

        def in_bits(
            share: Fraction | None, rated: int | None, word: str
        ) -> tuple[Fraction | None, int | None]:
            if share is None or self.format in PERCENT_OF_RATE:
                return share, rated
            if rate is None:
                self.made.say(f"{where}: {word} {digits(float(share))} % of the rate: --rate gives it")
                return share, rated
            return None, int(rate * share / 100)

        shape_percent, shape = in_bits(each.shape_percent, each.shape, "at most")
        least_percent, least = in_bits(each.guaranteed_percent, each.guaranteed, "at least")
        if self.format in ("eos", "avd") and least is not None and rate:
            least_percent, least = self.percent_of_rate(least, rate, where)
        return replace(
            each,
            percent=self.remaining(profile, where)
            if each.remainder and self.format != "junos"
            else each.percent,
            remainder=each.remainder and self.format == "junos",
            shape_percent=shape_percent,
            shape=shape,
            guaranteed_percent=least_percent,
            guaranteed=least,
        )

    def percent_of_rate(self, least: int, rate: int, where: str) -> tuple[Fraction | None, int | None]:
        share = Fraction(100 * least, rate)
        if share.denominator != 1:
            self.made.say(
                f"{where}: at least {digits(float(share))} % of the rate, which is no whole percent"
            )
            return None, least
        return share, None

    def remaining(self, profile: PortProfile, where: str) -> Fraction | None:
        """Return the percentage of a port's rate that no queue reserves; None if it cannot be computed.

        The result is None if the percentage is negative, several queues share it, or a queue has a fixed
        rate.
        """
        schedulers = [queue.scheduler for queue in profile.queues if queue.scheduler]
        left = 100 - sum((each.percent or Fraction(0) for each in schedulers), Fraction(0))
        if sum(each.remainder for each in schedulers) > 1 or any(each.guaranteed for each in schedulers):
            self.made.say(
                f"{where}: what others leave of the rate, of which several have a part or a fixed rate"
            )
            return None
        if left < 0:
            self.made.say(f"{where}: what others leave of the rate, which is nothing")
            return None
        return left


def _said(threshold: Threshold) -> str:
    """Format a threshold for use in a sentence.

    >>> _said(Threshold(Fraction(55), "percent")), _said(Threshold(Fraction(2 * 10**6), "ps"))
    ('55 %', '2 µs')
    """
    match threshold.unit:
        case "bytes":
            return size(int(threshold.amount))
        case "percent":
            return f"{digits(float(threshold.amount))} %"
        case "ps":
            return f"{digits(float(threshold.amount / 10**6))} µs"
        case "cells":
            return f"{digits(float(threshold.amount), 6)} cells"
