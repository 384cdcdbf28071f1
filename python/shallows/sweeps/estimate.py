"""Cost of a sweep: packet-hops, time and memory, from finished points and short trials of other points."""

import contextlib
import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from typing import Any

from shallows.quantity import count, duration, size
from shallows.runs.child import Child
from shallows.runs.memory import Need, available_mb, peak_memory_mb, refuse_too_large
from shallows.runs.results import Run, describe
from shallows.runs.source import Source
from shallows.runs.threads import cores
from shallows.sweeps.local import threads_of_each
from shallows.sweeps.points import Point

SAMPLE_S, LONGEST_S = 0.5, 5.0
"""Wall time of a trial in s, and the wall time after which a trial without progress ends."""

SAMPLES_PER_SCHEME, MOST_SAMPLES = 3, 12


@dataclass(frozen=True)
class Cost:
    """Cost of a run."""

    packet_hops: float
    wall_s: float
    peak_mb: float
    source: str
    """Origin: `measured` in a finished run, `sampled` in a trial, or `inferred` from the nearest point."""

    def describe(self) -> dict[str, Any]:
        """Return the cost as a JSON object, for `--json`."""
        return {
            "packet_hops": round(self.packet_hops),
            "wall_s": round(self.wall_s, 3),
            "peak_rss_mb": round(self.peak_mb, 1),
            "estimate": self.source,
        }


@dataclass(frozen=True)
class Needs:
    """Remaining cost of a sweep."""

    left: int
    finished: int
    jobs: int
    packet_hops: float | None
    wall_s: float | None
    memory_mb: float | None
    """Memory that the largest runs need together, for as many runs as are simulated at the same time."""
    basis: str

    def __str__(self) -> str:
        text = f"{self.finished} of them finished before"
        if self.wall_s is None or self.packet_hops is None or self.memory_mb is None or not self.left:
            return text
        return (
            f"{text}; {self.left} to run: {count(self.packet_hops)} packet-hops, about "
            f"{duration(self.wall_s)} and {size(self.memory_mb * 1e6)} of memory with {self.jobs} "
            f"at a time ({self.basis})"
        )

    def warning(self) -> str:
        """Return a warning if the estimated memory is more than is free; empty otherwise."""
        free = available_mb()
        if self.memory_mb is None or self.memory_mb <= free:
            return ""
        return (
            f"warning: the sweep needs an estimated {size(self.memory_mb * 1e6)} of memory; "
            f"{size(free * 1e6)} are free\n  a run that exhausts the memory stops and loses its results: "
            "record less, or run fewer points at a time (--jobs)"
        )

    def describe(self) -> dict[str, Any]:
        """Return the remaining cost as a JSON object, for `--json`."""
        return {
            "left": self.left,
            "finished": self.finished,
            "jobs": self.jobs,
            "packet_hops": None if self.packet_hops is None else round(self.packet_hops),
            "wall_s": None if self.wall_s is None else round(self.wall_s, 1),
            "memory_mb": None if self.memory_mb is None else round(self.memory_mb, 1),
            "available_mb": round(available_mb(), 1),
            "basis": self.basis,
        }


def from_finished(points: Sequence[Point]) -> list[Cost | None]:
    """Return the cost of each point: as measured, or the cost of the nearest finished point of its scheme."""
    return _fill(points, _measured(points))


def sample(points: Sequence[Point], say: Callable[[str], None], jobs: int | None = None) -> list[Cost | None]:
    """Run short trials of some points of each scheme, then return the costs in the form of `from_finished`.

    The number of concurrent trials and their numbers of threads equal those of the sweep, so that the machine
    has the same load. `say` is called with a line of text before each group of trials.
    """
    known = _measured(points)
    chosen = _choose(points, known)
    left = len(points) - len(known)
    beside, threads = side_by_side(left, jobs), threads_of_each(left, jobs)
    for first in range(0, len(chosen), beside):
        group = chosen[first : first + beside]
        numbers = str(first + 1) if len(group) == 1 else f"{first + 1} to {first + len(group)}"
        say(f"trial run {numbers} of {len(chosen)}")
        # If fewer trials are left, some run twice, so that the machine has the sweep's load.
        tried = [*group, *itertools.islice(itertools.cycle(chosen), beside - len(group))]
        costs = _try([points[index].source for index in tried], threads)
        known |= {index: cost for index, cost in zip(group, costs, strict=False) if cost}
    return _fill(points, known)


def side_by_side(points: int, jobs: int | None) -> int:
    """Return how many of `points` points run at the same time: at most one for each core."""
    return max(min(jobs or cores(), cores(), points), 1)


def time_left(elapsed: float, worked: float, left: float) -> float | None:
    """Return the remaining time for `left` points after `worked` points took `elapsed`.

    `plan`, `sweep` and `serve` show this time. The result is None until a twentieth of a point is done.

    >>> time_left(10.0, worked=1.0, left=4.0), time_left(10.0, worked=0.01, left=4.0)
    (40.0, None)
    """
    return elapsed * max(left, 0.0) / worked if worked > 0.05 else None


def _measured(points: Sequence[Point]) -> dict[int, Cost]:
    known = {}
    for index, point in enumerate(points):
        if point.is_finished:
            engine = Run(point.folder).summary["engine"]
            known[index] = Cost(
                engine["packet_hops"], engine["wall_s"], engine["peak_rss_mb"], source="measured"
            )
    return known


def _fill(points: Sequence[Point], known: dict[int, Cost]) -> list[Cost | None]:
    def cost(index: int) -> Cost | None:
        if index in known:
            return known[index]
        alike = [other for other in known if _scheme(points[other]) == _scheme(points[index])]
        nearest = min(alike, key=lambda other: abs(other - index), default=None)
        return None if nearest is None else replace(known[nearest], source="inferred")

    return [cost(index) for index in range(len(points))]


def _choose(points: Sequence[Point], known: dict[int, Cost]) -> list[int]:
    """Choose the first, middle and last point of each scheme for trials, because costs vary along axes."""
    chosen = []
    for scheme in dict.fromkeys(map(_scheme, points)):
        mine = [i for i, point in enumerate(points) if _scheme(point) == scheme and i not in known]
        if mine:
            last, parts = len(mine) - 1, SAMPLES_PER_SCHEME - 1
            chosen += sorted({mine[last * part // parts] for part in range(parts + 1)})
    every = -(-len(chosen) // MOST_SAMPLES) or 1
    return chosen[::every]


def _scheme(point: Point) -> Any:
    return point.source.labels.get("scheme")


def _try(sources: Sequence[Source], threads: int) -> list[Cost | None]:
    """Run trials of points concurrently; return each point's cost, None if its trial fails or stalls."""
    start = time.perf_counter()
    children = [Child() for _ in sources]
    costs: list[Cost | None] = [None] * len(sources)
    waiting = dict(enumerate(children))
    try:
        for child, source in zip(children, sources, strict=True):
            child.give(run_briefly, source, threads)
        while waiting:
            ready = wait([child.pipe for child in waiting.values()])
            for index in [index for index, child in waiting.items() if child.pipe in ready]:
                seen = None
                with contextlib.suppress(EOFError):
                    seen = next(iter(waiting.pop(index).receive()), None)
                if seen:
                    costs[index] = _cost(seen, time.perf_counter() - start)
    finally:
        # All children run until the last trial ends, to keep the load constant.
        for child in children:
            child.stop()
    return costs


def _cost(seen: dict[str, Any], lasted: float) -> Cost:
    """Extrapolate the cost of a run from a trial; `lasted` is the trial's time in s, including start-up."""
    fraction, wall = seen["fraction"], seen["wall_s"]
    grown = max(seen["memory_mb"] - seen["middle_mb"], 0.0) / max(fraction - seen["middle"], 1e-9)
    return Cost(
        packet_hops=seen["packet_hops"] / fraction,
        wall_s=wall / fraction + lasted - wall,
        peak_mb=seen["memory_mb"] + grown * (1 - fraction),
        source="sampled",
    )


def run_briefly(send: Callable[[dict[str, Any] | None], None], source: Source, threads: int) -> None:
    """Simulate for a moment and send the progress; then keep computing until the process is terminated."""
    simulation = source.parse().simulate(threads=threads, adapts=True)
    start = time.perf_counter()
    fraction, middle, middle_mb = 0.0, 0.0, peak_memory_mb()
    while True:
        before = fraction
        progress = json.loads(simulation.advance(50))
        now, fraction = time.perf_counter(), progress["fraction"]
        if fraction < before:
            # The run has restarted with another number of threads.
            start, middle, middle_mb = now, 0.0, peak_memory_mb()
        wall = now - start
        if progress["done"] or wall >= (SAMPLE_S if fraction else LONGEST_S):
            break
        if wall < SAMPLE_S / 2:
            middle, middle_mb = fraction, peak_memory_mb()
    seen = {"middle": middle, "middle_mb": middle_mb, "memory_mb": peak_memory_mb(), "wall_s": wall}
    send({"fraction": fraction, "packet_hops": progress["packet_hops"]} | seen if fraction else None)
    while not progress["done"]:
        progress = json.loads(simulation.advance(50))


def add_up(points: Sequence[Point], costs: Sequence[Cost | None], jobs: int | None) -> Needs:
    """Add up the remaining cost of all points."""
    todo = [(point, cost) for point, cost in zip(points, costs, strict=True) if not point.is_finished]
    known = [cost for _, cost in todo if cost]
    at_once, beside = max(min(jobs or cores(), len(todo)), 1), side_by_side(len(todo), jobs)
    hops = wall = memory = None
    if known:
        # Points of unknown cost count as the average of known costs.
        scale = len(todo) / len(known)
        hops = sum(cost.packet_hops for cost in known) * scale
        together = sum(cost.wall_s for cost in known) / beside
        wall = max(time_left(together, len(known), len(todo)) or 0.0, *(cost.wall_s for cost in known))
        largest = sorted((cost.peak_mb for cost in known), reverse=True)[:at_once]
        memory = sum(largest) + largest[-1] * (at_once - len(largest))
    samples = sum(cost.source == "sampled" for cost in known)
    finished = len(points) - len(todo)
    turns = f", {beside} at a time" if beside > 1 else ""
    parts = [f"trials of {SAMPLE_S:g} s of {samples} {_runs(samples)}{turns}"] if samples else []
    parts += [f"{finished} finished {_runs(finished)}"] if finished else []
    basis = "judged by " + " and ".join(parts) if parts else "nothing to judge by"
    return Needs(len(todo), finished, at_once, hops, wall, memory, basis)


def _runs(number: int) -> str:
    return "run" if number == 1 else "runs"


def refuse_what_cannot_fit(points: Sequence[Point], costs: Sequence[Cost | None], jobs: int | None) -> None:
    """Raise an error if the largest points that run at the same time would need more memory than is free.

    A point needs the lower bound from its scenario, or the memory that a finished point of its scheme used,
    whichever is larger. `costs` must come from `from_finished`, because trials are too uncertain.

    Raises
    ------
    ShallowsError
        The remedy gives the number of jobs that fits, if there is one.
    """
    todo = [(point, cost) for point, cost in zip(points, costs, strict=True) if not point.is_finished]
    found = [_need(point, cost) for point, cost in todo]
    known = [need for need in found if need]
    if known:
        # Points of unknown need count as the smallest known need.
        least = min(known, key=lambda need: need.bytes)
        refuse_too_large([need or least for need in found], jobs or cores())


def _need(point: Point, cost: Cost | None) -> Need | None:
    """Return the memory that a point needs; None if it is unknown.

    The result is the larger of the computed lower bound and the memory that earlier runs used; if only one of
    these is known, the result is that one.
    """
    taken = Need(cost.peak_mb * 1e6, label=describe(point.source.labels)) if cost else None
    return max(filter(None, (point.need, taken)), key=lambda need: need.bytes, default=None)
