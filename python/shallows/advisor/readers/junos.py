"""Juniper Junos: `class-of-service`, in braces or as `set` commands.

Syntax as in Juniper's guide to class of service for QFX, and its validated designs. A fill level is percent
of the memory that the queue has been given; on queues with ECN the profile drops nothing. Of dynamic
thresholds 7 is alpha 1 and 10 is alpha 8.
"""

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

from shallows.advisor.configuration import (
    Allotment,
    Colour,
    Curve,
    Maps,
    Marking,
    Pool,
    PortProfile,
    Queue,
    Scheduler,
    Switch,
    Threshold,
)
from shallows.advisor.readers.reading import Findings, alike, lossless
from shallows.advisor.syntax import braces
from shallows.advisor.syntax.statements import Statement
from shallows.bounded import whole

FORMAT = "junos"

_TELLING = re.compile(r"^\s*(class-of-service\s*\{|(set|delete) class-of-service )", re.MULTILINE)
COLOURS: dict[str, Colour] = {"any": "all", "low": "green", "medium-high": "yellow", "high": "red"}
STRICT = ("strict-high", "high", "strict")
_RATE = re.compile(r"([0-9]{1,15})([kmg]?)", re.ASCII)


def recognises(text: str, name: str) -> bool:  # noqa: ARG001 - the same for all readers
    """Whether a text is a configuration of Junos with classes of service."""
    return _TELLING.search(text) is not None


def read(text: str, name: str) -> Switch:
    """What a configuration says of queues and buffers.

    Raises
    ------
    ShallowsError
        If its braces do not match, or it ends too early.
    """
    reader = _Reader(name)
    for statement in braces.read(text, name):
        reader.take(statement)
    return reader.switch()


@dataclass
class _Scheduler:
    percent: Fraction | None = None
    shape: int | None = None
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


class _Reader:
    def __init__(self, name: str) -> None:
        self.found = Findings(name)
        self.hostname: str | None = None
        self.levels: dict[str, tuple[list[int], list[int], list[Statement]]] = {}
        self.schedulers: dict[str, _Scheduler] = {}
        self.maps: dict[str, dict[str, str]] = {}
        self.queues: dict[str, int] = {}
        self.priorities: dict[str, int] = {}
        self.points: dict[str, dict[int, str]] = {}
        self.paused: dict[str, set[int]] = {}
        self.pools: dict[str, Pool] = {}
        self.ports: dict[str, _Port] = {}
        self.links: dict[str, dict[str, int]] = {}
        self.refused: set[str] = set()

    def take(self, statement: Statement) -> None:
        """A statement as `set` has it, or one that takes back what was set."""
        words = statement.words
        if words[:2] == ("system", "host-name") and len(words) == 3:
            self.hostname = words[2]
        elif words[0] == "delete":
            if words[1:2] == ("class-of-service",):
                self.found.took(self.delete(words[2:]), statement)
        elif words[0] in ("deactivate", "inactive:"):
            if "class-of-service" in words:
                self.found.skip(statement)
        elif words[0] == "interfaces" and len(words) >= 4:
            self.link(words)
        elif words[0] == "class-of-service" and len(words) > 1:
            self.found.took(self.cos(words[1:], statement), statement)

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
                return self.scheduler(self.schedulers.setdefault(name, _Scheduler(statement=statement)), rest)
            case ("scheduler-maps", name, "forwarding-class", kind, "scheduler", scheduler):
                self.maps.setdefault(name, {})[kind] = scheduler
            case ("forwarding-classes", "class", name, *rest):
                return self.forwarding_class(name, rest, statement)
            case ("forwarding-classes", "queue", number, name) if (
                queue := whole(number, most=15)
            ) is not None:
                self.queues[name] = queue
                return self.found.setting("forwarding-classes", "queue", statement)
            case (
                "classifiers",
                "dscp",
                name,
                "forwarding-class",
                kind,
                "loss-priority",
                "low",
                "code-points",
                point,
            ):
                bits = int(point, 2) if re.fullmatch("[01]{6}", point) else None
                if bits is not None:
                    self.points.setdefault(name, {})[bits] = kind
                return bits is not None
            case ("congestion-notification-profile", name, "input", "dscp", "code-point", point, "pfc"):
                bits = int(point, 2) if re.fullmatch("[01]{6}", point) else None
                if bits is not None:
                    self.paused.setdefault(name, set()).add(bits)
                return bits is not None
            case ("congestion-notification-profile", name, "pfc-watchdog"):
                return self.found.setting("pfc-watchdog", "on", statement, name)
            case (
                "shared-buffer",
                ("ingress" | "egress") as side,
                "buffer-partition",
                part,
                what,
                number,
            ) if (share := whole(number, most=100)) is not None:
                return self.partition(side, part, what, share, statement)
            case ("dedicated-buffer", ("ingress" | "egress") as side, "percent", number) if (
                whole(number, most=100) is not None
            ):
                return self.found.setting("dedicated-buffer", f"{number}%", statement, side)
            case ("interfaces", port, *rest):
                return self.port(self.ports.setdefault(port, _Port()), rest)
            case _:
                return False
        return True

    def partition(self, side: str, part: str, what: str, share: int, statement: Statement) -> bool:
        name = f"{side}.{part}"
        direction = "ingress" if side == "ingress" else "egress"
        pool = self.pools.get(name, Pool(name, direction, source=self.found.source(statement)))  # type: ignore[arg-type]
        if what == "percent":
            self.pools[name] = replace(pool, percent=Fraction(share))
        elif what == "dynamic-threshold" and share <= 10:
            self.pools.setdefault(name, pool)
            self.found.setting("pool.dynamic-threshold", str(share), statement, name)
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

    def scheduler(self, each: _Scheduler, words: list[str]) -> bool:
        match words:
            case ["transmit-rate", "percent", number] if (share := whole(number, most=100)) is not None:
                each.percent = Fraction(share)
            case ["shaping-rate", rate] if found := _RATE.fullmatch(rate):
                each.shape = int(found[1]) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[found[2]]
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
        said = [*words]
        while said:
            word = said.pop(0)
            number = whole(said[0], most=15) if said else None
            if word == "queue-num" and number is not None:
                self.queues[name] = number
                said.pop(0)
            elif word == "pfc-priority" and number is not None and number < 8:
                self.priorities[name] = number
                said.pop(0)
            elif word == "no-loss":
                self.found.setting("no-loss", "yes", statement, name)
            else:
                return False
        return True

    def port(self, each: _Port, words: list[str]) -> bool:
        match words:
            case ["scheduler-map", name]:
                each.scheduler_map = name
            case ["congestion-notification-profile", name]:
                each.pause = name
            case ["unit", _, "classifiers", "dscp", name] | ["classifiers", "dscp", name]:
                each.classifier = name
            case _:
                return False
        return True

    def delete(self, words: tuple[str, ...]) -> bool:
        """What is set below a path, no more."""
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
                else:
                    names = {
                        "transmit-rate": "percent",
                        "shaping-rate": "shape",
                        "priority": "strict",
                        "buffer-dynamic-threshold": "alpha",
                        "explicit-congestion-notification": "ecn",
                    }
                    if what not in names:
                        return False
                    setattr(each, names[what], False if what.startswith("explicit") else None)
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
                "low",
                "code-points",
                point,
            ):
                self.points.get(name, {}).pop(int(point, 2) if re.fullmatch("[01]{6}", point) else -1, None)
            case ("congestion-notification-profile", name, "input", "dscp", "code-point", point, *_):
                self.paused.get(name, set()).discard(int(point, 2) if re.fullmatch("[01]{6}", point) else -1)
            case ("congestion-notification-profile", name, "pfc-watchdog"):
                found.unset("pfc-watchdog", name)
            case ("shared-buffer", side, "buffer-partition", part, *what):
                if what == ["dynamic-threshold"]:
                    found.unset("pool.dynamic-threshold", f"{side}.{part}")
                elif pool := self.pools.get(f"{side}.{part}"):
                    self.pools[pool.name] = replace(pool, percent=None)
            case ("dedicated-buffer", side, *_):
                found.unset("dedicated-buffer", side)
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
        """The curves of a scheduler's drop profiles; what is no line from nothing is not understood."""
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
        told += [self.profile("", _Port(name), marked) for name in self.maps if name not in used]
        for name, points in self.paused.items():
            if points:
                said = ",".join(map(str, sorted(points)))
                self.found.setting("pfc.dscp", said, Statement(0, (name,)), name)
        for name, number in self.queues.items():
            self.found.setting("forwarding-class", str(number), Statement(0, (name,)), name)
        for name, number in self.priorities.items():
            self.found.setting("forwarding-class.pfc-priority", str(number), Statement(0, (name,)), name)
        markings, settings = self.found.in_order()
        return Switch(
            FORMAT,
            self.hostname,
            profiles=alike(told),
            pools=tuple(
                self.pools[name] for name in sorted(self.pools) if self.pools[name].percent is not None
            ),
            markings=markings,
            settings=settings,
            unread=tuple(self.found.unread),
            understood=self.found.understood,
        )

    def profile(self, name: str, port: _Port, marked: dict[str, str | None]) -> PortProfile:
        queues = []
        for kind, scheduler in self.maps.get(port.scheduler_map or "", {}).items():
            number, each = self.queues.get(kind), self.schedulers.get(scheduler)
            if number is None or each is None:
                continue
            order = None
            if (each.strict, each.percent, each.shape) != (None, None, None):
                order = Scheduler(
                    "strict" if each.strict in STRICT else "dwrr",
                    percent=each.percent,
                    shape=each.shape,
                    name=f"{scheduler} {each.strict or ''}".strip(),
                    source=self.found.source(each.statement),
                )
            else:
                order = Scheduler("dwrr", name=scheduler, source=self.found.source(each.statement))
            allotment = None if each.alpha is None else Allotment(alpha=each.alpha)
            queues.append(Queue(number, order, marked.get(scheduler), allotment, name=kind))
        points = self.points.get(port.classifier or "", {})
        dscp = tuple(
            sorted((point, self.queues[kind]) for point, kind in points.items() if kind in self.queues)
        )
        by_point = {point: self.priorities[kind] for point, kind in points.items() if kind in self.priorities}
        paused = self.paused.get(port.pause or "", set())
        pfc = tuple(sorted({by_point[point] for point in paused if point in by_point}))
        to_queue = {
            self.priorities[kind]: self.queues[kind] for kind in self.priorities if kind in self.queues
        }
        held = Maps(class_to_queue=tuple(sorted(to_queue.items())))
        link = self.links.get(name, {})
        return PortProfile(
            (name,) if name else (),
            link.get("rate"),
            lossless(queues, pfc, held),
            pfc=pfc,
            maps=Maps(dscp),
            mtu=link.get("mtu"),
            name=" ".join(each or "-" for each in (port.scheduler_map, port.pause, port.classifier)),
        )
