"""SONiC's tables from one or several JSON files, with a record of the values that were read."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from json import JSONDecodeError
from typing import Any

from shallows.advisor.configuration import Note, Scope, Source
from shallows.bounded import parse_json, quoted, whole
from shallows.errors import ShallowsError

LEAST_CIR = 1
"""Guaranteed rate in bytes/s that counts as none. `sonic-scheduler.yang` rejects a peak rate without a
guaranteed rate.
"""

REMEDY = (
    "name /etc/sonic/config_db.json, or the output of `sonic-cfggen -d --print-data`; "
    "render a template (.j2) first"
)

ABOUT_QUEUES = re.compile(
    r"QUEUE|BUFFER|WRED|SCHEDULER|PFC|DSCP|DOT1P|MPLS_TC|(^|_)TC_|QOS|CABLE_LENGTH|LOSSLESS|TRIMMING",
    re.ASCII,
)
"""Pattern of tables about queues; values that the reader does not use are listed as not understood."""

MAPS = {
    "dscp_to_tc_map": ("DSCP_TO_TC_MAP", "dscp_to_class"),
    "tc_to_queue_map": ("TC_TO_QUEUE_MAP", "class_to_queue"),
    "tc_to_pg_map": ("TC_TO_PRIORITY_GROUP_MAP", "class_to_group"),
    "pfc_to_queue_map": ("MAP_PFC_PRIORITY_TO_QUEUE", "pfc_to_queue"),
    "pfc_to_pg_map": ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "pfc_to_group"),
}
"""Fields of `PORT_QOS_MAP`, each with the table that it refers to and its field in `Maps`."""

SETTINGS = {
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": "lossless",
    "LOSSLESS_TRAFFIC_PATTERN": "lossless-traffic",
    "SWITCH_TRIMMING": "trimming",
    "PFC_WD": "pfc-watchdog",
}
"""Tables in which each field becomes a `Setting`, with the first part of the settings' names."""

MOST_ROWS = 1 << 19
"""Maximum number of rows of all tables: 4,096 ports with a hundred rows each."""

MOST_NUMBERS = 64
"""Largest number that identifies a queue, priority or class."""


@dataclass
class Entry:
    """One row of a table. Values that no method has returned are listed as not understood."""

    table: str
    key: str
    fields: dict[str, tuple[Any, str]]
    """Values with the names of their files."""

    notes: list[Note]
    taken: set[str] = field(default_factory=set)
    odd_references: dict[str, str] = field(default_factory=dict)
    """References in square brackets, and empty ones, by field."""

    @property
    def parts(self) -> list[str]:
        """Return the parts of the row's key, which are separated by bars."""
        return self.key.split("|")

    def source(self, name: str = "") -> Source:
        """Return the position of a field; without a name, the position of the row."""
        value, file = self.fields.get(name, (None, next((file for _, file in self.fields.values()), "")))
        text = "" if value is None else f"{name}: {value!r}"[:200]
        return Source(file, f"{self.table}|{self.key} {name}".strip(), text)

    def scope(self) -> Scope:
        """Return the port and the queue in a row's key; a field stays empty unless the key has just one."""
        if self.table not in ("QUEUE", "BUFFER_QUEUE", "BUFFER_PG", "PORT_QOS_MAP"):
            return Scope()
        *before, last = self.parts if self.table != "PORT_QOS_MAP" else (*self.parts, "")
        ports, numbers = ports_of("|".join(before)), numbers_of(last) or []
        queue = numbers[0] if len(numbers) == 1 and self.table.endswith("QUEUE") else None
        return Scope(ports[0] if len(ports) == 1 else "", queue=queue)

    def text(self, name: str) -> str | None:
        """Return a field's value without surrounding blanks; None if it is missing."""
        if name not in self.fields:
            return None
        value, _ = self.fields[name]
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            return None
        self.taken.add(name)
        if value != value.strip():
            self.note("value-with-blank", f"the value {quoted(value)} has blanks around it", name)
        return value.strip()

    def number(self, name: str, least: int = 0, most: int = 2**63 - 1) -> int | None:
        """Return a field as an integer; None if it is missing, or invalid and thus not understood."""
        text = self.text(name)
        if text is None:
            return None
        sign = -1 if text.startswith("-") else 1
        number = whole(text.removeprefix("-"))
        if number is None or not least <= sign * number <= most:
            self.refuse(name, f"{quoted(text)} is no whole number from {least} to {most}")
            return None
        return sign * number

    def choice(self, name: str, *values: str) -> str | None:
        """Return a field's value if it is one of these values, ignoring case; otherwise None."""
        text = self.text(name)
        if text is None:
            return None
        found = next((value for value in values if value.lower() == text.lower()), None)
        if found is None:
            self.refuse(name, f"{quoted(text)} is none of {', '.join(values)}")
        return found

    def reference(self, name: str) -> str | None:
        """Return the key that a field refers to; accepts the older form `[TABLE|ROW]`, and `[]` (no key)."""
        text = self.text(name)
        if text is None:
            return None
        if not text or text[0] == "[" or text[-1] == "]":
            self.odd_references[name] = text
        return text.strip("[]").rpartition("|")[2].strip()

    def refuse(self, name: str, why: str) -> None:
        """Mark a field as not understood, with the reason in a note."""
        self.taken.discard(name)
        self.note("not-valid", why, name)

    def note(self, code: str, what: str, name: str = "") -> None:
        """Record an observation about a field, which becomes a finding."""
        self.notes.append(Note(code, what, self.source(name)))


class Tables:
    """Rows of all tables in all files; if several files set a field, the last file counts."""

    def __init__(self, documents: Sequence[tuple[str, str]]) -> None:
        self.notes: list[Note] = []
        self.misshapen: list[Source] = []
        self._rows: dict[str, dict[str, Entry]] = {}
        count = 0
        for name, text in documents:
            tables = _tables(name, text)
            count += sum(len(rows) for rows in tables.values() if isinstance(rows, dict))
            if count > MOST_ROWS:
                raise ShallowsError(
                    f"the files up to {name} must have at most {MOST_ROWS:,} rows together",
                    "give the files of one switch only",
                )
            self._add(name, tables)

    def _add(self, file: str, tables: dict[str, Any]) -> None:
        for table, rows in tables.items():
            if not isinstance(rows, dict):
                self._skip(file, table, "", rows)
                continue
            for key, fields in rows.items():
                if not isinstance(fields, dict):
                    self._skip(file, table, key, fields)
                    continue
                entry = self._rows.setdefault(table, {}).setdefault(key, Entry(table, key, {}, self.notes))
                entry.fields |= {name: (value, file) for name, value in fields.items()}

    def _skip(self, file: str, table: str, key: str, value: object) -> None:
        if ABOUT_QUEUES.search(table):
            self.misshapen.append(Source(file, f"{table}|{key}".strip("|"), repr(value)[:200]))

    def __contains__(self, table: str) -> bool:
        return bool(self._rows.get(table))

    def rows(self, table: str) -> list[Entry]:
        """Return the rows of a table, in the order of the files."""
        return list(self._rows.get(table, {}).values())

    def row(self, table: str, key: str | None) -> Entry | None:
        """Return the row with this key."""
        return None if key is None else self._rows.get(table, {}).get(key)

    def about_queues(self) -> Iterator[Entry]:
        """Yield all rows of tables about queues and buffers."""
        for table, rows in self._rows.items():
            if ABOUT_QUEUES.search(table):
                yield from rows.values()

    def unread(self) -> tuple[Source, ...]:
        """Return the unread values about queues and buffers: values that no method has returned."""
        left = [
            replace(entry.source(name), scope=scope)
            for entry in self.about_queues()
            if not entry.fields.keys() <= entry.taken
            for scope in [entry.scope()]
            for name in entry.fields
            if name not in entry.taken
        ]
        return (*self.misshapen, *left)

    def understood(self) -> int:
        """Return the number of values that were read."""
        return sum(len(entry.taken) for entry in self.about_queues())


def _tables(name: str, text: str) -> dict[str, Any]:
    try:
        tables = parse_json(text)
    except JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ShallowsError(f"{name} is not JSON: {place}: {error.msg}", REMEDY) from None
    except ValueError as error:
        raise ShallowsError(f"{name} is not JSON: {error}", REMEDY) from None
    if re.search(r"\\u[dD][89a-fA-F]", text) and _halves(tables):
        raise ShallowsError(f"{name} is not JSON: a string has a lone surrogate", REMEDY)
    if not isinstance(tables, dict):
        raise ShallowsError(f"{name} must contain a JSON object of tables", REMEDY)
    return tables


def _halves(content: object) -> bool:
    """Return whether a document has unpaired surrogates, which UTF-8 cannot represent."""
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


def ports_of(text: str) -> list[str]:
    """Return the names of ports in a key.

    >>> ports_of("Ethernet0, Ethernet4")
    ['Ethernet0', 'Ethernet4']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def numbers_of(text: str) -> list[int] | None:
    """Parse numbers of queues or priorities, with commas and ranges; None if invalid.

    >>> numbers_of("0-2"), numbers_of("3,4"), numbers_of("4-3")
    ([0, 1, 2], [3, 4], None)
    """
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        low, high = whole(first, most=MOST_NUMBERS), whole(last if dash else first, most=MOST_NUMBERS)
        if low is None or high is None or low > high:
            return None
        numbers += range(low, high + 1)
    return numbers


def metres_of(text: str) -> Fraction | None:
    """Parse the length of a cable.

    >>> str(metres_of("300m"))
    '300'
    """
    number = whole(text.removesuffix("m").strip(), most=10**6)
    return None if number is None else Fraction(number)
