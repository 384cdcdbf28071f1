"""Engine of a sweep on a Ray cluster, with one task for each point.

Machines of a cluster need not share files. A task receives the scenario with its input files and returns the
finished folder, which the machine that started the sweep writes into the sweep's folder.

Ray's driver is a child process, because Ray ends its driver when the cluster fails.
"""

import contextlib
import importlib.util
import io
import json
import os
import socket
import tarfile
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from multiprocessing.connection import wait
from pathlib import Path, PurePosixPath
from typing import Any

from shallows.about import build
from shallows.bounded import LARGEST_INPUT, read_bytes
from shallows.errors import ScenarioError, ShallowsError
from shallows.runs.child import Child
from shallows.runs.executing import execute
from shallows.runs.folder import RunFolder, failure
from shallows.runs.leases import Lease
from shallows.runs.source import Source
from shallows.runs.threads import cores
from shallows.sweeps.local import State
from shallows.sweeps.points import Point
from shallows.sweeps.sharing import LOOK_S, Ended, Share

RETRIES = 5
"""Number of retries of a point whose worker or machine is lost; points that fail are not retried."""

REPORT_EVERY_S = 1.0
"""Wall time between two progress reports of a task."""

SILENT_S = 10.0
"""Time in s without a report after which a point is no longer shown as running.

A worker that sends no reports is lost, or is writing results.
"""

KNOCK_S = 10.0

Send = Callable[[tuple[str, Any]], None]


def check_ray() -> None:
    """Raise an error if Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise ShallowsError("Ray is not installed", "install it with: pip install 'shallows[ray]'")


def run_on_ray(
    points: Mapping[int, Point], jobs: int | None = None, address: str | None = None
) -> Generator[State, None, None]:
    """Run points on a Ray cluster, at most `jobs` at a time; yields the same states as `run_here`.

    Raises
    ------
    ConnectionError
        If there is no cluster at this address, or the cluster is lost.
    NoSpaceError
        If this machine has no space for a point.
    """
    if not points:
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    # Ray's output would mix with results on standard output.
    log = tempfile.NamedTemporaryFile(prefix="shallows-ray-", suffix=".log", delete=False)  # noqa: SIM115
    with log:
        driver = Child(log)
    driver.give(drive, dict(points), jobs, address)
    running: dict[int, dict[str, Any]] = {}
    left, keep_log = set(points), False
    try:
        while left:
            wait([driver.pipe], timeout=LOOK_S)
            ended: dict[int, Ended] = {}
            stopped: Exception | None = None
            try:
                for kind, content in driver.receive():
                    if kind == "stopped":
                        stopped = content
                    elif kind == "running":
                        running = content
                    else:
                        ended |= content
            except EOFError:
                stopped = stopped or ConnectionError(
                    f"the Ray cluster at {address} was lost; {log.name} has what Ray said"
                )
                keep_log = True
            left -= ended.keys()
            running = {index: progress for index, progress in running.items() if index in left}
            yield running, ended
            if stopped and left:
                raise stopped
    finally:
        driver.stop(patience_s=20)  # Ray takes seconds to shut down
        if not (keep_log and left):
            Path(log.name).unlink()


def drive(send: Send, points: dict[int, Point], jobs: int | None, address: str) -> None:
    """Start tasks, write their results and report progress; runs in the driver process."""
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    started: dict[str, Any] = {}
    if address == "local":
        started = {"num_cpus": jobs or cores(), "include_dashboard": False}
    try:
        _knock(address)
        ray.init(address=address, configure_logging=False, log_to_driver=False, **started)
    except (OSError, RuntimeError, ValueError) as error:  # the type depends on Ray's version and mode
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        send(("stopped", ConnectionError(f"there is no Ray cluster at {address}: {reason}")))
        return
    share = Share(points)
    try:
        tasks = _Tasks(ray, share, jobs or len(points))
        while not share.is_over:
            tasks.hand_out()
            tasks.take_in()
            send(("ended", share.news()))
            send(("running", tasks.running()))
        share.check_space()
    except (ray.exceptions.RaySystemError, ray.exceptions.LocalRayletDiedError) as error:
        reason = str(error).splitlines()[0]
        send(("stopped", ConnectionError(f"the Ray cluster at {address} was lost: {reason}")))
    except ShallowsError as error:
        send(("stopped", error))
    finally:
        share.close()
        ray.shutdown()


class _Tasks:
    """Running tasks on a cluster, at most `most` at a time."""

    def __init__(self, ray: Any, share: Share, most: int) -> None:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
        self.board = ray.remote(num_cpus=0)(Board).options(scheduling_strategy=here).remote()
        self.task = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(run_far)
        self.ray, self.share, self.most = ray, share, most
        self.points: dict[Any, int] = {}
        """Dictionary that maps Ray's reference to a running task to the number of its point."""

    def hand_out(self) -> None:
        """Start tasks for points until `most` of them run."""
        while len(self.points) < self.most and (index := self.share.begin()) is not None:
            point = self.share.points[index]
            try:
                inputs = _pack_inputs(point.source)
            except (OSError, ScenarioError, ShallowsError) as error:  # an input file has changed
                self.share.end(index, Ended.by(error))
                continue
            named = self.task.options(name=f"point-{index + 1}")
            self.points[named.remote(self.board, index, point.source, point.hash, inputs)] = index

    def take_in(self) -> None:
        """Write the folders of finished tasks; wait at most `LOOK_S` for the first."""
        if not self.points:
            time.sleep(LOOK_S)  # other processes run the remaining points
            return
        done, _ = self.ray.wait(list(self.points), timeout=LOOK_S)
        for reference in done:
            index = self.points.pop(reference)
            self.share.end(index, _receive(self.ray, reference, self.share.leases[index]))

    def running(self) -> dict[int, dict[str, Any]]:
        """Return the progress of each running point."""
        seen: dict[int, dict[str, Any]] = {}
        with contextlib.suppress(self.ray.exceptions.RayError):
            seen = self.ray.get(self.board.read.remote(), timeout=LOOK_S)
        return {index: seen[index] for index in seen if index in self.points.values()}


def _knock(address: str) -> None:
    """Raise `OSError` if nothing listens at HOST:PORT; Ray itself would retry for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "//" not in host:
        socket.create_connection((host, int(port)), KNOCK_S).close()


class Board:
    """Ray actor that collects the progress of running points."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[float, dict[str, Any]]] = {}

    def note(self, index: int, progress: dict[str, Any]) -> None:
        """Store the latest progress of a point."""
        self.seen[index] = time.monotonic(), progress

    def read(self) -> dict[int, dict[str, Any]]:
        """Return the progress of points that reported recently; a silent worker may have been killed."""
        now = time.monotonic()
        return {index: progress for index, (at, progress) in self.seen.items() if now - at < SILENT_S}


def run_far(
    board: Any, index: int, source: Source, content_hash: str, inputs: dict[str, bytes]
) -> tuple[str | None, bytes]:
    """Run a point of a sweep as a task of Ray; return the run's error, if any, and its packed folder."""
    last = 0.0

    def note(progress: dict[str, Any]) -> None:
        nonlocal last
        if time.monotonic() - last >= REPORT_EVERY_S or not last:
            last = time.monotonic()
            board.note.remote(index, progress)

    note({"fraction": 0.0, "packet_hops": 0})
    try:
        with tempfile.TemporaryDirectory(prefix="shallows-") as place:
            base = _unpack_inputs(inputs, Path(place))
            experiment = source.parse(base)
            if experiment.hash != content_hash:
                raise ShallowsError(
                    f"worker {socket.gethostname()} has another engine ({build()['version']}, "
                    f"{build()['source_hash'][:12]}) or other input files",
                    "install the same build of Shallows on every machine of the cluster",
                )
            run = execute(source, experiment, Path(place) / "run", note)
            return None, _pack(run.path)
    except Exception as error:
        return str(error) or type(error).__name__, b""


def _pack_inputs(source: Source) -> dict[str, bytes]:
    """Return a dict from each input file's path, relative to the scenario, to the file's contents."""
    base = source.folder
    paths = _paths(json.loads(source.parse().resolved()))
    named = [path for path in paths if not Path(path).is_absolute() and (base / path).is_file()]
    remedy = "correct the path in the scenario: each worker gets a copy of this file"
    return {path: read_bytes(base / path, remedy=remedy, most=LARGEST_INPUT) for path in named}


def _paths(resolved: object) -> set[str]:
    """Return the values of all keys `path` in a resolved scenario."""
    if isinstance(resolved, dict):
        here = {value for key, value in resolved.items() if key == "path" and isinstance(value, str)}
        return here.union(*map(_paths, resolved.values()))
    return set().union(*map(_paths, resolved)) if isinstance(resolved, list) else set()


def _unpack_inputs(inputs: Mapping[str, bytes], place: Path) -> Path:
    """Write input files below a folder; return the folder to which their paths are relative."""
    up = max((PurePosixPath(path).parts.count("..") for path in inputs), default=0)
    base = place.joinpath("inputs", *["below"] * up)
    base.mkdir(parents=True)
    for path, contents in inputs.items():
        target = Path(os.path.normpath(base / path))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents)
    return base


def _pack(folder: Path) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name)
    return out.getvalue()


def _receive(ray: Any, reference: Any, lease: Lease) -> Ended:
    """Write the folder that an ended task returned, and return the outcome of its point."""
    try:
        failed, packed = ray.get(reference)
    except (ray.exceptions.RaySystemError, ray.exceptions.LocalRayletDiedError):
        raise
    except ray.exceptions.RayError as lost:
        return Ended(f"the Ray task was lost {RETRIES + 1} times: {str(lost).splitlines()[0]}")
    if failed:
        return Ended(str(failed))
    try:
        with RunFolder(lease.final, lease) as folder:
            try:
                with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                    archive.extractall(folder.path, filter="data")
                folder.commit()
            except OSError as error:
                if folder.is_lost():
                    return Ended("another process has taken over the point", is_lost=True)
                remedy = "free some space, or name another folder with --out"
                raise failure(f"{lease.final} could not be written", error, remedy) from None
    except ShallowsError as problem:
        return Ended.by(problem)
    return Ended()
