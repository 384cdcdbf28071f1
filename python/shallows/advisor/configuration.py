"""What a switch can be told about queues, whoever's words it was told in: the neutral model.

Readers make a `Switch` of a vendor's file, writers make a vendor's file of a `Switch`. Sizes are bytes once
resolved; a threshold keeps the unit in which it was written, so that what is read can be written again. What
a file does not say is `None`, never a guess. Where something was written (`Source`) takes no part in
comparisons: two switches are equal if they are told the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal

Unit = Literal["bytes", "cells", "percent", "ps"]
"""Percent of what the queue may hold, or the time that its port needs to send it, in picoseconds."""

Colour = Literal["all", "green", "yellow", "red"]
"""Of packets, by a meter or a map; `all` where the platform or the file does not tell them apart."""

COLOURS: tuple[Colour, ...] = ("green", "yellow", "red")

PS_PER_SECOND = 10**12


@dataclass(frozen=True)
class Scope:
    """The ports and the queue that a line is about; what is not known is empty, and may be any of them."""

    port: str = ""
    profile: str = ""
    """Of ports (`PortProfile.name`)."""

    queue: int | None = None


NOWHERE = Scope(queue=-1)
"""The scope of a line that is understood and that nothing uses, such as a profile that no queue names."""


@dataclass(frozen=True)
class Source:
    """Where something was written, and how."""

    file: str = ""
    place: str = ""
    """A line (`12`), or the path in a document (`WRED_PROFILE|A green_min_threshold`)."""

    text: str = ""
    """As it is there, so far as it helps to find it."""

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
        """So many bytes."""
        return cls(Fraction(count))

    def bytes(
        self, *, cell: int | None = None, rate: int | None = None, limit: int | None = None
    ) -> int | None:
        """Bytes, rounded down; nothing if what it takes is not known.

        Parameters
        ----------
        cell
            Bytes of a cell of the chip, for cells.
        rate
            Of the port in bit/s, for times.
        limit
            What the queue may hold in bytes, for percent.
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
    """With which probability a packet is marked or dropped, by the backlog it meets.

    None below the minimum, all above the maximum, and in between a line from 0 to `probability`.
    """

    minimum: Threshold | None
    """`None`: the platform's own, which the file does not say."""

    maximum: Threshold | None
    probability: Fraction | None = Fraction(1)
    """At the maximum, from 0 to 1."""

    colour: Colour = "all"
    marks_ect: bool = True
    """Whether packets of ECN-capable transports are marked; if not, they are dropped like the others."""

    drops_not_ect: bool | None = None
    """Whether other packets are dropped by this curve; `None`: it depends on the platform."""

    weight: int | None = 0
    """The average moves by 2^-weight of the difference; 0 is the backlog itself, `None` is not said."""

    source: Source = field(default=Source(), compare=False)
    drops_above: bool = False
    """Whether packets that are marked up to the maximum are dropped above it: Linux' `harddrop`."""


@dataclass(frozen=True)
class Marking:
    """A profile of WRED and ECN: one curve, one for each colour, or one for marks and others for drops."""

    name: str
    curves: tuple[Curve, ...]
    scope: Literal["queue", "port", "pool"] = "queue"
    """Whose backlog it looks at."""

    source: Source = field(default=Source(), compare=False)

    @property
    def marks_ect(self) -> bool:
        """Whether any curve of it marks."""
        return any(curve.marks_ect for curve in self.curves)

    def marking_curve(self) -> Curve | None:
        """What ECN-capable packets meet that nobody coloured: the green ones."""
        found = [curve for curve in self.curves if curve.marks_ect and curve.colour in ("all", "green")]
        return found[0] if found else None


@dataclass(frozen=True)
class Allotment:
    """What a queue or a priority group may take of the memory.

    Of `alpha`, `limit` and `unlimited` at most one is given: a share of what is free, a fixed amount, or all.
    """

    pool: str | None = None
    reserved: Threshold | None = None
    """Its own, which no other can take."""

    alpha: Fraction | None = None
    """Dynamic threshold: it may hold alpha times what is free (Choudhury and Hahne 1998)."""

    limit: Threshold | None = None
    unlimited: bool = False
    trims: bool = False
    """Whether what it cannot take is trimmed to its header, not dropped."""

    name: str | None = field(default=None, compare=False)
    """Of the profile that says so, where the vendor gives it one."""

    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class Scheduler:
    """When a queue is served."""

    kind: Literal["strict", "dwrr", "wrr"]
    weight: int | None = None
    percent: Fraction | None = None
    """Of the port's rate, where the vendor counts so."""

    remainder: bool = False
    """Whether it gets the percent of the rate that the others of its port leave."""

    shape: int | None = None
    """At most so many bit/s."""

    shape_percent: Fraction | None = None
    """At most so much of the port's rate, where the vendor counts so."""

    guaranteed: int | None = None
    """At least so many bit/s."""

    guaranteed_percent: Fraction | None = None
    """At least so much of the port's rate, where the vendor counts so."""

    name: str | None = field(default=None, compare=False)
    source: Source = field(default=Source(), compare=False)

    @property
    def has_rates(self) -> bool:
        """Whether it says what a queue gets at least or at most."""
        said = (self.shape, self.shape_percent, self.guaranteed, self.guaranteed_percent)
        return any(each is not None for each in said)


@dataclass(frozen=True)
class Queue:
    """One queue of a port on its way out."""

    number: int
    scheduler: Scheduler | None = None
    marking: str | None = None
    """Name of a `Marking` of the switch."""

    allotment: Allotment | None = None
    lossless: bool = False
    """Whether PFC holds back what goes into it."""

    name: str | None = field(default=None, compare=False)
    """Of its class, where the vendor gives it one."""

    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class PriorityGroup:
    """Memory of a port for what came in by it with some priorities; PFC and headroom belong to it."""

    number: int
    allotment: Allotment | None = None
    xoff: Threshold | None = None
    """Headroom: what still fits in after PAUSE was sent."""

    xon: Threshold | None = None
    """Backlog below which the sender may go on."""

    xon_offset: Threshold | None = None
    """As far below the limit the sender may go on."""

    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class Pool:
    """A part of the memory that ports share."""

    name: str
    direction: Literal["ingress", "egress", "both"] = "both"
    size: int | None = None
    """Bytes."""

    percent: Fraction | None = None
    """Of the memory, where the vendor counts so."""

    of_shared: bool = False
    """Whether that is percent of what is left of the memory when ports have got their own."""

    alpha: Fraction | None = None
    """Of those of its users that have none of their own."""

    dynamic: bool = True
    """Whether its users have dynamic thresholds; fixed ones if not."""

    headroom: int | None = None
    """Bytes of headroom that all lossless priority groups share."""

    marking: str | None = None
    """Name of a `Marking` with the scope `pool`."""

    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class Maps:
    """From a packet to its queue: pairs, in order of the first."""

    dscp_to_class: tuple[tuple[int, int], ...] = ()
    class_to_queue: tuple[tuple[int, int], ...] = ()
    class_to_group: tuple[tuple[int, int], ...] = ()
    pfc_to_queue: tuple[tuple[int, int], ...] = ()
    pfc_to_group: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class PortProfile:
    """What all of these ports are told alike: ten thousand equal ports are one profile."""

    ports: tuple[str, ...]
    """Their names; empty: all ports, or a template that the file applies to none by name."""

    rate: int | None = None
    """Bit/s."""

    queues: tuple[Queue, ...] = ()
    groups: tuple[PriorityGroup, ...] = ()
    pfc: tuple[int, ...] = ()
    """Priorities that are paused."""

    maps: Maps = Maps()
    cable: Fraction | None = None
    """Metres."""

    mtu: int | None = None
    """Bytes."""

    name: str | None = field(default=None, compare=False)
    """Of the vendor's profile, where it has one."""

    source: Source = field(default=Source(), compare=False)
    limits: tuple[Allotment, ...] = ()
    """What all its queues, or all its priority groups, together may take of each pool."""


@dataclass(frozen=True)
class Setting:
    """Anything else that was understood and counts: PFC's watchdog, a host's RTO, `allow non-ect`."""

    name: str
    """In this model's words: `pfc-watchdog.action`, `not-ect.allowed`, `host.rto_min`, …"""

    value: str
    scope: str = ""
    """Of which port, route or interface, if not of the whole switch."""

    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class Default:
    """What nobody set, and what then holds."""

    what: str
    """The setting, and of which queue or profile."""

    value: str
    """What the platform does; `unknown` where that is not published."""

    citation: str = ""


@dataclass(frozen=True)
class Note:
    """What a reader saw of a text that the model does not keep: blanks, or a name that nothing has."""

    code: str
    """Of the finding that it becomes."""

    what: str
    source: Source = field(default=Source(), compare=False)


@dataclass(frozen=True)
class Switch:
    """All that was read of one switch or host."""

    format: str
    """`sonic`, `eos`, `avd`, `nvue`, `nxos`, `junos` or `tc`."""

    name: str | None = None
    platform: str | None = None
    """As the file says, such as `x86_64-arista_7060x6_64pe_b` or an SKU."""

    chip: str | None = None
    """A name of `chips`, if the file leaves no doubt."""

    profiles: tuple[PortProfile, ...] = ()
    pools: tuple[Pool, ...] = ()
    markings: tuple[Marking, ...] = ()
    settings: tuple[Setting, ...] = ()
    defaults: tuple[Default, ...] = field(default=(), compare=False)
    unread: tuple[Source, ...] = field(default=(), compare=False)
    """Lines or values about queues and buffers that were not understood."""

    understood: int = field(default=0, compare=False)
    """How many lines or values about queues and buffers were."""

    notes: tuple[Note, ...] = field(default=(), compare=False)
    allotments: tuple[Allotment, ...] = ()
    """Named shares of the memory that nothing uses."""

    schedulers: tuple[Scheduler, ...] = ()
    """Named schedulers that nothing uses."""

    def marking(self, name: str | None) -> Marking | None:
        """The profile of that name."""
        return self._markings.get(name) if name is not None else None

    def pool(self, name: str | None) -> Pool | None:
        """The pool of that name."""
        return self._pools.get(name) if name is not None else None

    @cached_property
    def _markings(self) -> dict[str, Marking]:
        """By name; of two with one name the first."""
        return {marking.name: marking for marking in reversed(self.markings)}

    @cached_property
    def _pools(self) -> dict[str, Pool]:
        return {pool.name: pool for pool in reversed(self.pools)}

    def queues(self) -> Iterator[tuple[PortProfile, Queue]]:
        """Each queue of each profile of ports."""
        for profile in self.profiles:
            for queue in profile.queues:
                yield profile, queue
