"""The size bins of flows, by which completion times are told apart."""

from collections.abc import Mapping
from typing import Any


def bins(summary: Mapping[str, Any]) -> list[str]:
    """Names of the size bins from small to large, after that of all flows together."""
    named = ["all", "small", "medium", "large"]

    def place(name: str) -> int:
        # Other bins are called after their edges in bytes: `0_to_1000`, `1000_to_5000`, `above_5000`.
        edges = [int(part) for part in name.split("_") if part.isdecimal()]
        return named.index(name) if name in named else len(named) + max(edges) + (name[0] == "a")

    return sorted(summary["fct_us"], key=place)
