"""Vendor-neutral model of a switch's queue configuration.

Readers build a `Switch` from a vendor's file, and writers build a vendor's file from a `Switch`. Sizes are in
bytes once resolved; a threshold keeps its written unit, so that it can be written again. A missing value is
`None`, never a guess. The position of a line (`Source`) does not affect comparisons: two switches are equal
if their settings are.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

Unit = Literal["bytes", "cells", "percent", "ps"]
"""Unit of a threshold; `percent` is a share of the queue's limit, `ps` the time to send the backlog."""

Colour = Literal["all", "green", "yellow", "red"]
"""Colour that a meter or a map gives to packets; `all` if platform or file distinguish no colours."""

COLOURS: tuple[Colour, ...] = ("green", "yellow", "red")

PS_PER_SECOND = 10**12


@dataclass(frozen=True)
class Scope:
    """Ports and queue that a line concerns. If a field is empty, the line may concern any port or queue."""

    port: str = ""
    profile: str = ""
    """Name of the ports' profile (`PortProfile.name`)."""

    queue: int | None = None


NOWHERE = Scope(queue=-1)
"""Scope of a line without effect, such as a profile that no queue uses."""


@dataclass(frozen=True)
class Source:
    """Position and text of a setting in its file."""

    file: str = ""
    place: str = ""
    """A line number (`12`), or the path in a document (`WRED_PROFILE|A green_min_threshold`)."""

    text: str = ""
    """Text of the file at `place`, so that users can search for it."""

    scope: Scope = field(default=Scope(), compare=False)

    def __str__(self) -> str:
        return ":".join(part for part in (self.file, self.place) if part)


@dataclass(frozen=True)
class Threshold:
    """An amount of backlog, in the unit in which it was written."""

    amount: Fraction
    unit: Unit = "bytes"

    @classmethod
    def of_bytes(cls, count: int) -> "Threshold":
        """Create a threshold in bytes."""
        return cls(Fraction(count))

    def bytes(
        self, *, cell: int | None = None, rate: int | None = None, limit: int | None = None
    ) -> int | None:
        """Return the threshold in bytes, rounded down; None if an input is unknown.

        Parameters
        ----------
        cell
            Bytes of a cell of the chip, for thresholds in cells.
        rate
            Rate of the port in bit/s, for times.
        limit
            Limit of the queue in bytes, for percentages.
        """
        match self.unit:
            case "bytes":
                return int(self.amount)
            case "cells":
                return None if cell is None else int(self.amount * cell)
            case "ps":
                return None if rate is None else int(self.amount * rate / (8 * PS_PER_SECOND))
            case "percent":
                return None if limit is None else int(self.amount * limit / 100)


@dataclass(frozen=True)
class Curve:
    """Probability of marking or dropping a packet, by the backlog at its arrival.

    The probability is 0 below the minimum and 1 above the maximum; in between, it rises linearly from 0 to
    `probability`.
    """

    minimum: Threshold | None
    """Start of the curve; `None` if the file states none, so that the platform's default applies."""

    maximum: Threshold | None
    probability: Fraction | None = Fraction(1)
    """Probability at the maximum, from 0 to 1."""

    colour: Colour = "all"
    marks_ect: bool = True
    """Whether ECN-capable packets are marked; otherwise they are dropped, like packets without ECN."""

    drops_not_ect: bool | None = None
    """Whether the curve drops packets that are not ECN-capable; `None` if that depends on the platform."""

    weight: int | None = 0
    """Exponent of the averaged backlog: each step moves the average by 2^-weight of its distance to the
    backlog. With 0, the curve applies to the backlog itself; `None` is unknown.
    """

    source: Source = field(default=Source(), compare=False)
    drops_above: bool = False
    """Whether packets are marked only up to the maximum, and dropped above it, as by Linux' `harddrop`."""


@dataclass(frozen=True)
class Marking:
    """A WRED/ECN profile: one curve, one per colour, or separate curves for marks and drops."""

    name: str
    curves: tuple[Curve, ...]
    scope: Literal["queue", "port", "pool"] = "queue"
    """Backlog to which the curves apply: that of the queue, the port or the pool."""

    source: Source = field(default=Source(), compare=False)

    @property
    def marks_ect(self) -> bool:
        """Return whether any curve of the profile marks."""
        return any(curve.marks_ect for curve in self.curves)

    def marking_curve(self) -> Curve | None:
        """Return the curve that marks uncoloured packets, which count as green; None if no curve does."""
        found = [curve for curve in self.curves if curve.marks_ect and curve.colour in ("all", "green")]
        return found[0] if found else None


@dataclass(frozen=True)
class Allotment:
    """Buffer memory that a queue or a priority group may use.

    At most one of `alpha`, `limit` and `unlimited` is set: a share of the free memory, a fixed amount, or
    everything.
    """

    pool: str | None = None
    reserved: Threshold | None = None
    """Reserved buffer, which no other queue can use."""

    alpha: Fraction | None = None
    """Dynamic threshold: limit of alpha times the free memory (Choudhury and Hahne 1998)."""

    limit: Threshold | None = None
    unlimited: bool = False
    trims: bool = False
    """Whether refused packets are trimmed to their headers instead of dropped."""

    name: str | None = field(default=None, compare=False)
    """Name of the vendor's profile, if it has one."""

    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class Scheduler:
    """Scheduling of a queue: kind, weight, and limits of its rate."""

    kind: Literal["strict", "dwrr", "wrr"]
    weight: int | None = None
    percent: Fraction | None = None
    """Share of the port's rate, for vendors that configure shares."""

    remainder: bool = False
    """Whether the queue gets the percentage of the port's rate that other queues leave."""

    shape: int | None = None
    """Upper limit of the rate in bit/s."""

    shape_percent: Fraction | None = None
    """Upper limit as a share of the port's rate."""

    guaranteed: int | None = None
    """Guaranteed rate in bit/s."""

    guaranteed_percent: Fraction | None = None
    """Guaranteed share of the port's rate."""

    name: str | None = field(default=None, compare=False)
    source: Source = field(default=Source(), compare=False)

    @property
    def has_rates(self) -> bool:
        """Return whether a queue has a guaranteed rate or a maximum rate."""
        said = (self.shape, self.shape_percent, self.guaranteed, self.guaranteed_percent)
        return any(each is not None for each in said)


@dataclass(frozen=True)
class Queue:
    """One egress queue of a port."""

    number: int
    scheduler: Scheduler | None = None
    marking: str | None = None
    """Name of a `Marking` of the switch."""

    allotment: Allotment | None = None
    lossless: bool = False
    """Whether PFC pauses the senders of the queue's packets."""

    name: str | None = field(default=None, compare=False)
    """Vendor's name of the queue's class, if it has one."""

    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class PriorityGroup:
    """Ingress memory of a port for some priorities, with PFC and headroom."""

    number: int
    allotment: Allotment | None = None
    xoff: Threshold | None = None
    """Headroom: room for data that arrives after PAUSE."""

    xon: Threshold | None = None
    """Backlog below which the sender may resume."""

    xon_offset: Threshold | None = None
    """Distance below the limit at which the sender may resume."""

    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class Pool:
    """A part of the memory that ports share."""

    name: str
    direction: Literal["ingress", "egress", "both"] = "both"
    size: int | None = None
    """Size in bytes."""

    percent: Fraction | None = None
    """Share of the memory, for vendors that configure shares."""

    of_shared: bool = False
    """Whether `percent` is a share of the memory that remains after the ports' reserved parts."""

    alpha: Fraction | None = None
    """Default alpha of the queues and priority groups that use this pool."""

    dynamic: bool = True
    """Whether queues and priority groups of this pool have dynamic thresholds; otherwise limits are fixed."""

    headroom: int | None = None
    """Headroom in bytes that all lossless priority groups share."""

    marking: str | None = None
    """Name of a `Marking` with the scope `pool`."""

    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class Maps:
    """Maps that determine a packet's queue and priority group; each consists of pairs in ascending order."""

    dscp_to_class: tuple[tuple[int, int], ...] = ()
    class_to_queue: tuple[tuple[int, int], ...] = ()
    class_to_group: tuple[tuple[int, int], ...] = ()
    pfc_to_queue: tuple[tuple[int, int], ...] = ()
    pfc_to_group: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class PortProfile:
    """Configuration that equally configured ports share."""

    ports: tuple[str, ...]
    """Names of the ports; empty for a profile of all ports, or for a template that names no port."""

    rate: int | None = None
    """Rate in bit/s."""

    queues: tuple[Queue, ...] = ()
    groups: tuple[PriorityGroup, ...] = ()
    pfc: tuple[int, ...] = ()
    """Priorities that PFC pauses."""

    maps: Maps = Maps()
    cable: Fraction | None = None
    """Length of the cables in metres."""

    mtu: int | None = None
    """MTU in bytes."""

    name: str | None = field(default=None, compare=False)
    """Name of the vendor's profile, if it has one."""

    source: Source = field(default=Source(), compare=False)
    limits: tuple[Allotment, ...] = ()
    """Limits, by pool, on the memory that all queues of a port, or all its priority groups, use together."""


@dataclass(frozen=True)
class Setting:
    """An understood setting that has no field in `Switch`: PFC's watchdog, a host's RTO, `allow non-ect`."""

    name: str
    """Name in this model: `pfc-watchdog.action`, `not-ect.allowed`, `host.rto_min`, …"""

    value: str
    scope: str = ""
    """Port, route or interface; empty for the whole switch."""

    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class Default:
    """A default value that applies because the configuration sets none."""

    what: str
    """The setting, with its queue or profile."""

    value: str
    """The platform's behaviour; `unknown` if it is not published."""

    citation: str = ""


@dataclass(frozen=True)
class Note:
    """An observation about a file, such as an undefined name, for which `Switch` has no other field."""

    code: str
    """Code of the finding that `explain` reports for the note."""

    what: str
    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class Switch:
    """Everything read from one switch or host."""

    format: str
    """`sonic`, `eos`, `avd`, `nvue`, `nxos`, `junos` or `tc`."""

    name: str | None = None
    platform: str | None = None
    """Platform in the file, such as `x86_64-arista_7060x6_64pe_b` or an SKU."""

    chip: str | None = None
    """Name of the chip in `chips`, if the file identifies it unambiguously."""

    profiles: tuple[PortProfile, ...] = ()
    pools: tuple[Pool, ...] = ()
    markings: tuple[Marking, ...] = ()
    settings: tuple[Setting, ...] = ()
    defaults: tuple[Default, ...] = field(default=(), compare=False)
    unread: tuple[Source, ...] = field(default=(), compare=False)
    """Lines or values about queues and buffers that were not understood."""

    understood: int = field(default=0, compare=False)
    """Number of understood lines or values about queues and buffers."""

    notes: tuple[Note, ...] = field(default=(), compare=False)
    allotments: tuple[Allotment, ...] = ()
    """Named allotments that nothing uses."""

    schedulers: tuple[Scheduler, ...] = ()
    """Named schedulers that nothing uses."""

    def marking(self, name: str | None) -> Marking | None:
        """Return the profile with this name."""
        return self._markings.get(name) if name is not None else None

    def pool(self, name: str | None) -> Pool | None:
        """Return the pool with this name."""
        return self._pools.get(name) if name is not None else None

    @cached_property
    def _markings(self) -> dict[str, Marking]:
        """Return the marking profiles by name; the first one counts if several have the same name."""
        return {marking.name: marking for marking in reversed(self.markings)}

    @cached_property
    def _pools(self) -> dict[str, Pool]:
        return {pool.name: pool for pool in reversed(self.pools)}

    def queues(self) -> Iterator[tuple[PortProfile, Queue]]:
        """Yield each queue of each port profile."""
        for profile in self.profiles:
            for queue in profile.queues:
                yield profile, queue
