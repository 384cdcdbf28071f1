"""SONiC: a fragment of `config_db.json`, or a JSON patch (RFC 6902) to the target configuration.

Only fields of sonic-buildimage's YANG models (2026-08) are written, because orchagent rejects a profile with
an unknown field. A patch raises a maximum before the minimum, but lowers a maximum after the minimum, so
that the minimum never exceeds the maximum. JSON has no comments, so callers show the reasons beside the
patch.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from shallows.advisor.configuration import (
    COLOURS,
    Allotment,
    Colour,
    Marking,
    PortProfile,
    PriorityGroup,
    Scheduler,
    Switch,
    Threshold,
)
from shallows.advisor.readers.sonic_tables import LEAST_CIR, MAPS, SETTINGS
from shallows.advisor.writers.lines import NO_REASONS, Reasons, Text, Told, in_bytes, whole_percent

Row = dict[str, str]
Tables = dict[str, dict[str, Row]]

THRESHOLDS = range(1, 1 << 31)
"""Thresholds in bytes. orchagent reads them as `int` (qosorch.cpp, convertFieldValuesToAttributes), and SAI
takes 0 for the whole buffer (saiwred.h).
"""

MTU, SPEED = range(68, 9217), range(1, 1_600_001)
"""Ranges of MTU in bytes and speed in Mb/s: orchagent/port/porthlpr.cpp."""

LONGEST_NAME = 32
"""Longest name of a WRED profile, by its YANG model."""

_MARKED: tuple[tuple[Colour, ...], ...] = (
    (),
    ("green",),
    ("yellow",),
    ("red",),
    ("green", "yellow"),
    ("green", "red"),
    ("yellow", "red"),
)
_ECN = {frozenset(colours): "ecn_" + "_".join(colours or ("none",)) for colours in _MARKED} | {
    frozenset(COLOURS): "ecn_all"
}
_SETTINGS = {kind: table for table, kind in SETTINGS.items()}
_WATCHDOG = {"action", "detection_time", "restoration_time", "poll_interval", "pfc_stat_history"}


def write(before: Switch | None, after: Switch, reasons: Reasons = NO_REASONS) -> Text:
    """Write a patch for `config apply-patch`; without `before`, a fragment for `config load`."""
    del reasons  # JSON has no comments
    new, told = tables_of(after)
    if before is None:
        return Text(json.dumps(new, indent=4) + "\n", _patch(new, {}), tuple(told.inexpressible))
    old, _ = tables_of(before)
    return Text(_patch(old, new), _patch(new, old), tuple(told.inexpressible))


def unfit(patch: str, texts: Sequence[str]) -> str | None:
    """Return the first path in a patch that the files lack, for example because a row covers several queues.

    The result is None if all paths exist.

    >>> change = '[{"op": "replace", "path": "/QUEUE/Ethernet0|3/scheduler", "value": "s"}]'
    >>> unfit(change, ['{"QUEUE": {"Ethernet0|3": {"scheduler": "t"}}}'])
    >>> unfit(change, ['{"QUEUE": {"Ethernet0,Ethernet4|3": {"scheduler": "t"}}}'])
    '/QUEUE/Ethernet0|3'
    """
    there: dict[str, Any] = {}
    for text in texts:
        for table, rows in json.loads(text).items():
            there[table] = there.get(table, {}) | rows if isinstance(rows, dict) else rows
    there = json.loads(json.dumps(there))
    for each in json.loads(patch or "[]"):
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in each["path"].split("/")[1:]]
        place: Any = there
        for depth, name in enumerate([*parents, *([] if each["op"] == "add" else [last])]):
            if not isinstance(place, dict) or name not in place:
                return "/".join(["", *parents, last][: depth + 2])
            place = place[name] if depth < len(parents) else place
        if each["op"] == "remove":
            del place[last]
        else:
            place[last] = each["value"]
    return None


def tables_of(switch: Switch) -> tuple[Tables, Told]:
    """Return the tables of CONFIG_DB for a switch."""
    made = _Tables(switch)
    return made.tables, made.told


class _Tables:
    def __init__(self, switch: Switch) -> None:
        self.switch = switch
        self.told = Told()
        self.tables: Tables = {}
        self.names: dict[tuple[str, object], str] = {}
        self.taken: dict[str, set[str]] = {}
        self.profiles: dict[str, object] = {}
        for pool in switch.pools:
            self.pool(pool.name)
        for marking in switch.markings:
            self.marking(marking)
        for scheduler in switch.schedulers:
            self.scheduler(scheduler)
        for allotment in switch.allotments:
            self.profile(allotment, None)
        self.settings()
        for profile in switch.profiles:
            self.of_ports(profile)

    def row(self, table: str, key: str) -> Row:
        return self.tables.setdefault(table, {}).setdefault(key, {})

    def pool(self, name: str) -> None:
        pool = self.switch.pool(name)
        if pool is None:
            return
        if pool.size is None and pool.percent is None and self.switch.format != "sonic":
            self.told.cannot(f"pool {name}: neither its size nor its share is known")
            return
        if pool.marking:
            self.told.cannot(f"pool {name}: CONFIG_DB has no key for marks by a pool")
        row = self.row("BUFFER_POOL", _plain(name))
        row |= {"type": pool.direction, "mode": "dynamic" if pool.dynamic else "static"}
        if pool.size is not None:
            row["size"] = str(pool.size)
        elif pool.percent is not None:
            if pool.percent.denominator != 1 or not 0 <= pool.percent <= 100:
                self.told.cannot(
                    f"pool {name}: {float(pool.percent):g} percent, which is no whole one to 100"
                )
            row["percentage"] = str(min(max(int(pool.percent), 0), 100))
            self.told.cannot(
                f"pool {name}: percentage is for buffer_model = dynamic (sonic-buffer-pool.yang)"
            )
        if pool.headroom is not None:
            row["xoff"] = str(pool.headroom)

    def marking(self, marking: Marking) -> None:
        if marking.scope != "queue":
            self.told.cannot(f"{marking.name}: CONFIG_DB has no key for marks by a pool or a port")
            return
        row: Row = {}
        marked: set[Colour] = set()
        for curve in marking.curves:
            ends = [(curve.minimum, in_bytes(curve.minimum)), (curve.maximum, in_bytes(curve.maximum))]
            share = whole_percent(curve.probability)
            if any(end is not None and count is None for end, count in ends):
                self.told.cannot(f"{marking.name}: thresholds are whole bytes here")
                return
            if any(count is not None and count not in THRESHOLDS for _, count in ends):
                self.told.cannot(
                    f"{marking.name}: thresholds are from 1 to {THRESHOLDS.stop - 1:,} bytes here"
                )
                return
            if curve.probability is not None and share is None:
                self.told.cannot(f"{marking.name}: a probability that is no whole percent")
                return
            if curve.weight:
                self.told.cannot(f"{marking.name}: a weight of the average; orchagent sets 0")
            for colour in COLOURS if curve.colour == "all" else (curve.colour,):
                said = {
                    f"{colour}_{end}_threshold": str(count)
                    for end, (_, count) in zip(("min", "max"), ends, strict=True)
                    if count is not None
                }
                said |= {f"{colour}_drop_probability": str(share)} if share is not None else {}
                if any(row.get(key, value) != value for key, value in said.items()):
                    self.told.cannot(f"{marking.name}: one curve for marks and another for drops")
                    continue
                row |= said
                if curve.marks_ect:
                    marked.add(colour)
                if curve.drops_not_ect is not None or f"wred_{colour}_enable" in row:
                    on = curve.drops_not_ect or row.get(f"wred_{colour}_enable") == "true"
                    row[f"wred_{colour}_enable"] = "true" if on else "false"
        row["ecn"] = _ECN[frozenset(marked)]
        name = self.named("WRED_PROFILE", marking.name, marking.name)
        if len(_plain(marking.name)) > LONGEST_NAME:
            self.told.cannot(f"{marking.name}: names have at most {LONGEST_NAME} characters; it is {name}")
        self.tables.setdefault("WRED_PROFILE", {})[name] = row

    def named(self, table: str, what: object, wanted: str) -> str:
        """Return the key of an object; if a different object has this key, a number is added."""
        if (table, what) not in self.names:
            taken = self.taken.setdefault(table, set())
            name, number = _plain(wanted)[:LONGEST_NAME], 1
            while name in taken:
                number += 1
                name = f"{_plain(wanted)[: LONGEST_NAME - 5]}.{number}"
            self.names[table, what] = name
            taken.add(name)
        return self.names[table, what]

    def scheduler(self, scheduler: Scheduler) -> str:
        name = self.named(
            "SCHEDULER", (scheduler, scheduler.name), scheduler.name or f"scheduler.{scheduler.kind}"
        )
        row = self.row("SCHEDULER", name)
        row["type"] = scheduler.kind.upper()
        weight = scheduler.weight
        if weight is None and scheduler.percent is not None and scheduler.kind != "strict":
            weight = max(int(scheduler.percent), 1)
        if weight is not None:
            if weight > 100:
                self.told.cannot(f"weight {weight} of scheduler {name}: 100 is the most")
            row["weight"] = str(min(weight, 100))
        guaranteed = scheduler.guaranteed
        if guaranteed is None and scheduler.shape is not None:
            guaranteed = 8 * LEAST_CIR
        for field, rate in (("pir", scheduler.shape), ("cir", guaranteed)):
            if rate is not None:
                row[field] = str(rate // 8)
        return name

    def profile(self, allotment: Allotment, group: PriorityGroup | None) -> str:
        """Return the buffer profile of a queue, or of a priority group with its headroom."""
        sizes = (group.xoff, group.xon, group.xon_offset) if group else (None, None, None)
        wanted = allotment.name or ("shallows_pg" if group else "shallows_queue")
        name = self.named("BUFFER_PROFILE", (allotment, allotment.name, sizes), wanted)
        row = self.row("BUFFER_PROFILE", name)
        if allotment.pool:
            row["pool"] = _plain(allotment.pool)
        needed = {"pool": allotment.pool, "size": allotment.reserved}
        missing = " and ".join(field for field, value in needed.items() if value is None)
        if missing and (self.switch.format != "sonic" or allotment.name is None):
            self.told.cannot(f"{wanted}: sonic-buffer-profile.yang wants {missing}, which nobody has said")
        exponent = _exponent(allotment.alpha)
        if allotment.unlimited:
            exponent = 7
            self.told.cannot(f"{wanted}: no limit is written as dynamic_th 7, which Mellanox takes so")
        if exponent is not None:
            row["dynamic_th"] = str(exponent)
        elif allotment.alpha is not None:
            self.told.cannot(f"{wanted}: alpha {allotment.alpha} is no power of two from 2^-8 to 2^7")
        for field, size in (
            ("size", allotment.reserved),
            ("static_th", allotment.limit),
            ("xoff", sizes[0]),
            ("xon", sizes[1]),
            ("xon_offset", sizes[2]),
        ):
            if size is not None:
                self.size(row, field, size, wanted)
        if allotment.trims:
            row["packet_discard_action"] = "trim"
        return name

    def size(self, row: Row, field: str, size: Threshold, where: str) -> None:
        count = in_bytes(size)
        if count is None:
            self.told.cannot(f"{field} of {where} in {size.unit}: CONFIG_DB counts whole bytes")
        else:
            row[field] = str(count)

    def of_ports(self, profile: PortProfile) -> None:
        if not profile.ports and (profile.queues or profile.groups):
            self.told.cannot(f"{profile.name or 'a profile'} of no port by name: SONiC binds queues to ports")
        queues = {
            queue.number: {
                **({"scheduler": self.scheduler(queue.scheduler)} if queue.scheduler else {}),
                **(
                    {"wred_profile": self.names["WRED_PROFILE", queue.marking]}
                    if ("WRED_PROFILE", queue.marking) in self.names
                    else {}
                ),
            }
            for queue in profile.queues
        }
        memory = {
            queue.number: self.profile(queue.allotment, None) for queue in profile.queues if queue.allotment
        }
        groups = {
            group.number: self.profile(group.allotment, group) if group.allotment else "NULL"
            for group in profile.groups
        }
        limits: dict[str, list[str]] = {}
        for each in profile.limits:
            pool = self.switch.pool(each.pool)
            side = "EGRESS" if pool is None or pool.direction == "egress" else "INGRESS"
            limits.setdefault(f"BUFFER_PORT_{side}_PROFILE_LIST", []).append(self.profile(each, None))
        maps = {
            field: self.map(table, getattr(profile.maps, of))
            for field, (table, of) in MAPS.items()
            if getattr(profile.maps, of)
        }
        if profile.pfc:
            maps["pfc_enable"] = ",".join(map(str, profile.pfc))
        for port in profile.ports:
            self.of_port(profile, port)
            for number, row in queues.items():
                if row:
                    self.row("QUEUE", f"{port}|{number}").update(row)
            for table, found in (("BUFFER_QUEUE", memory), ("BUFFER_PG", groups)):
                for numbers, name in _ranges(found):
                    self.row(table, f"{port}|{numbers}")["profile"] = name
            for table, names in limits.items():
                self.row(table, port)["profile_list"] = ",".join(names)
            if maps:
                self.row("PORT_QOS_MAP", port).update(maps)

    def of_port(self, profile: PortProfile, port: str) -> None:
        """Add the port's own settings that CONFIG_DB can express."""
        if profile.rate and not profile.rate % 10**6 and profile.rate // 10**6 in SPEED:
            self.row("PORT", port)["speed"] = str(profile.rate // 10**6)
        elif profile.rate:
            self.told.cannot(f"{port}: {profile.rate:,} bit/s, which are no whole Mb/s to {SPEED.stop - 1:,}")
        if profile.mtu in MTU:
            self.row("PORT", port)["mtu"] = str(profile.mtu)
        elif profile.mtu:
            self.told.cannot(
                f"{port}: an MTU of {profile.mtu:,}, which is not from {MTU.start} to {MTU.stop - 1:,}"
            )
        if profile.cable is not None and profile.cable.denominator == 1:
            self.row("CABLE_LENGTH", "AZURE")[port] = f"{profile.cable}m"
        elif profile.cable is not None:
            self.told.cannot(
                f"{port}: a cable of {float(profile.cable):g} m; whole metres (sonic-cable-length)"
            )

    def map(self, table: str, pairs: tuple[tuple[int, int], ...]) -> str:
        name = self.named(table, pairs, "AZURE")
        self.row(table, name).update({str(of): str(to) for of, to in pairs})
        return name

    def settings(self) -> None:
        for each in self.switch.settings:
            kind, _, field = each.name.partition(".")
            if each.name == "pfc-watchdog.priorities":
                for port in each.scope.split(","):
                    self.row("PORT_QOS_MAP", port)["pfcwd_sw_enable"] = each.value
            elif kind in _SETTINGS and each.scope and (kind != "pfc-watchdog" or field in _WATCHDOG):
                for key in each.scope.split(","):
                    known = "POLL_INTERVAL" if field == "poll_interval" else field
                    self.row(_SETTINGS[kind], key)[known] = each.value
            else:
                self.told.cannot(f"{each.name} = {each.value}")


def _plain(name: str) -> str:
    """Convert a name to one that keys of CONFIG_DB can contain."""
    return re.sub(r"[^A-Za-z0-9_.@-]", "_", name)


def _exponent(alpha: Fraction | None) -> int | None:
    """Return the exponent of an alpha that is a power of two within dynamic_th's range."""
    return next((power for power in range(-8, 8) if alpha == Fraction(2) ** power), None)


def _ranges(named: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of a key and a name; consecutive numbers with equal names share one key, such as `0-1`.

    >>> list(_ranges({0: "lossy", 1: "lossy", 3: "lossless"}))
    [('0-1', 'lossy'), ('3', 'lossless')]
    """
    numbers = sorted(named)
    while numbers:
        first = last = numbers.pop(0)
        while numbers and numbers[0] == last + 1 and named[numbers[0]] == named[first]:
            last = numbers.pop(0)
        yield str(first) if first == last else f"{first}-{last}", named[first]


def _patch(old: Tables, new: Tables) -> str:
    """Return the operations of a patch: referenced rows are added first and removed last."""
    found = [*_added(old, new), *_removed(old, new)]
    return json.dumps(found, indent=4) + "\n" if found else ""


_NEEDED = (
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "WRED_PROFILE",
    "SCHEDULER",
    *(table for table, _ in MAPS.values()),
)
"""Tables with rows that other tables refer to."""


def _added(old: Tables, new: Tables) -> Iterator[dict[str, Any]]:
    order = sorted(
        new, key=lambda table: (table not in _NEEDED, _NEEDED.index(table) if table in _NEEDED else 0)
    )
    for table in order:
        if table not in old:
            yield {"op": "add", "path": _pointer(table), "value": new[table]}
            continue
        for key, row in new[table].items():
            if key not in old[table]:
                yield {"op": "add", "path": _pointer(table, key), "value": row}
            else:
                yield from _changed(table, key, old[table][key], row)


def _changed(table: str, key: str, old: Row, new: Row) -> Iterator[dict[str, Any]]:
    fields = [field for field in new if old.get(field) != new[field]]
    for field in sorted(fields, key=lambda field: _place(field, old, new)):
        operation = "replace" if field in old else "add"
        yield {"op": operation, "path": _pointer(table, key, field), "value": new[field]}
    for field in old:
        if field not in new:
            yield {"op": "remove", "path": _pointer(table, key, field)}


def _place(field: str, old: Row, new: Row) -> int:
    """Return the sort key of a changed field: maxima that rise come first, maxima that fall come last."""
    if not field.endswith("_max_threshold"):
        return 1
    return 0 if int(new[field]) > int(old.get(field, "0")) else 2


def _removed(old: Tables, new: Tables) -> Iterator[dict[str, Any]]:
    for table in sorted(
        old, key=lambda table: (table in _NEEDED, -_NEEDED.index(table) if table in _NEEDED else 0)
    ):
        if table not in new:
            yield {"op": "remove", "path": _pointer(table)}
            continue
        for key in old[table]:
            if key not in new[table]:
                yield {"op": "remove", "path": _pointer(table, key)}


def _pointer(*parts: str) -> str:
    """Escape a JSON pointer by RFC 6901.

    >>> _pointer("QUEUE", "Ethernet1/1|3")
    '/QUEUE/Ethernet1~11|3'
    """
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
