"""Types of the values in `expected.toml`: each type has a test of values, and a requirement in words."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

Rule = tuple[Callable[[Any], bool], str]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether the value is a finite number of at most 64 bits, and not `inf` or `nan`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 2**63 if isinstance(value, int) else math.isfinite(value)


def _is_factor(value: Any) -> bool:
    return is_number(value) and value >= 1


def _is_share(value: Any) -> bool:
    return is_number(value) and value >= 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def is_place(value: Any) -> bool:
    """Return whether the value is a number, a size, a number of packets, or a time.

    >>> is_place(0.4), is_place("325KB"), is_place("20p"), is_place("2ms"), is_place("soon")
    (True, True, True, True, False)
    """
    if isinstance(value, str):
        return bool(re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,18})?([KMGT]?B|[KMG]iB|p|ps|ns|us|ms|s)", value))
    return is_number(value)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list_of(each: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(each, value))


def _is_point(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and is_place(value[0]) and is_number(value[1])


def _is_table_of_lists(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(kept, list) for kept in value.values())


def _is_table_of_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


TEXT: Rule = (_is_text, "a string")
FLAG: Rule = (_is_flag, "true or false")
NUMBER: Rule = (is_number, "a finite number")
SHARE: Rule = (_is_share, "a finite number of at least 0")
FACTOR: Rule = (_is_factor, "a finite number of at least 1")
COUNT: Rule = (_is_count, "a whole number of at least 0")
PLACE: Rule = (is_place, "a number, a size such as 325KB or 20p, or a time such as 2ms")
PLACES: Rule = (_is_list_of(is_place), "a list of numbers, sizes or times")
TEXTS: Rule = (_is_list_of(_is_text), "a list of strings")
TABLE: Rule = (_is_table, "a table")
LISTS: Rule = (_is_table_of_lists, "a table of lists, such as { seed = [1] }")

MOST_DILATED = 10_000
"""Largest dilation: factor by which network time may pass more slowly than wall time."""

EXPERIMENT: Mapping[str, Rule] = {
    "figures": TEXTS,
    "scenario": TEXT,
    "set": TABLE,
    "only": LISTS,
    "axis": TEXT,
    "show": TEXTS,
    "normalised": TABLE,
    "draw": (_is_list_of(_is_table), "a list of tables"),
    "quick": TABLE,
    "runs": FLAG,
    "like": TEXT,
    "causes": (_is_table_of_texts, "a table of strings"),
    "testbed": (
        lambda value: _is_count(value) and 1 <= value <= MOST_DILATED,
        "a whole number from 1 to 10000",
    ),
}
QUICK: Mapping[str, Rule] = {"set": TABLE, "only": LISTS}
DRAWING: Mapping[str, Rule] = {
    "figure": TEXT,
    "where": TABLE,
    "ports": TEXTS,
    "flows": (_is_list_of(_is_count), "a list of numbers of flows"),
    "metrics": TEXTS,
    "rows": TEXT,
    "baseline": TABLE,
    "ideal": FLAG,
    "beside": TEXTS,
}
CLAIM: Mapping[str, Rule] = {
    **dict.fromkeys(("id", "experiment", "kind", "metric", "source", "because", "cause"), TEXT),
    **dict.fromkeys(("where", "versus", "lower", "higher"), TABLE),
    **dict.fromkeys(("change", "extreme"), TEXT),
    **dict.fromkeys(("relative", "absolute"), SHARE),
    "factor": FACTOR,
    "expected": PLACE,
    "points": (_is_list_of(_is_point), "a list of pairs: a place on the axis and a number"),
    **dict.fromkeys(("at", "over"), PLACES),
    "level": NUMBER,
    "steps": COUNT,
    "quick": FLAG,
}
