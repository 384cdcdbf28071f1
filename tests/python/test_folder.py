"""Tests of run folders: files that are replaced, restored or kept, and errors if writing fails."""

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import shallows as sh
from shallows.about import build
from shallows.errors import NoSpaceError, ShallowsError
from shallows.runs import folder, process
from shallows.runs.source import Source
from shared import SHALLOWS, Shell

NO_PROCESS = 2**31 - 1
"""A process number that no process has: the largest 31-bit number."""


def test_a_commit_never_replaces_what_is_no_run(tmp_path: Path) -> None:
    final = tmp_path / "one"
    with folder.RunFolder(final) as unfinished:
        final.mkdir()
        (final / "thesis.tex").touch()
        with pytest.raises(ShallowsError, match="is not a run of Shallows"):
            unfinished.commit()
    assert (final / "thesis.tex").exists()


def test_a_name_like_that_of_a_run_makes_nobodys_files_ours(tmp_path: Path) -> None:
    final = tmp_path / "one-0123456789ab-s1"
    with folder.RunFolder(final) as unfinished:
        final.mkdir()
        (final / "thesis.txt").touch()
        with pytest.raises(ShallowsError, match="is not a run of Shallows"):
            unfinished.commit()
    assert (final / "thesis.txt").exists()
    with pytest.raises(ShallowsError, match="is not a run of Shallows"):
        folder.refuse_existing(final, "0123456789abcdef", force=True)
    # Remains of a run, or an empty folder, may be replaced.
    for name in ("thesis.txt", "summary.json"):
        (final / name).rename(final / "summary.json")
        folder.refuse_existing(final, "0123456789abcdef")
        if name == "summary.json":
            (final / name).unlink()
            folder.refuse_existing(final, "0123456789abcdef")


def test_a_commit_gives_no_name_to_what_is_not_whole(scenario: Path, tmp_path: Path) -> None:
    run = sh.run(scenario, out=tmp_path / "one")
    with folder.RunFolder(tmp_path / "two") as unfinished:
        shutil.copytree(run.path, unfinished.path, dirs_exist_ok=True)
        (unfinished.path / "flows.parquet").write_bytes(b"")
        with pytest.raises(ShallowsError, match=r"damaged: flows\.parquet must have [0-9,]+ bytes, got 0"):
            unfinished.commit()
    assert not (tmp_path / "two").exists()


def test_a_folder_and_its_files_are_on_the_disk_before_they_have_their_name(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    original_sync, original_rename = os.fsync, Path.rename

    def sync(descriptor: int) -> None:
        happened.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        original_sync(descriptor)

    def rename(self: Path, target: Path) -> Path:
        happened.append(f"{self.name} becomes {target.name}")
        return original_rename(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", rename)
    run = sh.run(scenario, out=tmp_path / "one")
    *files, parent = [name for name in happened if "becomes" not in name]
    assert sorted(files) == sorted([*(path.name for path in run.path.iterdir()), ".one.1.partial"])
    # The last of them is the folder itself, then its name; last what holds that name.
    assert happened[-3:] == [".one.1.partial", ".one.1.partial becomes one", tmp_path.name]
    assert parent == tmp_path.name


def test_a_report_that_cannot_be_written_still_prints_its_tables(
    shell: Shell, scenario: Path, tmp_path: Path
) -> None:
    shell("run", scenario, "--out", "here")
    # A folder in place of the page: even root cannot replace it with a file.
    (tmp_path / "here" / "report.html").unlink()
    (tmp_path / "here" / "report.html").mkdir()
    done = shell("report", "here")
    assert done.returncode == 1
    assert "Flow completion times" in done.stdout
    assert done.stderr == (
        "shallows: here/report.html cannot be written: Is a directory\n"
        "  free some space, or make its folder writable\n"
    )


def test_a_run_without_its_report_is_given_one(shell: Shell, scenario: Path, tmp_path: Path) -> None:
    # Files of up to 100 kB: the results fit, the page does not.
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 100; exec "$@"', "bash", SHALLOWS, "run", scenario, "--out", "here"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "here/report.html cannot be written: File too large" in done.stderr
    assert "and give the same command again: the results are kept" in done.stderr
    made = (tmp_path / "here" / "manifest.json").stat().st_mtime_ns
    again = shell("run", scenario, "--out", "here")
    assert again.returncode == 0, again.stderr
    assert "here holds this run, but not its report" in again.stdout
    assert "Flow completion times" in again.stdout
    assert (tmp_path / "here" / "report.html").is_file()
    assert (tmp_path / "here" / "manifest.json").stat().st_mtime_ns == made
    # Now it is complete.
    assert "contains a finished run" in shell("run", scenario, "--out", "here").stderr


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        OSError("No space left on device (os error 28)"),  # the engine's
        shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")]),
    ],
)
def test_a_full_disk_is_told_from_other_errors(error: OSError) -> None:
    assert type(folder.failure("x cannot be written", error, "")) is NoSpaceError
    other = OSError(errno.EACCES, "Permission denied")
    assert type(folder.failure("x cannot be written", other, "")) is ShallowsError


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_the_engine_says_that_a_disk_is_full(scenario: Path) -> None:
    simulation = Source.read(scenario).parse().simulate(None)
    while '"done":false' in simulation.advance(100):
        pass
    with pytest.raises(OSError, match="No space left") as full:
        simulation.finish().write_table("flows", "/dev/full")
    assert type(folder.failure("x cannot be written", full.value, "")) is NoSpaceError


def test_a_full_disk_ends_a_sweep_with_what_is_whole(shell: Shell, sweep: Path, small_disk: Path) -> None:
    done = shell("sweep", sweep, "--jobs", "1", "--out", small_disk / "out")
    assert done.returncode == 1
    kept = list((small_disk / "out").glob("small-*"))
    assert 0 < len(kept) < 8
    assert done.stderr.count("No space left on device") == 1
    assert (
        f"free some space: {len(kept)} of 8 points are kept; repeat the command to run the others"
        in done.stderr
    )
    assert "Traceback" not in done.stderr
    assert not list((small_disk / "out").glob(".*.partial"))
    subprocess.run(["mount", "-o", "remount,size=10m", small_disk], check=True)
    again = shell("sweep", sweep, "--out", small_disk / "out")
    assert again.returncode == 0, again.stderr
    if not build()["dirty"]:
        assert f"8 runs, {len(kept)} of them finished before" in again.stdout


def test_a_text_file_is_written_beside_those_of_others(tmp_path: Path) -> None:
    path = tmp_path / "sweep.json"
    # Of a process that is gone, and of one of another machine that is an hour old, or new.
    here = process.me()
    gone = tmp_path / f".sweep.json.{here.space}-{NO_PROCESS}-7.partial"
    new, old = (tmp_path / f".sweep.json.{space * 16}-7-7.partial" for space in "ab")
    for left in (gone, new, old):
        left.touch()
    os.utime(old, (0, 0))
    folder.write_whole(path, "{}")
    assert sorted(tmp_path.iterdir()) == [new, path]
