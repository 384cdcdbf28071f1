"""Tests of damaged run folders: every reader names the damage, and the command that repeats the run."""

import json
import os
import random
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

import shallows as sh
from shallows import figures, reports
from shallows.about import build
from shallows.runs.index import runs_in
from shallows.runs.manifest import check
from shallows.runs.source import Source
from shallows.sweeps.points import Outcome, plan
from shallows.sweeps.sweeps import choose_engine, run_points
from shared import SMALL, SWEEP, Shell, contents

CAPTURE = '[measure]\ncaptures = [{ ports = ["to-host"], name = "ports" }]'
FILES = ["flows", "counters", "queues", "markers"]

needs_reuse = pytest.mark.skipif(
    build()["dirty"], reason="needs a build without local changes to the engine: only then are results reused"
)


def empty(path: Path) -> None:
    """Make a file empty."""
    path.write_bytes(b"")


def truncate(path: Path) -> None:
    """Remove the end of a file."""
    path.write_bytes(path.read_bytes()[:-2])  # a document's last is the end of its line


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    found = bytearray(path.read_bytes())
    found[len(found) // 2] ^= 1
    path.write_bytes(bytes(found))


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with a capture; tests must not change it."""
    path = tmp_path_factory.mktemp("captured") / "small.toml"
    path.write_text(SMALL.replace("[measure]", CAPTURE))
    return sh.run(path, out=path.parent / "run").path


@pytest.fixture
def one(captured: Path, tmp_path: Path) -> Path:
    """A copy of `captured`, which tests may damage."""
    return shutil.copytree(captured, tmp_path / "one")


@pytest.mark.parametrize("damage", [empty, truncate, Path.unlink])
@pytest.mark.parametrize(
    "name", [*(f"{name}.parquet" for name in FILES), "ports.pcapng", "summary.json", "resolved.json"]
)
def test_a_file_that_is_not_whole_is_seen(one: Path, name: str, damage: Callable[[Path], None]) -> None:
    damage(one / name)
    with pytest.raises(
        sh.ShallowsError, match=rf"one is damaged: {name} (is missing|must have [0-9,]+ bytes)"
    ):
        sh.Run(one)


@pytest.mark.parametrize("damage", [empty, truncate, Path.unlink])
@pytest.mark.parametrize("name", ["manifest.json", "env.json"])
def test_what_tells_of_the_others_is_seen_too(one: Path, name: str, damage: Callable[[Path], None]) -> None:
    damage(one / name)
    with pytest.raises(
        sh.ShallowsError, match=rf"one is damaged: {name} (is missing|must have|cannot be read)"
    ):
        sh.Run(one)


@pytest.mark.parametrize("name", ["flows.parquet", "ports.pcapng", "summary.json"])
def test_a_flipped_bit_is_seen_by_whoever_reads_all(one: Path, name: str) -> None:
    sh.Run(one).verify()
    flip(one / name)
    run = sh.Run(one)  # sizes are right
    with pytest.raises(
        sh.ShallowsError, match=f"the contents of {name} differ from the hash in manifest.json"
    ) as seen:
        run.verify()
    assert seen.value.remedy.startswith("run it again with `shallows run ")
    assert seen.value.remedy.endswith(f"--seed 1 --out {one} --force`")


FLIPS = 60


def test_flipped_bits_of_any_table_are_damage_to_all_that_read_it(captured: Path, tmp_path: Path) -> None:
    # The name of a column was a ColumnNotFoundError, other bits a PanicException or a wrong number.
    other, drawn, one = sh.Run(captured), random.Random(36), tmp_path / "one"  # noqa: S311
    reads: dict[str, Callable[[sh.Run], object]] = {
        "flows": lambda run: run.flows,
        "counters": lambda run: run.counters,
        "queues": lambda run: run.queues,
        "markers": lambda run: run.markers,
    }
    uses: list[Callable[[sh.Run], object]] = [
        *reads.values(),
        lambda run: [run.by(what) for what in ("workload", "class", "port", "queue")],
        lambda run: run.series("switch0->host0").mean(),
        lambda run: reports.write(one, [run]),
        lambda run: [figures.fct_cdf([run]), figures.queue([run])],
        lambda run: sh.compare([other], [run], names=["whole", "damaged"]),
    ]
    shutil.copytree(captured, one)
    for use in uses:
        use(sh.Run(one))  # whole
    for _ in range(FLIPS):
        shutil.rmtree(one, ignore_errors=True)
        shutil.copytree(captured, one)
        name = drawn.choice(FILES)
        contents = bytearray((one / f"{name}.parquet").read_bytes())
        for _ in range(drawn.choice([1, 1, 3, 16])):
            contents[drawn.randrange(len(contents))] ^= 1 << drawn.randrange(8)
        (one / f"{name}.parquet").write_bytes(contents)
        with pytest.raises(
            sh.ShallowsError, match=f"one is damaged: the contents of {name}.parquet differ from"
        ):
            reads[name](sh.Run(one))
        for use in uses:
            with suppress(sh.ShallowsError):  # what does not read this table has its result
                use(sh.Run(one))


@pytest.mark.parametrize("size", [None, "abc", [], 1.5])
def test_a_manifest_with_odd_sizes_cannot_be_read(one: Path, size: object) -> None:
    document = json.loads((one / "manifest.json").read_text())
    document["files"]["flows.parquet"]["bytes"] = size
    (one / "manifest.json").write_text(json.dumps(document))
    with pytest.raises(sh.ShallowsError, match=r"one is damaged: manifest\.json cannot be read"):
        sh.Run(one)


def test_a_manifest_that_names_what_no_file_can_be_called_names_what_is_missing(one: Path) -> None:
    document = json.loads((one / "manifest.json").read_text())
    document["files"]["flows\0"] = {"bytes": 0, "blake2b": ""}
    (one / "manifest.json").write_text(json.dumps(document))
    with pytest.raises(sh.ShallowsError, match="one is damaged: flows\0 is missing"):
        sh.Run(one)


def test_what_is_no_regular_file_is_damage_and_never_opened(one: Path) -> None:
    document = json.loads((one / "manifest.json").read_text())
    document["files"]["flows.parquet"]["bytes"] = 0  # a pipe has as many: nothing else tells it apart
    (one / "manifest.json").write_text(json.dumps(document))
    (one / "flows.parquet").unlink()
    os.mkfifo(one / "flows.parquet")
    # In a process of its own: to open the pipe would hang.
    script = "import sys; from pathlib import Path; from shallows.runs.manifest import unfit;"
    script += "print(unfit(Path(sys.argv[1]), verify=True))"
    said = subprocess.run(
        [sys.executable, "-c", script, one], capture_output=True, text=True, check=True, timeout=30
    ).stdout
    assert "one is damaged: flows.parquet must be a regular file" in said


def test_pages_and_notes_beside_results_are_no_damage(one: Path) -> None:
    (one / "report.html").write_text("renewed")
    (one / "notes.txt").write_text("mine")
    sh.Run(one).verify()


@needs_reuse
def test_a_damaged_run_runs_again_without_force(shell: Shell, scenario: Path, tmp_path: Path) -> None:
    assert shell("run", scenario, "--out", "here").returncode == 0
    whole = contents(tmp_path)
    truncate(tmp_path / "here" / "flows.parquet")
    # As another scenario's it is still not to be replaced.
    refused = shell("run", scenario, "--seed", "2", "--out", "here").stderr
    assert "here exists and is not a run of this scenario, seed and engine" in refused
    again = shell("run", scenario, "--out", "here")
    assert again.returncode == 0, again.stderr
    assert "here is damaged: flows.parquet must have" in again.stderr
    assert again.stderr.count("the scenario is run again") == 1
    assert contents(tmp_path) == whole
    flip(tmp_path / "here" / "flows.parquet")
    assert "contains a finished run" in shell("run", scenario, "--out", "here").stderr
    again = shell("run", scenario, "--out", "here", "--verify")
    assert (
        "here is damaged: the contents of flows.parquet differ from the hash in manifest.json" in again.stderr
    )
    assert contents(tmp_path) == whole
    assert (
        "contains a finished run of the same scenario"
        in shell("run", scenario, "--out", "here", "--verify").stderr
    )


def test_what_users_put_beside_a_damaged_run_outlives_it(
    shell: Shell, scenario: Path, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    assert shell("run", scenario, "--out", "here").returncode == 0

    def spoil() -> None:
        (here / "notes.txt").write_text("mine")
        (here / "mine.parquet").write_text("mine, too")
        (here / "figures" / "old").mkdir(parents=True, exist_ok=True)
        (here / "figures" / "old" / "one.svg").touch()
        truncate(here / "flows.parquet")

    def verify() -> None:
        sh.Run(here).verify()
        assert (here / "notes.txt").read_text() == "mine"
        assert (here / "mine.parquet").read_text() == "mine, too"
        assert (here / "figures" / "old" / "one.svg").is_file()
        assert not list(tmp_path.glob(".here.*"))

    for damage in ([], ["manifest.json"]):
        spoil()
        for name in damage:
            (here / name).unlink()
        again = shell("run", scenario, "--out", "here")
        assert again.returncode == 0, again.stderr
        verify()
    # Another run keeps no results of this one, even if nothing records any longer which files they are.
    spoil()
    for name in ("manifest.json", "env.json"):
        (here / name).write_text("{}")
    (here / "env.json").write_text('{"hash": "another"}')
    (here / "ports.pcapng").touch()
    again = shell("run", scenario, "--out", "here", "--force")
    assert again.returncode == 0, again.stderr
    sh.Run(here).verify()
    assert (here / "notes.txt").read_text() == "mine"
    assert not (here / "ports.pcapng").exists()


def test_the_advice_for_a_run_of_another_version_or_a_damaged_one_works(
    shell: Shell, scenario: Path, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    assert shell("run", scenario, "--out", "here").returncode == 0
    environment = json.loads((here / "env.json").read_text())
    # Its engine was another, so its hash was too; it had no manifest.
    (here / "manifest.json").unlink()
    older = {"format": 1, "hash": "0" * 64, "version": "0.0.9"}
    (here / "env.json").write_text(json.dumps(environment | older))
    for flipped in ([], ["flows.parquet"]):
        for name in flipped:
            flip(here / name)
        with pytest.raises(sh.ShallowsError) as seen:
            check(here, verify=True)
        command = shlex.split(seen.value.remedy.split("`")[1])
        again = shell(*command[1:])
        assert again.returncode == 0, again.stderr
        sh.Run(here).verify()


@needs_reuse
def test_damaged_points_run_again_and_no_others(shell: Shell, finished: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "sweep.toml"
    scenario.write_text(SMALL + SWEEP.replace("seed = [1, 2]", "seed = [1, 2, 3]"))
    whole = contents(finished)
    paths = [run.path for run in runs_in(finished)]
    truncate(paths[0] / "summary.json")
    (paths[1] / "counters.parquet").unlink()
    flip(paths[2] / "flows.parquet")
    for path in (paths[3] / "env.json", paths[3] / "manifest.json"):
        empty(path)
    made = {path: path.stat().st_ino for path in paths}
    done = shell("sweep", scenario, "--out", finished)
    # Sizes reveal three of these runs. The other one is found when the report reads its table, and is left
    # out.
    assert done.returncode == 1
    assert done.stderr.count("the point is run again") == 3
    assert (
        f"{paths[2]} is damaged: the contents of flows.parquet differ from the hash in manifest.json"
        in done.stderr
    )
    assert f"--out {finished} --verify`" in done.stderr
    assert [path for path in paths if path.stat().st_ino != made[path]] == [paths[0], paths[1], paths[3]]
    done = shell("sweep", scenario, "--out", finished, "--verify")
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        f"{paths[2]} is damaged: the contents of flows.parquet differ from the hash in manifest.json: "
        "the point is run again\n"
    )
    assert contents(finished) == whole


def test_reports_and_comparisons_name_a_damaged_run_of_a_sweep(shell: Shell, finished: Path) -> None:
    path = runs_in(finished)[7].path
    flip(path / "flows.parquet")
    for command in ("report", "compare"):
        refused = shell(command, finished, "--verify")
        assert refused.returncode == 1
        assert f"{path} is damaged: the contents of flows.parquet differ from the hash" in refused.stderr
        assert "run it again with `shallows sweep " in refused.stderr
        assert f"sweep.toml --out {finished} --verify`" in refused.stderr
    assert "11 runs of 12" in (finished / "report.html").read_text()
    truncate(path / "flows.parquet")
    assert f"{path} is damaged: flows.parquet must have" in shell("compare", finished).stderr
    # The page is still written, for the intact runs.
    assert shell("report", finished).returncode == 1
    assert "missing here: reno, load 0.3, seed 2" in (finished / "report.html").read_text()


def test_a_merge_takes_the_copy_that_is_whole(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    assert shell("sweep", sweep, "--shard", "1/8", "--out", "one").returncode == 0
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    (bad,) = (tmp_path / "one").glob("small-*/flows.parquet")
    flip(bad)
    merged = shell("merge", sweep, "one", "two", "--out", "all", "--verify")
    assert "is damaged: the contents of flows.parquet differ from the hash in manifest.json" in merged.stderr
    assert "7 of 8 points are whole in none of these folders" in merged.stderr
    assert contents(tmp_path / "all") == contents(tmp_path / "two")
    shutil.rmtree(tmp_path / "all")
    alone = shell("merge", sweep, "one", "--out", "all", "--verify")
    assert "8 of 8 points are whole in none of these folders" in alone.stderr


def test_a_sweep_whose_folder_is_removed_under_way_fails(sweep: Path, tmp_path: Path) -> None:
    _, points = plan(Source.read(sweep), tmp_path / "out")

    def remove(_running: object, outcomes: list[Outcome]) -> None:
        if len(outcomes) == 2:
            shutil.rmtree(tmp_path / "out", ignore_errors=True)

    with pytest.raises(sh.ShallowsError, match=r"out was removed during the sweep"):
        run_points(points, choose_engine(jobs=1), remove)


def test_a_point_that_is_removed_under_way_fails(sweep: Path, tmp_path: Path) -> None:
    _, points = plan(Source.read(sweep), tmp_path / "out")
    (tmp_path / "out").mkdir()

    def remove(_running: object, outcomes: list[Outcome]) -> None:
        if len(outcomes) == 8:
            shutil.rmtree(points[0].folder)

    outcomes = run_points(points, choose_engine(), remove)
    assert [outcome.run is None for outcome in outcomes] == [True] + [False] * 7
    assert outcomes[0].error == f"{points[0].folder} was removed or changed during the sweep"


def test_tables_are_read_from_a_folder_whose_name_looks_like_a_pattern(
    scenario: Path, tmp_path: Path
) -> None:
    run = sh.run(scenario, out=tmp_path / "k[65KB]")
    assert run.flows.height == sh.run(scenario, out=tmp_path / "plain").flows.height > 0


def test_a_panic_of_the_reader_of_tables_is_damage(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sh.run(scenario, out=tmp_path / "run")

    def panic(*_: object, **__: object) -> None:
        raise pl.exceptions.PanicException("index out of bounds")

    monkeypatch.setattr(pl, "read_parquet", panic)
    with pytest.raises(sh.ShallowsError, match=r"flows\.parquet cannot be read: index out of bounds"):
        _ = run.flows
