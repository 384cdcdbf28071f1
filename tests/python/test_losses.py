"""Tests that losses in NICs are never shown as losses in switches."""

import json
from pathlib import Path

import numpy as np
import pytest

import shallows as sh
from shallows.runs import points_table, tables
from shallows.runs.table import Table
from shared import Shell

# A lone sender whose own NIC is the bottleneck, and, in TWO, two that share a small port.
# With backpressure only that port loses anything.
SCENARIO = """
name = "places"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
link_delay = "5us"
[switch]
buffer = { kind = "static-partition", per_port = "60p" }
[tcp]
congestion = "reno"
rto = { initial = "5ms", min = "5ms" }
[[workload]]
kind = "incast"
senders = "1"
receivers = 0
size = "20MB"
"""

TWO = """
[[workload]]
kind = "incast"
senders = "2..4"
receivers = 0
size = "1MB"
start = "30ms"
"""

SWEEP = """
[sweep]
axes = { "workload.0.size" = ["10MB", "20MB"] }
[[sweep.scheme]]
name = "held"
set = {}
[[sweep.scheme]]
name = "free"
set = { "host.nic.backpressure" = "off" }
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, sh.Run]:
    """Three runs by the place of their losses: in a NIC, in a switch, and in both."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "one.toml").write_text(SCENARIO)
    (folder / "both.toml").write_text(SCENARIO + TWO)
    off = {"host.nic.backpressure": "off"}
    return {
        "nics": sh.run(folder / "one.toml", off, out=folder / "nics"),
        "switches": sh.run(folder / "both.toml", out=folder / "switches"),
        "both": sh.run(folder / "both.toml", off, out=folder / "both"),
    }


def rows(table: Table | None) -> dict[str, list[str]]:
    assert table
    return {name.strip(): rest for name, *rest in table.rows}


def test_every_loss_is_at_one_place_and_tables_say_which(runs: dict[str, sh.Run]) -> None:
    for name, run in runs.items():
        packets = run.summary["packets"]
        nics, switches = packets["dropped_in_nics"], packets["dropped_in_switches"]
        assert nics + switches == packets["dropped"] > 0
        kinds = run.summary["ports"]
        assert (kinds["nic"]["dropped"], kinds["to-host"]["dropped"]) == (nics, switches)
        # What the ports counted, read from their table.
        for kind, dropped in (("nic", nics), ("to-host", switches)):
            assert run.counters.filter(run.counters["kind"] == kind)["dropped"].sum() == dropped
        network = rows(tables.network(run.summary))
        assert network["packets dropped in switches"][0].startswith(f"{switches:,} (" if switches else "none")
        assert network["packets dropped in hosts' NICs"][0].startswith(f"{nics:,} (" if nics else "none")
        assert (nics > 0, switches > 0) == {"nics": (1, 0), "switches": (0, 1), "both": (1, 1)}[name]
    places = rows(tables.ports(runs["both"].summary))
    assert places["hosts' NICs"][2] == f"{runs['both'].summary['packets']['dropped_in_nics']:,}"
    assert tables.ports(runs["switches"].summary) is None


def test_a_run_whose_nics_lose_most_says_so(runs: dict[str, sh.Run]) -> None:
    for name, run in runs.items():
        said = any(
            "NICs of senders dropped more packets than the switches" in text
            for text in run.summary["warnings"]
        )
        assert said == (name != "switches")
    assert points_table.losses_of_nics(list(runs.values())) == [
        "2 of 3 runs lost more packets in hosts' own NICs than in switches"
    ]


def test_a_sweep_and_its_comparison_and_figure_keep_them_apart(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "places.toml").write_text(SCENARIO + SWEEP)
    done = shell("sweep", "places.toml", "--out", "sweep")
    assert "2 of 4 runs lost more packets in hosts' own NICs than in switches" in done.stdout + done.stderr
    compared = json.loads(shell("compare", "sweep", "--json").stdout)
    found = {row["metric"]: row for row in compared["rows"] if row["point"] == {"workload.0.size": "10MB"}}
    assert found["loss_rate_in_switches"]["value"] == found["loss_rate_in_switches"]["baseline_value"] == 0
    assert found["loss_rate_in_nics"]["value"] > found["loss_rate_in_nics"]["baseline_value"] == 0
    assert "loss_rate" not in found


def test_the_figure_draws_losses_of_nics_as_thin_lines_only(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO)
    sweep = [
        sh.run(
            tmp_path / "one.toml",
            {"host.nic.backpressure": "off", "tcp.initial_window": window},
            out=tmp_path / f"{window}",
        )
        for window in (10, 20)
    ]
    lost = sh.figures.fct(sweep).axes[-2]
    network, nics = lost.get_lines()
    assert np.asarray(network.get_ydata()).tolist() == [0, 0]
    assert np.asarray(nics.get_ydata()).tolist() == [100 * run.summary["loss_rate_in_nics"] for run in sweep]
    assert nics.get_linewidth() < network.get_linewidth()
    assert lost.get_ylabel() == "packets lost (%)\n(thin: in hosts)"


def test_a_table_of_a_sweep_counts_flows_that_are_in_no_mean(runs: dict[str, sh.Run], tmp_path: Path) -> None:
    assert "unfinished" not in points_table.points([runs["nics"]]).columns
    # 20 MB take 16 ms at 10 Gb/s; a flow without end is not missed.
    (tmp_path / "cut.toml").write_text(
        f'stop.at = "5ms"\n{SCENARIO}[[workload]]\nkind = "long-lived"\nsenders = "2"\nreceivers = "3"\n'
    )
    cut = sh.run(tmp_path / "cut.toml", out=tmp_path / "cut")
    assert cut.summary["flows"] == {"started": 2, "completed": 0, "unbounded": 1}
    table = points_table.points([cut])
    assert table.rows[0][table.columns.index("unfinished")] == "1"
    assert table.note == "unfinished: flows that had not completed when the run ended; no mean includes them"
