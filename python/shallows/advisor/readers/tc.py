"""Linux: output of `tc -s qdisc show`, `ip route show` and `sysctl`, or the corresponding commands.

Syntax and defaults as in iproute2's manual pages; sizes and times in the units of tc(8), where k is 1024. The
bands of `ets` and `prio` are queues, numbered from 0; a `red` qdisc below a band defines the band's marking.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from shallows.advisor.configuration import (
    NOWHERE,
    Allotment,
    Curve,
    Maps,
    Marking,
    Note,
    PortProfile,
    Queue,
    Scheduler,
    Scope,
    Source,
    Switch,
    Threshold,
)
from shallows.advisor.linux_red import AVERAGE_PACKET, PROBABILITY, applied, probability_of, weight_of
from shallows.advisor.readers.reading import LARGEST, Findings
from shallows.advisor.syntax import commands
from shallows.advisor.syntax.statements import Statement
from shallows.bounded import decimal, whole

FORMAT = "tc"
ADAPTIVE, EARLY, MARKED = "red.adaptive", "red.qevent.early_drop", "red.qevent.mark"
"""Names of the settings of `red` for which `Curve` has no field."""

_TELLING = re.compile(
    r"^\s*(qdisc \S+ [0-9a-f]*: |tc qdisc (add|replace|change|del) "
    r"|(ip route \S+ )?\S+( via \S+)? dev .* (rto_min|congctl) "
    r"|net\.ipv4\.tcp_(ecn|congestion_control|rto_min_us) ?=)",
    re.MULTILINE,
)
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(b|k|kb|m|mb|g|gb|kbit|mbit|gbit|)", re.ASCII | re.IGNORECASE)
_UNITS = {
    "": 1,
    "b": 1,
    "k": 1 << 10,
    "kb": 1 << 10,
    "m": 1 << 20,
    "mb": 1 << 20,
    "g": 1 << 30,
    "gb": 1 << 30,
}
_BITS = {"kbit": 1 << 7, "mbit": 1 << 17, "gbit": 1 << 27}
"""Bytes in each unit of bits, with powers of 1024 as in `get_size64` of iproute2's lib/utils_math.c."""

_ROUTE_OPTIONS = {"rto_min", "congctl", "features", "initcwnd", "initrwnd", "quickack"}
_SYSCTLS = {
    "net.ipv4.tcp_ecn": "host.tcp_ecn",
    "net.ipv4.tcp_congestion_control": "host.congestion_control",
    "net.ipv4.tcp_rto_min_us": "host.rto_min_us",
}
_STATISTICS = re.compile(r"(Sent |backlog |marked |maxpacket |new_flows|Tc|count |dropped |[0-9])")
_PLAIN = {"noqueue", "pfifo_fast", "mq", "pfifo", "bfifo", "ingress", "clsact"}
_STATE = {"refcnt": 2, "offloaded": 1, "ingress_block": 2, "egress_block": 2}
"""Words that `print_qdisc` of tc/tc_qdisc.c prints before a qdisc's options; each with its word count."""

_FLAGS = {"ecn", "harddrop", "adaptive", "nodrop"}
_VALUES = {"limit", "min", "max", "avpkt", "burst", "probability", "bandwidth", "ewma", "Plog", "Scell_log"}
_QEVENTS = {"early_drop": EARLY, "mark": MARKED}
_PRINTED_TOGETHER = re.compile(r"(Scell_log [0-9]+)qevent")
"""Two words that tc/q_red.c prints without a blank between them."""

OVERFLOW = (
    "probability 1 becomes 0 in the tc of x86, and the kernel applies (max - min) / 2^Plog, {}; "
    "on machines whose conversion stops at the largest number it stays 100 %"
)
MOVES = (
    "the kernel moves the probability between 1 and 50 %, so that the average stays between the thresholds"
)


def recognises(text: str, name: str) -> bool:  # noqa: ARG001 - the same for all readers
    """Return whether a text is output or commands of tc, ip or sysctl."""
    return _TELLING.search(text) is not None


def read(text: str, name: str) -> Switch:
    """Read queueing disciplines, routes and sysctls.

    Raises
    ------
    ShallowsError
        If a line is too long, or a quotation is not closed.
    """
    reader = _Reader(name)
    for statement in commands.read(text, name):
        reader.take(statement)
    return reader.switch()


def size(text: str) -> int | None:
    """Parse a size in the notation of tc(8); return bytes.

    >>> size("1500000b"), size("100Kb"), size("1mbit"), size("x")
    (1500000, 102400, 131072, None)
    """
    found = _SIZE.fullmatch(text)
    if found is None or len(found[1]) > 15:
        return None
    unit = found[2].lower()
    count = Fraction(decimal(found[1])) * (_BITS[unit] if unit in _BITS else _UNITS[unit])
    return int(count) if count <= LARGEST else None


@dataclass
class _Device:
    root: str = "fifo"
    bands: int = 1
    strict: int = 0
    quanta: list[int] = field(default_factory=list)
    priorities: list[int] = field(default_factory=list)
    handle: str = "1:"
    marks: dict[int, tuple[Curve, int | None]] = field(default_factory=dict)
    source: Source = field(default_factory=Source)

    def queues(self) -> tuple[Queue, ...]:
        """Return the device's bands as queues, without markings."""
        return _queues(self.bands, self.strict, tuple(self.quanta), ordered=self.root in ("ets", "prio"))


@lru_cache(maxsize=256)
def _queues(bands: int, strict: int, quanta: tuple[int, ...], *, ordered: bool) -> tuple[Queue, ...]:
    """Return the bands as queues: strict bands first, then bands with a quantum.

    Devices with the same configuration get the same cached result.
    """
    orders = [Scheduler("strict")] * strict
    orders += [Scheduler("dwrr", quantum) for quantum in quanta[: bands - strict]]
    orders += [Scheduler("dwrr")] * (bands - len(orders))
    return tuple(Queue(band, order if ordered else None) for band, order in enumerate(orders))


class _Reader:
    def __init__(self, name: str) -> None:
        self.found = Findings(name, self.scope)
        self.devices: dict[str, _Device] = {}
        self.notes: dict[str, Note] = {}
        """Notes by marking."""

    def take(self, statement: Statement) -> None:
        """Process a line of tc, ip or sysctl."""
        words = statement.words
        if not statement.is_plain:
            self.found.skip(statement)
            return
        match words:
            case ("qdisc", kind, handle, "dev", device, *rest):
                self.found.took(self.qdisc(kind, handle, device, rest, statement), statement)
            case ("tc", "qdisc", ("add" | "replace" | "change"), "dev", device, *rest):
                self.found.took(self.command(device, rest, statement), statement)
            case ("tc", "qdisc", "del", "dev", device, *rest):
                self.found.took(self.removed(device, rest), statement)
            case ("sysctl", *_, setting) if "=" in setting:
                self.sysctl(setting.split("=", 1), statement)
            case (key, "=", value) if key in _SYSCTLS:
                self.sysctl([key, value], statement)
            case ("ip", "route", ("add" | "replace" | "change" | "append"), *rest):
                self.route(rest, statement)
            case (first, *_) if "dev" in words and ("." in first or ":" in first or first == "default"):
                self.route(list(words), statement)
            case ("tc", *_):
                self.found.skip(statement)
            case (first, *_) if not _STATISTICS.match(statement.text) and first in ("class", "filter"):
                self.found.skip(statement)

    def scope(self, statement: Statement) -> Scope:
        """Return the device and band of a qdisc; `NOWHERE` for filters and classes, which do not mark."""
        words = statement.words
        if "qdisc" not in words[:2]:
            return NOWHERE
        named = dict(pairwise(words))
        device = named.get("dev", "")
        there = self.devices.get(device)
        return Scope(device, queue=_band(named["parent"], there) if there and "parent" in named else None)

    def sysctl(self, pair: Sequence[str], statement: Statement) -> None:
        if name := _SYSCTLS.get(pair[0].strip()):
            self.found.took(self.found.setting(name, pair[1].strip(), statement), statement)

    def route(self, words: list[str], statement: Statement) -> None:
        """Read the TCP settings of a route."""
        options: dict[str, list[str]] = {}
        kept: list[str] = []
        each = kept
        for word in words:
            if word in _ROUTE_OPTIONS:
                each = options.setdefault(word, [])
            elif word in ("proto", "scope", "src", "metric", "via", "dev", "mtu", "advmss", "table"):
                each = kept
                each.append(word)
            else:
                each.append(word)
        route = self.named(kept)
        for option, value in options.items():
            text = " ".join(word for word in value if word != "lock")
            self.found.took(self.found.setting(f"host.{option}", text, statement, route), statement)

    @staticmethod
    def named(words: list[str]) -> str:
        """Return a route's name: its prefix, gateway and device."""
        found = [words[0]] if words else []
        for word, value in pairwise(words):
            if word in ("via", "dev"):
                found += [word, value]
        return " ".join(found)

    def qdisc(self, kind: str, handle: str, device: str, rest: list[str], statement: Statement) -> bool:
        parent = "root"
        if rest[:1] == ["parent"] and len(rest) > 1:
            parent, rest = rest[1], rest[2:]
        elif rest[:1] == ["root"]:
            rest = rest[1:]
        while rest and rest[0] in _STATE:
            rest = rest[_STATE[rest[0]] :]
        return self.of_kind(kind, handle, device, parent, rest, statement)

    def command(self, device: str, rest: list[str], statement: Statement) -> bool:
        parent, handle = "root", "1:"
        while rest and rest[0] in ("root", "parent", "handle", "ingress_block", "egress_block"):
            if rest[0] == "root":
                rest = rest[1:]
            elif len(rest) < 2:
                return False
            elif rest[0].endswith("_block"):
                rest = rest[2:]
            else:
                parent, handle = (rest[1], handle) if rest[0] == "parent" else (parent, rest[1])
                rest = rest[2:]
        return bool(rest) and self.of_kind(rest[0], handle, device, parent, rest[1:], statement)

    def removed(self, device: str, rest: list[str]) -> bool:
        if rest[:1] == ["root"]:
            self.devices.pop(device, None)
            return True
        if rest[:1] == ["parent"] and len(rest) > 1 and device in self.devices:
            band = _band(rest[1], self.devices[device])
            return band is not None and bool(self.devices[device].marks.pop(band, None))
        return False

    def of_kind(
        self, kind: str, handle: str, device: str, parent: str, rest: list[str], statement: Statement
    ) -> bool:
        if kind in _PLAIN:
            return True
        each = self.devices.setdefault(device, _Device(source=self.found.source(statement)))
        if kind in ("ets", "prio") and parent == "root":
            return self.bands(each, kind, handle, rest)
        if kind == "red":
            band = 0 if parent == "root" else _band(parent, each)
            red = None if band is None else self.red(rest, statement, f"{device}/{band}")
            if band is None or red is None:
                return False
            if parent == "root":
                each.root, each.handle = "red", handle
            each.marks[band] = red
            return True
        return False

    @staticmethod
    def bands(each: _Device, kind: str, handle: str, words: list[str]) -> bool:
        lists: dict[str, list[int]] = {"priomap": []}
        if kind == "ets":
            lists["quanta"] = []
        counts = {"bands": 3 if kind == "prio" else 0} | ({"strict": 0} if kind == "ets" else {})
        named = ""
        for word in words:
            number = whole(word, most=1 << 24)
            if number is None and word in (*lists, *counts):
                named = word
            elif number is None and kind == "prio" and word in ("multiqueue", "multiqueue:", "on", "off"):
                named = ""
            elif number is not None and named in lists and len(lists[named]) < 16:
                lists[named].append(number)
            elif number is not None and named in counts:
                counts[named], named = number, ""
            else:
                return False
        if not 0 < counts["bands"] <= 16 or counts.get("strict", 0) > counts["bands"]:
            return False
        each.root, each.handle, each.bands = kind, handle, counts["bands"]
        each.strict = counts["bands"] if kind == "prio" else counts.get("strict", 0)
        each.quanta, each.priorities = lists.get("quanta", []), lists["priomap"]
        return True

    def red(self, words: list[str], statement: Statement, name: str) -> tuple[Curve, int | None] | None:
        """Return curve and limit of a `red` qdisc from output or a command of tc; None if it is invalid."""
        said = _options(words)
        commanded = statement.words[0] == "tc"
        if said is None or ("nodrop" in said and "ecn" not in said) or (commanded and "avpkt" not in said):
            return None  # rejected by red_validate_flags of net/red.h, or by q_red.c
        limit, low, high = (size(said[key]) if key in said else 0 for key in ("limit", "min", "max"))
        if limit is None or low is None or high is None:
            return None
        high = high or (3 * low or limit // 4)
        low = low or high // 3
        weight = whole(said.get("ewma", ""), most=31)
        if commanded:
            average = size(said["avpkt"]) or AVERAGE_PACKET
            burst = whole(said.get("burst", "0"), most=1 << 24)
            weight = (
                None if burst is None else weight_of(low, burst or (2 * low + high) // (3 * average), average)
            )
        self.found.unset(ADAPTIVE, name)
        self.notes.pop(name, None)
        share = self.probability(said, high - low, statement, name)
        if low > high or (commanded and (weight is None or share is None)):
            return None
        for event, kept in _QEVENTS.items():
            self.found.unset(kept, name)
            if block := said.get(f"qevent {event}"):
                self.found.setting(kept, block, statement, name)
        if "adaptive" in said:
            self.found.setting(ADAPTIVE, "yes", statement, name)
            self.notes[name] = Note("probability-moves", f"{name}: {MOVES}", self.found.source(statement))
        curve = Curve(
            Threshold.of_bytes(low),
            Threshold.of_bytes(high),
            share,
            "all",
            "ecn" in said,
            "nodrop" not in said,
            weight,
            self.found.source(statement),
            "ecn" in said and "harddrop" in said,
        )
        return curve, limit or None

    def probability(
        self, said: dict[str, str], span: int, statement: Statement, name: str
    ) -> Fraction | None:
        """Return the probability at the maximum; None if the text lacks it or tc rejects it.

        `tc qdisc show` prints the probability only with the option `-d`.
        """
        try:
            given = Fraction(decimal(said["probability"])) if "probability" in said else None
        except ValueError:
            return None
        plog = whole(said.get("Plog", ""), most=63)
        if statement.words[0] != "tc":
            return probability_of(plog, span) if given is None and plog is not None else given
        share = applied(span, PROBABILITY if given is None else given)
        if given == 1 and share not in (None, 1):
            what = f"{name}: {OVERFLOW.format(f'{float(share):.2%}')}"
            self.notes[name] = Note("probability-overflow", what, self.found.source(statement))
        return share

    def switch(self) -> Switch:
        profiles = []
        for name, each in self.devices.items():
            queues = [*each.queues()]
            for band, (curve, limit) in each.marks.items():
                if band < len(queues):
                    marking = f"{name}/{band}"
                    self.found.markings[marking] = Marking(marking, (curve,), source=curve.source)
                    allotment = None if limit is None else Allotment(limit=Threshold.of_bytes(limit))
                    queues[band] = replace(queues[band], marking=marking, allotment=allotment)
            maps = Maps(class_to_queue=tuple(enumerate(each.priorities)))
            if each.root != "fifo":
                profiles.append(
                    PortProfile((name,), queues=tuple(queues), maps=maps, name=each.root, source=each.source)
                )
        for name, scope in [*self.found.settings]:
            if name in (ADAPTIVE, EARLY, MARKED) and scope not in self.found.markings:
                self.found.unset(name, scope)
        markings, settings = self.found.in_order()
        return Switch(
            FORMAT,
            profiles=tuple(profiles),
            markings=markings,
            settings=settings,
            unread=tuple(self.found.unread),
            understood=self.found.understood,
            notes=tuple(note for name, note in self.notes.items() if name in self.found.markings),
        )


def _band(parent: str, device: _Device) -> int | None:
    """Return the band of a class such as `1:2`, if the device has it."""
    major, _, minor = parent.partition(":")
    number = int(minor, 16) if re.fullmatch("[0-9a-f]{1,4}", minor) else 0
    has = device.root in ("ets", "prio") and f"{major}:" == device.handle and 0 < number <= device.bands
    return number - 1 if has else None


def _options(words: list[str]) -> dict[str, str] | None:
    """Return red's options by name; None if tc's q_red.c lacks an option, or an option lacks its value.

    >>> _options(["min", "30000b", "ecn", "qevent", "mark", "block", "10"])
    {'min': '30000b', 'ecn': '', 'qevent mark': '10'}
    >>> _options(["min", "30000b", "later"])
    """
    said: dict[str, str] = {}
    rest = iter(_PRINTED_TOGETHER.sub(r"\1 qevent", " ".join(words)).split())
    for word in rest:
        if word in _FLAGS or word == "adaptative":
            said["adaptive" if word == "adaptative" else word] = ""
            continue
        value = next(rest, "")
        if word == "qevent" and value in _QEVENTS and next(rest, "") == "block":
            word, value = f"qevent {value}", next(rest, "")
        elif word not in _VALUES:
            return None
        if not value:
            return None
        said[word] = value
    return said
