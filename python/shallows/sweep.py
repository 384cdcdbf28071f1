"""Sweeps: every combination of a scenario's schemes and axes, each run once, on all cores.

The `[sweep]` table of a scenario file::

    [sweep]
    axes = { "workload.0.load" = [0.4, 0.6], seed = [1, 2] }
    [[sweep.scheme]]
    name = "reno"
    set = { "tcp.congestion" = "reno" }

Each point runs in a process of its own, so that one that dies takes nothing with it, and writes a folder
named by content, so that whatever was finished before a crash is never run again.
"""

import itertools
import json
import multiprocessing
import os
import signal
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from shallows.errors import ShallowsError
from shallows.folder import write_whole
from shallows.results import Run, describe
from shallows.running import Source, default_folder, execute, is_reusable, toml_value


@dataclass
class Point:
    """One run of a sweep."""

    source: Source
    folder: Path
    is_finished: bool


@dataclass(frozen=True)
class Outcome:
    """What became of a point: its run, or why there is none."""

    point: Point
    run: Run | None
    error: str | None
    reused: bool = False


OnUpdate = Callable[[dict[int, dict[str, Any]], list[Outcome]], None]
"""Called with the progress of each running point, by its number, and all outcomes so far."""


def plan(source: Source, out: Path | None) -> tuple[Path, list[Point]]:
    """All points of a sweep, checked, and the folder that holds theirs.

    Raises
    ------
    ScenarioError
        If a point cannot run; then none does.
    ShallowsError
        If there is no `[sweep]` table, or it is wrong.
    """
    base = source.load()
    schemes, axes = _read_table(source)
    parent = out if out is not None else Path("runs") / base.name
    points = []
    for (scheme, changes), values in itertools.product(schemes, itertools.product(*axes.values())):
        labels = ({"scheme": scheme} if scheme else {}) | dict(zip(axes, values, strict=True))
        changed = [*changes.items(), *zip(axes, values, strict=True)]
        overrides = (*((key, toml_value(value)) for key, value in changed), *source.overrides)
        point = replace(source, overrides=overrides, labels=labels)
        experiment = point.load()
        folder = default_folder(experiment, parent)
        points.append(Point(point, folder, is_reusable(folder, experiment)))
    _refuse_duplicates(points)
    return parent, points


def _read_table(source: Source) -> tuple[list[tuple[str | None, dict[str, Any]]], dict[str, list[Any]]]:
    def refuse(message: str) -> ShallowsError:
        return ShallowsError(f"{source.file}: {message}", "docs/scenario.md shows a [sweep] table")

    try:
        table = tomllib.loads(source.text).get("sweep")
    except tomllib.TOMLDecodeError as error:
        raise refuse(str(error)) from None
    if not isinstance(table, dict):
        raise ShallowsError(
            f"{source.file} has no [sweep] table",
            f"run it once with `shallows run {source.file}`, or add one",
        )
    if unknown := sorted(table.keys() - {"axes", "scheme"}):
        raise refuse(f"unknown key sweep.{unknown[0]}; expected one of sweep.axes, sweep.scheme")
    axes, schemes = table.get("axes", {}), table.get("scheme", [])
    if not isinstance(axes, dict) or not all(isinstance(values, list) and values for values in axes.values()):
        raise refuse('sweep.axes is not a table of lists, such as { "workload.0.load" = [0.4, 0.6] }')
    if not isinstance(schemes, list) or not all(_is_scheme(scheme) for scheme in schemes):
        raise refuse(
            "each [[sweep.scheme]] has a name and a table `set` of keys and values, and nothing else"
        )
    if not (axes or schemes):
        raise refuse("the [sweep] table is empty")
    return [(scheme["name"], scheme["set"]) for scheme in schemes] or [(None, {})], axes


def _is_scheme(scheme: object) -> bool:
    return (
        isinstance(scheme, dict)
        and scheme.keys() == {"name", "set"}
        and isinstance(scheme["name"], str)
        and isinstance(scheme["set"], dict)
    )


def _refuse_duplicates(points: list[Point]) -> None:
    seen: dict[Path, Point] = {}
    for point in points:
        if (other := seen.setdefault(point.folder, point)) is not point:
            raise ShallowsError(
                f"{point.source.file}: two points of the sweep are the same run: "
                f"{describe(other.source.labels)}, and {describe(point.source.labels)}",
                "remove one of them, or check what its keys change",
            )


def run_points(points: list[Point], jobs: int | None, on_update: OnUpdate) -> list[Outcome]:
    """Run what is not finished, at most `jobs` at a time, and return all outcomes in the order of the points.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C; the finished points are kept.
    """
    outcomes = {
        i: Outcome(p, Run(p.folder), None, reused=True) for i, p in enumerate(points) if p.is_finished
    }
    waiting = [index for index in range(len(points)) if index not in outcomes]
    running: dict[int, _Worker] = {}
    try:
        while waiting or running:
            while waiting and len(running) < (jobs or _cores()):
                index = waiting.pop(0)
                running[index] = _Worker(points[index])
            wait([worker.pipe for worker in running.values()], timeout=0.5)
            for index, worker in list(running.items()):
                worker.read()
                if worker.outcome:
                    outcomes[index] = worker.outcome
                    del running[index]
            progress = {index: worker.progress for index, worker in running.items()}
            on_update(progress, list(outcomes.values()))
    except KeyboardInterrupt:
        kept = f"{len(outcomes)} of {len(points)} points are kept; the same command goes on from there"
        raise KeyboardInterrupt(kept) from None
    finally:
        for worker in running.values():
            worker.stop()
    return [outcomes[index] for index in range(len(points))]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Worker:
    """A process that runs one point."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self.progress: dict[str, Any] = {"fraction": 0.0, "packet_hops": 0}
        self.outcome: Outcome | None = None
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(
            target=_work, args=(theirs, point.source, point.folder), daemon=True
        )
        self.process.start()
        theirs.close()

    def read(self) -> None:
        """Take in what the process has said since."""
        try:
            while self.outcome is None and self.pipe.poll():
                kind, content = self.pipe.recv()
                if kind == "progress":
                    self.progress = content
                elif kind == "failed":
                    self._end(content)
                else:
                    self._end(None)
        except EOFError:
            self.process.join()
            self._end(f"its process ended with code {self.process.exitcode} (out of memory, or killed)")

    def _end(self, error: str | None) -> None:
        self.outcome = Outcome(self.point, None if error else Run(self.point.folder), error)
        self.process.join()
        self.pipe.close()

    def stop(self) -> None:
        """End the process; what it was writing goes."""
        self.process.terminate()
        self.process.join()


def _work(pipe: Connection, source: Source, folder: Path) -> None:
    """What a worker process does."""
    # Ctrl-C reaches the whole group of processes; the parent decides. When it ends us, or dies, we tidy up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    try:
        execute(source, source.load(), folder, lambda progress: pipe.send(("progress", progress)))
        pipe.send(("done", None))
    except BrokenPipeError:
        pass
    except Exception as error:
        pipe.send(("failed", str(error) or type(error).__name__))
    finally:
        # Nothing is left to tidy up: whoever ends us now must not interrupt the interpreter's own ending.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def write_index(parent: Path, outcomes: list[Outcome]) -> dict[str, Any]:
    """Write `sweep.json`, which says where each point's results are, and return it."""
    document = {"points": [_describe_outcome(outcome) for outcome in outcomes]}
    write_whole(parent / "sweep.json", json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return document


def _describe_outcome(outcome: Outcome) -> dict[str, Any]:
    described: dict[str, Any] = {"labels": outcome.point.source.labels}
    if outcome.run is None:
        return described | {"status": "failed", "error": outcome.error}
    status = "reused" if outcome.reused else "done"
    return described | {"status": status, "folder": outcome.run.path.name, "summary": outcome.run.summary}


def inside_sweep(folder: Path) -> list[Path]:
    """Folders of runs inside this one: in the sweep's order if a sweep wrote it, else by name."""
    try:
        points = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))["points"]
        return [folder / point["folder"] for point in points if "folder" in point]
    except (OSError, ValueError, LookupError, TypeError):
        return sorted(path.parent for path in folder.glob("*/summary.json"))
