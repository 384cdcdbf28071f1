"""Statements of EOS about queues: sections of profiles, interfaces and MMU profiles, and global lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from shallows.advisor.configuration import (
    COLOURS,
    NOWHERE,
    Allotment,
    Colour,
    Curve,
    Default,
    Scheduler,
    Scope,
    Source,
    Threshold,
)
from shallows.advisor.readers.reading import Findings, alpha, percent, size
from shallows.advisor.syntax.statements import Statement
from shallows.bounded import whole

KBYTES = Default(
    "unit kbytes", "1000 bytes are assumed", "Arista's manual does not say; 1024 were 2.4 % more"
)

_QUEUE = re.compile(r"(uc-tx-queue|tx-queue) ([0-9]|1[0-5])", re.ASCII)
"""Heading of a queue's section. Numbers are 0 to 15; Arista's ports have 8 or 12 queues."""

_SPEED = re.compile(r"(?:forced |auto )?([0-9]{1,6})(g)?(?:-[0-9])?(?:full|half)?", re.ASCII)
_ABOUT_QUEUES = re.compile(
    r"qos |random-detect|priority-flow-control|(uc-|mc-)?tx-queue|service-profile|platform .*mmu"
    r"|queue-monitor|bandwidth |shape |hardware buffer"
    r"|service-policy (type (qos|quality-of-service|tx-queue|queuing) )?(input|output) "
)
_POLICY = re.compile(r"(policy-map|class-map) type (qos|quality-of-service|tx-queue|queuing) ")
"""Policies about queues, which are listed as not understood; others are about the control plane or routes."""


def is_queue(text: str) -> bool:
    """Return whether a text opens the section of a unicast queue.

    >>> is_queue("uc-tx-queue 3"), is_queue("mc-tx-queue 3")
    (True, False)
    """
    return _QUEUE.fullmatch(text) is not None


@dataclass
class QueueSettings:
    """Settings of one queue, as read from a section."""

    kind: str = "uc-tx-queue"
    strict: bool | None = None
    percent: Fraction | None = None
    guaranteed: Fraction | None = None
    shape: int | None = None
    shape_percent: Fraction | None = None
    mark: Curve | None = None
    drops: dict[Colour, Curve] = field(default_factory=dict)
    source: Source = field(default_factory=Source)

    def scheduler(self) -> Scheduler | None:
        """Return the scheduler; None if the section has no setting for it."""
        said = (self.strict, self.percent, self.guaranteed, self.shape, self.shape_percent)
        if all(each is None for each in said):
            return None
        return Scheduler(
            "strict" if self.strict else "dwrr",
            percent=self.percent,
            shape=self.shape,
            shape_percent=self.shape_percent,
            guaranteed_percent=self.guaranteed,
        )


@dataclass
class Section:
    """Settings of a `qos profile` or an interface."""

    queues: dict[int, QueueSettings] = field(default_factory=dict)
    pfc: set[int] = field(default_factory=set)
    pfc_on: bool | None = None
    profile: str | None = None
    rate: int | None = None
    mtu: int | None = None
    source: Source = field(default_factory=Source)

    def empty(self) -> bool:
        """Return whether the section has no settings of queues or PFC."""
        return not (self.queues or self.pfc or self.pfc_on is not None)


@dataclass
class Memory:
    """Settings of an MMU queue profile."""

    queues: dict[int, Allotment] = field(default_factory=dict)
    groups: dict[int, Allotment] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)


class RunningConfiguration:
    """Objects about queues that the lines of a running configuration define."""

    def __init__(self, name: str) -> None:
        self.found = Findings(name, _scope)
        self.profiles: dict[str, Section] = {}
        self.ports: dict[str, Section] = {}
        self.memory: dict[str, list[Statement]] = {}
        self.applied: str | None = None
        self.hostname: str | None = None
        self.dscp: dict[int, int] = {}
        self.to_queue: dict[int, int] = {}
        self.pool: tuple[Threshold, Threshold, Source] | None = None

    def take(self, statement: Statement) -> None:
        """Process one line, given the sections that contain it."""
        sections = statement.sections
        words = statement.words
        kind, _, name = sections[0].rpartition(" ") if sections else ("", "", "")
        if kind == "qos profile":
            self.found.took(self._in_section(self.profiles[name], sections[1:], statement), statement)
        elif kind == "interface":
            understood = self._in_section(self._port(name), sections[1:], statement)
            if understood or _ABOUT_QUEUES.match(" ".join((*sections[1:], statement.text))):
                self.found.took(understood, statement)
        elif kind == "platform trident mmu queue profile":
            self.memory[name].append(statement)
        elif sections:
            other = sections[0].startswith(("policy-map", "class-map"))
            if _POLICY.match(sections[0]) or (_ABOUT_QUEUES.match(statement.text) and not other):
                self.found.skip(statement)
        elif words[:2] == ("qos", "profile") and len(words) == 3:
            self.profiles.setdefault(words[2], Section(source=self.found.source(statement)))
            self.found.understood += 1
        elif words[:3] == ("no", "qos", "profile") and len(words) == 4:
            self.profiles.pop(words[3], None)
        elif words[0] == "interface" and len(words) == 2:
            self._port(words[1])
        elif words[0] == "hostname" and len(words) == 2:
            self.hostname = words[1]
        elif _POLICY.match(statement.text):
            self.found.skip(statement)
        elif _ABOUT_QUEUES.match(statement.text.removeprefix("no ").removeprefix("default ")):
            self.found.took(self._globally(statement), statement)

    def _port(self, name: str) -> Section:
        return self.ports.setdefault(name, Section())

    def _globally(self, statement: Statement) -> bool:
        words, found = statement.words, self.found
        match words:
            case ("platform", "trident", "mmu", "queue", "profile", name):
                self.memory.setdefault(name, [])
                return True
            case ("platform", "trident", "mmu", "queue", "profile", name, "apply"):
                self.applied = name
                return True
            case ("no", "platform", "trident", "mmu", "queue", "profile", _, "apply"):
                self.applied = None
                return True
            case (
                "platform",
                "trident",
                "mmu",
                "headroom-pool",
                "limit",
                ("bytes" | "cells") as unit,
                amount,
            ):
                return whole(amount) is not None and found.setting(
                    "headroom-pool", f"{whole(amount)} {unit}", statement
                )
            case ("no", "platform", "trident", "mmu", "headroom-pool", "limit", *_):
                return found.unset("headroom-pool")
            case (
                "qos",
                "random-detect",
                "ecn",
                "global-buffer",
                "minimum-threshold",
                low,
                unit,
                "maximum-threshold",
                high,
                other,
            ):
                ends = size(low, unit), size(high, other)
                if ends[0] is None or ends[1] is None or ends[0].unit == "ps":
                    return False
                self.pool = (ends[0], ends[1], found.source(statement))
                return True
            case ("no", "qos", "random-detect", "ecn", "global-buffer", *_):
                self.pool = None
                return True
            case ("qos", "random-detect", "ecn", "allow", "non-ect"):
                return found.setting("not-ect.allowed", "yes", statement)
            case ("qos", "random-detect", "ecn", "allow", "non-ect", "chip-based"):
                return found.setting("not-ect.allowed", "chip-based", statement)
            case ("no", "qos", "random-detect", "ecn", "allow", "non-ect", *_):
                return found.unset("not-ect.allowed")
            case ("qos", "rewrite", "dscp"):
                return found.setting("rewrite-dscp", "yes", statement)
            case ("no", "qos", "rewrite", "dscp"):
                return found.unset("rewrite-dscp")
            case ("qos", "map", *rest):
                return self._map(rest)
            case ("no", "qos", "map", "dscp", *points):
                numbers = [whole(point, most=63) for point in points]
                return all(number is not None and (self.dscp.pop(number, 0), True) for number in numbers)
            case ("no", "qos", "map", "traffic-class", number, "to", "tx-queue"):
                self.to_queue.pop(whole(number) or 0, None)
                return True
            case ("priority-flow-control", "pause", "watchdog", "action", action):
                return found.setting("pfc-watchdog.action", action, statement)
            case (
                "priority-flow-control",
                "pause",
                "watchdog",
                "default",
                ("timeout" | "recovery-time" | "polling-interval") as what,
                seconds,
            ):
                return found.setting(f"pfc-watchdog.{what}", f"{seconds}s", statement)
            case ("no", "priority-flow-control", "pause", "watchdog", "action"):
                return found.unset("pfc-watchdog.action")
            case ("no", "priority-flow-control", "pause", "watchdog", "default", what):
                return found.unset(f"pfc-watchdog.{what}")
        return False

    def _map(self, words: Sequence[str]) -> bool:
        if "to" not in words:
            return False
        at = list(words).index("to")
        numbers = [whole(word, most=63) for word in words[1:at]]
        target = whole(words[-1], most=63)
        if target is None or None in numbers or not numbers:
            return False
        chosen = {
            ("dscp", "traffic-class"): self.dscp,
            ("traffic-class", "tx-queue"): self.to_queue,
            ("traffic-class", "uc-tx-queue"): self.to_queue,
        }.get((words[0], words[at + 1]))
        if chosen is None or len(words) != at + 3:
            return False
        chosen.update({number: target for number in numbers if number is not None})
        return True

    def _in_section(self, section: Section, inner: tuple[str, ...], statement: Statement) -> bool:
        """Return whether a line in a profile or at an interface is understood."""
        if len(inner) == 1 and (queue := _QUEUE.fullmatch(inner[0])):
            return self._in_queue(section.queues[int(queue[2])], statement)
        if inner:
            return False
        words, found = statement.words, self.found
        if queue := _QUEUE.fullmatch(statement.text):
            told = section.queues.setdefault(int(queue[2]), QueueSettings())
            told.kind, told.source = queue[1], found.source(statement)
            return True
        if words[0] == "no" and (queue := _QUEUE.fullmatch(" ".join(words[1:]))):
            section.queues.pop(int(queue[2]), None)
            return True
        scope = " ".join(statement.sections[:1])
        match words:
            case ("service-profile", name):
                section.profile = name
            case ("no", "service-profile", *_):
                section.profile = None
            case ("qos", "trust", what):
                found.setting("trust", what, statement, scope)
            case ("no", "qos", "trust"):
                found.unset("trust", scope)
            case ("priority-flow-control", "on"):
                section.pfc_on = True
            case ("no", "priority-flow-control"):
                section.pfc_on = None
            case ("priority-flow-control", "priority", number, "no-drop") if (
                priority := whole(number, most=7)
            ) is not None:
                section.pfc.add(priority)
            case ("no", "priority-flow-control", "priority", number, *_):
                section.pfc.discard(whole(number) or 0)
            case ("speed", *rest) if speed := _SPEED.fullmatch(" ".join(rest)):
                section.rate = int(speed[1]) * (10**9 if speed[2] else 10**6)
            case ("mtu", number) if mtu := whole(number, 64, 65535):
                section.mtu = mtu
            case ("no", ("speed" | "mtu") as what):
                setattr(section, {"speed": "rate", "mtu": "mtu"}[what], None)
            case _:
                return False
        return True

    def _in_queue(self, told: QueueSettings, statement: Statement) -> bool:
        words, found = statement.words, self.found
        scope = f"{statement.sections[0].rpartition(' ')[2]}/{statement.sections[1].rpartition(' ')[2]}"
        match words:
            case ("priority", "strict") | ("priority",):
                told.strict = True
            case ("no", "priority"):
                told.strict = False
            case ("default", "priority"):
                told.strict = None
            case ("bandwidth", "percent", number) if (share := percent(number)) is not None:
                told.percent = share * 100
            case ("bandwidth", "guaranteed", "percent", number) if (share := percent(number)) is not None:
                told.guaranteed = share * 100
            case ("no", "bandwidth", "guaranteed"):
                told.guaranteed = None
            case ("no", "bandwidth"):
                told.percent = None
            case ("shape", "rate", number, "percent") if (share := percent(number)) is not None:
                told.shape, told.shape_percent = None, share * 100
            case ("shape", "rate", number, *unit) if (rate := whole(number)) and unit in ([], ["kbps"]):
                told.shape, told.shape_percent = rate * 1000, None
            case ("no", "shape", "rate"):
                told.shape = told.shape_percent = None
            case ("random-detect", "ecn", "count"):
                return found.setting("ecn.count", "yes", statement, scope)
            case ("no", "random-detect", "ecn", "count"):
                return found.unset("ecn.count", scope)
            case ("random-detect", "ecn", *rest):
                curve = self._curve(rest, statement, marks=True)
                told.mark = curve or told.mark
                return curve is not None
            case ("no", "random-detect", "ecn"):
                told.mark = None
            case ("random-detect", "drop", *rest):
                curve = self._curve(rest, statement, marks=False)
                if curve:
                    told.drops[curve.colour] = curve
                return curve is not None
            case ("no", "random-detect", "drop", *rest):
                told.drops.pop(_colour(rest[1]) if len(rest) == 2 else "all", None)
            case _:
                return False
        return True

    def _curve(self, words: list[str], statement: Statement, *, marks: bool) -> Curve | None:
        colour: Colour = "all"
        if words[:1] == ["drop-precedence"] and len(words) > 1:
            colour, words = _colour(words[1]), words[2:]
        if len(words) < 6 or (words[0], words[3]) != ("minimum-threshold", "maximum-threshold"):
            return None
        low, high = size(words[1], words[2]), size(words[4], words[5])
        options = dict(zip(words[6::2], words[7::2], strict=False))
        probability = options.pop("max-mark-probability" if marks else "drop-probability", None)
        weight = options.pop("weight", None)
        if options or len(words) % 2 or low is None or high is None:
            return None
        share = None if probability is None else percent(probability, 1)
        average = None if weight is None else whole(weight, most=15)
        if (share is None) != (probability is None) or (average is None) != (weight is None):
            return None
        if "kbytes" in words and KBYTES not in self.found.defaults:
            self.found.defaults.append(KBYTES)
        return Curve(
            low, high, share, colour, marks, None if marks else True, average, self.found.source(statement)
        )

    def allotments(self) -> Memory:
        """Return the MMU profile in use; list the lines of unused profiles as not understood."""
        memory = Memory()
        for name, statements in self.memory.items():
            for statement in statements:
                if name == self.applied:
                    self.found.took(self._in_memory(memory, name, statement), statement)
                else:
                    self.found.skip(statement, NOWHERE)
        return memory

    def _in_memory(self, memory: Memory, name: str, statement: Statement) -> bool:
        words = list(statement.words)
        no = words[0] == "no"
        words = words[no:]
        found = self.found
        match words:
            case ["egress", "unicast", "queue", number, *what] if (
                queue := whole(number, most=15)
            ) is not None:
                old = memory.queues.get(queue, Allotment(name=name, source=found.source(statement)))
                if len(what) == 4 and _is_drop_threshold(what):
                    key = f"drop-precedence-{what[1]}.alpha"
                    return (
                        found.unset(key, f"queue {queue}")
                        if no
                        else found.setting(key, what[3], statement, f"queue {queue}")
                    )
                new = _allotted(old, what, no=no)
                if new is not None:
                    memory.queues[queue] = new
                return new is not None
            case ["ingress", "priority-group", number, *what] if (group := whole(number, most=7)) is not None:
                new = _allotted(memory.groups.get(group, Allotment(name=name)), what, no=no)
                if new is not None:
                    memory.groups[group] = new
                return new is not None
            case ["ingress", ("threshold" | "reserved" | "headroom" | "resume") as what, *value] if (
                no or _is_share(what, value)
            ):
                return (
                    found.unset(f"ingress.{what}")
                    if no
                    else found.setting(f"ingress.{what}", " ".join(value), statement)
                )
        return False


def _scope(statement: Statement) -> Scope:
    """Return the interface or profile, and the queue, of a statement's section."""
    kind, _, name = statement.sections[0].rpartition(" ") if statement.sections else ("", "", "")
    queue = _QUEUE.fullmatch(statement.sections[1]) if len(statement.sections) > 1 else None
    return Scope(
        name if kind == "interface" else "",
        name if kind == "qos profile" else "",
        int(queue[2]) if queue else None,
    )


def _colour(precedence: str) -> Colour:
    number = whole(precedence, most=2)
    return "all" if number is None else COLOURS[number]


def _is_drop_threshold(words: list[str]) -> bool:
    """Return whether the words set the alpha of drop precedence 0, 1 or 2."""
    kind, level, what, share = words
    known = (kind, what) == ("drop-precedence", "drop-threshold")
    return known and whole(level, most=2) is not None and alpha(share) is not None


def _is_share(what: str, words: list[str]) -> bool:
    """Return whether the words are an alpha or a size of memory."""
    if what == "threshold":
        return len(words) == 1 and alpha(words[0]) is not None
    *unit, amount = words or [""]
    return unit in ([], ["bytes"], ["cells"]) and whole(amount) is not None


def _allotted(old: Allotment, words: list[str], *, no: bool) -> Allotment | None:
    """Return a queue's allotment after applying a line; None if the line is not understood."""
    match words:
        case ["threshold"] | ["threshold", _] if no:
            return replace(old, alpha=None)
        case ["threshold", factor] if (share := alpha(factor)) is not None:
            return replace(old, alpha=share)
        case ["reserved", *_] if no:
            return replace(old, reserved=None)
        case ["reserved", ("bytes" | "cells") as unit, amount] if (own := size(amount, unit)) is not None:
            return replace(old, reserved=own)
    return None
