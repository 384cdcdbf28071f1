"""Tests of all figures together: their errors, the command that draws them, and the files that it writes."""

from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import shallows as sh
from drawn import curves
from shallows import figures
from shallows.cli import main
from shallows.figure_names import FIGURES
from shallows.figures import style
from shallows.series import inputs
from shared import GALLERY

# A warning from matplotlib means that a figure is not as intended.
pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(
    ("name", "runs", "message"),
    [
        (
            "queue",
            "blocks",
            "has no record of backlogs (queues.parquet or traces.parquet)\n  set measure.sample_queues",
        ),
        ("queue-cdf", "blocks", "or measure.traces = "),
        ("heat-map", "blocks", "measure.sample_queues"),
        ("cwnd", "blocks", "has no flow_traces.parquet\n  set measure.flow_traces = [{ sample = 4 }]"),
        ("goodput", "blocks", "set measure.flow_traces"),
        ("ping", "blocks", 'has no pings.parquet\n  add a workload of kind "ping"'),
        ("pauses", "heavy", "has no pause_times.parquet\n  set switch.lossless"),
        ("headroom", "heavy", "has no pauses.parquet\n  set switch.lossless"),
        ("incast", "heavy", 'has no queries.parquet\n  add a workload of kind "block-transfer"'),
    ],
)
def test_a_run_that_lacks_a_table_is_told_the_key_to_set(
    name: str, runs: str, message: str, request: pytest.FixtureRequest
) -> None:
    with pytest.raises(sh.ShallowsError) as refused:
        getattr(figures, name.replace("-", "_"))(request.getfixturevalue(runs))
    assert message in str(refused.value)


def test_unknown_ports_flows_and_values_are_answered_with_the_known(
    heavy: list[sh.Run], sharing: list[sh.Run]
) -> None:
    with pytest.raises(
        sh.ShallowsError, match=r"has no port 'leaf7'\n  the ports and pools are: host0->switch0, "
    ):
        figures.queue(heavy, ports=["leaf7"])
    with pytest.raises(sh.ShallowsError, match=r"has no trace of flow 9\n  traced flows are: 0, 1, 2, 3$"):
        figures.cwnd(sharing, flows=[9])
    with pytest.raises(sh.ShallowsError, match=r"has load = 0\.5\n  the values of load are: 0\.8$"):
        inputs.choose_runs(heavy, [("load", "0.5")])
    with pytest.raises(sh.ShallowsError, match=r"no run has k = 1\n  the runs have no axis k$"):
        inputs.choose_runs(heavy, [("k", "1")])
    with pytest.raises(sh.ShallowsError, match="at least one run is needed, got none"):
        figures.ping([])


def test_runs_of_different_kinds_do_not_share_a_figure(
    heavy: list[sh.Run], blocks: list[sh.Run], tmp_path: Path
) -> None:
    with pytest.raises(sh.ShallowsError, match=r"has no queries\.parquet"):
        figures.incast([blocks[0], heavy[0]])
    other = sh.run(
        GALLERY / "load.toml",
        {"measure.bins": ["1MB"], "workload.0.flows": 20},
        out=tmp_path / "other",
    )
    with pytest.raises(sh.ShallowsError, match="different size bins"):
        figures.fct_cdf([heavy[0], other])


def test_runs_made_one_by_one_are_named_by_what_was_changed(tmp_path: Path) -> None:
    changes: list[dict[str, object]] = [{}, {"switch.markers.0.k": "200KB"}]
    few = {"workload.0.flows": 50}
    runs = [
        sh.run(GALLERY / "load.toml", few | change, out=tmp_path / str(i)) for i, change in enumerate(changes)
    ]
    assert list(curves(figures.fct_cdf(runs).axes[0])) == ["load", "k 200KB"]
    # A single line needs no name.
    assert figures.fct_cdf(runs[0]).legends == []


def test_a_page_has_an_end(heavy: list[sh.Run]) -> None:
    with pytest.raises(sh.ShallowsError, match="at most 10 rows, got 96"):
        figures.queue(heavy, ports=["to-host"])


def test_every_name_of_the_command_line_is_a_function() -> None:
    functions = {name for name in figures.__all__ if name not in {"STYLE", "save"}}
    assert {name.replace("-", "_") for name in FIGURES} == functions


def test_the_command_draws_what_was_chosen(
    heavy: list[sh.Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parent = heavy[0].path.parent
    line = [
        "plot",
        "heat-map",
        str(parent),
        "--where",
        "load=0.8",
        "--where",
        "seed=2",
        "--out",
        str(tmp_path),
    ]
    assert main([*line, "--format", "svg", "--port", "switch0->host3"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/heat-map.svg\n"
    text = (tmp_path / "heat-map.svg").read_text()
    assert text.count("switch0-&gt;host3") == 3
    assert "K = 200 KB" in text
    assert main([*line, "--flow", "1"]) == 1
    assert "heat-map does not support --flows" in capsys.readouterr().err


def test_a_figure_that_cannot_be_written_leaves_no_half_of_a_file(tmp_path: Path) -> None:
    figure = plt.figure()
    (tmp_path / "full.pdf").symlink_to("/dev/full")
    with pytest.raises(
        sh.ShallowsError, match=r"full.pdf cannot be written: No space left on device\n  free some"
    ):
        style.save(figure, tmp_path / "full")
    assert not list(tmp_path.iterdir())
    plt.close(figure)
