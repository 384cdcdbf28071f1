"""Size bins of flows: completion times are reported for each bin."""

from collections.abc import Mapping, Sequence
from typing import Any

from shallows.quantity import parse_size, size


def bins(summary: Mapping[str, Any]) -> list[str]:
    """Return the names of the size bins: `all` first, then from small to large."""
    named = ["all", "small", "medium", "large"]

    def place(name: str) -> int:
        # Other bins are named after their edges in bytes: `0_to_1000`, `1000_to_5000`, `above_5000`.
        edges = [int(part) for part in name.split("_") if part.isdecimal()]
        return named.index(name) if name in named else len(named) + max(edges) + (name[0] == "a")

    return sorted(summary["fct_us"], key=place)


def edges_of(scenario: Mapping[str, Any]) -> list[str]:
    """Return the edges of the size bins of a resolved scenario, such as `100KB`."""
    return list(scenario.get("measure", {}).get("bins", []))


def defined(edges: Sequence[str]) -> str:
    """Define the names of size bins in words; empty if the bins are named by their edges.

    >>> defined(["100KB", "10MB"])
    'small ≤ 100 KB < medium ≤ 10 MB < large'
    """
    if len(edges) != 2:
        return ""
    low, high = (size(parse_size(edge)) for edge in edges)
    return f"small ≤ {low} < medium ≤ {high} < large"


def titled(name: str, edges: Sequence[str]) -> str:
    """Describe the flows of a size bin in words, with the edge of the bin.

    >>> [titled(name, ["100KB", "10MB"]) for name in ("small", "large", "all")]
    ['small flows (≤ 100 KB)', 'large flows (> 10 MB)', 'all flows']
    """
    flows = f"{name.replace('_', ' ')} flows"
    if len(edges) != 2 or name not in {"small", "medium", "large"}:
        return flows
    sign, edge = {"small": ("≤", edges[0]), "medium": ("≤", edges[1]), "large": (">", edges[1])}[name]
    return f"{flows} ({sign} {size(parse_size(edge))})"
