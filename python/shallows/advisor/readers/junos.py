"""Juniper Junos: `class-of-service`, in braces or as `set` commands.

Syntax as in Juniper's guide to class of service for QFX, and its validated designs. A fill level is a
percentage of the queue's current memory; on queues with ECN, drop profiles drop nothing. Dynamic threshold 7
means alpha 1, and 10 means alpha 8.
"""

import re
from dataclasses import replace
from fractions import Fraction

from shallows.advisor.configuration import (
    NOWHERE,
    Allotment,
    Curve,
    Maps,
    Marking,
    Note,
    Pool,
    PortProfile,
    Queue,
    Scheduler,
    Source,
    Switch,
    Threshold,
)
from shallows.advisor.readers.junos_names import (
    BUFFER_SIZE,
    CABLE,
    COLOURS,
    LOSS,
    PAUSED_POINTS,
    PAUSED_TAGS,
    STRICT,
)
from shallows.advisor.readers.junos_statements import ClassOfService, PortSettings, SchedulerSettings
from shallows.advisor.readers.reading import alike, lossless
from shallows.advisor.syntax import braces
from shallows.advisor.syntax.groups import in_force
from shallows.advisor.syntax.statements import Statement

FORMAT = "junos"

_TELLING = re.compile(
    r"^\s*(class-of-service\s*\{|(\S+@\S+[>#]\s*)?((set|delete) (groups \S+ )?|show (configuration )?)"
    r"class-of-service\b)",
    re.MULTILINE,
)
MARKING = ("drop-profile-map", "explicit-congestion-notification")
"""Statements of a scheduler about marks; they count as understood even if nothing uses the scheduler."""


def recognises(text: str, name: str) -> bool:  # noqa: ARG001 - the same for all readers
    """Return whether a text is a configuration of Junos with classes of service."""
    return _TELLING.search(text) is not None


def read(text: str, name: str) -> Switch:
    """Read queues and buffers from a configuration of Junos.

    Raises
    ------
    ShallowsError
        If the braces do not match, or the text ends too early.
    """
    statements = braces.read(text, name)
    hosts = [*dict.fromkeys(each.sections for each in statements if "class-of-service" in each.words[:3])]
    reader = ClassOfService(name)
    for words in (each.words for each in statements):
        if words[:3] == ("class-of-service", "code-point-aliases", "dscp") and len(words) == 5:
            reader.aliases[words[3]] = words[4]
    for statement in in_force([each for each in statements if each.sections in hosts[:1]], name):
        reader.take(statement)
    elsewhere = {*hosts[1:]}
    for statement in statements:
        if statement.sections in elsewhere and "class-of-service" in statement.words[:3]:
            reader.found.skip(statement, NOWHERE)
    if hosts and hosts[0]:
        reader.hostname = reader.hostname or hosts[0][0]
    others = ", ".join(each for host in hosts[1:] for each in host)
    said = f"the file shows several switches: only {reader.hostname} is read, not {others}"
    if others:
        reader.notes.append(Note("several-switches", said, Source(name)))
    return _Builder(reader).switch()


def _said(pool: Pool | None) -> bool:
    """Return whether the file has any setting for this pool."""
    return pool is not None and (pool.percent is not None or pool.alpha is not None)


class _Builder:
    """Builds the switch that the statements of a file describe."""

    def __init__(self, cos: ClassOfService) -> None:
        self.cos = cos
        self.found = cos.found
        self.refused: set[str] = set()
        self.made: dict[tuple[object, ...], tuple[Queue, ...]] = {}

    def switch(self) -> Switch:
        marked = {name: self.marking(name, each) for name, each in self.cos.schedulers.items()}
        used = {port.scheduler_map for port in self.cos.ports.values()}
        told = [
            self.profile(name, port, marked)
            for name, port in self.cos.ports.items()
            if port != PortSettings()
        ]
        unused = [self.profile("", PortSettings(name), marked) for name in self.cos.maps if name not in used]
        told += [each for each in unused if each.queues]
        self.dangling()
        self.unused(marked)
        for kind, paused in ((PAUSED_POINTS, self.cos.paused), (PAUSED_TAGS, self.cos.tagged)):
            for name, points in paused.items():
                if points:
                    said = ",".join(map(str, sorted(points)))
                    self.found.setting(kind, said, Statement(0, (name,)), name)
        pauses = {each.pause for each in self.cos.ports.values()}
        for name, metres in self.cos.cables.items():
            if name not in pauses:
                self.found.setting(CABLE, str(metres), Statement(0, (name,)), name)
        for name, number in self.cos.queues.items():
            self.found.setting("forwarding-class", str(number), Statement(0, (name,)), name)
        for name, number in self.cos.priorities.items():
            self.found.setting("forwarding-class.pfc-priority", str(number), Statement(0, (name,)), name)
        markings, settings = self.found.in_order()
        return Switch(
            FORMAT,
            self.cos.hostname,
            profiles=alike(told),
            pools=tuple(each for _, each in sorted(self.cos.pools.items()) if _said(each)),
            markings=markings,
            settings=settings,
            unread=tuple(self.found.unread),
            understood=self.found.understood,
            notes=tuple(self.cos.notes),
        )

    def marking(self, name: str, each: SchedulerSettings) -> str | None:
        """Add the marking of a scheduler's drop profiles, and return its name; None without a valid profile.

        A valid drop profile consists of one straight line that starts at probability zero.
        """
        curves = []
        for loss, profile in sorted(each.profiles.items()):
            fills, chances, statements = self.cos.levels.get(profile, ([], [], []))
            if len(fills) != 2 or len(chances) != 2 or chances[0] or fills[0] > fills[1]:
                if profile not in self.refused:
                    self.refused.add(profile)
                    for statement in statements or [each.statement]:
                        self.found.skip(statement)
                continue
            self.found.setting("drop-profile", profile, statements[0], f"{name} {loss}")
            curves.append(
                Curve(
                    Threshold(Fraction(fills[0]), "percent"),
                    Threshold(Fraction(fills[1]), "percent"),
                    Fraction(chances[1], 100),
                    COLOURS[loss],
                    each.ecn,
                    not each.ecn,
                    None,
                    self.found.source(statements[0]),
                )
            )
        if each.ecn and not curves:
            self.found.setting("ecn.without-profile", "yes", each.statement, name)
        if not curves:
            return None
        self.found.markings[name] = Marking(name, tuple(curves), source=curves[0].source)
        return name

    def dangling(self) -> None:
        """Add notes about scheduler maps that name undefined objects; remove settings of unused objects."""
        for (name, kind), statement in self.cos.mapped.items():
            if kind not in self.cos.queues or self.cos.maps[name].get(kind) not in self.cos.schedulers:
                missing = "queue" if kind not in self.cos.queues else "scheduler"
                said = f"scheduler map {name}: the file has no {missing} of forwarding class {kind}"
                self.cos.notes.append(Note("not-valid", said, self.found.source(statement)))
        scheduled = {
            scheduler
            for kinds in self.cos.maps.values()
            for kind, scheduler in kinds.items()
            if kind in self.cos.queues and scheduler in self.cos.schedulers
        }
        classifiers = {each.classifier for each in self.cos.ports.values()}
        there: dict[str, set[str] | set[str | None]] = {
            LOSS: classifiers,
            BUFFER_SIZE: scheduled,
            "ecn.without-profile": scheduled,
        }
        for (name, scope), setting in [*self.found.settings.items()]:
            if name in there and scope.partition(" ")[0] not in there[name]:
                self.found.unset(name, scope)
                self.found.unread.append(replace(setting.source, scope=NOWHERE))
                self.found.understood -= 1

    def unused(self, marked: dict[str, str | None]) -> None:
        """List statements about undefined or unused objects as not understood."""
        drawn = {
            profile
            for name, each in self.cos.schedulers.items()
            if marked[name] is not None
            for profile in each.profiles.values()
        }
        classifiers = {each.classifier for each in self.cos.ports.values()}
        scheduled = {scheduler for kinds in self.cos.maps.values() for scheduler in kinds.values()}
        there = {*self.found.unread}
        for (kind, *names), statements in self.cos.said.items():
            idle: list[Statement] = []
            match kind, names:
                case "drop-profiles", [name] if name in self.cos.levels and name not in drawn | self.refused:
                    idle = statements
                case "schedulers", [name] if name in self.cos.schedulers and name not in scheduled:
                    idle = [
                        each for each in statements if marked[name] is None or each.words[3] not in MARKING
                    ]
                case "classifiers", ["dscp", name] if name in self.cos.points and name not in classifiers:
                    idle = statements
                case "interfaces", [name]:
                    idle = [
                        each
                        for each in statements
                        if self.names_nothing(self.cos.ports[name], each.words[3:])
                    ]
            for statement in idle:
                if (source := self.found.source(statement)) not in there:
                    there.add(source)
                    self.found.unread.append(replace(source, scope=NOWHERE))
                    self.found.understood -= 1

    def names_nothing(self, port: PortSettings, words: tuple[str, ...]) -> bool:
        """Return whether a port's statement refers to an undefined scheduler map or classifier."""
        if words[0] == "scheduler-map":
            return port.scheduler_map == words[1] and words[1] not in self.cos.maps
        return words[-3:-1] == ("classifiers", "dscp") and words[-1] not in self.cos.points

    def queues_of(
        self, port: PortSettings, marked: dict[str, str | None], pfc: tuple[int, ...], maps: Maps
    ) -> tuple[Queue, ...]:
        """Return the queues of a port's scheduler map.

        Ports with the same scheduler map and PFC settings get the same cached object.
        """
        key = (port.scheduler_map, pfc, maps)
        if key not in self.made:
            self.made[key] = lossless(self.scheduled(port.scheduler_map or "", marked), pfc, maps)
        return self.made[key]

    def scheduled(self, name: str, marked: dict[str, str | None]) -> list[Queue]:
        """Return the queues of a scheduler map, without PFC."""
        queues = []
        for kind, scheduler in self.cos.maps.get(name, {}).items():
            number, each = self.cos.queues.get(kind), self.cos.schedulers.get(scheduler)
            if number is None or each is None:
                continue
            order = Scheduler(
                "strict" if each.strict in STRICT else "dwrr",
                percent=each.percent,
                remainder=each.remainder,
                shape=each.shape,
                shape_percent=each.shape_percent,
                guaranteed=each.guaranteed,
                name=f"{scheduler} {each.strict or ''}".strip(),
                source=self.found.source(each.statement),
            )
            part = "egress.lossless" if ("no-loss", kind) in self.found.settings else "egress.lossy"
            held = part if _said(self.cos.pools.get(part)) else None
            allotment = Allotment(held, alpha=each.alpha) if held or each.alpha is not None else None
            queues.append(Queue(number, order, marked.get(scheduler), allotment, name=kind))
        return queues

    def profile(self, name: str, port: PortSettings, marked: dict[str, str | None]) -> PortProfile:
        """Build a port's profile; with an empty name, the profile of a scheduler map that no port uses."""
        points = self.cos.points.get(port.classifier or "", {})
        dscp = tuple(
            sorted(
                (point, self.cos.queues[kind]) for point, kind in points.items() if kind in self.cos.queues
            )
        )
        by_point = {
            point: self.cos.priorities[kind] for point, kind in points.items() if kind in self.cos.priorities
        }
        paused = self.cos.paused.get(port.pause or "", set())
        tagged = self.cos.tagged.get(port.pause or "", set())
        pfc = tuple(sorted(tagged or {by_point[point] for point in paused if point in by_point}))
        to_queue = (
            self.cos.outputs.get(port.pause or "", {})
            if tagged
            else {
                self.cos.priorities[kind]: self.cos.queues[kind]
                for kind in self.cos.priorities
                if kind in self.cos.queues
            }
        )
        mapped = Maps(class_to_queue=tuple(sorted(to_queue.items())))
        link = self.cos.links.get(name, {})
        return PortProfile(
            (name,) if name else (),
            link.get("rate"),
            self.queues_of(port, marked, pfc, mapped),
            pfc=pfc,
            maps=Maps(dscp),
            cable=self.cos.cables.get(port.pause or ""),
            mtu=link.get("mtu"),
            name=" ".join(each or "-" for each in (port.scheduler_map, port.pause, port.classifier)),
        )
