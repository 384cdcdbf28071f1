"""Linux: what `tc -s qdisc show`, `ip route show` and `sysctl` print, or the commands that set it.

Syntax as in iproute2's manual pages, which also give the defaults; sizes and times in the units of tc(8),
where k is 1024. The bands of `ets` and `prio` are queues, numbered from 0; `red` below one of them is its
marking.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from shallows.advisor.configuration import (
    Allotment,
    Curve,
    Maps,
    Marking,
    PortProfile,
    Queue,
    Scheduler,
    Source,
    Switch,
    Threshold,
)
from shallows.advisor.readers.reading import LARGEST, Findings
from shallows.advisor.syntax import commands
from shallows.advisor.syntax.statements import Statement
from shallows.bounded import decimal, whole

FORMAT = "tc"
AVERAGE_PACKET = 1_000
"""tc-red(8): default of avpkt, in bytes."""

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
_BITS = {"kbit": Fraction(1000, 8), "mbit": Fraction(10**6, 8), "gbit": Fraction(10**9, 8)}
_ROUTE_OPTIONS = {"rto_min", "congctl", "features", "initcwnd", "initrwnd", "quickack"}
_SYSCTLS = {
    "net.ipv4.tcp_ecn": "host.tcp_ecn",
    "net.ipv4.tcp_congestion_control": "host.congestion_control",
    "net.ipv4.tcp_rto_min_us": "host.rto_min_us",
}
_STATISTICS = re.compile(r"(Sent |backlog |marked |maxpacket |new_flows|Tc|count |dropped |[0-9])")
_PLAIN = {"noqueue", "pfifo_fast", "mq", "pfifo", "bfifo", "ingress", "clsact"}


def recognises(text: str, name: str) -> bool:  # noqa: ARG001 - the same for all readers
    """Whether a text is of tc, ip or sysctl."""
    return _TELLING.search(text) is not None


def read(text: str, name: str) -> Switch:
    """What queueing disciplines, routes and sysctls say.

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
    """Bytes, as tc(8) writes them.

    >>> size("1500000b"), size("100Kb"), size("1mbit"), size("x")
    (1500000, 102400, 125000, None)
    """
    found = _SIZE.fullmatch(text)
    if found is None or len(found[1]) > 15:
        return None
    unit = found[2].lower()
    count = Fraction(decimal(found[1])) * (_BITS[unit] if unit in _BITS else _UNITS[unit])
    return int(count) if count <= LARGEST else None


def weight_of(minimum: int, burst: int, average: int = AVERAGE_PACKET) -> int | None:
    """What tc makes of a burst: the least N from 1 whose average, moving by 2^-N, lets it through.

    As `tc_red_eval_ewma` of iproute2 does; nothing where it says that the burst is too small or too large.

    >>> weight_of(200_000, 200), weight_of(30_000, 55), weight_of(200_000, 100)
    (1, 5, None)
    """
    beyond = burst + 1 - minimum / average
    if beyond < 1:
        return None
    for number in range(1, 32):
        share = 0.5**number
        if beyond <= (1 - math.pow(1 - share, burst)) / share:
            return number
    return None


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


class _Reader:
    def __init__(self, name: str) -> None:
        self.found = Findings(name)
        self.devices: dict[str, _Device] = {}

    def take(self, statement: Statement) -> None:
        """A line of any of the three."""
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

    def sysctl(self, pair: Sequence[str], statement: Statement) -> None:
        if name := _SYSCTLS.get(pair[0].strip()):
            self.found.took(self.found.setting(name, pair[1].strip(), statement), statement)

    def route(self, words: list[str], statement: Statement) -> None:
        """What a route says of TCP; where it leads is of no interest but as its name."""
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
        """A route by where it leads and how: its prefix, gateway and device."""
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
        return self.of_kind(kind, handle, device, parent, rest, statement)

    def command(self, device: str, rest: list[str], statement: Statement) -> bool:
        parent, handle = "root", "1:"
        while rest and rest[0] in ("root", "parent", "handle"):
            if rest[0] == "root":
                rest = rest[1:]
            elif len(rest) < 2:
                return False
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
            red = self.red(rest, statement)
            if band is None or red is None:
                return False
            if parent == "root":
                each.root, each.handle = "red", handle
            each.marks[band] = red
            return True
        return False

    @staticmethod
    def bands(each: _Device, kind: str, handle: str, words: list[str]) -> bool:
        lists = {"quanta": [], "priomap": []} if kind == "ets" else {"priomap": []}  # type: dict[str, list[int]]
        counts = {"bands": 3 if kind == "prio" else 0, "strict": 0}
        named = ""
        for word in [each for each in words if each not in ("refcnt",)]:
            number = whole(word, most=1 << 24)
            if number is None:
                named = word
            elif named in lists and len(lists[named]) < 16:
                lists[named].append(number)
            elif named in counts:
                counts[named] = number
        if not 0 < counts["bands"] <= 16 or counts["strict"] > counts["bands"]:
            return False
        each.root, each.handle, each.bands = kind, handle, counts["bands"]
        each.strict = counts["bands"] if kind == "prio" else counts["strict"]
        each.quanta, each.priorities = lists.get("quanta", []), lists["priomap"]
        return True

    def red(self, words: list[str], statement: Statement) -> tuple[Curve, int | None] | None:
        said = dict(_pairs(words))
        ends = [size(said.get(key) or "") for key in ("min", "max")]
        if ends[0] is None or ends[1] is None or "adaptive" in said:
            return None
        average = size(said["avpkt"] or "") if "avpkt" in said else AVERAGE_PACKET
        burst = whole(said.get("burst") or "", 1, 1 << 24)
        weight = whole(said.get("ewma") or "", most=31)
        if weight is None and burst and average:
            weight = weight_of(ends[0], burst, average)
        try:
            share = Fraction(decimal(said.get("probability") or "0.02"))
        except ValueError:
            return None
        marks = "ecn" in said
        curve = Curve(
            Threshold.of_bytes(ends[0]),
            Threshold.of_bytes(ends[1]),
            share,
            "all",
            marks,
            "nodrop" not in said,
            weight,
            self.found.source(statement),
        )
        return curve, size(said.get("limit") or "")

    def switch(self) -> Switch:
        profiles = []
        for name, each in self.devices.items():
            queues = []
            for band in range(each.bands):
                quantum = (
                    each.quanta[band - each.strict] if 0 <= band - each.strict < len(each.quanta) else None
                )
                order = Scheduler("strict") if band < each.strict else Scheduler("dwrr", quantum)
                marking = allotment = None
                if band in each.marks:
                    curve, limit = each.marks[band]
                    marking = f"{name}/{band}"
                    self.found.markings[marking] = Marking(marking, (curve,), source=curve.source)
                    allotment = None if limit is None else Allotment(limit=Threshold.of_bytes(limit))
                queues.append(
                    Queue(band, order if each.root in ("ets", "prio") else None, marking, allotment)
                )
            maps = Maps(class_to_queue=tuple(enumerate(each.priorities)))
            if each.root != "fifo":
                profiles.append(
                    PortProfile((name,), queues=tuple(queues), maps=maps, name=each.root, source=each.source)
                )
        markings, settings = self.found.in_order()
        return Switch(
            FORMAT,
            profiles=tuple(profiles),
            markings=markings,
            settings=settings,
            unread=tuple(self.found.unread),
            understood=self.found.understood,
        )


def _band(parent: str, device: _Device) -> int | None:
    """The band of a class such as `1:2`, if the device has it."""
    major, _, minor = parent.partition(":")
    number = int(minor, 16) if re.fullmatch("[0-9a-f]{1,4}", minor) else 0
    return number - 1 if f"{major}:" == device.handle and 0 < number <= device.bands else None


def _pairs(words: list[str]) -> Iterator[tuple[str, str | None]]:
    flags = {"ecn", "nodrop", "harddrop", "adaptive"}
    rest = iter(words)
    for word in rest:
        yield word, None if word in flags else next(rest, None)
