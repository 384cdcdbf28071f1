"""What single numbers decide, and where their edges are: each is worked out by hand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import shallows as sh
from shallows.errors import ShallowsError
from shallows.reproduction.expected import Claim
from shallows.sweeps.points import Shard


def invented(**found: Any) -> sh.Run:
    """A run that never was and has these tables."""
    return cast(sh.Run, SimpleNamespace(**{"path": Path("by-hand")} | found))


def claim(**keys: Any) -> Claim:
    """What a paper could claim."""
    return Claim(**{"id": "c", "experiment": "x", "kind": "value", "metric": "m", "source": "§1"} | keys)


def test_a_shard_is_every_nth_point_from_its_own_on() -> None:
    assert Shard.parse("2/3") == Shard(2, 3)
    points: Any = [*"abcdefg"]
    assert [*map(str, Shard(2, 3).of(points))] == ["b", "e"]
    for text in ("0/3", "4/3", "2/", "x/3", "2"):
        with pytest.raises(ShallowsError, match="is not a shard"):
            Shard.parse(text)
