"""Tests of the points of a sweep: the `[sweep]` table, shards, the index, and finished points."""

import json
from pathlib import Path
from typing import Any

import pytest

from shallows.errors import ScenarioError, ShallowsError
from shallows.runs import index
from shallows.runs.manifest import stamp
from shallows.runs.source import Source
from shallows.sweeps import points
from shallows.sweeps.points import Outcome, Point, Shard, plan
from shared import SMALL, seal, write_run

AXIS = '[sweep]\naxes = { "workload.0.load" = [0.3, 0.6], seed = [1, 2] }\n'
SCHEME = '[[sweep.scheme]]\nname = "{}"\nset = {{ "tcp.initial_window" = {} }}\n'


def planned(table: str, *overrides: tuple[str, str]) -> list[Point]:
    """Return the points of a small scenario with this `[sweep]` table."""
    return plan(Source("x.toml", SMALL + table, overrides), Path("out"))[1]


def places(table: str) -> list[tuple[Any, ...]]:
    """Return each point's values on the axes of this `[sweep]` table."""
    return [tuple(point.source.labels.values()) for point in planned(table)]


@pytest.mark.parametrize(("text", "index", "count"), [("1/1", 1, 1), ("2/3", 2, 3), ("3/3", 3, 3)])
def test_a_shard_is_written_as_its_number_of_their_count(text: str, index: int, count: int) -> None:
    assert Shard.parse(text) == Shard(index, count)


@pytest.mark.parametrize("text", ["0/1", "2/1", "0/3", "4/3", "1", "1/", "/1", "-1/3", "1/x", "a/b"])
def test_a_shard_outside_of_its_count_is_refused(text: str) -> None:
    with pytest.raises(ShallowsError, match=f"a shard must be I/N .*, got '{text}'"):
        Shard.parse(text)


@pytest.mark.parametrize(
    ("shard", "expected"),
    [(Shard(1, 3), "adg"), (Shard(2, 3), "be"), (Shard(3, 3), "cf"), (Shard(1, 1), "abcdefg")],
)
def test_a_shard_has_every_nth_point_from_its_own_number(shard: Shard, expected: str) -> None:
    seven: Any = [*"abcdefg"]
    assert shard.of(seven) == [*expected]


def test_points_of_schemes_and_axes_are_ordered_scheme_first_and_last_axis_fastest() -> None:
    assert places(AXIS) == [(0.3, 1), (0.3, 2), (0.6, 1), (0.6, 2)]
    assert places("[sweep]\n" + SCHEME.format("a", 5)) == [("a",)]
    both = places(AXIS + SCHEME.format("a", 5) + SCHEME.format("b", 6))
    assert both == [(name, *at) for name in "ab" for at in places(AXIS)]


def test_a_point_is_unfinished_in_a_folder_of_its_sweep() -> None:
    [alone] = planned("[sweep]\n" + SCHEME.format("a", 5))
    assert (alone.is_finished, alone.folder.parent) == (False, Path("out"))
    # By default, the folder is named after the scenario.
    assert plan(Source("x.toml", SMALL + AXIS), None)[0] == Path("runs/small")


def test_a_scheme_is_set_before_the_axes_and_the_command_line_last() -> None:
    first = planned(AXIS + SCHEME.format("a", 5), ("tcp.initial_window", "7"))[0]
    assert first.source.overrides == (
        ("tcp.initial_window", "5"),
        ("workload.0.load", "0.3"),
        ("seed", "1"),
        ("tcp.initial_window", "7"),
    )
    assert json.loads(first.source.parse().resolved())["tcp"]["initial_window"] == 7


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[sweep]\naxes = {}\n", "the [sweep] table must have axes or schemes"),
        ("[sweep]\naxes = { seed = [] }\n", "sweep.axes must be a table of lists"),
        ('[sweep]\naxes = { seed = [1], "workload.0.load" = 3 }\n', "sweep.axes must be a table of lists"),
        ("[sweep]\naxes = [1]\n", "sweep.axes must be a table of lists"),
        ("[sweep]\nscheme = 3\n", "each [[sweep.scheme]] must have exactly two keys"),
        ('[[sweep.scheme]]\nname = " "\nset = {}\n', "each [[sweep.scheme]] must have exactly two keys"),
        ("[[sweep.scheme]]\nname = 3\nset = {}\n", "each [[sweep.scheme]] must have exactly two keys"),
        ('[[sweep.scheme]]\nname = "a"\nset = 3\n', "each [[sweep.scheme]] must have exactly two keys"),
        (
            '[[sweep.scheme]]\nname = "a"\nset = {}\nmore = 1\n',
            "each [[sweep.scheme]] must have exactly two keys",
        ),
        (AXIS + SCHEME.format("a", 5) + SCHEME.format("a", 6), 'two schemes have the name "a"'),
        ("[sweep]\naxes = { seed = [1, 2] }\ntogether = 3\n", "sweep.together must have tables of keys"),
        (
            "[sweep]\naxes = { seed = [1] }\ntogether = { seed = 3 }\n",
            "sweep.together must have tables of keys",
        ),
        (
            '[sweep]\naxes = { a = [1, 2] }\ntogether = { a = { seed = [1, 2], "tcp.x" = [3] } }\n',
            "sweep.together.a: tcp.x must have one value for each value of the axis a",
        ),
        (
            "[sweep]\naxes = { a = [1] }\ntogether = { a = { seed = 3 } }\n",
            "seed must have one value for each value of the axis a",
        ),
        (AXIS + "where = 3\n", "sweep.where: must be a condition such as"),
        (AXIS + 'exclude = ["seed > 1", 3]\n', "sweep.exclude: must be a condition such as"),
        (
            AXIS + 'where = "speed > 1"\n',
            "sweep.where: unknown axis speed; the names of axes are: load, seed",
        ),
        (AXIS + 'where = "scheme == 3"\n', "sweep.where: unknown axis scheme"),
        (AXIS + 'where = "seed > load + 1KB"\n', "cannot add or subtract a number and bytes"),
        (AXIS + 'where = "seed > 2"\n', "sweep.where and sweep.exclude remove all points"),
        ("", "has no [sweep] table"),
    ],
)
def test_a_sweep_table_of_the_wrong_shape_is_refused(table: str, message: str) -> None:
    with pytest.raises(ShallowsError) as caught:
        planned(table)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (['where = "seed < 2"'], [(0.3, 1), (0.6, 1)]),
        (['exclude = "seed < 2"'], [(0.3, 2), (0.6, 2)]),
        (['where = ["seed < 2", "load < 0.5"]'], [(0.3, 1)]),
        (['exclude = ["seed < 2", "load < 0.5"]'], [(0.6, 2)]),
        (['where = "seed < 2"', 'exclude = "load < 0.5"'], [(0.6, 1)]),
    ],
)
def test_points_remain_that_every_where_and_no_exclude_selects(
    conditions: list[str], expected: list[tuple[float, int]]
) -> None:
    assert places(AXIS + "\n".join(conditions) + "\n") == expected


def test_a_condition_may_select_a_scheme() -> None:
    schemes = SCHEME.format("a", 5) + SCHEME.format("b", 6)
    assert places(AXIS + "where = \"scheme == 'b' and seed == load + 0.7\"\n" + schemes) == [("b", 0.3, 1)]


LINES = SMALL.count("\n")
"""Number of lines before the `[sweep]` table; the axes are on the second line of the table."""


@pytest.mark.parametrize(
    ("table", "place"),
    [
        (AXIS.replace(".load", ".lod"), f"x.toml:{LINES + 2}: sweep.axes, workload.0.lod = 0.3: "),
        (
            AXIS + SCHEME.format("a", 5).replace("initial_window", "window"),
            f'x.toml:{LINES + 5}: scheme "a", tcp.window = 5: ',
        ),
        (
            '[sweep]\naxes = { pace = [1] }\n[sweep.together.pace]\n"tcp.window" = [5]\n',
            f"x.toml:{LINES + 4}: sweep.together.pace, tcp.window = 5: ",
        ),
        # An unquoted key has no line of its own.
        ("[sweep]\naxes = { sed = [3] }\n", "x.toml: sweep.axes, sed = 3: "),
    ],
)
def test_an_error_of_the_engine_names_the_line_that_sets_the_key(table: str, place: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        planned(table)
    assert str(caught.value).startswith(place)


def finished(folder: Path, **labels: Any) -> Point:
    """Return a point that has finished since it was planned."""
    point = Point(Source("x.toml", "", labels=labels), folder.name, folder, is_finished=False)
    folder.mkdir(parents=True)
    write_run(folder, {"seed": 1}, {"goodput_gbps": 1.0, "engine": {"events": 5, "wall_s": 1.0}})
    return point


def test_a_point_was_made_since_its_plan_if_its_folder_is_another_than_then(tmp_path: Path) -> None:
    new = finished(tmp_path / "new")
    assert (new.has_results, new.was_made_since()) == (True, True)
    old = Point(new.source, new.hash, new.folder, is_finished=True, stamp=stamp(new.folder))
    assert (old.has_results, old.was_made_since()) == (True, False)
    gone = Point(new.source, "gone", tmp_path / "gone", is_finished=False)
    assert (gone.has_results, gone.was_made_since()) == (False, False)
    other = Point(new.source, "other", new.folder, is_finished=False)
    assert (other.has_results, other.was_made_since()) == (False, False)
    assert [run.path for run in points.finished_runs([gone, new])] == [new.folder]


def test_an_outcome_is_of_a_new_run_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert not Outcome(finished(tmp_path / "new"), None, None).reused


def test_runs_are_in_the_order_of_their_sweep_or_else_by_name(tmp_path: Path) -> None:
    one, two = (finished(tmp_path / name, seed=name) for name in ("b", "a"))
    (tmp_path / ".c").mkdir()
    (tmp_path / ".c" / "env.json").write_text('{"hash": "c"}')
    (tmp_path / "notes").mkdir()
    assert index.inside_sweep(tmp_path) == [two.folder, one.folder]
    points.write_index(tmp_path, [one, two])
    assert index.inside_sweep(tmp_path) == [one.folder, two.folder]
    assert [labels for _, labels in index.points_of(tmp_path)] == [{"seed": "b"}, {"seed": "a"}]
    assert [run.path for run in index.runs_in(tmp_path)] == [one.folder, two.folder]
    assert [run.path for run in index.runs_in(one.folder)] == [one.folder]


def test_an_unfinished_point_is_missing_and_named_where_runs_are_read(tmp_path: Path) -> None:
    one, two = (finished(tmp_path / name, seed=name) for name in ("b", "a"))
    points.write_index(tmp_path, [one, two])
    assert index.missing_in(tmp_path) == []
    (two.folder / "manifest.json").unlink()
    assert index.missing_in(tmp_path) == ["seed a"]
    assert [run.path for run in index.finished_in(tmp_path)] == [one.folder]
    runs, problems = index.readable_in(tmp_path)
    assert ([run.path for run in runs], len(problems)) == ([one.folder], 1)
    with pytest.raises(ShallowsError) as caught:
        index.runs_in(tmp_path)
    assert str(two.folder) in caught.value.message


def test_a_finished_point_is_missing_among_other_runs(tmp_path: Path) -> None:
    both = [finished(tmp_path / name, seed=name) for name in ("a", "b")]
    points.write_index(tmp_path, both)
    runs, _ = index.readable_in(tmp_path)
    assert index.missing_in(tmp_path, runs) == []
    assert index.missing_in(tmp_path, runs[:1]) == ["seed b"]


@pytest.mark.parametrize(
    "text", ["", "[]", "3", '{"points": 3}', '{"points": [{"folder": "a"}]}', '{"points": [3]}']
)
def test_a_damaged_index_has_no_points(text: str, tmp_path: Path) -> None:
    assert index.points_of(tmp_path) == []
    (tmp_path / "sweep.json").write_text(text)
    assert index.points_of(tmp_path) == []


def test_an_entry_of_an_index_without_a_folder_is_left_out(tmp_path: Path) -> None:
    two = [{"labels": {}, "folder": "a"}, {"labels": {}}]
    (tmp_path / "sweep.json").write_text(json.dumps({"points": two}))
    assert index.points_of(tmp_path) == [(tmp_path / "a", {})]


def test_a_changed_file_of_the_same_size_is_found_by_its_hash(tmp_path: Path) -> None:
    one = finished(tmp_path / "one")
    (one.folder / "flows.parquet").write_text("abc")
    seal(one.folder)
    (one.folder / "flows.parquet").write_text("abd")
    assert [len(found) for found in index.readable_in(tmp_path)] == [1, 0]
    assert [len(found) for found in index.readable_in(tmp_path, verify=True)] == [0, 1]
