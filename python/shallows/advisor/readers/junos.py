"""Juniper Junos: `class-of-service`, in braces or as `set` commands.

Syntax as in Juniper's guide to class of service for QFX, and its validated designs. A fill level is a
percentage of the queue's current memory; on queues with ECN, drop profiles drop nothing. Dynamic threshold 7
means alpha 1, and 10 means alpha 8.
"""

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from shallows.advisor.configuration import (
    NOWHERE,
    Allotment,
    Colour,
    Curve,
    Maps,
    Marking,
    Note,
    Pool,
    PortProfile,
    Queue,
    Scheduler,
    Scope,
    Source,
    Switch,
    Threshold,
)
from shallows.advisor.readers.reading import Findings, alike, lossless
from shallows.advisor.syntax import braces
from shallows.advisor.syntax.groups import in_force
from shallows.advisor.syntax.statements import Statement
from shallows.bounded import whole

FORMAT = "junos"

_TELLING = re.compile(
    r"^\s*(class-of-service\s*\{|(\S+@\S+[>#]\s*)?((set|delete) (groups \S+ )?|show (configuration )?)"
    r"class-of-service\b)",
    re.MULTILINE,
)
COLOURS: dict[str, Colour] = {"any": "all", "low": "green", "medium-high": "yellow", "high": "red"}
LOSS = "dscp.loss-priority"
PAUSED_QUEUE = "pfc.flow-control-queue"
BUFFER_SIZE = "buffer-size"
WATCHDOG = "pfc-profile.watchdog"
PAUSED_POINTS, PAUSED_TAGS, MRU = "pfc.dscp", "pfc.ieee-802.1", "pfc.mru"
CABLE = "pfc.cable-length"
"""Names of PFC settings; a congestion notification profile pauses code points or VLAN priorities, never both.
"""
MARKING = ("drop-profile-map", "explicit-congestion-notification")
"""Statements of a scheduler about marks; they count as understood even if nothing uses the scheduler."""
STRICT = ("strict-high", "high", "strict")
ALIASES = {
    "be": "000000",
    "ef": "101110",
    **{f"af{high}{low}": f"{8 * high + 2 * low:06b}" for high in range(1, 5) for low in range(1, 4)},
    **{f"cs{number}": f"{8 * number:06b}" for number in range(1, 8)},
    "nc1": "110000",
    "nc2": "111000",
}
"""Bits of the code points that RFC 2474, 2597 and 3246 name (Junos also has nc1 for cs6, and nc2 for cs7)."""

MOST_CLASSES = 16
"""Maximum number of forwarding classes in Junos."""

_RATE = re.compile(r"([0-9]{1,15})([kmg]?)", re.ASCII)


def _rate(text: str) -> int | None:
    """Return a rate such as `400m` in bit/s."""
    found = _RATE.fullmatch(text)
    return int(found[1]) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[found[2]] if found else None


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
    reader = _Reader(name)
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
    return reader.switch()


def _scope(statement: Statement) -> Scope:
    """Return the port that a statement names."""
    words = statement.words
    return Scope(words[2]) if words[:2] == ("class-of-service", "interfaces") and len(words) > 2 else Scope()


@dataclass
class _Scheduler:
    percent: Fraction | None = None
    guaranteed: int | None = None
    remainder: bool = False
    shape: int | None = None
    shape_percent: Fraction | None = None
    strict: str | None = None
    alpha: Fraction | None = None
    ecn: bool = False
    profiles: dict[str, str] = field(default_factory=dict)
    statement: Statement = field(default_factory=lambda: Statement(0, ()))


@dataclass
class _Port:
    scheduler_map: str | None = None
    pause: str | None = None
    classifier: str | None = None


def _said(pool: Pool | None) -> bool:
    """Return whether the file has any setting for this pool."""
    return pool is not None and (pool.percent is not None or pool.alpha is not None)


_FIELDS = {
    "transmit-rate": ("percent", "guaranteed", "remainder"),
    "shaping-rate": ("shape", "shape_percent"),
    "priority": ("strict",),
    "buffer-dynamic-threshold": ("alpha",),
    "explicit-congestion-notification": ("ecn",),
}
"""Fields of `_Scheduler` that each statement sets."""


class _Reader:
    def __init__(self, name: str) -> None:
        self.found = Findings(name, _scope)
        self.hostname: str | None = None
        self.levels: dict[str, tuple[list[int], list[int], list[Statement]]] = {}
        self.schedulers: dict[str, _Scheduler] = {}
        self.maps: dict[str, dict[str, str]] = {}
        self.queues: dict[str, int] = {}
        self.priorities: dict[str, int] = {}
        self.points: dict[str, dict[int, str]] = {}
        self.paused: dict[str, set[int]] = {}
        self.tagged: dict[str, set[int]] = {}
        self.outputs: dict[str, dict[int, int]] = {}
        self.cables: dict[str, Fraction] = {}
        self.pools: dict[str, Pool] = {}
        self.ports: dict[str, _Port] = {}
        self.links: dict[str, dict[str, int]] = {}
        self.refused: set[str] = set()
        self.aliases = dict(ALIASES)
        self.mapped: dict[tuple[str, str], Statement] = {}
        self.said: dict[tuple[str, ...], list[Statement]] = {}
        self.notes: list[Note] = []
        self.idle: set[str] = set()
        self.made: dict[tuple[object, ...], tuple[Queue, ...]] = {}

    def take(self, statement: Statement) -> None:
        """Process a statement of `set`, `delete`, `deactivate` or a group."""
        words = statement.words
        if words[:2] == ("system", "host-name") and len(words) == 3:
            self.hostname = words[2]
        elif words[0] == "delete":
            if words[1:2] == ("class-of-service",):
                self.found.took(self.delete(words[2:]), statement)
        elif words[0] in ("deactivate", "groups") or "inactive:" in words:
            if "class-of-service" in words:
                self.found.skip(statement, None if words[0] == "deactivate" else NOWHERE)
            if words[0] == "groups" and words[2:3] == ("class-of-service",) and words[1] not in self.idle:
                self.idle.add(words[1])
                said = f"group {words[1]} speaks of queues, and is not applied, or matches nothing: not read"
                self.notes.append(Note("not-valid", said, self.found.source(statement)))
        elif words[0] == "interfaces" and len(words) >= 4:
            self.link(words)
        elif words[0] == "class-of-service" and len(words) > 1:
            understood = statement.is_plain and self.cos(words[1:], statement)
            self.found.took(understood, statement)
            if understood:
                self.said.setdefault(words[1:4] if words[1] == "classifiers" else words[1:3], []).append(
                    statement
                )

    def link(self, words: tuple[str, ...]) -> None:
        match words:
            case ("interfaces", port, "speed", speed) | ("interfaces", port, "ether-options", "speed", speed):
                if found := re.fullmatch(r"([0-9]{1,4})g", speed):
                    self.links.setdefault(port, {})["rate"] = int(found[1]) * 10**9
            case ("interfaces", port, "mtu", size) if mtu := whole(size, 64, 65535):
                self.links.setdefault(port, {})["mtu"] = mtu

    def cos(self, words: tuple[str, ...], statement: Statement) -> bool:
        match words:
            case ("drop-profiles", name, *rest):
                return self.level(name, rest, statement)
            case ("schedulers", name, *rest):
                each = self.schedulers.setdefault(name, _Scheduler(statement=statement))
                return self.scheduler(name, each, rest, statement)
            case ("scheduler-maps", name, "forwarding-class", kind, "scheduler", scheduler) if (
                len({*self.maps.get(name, ()), kind}) <= MOST_CLASSES
            ):
                self.maps.setdefault(name, {})[kind] = scheduler
                self.mapped[name, kind] = statement
            case ("forwarding-classes", "class", name, *rest) if (
                len({*self.queues, *self.priorities, name}) <= MOST_CLASSES
            ):
                return self.forwarding_class(name, rest, statement)
            case ("forwarding-classes", "queue", number, name) if (
                queue := whole(number, most=15)
            ) is not None and len({*self.queues, name}) <= MOST_CLASSES:
                self.queues[name] = queue
                return self.found.setting("forwarding-classes", "queue", statement)
            case ("code-point-aliases", "dscp", _, point):
                return self.point(point) is not None
            case (
                "classifiers",
                "dscp",
                name,
                "forwarding-class",
                kind,
                "loss-priority",
                ("low" | "medium-high" | "high") as loss,
                "code-points",
                point,
            ) if (bits := self.point(point)) is not None:
                self.points.setdefault(name, {})[bits] = kind
                where = f"{name} {bits:06b}"
                if loss == "low":
                    return self.found.unset(LOSS, where)
                return self.found.setting(LOSS, loss, statement, where)
            case ("congestion-notification-profile", name, "input", *rest):
                return self.pause(name, rest, statement)
            case (
                "congestion-notification-profile",
                name,
                "output",
                "ieee-802.1",
                "code-point",
                point,
                "flow-control-queue",
                number,
            ) if re.fullmatch("[01]{3}", point) and (queue := whole(number, most=15)) is not None:
                self.outputs.setdefault(name, {})[int(point, 2)] = queue
                return self.found.setting(PAUSED_QUEUE, "yes", statement, f"{name} {point} {number}")
            case ("congestion-notification-profile", name, "pfc-watchdog"):
                return self.found.setting(WATCHDOG, "on", statement, name)
            case (
                "shared-buffer",
                ("ingress" | "egress") as side,
                "buffer-partition",
                part,
                what,
                number,
            ) if (share := whole(number, most=100)) is not None:
                return self.partition(side, part, what, share, statement)
            case (
                ("dedicated-buffer" | "shared-buffer") as what,
                ("ingress" | "egress") as side,
                "percent",
                number,
            ) if whole(number, most=100) is not None:
                return self.found.setting(what, f"{number}%", statement, side)
            case ("interfaces", port, *rest):
                return self.port(self.ports.setdefault(port, _Port()), rest)
            case _:
                return False
        return True

    def pause(self, name: str, words: list[str], statement: Statement) -> bool:
        """Read the PFC settings of a congestion notification profile."""
        match words:
            case ["cable-length", metres] if (length := whole(metres, 1, 10**6)) is not None:
                self.cables[name] = Fraction(length)
            case [("dscp" | "ieee-802.1") as kind, "code-point", text, "pfc", *more]:
                bits, mine, other = self.paused_bits(kind, text)
                mru = whole(more[1], 64, 65535) if len(more) == 2 and more[0] == "mru" else None
                if bits is None or other.get(name) or (more and mru is None):
                    return False
                mine.setdefault(name, set()).add(bits)
                if mru is not None:
                    self.found.setting(MRU, str(mru), statement, f"{name} {kind} {bits}")
            case _:
                return False
        return True

    def paused_bits(
        self, kind: str, text: str
    ) -> tuple[int | None, dict[str, set[int]], dict[str, set[int]]]:
        """Return a code point's bits, and the paused code points of the same kind and of the other kind.

        The kinds are DSCP and IEEE 802.1. Bits are None if the text is no valid code point.
        """
        if kind == "dscp":
            return self.point(text), self.paused, self.tagged
        return int(text, 2) if re.fullmatch("[01]{3}", text) else None, self.tagged, self.paused

    def point(self, text: str) -> int | None:
        """Return a code point by its bits or name."""
        bits = self.aliases.get(text, text)
        return int(bits, 2) if re.fullmatch("[01]{6}", bits) else None

    def partition(self, side: str, part: str, what: str, share: int, statement: Statement) -> bool:
        name = f"{side}.{part}"
        direction: Literal["ingress", "egress"] = "ingress" if side == "ingress" else "egress"
        pool = self.pools.get(
            name, Pool(name, direction, of_shared=True, source=self.found.source(statement))
        )
        if what == "percent":
            self.pools[name] = replace(pool, percent=Fraction(share))
        elif what == "dynamic-threshold" and share <= 10:
            self.pools[name] = replace(pool, alpha=Fraction(2) ** (share - 7))
        else:
            return False
        return True

    def level(self, name: str, rest: list[str], statement: Statement) -> bool:
        fills, chances, statements = self.levels.setdefault(name, ([], [], []))
        words = rest[1:] if rest[:1] == ["interpolate"] else rest
        match words:
            case ["fill-level", number] if (share := whole(number, most=100)) is not None:
                fills.append(share)
            case ["drop-probability", number] if (share := whole(number, most=100)) is not None:
                chances.append(share)
            case ["fill-level", number, "drop-probability", chance] if (
                whole(number, most=100) is not None and whole(chance, most=100) is not None
            ):
                fills.append(int(number))
                chances.append(int(chance))
            case _:
                return False
        statements.append(statement)
        return True

    def scheduler(self, name: str, each: _Scheduler, words: list[str], statement: Statement) -> bool:
        match words:
            case ["transmit-rate", "percent", number] if (share := whole(number, most=100)) is not None:
                each.percent, each.guaranteed, each.remainder = Fraction(share), None, False
            case ["transmit-rate", "remainder"]:
                each.percent, each.guaranteed, each.remainder = None, None, True
            case ["transmit-rate", text] if rate := _rate(text):
                each.percent, each.guaranteed, each.remainder = None, rate, False
            case ["shaping-rate", "percent", number] if (share := whole(number, most=100)) is not None:
                each.shape, each.shape_percent = None, Fraction(share)
            case ["shaping-rate", text] if rate := _rate(text):
                each.shape, each.shape_percent = rate, None
            case ["buffer-size", "remainder"]:
                return self.found.setting(BUFFER_SIZE, "remainder", statement, name)
            case ["buffer-size", "percent", number] if whole(number, most=100) is not None:
                return self.found.setting(BUFFER_SIZE, f"percent {number}", statement, name)
            case ["priority", priority] if priority in (*STRICT, "low"):
                each.strict = priority
            case ["buffer-dynamic-threshold", number] if (power := whole(number, most=10)) is not None:
                each.alpha = Fraction(2) ** (power - 7)
            case ["drop-profile-map", "loss-priority", loss, "protocol", "any", "drop-profile", name] if (
                loss in COLOURS
            ):
                each.profiles[loss] = name
            case ["explicit-congestion-notification"]:
                each.ecn = True
            case _:
                return False
        return True

    def forwarding_class(self, name: str, words: list[str], statement: Statement) -> bool:
        said, is_lossless = iter(words), False
        for word in said:
            number = whole(next(said, ""), most=15) if word in ("queue-num", "pfc-priority") else None
            if word == "queue-num" and number is not None:
                self.queues[name] = number
            elif word == "pfc-priority" and number is not None and number < 8:
                self.priorities[name] = number
            elif word == "no-loss":
                is_lossless = True
            else:
                return False
        return not is_lossless or self.found.setting("no-loss", "yes", statement, name)

    def port(self, each: _Port, words: list[str]) -> bool:
        match words:
            case ["scheduler-map", name]:
                each.scheduler_map = name
            case ["congestion-notification-profile", name]:
                each.pause = name
            case ["unit", _, "classifiers", "dscp", name] | ["classifiers", "dscp", name] if (
                each.classifier in (None, name)  # the model has one map for a port, not one for each unit
            ):
                each.classifier = name
            case _:
                return False
        return True

    def delete(self, words: tuple[str, ...]) -> bool:
        """Remove everything set below a path."""
        found = self.found
        match words:
            case ("drop-profiles", name):
                self.levels.pop(name, None)
            case ("drop-profiles", name, "interpolate"):
                self.levels.pop(name, None)
            case ("schedulers", name):
                self.schedulers.pop(name, None)
            case ("schedulers", name, what, *rest) if each := self.schedulers.get(name):
                if what == "drop-profile-map" and len(rest) >= 2:
                    each.profiles.pop(rest[1], None)
                elif what == BUFFER_SIZE:
                    found.unset(BUFFER_SIZE, name)
                elif what in _FIELDS:
                    plain = _Scheduler()
                    for each_field in _FIELDS[what]:
                        setattr(each, each_field, getattr(plain, each_field))
                else:
                    return False
            case ("scheduler-maps", name, "forwarding-class", kind):
                self.maps.get(name, {}).pop(kind, None)
            case ("forwarding-classes", "class", name):
                self.queues.pop(name, None)
                self.priorities.pop(name, None)
                found.unset("no-loss", name)
            case (
                "classifiers",
                "dscp",
                name,
                "forwarding-class",
                _,
                "loss-priority",
                _,
                "code-points",
                point,
            ):
                bits = self.point(point)
                self.points.get(name, {}).pop(-1 if bits is None else bits, None)
                found.unset(LOSS, f"{name} {bits:06b}" if bits is not None else "")
            case ("congestion-notification-profile", name, "output", _, _, point, _, number):
                found.unset(PAUSED_QUEUE, f"{name} {point} {number}")
                if re.fullmatch("[01]{3}", point):
                    self.outputs.get(name, {}).pop(int(point, 2), None)
            case ("congestion-notification-profile", name, "input", "cable-length"):
                self.cables.pop(name, None)
            case (
                "congestion-notification-profile",
                name,
                "input",
                ("dscp" | "ieee-802.1") as kind,
                "code-point",
                point,
                *rest,
            ):
                bits, mine, _ = self.paused_bits(kind, point)
                if rest != ["pfc", "mru"]:
                    mine.get(name, set()).discard(-1 if bits is None else bits)
                found.unset(MRU, f"{name} {kind} {bits}")
            case ("congestion-notification-profile", name, "pfc-watchdog"):
                found.unset(WATCHDOG, name)
            case ("shared-buffer", side, "buffer-partition", part, *what):
                if pool := self.pools.get(f"{side}.{part}"):
                    field_ = "alpha" if what == ["dynamic-threshold"] else "percent"
                    kept = replace(pool, **{field_: None})  # type: ignore[arg-type]
                    self.pools[pool.name] = kept
            case (("dedicated-buffer" | "shared-buffer") as what, side, "percent"):
                found.unset(what, side)
            case ("interfaces", port, "scheduler-map"):
                self.ports.setdefault(port, _Port()).scheduler_map = None
            case ("interfaces", port, "congestion-notification-profile"):
                self.ports.setdefault(port, _Port()).pause = None
            case ("interfaces", port, "unit", _, "classifiers", *_):
                self.ports.setdefault(port, _Port()).classifier = None
            case _:
                return False
        return True

    def marking(self, name: str, each: _Scheduler) -> str | None:
        """Add the marking of a scheduler's drop profiles, and return its name; None without a valid profile.

        A valid drop profile consists of one straight line that starts at probability zero.
        """
        curves = []
        for loss, profile in sorted(each.profiles.items()):
            fills, chances, statements = self.levels.get(profile, ([], [], []))
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

    def switch(self) -> Switch:
        marked = {name: self.marking(name, each) for name, each in self.schedulers.items()}
        used = {port.scheduler_map for port in self.ports.values()}
        told = [self.profile(name, port, marked) for name, port in self.ports.items() if port != _Port()]
        unused = [self.profile("", _Port(name), marked) for name in self.maps if name not in used]
        told += [each for each in unused if each.queues]
        self.dangling()
        self.unused(marked)
        for kind, paused in ((PAUSED_POINTS, self.paused), (PAUSED_TAGS, self.tagged)):
            for name, points in paused.items():
                if points:
                    said = ",".join(map(str, sorted(points)))
                    self.found.setting(kind, said, Statement(0, (name,)), name)
        pauses = {each.pause for each in self.ports.values()}
        for name, metres in self.cables.items():
            if name not in pauses:
                self.found.setting(CABLE, str(metres), Statement(0, (name,)), name)
        for name, number in self.queues.items():
            self.found.setting("forwarding-class", str(number), Statement(0, (name,)), name)
        for name, number in self.priorities.items():
            self.found.setting("forwarding-class.pfc-priority", str(number), Statement(0, (name,)), name)
        markings, settings = self.found.in_order()
        return Switch(
            FORMAT,
            self.hostname,
            profiles=alike(told),
            pools=tuple(each for _, each in sorted(self.pools.items()) if _said(each)),
            markings=markings,
            settings=settings,
            unread=tuple(self.found.unread),
            understood=self.found.understood,
            notes=tuple(self.notes),
        )

    def dangling(self) -> None:
        """Add notes about scheduler maps that name undefined objects; remove settings of unused objects."""
        for (name, kind), statement in self.mapped.items():
            if kind not in self.queues or self.maps[name].get(kind) not in self.schedulers:
                missing = "queue" if kind not in self.queues else "scheduler"
                said = f"scheduler map {name}: the file has no {missing} of forwarding class {kind}"
                self.notes.append(Note("not-valid", said, self.found.source(statement)))
        scheduled = {
            scheduler
            for kinds in self.maps.values()
            for kind, scheduler in kinds.items()
            if kind in self.queues and scheduler in self.schedulers
        }
        classifiers = {each.classifier for each in self.ports.values()}
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
            for name, each in self.schedulers.items()
            if marked[name] is not None
            for profile in each.profiles.values()
        }
        classifiers = {each.classifier for each in self.ports.values()}
        scheduled = {scheduler for kinds in self.maps.values() for scheduler in kinds.values()}
        there = {*self.found.unread}
        for (kind, *names), statements in self.said.items():
            idle: list[Statement] = []
            match kind, names:
                case "drop-profiles", [name] if name in self.levels and name not in drawn | self.refused:
                    idle = statements
                case "schedulers", [name] if name in self.schedulers and name not in scheduled:
                    idle = [
                        each for each in statements if marked[name] is None or each.words[3] not in MARKING
                    ]
                case "classifiers", ["dscp", name] if name in self.points and name not in classifiers:
                    idle = statements
                case "interfaces", [name]:
                    idle = [
                        each for each in statements if self.names_nothing(self.ports[name], each.words[3:])
                    ]
            for statement in idle:
                if (source := self.found.source(statement)) not in there:
                    there.add(source)
                    self.found.unread.append(replace(source, scope=NOWHERE))
                    self.found.understood -= 1

    def names_nothing(self, port: _Port, words: tuple[str, ...]) -> bool:
        """Return whether a port's statement refers to an undefined scheduler map or classifier."""
        if words[0] == "scheduler-map":
            return port.scheduler_map == words[1] and words[1] not in self.maps
        return words[-3:-1] == ("classifiers", "dscp") and words[-1] not in self.points

    def queues_of(
        self, port: _Port, marked: dict[str, str | None], pfc: tuple[int, ...], maps: Maps
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
        for kind, scheduler in self.maps.get(name, {}).items():
            number, each = self.queues.get(kind), self.schedulers.get(scheduler)
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
            held = part if _said(self.pools.get(part)) else None
            allotment = Allotment(held, alpha=each.alpha) if held or each.alpha is not None else None
            queues.append(Queue(number, order, marked.get(scheduler), allotment, name=kind))
        return queues

    def profile(self, name: str, port: _Port, marked: dict[str, str | None]) -> PortProfile:
        """Build a port's profile; with an empty name, the profile of a scheduler map that no port uses."""
        points = self.points.get(port.classifier or "", {})
        dscp = tuple(
            sorted((point, self.queues[kind]) for point, kind in points.items() if kind in self.queues)
        )
        by_point = {point: self.priorities[kind] for point, kind in points.items() if kind in self.priorities}
        paused = self.paused.get(port.pause or "", set())
        tagged = self.tagged.get(port.pause or "", set())
        pfc = tuple(sorted(tagged or {by_point[point] for point in paused if point in by_point}))
        to_queue = (
            self.outputs.get(port.pause or "", {})
            if tagged
            else {self.priorities[kind]: self.queues[kind] for kind in self.priorities if kind in self.queues}
        )
        mapped = Maps(class_to_queue=tuple(sorted(to_queue.items())))
        link = self.links.get(name, {})
        return PortProfile(
            (name,) if name else (),
            link.get("rate"),
            self.queues_of(port, marked, pfc, mapped),
            pfc=pfc,
            maps=Maps(dscp),
            cable=self.cables.get(port.pause or ""),
            mtu=link.get("mtu"),
            name=" ".join(each or "-" for each in (port.scheduler_map, port.pause, port.classifier)),
        )
