"""Formats of run folders that this version reads, and the keys that a later format renamed."""

from collections.abc import Mapping
from typing import Any

FORMAT = 4
"""Format of the run folders that this version writes; increases when a key or column changes its name."""

READABLE = (3, FORMAT)
"""Formats of the run folders that this version reads."""

SUMMARY = {
    "flows.endless": "unbounded",
    "loss_rate_in_cards": "loss_rate_in_nics",
    "packets.dropped_in_cards": "dropped_in_nics",
    "packets.dropped_data_in_cards": "dropped_data_in_nics",
}
"""Dictionary that maps each path of `summary.json` that format 4 renamed to its new last part."""

SCENARIO = {"switch.buffer.private": "reserved", "switch.buffer.private_rule": "reserved_rule"}
"""Dictionary that maps each path of `resolved.json` that format 4 renamed to its new last part."""


def rename(document: dict[str, Any], renamed: Mapping[str, str]) -> None:
    """Replace the old keys of a document, in place.

    Parameters
    ----------
    document
        A document of a run, of any format.
    renamed
        Dictionary that maps each old path to its new last part.

    Examples
    --------
    >>> summary = {"packets": {"dropped_in_cards": 3}}
    >>> rename(summary, SUMMARY)
    >>> summary
    {'packets': {'dropped_in_nics': 3}}
    """
    for path, new in renamed.items():
        *parents, old = path.split(".")
        place: Any = document
        for key in parents:
            place = place.get(key) if isinstance(place, dict) else None
        if isinstance(place, dict) and old in place:
            place[new] = place.pop(old)
