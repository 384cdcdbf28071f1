"""Tests of metrics of pauses, by name and in comparisons."""

from pathlib import Path

import polars as pl
import pytest

import shallows as sh
from fake_runs import fake_run
from shallows.runs.source import Source
from shallows.series.measures import check, measure
from shallows.series.offered import Offered

EXAMPLE = Path(__file__).parents[2] / "experiments/models/lossless.toml"
PORT = "left->right"

DROPS = {"dropped": 0, "ttl_expired": 4, "dropped_by_watchdog": 6}
CLASS = DROPS | {"frames": 3, "storms": 1, "max_headroom_bytes": 1_538}
PAUSED = fake_run(
    summary={
        "lossless": {
            "class3": CLASS | {"pauses": 2, "paused_us": 1.5},
            "class4": CLASS | {"pauses": 5, "paused_us": 8.0},
        }
    },
    pauses=pl.DataFrame(
        [("a->s", 3, 2, 1.5), ("a->s", 4, 1, 3.0), ("b->s", 4, 4, 5.0)],
        schema=["port", "class", "pauses_received", "paused_us"],
        orient="row",
    ),
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pauses", 7),
        ("paused_us", 9.5),
        ("pauses@a->s", 3),
        ("paused_us@a->s", 4.5),
        ("paused_us@b->s", 5),
        ("lossless.class3.pauses", 2),
        ("lossless.class4.max_headroom_bytes", 1_538),
        ("lossless.class3.storms", 1),
        ("lossless.class3.ttl_expired", 4),
        ("lossless.class4.dropped_by_watchdog", 6),
    ],
)
def test_pauses_of_all_classes_and_of_one_port_are_added(name: str, value: float) -> None:
    assert measure(PAUSED, name) == value


def test_a_run_without_lossless_classes_has_no_pauses() -> None:
    for name in ("pauses", "paused_us@a->s"):
        with pytest.raises(sh.ShallowsError, match="has no lossless classes"):
            measure(fake_run(pauses=None), name)
    with pytest.raises(sh.ShallowsError, match="has no port 'c->s'"):
        measure(PAUSED, "pauses@c->s")


def test_names_are_checked_against_the_lossless_classes_of_the_scenario(scenario: Path) -> None:
    offered = Offered.of(Source.read(EXAMPLE).parse())
    for name in ("pauses", f"paused_us@{PORT}", "lossless.class0.dropped"):
        check(name, offered)
    with pytest.raises(sh.ShallowsError, match="lossless has no 'class3'"):
        check("lossless.class3.pauses", offered)
    without = Offered.of(Source.read(scenario).parse())
    for name in ("pauses", "paused_us"):
        with pytest.raises(sh.ShallowsError, match="the scenario has no lossless class"):
            check(name, without)
    with pytest.raises(sh.ShallowsError, match=r"lossless has no 'class0'\n  set switch.lossless"):
        check("lossless.class0.pauses", without)


def test_every_sum_of_a_class_in_the_summary_is_a_metric(tmp_path: Path) -> None:
    run = sh.run(EXAMPLE, {"stop.at": "50us"}, out=tmp_path / "run")
    offered = Offered.of(Source.read(EXAMPLE).parse())
    assert {"ttl_expired", "storms", "dropped_by_watchdog"} <= {*run.summary["lossless"]["class0"]}
    for word, value in run.summary["lossless"]["class0"].items():
        check(f"lossless.class0.{word}", offered)
        assert measure(run, f"lossless.class0.{word}") == value


def test_a_comparison_has_the_pauses_of_runs_with_lossless_classes(tmp_path: Path) -> None:
    keys: dict[str, str | float] = {"stop.at": "500us"}
    alphas = {"large": 0.25, "small": 0.03125}
    runs = {
        name: sh.run(EXAMPLE, out=tmp_path / name, overrides=keys | {"switch.lossless.alpha": alpha})
        for name, alpha in alphas.items()
    }
    found = sh.compare(*runs.values(), names=list(runs))
    rows = {row["metric"]: row for row in found.table.iter_rows(named=True)}
    for name in ("pauses", "paused_us"):
        values = [measure(runs[scheme], name) for scheme in ("large", "small")]
        assert [rows[name]["baseline_value"], rows[name]["value"]] == values
        assert rows[name]["change"] == values[1] - values[0] != 0
    assert "time paused µs" in str(found)
