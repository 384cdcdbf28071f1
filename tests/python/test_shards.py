"""Tests of the shards of a sweep, and of merging them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import shallows as sh
from shallows.errors import ShallowsError
from shallows.runs import formats, leases, manifest
from shallows.runs.source import Source
from shallows.sweeps.points import Shard, plan
from shared import SHALLOWS, Shell, contents, results, seal


def test_shards_share_out_every_point_once(many: Path) -> None:
    _, points = plan(Source.read(many), None)
    shards = [Shard(index, 4).of(points) for index in (1, 2, 3, 4)]
    assert [len(shard) for shard in shards] == [14, 14, 13, 13]
    assert sorted(point.folder for shard in shards for point in shard) == sorted(p.folder for p in points)


def test_merged_shards_are_what_one_machine_makes(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    for index in (1, 2, 3):
        done = shell("sweep", sweep, "--shard", f"{index}/3", "--out", f"part{index}")
        assert done.returncode == 0, done.stderr
        assert f"{[3, 3, 2][index - 1]} of 8 runs" in done.stdout
    half = shell("merge", sweep, "part1", "part3", "--out", "all")
    assert half.returncode == 1
    assert "missing: dctcp, load 0.3, seed 2\n" in half.stderr
    assert "3 of 8 points are whole in none of these folders" in half.stderr
    merged = shell("merge", sweep, "part1", "part2", "part3", "--out", "all")
    assert merged.returncode == 0, merged.stderr
    assert shell("sweep", sweep, "--out", "whole").returncode == 0
    assert contents(tmp_path / "all") == contents(tmp_path / "whole")
    assert results(tmp_path / "all") == results(tmp_path / "whole")
    for part in ("part1", "all"):
        assert (tmp_path / part / "sweep.json").read_bytes() == (tmp_path / "whole/sweep.json").read_bytes()


def test_shards_may_share_a_folder(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    for index in (1, 2):
        assert shell("sweep", sweep, "--shard", f"{index}/2", "--out", "both").returncode == 0
    assert len(list((tmp_path / "both").glob("small-*"))) == 8
    page = (tmp_path / "both" / "report.html").read_text()
    assert "8 runs" in page


def test_results_that_differ_are_not_merged(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    assert shell("sweep", sweep, "--shard", "1/8", "--out", "one").returncode == 0
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    (damaged,) = (tmp_path / "two").glob("small-*/flows.parquet")
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    refused = shell("merge", sweep, "one", "two", "--out", "all")
    assert refused.returncode == 1
    assert refused.stderr.startswith("shallows: flows.parquet differs between one/")
    assert "and engine (dctcp, load 0.3, seed 1)" in refused.stderr
    assert "remove the damaged one, and repeat the command" in refused.stderr
    # Keys of a summary that depend on the machine may differ.
    shutil.rmtree(tmp_path / "two")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    (slower,) = (tmp_path / "two").glob("small-*/summary.json")
    summary = json.loads(slower.read_text())
    summary["engine"]["wall_s"] *= 2
    slower.write_text(json.dumps(summary))
    seal(slower.parent)
    assert "7 of 8 points are whole in none" in shell("merge", sweep, "one", "two", "--out", "all").stderr


def test_what_no_manifest_names_makes_no_two_runs_differ(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    assert shell("sweep", sweep, "--shard", "1/8", "--out", "one").returncode == 0
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    (run,) = (tmp_path / "two").glob("small-*")
    # What a kill leaves just before the end, and what a user puts beside results.
    for name in (leases.FILE, "notes.json", "means.parquet"):
        (run / name).write_text("{}")
    merged = shell("merge", sweep, "one", "two", "--out", "all")
    assert "7 of 8 points are whole in none of these folders" in merged.stderr
    assert contents(tmp_path / "all") == contents(tmp_path / "one")
    # A table that only one of them has, and that is its own, still does.
    seal(run)
    refused = shell("merge", sweep, "one", "two", "--out", "all")
    assert "means.parquet differs between all/" in refused.stderr


def test_a_folder_of_another_version_is_named_and_never_reused(scenario: Path, tmp_path: Path) -> None:
    run = sh.run(scenario, out=tmp_path / "old")
    environment = json.loads((run.path / "env.json").read_text())
    assert manifest.holds(run.path, environment["hash"])
    old = {"hash": environment["hash"], "version": "0.0.9"}
    (run.path / "manifest.json").unlink()
    for written in (old, old | {"format": 1}):
        (run.path / "env.json").write_text(json.dumps(written))
        assert not manifest.holds(run.path, environment["hash"])
        with pytest.raises(ShallowsError, match=r"old was written by another version .*, 0\.0\.9") as seen:
            sh.Run(run.path)
        assert seen.value.remedy == "run its scenario again, or read the folder with that version"
    # And it is replaced, not taken for something that is not ours.
    assert sh.run(scenario, out=tmp_path / "old").environment["format"] == formats.FORMAT


def test_a_sweep_in_python_gives_runs_and_a_table(sweep: Path, tmp_path: Path) -> None:
    done = sh.sweep(sweep, overrides={"workload.0.flows": 20}, out=tmp_path / "out", jobs=2)
    assert (len(done.runs), done.failed) == (8, [])
    assert done.table.columns[:4] == ["scheme", "workload.0.load", "seed", "fct_mean_us"]
    first = done.table.filter(pl.col("scheme") == "reno").row(0, named=True)
    assert first["fct_p99_us"] == done.runs[4].summary["fct_us"]["all"]["p99"]


def test_a_sweep_runs_from_a_script_without_a_guard(sweep: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import shallows as sh\nprint(sh.sweep({str(sweep)!r}, out='out'))\n")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Sweep('out', 8 runs, 0 failed)\n"


def test_a_disk_that_is_full_is_named_and_leaves_no_folder(sweep: Path, tmp_path: Path) -> None:
    # As a full disk, but for everybody: no file may grow beyond some kilobytes. `sweep.json` fits.
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 3; exec "$@"', "bash", SHALLOWS, "sweep", sweep, "--out", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("failed: ") == 8
    assert "could not be written: File too large" in done.stderr
    assert "free some space, or name another folder with --out" in done.stderr
    assert "Traceback" not in done.stderr
    # Beside it, for whoever watches, what went wrong.
    left = [path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".progress.")]
    assert left == ["sweep.json"]
