"""NVIDIA Cumulus Linux: `nv set …` commands, or the equivalent YAML of `nv config show`.

Syntax as in Cumulus Linux 5.13's guide to quality of service. Sizes are in bytes. A port has exactly one
profile of each feature, `default-global` by default. Classes without settings in a profile are not
configured.
"""

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from shallows.advisor.configuration import (
    Allotment,
    Curve,
    Default,
    Maps,
    Marking,
    Pool,
    PortProfile,
    Queue,
    Scheduler,
    Scope,
    Source,
    Switch,
    Threshold,
)
from shallows.advisor.readers.reading import LARGEST, Findings, alike, lossless, ports
from shallows.advisor.syntax import commands, yaml_paths
from shallows.advisor.syntax.statements import MOST_STATEMENTS, Statement, refusal, spans, too_many
from shallows.bounded import whole

FORMAT = "nvue"
ALL = "default-global"
"""Default profile of ports."""

ROCE = Default(
    "qos roce",
    "profiles that are not in this file",
    "Cumulus Linux makes them by the ASIC: see `nv show qos roce`",
)

ECN = Default(
    "ECN of traffic class 0, at ports without a profile of their own",
    "marks from 150,000 to 1,500,000 B with up to 100 %, and drops nothing early",
    "Cumulus Linux 5.13, quality of service: congestion control",
)

_TELLING = re.compile(r"^\s*(\S*\$ )?nv (un)?set \S|^- (set|header):|^set:\s*$", re.MULTILINE)
_ALPHA = re.compile(r"alpha_(?:(1)_)?([0-9]{1,3}|infinity)", re.ASCII)
_LISTED = {"traffic-class", "switch-priority", "dscp", "pcp"}
_FEATURES = ("congestion-control", "egress-scheduler", "pfc")

CLASSES, POINTS = 8, 64
"""Number of traffic classes (and also of switch priorities), and number of code points."""

MOST_PLACES = 1 << 16
"""Maximum product of the numbers of ports and classes in one command."""

Path = tuple[str, ...]


def recognises(text: str, name: str) -> bool:  # noqa: ARG001 - the same for all readers
    """Return whether a text has `nv set` commands, or is NVUE's YAML."""
    return _TELLING.search(text) is not None


def read(text: str, name: str) -> Switch:
    """Read queues and buffers from commands or YAML.

    Raises
    ------
    ShallowsError
        If the text is neither commands nor YAML of NVUE.
    """
    reader = _Reader(name)
    if re.search(r"^\s*(\S*\$ )?nv (un)?set \S", text, re.MULTILINE):
        for statement in commands.read(text, name):
            if statement.words[:2] in (("nv", "set"), ("nv", "unset")):
                reader.take(
                    replace(statement, words=statement.words[2:]), unset=statement.words[1] == "unset"
                )
    else:
        for words, line in _leaves(yaml_paths.read(text, name)):
            reader.take(Statement(line, words), unset=False)
    return reader.switch()


def _leaves(root: yaml_paths.Node) -> Iterator[tuple[Path, int]]:
    """Yield each setting of a YAML document as the words of its `nv set` command, with its line number."""
    documents = [*root.entries()] or [root]
    for document in documents:
        found = document.get("set")
        for path, leaf in found.leaves() if found else ():
            value = leaf.scalar()
            yield (*path, value) if value else path, leaf.line


def _scope(statement: Statement) -> Scope:
    """Return the port or traffic class that a command names."""
    words = statement.words
    at = words.index("traffic-class") + 1 if "traffic-class" in words else len(words)
    number = words[at] if at < len(words) else ""
    return Scope(
        words[1] if words[0] == "interface" and len(words) > 1 else "",
        queue=whole(number),
    )


@dataclass
class _Class:
    """A traffic class of a congestion-control profile."""

    low: int | None = None
    high: int | None = None
    ecn: bool | None = None
    red: bool = False
    probability: Fraction = Fraction(1)
    statement: Statement = field(default_factory=lambda: Statement(0, ()))


@dataclass
class _Told:
    """Settings by profile, port and class."""

    classes: dict[str, dict[int, _Class]] = field(default_factory=dict)
    schedulers: dict[str, dict[int, Scheduler]] = field(default_factory=dict)
    memory: dict[int, Allotment] = field(default_factory=dict)
    pfc: dict[str, set[int]] = field(default_factory=dict)
    cables: dict[str, Fraction] = field(default_factory=dict)
    pools: dict[str, Pool] = field(default_factory=dict)
    dscp: dict[int, int] = field(default_factory=dict)
    to_queue: dict[int, int] = field(default_factory=dict)
    chosen: dict[str, dict[str, str]] = field(default_factory=dict)
    links: dict[str, dict[str, int]] = field(default_factory=dict)
    made: dict[tuple[str, str, str], tuple[Queue, ...]] = field(default_factory=dict)
    """Queues that were already built, by the names of a port's profiles."""

    @cached_property
    def maps(self) -> Maps:
        """Return the maps from DSCPs to queues at all ports; call it only after all settings are read."""
        return Maps(tuple(sorted(self.dscp.items())), tuple(sorted(self.to_queue.items())))

    def link(self, path: Path, value: str) -> None:
        """Set rate and MTU of a port."""
        number = whole(value, 64, 65535)
        speed = re.fullmatch(r"([0-9]{1,4})G", value)
        if path[3:] == ("mtu",) and number is not None:
            self.links.setdefault(path[1], {})["mtu"] = number
        elif path[3:] == ("speed",) and speed:
            self.links.setdefault(path[1], {})["rate"] = int(speed[1]) * 10**9

    def interface(self, path: Path, value: str) -> bool:
        """Set a profile of a port, and return whether the setting was understood."""
        match path:
            case ("interface", port, "qos", feature, "profile") if feature in _FEATURES:
                self.chosen.setdefault(port, {})[feature] = value
                return True
        return False

    def queues(self, path: Path, value: str, statement: Statement, found: Findings) -> bool:
        """Set a value of a profile or pool, and return whether the setting was understood."""
        number = whole(value, most=LARGEST)
        match path:
            case ("qos", "congestion-control", profile, "traffic-class", tc, what) if _is_class(tc):
                classes = self.classes.setdefault(profile, {})
                return _take(classes.setdefault(int(tc), _Class(statement=statement)), what, value)
            case ("qos", "egress-scheduler", profile, "traffic-class", tc, what) if _is_class(tc):
                return self.scheduler(profile, int(tc), what, value, found.source(statement))
            case (
                "qos",
                "advance-buffer-config",
                "default-global",
                "egress-lossy-buffer",
                "traffic-class",
                tc,
                what,
            ) if _is_class(tc):
                old = self.memory.get(int(tc), Allotment(source=found.source(statement)))
                new = _allotted(old, what, value)
                if new:
                    self.memory[int(tc)] = new
                return new is not None
            case ("qos", "traffic-pool", pool, "memory-percent") if number is not None and number <= 100:
                self.pools[pool] = Pool(pool, percent=Fraction(number), source=found.source(statement))
                return True
        return self.mapped(path, number)

    def mapped(self, path: Path, number: int | None) -> bool:
        """Set an entry of a map or of PFC, and return whether the setting was understood."""
        match path:
            case ("qos", "mapping", "default-global", "dscp", point, "switch-priority") if (
                whole(point, most=POINTS - 1) is not None and number is not None
            ):
                self.dscp[int(point)] = number
            case (
                "qos",
                "egress-queue-mapping",
                "default-global",
                "switch-priority",
                first,
                "traffic-class",
            ) if _is_class(first) and number is not None:
                self.to_queue[int(first)] = number
            case ("qos", "pfc", profile, "switch-priority", priority) if _is_class(priority):
                self.pfc.setdefault(profile, set()).add(int(priority))
            case ("qos", "pfc", profile, "cable-length") if number is not None:
                self.cables[profile] = Fraction(number)
            case _:
                return False
        return True

    def scheduler(self, profile: str, tc: int, what: str, value: str, source: Source) -> bool:
        table = self.schedulers.setdefault(profile, {})
        old = table.get(tc, Scheduler("dwrr", name=profile, source=source))
        share = whole(value, most=100)
        if what == "mode" and value in ("strict", "dwrr"):
            table[tc] = replace(old, kind="strict" if value == "strict" else "dwrr")
        elif what == "bw-percent" and share is not None:
            table[tc] = replace(old, percent=Fraction(share))
        else:
            return False
        return True

    def profile(self, port: str, own: dict[str, str], made: dict[str, dict[int, str]]) -> PortProfile:
        """Build the profile of a port; with an empty name, the profile of all ports that are not named."""
        control, order, pause = (own.get(feature, ALL) for feature in _FEATURES)
        marks, orders = made.get(control, {}), self.schedulers.get(order, {})
        paused = tuple(sorted(self.pfc.get(pause, ())))
        if (control, order, pause) not in self.made:
            queues = [
                Queue(number, orders.get(number), marks.get(number), self.memory.get(number))
                for number in {*marks, *orders, *self.memory}
            ]
            self.made[control, order, pause] = lossless(queues, paused, self.maps)
        link = self.links.get(port, {})
        return PortProfile(
            (port,) if port else (),
            link.get("rate"),
            self.made[control, order, pause],
            pfc=paused,
            maps=self.maps,
            cable=self.cables.get(pause),
            mtu=link.get("mtu"),
            name=next((name for name in (control, order, pause) if name != ALL), ALL),
        )


class _Reader:
    def __init__(self, name: str) -> None:
        self.found = Findings(name, _scope)
        self.leaves: dict[Path, tuple[str, Statement]] = {}
        self.below: dict[Path, dict[Path, None]] = {}
        """Paths of settings below each path, for `unset`."""
        self.places = 0
        self.hostname: str | None = None

    def take(self, statement: Statement, *, unset: bool) -> None:
        """Process a command: set its value for each listed class and port, or remove the values."""
        words = statement.words
        if words[:2] == ("system", "hostname") and len(words) == 3:
            self.hostname = words[2]
        if words[:1] != ("qos",) and not (
            words[:1] == ("interface",) and words[2:3] in (("qos",), ("link",))
        ):
            return
        if not statement.is_plain:
            self.found.skip(statement)
            return
        for each in self.expanded(words, statement):
            if unset:
                for path in [*self.below.get(each, ())]:
                    self.forget(path)
            else:
                bare = len(each) > 1 and each[-2] == "switch-priority" and each[1] in ("pfc", "traffic-pool")
                path, value = (each, "") if bare else (each[:-1], each[-1])
                self.leaves[path] = (value, replace(statement, words=each))
                for end in range(1, len(path) + 1):
                    self.below.setdefault(path[:end], {})[path] = None

    def forget(self, path: Path) -> None:
        del self.leaves[path]
        for end in range(1, len(path) + 1):
            del self.below[path[:end]][path]

    def expanded(self, words: Path, statement: Statement) -> list[Path]:
        """Expand a command into one for each listed class and port; reject lists that are too long."""
        names = [_listed(words, place) for place in range(len(words))]
        count = math.prod(map(len, names))
        if count == 0 or count > MOST_PLACES:
            raise refusal(
                self.found.file,
                statement.line,
                f"the command must name at most {MOST_PLACES:,} combinations of ports, queues and profiles",
                "name fewer ports, queues or profiles",
            )
        self.places += count
        if self.places > MOST_STATEMENTS:
            raise too_many(self.found.file, statement.line, "the ranges up to this line")
        return [*itertools.product(*names)]

    def switch(self) -> Switch:
        found, told = self.found, _Told()
        for path, (value, statement) in self.leaves.items():
            if path[:1] == ("interface",) and path[2:3] == ("link",):
                told.link(path, value)
            else:
                understood = told.interface(path, value) or told.queues(path, value, statement, found)
                found.took(understood or self.set(path, value, statement), statement)
        made = {name: self.marked(name, classes) for name, classes in told.classes.items()}
        base = told.profile("", {}, made)
        profiles = [base] if base != PortProfile(()) else []
        profiles += [
            told.profile(port, told.chosen.get(port, {}), made) for port in {**told.links, **told.chosen}
        ]
        used = {own.get("congestion-control", ALL) for own in told.chosen.values()} | {ALL}
        profiles += [
            told.profile("", {"congestion-control": name}, made) for name in made if name not in used
        ]
        if not made and not told.chosen and not base.queues:
            profiles = [each for each in profiles if not each.ports]
        if 0 not in told.classes.get(ALL, {}) and ("roce", "") not in found.settings and profiles:
            found.defaults.append(ECN)
        markings, settings = found.in_order()
        return Switch(
            FORMAT,
            self.hostname,
            profiles=alike(profiles),
            pools=tuple(told.pools[name] for name in sorted(told.pools)),
            markings=markings,
            settings=settings,
            defaults=tuple(found.defaults),
            unread=tuple(found.unread),
            understood=found.understood,
        )

    def set(self, path: Path, value: str, statement: Statement) -> bool:
        """Process one setting."""
        found = self.found
        match path:
            case ("qos", "mapping", "default-global", "trust"):
                return found.setting("trust", value, statement, ALL)
            case ("qos", "traffic-pool", pool, "switch-priority", priority):
                return found.setting(f"traffic-pool.switch-priority-{priority}", pool, statement)
            case ("qos", "roce", "mode"):
                found.defaults = [ROCE]
                return found.setting("roce", value, statement)
            case (
                "qos",
                "advance-buffer-config",
                "default-global",
                "ingress-lossless-buffer",
                "shared-alpha",
            ):
                return found.setting("ingress-lossless.shared-alpha", value, statement)
        return False

    def marked(self, profile: str, classes: dict[int, _Class]) -> dict[int, str]:
        """Return the markings of a profile by class."""
        names = {}
        for number, each in classes.items():
            name, source = f"{profile}/{number}", self.found.source(each.statement)
            marks = each.ecn is not False
            if not marks and not each.red:
                self.found.setting("ecn.disabled", "yes", each.statement, name)
                continue
            curve = Curve(
                None if each.low is None else Threshold.of_bytes(each.low),
                None if each.high is None else Threshold.of_bytes(each.high),
                each.probability,
                marks_ect=marks,
                drops_not_ect=each.red,
                weight=None,
                source=source,
            )
            self.found.markings[name] = Marking(name, (curve,), source=source)
            names[number] = name
        return names


def _listed(words: Path, place: int) -> list[str]:
    """Return the ports or classes that a word lists; a word that is no list is returned as the only item.

    A list of too many ports gives an empty list.
    """
    before = words[place - 1] if place else ""
    if before == "interface" and place == 1:
        return ports(words[place], MOST_PLACES) or []
    numbers = spans(words[place]) if before in _LISTED and words[0] == "qos" else None
    return [words[place]] if numbers is None else [str(number) for number in numbers]


def _is_class(text: str) -> bool:
    """Return whether a text is the number of a traffic class or switch priority."""
    return whole(text, most=CLASSES - 1) is not None


def _take(each: _Class, what: str, value: str) -> bool:
    number = whole(value, most=LARGEST)
    enabled = {"enable": True, "enabled": True, "disable": False, "disabled": False}.get(value)
    match what:
        case "min-threshold" if number is not None:
            each.low = number
        case "max-threshold" if number is not None:
            each.high = number
        case "probability" if number is not None and number <= 100:
            each.probability = Fraction(number, 100)
        case "ecn" if enabled is not None:
            each.ecn = enabled
        case "red" if enabled is not None:
            each.red = enabled
        case _:
            return False
    return True


def _allotted(old: Allotment, what: str, value: str) -> Allotment | None:
    number = whole(value, most=LARGEST)
    match what:
        case "shared-alpha" if factor := _ALPHA.fullmatch(value):
            if factor[2] == "infinity":
                return replace(old, unlimited=True)
            below = int(factor[2])
            return (
                None
                if factor[1] and not below
                else replace(old, alpha=Fraction(1, below) if factor[1] else Fraction(below))
            )
        case "shared-bytes" if number is not None:
            return replace(old, limit=Threshold.of_bytes(number))
        case "reserved" if number is not None:
            return replace(old, reserved=Threshold.of_bytes(number))
    return None
