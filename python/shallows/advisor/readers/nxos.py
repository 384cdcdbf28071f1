"""Cisco NX-OS: a running configuration of a Nexus 9000, with its policy maps.

Syntax as in Cisco's guides to quality of service for NX-OS 10. Queues are identified by the names of NX-OS's
classes, such as `c-out-8q-q3`. `queue-limit dynamic N` is alpha 2^(N-7), from 1/128 to 8; kbytes count as
1000 bytes.
"""

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from shallows.advisor.configuration import (
    NOWHERE,
    Allotment,
    Curve,
    Default,
    Maps,
    Marking,
    PortProfile,
    PriorityGroup,
    Queue,
    Scheduler,
    Scope,
    Source,
    Switch,
)
from shallows.advisor.readers.reading import Findings, alike, lossless, percent, size
from shallows.advisor.syntax import indented
from shallows.advisor.syntax.statements import Statement, spans
from shallows.bounded import whole

FORMAT = "nxos"
KBYTES = Default("unit kbytes", "1000 bytes are assumed", "Cisco's guides do not say; 1024 were 2.4 % more")
MOST_PRIORITIES = 7
OPTIMIZED = "random-detect.threshold"
"""Name of a queue's setting that selects the platform's thresholds, optimised for bursts or meshes."""

_TELLING = re.compile(
    r"^\s*(policy-map|class|service-policy) type (queuing|network-qos) "
    r"|^\s*class-map type queuing |^system qos\s*$",
    re.MULTILINE,
)
_QUEUE = re.compile(r"(?:[0-9a-z]+-)*c-out-(?:[0-9]q-)?q(-default|[0-9])|c-out-q(-default|[0-9])", re.ASCII)
_ABOUT_QUEUES = re.compile(
    r"service-policy|priority-flow-control|queue-limit|random-detect|bandwidth|qos "
    r"|hardware (qos|profile buffer)"
)


def recognises(text: str, name: str) -> bool:  # noqa: ARG001 - the same for all readers
    """Return whether a text is a configuration of NX-OS with queues."""
    return _TELLING.search(text) is not None


def read(text: str, name: str) -> Switch:
    """Read queues and buffers from a running configuration.

    Raises
    ------
    ShallowsError
        If the configuration is malformed.
    """
    reader = _Reader(name)
    for statement in indented.read(text, name):
        reader.take(statement)
    return reader.switch()


def queue_of(name: str) -> int | None:
    """Return the number of the queue that an NX-OS class names; None for other names.

    >>> queue_of("c-out-8q-q3"), queue_of("c-out-8q-q-default"), queue_of("mine")
    (3, 0, None)
    """
    found = _QUEUE.fullmatch(name)
    if found is None:
        return None
    number = found[1] or found[2]
    return 0 if number == "-default" else int(number)


def _scope(statement: Statement) -> Scope:
    """Return the interface or policy, and the queue, of a statement's section."""
    top, inner = statement.sections[:1], statement.sections[1:2]
    kind, _, name = top[0].rpartition(" ") if top else ("", "", "")
    return Scope(
        name if kind == "interface" else "",
        name if kind == "policy-map type queuing" else "",
        queue_of(inner[0].rpartition(" ")[2]) if inner else None,
    )


@dataclass
class _Port:
    policy: str | None = None
    classifier: str | None = None
    rate: int | None = None
    mtu: int | None = None
    understood: bool = False


@dataclass
class _Lossless:
    """A class of a network-qos policy."""

    priorities: list[int] = field(default_factory=list)
    mtu: int | None = None
    group: PriorityGroup | None = None


class _Reader:
    def __init__(self, name: str) -> None:
        self.found = Findings(name, _scope)
        self.hostname: str | None = None
        self.policies: dict[str, dict[int, Queue]] = {}
        self.curves: dict[tuple[str, int], Curve] = {}
        self.network: dict[str, dict[str, _Lossless]] = {}
        self.points: dict[str, dict[int, None]] = {}
        """DSCPs of each class, in order and without repeats."""

        self.classified: dict[str, dict[str, int]] = {}
        self.system = _Port()
        self.network_policy: str | None = None
        self.ports: dict[str, _Port] = {}
        self.made: dict[str | None, Maps] = {}
        self.made_queues: dict[tuple[str | None, str | None], tuple[Queue, ...]] = {}

    def take(self, statement: Statement) -> None:
        """Process one line, given the sections that contain it."""
        words, sections = statement.words, [tuple(section.split()) for section in statement.sections]
        if not sections:
            self.outermost(statement)
            return
        top, inner = sections[0], sections[1:]
        if top[:3] == ("policy-map", "type", "queuing") and len(top) == 4:
            self.found.took(self.queuing(top[3], inner, statement), statement)
        elif top[:3] == ("policy-map", "type", "network-qos") and len(top) == 4:
            self.found.took(self.network_qos(top[3], inner, statement), statement)
        elif top[:3] == ("policy-map", "type", "qos") and len(top) == 4:
            self.found.took(self.classifying(top[3], inner, words), statement)
        elif top[:3] == ("class-map", "type", "qos"):
            self.found.took(self.matching(top[-1], words), statement)
        elif top == ("system", "qos"):
            self.found.took(self.applied(self.system, statement), statement)
        elif top[0] == "interface" and len(top) == 2:
            understood = self.at_port(top[1], statement)
            if understood or _ABOUT_QUEUES.match(statement.text.removeprefix("no ")):
                self.found.took(understood, statement)
        elif top[0] == "class-map" and "queuing" in top:
            self.found.skip(statement)

    def outermost(self, statement: Statement) -> None:
        match statement.words:
            case ("hostname", name):
                self.hostname = name
            case ("policy-map", "type", "queuing", name):
                self.policies.setdefault(name, {})
                self.found.understood += 1
            case ("policy-map", "type", "network-qos", name):
                self.network.setdefault(name, {})
                self.found.understood += 1
            case ("policy-map", "type", "qos", name):
                self.classified.setdefault(name, {})
                self.found.understood += 1
            case ("class-map", "type", "qos", *_, name):
                self.points.setdefault(name, {})
                self.found.understood += 1
            case ("no", "policy-map", "type", "queuing", name):
                self.policies.pop(name, None)
            case ("no", "policy-map", "type", "network-qos", name):
                self.network.pop(name, None)
            case ("interface", name):
                self.ports.setdefault(name, _Port())
            case ("system", "qos"):
                self.found.understood += 1
            case ("hardware", ("qos" | "profile"), *_) | ("class-map", "type", "queuing", *_):
                self.found.skip(statement)

    def queuing(self, policy: str, inner: list[tuple[str, ...]], statement: Statement) -> bool:
        words, found = statement.words, self.found
        queues = self.policies[policy]
        if not inner:
            match words:
                case ("class", "type", "queuing", name) if (number := queue_of(name)) is not None:
                    queues.setdefault(number, Queue(number, name=name, source=found.source(statement)))
                    return True
                case ("no", "class", "type", "queuing", name) if (number := queue_of(name)) is not None:
                    queues.pop(number, None)
                    self.curves.pop((policy, number), None)
                    return True
            return False
        number = queue_of(inner[0][-1])
        if number is None or number not in queues or len(inner) > 1:
            return False
        scope = f"{policy}/{number}"
        queue = queues[number]
        old = queue.scheduler or Scheduler("dwrr", source=found.source(statement))
        allotted = queue.allotment or Allotment(source=found.source(statement))
        match words:
            case ("bandwidth", *remaining, "percent", share) if (
                remaining in ([], ["remaining"]) and percent(share) is not None
            ):
                queue = replace(queue, scheduler=replace(old, percent=Fraction(share)))
                if remaining:
                    found.unset("bandwidth", scope)
                else:
                    found.setting("bandwidth", "of the port", statement, scope)
            case ("no", "bandwidth", *_):
                kept = None if old.kind == "dwrr" else replace(old, percent=None)
                queue = replace(queue, scheduler=kept)
                found.unset("bandwidth", scope)
            case ("priority", "level", level) if whole(level, 1, MOST_PRIORITIES) is not None:
                queue = replace(queue, scheduler=replace(old, kind="strict"))
                if level == "1":
                    found.unset("priority.level", scope)
                else:
                    found.setting("priority.level", level, statement, scope)
            case ("no", "priority", *_):
                queue = replace(queue, scheduler=None if old.percent is None else replace(old, kind="dwrr"))
                found.unset("priority.level", scope)
            case ("random-detect", "threshold", ("burst-optimized" | "mesh-optimized") as kind, *rest) if (
                rest in ([], ["ecn"]) and (curve := self.curve(rest, statement))
            ):
                self.curves[policy, number] = curve
                found.setting(OPTIMIZED, kind, statement, scope)
            case ("random-detect", *rest) if curve := self.curve(rest, statement):
                self.curves[policy, number] = curve
                found.unset(OPTIMIZED, scope)
            case ("no", "random-detect", *_):
                self.curves.pop((policy, number), None)
                found.unset(OPTIMIZED, scope)
            case ("queue-limit", "dynamic", index) if (power := whole(index, most=10)) is not None:
                queue = replace(
                    queue, allotment=replace(allotted, alpha=Fraction(2) ** (power - 7), limit=None)
                )
            case ("queue-limit", amount, unit) if limit := size(amount, unit):
                queue = replace(queue, allotment=replace(allotted, limit=limit, alpha=None))
            case ("no", "queue-limit", *_):
                queue = replace(queue, allotment=None)
            case _:
                return False
        queues[number] = queue
        return True

    def curve(self, words: list[str], statement: Statement) -> Curve | None:
        marks = "ecn" in words
        pairs = [word for word in words if word != "ecn"]
        said: dict[str, list[str]] = {}
        for word in pairs:
            if word in ("minimum-threshold", "maximum-threshold", "drop-probability", "weight"):
                said[word] = []
            elif not said:
                return None
            else:
                said[list(said)[-1]].append(word)
        low, high = said.pop("minimum-threshold", None), said.pop("maximum-threshold", None)
        ends = [None if end is None else size(*end) if len(end) == 2 else None for end in (low, high)]
        if (ends[0] is None) != (low is None) or (ends[1] is None) != (high is None):
            return None
        probability, weight = said.pop("drop-probability", None), said.pop("weight", None)
        share = percent(probability[0]) if probability and len(probability) == 1 else None
        average = whole(weight[0], most=15) if weight and len(weight) == 1 else None
        if (share is None) != (probability is None) or (average is None) != (weight is None):
            return None
        if "kbytes" in words and KBYTES not in self.found.defaults:
            self.found.defaults.append(KBYTES)
        return Curve(
            ends[0],
            ends[1],
            share,
            "all",
            marks,
            None if marks else True,
            average,
            self.found.source(statement),
        )

    def network_qos(self, policy: str, inner: list[tuple[str, ...]], statement: Statement) -> bool:
        words, classes = statement.words, self.network[policy]
        if not inner:
            match words:
                case ("class", "type", "network-qos", name):
                    classes.setdefault(name, _Lossless())
                    return True
                case ("no", "class", "type", "network-qos", name):
                    classes.pop(name, None)
                    return True
            return False
        each = classes.get(inner[0][-1])
        if each is None or len(inner) > 1:
            return False
        match words:
            case ("mtu", number) if mtu := whole(number, 64, 65535):
                each.mtu = mtu
            case ("no", "mtu", *_):
                each.mtu = None
            case ("pause", "pfc-cos", numbers) if (found := spans(numbers)) and max(found) <= MOST_PRIORITIES:
                each.priorities = found
            case ("no", "pause", "pfc-cos", *_):
                each.priorities = []
            case ("pause", "buffer-size", reserved, "pause-threshold", limit, "resume-threshold", resume):
                sizes = [size(amount, "bytes") for amount in (reserved, limit, resume)]
                if None in sizes:
                    return False
                allotment = Allotment(reserved=sizes[0], limit=sizes[1])
                each.group = PriorityGroup(0, allotment, xon=sizes[2], source=self.found.source(statement))
            case ("no", "pause", "buffer-size", *_):
                each.group = None
            case _:
                return False
        return True

    def classifying(self, policy: str, inner: list[tuple[str, ...]], words: tuple[str, ...]) -> bool:
        groups = self.classified.setdefault(policy, {})
        if not inner and words[0] == "class":
            return _class_of(words) is not None
        name = _class_of(inner[0]) if len(inner) == 1 else None
        if name is None or words[:2] != ("set", "qos-group") or len(words) != 3:
            return False
        number = whole(words[2], most=MOST_PRIORITIES)
        if number is not None:
            groups[name] = number
        return number is not None

    def matching(self, name: str, words: tuple[str, ...]) -> bool:
        if words[:2] != ("match", "dscp") or len(words) != 3:
            return False
        points = spans(words[2])
        if points is None or max(points) > 63:
            return False
        self.points.setdefault(name, {}).update(dict.fromkeys(points))
        return True

    def applied(self, port: _Port, statement: Statement) -> bool:
        match statement.words:
            case ("service-policy", "type", "queuing", "output", name):
                port.policy = name
            case ("no", "service-policy", "type", "queuing", "output", *_):
                port.policy = None
            case ("service-policy", "type", "network-qos", name) if port is self.system:
                self.network_policy = name
            case ("no", "service-policy", "type", "network-qos", *_) if port is self.system:
                self.network_policy = None
            case ("service-policy", "type", "qos", "input", name):
                port.classifier = name
            case ("no", "service-policy", "type", "qos", "input", *_):
                port.classifier = None
            case _:
                return False
        return True

    def at_port(self, name: str, statement: Statement) -> bool:
        port = self.ports.setdefault(name, _Port())
        found = self.found
        match statement.words:
            case ("priority-flow-control", "mode", mode, *_):
                return found.setting("pfc.mode", mode, statement, name)
            case ("no", "priority-flow-control", "mode", *_):
                return found.unset("pfc.mode", name)
            case ("priority-flow-control", "watch-dog-interval", value):
                return found.setting("pfc-watchdog", value, statement, name)
            case ("no", "priority-flow-control", "watch-dog-interval", *_):
                return found.unset("pfc-watchdog", name)
            case ("speed", number) if speed := whole(number, 1, 10**7):
                port.rate = speed * 10**6
            case ("mtu", number) if mtu := whole(number, 64, 65535):
                port.mtu = mtu
            case ("no", ("speed" | "mtu") as what, *_):
                setattr(port, {"speed": "rate", "mtu": "mtu"}[what], None)
            case _:
                return self.applied(port, statement)
        return True

    def maps(self, classifier: str | None) -> Maps:
        """Return the maps from DSCPs to classes at all ports with this classifier."""
        if classifier not in self.made:
            self.made[classifier] = self.of_classifier(classifier)
        return self.made[classifier]

    def of_classifier(self, classifier: str | None) -> Maps:
        pairs = {
            point: group
            for name, group in self.classified.get(classifier or "", {}).items()
            for point in self.points.get(name, ())
        }
        return Maps(tuple(sorted(pairs.items())))

    @cached_property
    def lossless(self) -> tuple[tuple[int, ...], tuple[PriorityGroup, ...], int | None]:
        """Return paused priorities, their memory, and the largest MTU of the applied network-qos policy."""
        classes = self.network.get(self.network_policy or "", {}).values()
        groups = {
            priority: replace(each.group, number=priority)
            for each in classes
            if each.group
            for priority in each.priorities
        }
        paused = {priority for each in classes for priority in each.priorities}
        mtu = max((each.mtu or 0 for each in classes), default=0) or None
        return tuple(sorted(paused)), tuple(groups.values()), mtu

    def profile(self, name: str, port: _Port) -> PortProfile:
        policy, classifier = port.policy or self.system.policy, port.classifier or self.system.classifier
        paused, groups, mtus = self.lossless
        maps = self.maps(classifier)
        if (policy, classifier) not in self.made_queues:
            queues = [
                replace(queue, marking=f"{policy}/{number}" if (policy, number) in self.curves else None)
                for number, queue in self.policies.get(policy or "", {}).items()
            ]
            self.made_queues[policy, classifier] = lossless(queues, paused, maps)
        mtu = port.mtu if name else mtus
        return PortProfile(
            (name,) if name else (),
            port.rate,
            self.made_queues[policy, classifier],
            groups,
            paused,
            maps,
            mtu=mtu,
            name=policy,
        )

    def switch(self) -> Switch:
        for (policy, number), curve in self.curves.items():
            name = f"{policy}/{number}"
            self.found.markings[name] = Marking(name, (curve,), source=curve.source)
        told = [self.profile("", self.system)]
        told += [self.profile(name, port) for name, port in self.ports.items() if port != _Port()]
        used = {profile.name for profile in told}
        told += [self.profile("", _Port(policy=name)) for name in self.policies if name not in used]
        bare = PortProfile(())
        named = [(name, classes) for name, classes in self.network.items() if name == self.network_policy]
        for name, classes in named:
            self.remember("network-qos", name, "")
            for inner, each in classes.items():
                if each.priorities:
                    self.remember("network-qos.class", inner, ",".join(map(str, each.priorities)))
                if each.mtu:
                    self.remember("network-qos.mtu", str(each.mtu), inner)
        for name in self.network:
            if name != self.network_policy:
                self.found.unread.append(
                    Source(self.found.file, "", f"policy-map type network-qos {name}: not applied", NOWHERE)
                )
        for name, port in (("", self.system), *self.ports.items()):
            if port.classifier:
                self.remember("classifier", port.classifier, name)
        for policy, classified in self.classified.items():
            for name, group in classified.items():
                self.remember("classifier.group", str(group), f"{policy} {name}")
        for name, points in self.points.items():
            if points:
                self.remember("classifier.dscp", ",".join(map(str, points)), name)
        markings, settings = self.found.in_order()
        return Switch(
            FORMAT,
            self.hostname,
            profiles=tuple(each for each in alike(told) if replace(each, ports=()) != bare),
            markings=markings,
            settings=settings,
            defaults=tuple(self.found.defaults),
            unread=tuple(self.found.unread),
            understood=self.found.understood,
        )

    def remember(self, name: str, value: str, scope: str) -> None:
        self.found.setting(name, value, Statement(0, (value,)), scope)


def _class_of(words: tuple[str, ...]) -> str | None:
    """Return the class of a line in a policy."""
    match words:
        case ("class", name) | ("class", "type", "qos", name):
            return name
    return None
