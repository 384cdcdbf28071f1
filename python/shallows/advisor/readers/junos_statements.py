"""Statements of Junos about classes of service: `set`, `delete`, `deactivate` and groups, in their order."""

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from shallows.advisor.configuration import NOWHERE, Note, Pool, Scope
from shallows.advisor.readers.junos_names import (
    BUFFER_SIZE,
    COLOURS,
    LOSS,
    MRU,
    PAUSED_QUEUE,
    STRICT,
    WATCHDOG,
)
from shallows.advisor.readers.reading import Findings
from shallows.advisor.syntax.statements import Statement
from shallows.bounded import whole

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

_FIELDS = {
    "transmit-rate": ("percent", "guaranteed", "remainder"),
    "shaping-rate": ("shape", "shape_percent"),
    "priority": ("strict",),
    "buffer-dynamic-threshold": ("alpha",),
    "explicit-congestion-notification": ("ecn",),
}
"""Fields of `SchedulerSettings` that each statement sets."""


@dataclass
class SchedulerSettings:
    """Settings of a scheduler, which the statements of `_FIELDS` and `drop-profile-map` set."""

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
class PortSettings:
    """Names of the objects that an interface uses."""

    scheduler_map: str | None = None
    pause: str | None = None
    classifier: str | None = None


class ClassOfService:
    """Objects below `class-of-service` that the statements of one file define, and the links of its ports."""

    def __init__(self, name: str) -> None:
        self.found = Findings(name, _scope)
        self.hostname: str | None = None
        self.levels: dict[str, tuple[list[int], list[int], list[Statement]]] = {}
        self.schedulers: dict[str, SchedulerSettings] = {}
        self.maps: dict[str, dict[str, str]] = {}
        self.queues: dict[str, int] = {}
        self.priorities: dict[str, int] = {}
        self.points: dict[str, dict[int, str]] = {}
        self.paused: dict[str, set[int]] = {}
        self.tagged: dict[str, set[int]] = {}
        self.outputs: dict[str, dict[int, int]] = {}
        self.cables: dict[str, Fraction] = {}
        self.pools: dict[str, Pool] = {}
        self.ports: dict[str, PortSettings] = {}
        self.links: dict[str, dict[str, int]] = {}
        self.aliases = dict(ALIASES)
        self.mapped: dict[tuple[str, str], Statement] = {}
        self.said: dict[tuple[str, ...], list[Statement]] = {}
        self.notes: list[Note] = []
        self.idle: set[str] = set()

    def take(self, statement: Statement) -> None:
        """Process a statement of `set`, `delete`, `deactivate` or a group."""
        words = statement.words
        if words[:2] == ("system", "host-name") and len(words) == 3:
            self.hostname = words[2]
        elif words[0] == "delete":
            if words[1:2] == ("class-of-service",):
                self.found.took(self._delete(words[2:]), statement)
        elif words[0] in ("deactivate", "groups") or "inactive:" in words:
            if "class-of-service" in words:
                self.found.skip(statement, None if words[0] == "deactivate" else NOWHERE)
            if words[0] == "groups" and words[2:3] == ("class-of-service",) and words[1] not in self.idle:
                self.idle.add(words[1])
                said = f"group {words[1]} speaks of queues, and is not applied, or matches nothing: not read"
                self.notes.append(Note("not-valid", said, self.found.source(statement)))
        elif words[0] == "interfaces" and len(words) >= 4:
            self._link(words)
        elif words[0] == "class-of-service" and len(words) > 1:
            understood = statement.is_plain and self._cos(words[1:], statement)
            self.found.took(understood, statement)
            if understood:
                self.said.setdefault(words[1:4] if words[1] == "classifiers" else words[1:3], []).append(
                    statement
                )

    def _link(self, words: tuple[str, ...]) -> None:
        match words:
            case ("interfaces", port, "speed", speed) | ("interfaces", port, "ether-options", "speed", speed):
                if found := re.fullmatch(r"([0-9]{1,4})g", speed):
                    self.links.setdefault(port, {})["rate"] = int(found[1]) * 10**9
            case ("interfaces", port, "mtu", size) if mtu := whole(size, 64, 65535):
                self.links.setdefault(port, {})["mtu"] = mtu

    def _cos(self, words: tuple[str, ...], statement: Statement) -> bool:
        match words:
            case ("drop-profiles", name, *rest):
                return self._level(name, rest, statement)
            case ("schedulers", name, *rest):
                each = self.schedulers.setdefault(name, SchedulerSettings(statement=statement))
                return self._scheduler(name, each, rest, statement)
            case ("scheduler-maps", name, "forwarding-class", kind, "scheduler", scheduler) if (
                len({*self.maps.get(name, ()), kind}) <= MOST_CLASSES
            ):
                self.maps.setdefault(name, {})[kind] = scheduler
                self.mapped[name, kind] = statement
            case ("forwarding-classes", "class", name, *rest) if (
                len({*self.queues, *self.priorities, name}) <= MOST_CLASSES
            ):
                return self._forwarding_class(name, rest, statement)
            case ("forwarding-classes", "queue", number, name) if (
                queue := whole(number, most=15)
            ) is not None and len({*self.queues, name}) <= MOST_CLASSES:
                self.queues[name] = queue
                return self.found.setting("forwarding-classes", "queue", statement)
            case ("code-point-aliases", "dscp", _, point):
                return self._point(point) is not None
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
            ) if (bits := self._point(point)) is not None:
                self.points.setdefault(name, {})[bits] = kind
                where = f"{name} {bits:06b}"
                if loss == "low":
                    return self.found.unset(LOSS, where)
                return self.found.setting(LOSS, loss, statement, where)
            case ("congestion-notification-profile", name, "input", *rest):
                return self._pause(name, rest, statement)
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
                return self._partition(side, part, what, share, statement)
            case (
                ("dedicated-buffer" | "shared-buffer") as what,
                ("ingress" | "egress") as side,
                "percent",
                number,
            ) if whole(number, most=100) is not None:
                return self.found.setting(what, f"{number}%", statement, side)
            case ("interfaces", port, *rest):
                return self._port(self.ports.setdefault(port, PortSettings()), rest)
            case _:
                return False
        return True

    def _pause(self, name: str, words: list[str], statement: Statement) -> bool:
        """Read the PFC settings of a congestion notification profile."""
        match words:
            case ["cable-length", metres] if (length := whole(metres, 1, 10**6)) is not None:
                self.cables[name] = Fraction(length)
            case [("dscp" | "ieee-802.1") as kind, "code-point", text, "pfc", *more]:
                bits, mine, other = self._paused_bits(kind, text)
                mru = whole(more[1], 64, 65535) if len(more) == 2 and more[0] == "mru" else None
                if bits is None or other.get(name) or (more and mru is None):
                    return False
                mine.setdefault(name, set()).add(bits)
                if mru is not None:
                    self.found.setting(MRU, str(mru), statement, f"{name} {kind} {bits}")
            case _:
                return False
        return True

    def _paused_bits(
        self, kind: str, text: str
    ) -> tuple[int | None, dict[str, set[int]], dict[str, set[int]]]:
        """Return a code point's bits, and the paused code points of the same kind and of the other kind.

        The kinds are DSCP and IEEE 802.1. Bits are None if the text is no valid code point.
        """
        if kind == "dscp":
            return self._point(text), self.paused, self.tagged
        return int(text, 2) if re.fullmatch("[01]{3}", text) else None, self.tagged, self.paused

    def _point(self, text: str) -> int | None:
        """Return a code point by its bits or name."""
        bits = self.aliases.get(text, text)
        return int(bits, 2) if re.fullmatch("[01]{6}", bits) else None

    def _partition(self, side: str, part: str, what: str, share: int, statement: Statement) -> bool:
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

    def _level(self, name: str, rest: list[str], statement: Statement) -> bool:
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

    def _scheduler(self, name: str, each: SchedulerSettings, words: list[str], statement: Statement) -> bool:
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

    def _forwarding_class(self, name: str, words: list[str], statement: Statement) -> bool:
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

    def _port(self, each: PortSettings, words: list[str]) -> bool:
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

    def _delete(self, words: tuple[str, ...]) -> bool:
        """Remove everything set below a path."""
        found = self.found
        match words:
            case ("drop-profiles", name) | ("drop-profiles", name, "interpolate"):
                self.levels.pop(name, None)
            case ("schedulers", name):
                self.schedulers.pop(name, None)
            case ("schedulers", name, what, *rest) if each := self.schedulers.get(name):
                if what == "drop-profile-map" and len(rest) >= 2:
                    each.profiles.pop(rest[1], None)
                elif what == BUFFER_SIZE:
                    found.unset(BUFFER_SIZE, name)
                elif what in _FIELDS:
                    plain = SchedulerSettings()
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
                bits = self._point(point)
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
                bits, mine, _ = self._paused_bits(kind, point)
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
                self.ports.setdefault(port, PortSettings()).scheduler_map = None
            case ("interfaces", port, "congestion-notification-profile"):
                self.ports.setdefault(port, PortSettings()).pause = None
            case ("interfaces", port, "unit", _, "classifiers", *_):
                self.ports.setdefault(port, PortSettings()).classifier = None
            case _:
                return False
        return True


def _scope(statement: Statement) -> Scope:
    """Return the port that a statement names."""
    words = statement.words
    return Scope(words[2]) if words[:2] == ("class-of-service", "interfaces") and len(words) > 2 else Scope()


def _rate(text: str) -> int | None:
    """Return a rate such as `400m` in bit/s."""
    found = _RATE.fullmatch(text)
    return int(found[1]) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[found[2]] if found else None
