"""SONiC: `config_db.json`, or the rendered templates `qos.json.j2` and `buffers.json.j2`.

Tables, ranges and defaults as in sonic-buildimage's YANG models and sonic-swss's orchagent (2026-08).
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from shallows.advisor.chips import chip_of_platform
from shallows.advisor.configuration import (
    COLOURS,
    Allotment,
    Colour,
    Curve,
    Default,
    Maps,
    Marking,
    Note,
    Pool,
    PortProfile,
    PriorityGroup,
    Queue,
    Scheduler,
    Setting,
    Source,
    Switch,
    Threshold,
)
from shallows.advisor.readers.sonic_tables import (
    LEAST_CIR,
    MAPS,
    MOST_NUMBERS,
    REMEDY,
    SETTINGS,
    Entry,
    Tables,
    metres_of,
    numbers_of,
    ports_of,
)
from shallows.bounded import quoted, whole
from shallows.errors import ShallowsError

FORMAT = "sonic"
SWSS = "sonic-swss, orchagent/qosorch.cpp"
QOS_CONFIG = "sonic-buildimage, files/build_templates/qos_config.j2"
LARGEST_THRESHOLD = (1 << 31) - 1
"""Largest threshold in bytes: qosorch.cpp reads an `int`."""

MOST_PORTS = 1 << 16
"""Maximum number of ports of a switch; a chassis has some thousand."""

MOST_PLACES = 1 << 19
"""Maximum number of queues and priority groups that all keys name together: 4,096 ports with 64 of each."""

ONE = "give a file with the configuration of only one switch"

_OF_PORTS = ("PORT", "QUEUE", "BUFFER_QUEUE", "BUFFER_PG", "PORT_QOS_MAP")
"""Tables with ports in their keys."""

_LISTS = ("BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST")
"""Tables with ports in their keys and several buffer profiles in each row."""

T = TypeVar("T")


_TABLE = re.compile(
    r'"(WRED_PROFILE|QUEUE|SCHEDULER|BUFFER_(POOL|PROFILE|QUEUE|PG)|PORT_QOS_MAP|DEVICE_METADATA'
    r'|DSCP_TO_TC_MAP|TC_TO_QUEUE_MAP|CABLE_LENGTH|PFC_WD)"\s*:'
)

_ECN: dict[str, tuple[Colour, ...]] = {
    "ecn_none": (),
    "ecn_green": ("green",),
    "ecn_yellow": ("yellow",),
    "ecn_red": ("red",),
    "ecn_green_yellow": ("green", "yellow"),
    "ecn_green_red": ("green", "red"),
    "ecn_yellow_red": ("yellow", "red"),
    "ecn_all": COLOURS,
}


def recognises(text: str, name: str) -> bool:
    """Return whether a file has SONiC's tables as JSON, or is not JSON but is named like a SONiC file."""
    if text.lstrip()[:1] == "{":
        return _TABLE.search(text) is not None
    return re.search(r"(config_db|qos|buffers?)[^/]*\.json$", name) is not None


def read(text: str, name: str) -> Switch:
    """Read queues and buffers from one file.

    Raises
    ------
    ShallowsError
        If the text is not JSON, or has no table about queues and buffers.
    """
    return read_together([(name, text)])


def read_together(documents: Sequence[tuple[str, str]]) -> Switch:
    """Read one switch from several files, each with its name and text.

    Raises
    ------
    ShallowsError
        As for `read`.
    """
    tables = Tables(documents)
    if not any(True for _ in tables.about_queues()) and not tables.misshapen:
        names = ", ".join(name for name, _ in documents)
        raise ShallowsError(f"{names} has no table of queues or buffers", REMEDY)
    return _Reader(tables).switch()


@dataclass
class _Port:
    """Rows of all tables that name one port; rows of queues and priority groups are indexed by number."""

    queues: dict[int, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    groups: dict[int, str] = field(default_factory=dict)
    maps: dict[str, str] = field(default_factory=dict)
    pfc: tuple[int, ...] = ()
    limits: list[str] = field(default_factory=list)
    rate: int | None = None
    mtu: int | None = None
    cable: Fraction | None = None
    sources: dict[tuple[str, int], Source] = field(default_factory=dict)

    def signature(self) -> tuple[object, ...]:
        """Return a key that is equal for equally configured ports."""
        queues = tuple((number, *sorted(names.items())) for number, names in sorted(self.queues.items()))
        told = (queues, tuple(sorted(self.groups.items())), tuple(sorted(self.maps.items())), self.pfc)
        return (*told, tuple(self.limits), self.rate, self.mtu, self.cable)


class _Reader:
    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.ports: dict[str, _Port] = {}
        self.used: set[tuple[str, str]] = set()
        self.defaults: list[Default] = []
        self.maps_of_all: dict[str, str] = {}
        self.pairs: dict[tuple[str, str | None], tuple[tuple[int, int], ...]] = {}
        self.sizes: dict[str, tuple[Threshold | None, ...]] = {}
        """Headroom settings by buffer profile."""

    def refuse_too_many(self) -> None:
        """Reject too many ports or rows before any is built."""
        names: set[str] = set()
        places = 0
        for table in (*_OF_PORTS, *_LISTS):
            for row in self.tables.rows(table):
                *parts, last = row.parts
                found = ports_of("|".join(parts) or last)
                count = len(numbers_of(last) or ()) if parts else 0
                if table in _LISTS:
                    count = str(row.fields.get("profile_list", ("", ""))[0]).count(",") + 1
                names.update(found)
                places += len(found) * max(count, 1)
                if len(names) > MOST_PORTS:
                    raise ShallowsError(f"the file must have at most {MOST_PORTS:,} ports", ONE)
                if places > MOST_PLACES:
                    raise ShallowsError(
                        f"rows of {table} and other tables must list at most {MOST_PLACES:,} "
                        "queues or profiles in total",
                        ONE,
                    )

    def switch(self) -> Switch:
        self.refuse_too_many()
        markings = tuple(self._marking(row) for row in self.tables.rows("WRED_PROFILE"))
        schedulers = {row.key: self._scheduler(row) for row in self.tables.rows("SCHEDULER")}
        allotments = {row.key: self._allotment(row) for row in self.tables.rows("BUFFER_PROFILE")}
        pools = tuple(self._pool(row) for row in self.tables.rows("BUFFER_POOL"))
        self._port_tables()
        profiles = self._profiles(schedulers, allotments)
        self._say_odd_references()
        meta = self.tables.row("DEVICE_METADATA", "localhost")
        sku = meta.text("hwsku") if meta else None
        platform = meta.text("platform") if meta else None
        chip = chip_of_platform(sku or "") or chip_of_platform(platform or "")
        settings = self._settings()
        self._say_defaults(profiles)
        return Switch(
            format=FORMAT,
            name=meta.text("hostname") if meta else None,
            platform=sku or platform,
            chip=chip.name if chip else None,
            profiles=profiles,
            pools=pools,
            markings=markings,
            settings=settings,
            defaults=tuple(self.defaults),
            unread=self.tables.unread(),
            understood=self.tables.understood(),
            notes=tuple(self.tables.notes),
            allotments=tuple(self._spare("BUFFER_PROFILE", allotments)),
            schedulers=tuple(self._spare("SCHEDULER", schedulers)),
        )

    def _spare(self, table: str, made: dict[str, T]) -> list[T]:
        return [value for key, value in made.items() if (table, key) not in self.used]

    def _marking(self, row: Entry) -> Marking:
        ecn = row.choice("ecn", *_ECN)
        if ecn is None and "ecn" not in row.fields:
            self.defaults.append(
                Default(f"ecn of {row.key}", "ecn_none: nothing is marked", "sonic-wred-profile.yang")
            )
        curves = [self._curve(row, colour, colour in _ECN[ecn or "ecn_none"]) for colour in COLOURS]
        return Marking(row.key, tuple(curve for curve in curves if curve), source=row.source())

    def _curve(self, row: Entry, colour: Colour, marks: bool) -> Curve | None:
        names = [f"{colour}_min_threshold", f"{colour}_max_threshold", f"{colour}_drop_probability"]
        enabled = row.choice(f"wred_{colour}_enable", "true", "false")
        if not marks and not any(name in row.fields for name in (*names, f"wred_{colour}_enable")):
            return None
        low, high = (self._threshold(row, name) for name in names[:2])
        percent = row.number(names[2], most=100)
        if percent is None and names[2] not in row.fields:
            self.defaults.append(Default(f"{names[2]} of {row.key}", "100 %", SWSS))
        drops = True if enabled == "true" else None if marks else False
        if enabled is None and f"wred_{colour}_enable" not in row.fields:
            self.defaults.append(
                Default(f"wred_{colour}_enable of {row.key}", "false", "sonic-wred-profile.yang")
            )
        return Curve(
            None if low is None else Threshold.of_bytes(low),
            None if high is None else Threshold.of_bytes(high),
            Fraction(100 if percent is None else percent, 100),
            colour,
            marks_ect=marks,
            drops_not_ect=drops,
            source=row.source(names[0]),
        )

    @staticmethod
    def _threshold(row: Entry, name: str) -> int | None:
        """Return a threshold in bytes; None for 0, which means the whole buffer (SAI, saiwred.h)."""
        count = row.number(name, most=LARGEST_THRESHOLD)
        if count == 0:
            row.note("zero-threshold", f"{name} of {row.key} is 0", name)
        return count or None

    def _scheduler(self, row: Entry) -> Scheduler:
        kind = row.choice("type", "DWRR", "WRR", "STRICT")
        if kind is None:
            self.defaults.append(Default(f"type of scheduler {row.key}", "WRR", "sonic-scheduler.yang"))
        row.choice("meter_type", "bytes")
        shape, guaranteed = row.number("pir"), row.number("cir")
        if shape is not None and guaranteed == LEAST_CIR:
            guaranteed = None
        return Scheduler(
            {"DWRR": "dwrr", "STRICT": "strict"}.get(kind or "WRR", "wrr"),  # type: ignore[arg-type]
            weight=row.number("weight", 1, 100),
            shape=None if shape is None else 8 * shape,
            guaranteed=None if guaranteed is None else 8 * guaranteed,
            name=row.key,
            source=row.source(),
        )

    def _allotment(self, row: Entry) -> Allotment:
        reserved, exponent = row.number("size"), row.number("dynamic_th", -8, 7)
        limit = row.number("static_th")
        if exponent is not None and limit is not None:
            limit = None
            row.refuse("static_th", "it is given beside dynamic_th, and one profile has one of them")
        return Allotment(
            pool=row.reference("pool"),
            reserved=None if reserved is None else Threshold.of_bytes(reserved),
            alpha=None if exponent is None else Fraction(2) ** exponent,
            limit=None if limit is None else Threshold.of_bytes(limit),
            trims=row.choice("packet_discard_action", "drop", "trim") == "trim",
            name=row.key,
            source=row.source("dynamic_th" if exponent is not None else "static_th"),
        )

    def _pool(self, row: Entry) -> Pool:
        direction = row.choice("type", "ingress", "egress", "both")
        percent, size = row.number("percentage", most=100), row.number("size")
        if percent is None and "size" not in row.fields:
            self._say_no_size(row)
        return Pool(
            row.key,
            direction or "both",  # type: ignore[arg-type]
            size=size,
            percent=None if percent is None else Fraction(percent),
            dynamic=row.choice("mode", "static", "dynamic") != "static",
            headroom=row.number("xoff"),
            source=row.source("size"),
        )

    def _say_no_size(self, row: Entry) -> None:
        """Report a pool without a size: as a default if the switch computes sizes, otherwise as a note."""
        meta = self.tables.row("DEVICE_METADATA", "localhost")
        if meta and meta.text("buffer_model") == "dynamic":
            self.defaults.append(Default(f"size of pool {row.key}", "the switch computes it", "buffermgrdyn"))
        else:
            # SAI's saibuffer.h: SAI_BUFFER_POOL_ATTR_SIZE is MANDATORY_ON_CREATE.
            row.note("pool-without-size", f"pool {row.key} has no size")

    def _say_odd_references(self) -> None:
        """Report references in brackets and empty references, one note for each distinct value."""
        found: dict[tuple[str, str], list[Entry]] = {}
        for row in self.tables.about_queues():
            for name, text in row.odd_references.items():
                found.setdefault((name, text), []).append(row)
        for (name, text), rows in found.items():
            what = f"{name} is {quoted(text)} in {len(rows):,} row{'s' if len(rows) > 1 else ''}"
            code = "bracketed-reference" if text else "empty-reference"
            self.tables.notes.append(Note(code, what, rows[0].source(name)))

    def _port(self, name: str) -> _Port:
        return self.ports.setdefault(name, _Port())

    def _port_tables(self) -> None:
        for row in self.tables.rows("PORT"):
            port = self._port(row.key)
            speed = row.number("speed", 1, 10**8)
            port.rate = None if speed is None else speed * 10**6
            port.mtu = row.number("mtu", 64, 1 << 16)
        for row in self.tables.rows("CABLE_LENGTH"):
            self._cable_row(row)
        for row in self.tables.rows("QUEUE"):
            self._queue_row(row, {"scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE"})
        for row in self.tables.rows("BUFFER_QUEUE"):
            self._queue_row(row, {"profile": "BUFFER_PROFILE"})
        for row in self.tables.rows("BUFFER_PG"):
            self._group_row(row)
        for table in _LISTS:
            for row in self.tables.rows(table):
                self._list_row(row)
        for row in self.tables.rows("PORT_QOS_MAP"):
            self._map_row(row)

    def _cable_row(self, row: Entry) -> None:
        for name in row.fields:
            metres = metres_of(row.text(name) or "")
            if metres is None:
                row.refuse(name, "it is no length in metres")
            else:
                self._port(name).cable = metres

    def _queue_row(self, row: Entry, tables: dict[str, str]) -> None:
        *parts, last = row.parts
        numbers = numbers_of(last)
        if numbers is None or not ports_of("|".join(parts)):
            row.note("not-valid", "its key names no port and queue")
            return
        names = {name: self._known(row, name, table) for name, table in tables.items() if name in row.fields}
        source = row.source(next(iter(names), ""))
        for port in ports_of("|".join(parts)):
            for number in numbers:
                found = self._port(port).queues[number]
                found.update({name: value for name, value in names.items() if value is not None})
                self._port(port).sources.setdefault(("queue", number), source)

    def _group_row(self, row: Entry) -> None:
        *parts, last = row.parts
        numbers = numbers_of(last)
        if numbers is None or not ports_of("|".join(parts)):
            row.note("not-valid", "its key names no port and priority group")
            return
        profile = row.reference("profile")
        if profile == "NULL":
            self.defaults.append(
                Default(
                    f"headroom of {row.key}", "the switch computes it from speed and cable", "buffermgrdyn"
                )
            )
        else:
            profile = self._known(row, "profile", "BUFFER_PROFILE")
        source = row.source("profile")
        for port in ports_of("|".join(parts)):
            for number in numbers:
                self._port(port).groups[number] = profile or ""
                self._port(port).sources["group", number] = source

    def _list_row(self, row: Entry) -> None:
        if not ports_of(row.key):
            row.note("not-valid", "its key names no port")
            return
        text = row.text("profile_list")
        if text is None:
            return
        if "[" in text:
            row.odd_references["profile_list"] = text
        names = [name.strip().strip("[]").rpartition("|")[2] for name in text.split(",")]
        if unknown := [name for name in names if self.tables.row("BUFFER_PROFILE", name) is None]:
            row.refuse("profile_list", f"there is no BUFFER_PROFILE {', '.join(unknown)}")
            return
        self.used |= {("BUFFER_PROFILE", name) for name in names}
        for port in ports_of(row.key):
            self._port(port).limits += names

    def _map_row(self, row: Entry) -> None:
        if not ports_of(row.key):
            row.note("not-valid", "its key names no port")
            return
        maps = {
            name: self._known(row, name, table) for name, (table, _) in MAPS.items() if name in row.fields
        }
        found = {name: value for name, value in maps.items() if value is not None}
        pfc = numbers_of(row.text("pfc_enable") or "")
        if pfc is None and row.text("pfc_enable"):
            row.refuse("pfc_enable", "these are no priorities")
        if row.key == "global":
            self.maps_of_all |= found
            return
        for name in ports_of(row.key):
            port = self._port(name)
            port.maps |= found
            port.pfc = tuple(sorted(pfc or ()))

    def _known(self, row: Entry, name: str, table: str) -> str | None:
        """Return the row of another table that a field refers to; None if it does not exist."""
        key = row.reference(name)
        if not key:
            # Nothing is bound; two notes (`empty-reference`, `bracketed-reference`) explain why.
            return None
        if self.tables.row(table, key) is None:
            if table in self.tables:
                row.refuse(name, f"there is no {table} {key}")
            else:
                row.refuse(name, f"{key} is not among these files: none has a table {table}")
            return None
        self.used.add((table, key))
        return key

    def _profiles(
        self, schedulers: dict[str, Scheduler], allotments: dict[str, Allotment]
    ) -> tuple[PortProfile, ...]:
        alike: dict[tuple[object, ...], list[str]] = {}
        for name, port in self.ports.items():
            port.maps = self.maps_of_all | port.maps
            alike.setdefault(port.signature(), []).append(name)
        return tuple(
            self._profile(tuple(names), self.ports[names[0]], schedulers, allotments)
            for names in alike.values()
        )

    def _profile(
        self,
        names: tuple[str, ...],
        port: _Port,
        schedulers: dict[str, Scheduler],
        allotments: dict[str, Allotment],
    ) -> PortProfile:
        maps = Maps(**{of: self._pairs(table, port.maps.get(name)) for name, (table, of) in MAPS.items()})
        paused = dict(maps.pfc_to_queue)
        lossless = {paused.get(priority, priority) for priority in port.pfc}
        queues = [
            Queue(
                number,
                schedulers.get(told.get("scheduler", "")),
                told.get("wred_profile"),
                allotments.get(told.get("profile", "")),
                number in lossless,
                source=port.sources.get(("queue", number), Source()),
            )
            for number, told in sorted(port.queues.items())
        ]
        groups = [self._group(port, number, key, allotments) for number, key in sorted(port.groups.items())]
        limits = tuple(allotments[name] for name in port.limits)
        return PortProfile(
            names,
            port.rate,
            tuple(queues),
            tuple(groups),
            port.pfc,
            maps,
            port.cable,
            port.mtu,
            limits=limits,
        )

    def _group(self, port: _Port, number: int, key: str, allotments: dict[str, Allotment]) -> PriorityGroup:
        if key not in self.sizes:
            row = self.tables.row("BUFFER_PROFILE", key)
            sizes = [row.number(name) if row else None for name in ("xoff", "xon", "xon_offset")]
            self.sizes[key] = tuple(None if size is None else Threshold.of_bytes(size) for size in sizes)
        xoff, xon, offset = self.sizes[key]
        return PriorityGroup(
            number,
            allotments.get(key),
            xoff,
            xon,
            offset,
            source=port.sources.get(("group", number), Source()),
        )

    def _pairs(self, table: str, key: str | None) -> tuple[tuple[int, int], ...]:
        """Return the pairs of a map; the result is cached, because many ports use the same map."""
        if (table, key) not in self.pairs:
            self.pairs[table, key] = self._pairs_of(table, key)
        return self.pairs[table, key]

    def _pairs_of(self, table: str, key: str | None) -> tuple[tuple[int, int], ...]:
        row = self.tables.row(table, key)
        if row is None:
            return ()
        pairs = {}
        for name in row.fields:
            of, to = whole(name.strip(), most=MOST_NUMBERS), row.number(name, most=MOST_NUMBERS)
            if of is None:
                row.refuse(name, f"{quoted(name)} is no number of a class or priority")
            elif to is not None:
                pairs[of] = to
        return tuple(sorted(pairs.items()))

    def _settings(self) -> tuple[Setting, ...]:
        """Return the fields that become a `Setting`; equal settings of several ports are merged."""
        found: dict[tuple[str, str], list[Entry]] = {}
        for table, name in SETTINGS.items():
            for row in self.tables.rows(table):
                for of in row.fields:
                    if (text := row.text(of)) is not None:
                        found.setdefault((f"{name}.{of.lower()}", text), []).append(row)
        for row in self.tables.rows("PORT_QOS_MAP"):
            if ports_of(row.key) and (text := row.text("pfcwd_sw_enable")) is not None:
                found.setdefault(("pfc-watchdog.priorities", text), []).append(row)
        settings = [
            Setting(name, value, ",".join(row.key for row in rows), rows[0].source())
            for (name, value), rows in found.items()
        ]
        return tuple(sorted(settings, key=lambda each: (each.name, each.scope)))

    def _say_defaults(self, profiles: Sequence[PortProfile]) -> None:
        if "WRED_PROFILE" in self.tables:
            self.defaults.append(
                Default("weight of all profiles", "0: they mark by the backlog itself", SWSS)
            )
        refused = {each.scope.queue for each in self.tables.unread() if each.place.endswith(" wred_profile")}
        unmarked = sorted(
            {queue.number for profile in profiles for queue in profile.queues if not queue.marking} - refused
        )
        if unmarked and "QUEUE" in self.tables:
            numbers = ", ".join(map(str, unmarked))
            self.defaults.append(
                Default(
                    f"marking of queues {numbers} of some ports", "none: tail drop at the limit", QOS_CONFIG
                )
            )
        if "QUEUE" in self.tables and "WRED_PROFILE" not in self.tables:
            self.defaults.append(Default("WRED_PROFILE", "no queue marks", QOS_CONFIG))
        if "PORT" not in self.tables:
            self.defaults.append(Default("speed of the ports", "not in these files; --rate says it"))
        if "BUFFER_POOL" not in self.tables:
            self.defaults.append(
                Default("BUFFER_POOL and BUFFER_PROFILE", "not in these files: the SKU's own")
            )
