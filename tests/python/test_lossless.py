"""Tests of lossless classes in results."""

from pathlib import Path

import polars as pl

import shallows as sh
from shallows.runs import tables

EXAMPLE = Path(__file__).parents[2] / "experiments/models/lossless.toml"


def test_pauses_have_a_table_and_a_place_in_the_summary(tmp_path: Path) -> None:
    run = sh.run(EXAMPLE, out=tmp_path / "run", overrides={"stop.at": "1ms"})
    assert run.pauses is not None
    # Two directions of six links to hosts and of one between switches.
    assert run.pauses.height == 14
    counts = run.summary["lossless"]["class0"]
    assert counts["pauses"] == run.pauses["pauses_sent"].sum() > 0
    assert counts["dropped"] == run.summary["packets"]["dropped"] == 0
    assert (run.pauses["max_headroom_bytes"] <= run.pauses["headroom_bytes"]).all()
    victim = run.pauses.filter(pl.col("port") == "host3->left")
    assert victim["pauses_received"].sum() > 0
    table = tables.pauses(run.summary)
    assert table is not None
    assert table.rows[0][0] == "class 0"
    page = sh.report(run.path).read_text(encoding="utf-8")
    assert table.title in page
    assert f">{counts['pauses']:,}</td>" in page


def test_a_run_without_lossless_classes_has_no_such_table(scenario: Path, tmp_path: Path) -> None:
    run = sh.run(scenario, out=tmp_path / "run")
    assert run.pauses is None
    assert tables.pauses(run.summary) is None
