"""Tests of `sweep.where` and `sweep.exclude`, which select the points of a sweep."""

from pathlib import Path

import pytest

from shallows.errors import ScenarioError, ShallowsError
from shallows.runs.executing import execute
from shallows.runs.source import Source
from shallows.sweeps.conditions import Condition
from shallows.sweeps.merging import gather
from shallows.sweeps.points import Shard, plan
from shared import SMALL

AXES = ["red.kmin", "red.kmax", "red.pmax", "tcp.rto.min", "link.rate", "scheme", "seed", "delayed"]
LABELS = {
    "red.kmin": "90KB",
    "red.kmax": "0.09MB",
    "red.pmax": 0.3,
    "tcp.rto.min": "5ms",
    "link.rate": "10Gbps",
    "scheme": "Reno",
    "seed": 3,
    "delayed": True,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kmin <= kmax", True),
        ("kmin < kmax", False),
        ("kmin ≤ kmax ≤ 100KB", True),
        ("kmin <= kmax < 90KB", False),
        # 88 KiB are 90,112 bytes.
        ("kmin < 88KiB and kmax > '88000B'", True),
        ("kmin × 2 == 180KB and kmax ÷ kmin == 1 and kmin + 10KB − 5KB == 95KB", True),
        ("-kmin < kmax", True),
        # As written, not as doubles: 0.1 + 0.2 is above 0.3 there.
        ("0.1 + 0.2 == pmax", True),
        ("min < 5us or rate >= 10_000Mbps", True),
        ("not (scheme == 'Reno' and seed > 2)", False),
        ("scheme != 'reno'", True),
        ("delayed", True),
        ("not delayed or pmax > 1e-1", True),
        # The part after `or` is not evaluated if it cannot change the result.
        ("kmin == kmax or pmax / (pmax - 0.3) > 3", True),
    ],
)
def test_a_condition_is_what_it_says(text: str, expected: bool) -> None:
    assert Condition(text, AXES).holds(LABELS) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "kmean <= kmax",
            "unknown axis kmean; the names of axes are: delayed, kmax, kmin, min, pmax, rate, scheme, seed",
        ),
        ("kmin <=", "is not an expression"),
        ("__import__('os')", "unsupported expression"),
        ("kmin.real < 2", "unsupported expression"),
        ("pmax ** 2 < 1", "unsupported expression"),
        ("[kmin] == [kmax]", "unsupported expression"),
        ("(lambda: True)()", "unsupported expression"),
        ("kmin if delayed else kmax", "unsupported expression"),
        ("scheme in 'Reno'", "unsupported expression"),
        ("kmin is kmax", "unsupported expression"),
        ("kmin", "is not a condition"),
        ("kmin < 3", "cannot compare bytes with a number"),
        ("kmin < min", "cannot compare bytes with seconds"),
        ("kmin + min < kmax", "cannot add or subtract bytes and seconds"),
        ("kmin * kmax > 2", "cannot multiply bytes and bytes"),
        ("1 / kmin < 2", "cannot divide a number by bytes"),
        ("kmin / (kmax - kmax) < 2", "the condition divides by zero"),
        ("scheme < 'Tahoe'", "cannot compare"),
        ("scheme + 1 < 2", "scheme must be a number or a quantity"),
        ("pmax and delayed", "pmax is not a condition"),
        ("pmax < 1e999", "neither a quantity nor a name"),
        ("-" * 70 + "pmax < 1", "nested at most 60 levels deep"),
        ("(" * 240 + "pmax < 1" + ")" * 240, "is not an expression"),
        ("pmax < 1 or " * 60 + "delayed", "at most 500 characters"),
        ("pmax < 1\nimport os", "is not an expression"),
        ("", "is not an expression"),
    ],
)
def test_what_is_no_condition_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        assert Condition(text, AXES).holds(LABELS) is None


def test_a_condition_has_at_most_500_characters_and_60_levels() -> None:
    blank = " " * (500 - len("n > 1"))
    assert Condition("n > 1" + blank, ["n"]).holds({"n": 2})
    with pytest.raises(ValueError, match="at most 500 characters"):
        Condition("n > 1 " + blank, ["n"])
    # The comparison is the outermost part, the name within 59 signs the 61st.
    assert Condition("-" * 59 + "n < 1", ["n"]).holds({"n": 2})
    with pytest.raises(ValueError, match="nested at most 60 levels deep"):
        Condition("-" * 60 + "n < 1", ["n"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b == b and b != name", True),
        ("name == 90KB", False),
        ("name != 90KB", True),
        ("size == 'none'", False),
        ("name == 'none' and name != 'some'", True),
        ("not b or n - 1 == +1", True),
        ("b and n > 1", True),
        ("n > 2 or n < 2 or b", True),
        ("n >= 2 and n <= 2 and not n != 2", True),
        ("2 * size / size == 4 - n", True),
        ("size * 2 > size and size / 3 < size", True),
        ("size - 10KB > 79KB and size + 10KB < 101KB", True),
        ("90_000B == size and 9e4 == 90e3", True),
        ("1.5KB < size and 1e-3s == 1ms", True),
        ("-n < -1 and -(n - 3) == 1", True),
        ("size ÷ 45KB == n", True),
        ("2 × size == 180KB", True),
        # A row of comparisons holds if all neighbours do.
        ("1 < n < 2", False),
        ("n > 1 < 2", True),
        ("n > 2 < 3", False),
        # The rest is not evaluated once the result is decided.
        ("b or n", True),
        ("not b and n", False),
    ],
)
def test_truths_names_and_quantities_are_compared(text: str, expected: bool) -> None:
    labels = {"b": True, "n": 2, "size": "90KB", "name": "none"}
    assert Condition(text, [*labels]).holds(labels) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b < b", "cannot compare true or false with true or false"),
        ("name < name", 'cannot compare "none" with "none"'),
        ("b == n", "cannot compare true or false with a number"),
        ("name < 3", 'cannot compare "none" with a number'),
        ("size > b", "cannot compare bytes with true or false"),
        ("size > n", "cannot compare bytes with a number"),
        ("n / size > 1", "cannot divide a number by bytes"),
        ("size / rate > 1", "cannot divide bytes by"),
        ("n / (n - 2) > 1", "the condition divides by zero"),
        ("size * size > 1", "cannot multiply bytes and bytes"),
        ("n - size > 1", "cannot add or subtract a number and bytes"),
        ("not n", "n is not a condition"),
    ],
)
def test_values_of_different_kinds_are_refused(text: str, message: str) -> None:
    labels = {"b": True, "n": 2, "size": "90KB", "name": "none", "rate": "1Gbps"}
    with pytest.raises(ValueError, match=message):
        Condition(text, [*labels]).holds(labels)


def test_an_axis_has_a_short_name_if_its_last_word_is_an_identifier() -> None:
    names = Condition("True", ["red.k_min", "workload.0", "scheme"]).names
    assert names == {"k_min": ["red.k_min"], "scheme": ["scheme"]}
    assert Condition("'a' == \"a\"", []).holds({})
    with pytest.raises(ValueError, match="unknown axis n; the names of axes are: none"):
        Condition("n > 1", [])


def test_an_axis_that_ends_as_another_needs_a_name_of_its_own() -> None:
    with pytest.raises(ValueError, match=r"k is ambiguous \(markers\.0\.k or markers\.1\.k\): rename one"):
        Condition("k < 3KB", ["markers.0.k", "markers.1.k"])
    assert Condition("low < high", ["low", "high"]).holds({"low": 1, "high": 2})


CORNERS = """
[sweep]
{}
[sweep.axes]
"switch.markers.0.kmin" = ["20KB", "60KB"]
"switch.markers.0.kmax" = ["20KB", "0.06MB"]
seed = [1, 2]
"""
RED = SMALL.replace(
    '{ kind = "threshold", scope = "queue", k = "65KB" }',
    '{ kind = "red", scope = "queue", kmin = "5KB", kmax = "200KB", pmax = 0.1 }',
)


def points(conditions: str) -> list[tuple[str, str, int]]:
    _, found = plan(Source("x.toml", RED + CORNERS.format(conditions)), None)
    return [tuple(point.source.labels.values()) for point in found]


def test_a_sweep_has_only_the_points_that_remain() -> None:
    with pytest.raises(ScenarioError, match="kmax"):
        points("")  # one corner cannot run, so that without the condition nothing does
    corners = [("20KB", "20KB"), ("20KB", "0.06MB"), ("60KB", "0.06MB")]
    expected = [(*corner, seed) for corner in corners for seed in (1, 2)]
    assert points('where = "kmin <= kmax"') == expected
    assert points('exclude = "kmin > kmax"') == expected
    both = 'where = ["kmin <= kmax", "seed == 1"]\nexclude = "kmin == 60KB"'
    assert points(both) == [("20KB", "20KB", 1), ("20KB", "0.06MB", 1)]
    _, found = plan(Source("x.toml", RED + CORNERS.format('where = "kmin <= kmax"')), None)
    shards = [[point.folder for point in Shard(index, 2).of(found)] for index in (1, 2)]
    assert sorted(shards[0] + shards[1]) == sorted(point.folder for point in found)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        (
            'where = "kmin <= kma"',
            "x.toml: sweep.where: unknown axis kma; the names of axes are: kmax, kmin, seed",
        ),
        ('exclude = "kmin > 3"', "sweep.exclude: at kmin 20KB, kmax 20KB, seed 1: cannot compare bytes with"),
        ("where = 3", "sweep.where: must be a condition such as"),
        ('where = "kmin > 1MB"', "sweep.where and sweep.exclude remove all points"),
    ],
)
def test_a_wrong_condition_names_its_key(conditions: str, message: str) -> None:
    with pytest.raises(ShallowsError) as refused:
        points(conditions)
    assert message in str(refused.value)


def test_shards_and_their_merging_see_what_remains(tmp_path: Path) -> None:
    table = '[sweep]\naxes = { "workload.0.load" = [0.3, 0.6], seed = [1, 2] }\nwhere = "load < 0.5"\n'
    source = Source("x.toml", SMALL.replace("flows = 60", "flows = 5") + table)
    for index in (1, 2):
        _, found = plan(source, tmp_path / str(index))
        for point in Shard(index, 2).of(found):
            execute(point.source, point.source.parse(), point.folder)
    _, found = plan(source, tmp_path / "whole")
    assert [point.source.labels for point in found] == [
        {"workload.0.load": 0.3, "seed": seed} for seed in (1, 2)
    ]
    missing, problems = gather(found, [tmp_path / "1", tmp_path / "2"], tmp_path / "whole")
    assert (missing, problems) == ([], [])
    # The same command finds them, and nothing is left to run.
    assert all(point.is_finished for point in plan(source, tmp_path / "whole")[1])
