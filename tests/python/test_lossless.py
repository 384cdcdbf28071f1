"""Tests of lossless classes in results."""

import re
from pathlib import Path

import polars as pl

import shallows as sh
from shallows.runs import tables
from shared import Shell

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


def test_the_summary_has_what_was_known_before_the_run(tmp_path: Path) -> None:
    marker = {"kind": "threshold", "scope": "queue", "k": "150KB"}
    sets = {"stop.at": "10us", "switch.markers": [marker], "switch.lossless.headroom_pool": "100KB"}
    run = sh.run(EXAMPLE, sets, out=tmp_path / "run")
    assert {row["port"] for row in run.summary["headroom"]} == {"to-host", "bottleneck"}
    thresholds = tables.pause_thresholds(run.summary["pause_thresholds"])
    assert thresholds is not None
    first = {row[0]: row[1] for row in thresholds.rows if row[0].startswith("first")}
    # A queue marks from 150 KB on, and the senders of a group are paused at 200 KB.
    assert first["first, 1 group"] == first["first, 4 groups"] == "ECN"
    notes = [note for note in run.summary["notes"] if note.startswith("the headroom pool of ")]
    assert len(notes) == 2
    said = (
        "has 100KB for 5 lossless groups that need up to 112.619KB each: at most 0 of them may pause at once"
    )
    assert notes[0] == f"the headroom pool of left {said} without loss"


LOOP = """
stop.at = "10ms"
tcp = {}
host.nic = { limit = "1GB", backpressure = "off" }

[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 1
rate = "40Gbps"

[switch]
buffer = { kind = "complete-sharing", pool = "2MB" }

[switch.lossless]
classes = [0]
limit = "100KB"
cyclic_routes = "allow"
routing_loops = [{ to = "leaf1", through = ["leaf0", "spine0"] }]
ttl = 16

[[workload]]
kind = "udp"
senders = 0
receivers = 1
overload = true
pattern = { kind = "constant", rate = "6Gbps" }
"""


def test_a_deadlock_ends_a_run_with_an_error_and_keeps_its_results(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "loop.toml").write_text(LOOP)
    done = shell("run", "loop.toml", "--out", "run")
    assert done.returncode == 1
    said = " ".join((done.stdout + done.stderr).split())
    assert "in a deadlock: these paused ports wait for each other" in said
    run = sh.Run(tmp_path / "run")
    assert run.deadlocked
    assert run.summary["simulated_s"] < 0.01
    assert run.pauses is not None
    assert run.pauses["ttl_expired"].sum() == run.summary["lossless"]["class0"]["ttl_expired"] > 0
    # In a routing loop, flows do not take shortest paths.
    page = " ".join(sh.report(run.path).read_text(encoding="utf-8").split())
    assert "Who paused whom, class 0" in page
    assert "Victim flows are not listed, because" in page
    assert "Victim flows of class" not in page


def test_a_watchdog_ends_a_storm_and_says_so(tmp_path: Path) -> None:
    run = sh.run(EXAMPLE.with_name("pfc-storm.toml"), out=tmp_path / "run")
    assert run.pauses is not None
    port = run.pauses.filter(pl.col("port") == "right->host3")
    assert port["storms"].item() == 1
    assert run.pauses["dropped_by_watchdog"].sum() > 0
    assert any(warning.startswith("PFC watchdogs found storms") for warning in run.summary["warnings"])
    assert not run.problems
    # The storm lasts 5 ms. The victim, host 0, is paused until the watchdog acts after 1 to 2 ms.
    nic = run.pauses.filter(pl.col("port") == "host0->left")
    assert 0 < nic["paused_us"].item() < 2_500


def test_a_run_without_lossless_classes_has_no_such_table(scenario: Path, tmp_path: Path) -> None:
    run = sh.run(scenario, out=tmp_path / "run")
    assert run.pauses is None
    assert tables.pauses(run.summary) is None


def test_headroom_and_its_terms_are_printed_before_the_run(shell: Shell) -> None:
    planned = shell("plan", EXAMPLE, "--set", "stop.at=10us")
    assert planned.returncode == 0, planned.stderr
    head, _, rest = planned.stdout.partition("\nHeadroom\n")
    assert head.startswith("\nMarking curves\n")
    # Random delays of hosts, as long as a packet takes, count as cable: (500 ns + 123.04 ns) * 2 at 100 Gb/s.
    rows = {line.split("  ")[0]: line.split()[-2:] for line in rest.splitlines() if line}
    assert rows["cable, both directions"] == ["15,576", "50,000"], rest
    assert rows["response time of the sender"] == ["25,216", "57,920"]
    assert rows["needed"] == rows["headroom"]
    assert planned.stdout.endswith("\nit runs by events and not by windows, because of lossless classes\n")
    # The left switch has 2 MB less the headroom of four ports at 100 and one at 400 Gb/s: four groups pause
    # at 1,705,417/8/(1 + 4/8) bytes. Three quarters of 100 Gb/s fill this in 15.16 us. There is no marker.
    pauses = {
        line[:24].strip(): re.split(r"\s{2,}", line[24:].strip())
        for line in head.partition("\nPauses (PFC)\n")[2].splitlines()
    }
    assert pauses[""] == [
        "4 × to-host of left",
        "1 × bottleneck of left",
        "2 × to-host of right",
        "1 × bottleneck of right",
    ]
    assert pauses["pauses at, 4 groups"] == ["142 KB", "142 KB", "–", "–"]
    assert pauses["after µs, 4 groups"][0] == "15.2"
    assert pauses["first, 4 groups"][:2] == ["PFC", "PFC"]
    ran = shell("run", EXAMPLE, "--set", "stop.at=10us", "--set", "switch.lossless.headroom=30KB")
    assert "\nHeadroom\n" in ran.stdout
    assert "can be lost; use switch.lossless.headroom" in ran.stderr + ran.stdout
