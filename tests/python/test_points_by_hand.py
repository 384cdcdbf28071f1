"""Which points a sweep has and which of them are there, and what its conditions say, at the edges."""

import json
from pathlib import Path
from typing import Any

import pytest

from shallows.errors import ScenarioError, ShallowsError
from shallows.runs.manifest import stamp
from shallows.runs.running import Source
from shallows.sweeps import merging, points
from shallows.sweeps.conditions import Condition
from shallows.sweeps.points import Outcome, Point, Shard, plan
from shared import SMALL, seal, write_run


def planned(table: str, *overrides: tuple[str, str]) -> list[Point]:
    """The points of a small sweep with this table."""
    return plan(Source("x.toml", SMALL + table, overrides), Path("out"))[1]


def test_a_shard_is_one_of_as_many_as_there_are() -> None:
    for text in ("1/1", "3/3"):
        assert Shard.parse(text).count == int(text[-1])
    for text in ("0/1", "2/1", "1", "1/", "/1", "-1/2", "1/x"):
        with pytest.raises(ShallowsError, match="is not a shard"):
            Shard.parse(text)


AXIS = '[sweep]\naxes = { "workload.0.load" = [0.3, 0.6], seed = [1, 2] }\n'
SCHEME = '[[sweep.scheme]]\nname = "{}"\nset = {{ "tcp.initial_window" = {} }}\n'


def test_a_sweep_is_of_axes_of_schemes_or_of_both() -> None:
    assert len(planned(AXIS)) == 4
    assert [point.source.labels for point in planned("[sweep]\n" + SCHEME.format("a", 5))] == [
        {"scheme": "a"}
    ]
    both = planned(AXIS + SCHEME.format("a", 5) + SCHEME.format("b", 6))
    assert [point.source.labels["scheme"] for point in both] == ["a"] * 4 + ["b"] * 4
    # What is set by name comes before what the command line says.
    assert both[0].source.overrides == (
        ("tcp.initial_window", "5"),
        ("workload.0.load", "0.3"),
        ("seed", "1"),
    )
    assert not both[0].is_finished
    assert both[0].folder.parent == Path("out")
    assert plan(Source("x.toml", SMALL + AXIS), None)[0] == Path("runs/small")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[sweep]\naxes = {}\n", "the [sweep] table is empty"),
        ("[sweep]\naxes = { seed = [] }\n", "sweep.axes is not a table of lists"),
        ('[sweep]\naxes = { seed = [1], "workload.0.load" = 3 }\n', "sweep.axes is not a table of lists"),
        ("[sweep]\naxes = [1]\n", "sweep.axes is not a table of lists"),
        ("[sweep]\nscheme = 3\n", "each [[sweep.scheme]] has a name and a table `set`"),
        ('[[sweep.scheme]]\nname = " "\nset = {}\n', "each [[sweep.scheme]] has a name"),
        ("[[sweep.scheme]]\nname = 3\nset = {}\n", "each [[sweep.scheme]] has a name"),
        ('[[sweep.scheme]]\nname = "a"\nset = 3\n', "each [[sweep.scheme]] has a name"),
        ('[[sweep.scheme]]\nname = "a"\nset = {}\nmore = 1\n', "each [[sweep.scheme]] has a name"),
        (AXIS + SCHEME.format("a", 5) + SCHEME.format("a", 6), 'two schemes are called "a"'),
        ("[sweep]\naxes = { seed = [1, 2] }\ntogether = 3\n", "sweep.together has a table of keys"),
        ("[sweep]\naxes = { seed = [1] }\ntogether = { seed = 3 }\n", "sweep.together has a table of keys"),
        (
            '[sweep]\naxes = { a = [1, 2] }\ntogether = { a = { seed = [1, 2], "tcp.x" = [3] } }\n',
            "sweep.together.a: tcp.x needs a value for each of a's",
        ),
        (
            "[sweep]\naxes = { a = [1] }\ntogether = { a = { seed = 3 } }\n",
            "seed needs a value for each of a",
        ),
        (AXIS + "where = 3\n", "sweep.where: it is a condition, such as"),
        (AXIS + 'exclude = ["seed > 1", 3]\n', "sweep.exclude: it is a condition, such as"),
        (AXIS + 'where = "speed > 1"\n', "sweep.where: there is no axis speed; names here: load, seed"),
        (AXIS + 'where = "scheme == 3"\n', "sweep.where: there is no axis scheme"),
        (AXIS + 'where = "seed > load + 1KB"\n', "a number and bytes cannot be added"),
        (AXIS + 'where = "seed > 2"\n', "sweep.where and sweep.exclude leave no point"),
        ("", "has no [sweep] table"),
    ],
)
def test_a_table_that_is_no_sweep_is_refused(table: str, message: str) -> None:
    with pytest.raises(ShallowsError) as caught:
        planned(table)
    assert message in caught.value.message


def test_points_are_those_for_which_all_that_is_wanted_holds_and_nothing_that_is_not() -> None:
    def left(*conditions: str) -> list[tuple[Any, ...]]:
        return [tuple(point.source.labels.values()) for point in planned(AXIS + "\n".join(conditions) + "\n")]

    assert left('where = "seed < 2"') == [(0.3, 1), (0.6, 1)]
    assert left('exclude = "seed < 2"') == [(0.3, 2), (0.6, 2)]
    assert left('where = ["seed < 2", "load < 0.5"]') == [(0.3, 1)]
    assert left('exclude = ["seed < 2", "load < 0.5"]') == [(0.6, 2)]
    assert left('where = "seed < 2"', 'exclude = "load < 0.5"') == [(0.6, 1)]
    scheme = SCHEME.format("a", 5) + SCHEME.format("b", 6)
    kept = planned(AXIS + "where = \"scheme == 'b' and seed == load + 0.7\"\n" + scheme)
    assert [tuple(point.source.labels.values()) for point in kept] == [("b", 0.3, 1)]


def test_the_engine_s_complaint_is_at_the_line_that_sets_the_key() -> None:
    def said(table: str) -> str:
        with pytest.raises(ScenarioError) as caught:
            planned(table)
        return str(caught.value)

    lines = SMALL.count("\n")
    # The table begins behind the scenario; its axes are on its second line.
    assert said(AXIS.replace(".load", ".lod")).startswith(
        f"x.toml:{lines + 2}: sweep.axes, workload.0.lod = 0.3: "
    )
    wrong = SCHEME.format("a", 5).replace("initial_window", "window")
    assert said(AXIS + wrong).startswith(f'x.toml:{lines + 5}: scheme "a", tcp.window = 5: ')
    together = '[sweep]\naxes = { pace = [1] }\n[sweep.together.pace]\n"tcp.window" = [5]\n'
    assert said(together).startswith(f"x.toml:{lines + 4}: sweep.together.pace, tcp.window = 5: ")
    # A key that is not quoted has no line of its own.
    assert said("[sweep]\naxes = { sed = [3] }\n").startswith("x.toml: sweep.axes, sed = 3: ")


def finished(folder: Path, **labels: Any) -> Point:
    """A point that is finished, as it was planned before that."""
    point = Point(Source("x.toml", "", labels=labels), folder.name, folder, is_finished=False)
    folder.mkdir(parents=True)
    write_run(folder, {"seed": 1}, {"goodput_gbps": 1.0, "engine": {"events": 5, "wall_s": 1.0}})
    return point


def test_a_point_was_made_since_if_it_is_there_and_is_not_what_was_there(tmp_path: Path) -> None:
    new = finished(tmp_path / "new")
    assert (new.has_results, new.was_made_since()) == (True, True)
    old = Point(new.source, new.hash, new.folder, is_finished=True, stamp=stamp(new.folder))
    assert (old.has_results, old.was_made_since()) == (True, False)
    gone = Point(new.source, "gone", tmp_path / "gone", is_finished=False)
    assert (gone.has_results, gone.was_made_since()) == (False, False)
    other = Point(new.source, "other", new.folder, is_finished=False)
    assert (other.has_results, other.was_made_since()) == (False, False)
    assert [run.path for run in points.finished_runs([gone, new])] == [new.folder]
    assert not Outcome(new, None, None).reused


def test_runs_of_a_folder_are_in_the_order_of_its_sweep_or_else_by_name(tmp_path: Path) -> None:
    one, two = (finished(tmp_path / name, seed=name) for name in ("b", "a"))
    (tmp_path / ".c").mkdir()
    (tmp_path / ".c" / "env.json").write_text('{"hash": "c"}')
    (tmp_path / "notes").mkdir()
    assert points.inside_sweep(tmp_path) == [two.folder, one.folder]
    points.write_index(tmp_path, [one, two])
    assert points.inside_sweep(tmp_path) == [one.folder, two.folder]
    assert [labels for _, labels in points.points_of(tmp_path)] == [{"seed": "b"}, {"seed": "a"}]
    assert [run.path for run in points.runs_in(tmp_path)] == [one.folder, two.folder]
    assert [run.path for run in points.runs_in(one.folder)] == [one.folder]
    (two.folder / "manifest.json").unlink()
    assert points.missing_in(tmp_path) == ["seed a"]
    assert [run.path for run in points.finished_in(tmp_path)] == [one.folder]
    runs, problems = points.readable_in(tmp_path)
    assert ([run.path for run in runs], len(problems)) == ([one.folder], 1)
    with pytest.raises(ShallowsError) as caught:
        points.runs_in(tmp_path)
    assert str(two.folder) in caught.value.message


def test_an_index_that_is_damaged_or_of_something_else_has_no_points(tmp_path: Path) -> None:
    def known(text: str) -> list[Any]:
        (tmp_path / "sweep.json").write_text(text)
        return points.points_of(tmp_path)

    assert points.points_of(tmp_path) == []
    for text in ("", "[]", "3", '{"points": 3}', '{"points": [{"folder": "a"}]}', '{"points": [3]}'):
        assert known(text) == []
    two = [{"labels": {}, "folder": "a"}, {"labels": {}}]
    assert known(json.dumps({"points": two})) == [(tmp_path / "a", {})]


def test_a_changed_file_is_seen_where_hashes_are_compared(tmp_path: Path) -> None:
    one = finished(tmp_path / "one")
    (one.folder / "flows.parquet").write_text("abc")
    seal(one.folder)
    (one.folder / "flows.parquet").write_text("abd")
    assert [len(found) for found in points.readable_in(tmp_path)] == [1, 0]
    assert [len(found) for found in points.readable_in(tmp_path, verify=True)] == [0, 1]
    here = tmp_path / "all"
    here.mkdir()
    wanted = Point(one.source, one.hash, here / "one", is_finished=False)
    missing, problems = merging.gather([wanted], [tmp_path], here, verify=True)
    assert (missing, len(problems)) == ([wanted], 1)
    missing, problems = merging.gather([wanted], [tmp_path], here)
    assert (missing, problems, wanted.has_results) == ([], [], True)
    with pytest.raises(ShallowsError, match="is no folder"):
        merging.gather([wanted], [one.folder / "flows.parquet"], here)


def test_results_are_compared_beyond_what_a_machine_adds(tmp_path: Path) -> None:
    def of(name: str, summary: object, **files: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for file, text in files.items():
            (folder / file.replace("_", ".")).write_text(text)
        write_run(folder, {"seed": 1}, summary)  # type: ignore[arg-type]
        return folder

    plain = of("plain", {"engine": 3}, scenario_toml="a")
    # Remarks in a scenario are no results.
    assert merging.different(plain, of("remarks", {"engine": 3}, scenario_toml="b")) is None
    assert merging.different(plain, of("number", {"engine": 4}, scenario_toml="a")) == "summary.json"
    assert merging.different(plain, of("list", [1], scenario_toml="a")) == "summary.json"
    assert merging.different(of("same", [1]), of("again", [1])) is None
    (plain / "summary.json").write_text("{")
    with pytest.raises(ShallowsError, match=r"summary\.json cannot be read"):
        merging.different(plain, tmp_path / "number")


def test_a_condition_is_as_long_and_as_deep_as_it_may_be() -> None:
    blank = " " * (500 - len("n > 1"))
    assert Condition("n > 1" + blank, ["n"]).holds({"n": 2})
    with pytest.raises(ValueError, match="more than 500 characters"):
        Condition("n > 1 " + blank, ["n"])
    # The comparison is the outermost part, the name within 59 signs the 61st.
    assert Condition("-" * 59 + "n < 1", ["n"]).holds({"n": 2})
    with pytest.raises(ValueError, match="nested too deeply"):
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
        # What decides comes first, and the rest is not asked.
        ("b or n", True),
        ("not b and n", False),
    ],
)
def test_a_condition_knows_truths_names_and_quantities(text: str, expected: bool) -> None:
    labels = {"b": True, "n": 2, "size": "90KB", "name": "none"}
    assert Condition(text, [*labels]).holds(labels) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("b < b", "a truth and a truth cannot be compared so"),
        ("name < name", '"none" and "none" cannot be compared so'),
        ("b == n", "a truth and a number cannot be compared so"),
        ("name < 3", '"none" and a number cannot be compared so'),
        ("size > b", "bytes and a truth cannot be compared so"),
        ("n / size > 1", "a number cannot be divided by bytes"),
        ("size / rate > 1", "bytes cannot be divided by"),
        ("n / (n - 2) > 1", "it divides by zero"),
        ("size * size > 1", "bytes and bytes cannot be multiplied"),
        ("n - size > 1", "a number and bytes cannot be added"),
        ("not n", "n is no condition"),
    ],
)
def test_what_does_not_go_together_is_said(text: str, message: str) -> None:
    labels = {"b": True, "n": 2, "size": "90KB", "name": "none", "rate": "1Gbps"}
    with pytest.raises(ValueError, match=message):
        Condition(text, [*labels]).holds(labels)


def test_an_axis_has_a_short_name_where_it_is_one_word() -> None:
    names = Condition("True", ["red.k_min", "workload.0", "scheme"]).names
    assert names == {"k_min": ["red.k_min"], "scheme": ["scheme"]}
    assert Condition("'a' == \"a\"", []).holds({})
    with pytest.raises(ValueError, match="there is no axis n; names here: none"):
        Condition("n > 1", [])
