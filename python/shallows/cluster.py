"""The engine of a sweep that uses a Ray cluster: a task for each point.

Machines of a cluster may share no files. A task is sent the scenario and the files that it names, and sends
the finished folder back; only the machine that asked writes into the sweep's folder, as a local sweep does.

Ray's driver is a process of its own: Ray ends its driver when the cluster dies.
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
from shallows.child import Child
from shallows.errors import ScenarioError, ShallowsError
from shallows.folder import RunFolder
from shallows.local import LOOK_S, State, cores
from shallows.points import Point
from shallows.running import Source, execute

RETRIES = 5
"""How often a point is begun again whose worker or machine was lost. One that fails by itself is not."""

REPORT_EVERY_S = 1.0
"""Wall time between two notes of how far a task is."""

KNOCK_S = 10.0

Send = Callable[[tuple[str, Any]], None]


def check_ray() -> None:
    """Raise if Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise ShallowsError("Ray is not installed", "get it with: pip install 'shallows[ray]'")


def run_on_ray(
    points: Mapping[int, Point], jobs: int | None = None, address: str | None = None
) -> Generator[State, None, None]:
    """Run points on a Ray cluster; as `run_here`.

    Raises
    ------
    ConnectionError
        If there is no such cluster, or it is lost.
    """
    if not points:
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    # Ray prints much, and to where results go.
    log = tempfile.NamedTemporaryFile(prefix="shallows-ray-", suffix=".log", delete=False)  # noqa: SIM115
    with log:
        driver = Child(drive, dict(points), jobs, address, output=log)
    running: dict[int, dict[str, Any]] = {}
    left, keep_log = set(points), False
    try:
        while left:
            wait([driver.pipe], timeout=LOOK_S)
            ended: dict[int, str | None] = {}
            lost = None
            try:
                for kind, content in driver.receive():
                    if kind == "lost":
                        lost = content
                    elif kind == "running":
                        running = content
                    else:
                        ended |= content
            except EOFError:
                lost = lost or f"the Ray cluster at {address} was lost; {log.name} has what Ray said"
                keep_log = True
            left -= ended.keys()
            running = {index: progress for index, progress in running.items() if index in left}
            yield running, ended
            if lost and left:
                raise ConnectionError(lost)
    finally:
        driver.stop(patience_s=20)  # Ray shuts down in its own time
        if not (keep_log and left):
            Path(log.name).unlink()


def drive(send: Send, points: dict[int, Point], jobs: int | None, address: str) -> None:
    """What the driver does: hand out points, write what comes back, say how it goes."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    started: dict[str, Any] = {}
    if address == "local":
        started = {"num_cpus": jobs or cores(), "include_dashboard": False}
    try:
        _knock(address)
        ray.init(address=address, configure_logging=False, log_to_driver=False, **started)
    except (OSError, RuntimeError, ValueError) as error:  # whichever: versions and modes differ
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        send(("lost", f"there is no Ray cluster at {address}: {reason}"))
        return
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    board = ray.remote(num_cpus=0)(Board).options(scheduling_strategy=here).remote()
    task = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(run_far)
    waiting = list(points)
    tasks: dict[Any, int] = {}
    try:
        while waiting or tasks:
            while waiting and len(tasks) < (jobs or len(points)):
                index = waiting.pop(0)
                point = points[index]
                try:
                    inputs = _pack_inputs(point.source)
                except (OSError, ScenarioError) as error:  # changed since it was planned
                    send(("ended", {index: str(error)}))
                    continue
                named = task.options(name=f"point-{index + 1}")
                tasks[named.remote(board, index, point.source, point.hash, inputs)] = index
            done, _ = ray.wait(list(tasks), timeout=LOOK_S) if tasks else ([], [])
            for reference in done:
                index = tasks.pop(reference)
                send(("ended", {index: _receive(ray, reference, points[index].folder)}))
            with contextlib.suppress(ray.exceptions.RayError):
                seen = ray.get(board.read.remote(), timeout=LOOK_S)
                mine = set(tasks.values())
                send(("running", {index: seen[index] for index in seen if index in mine}))
    except (ray.exceptions.RaySystemError, ray.exceptions.LocalRayletDiedError) as error:
        send(("lost", f"the Ray cluster at {address} was lost: {str(error).splitlines()[0]}"))
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raise `OSError` if nobody listens at HOST:PORT; Ray would try for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "//" not in host:
        socket.create_connection((host, int(port)), KNOCK_S).close()


class Board:
    """Where points under way note how far they are."""

    def __init__(self) -> None:
        self.seen: dict[int, dict[str, Any]] = {}

    def note(self, index: int, progress: dict[str, Any]) -> None:
        """Keep the newest progress of a point."""
        self.seen[index] = progress

    def read(self) -> dict[int, dict[str, Any]]:
        """All there is."""
        return self.seen


def run_far(
    board: Any, index: int, source: Source, content_hash: str, inputs: dict[str, bytes]
) -> tuple[str | None, bytes]:
    """What a task does: run a point and return what went wrong, if anything, and its folder, packed."""
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
            experiment = source.load(base)
            if experiment.hash != content_hash:
                raise ShallowsError(
                    f"{socket.gethostname()} has another engine ({build()['version']}, "
                    f"{build()['source_hash'][:12]}) or other input files",
                    "install the same build of Shallows on every machine of the cluster",
                )
            run = execute(source, experiment, Path(place) / "run", note)
            return None, _pack(run.path)
    except Exception as error:
        return str(error) or type(error).__name__, b""


def _pack_inputs(source: Source) -> dict[str, bytes]:
    """Files that a scenario names by a path relative to its own: their contents, by that path."""
    base = Path(source.file).resolve().parent
    paths = _paths(json.loads(source.load().resolved()))
    named = [path for path in paths if not Path(path).is_absolute() and (base / path).is_file()]
    remedy = "every worker needs the files that a scenario names"
    return {path: read_bytes(base / path, remedy=remedy, most=LARGEST_INPUT) for path in named}


def _paths(resolved: object) -> set[str]:
    """Values of all keys `path` in a resolved scenario."""
    if isinstance(resolved, dict):
        here = {value for key, value in resolved.items() if key == "path" and isinstance(value, str)}
        return here.union(*map(_paths, resolved.values()))
    return set().union(*map(_paths, resolved)) if isinstance(resolved, list) else set()


def _unpack_inputs(inputs: Mapping[str, bytes], place: Path) -> Path:
    """Write input files below a folder, and return the folder that their paths are relative to."""
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


def _receive(ray: Any, reference: Any, final: Path) -> str | None:
    """Write the folder of a task that has ended; says what went wrong, if anything."""
    try:
        failure, packed = ray.get(reference)
    except (ray.exceptions.RaySystemError, ray.exceptions.LocalRayletDiedError):
        raise
    except ray.exceptions.RayError as lost:
        return f"its task was lost {RETRIES + 1} times: {str(lost).splitlines()[0]}"
    if failure:
        return str(failure)
    try:
        with RunFolder(final) as folder:
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                archive.extractall(folder.path, filter="data")
            folder.commit()
    except OSError as problem:
        return f"{final} could not be written: {problem.strerror or problem}\n  free some space, or use --out"
    except ShallowsError as problem:
        return str(problem)
    return None
