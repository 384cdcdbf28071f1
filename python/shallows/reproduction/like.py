"""Variants of experiments, which inherit the claims of the original."""

from collections.abc import Mapping, Sequence
from typing import Any

from shallows.bounded import quoted

OWN = {"like", "causes"}
"""Keys that only a variant has."""


def completed(name: str, tables: Mapping[str, Any]) -> dict[str, Any]:
    """Complete a variant's table from the experiment that its key `like` names.

    Tables of other experiments are returned unchanged.

    Raises
    ------
    ValueError
        If the named experiment does not exist or is itself a variant, or if `causes` is set without `like`.
    """
    table: dict[str, Any] = tables[name]
    if not isinstance(table, dict) or not table.keys() & OWN:
        return table
    if "like" not in table:
        raise ValueError("the key causes requires the key like")
    other = tables.get(table["like"]) if isinstance(table["like"], str) else None
    if not isinstance(other, dict) or "like" in other:
        known = [each for each, told in tables.items() if isinstance(told, dict) and "like" not in told]
        raise ValueError(f"like must be one of {', '.join(known)}, got {quoted(str(table['like']))}")
    made = {**other, **{key: value for key, value in table.items() if key not in OWN}}
    made["set"] = {**other.get("set", {}), **table.get("set", {})}
    return made


def claims(name: str, table: Mapping[str, Any], listed: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the claims that a variant inherits, with causes only from the variant's own table `causes`.

    Raises
    ------
    ValueError
        If `causes` names an unknown claim.
    """
    like: str = table["like"]
    causes = dict(table.get("causes", {}))
    theirs = [each for each in listed if isinstance(each, dict) and each.get("experiment") == like]
    made = []
    for claim in theirs:
        given = str(claim.get("id", ""))
        mine = {key: value for key, value in claim.items() if key != "cause"}
        mine |= {"id": f"{name}-{given.removeprefix(f'{like}-')}", "experiment": name}
        if given in causes:
            mine["cause"] = causes.pop(given)
        made.append(mine)
    if causes:
        known = ", ".join(str(claim.get("id")) for claim in theirs)
        raise ValueError(f"causes: {like} has no claim {quoted(next(iter(causes)))}; expected one of {known}")
    return made
