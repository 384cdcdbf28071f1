"""Tests of scenarios, runs and sweeps in notebooks: from dictionaries, copied, compared and displayed."""

import copy
import json
import os
import pickle
import tomllib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shallows as sh
from shallows.runs.source import Source
from shallows.runs.toml_text import toml_document
from shared import HOSTILE, SIZES, SMALL, TINY, seal

FROM_FILES = sorted(
    path
    for path in Path(__file__).parents[2].glob("experiments/*/*.toml")
    if path.name != "expected.toml" and path.parent.name != "advisor"
)


def small() -> dict[str, Any]:
    """Return `SMALL` as a dictionary."""
    return tomllib.loads(SMALL)


def test_a_dictionary_gives_what_its_file_gives(scenario: Path) -> None:
    assert sh.Scenario.from_dict(small()) == sh.Scenario.load(scenario)


@pytest.mark.parametrize("path", FROM_FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_scenario_can_be_written_and_read_again(path: Path) -> None:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    assert tomllib.loads(toml_document(document)) == document


def test_text_of_any_characters_comes_back() -> None:
    document = {"name": 'a "b" \\ \n \t \x00 \x7f ü 😀', "é.x": {"": [1, [True, {"k": -0.5}]], "t": {}}}
    assert tomllib.loads(toml_document(document)) == document


def test_numbers_of_numpy_and_paths_are_values(scenario: Path) -> None:
    plain = sh.Scenario.load(scenario, {"workload.0.load": 0.5, "measure.bins": ["1KB"], "seed": 3})
    theirs = {"workload.0.load": np.float64(0.5), "measure.bins": np.array(["1KB"]), "seed": np.int64(3)}
    assert sh.Scenario.load(scenario, theirs) == plain
    sizes = scenario.with_name("sizes.cdf")
    sizes.write_text(SIZES)
    named = [sh.Scenario.load(scenario, {"workload.0.sizes": file}) for file in (sizes, str(sizes))]
    assert named[0] == named[1]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            None,
            "a value of a scenario must be a string, a number, true, false, a list or ",
        ),
        (
            {1, 2},
            "a value of a scenario must be a string, a number, true, false, a list or ",
        ),
        (
            b"x",
            "a value of a scenario must be a string, a number, true, false, a list or ",
        ),
        ({3: "x"}, "a key must be a string, got 3 (int)"),
        ("\ud800", r"'\ud800' must not contain a lone surrogate"),
    ],
)
def test_what_no_scenario_can_say_is_refused(value: object, expected: str) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: sh.Scenario.from_dict({"name": value}),
        lambda: sh.Scenario.load(sh.example("incast"), {"name": value}),
    ]
    for attempt in attempts:
        with pytest.raises(sh.ShallowsError) as refused:
            attempt()
        assert refused.value.message.startswith(expected)
        assert refused.value.remedy


def test_a_mistake_in_a_dictionary_has_a_place_in_its_text() -> None:
    document = small()
    document["workload"][0]["load"] = 1.6
    with pytest.raises(sh.ScenarioError, match=r"scenario\.toml:(\d+):") as refused:
        sh.Scenario.from_dict(document)
    line = int(str(refused.value).split(":")[1])
    assert toml_document(document).splitlines()[line - 1] == "load = 1.6"


@pytest.mark.parametrize("seed", [True, False, -1, 1.5, "3"])
def test_a_seed_is_a_whole_number(scenario: Path, seed: Any, tmp_path: Path) -> None:
    for attempt in (
        lambda: sh.run(scenario, seed=seed, out=tmp_path / "run"),
        lambda: sh.Scenario.load(scenario, seed=seed),
        lambda: sh.Scenario.load(scenario).run(seed=seed, out=tmp_path / "run"),
        lambda: sh.Scenario.load(scenario, {"seed": seed}),
    ):
        with pytest.raises(sh.ScenarioError, match="seed"):
            attempt()
    assert not (tmp_path / "run").exists()


def test_arguments_of_a_wrong_type_are_refused_with_a_remedy(scenario: Path) -> None:
    text: Any = "a=1"
    number: Any = 3
    attempts: list[tuple[Callable[[], object], str]] = [
        (
            lambda: sh.run(scenario, text),
            "overrides must be a dictionary of values by dotted key, got 'a=1' (str)",
        ),
        (
            lambda: sh.sweep(scenario, text),
            "overrides must be a dictionary of values by dotted key, got 'a=1' (str)",
        ),
        (lambda: sh.run(number), "the path of a scenario must be a string or a Path, got 3 (int)"),
        (lambda: sh.run(scenario, out=number), "out must be a string or a Path, got 3 (int)"),
        (lambda: sh.Scenario.from_dict(text), "the document of a scenario must be a dictionary, got str"),
    ]
    for attempt, expected in attempts:
        with pytest.raises(sh.ShallowsError) as refused:
            attempt()
        assert refused.value.message == expected
        assert refused.value.remedy


def test_scenarios_are_equal_by_what_they_would_give(scenario: Path, tmp_path: Path) -> None:
    loaded = sh.Scenario.load(scenario)
    commented = tmp_path / "commented.toml"
    commented.write_text("# the same\n" + SMALL)
    assert loaded == sh.Scenario.load(commented) == loaded.override({"seed": 1}) == loaded.copy(seed=1)
    assert len({loaded, sh.Scenario.load(commented), loaded.copy(seed=2)}) == 2
    assert loaded != loaded.override({"workload.0.load": 0.5})
    assert loaded != SMALL


def test_copies_and_pickles_are_equal_and_run(scenario: Path, tmp_path: Path) -> None:
    changed = sh.Scenario.load(scenario, {"workload.0.flows": 5}).copy({"tcp.congestion": "reno"}, seed=4)
    for again in (copy.copy(changed), copy.deepcopy(changed), unpickled(pickle.dumps(changed))):
        assert again == changed
        assert repr(again) == repr(changed)
    assert changed.seed == 4
    run = unpickled(pickle.dumps(changed)).run(out=tmp_path / "run")
    assert (run.environment["hash"], run.flows.height) == (changed.hash, 5)


def test_a_scenario_finds_its_files_from_elsewhere_and_notices_that_they_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sizes.cdf").write_text(SIZES)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    made = sh.Scenario.from_dict(tomllib.loads(TINY))
    kept = pickle.dumps(made)
    monkeypatch.chdir("/")
    assert unpickled(kept) == made == made.copy()
    assert made.run(out=tmp_path / "run").flows.height == 20
    (tmp_path / "sizes.cdf").write_text(SIZES.replace("20000", "30000"))
    with pytest.raises(sh.ShallowsError, match="has changed"):
        unpickled(kept)
    assert Path.cwd() == Path(os.sep)


def unpickled(text: bytes) -> sh.Scenario:
    """Return the scenario in a pickle."""
    scenario: sh.Scenario = pickle.loads(text)  # noqa: S301
    return scenario


class Shown(HTMLParser):
    """Elements and cell texts of an HTML fragment."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Record an element."""
        self.elements.add(tag)
        assert not attrs or tag == "td"

    def handle_data(self, data: str) -> None:
        """Record a text."""
        self.texts.append(data)


def shown(value: Any) -> Shown:
    """Return the HTML that a notebook shows for an object."""
    found = Shown(value._repr_html_())
    assert found.elements <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    return found


def test_notebooks_show_tables(finished_sweep: Path, scenario: Path) -> None:
    run = sh.Run(next(path.parent for path in sorted(finished_sweep.glob("*/summary.json"))))
    texts = shown(run).texts
    assert texts[0] == "Run of small"
    assert texts[texts.index("flows completed") + 1] == "60 of 60"
    texts = shown(sh.Scenario.load(scenario, {"workload.0.load": 0.5})).texts
    assert texts[:3] == ["Scenario small", "seed", "1"]
    assert texts[-2:] == ["changed", "workload.0.load = 0.5"]
    done = sh.sweep(finished_sweep.parent / "sweep.toml", out=finished_sweep)
    texts = shown(done).texts
    assert texts[:3] == [f"{finished_sweep}: 12 runs", "scheme", "load"]
    assert texts.count("dctcp") == 6


def test_what_notebooks_show_is_escaped(hostile: Path, scenario: Path) -> None:
    runs = [sh.Run(path.parent) for path in sorted(hostile.glob("*/summary.json"))]
    for run in runs:
        assert f"Run of {HOSTILE}" in shown(run).texts[0]
    named = sh.Scenario.load(scenario, {"name": "x"})
    source = Source(HOSTILE, named.text, (("name", '"x"'), ("measure.fct", '"receiver"')))
    assert shown(sh.Scenario(source, Path())).texts[0] == "Scenario x"


def test_a_stored_run_is_simulated_again_only_if_it_shall_not_be_taken_from_the_cache(
    scenario: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"

    def written() -> tuple[int, int]:
        found = (out / "manifest.json").stat()
        return found.st_ino, found.st_mtime_ns

    first = sh.run(scenario, out=out)
    stored = written()
    sh.run(scenario, out=out)
    sh.Scenario.load(scenario).run(out=out)
    assert written() == stored
    attempts: list[Callable[[], sh.Run]] = [
        lambda: sh.run(scenario, out=out, cached=False),
        lambda: sh.Scenario.load(scenario).run(out=out, cached=False),
    ]
    for again in attempts:
        found = again()
        assert written() != stored
        stored = written()
        assert found.flows.equals(first.flows)


def nested(levels: int) -> dict[str, Any]:
    """Return a dictionary nested this many levels deep."""
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_dictionaries_that_are_too_deep_or_contain_themselves_are_refused() -> None:
    endless: dict[str, Any] = {}
    endless["a"] = endless
    looped: list[Any] = []
    looped.append(looped)
    for document in (nested(5_000), endless, {"a": looped}):
        with pytest.raises(sh.ShallowsError, match="at most 32 levels deep, and must not contain itself"):
            sh.Scenario.from_dict(document)


def test_wrong_kinds_of_arguments_are_answered_with_what_is_allowed(scenario: Path, tmp_path: Path) -> None:
    run: Any = sh.run(scenario, out=tmp_path / "run")
    compare: Callable[..., object] = sh.compare
    for attempt, expected in (
        (lambda: compare(), "a comparison needs at least two schemes, got none"),
        (lambda: compare({"a": [run]}), "a list of runs, got dict"),
        (lambda: compare(None), "a list of runs, got NoneType"),
        (lambda: run.by(["workload"]), "cannot group results by"),
    ):
        with pytest.raises(sh.ShallowsError, match=expected) as refused:
            attempt()
        assert refused.value.remedy


def test_a_run_and_a_sweep_are_reopened_by_their_folders(finished_sweep: Path, scenario: Path) -> None:
    made = sh.run(scenario, out=scenario.parent / "run")
    again = sh.load(str(made.path))
    assert isinstance(again, sh.Run)
    assert again.summary == made.summary
    found = sh.load(finished_sweep)
    assert isinstance(found, sh.Sweep)
    assert (len(found), found.failed) == (12, [])
    assert found[0].labels == {"scheme": "dctcp", "workload.0.load": 0.3, "seed": 1}
    assert [run.path for run in found[-2:]] == [run.path for run in found.runs[10:]]
    assert found.table.height == 12
    with pytest.raises(sh.ShallowsError, match="does not exist"):
        sh.load(scenario.parent / "nothing")


def test_a_reopened_sweep_names_points_without_a_run(finished: Path) -> None:
    first, second = sh.Sweep.load(finished)[:2]
    expected = [first.labels, second.labels]
    (first.path / "manifest.json").unlink()
    (second.path / "flows.parquet").write_bytes(b"")
    found = sh.Sweep.load(finished)
    assert len(found) == 10
    assert [labels for labels, _ in found.failed] == expected
    assert "flows.parquet must have " in found.failed[1][1]
    assert found.failed[1][1].endswith(" bytes, got 0")


def test_a_scenario_sweeps_and_plans_its_table(sweep: Path, tmp_path: Path) -> None:
    few = sh.Scenario.load(sweep, {"workload.0.flows": 5})
    assert len(few.plan(out=tmp_path / "few", jobs=1).points) == 8
    done = few.sweep(out=tmp_path / "few", jobs=1)
    assert [run.flows.height for run in done] == [5] * 8
    assert few.plan(out=tmp_path / "few", jobs=1).needs.finished == 8
    # The same by function, with the scenario or its file.
    for given in (few, sweep):
        again = sh.sweep(given, {"workload.0.flows": 5}, out=tmp_path / "few", jobs=1)
        assert [run.path for run in again] == [run.path for run in done]


def test_the_seed_of_a_scenario_holds_for_all_points_of_its_sweep(scenario: Path, tmp_path: Path) -> None:
    text = scenario.read_text() + '[sweep]\naxes = { "workload.0.load" = [0.4, 0.6] }\n'
    made = sh.Scenario.from_dict(tomllib.loads(text), seed=7)
    assert [run.summary.seed for run in made.sweep(out=tmp_path / "seven", jobs=1)] == [7, 7]


def test_a_sweep_of_a_dictionary_finds_its_files_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sizes.cdf").write_text(SIZES)
    (tmp_path / "below").mkdir()
    text = TINY + "\n[sweep]\naxes = { seed = [1, 2] }\n"
    made = sh.Scenario.from_dict(tomllib.loads(text), base=tmp_path / "below")
    monkeypatch.chdir("/")
    assert [run.flows.height for run in made.sweep(out=tmp_path / "out", jobs=1)] == [20, 20]


def test_a_scenario_runs_on_a_number_of_threads(scenario: Path, tmp_path: Path) -> None:
    made = sh.Scenario.load(scenario)
    runs = [made.run(out=tmp_path / str(threads), threads=threads) for threads in (1, 2)]
    assert runs[0].flows.equals(runs[1].flows)
    with pytest.raises(sh.ShallowsError, match="threads"):
        made.run(threads=0)


def test_functions_take_runs_sweeps_and_their_paths(finished_sweep: Path) -> None:
    done = sh.Sweep.load(finished_sweep)
    expected = sh.compare(finished_sweep).document()
    for given in (done, str(finished_sweep), list(done), [run.path for run in done]):
        assert sh.compare(given).document() == expected
        assert len(sh.figures.fct_cdf(given).axes) == 3
    one = done[0]
    for single in (one, one.path, str(one.path)):
        assert len(sh.figures.fct_cdf(single).axes) == 3
        assert sh.report(single) == one.path / "report.html"
    assert sh.report(done) == finished_sweep / "report.html"
    wrong: Any = 3
    with pytest.raises(sh.ShallowsError, match="a list of these, got int"):
        sh.figures.fct_cdf(wrong)


def test_a_figure_is_saved_by_a_text_and_its_suffix_is_the_format(
    finished_sweep: Path, tmp_path: Path
) -> None:
    figure = sh.figures.fct_cdf(sh.Sweep.load(finished_sweep))
    for name, expected in (
        ("x", ["x.pdf", "x.png"]),
        ("y.svg", ["y.svg"]),
        ("k0.5", ["k0.5.pdf", "k0.5.png"]),
    ):
        paths = sh.figures.save(figure, str(tmp_path / name))
        assert [path.name for path in paths] == expected
        assert all(path.is_file() for path in paths)


def test_a_missing_key_of_a_summary_is_answered_with_the_nearest(scenario: Path) -> None:
    summary = sh.run(scenario, out=scenario.parent / "run").summary
    times = summary["fct_us"]
    looks: list[tuple[Callable[[], object], str, str]] = [
        (lambda: summary["gooput_gbps"], 'has no "gooput_gbps"', "the nearest keys are: goodput_gbps"),
        (lambda: times["all"]["p98"], 'has no "fct_us.all.p98"', "the nearest keys are: p99, p95"),
        (lambda: summary["fct_us.all.p99"], "has no", 'keys are nested: ["fct_us"]["all"]["p99"]'),
        (lambda: times["Ω"], 'has no "fct_us.Ω"', "the keys are: all, large, medium, small"),
    ]
    for look, message, remedy in looks:
        with pytest.raises(sh.ShallowsError) as caught:
            look()
        assert message in caught.value.message
        assert caught.value.remedy == remedy
        assert isinstance(caught.value, KeyError)
    assert summary.get("gooput_gbps", 0.0) == 0.0
    assert "gooput_gbps" not in summary


def test_a_summary_is_a_read_only_mapping_with_attributes(scenario: Path) -> None:
    run = sh.run(scenario, out=scenario.parent / "run")
    summary: Any = run.summary
    for key in ("name", "seed", "simulated_s", "goodput_gbps", "loss_rate", "timeouts", "retransmits"):
        assert getattr(summary, key) == summary[key]
    for key in ("flows", "fct_us", "slowdown", "packets", "engine", "warnings", "notes"):
        assert getattr(summary, key) == summary[key]
    with pytest.raises(TypeError):
        summary["seed"] = 2
    assert summary == json.loads((run.path / "summary.json").read_text())
    copy = summary.document()
    copy["flows"]["started"] = 0
    assert summary.flows["started"] == 60
    assert pickle.loads(pickle.dumps(run)).summary == summary  # noqa: S301


def test_a_key_that_every_summary_has_is_missing_only_in_a_damaged_folder(scenario: Path) -> None:
    run = sh.run(scenario, out=scenario.parent / "run")
    found = json.loads((run.path / "summary.json").read_text())
    del found["goodput_gbps"]
    (run.path / "summary.json").write_text(json.dumps(found))
    seal(run.path)
    with pytest.raises(sh.ShallowsError) as caught:
        _ = sh.Run(run.path).summary.goodput_gbps
    assert caught.value.remedy == "the folder is damaged: run its scenario again"


def test_a_comparison_shows_a_table(finished_sweep: Path) -> None:
    found = sh.compare(finished_sweep)
    lines = repr(found).splitlines()
    assert lines[0].startswith("Comparison with dctcp, ")
    assert lines[1].split()[:4] == ["point", "scheme", "metric", "verdict"]
    assert len(lines) <= 23
    assert max(map(len, lines)) < 200
    texts = shown(found).texts
    assert texts[1:5] == ["point", "scheme", "metric", "verdict"]


def test_every_public_name_is_found_and_listed() -> None:
    for name in sh.__all__:
        assert getattr(sh, name) is not None
    assert callable(sh.chips)
    assert callable(sh.plan)
    assert set(sh.__all__) <= set(dir(sh))


def test_shards_are_merged_by_function(sweep: Path, tmp_path: Path) -> None:
    done = sh.sweep(sweep, {"workload.0.flows": 5}, out=tmp_path / "one", jobs=1)
    lost = done[0].labels
    done[0].path.rename(tmp_path / "lost")
    found = sh.merge(sweep, [tmp_path / "one"], tmp_path / "whole", {"workload.0.flows": 5})
    assert len(found) == 7
    assert found.failed == [(lost, "in none of these folders")]


def test_hpcc_files_are_exported_from_runs_scenarios_and_their_paths(scenario: Path, tmp_path: Path) -> None:
    made = sh.Scenario.load(scenario)
    run = made.run(out=tmp_path / "run")
    results: list[sh.Run | Path | str] = [run, run.path, str(run.path)]
    written = [
        sh.export_hpcc(given, fct=tmp_path / f"{place}.txt")[0].read_text()
        for place, given in enumerate(results)
    ]
    assert len(written[0].splitlines()) == 60
    assert len(set(written)) == 1
    scenarios: list[sh.Scenario | Path | str] = [made, scenario, str(scenario)]
    networks = [
        sh.export_hpcc(given, topology=tmp_path / f"network{place}.txt")[0].read_text()
        for place, given in enumerate(scenarios)
    ]
    assert len(set(networks)) == 1
    with pytest.raises(sh.ShallowsError, match="is not a run's folder"):
        sh.export_hpcc(made, fct=tmp_path / "none.txt")
