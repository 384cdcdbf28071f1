"""Tests of runs in Python: folders, tables and reports."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import shallows as sh
from shallows import reports
from shallows.about import build
from shallows.cli import demo
from shallows.runs import folder, tables
from shallows.runs.executing import execute
from shallows.runs.memory import forget_peak, peak_memory_mb
from shallows.runs.source import Source
from shared import QUERIES, SMALL, write_run


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(scenario: Path, tmp_path: Path) -> None:
    first, again, other = (
        sh.run(scenario, seed=seed, out=tmp_path / name) for seed, name in [(7, "a"), (7, "b"), (8, "c")]
    )
    for name in ["flows.parquet", "queues.parquet", "counters.parquet", "resolved.json"]:
        assert (first.path / name).read_bytes() == (again.path / name).read_bytes()
    assert first.environment["hash"] == again.environment["hash"] != other.environment["hash"]
    assert not first.flows.equals(other.flows)


def test_tables_and_summary_agree(scenario: Path, tmp_path: Path) -> None:
    run = sh.run(scenario, out=tmp_path / "run")
    assert run.flows.height == run.summary["flows"]["started"] == 60
    assert run.flows["fct_us"].mean() == pytest.approx(run.summary["fct_us"]["all"]["mean"], rel=1e-12)
    assert run.counters["marked"].sum() == run.summary["packets"]["marked"]
    assert run.counters["sent"].sum() == run.summary["engine"]["packet_hops"]
    assert run.queues is not None
    assert set(run.queues["kind"].unique()) <= {"port", "pool"}


def test_queries_have_a_table_and_a_place_in_the_summary(scenario: Path, tmp_path: Path) -> None:
    scenario.write_text(QUERIES, encoding="utf-8")
    run = sh.run(scenario, out=tmp_path / "run")
    assert run.queries is not None
    assert run.queries["workload"].to_list() == [0, 0, 0, 1]
    assert run.queries["bytes"].to_list() == [6_000, 6_000, 6_000, 100_000]
    # Requests and answers of three workers, three times; two parts of a block.
    assert run.flows["query"].to_list().count(0) == 6 + 2
    mean = run.summary["queries"]["workload0"]["mean"]
    assert run.queries["completion_us"][:3].mean() == pytest.approx(mean, rel=1e-12)
    table = tables.queries(run.summary)
    assert table is not None
    assert [row[0] for row in table.rows] == ["all", "workload 0", "workload 1"]
    assert "<h3>Queries</h3>" in reports.write_run(run).read_text(encoding="utf-8")


def test_runs_without_queries_have_no_table_of_them(scenario: Path, tmp_path: Path) -> None:
    run = sh.run(scenario, out=tmp_path / "run")
    assert run.queries is None
    assert tables.queries(run.summary) is None


def test_a_change_of_any_setting_changes_the_hash(scenario: Path, tmp_path: Path) -> None:
    changes: list[dict[str, object]] = [{}, {"switch.markers.0.k": "66KB"}, {"workload.0.flows": 61}]
    hashes = {
        sh.run(scenario, overrides=change, out=tmp_path / str(place)).environment["hash"]
        for place, change in enumerate(changes)
    }
    assert len(hashes) == 3


def test_a_finished_run_is_returned_unless_the_build_has_local_changes(
    scenario: Path, tmp_path: Path
) -> None:
    path = sh.run(scenario, out=tmp_path / "run").path
    made = path.stat().st_mtime_ns
    assert (sh.run(scenario, out=path).path.stat().st_mtime_ns == made) is not build()["dirty"]
    with pytest.raises(sh.ShallowsError, match="contains no run of this scenario"):
        sh.run(scenario, seed=2, out=path)


def test_a_scenario_error_is_a_value_error_with_a_place(scenario: Path) -> None:
    scenario.write_text(SMALL.replace("load = 0.6", "load = 1.6"))
    with pytest.raises(ValueError, match=r"small\.toml:\d+:\d+") as refused:
        sh.run(scenario)
    assert isinstance(refused.value, sh.ScenarioError)
    assert "load" in str(refused.value)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sh.ShallowsError, match="contains no finished run"):
        sh.Run(tmp_path)


def test_a_folder_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    final = tmp_path / "runs" / "one"

    def fail() -> None:
        with folder.RunFolder(final) as unfinished:
            (unfinished.path / "summary.json").write_text("{}")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(final.parent.iterdir()) == []
    with folder.RunFolder(final) as finished:
        (finished.path / "summary.json").write_text("{}")
        assert not final.exists()
        finished.commit()
    assert [path.name for path in final.parent.iterdir()] == ["one"]


class Broken:
    """Mock of an experiment whose simulation fails with a defect."""

    name, seed, hash = "broken", 42, "0" * 64

    def footprint(self) -> str:
        """Return the memory of one route in a switch, as JSON."""
        return json.dumps([{"what": "1 routes of switches", "bytes": 8.0, "remedy": "fewer switches"}])

    def simulate(self, _folder: Path, _threads: int, _adapts: bool) -> "Broken":
        """Return this object as the simulation."""
        return self

    def advance(self, _: int) -> str:
        """Raise the error of a failed assertion in the engine."""
        raise sh.DefectError("panicked at crates/sim/src/run/world.rs:1:1: backlog is negative")


def test_a_defect_of_the_engine_says_so_and_leaves_nothing(scenario: Path, tmp_path: Path) -> None:
    with pytest.raises(sh.DefectError) as raised:
        execute(Source.read(scenario), Broken(), tmp_path / "run")  # type: ignore[arg-type]
    message = str(raised.value)
    assert message.startswith("panicked at crates/sim/src/run/world.rs:1:1: backlog is negative")
    assert (
        "This is a defect of Shallows. Please report it with the scenario, seed 42 and version 0.1.0"
        in message
    )
    assert [path.name for path in tmp_path.iterdir()] == [scenario.name]


def summary(load: float, large: float, tail: float, loss: float) -> dict[str, Any]:
    times = {"mean": large, "p50": 1.0, "p95": 1.0, "p99": tail, "max": tail, "count": 1}
    return {
        "name": "x",
        "fct_us": {"all": times, "small": times, "large": times},
        "loss_rate_in_switches": loss,
        "loss_rate_in_nics": 0.0,
        "flows": {"started": 1, "completed": 1, "unbounded": 0},
        "packets": {"dropped_in_switches": round(loss * 1e6)},
        "timeouts": round(loss * 1e4),
        "load": load,
    }


@pytest.fixture
def thresholds(tmp_path: Path) -> list[sh.Run]:
    """Runs of three schemes at two loads, with round numbers."""
    rows = [
        ("high", 0.4, 900.0, 100.0, 0.0),
        ("high", 0.9, 1800.0, 5000.0, 0.004),
        ("low", 0.4, 1000.0, 90.0, 0.0),
        ("low", 0.9, 2000.0, 120.0, 0.0),
        ("reno", 0.4, 950.0, 5000.0, 0.01),
        ("reno", 0.9, 1900.0, 6000.0, 0.02),
    ]
    runs = []
    for place, (scheme, load, *numbers) in enumerate(rows):
        path = tmp_path / str(place)
        path.mkdir()
        labels = {"scheme": scheme, "workload.0.load": load}
        write_run(path, {"labels": labels}, summary(load, *numbers))
        runs.append(sh.Run(path))
    return runs


def test_the_demo_says_what_its_numbers_say(thresholds: list[sh.Run]) -> None:
    text = demo.describe_thresholds(thresholds)
    # 900 against 1,000 µs is a tenth; 100 to 5,000 µs is a leap, 90 to 120 µs is not.
    assert "At 40 % load, large flows complete 10 % faster with high than with low" in text
    assert "100 µs with high at 40 %, leaps to 5,000 µs at 90 % (40 timeouts)" in text
    assert "with low it is 120 µs at 90 %" in text
    assert "At 90 % load high loses 0.4 % of all packets, low 0 %" in text
    assert "reno loses 1 % at 40 % load and 2 % at 90 %" in text


def test_the_small_demo_says_which_answer_was_slowest(thresholds: list[sh.Run]) -> None:
    text = demo.describe_incast([thresholds[3], thresholds[5]])
    assert text == (
        "The slowest answer takes 120 µs with low, and 6,000 µs with reno: 50 times as long. "
        "reno loses 2 % of its packets and waits for 200 retransmission timeouts; "
        "1 of the 2 schemes loses nothing."
    )


def test_what_a_process_used_before_a_run_is_not_of_its_peak() -> None:
    forget_peak()
    before = peak_memory_mb()
    large = bytearray(300_000_000)
    assert peak_memory_mb() > before + 200
    del large
    forget_peak()
    assert peak_memory_mb() < before + 100


def test_peak_memory_is_plausible(scenario: Path, tmp_path: Path) -> None:
    engine = sh.run(scenario, out=tmp_path / "run").summary["engine"]
    assert 5 < engine["peak_rss_mb"] < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e6
    assert engine["packet_hops_per_s"] == pytest.approx(engine["packet_hops"] / engine["wall_s"], rel=0.02)
