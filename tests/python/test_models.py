"""Tests of the tables of ports, markers and pings in Python."""

from pathlib import Path

import polars as pl
import pytest

import shallows as sh
from shared import Shell

EXAMPLES = Path(__file__).parents[2] / "experiments/models"


def test_a_trace_tells_the_thresholds_of_mq_ecn(tmp_path: Path) -> None:
    run = sh.run(EXAMPLES / "mq-ecn.toml", out=tmp_path / "run")
    assert run.traces is not None
    thresholds = run.traces.filter((pl.col("quantity") == "threshold_bytes") & (pl.col("queue") == 1))
    # Alone, the whole of K = 65 packets; while both queues are busy, half of it.
    assert thresholds["value"][0] == 97_500
    assert thresholds["value"][-1] == pytest.approx(48_750, abs=1)
    assert {"backlog_bytes", "round_time_us", "pool_bytes"} <= set(run.traces["quantity"].unique())
    assert run.traces["time_us"].is_sorted()


def test_counters_have_a_row_for_each_queue_and_markers_one_for_each_marker(tmp_path: Path) -> None:
    run = sh.run(EXAMPLES / "mq-ecn.toml", out=tmp_path / "run")
    port = run.counters.filter(pl.col("port") == "switch0->host0")
    assert port["queue"].to_list()[:2] == [0, 1]
    # The run stops while some wait.
    assert (port["received"] >= port["sent"] + port["dropped"]).all()
    assert run.counters["sent"].sum() == run.summary["engine"]["packet_hops"]
    assert run.markers is not None
    chosen = {what: run.markers[what].sum() for what in ("marked", "incast", "dropped")}
    assert chosen == run.summary["markers"]["mq-ecn"]
    assert run.summary["markers"]["mq-ecn"]["marked"] > 0


def test_pings_are_in_the_table_and_on_the_screen(shell: Shell, tmp_path: Path) -> None:
    done = shell("run", EXAMPLES / "strict-priority.toml", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "Round-trip times of pings" in done.stdout
    pings = sh.Run(tmp_path / "run").pings
    assert pings is not None
    # Every 50 us from 5 to 20 ms, both included.
    assert pings.height == 301
    assert all(rtt >= 84 for rtt in pings["rtt_us"].drop_nulls())
    assert "Round-trip times of pings" in (tmp_path / "run/report.html").read_text()


def test_what_is_computed_is_printed_with_its_formula(shell: Shell) -> None:
    done = shell("run", EXAMPLES / "bcc.toml", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "Kmax = B − B_R/α" in done.stdout
    assert "Packets chosen by markers" in done.stdout


def test_a_run_without_them_has_no_such_tables(scenario: Path, tmp_path: Path) -> None:
    run = sh.run(scenario, out=tmp_path / "run")
    assert run.pings is None
    assert run.traces is None
