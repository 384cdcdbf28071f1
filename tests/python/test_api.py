"""Scenarios, runs and sweeps as a notebook meets them: made of dictionaries, copied, compared, shown."""

import copy
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
from shared import HOSTILE, SIZES, SMALL, TINY

FROM_FILES = sorted(
    path
    for path in Path(__file__).parents[2].glob("experiments/*/*.toml")
    if path.name != "expected.toml" and path.parent.name != "advisor"
)


def small() -> dict[str, Any]:
    """`SMALL` as a dictionary."""
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
        (None, "None is no value of a scenario"),
        ({1, 2}, "{1, 2} (set) is no value of a scenario"),
        (b"x", "b'x' (bytes) is no value of a scenario"),
        ({3: "x"}, "3 (int) is no key"),
        ("\ud800", r"'\ud800' is no text"),
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
        (lambda: sh.run(scenario, text), "overrides are 'a=1' (str), and not values by dotted key"),
        (lambda: sh.sweep(scenario, text), "overrides are 'a=1' (str), and not values by dotted key"),
        (lambda: sh.run(number), "a scenario is read from a file, and 3 (int) is no path"),
        (lambda: sh.run(scenario, out=number), "out is 3 (int), and no path"),
        (lambda: sh.Scenario.from_dict(text), "a scenario is made of a dictionary, not of str"),
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
    with pytest.raises(sh.ShallowsError, match="have changed"):
        unpickled(kept)
    assert Path.cwd() == Path(os.sep)


def unpickled(text: bytes) -> sh.Scenario:
    """A scenario that we have pickled."""
    scenario: sh.Scenario = pickle.loads(text)  # noqa: S301
    return scenario


class Shown(HTMLParser):
    """Parse a fragment as a browser does: its elements, and the text of its cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """Note an element."""
        self.elements.add(tag)
        assert not attrs or tag == "td"

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.texts.append(data)


def shown(value: Any) -> Shown:
    """Return the HTML that a notebook shows."""
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
    """A dictionary inside a dictionary, and so on."""
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
        with pytest.raises(sh.ShallowsError, match="more than 32 levels deep, or contains itself"):
            sh.Scenario.from_dict(document)


def test_wrong_kinds_of_arguments_are_answered_with_what_is_allowed(scenario: Path, tmp_path: Path) -> None:
    run: Any = sh.run(scenario, out=tmp_path / "run")
    compare: Callable[..., object] = sh.compare
    for attempt, expected in (
        (lambda: compare(), "there is nothing to compare"),
        (lambda: compare({"a": [run]}), "dict is not a scheme"),
        (lambda: compare(None), "NoneType is not a scheme"),
        (lambda: run.by(["workload"]), "cannot group results by"),
    ):
        with pytest.raises(sh.ShallowsError, match=expected) as refused:
            attempt()
        assert refused.value.remedy
