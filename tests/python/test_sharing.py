"""Tests of points shared by processes that write into one folder: each point runs once, none is lost.

Leases that are not renewed, and different namespaces of process numbers, simulate other machines.
"""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import shallows as sh
from shallows.errors import ClaimLostError, NoSpaceError, ShallowsError
from shallows.runs import executing, folder, leases
from shallows.runs.executing import execute
from shallows.runs.leases import Watch
from shallows.runs.process import Process, me
from shallows.runs.source import Source
from shallows.sweeps import sharing
from shallows.sweeps.local import run_point
from shallows.sweeps.points import Outcome, Point, plan
from shallows.sweeps.sweeps import choose_engine, run_points
from shared import Shell, contents, results, wait_until

NO_PROCESS = 2**31 - 1
"""A process number that no process has: the largest 31-bit number."""

ELSEWHERE = replace(me(), host="elsewhere", space="0" * 16)

# Leases that are over soon, so that a test need not wait for a minute; and builds as if they were committed.
SOON = """
import sys
from shallows import about
from shallows.runs import leases
leases.RENEW_S, leases.EXPIRY_S = 0.1, 2.0
build = {**about.build(), "dirty": False}
about.build = lambda: build
from shallows.cli import main
sys.exit(main(sys.argv[1:]))
"""

NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def _may_unshare() -> bool:
    try:
        return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


needs_namespaces = pytest.mark.skipif(
    not _may_unshare(), reason="needs root, for a namespace of process numbers (unshare --pid)"
)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes leases expire after 0.3 s."""
    monkeypatch.setattr(leases, "EXPIRY_S", 0.3)
    monkeypatch.setattr(leases, "RENEW_S", 0.05)
    monkeypatch.setattr(leases, "_renewer", leases._Renewer())  # that of other tests sleeps for longer


def left_behind(final: Path, process: Process, number: int = 1) -> Path:
    """Create the partial folder of a process, which may have ended."""
    path = final.parent / f".{final.name}.{number}.partial"
    path.mkdir(parents=True)
    write_lease(path, process)
    (path / "flows.parquet").touch()
    return path


def write_lease(path: Path, process: Process) -> None:
    """Write the lease of a process into a folder."""
    (path / leases.FILE).write_text(json.dumps({"process": process.describe(), "token": "0"}))


@pytest.fixture
def renewed() -> Iterator[list[Path]]:
    """A list of leased folders; their leases are renewed as a process on another machine would do."""
    paths: list[Path] = []
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(0.05):
            for path in paths:
                os.utime(path / leases.FILE)

    thread = threading.Thread(target=renew)
    thread.start()
    yield paths
    ended.set()
    thread.join()


def test_one_of_many_gets_a_lease(tmp_path: Path) -> None:
    got: list[leases.Lease] = []
    start = threading.Barrier(8)

    def want() -> None:
        start.wait()
        if lease := leases.take(tmp_path / "one", Watch()):
            got.append(lease)

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1
    assert [path.name for path in tmp_path.iterdir()] == [".one.1.partial"]
    got[0].release()
    assert list(tmp_path.iterdir()) == []


def test_what_a_process_has_left_that_is_gone_goes_at_once(tmp_path: Path) -> None:
    final = tmp_path / "one"
    dead = left_behind(final, replace(me(), number=NO_PROCESS))
    other = left_behind(tmp_path / "two", replace(me(), number=NO_PROCESS))
    alike = [
        tmp_path / name for name in (".one.notes.2024", ".one.partial", ".one.7.bak", ".one.b.7.partial")
    ]
    for path in alike:
        path.mkdir()
    with folder.RunFolder(final) as mine:
        assert mine.path.name == ".one.2.partial"
        assert not dead.exists()
        assert all(path.is_dir() for path in [other, *alike])


def test_a_number_that_lives_here_for_another_program_is_no_sign_of_life(tmp_path: Path) -> None:
    # Process 1 always lives; it did not begin then.
    left_behind(tmp_path / "one", replace(me(), number=1, started="1"))
    assert leases.take(tmp_path / "one", Watch())


def test_what_a_living_process_writes_is_its_own(tmp_path: Path) -> None:
    with (
        folder.RunFolder(tmp_path / "one"),
        pytest.raises(ShallowsError, match=rf"one cannot be written: process {os.getpid()} on "),
        folder.RunFolder(tmp_path / "one"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("soon")
def test_a_lease_of_another_machine_is_over_when_it_is_not_renewed(
    tmp_path: Path, renewed: list[Path]
) -> None:
    path = left_behind(tmp_path / "one", ELSEWHERE)
    # The other machine's clock may be years ahead or behind: only changes of times count, never their values.
    os.utime(path / leases.FILE, (4e9, 4e9))
    with folder.RunFolder(tmp_path / "one"):
        assert not path.exists()
    renewed.append(left_behind(tmp_path / "two", ELSEWHERE))
    with (
        pytest.raises(ShallowsError, match=r"two cannot be written: process .* on elsewhere"),
        folder.RunFolder(tmp_path / "two"),
    ):
        pass
    assert renewed[0].exists()


@pytest.mark.usefixtures("soon")
def test_a_lease_is_renewed_whatever_its_process_does(tmp_path: Path) -> None:
    watch = Watch()
    with folder.RunFolder(tmp_path / "one") as mine:
        write_lease(mine.path, ELSEWHERE)
        end = time.monotonic() + 4 * leases.EXPIRY_S
        while time.monotonic() < end:
            assert not watch.is_over(mine.path)
            time.sleep(0.02)
        assert watch.lives(tmp_path / "one")


def test_a_run_that_was_moved_aside_goes_once_its_successor_is_there(tmp_path: Path) -> None:
    final, aside = tmp_path / "one", tmp_path / ".one.1.replaced"
    aside.mkdir()
    (aside / "summary.json").touch()
    lease = leases.take(final, Watch())
    assert lease
    assert (final / "summary.json").exists()
    lease.release()
    aside.mkdir()
    assert leases.take(final, Watch())
    assert not aside.exists()
    assert (final / "summary.json").exists()


def test_whoever_has_lost_a_lease_commits_nothing(scenario: Path, tmp_path: Path) -> None:
    source = Source.read(scenario)
    final = tmp_path / "one"

    def take_over(_: object) -> None:
        for path in tmp_path.glob(".one.1.partial"):
            write_lease(path, replace(me(), number=NO_PROCESS))
            assert leases.take(final, Watch())

    with pytest.raises(ClaimLostError, match="another process has taken it over"):
        execute(source, source.parse(), final, take_over)
    assert [path.name for path in tmp_path.glob("*one*")] == [".one.2.partial"]


def test_whoever_has_lost_a_lease_does_not_commit_what_has_its_place(scenario: Path, tmp_path: Path) -> None:
    run = sh.run(scenario, out=tmp_path / "run")
    final = tmp_path / "one"
    lost = folder.RunFolder(final)
    with lost:
        write_lease(lost.path, replace(me(), number=NO_PROCESS))
        with folder.RunFolder(final) as second:
            shutil.copytree(run.path, second.path, dirs_exist_ok=True)
            second.commit()
        with folder.RunFolder(final) as third:
            assert third.path == lost.path
            (third.path / "flows.parquet").touch()
            assert lost.is_lost()
            with pytest.raises(OSError, match="another process has taken over the folder"):
                lost.commit()
            sh.Run(final).verify()
            assert third.path.is_dir()


@pytest.fixture
def points(sweep: Path, tmp_path: Path) -> list[Point]:
    """Eight points, none of which has run."""
    _, found = plan(Source.read(sweep), tmp_path / "out")
    (tmp_path / "out").mkdir()
    return found


def test_a_point_that_was_taken_over_is_not_failed_but_run_by_somebody(points: list[Point]) -> None:
    share = sharing.Share(dict(enumerate(points)))
    index = share.begin()
    assert index == 0
    share.end(index, sharing.Ended("lost", is_lost=True))
    assert share.news() == {}
    assert share.waiting == [1, 2, 3, 4, 5, 6, 7, 0]


@pytest.mark.usefixtures("soon")
def test_points_of_others_are_left_until_they_are_there_or_their_leases_over(
    points: list[Point], renewed: list[Path]
) -> None:
    left_behind(points[0].folder, ELSEWHERE)
    renewed.append(left_behind(points[1].folder, ELSEWHERE))
    seen: list[int] = []

    def watch(_running: object, outcomes: list[Outcome]) -> None:
        seen.append(len(outcomes))
        if len(outcomes) == 7 and renewed:
            # All other points are done. The other machine now finishes its point.
            path = renewed.pop()
            done = execute(points[1].source, points[1].source.parse(), points[1].folder / "x")
            done.path.rename(points[1].folder.with_name("done"))
            points[1].folder.rmdir()
            points[1].folder.with_name("done").rename(points[1].folder)
            for file in path.iterdir():
                file.unlink()
            path.rmdir()

    outcomes = run_points(points, choose_engine(), watch)
    assert not renewed
    assert [outcome.reused for outcome in outcomes] == [False, True, *[False] * 6]
    assert all(outcome.run for outcome in outcomes)
    assert not list(points[0].folder.parent.glob(".*"))


def test_two_sweeps_of_one_folder_share_its_points(shell: Shell, sweep: Path, tmp_path: Path) -> None:
    both = [_start(tmp_path, sweep, "--json", "--jobs", "1") for _ in range(2)]
    ran = []
    for process in both:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        ran.append([point["folder"] for point in json.loads(output)["points"] if point["status"] == "done"])
    # Each by one of them.
    assert len({*ran[0], *ran[1]}) == len(ran[0]) + len(ran[1]) == 8
    assert not list((tmp_path / "out").glob(".*"))
    assert shell("sweep", sweep, "--out", "whole").returncode == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert results(tmp_path / "out") == results(tmp_path / "whole")


@needs_namespaces
def test_shards_whose_process_numbers_are_alike_leave_each_other_alone(sweep: Path, tmp_path: Path) -> None:
    # In each namespace numbers begin with 1, so that both have the same.
    sweep.write_text(sweep.read_text().replace("flows = 60", "flows = 600"))
    first = _start(tmp_path, sweep, "--shard", "1/2", before=NAMESPACE)
    wait_until(lambda: bool(list(tmp_path.glob("out/.small-*.partial"))))
    for process in (first, _start(tmp_path, sweep, "--shard", "2/2", before=NAMESPACE)):
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert len(list((tmp_path / "out").glob("small-*"))) == 8
    assert not list((tmp_path / "out").glob(".*"))


@needs_namespaces
def test_what_another_machine_was_running_when_it_died_is_taken_over(sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed = _start(tmp_path, sweep, before=NAMESPACE)
    wait_until(lambda: len(list(out.glob("small-*"))) >= 2 and bool(list(out.glob(".small-*.partial"))))
    other = _start(tmp_path, sweep)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    left = {path.name for path in out.glob(".small-*.partial")}
    _, errors = other.communicate(timeout=120)
    assert other.returncode == 0, errors
    assert left
    assert len(list(out.glob("small-*"))) == 8
    assert not list(out.glob(".small-*"))


def test_without_space_no_further_point_begins(points: list[Point]) -> None:
    share = sharing.Share(dict(enumerate(points)))
    assert (share.begin(), share.begin(), share.begin()) == (0, 1, 2)
    share.end(0, sharing.Ended.by(NoSpaceError("one could not be written: No space left", "free some")))
    share.end(2, sharing.Ended("lost", is_lost=True))
    assert share.begin() is None
    # Running points complete; no further point starts.
    assert not share.is_over
    share.end(1, sharing.Ended())
    assert share.is_over
    assert share.news() == {1: sharing.Ended()}
    with pytest.raises(NoSpaceError, match=r"\Aone could not be written: No space left\Z"):
        share.check_space()


def test_a_point_that_finds_no_space_says_so(points: list[Point], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(executing, "write_manifest", full)
    said: list[tuple[str, object]] = []
    lease = leases.take(points[0].folder, Watch())
    assert lease
    run_point(said.append, points[0].source, lease)
    kind, ended = said[-1]
    assert kind == "ended"
    assert isinstance(ended, sharing.Ended)
    assert ended.is_full
    assert list(lease.final.parent.iterdir()) == []


def _start(
    place: Path, scenario: Path, *options: str, before: list[str] | None = None
) -> "subprocess.Popen[str]":
    """Start a sweep in a process of its own."""
    command = [*(before or []), sys.executable, "-c", SOON, "sweep", str(scenario), "--out", "out", *options]
    return subprocess.Popen(
        command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
