"""Cost of a sweep: packet-hops, time and memory, from finished points and short trials of others."""

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
"""Wall time of a sample, and of one that has seen no progress until then."""

SAMPLES_PER_SCHEME, MOST_SAMPLES = 3, 12


@dataclass(frozen=True)
class Cost:
    """Cost of a run."""

    packet_hops: float
    wall_s: float
    peak_mb: float
    source: str
    """`measured` in its finished run, `sampled` and extrapolated, or `inferred` from the nearest of those."""

    def describe(self) -> dict[str, Any]:
        """For `--json`."""
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
    """Together, of as many of the largest runs as run at the same time."""
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
        """A warning if what is extrapolated is more memory than is free; certain it is not."""
        free = available_mb()
        if self.memory_mb is None or self.memory_mb <= free:
            return ""
        return (
            f"warning: by this estimate {size(self.memory_mb * 1e6)} of memory are needed, and "
            f"{size(free * 1e6)} are free\n  a run that uses up the memory ends, and nothing of it is kept: "
            "record less, or run fewer at a time (--jobs)"
        )

    def describe(self) -> dict[str, Any]:
        """For `--json`."""
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
    """Return costs of finished points; others take the cost of the nearest one of their scheme."""
    return _fill(points, _measured(points))


def sample(points: Sequence[Point], say: Callable[[str], None], jobs: int | None = None) -> list[Cost | None]:
    """As `from_finished`, after some points of each scheme have run for a moment.

    As many run at the same time, on as many threads, as when the sweep runs, so that they find the machine
    as busy as the sweep will.
    """
    known = _measured(points)
    chosen = _choose(points, known)
    left = len(points) - len(known)
    beside, threads = side_by_side(left, jobs), threads_of_each(left, jobs)
    for first in range(0, len(chosen), beside):
        group = chosen[first : first + beside]
        numbers = str(first + 1) if len(group) == 1 else f"{first + 1} to {first + len(group)}"
        say(f"trying point {numbers} of {len(chosen)}")
        # Where fewer are left to try, some are tried twice: the machine must have the sweep's load.
        tried = [*group, *itertools.islice(itertools.cycle(chosen), beside - len(group))]
        costs = _try([points[index].source for index in tried], threads)
        known |= {index: cost for index, cost in zip(group, costs, strict=False) if cost}
    return _fill(points, known)


def side_by_side(points: int, jobs: int | None) -> int:
    """How many of so many points compute at the same time: more than there are cores take turns."""
    return max(min(jobs or cores(), cores(), points), 1)


def time_left(elapsed: float, worked: float, left: float) -> float | None:
    """The time that so many points take that are left, if it goes on as it went.

    `plan`, the live view of a sweep and `serve` use it. Nothing until a twentieth of a point is done.

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
    """The first, the last and one in the middle of each scheme, as it is along axes that costs differ."""
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
    """Run points for a moment, all at once; nothing for those that do not get far enough, or fail."""
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
        # Until the last has been seen, all keep the machine busy.
        for child in children:
            child.stop()
    return costs


def _cost(seen: dict[str, Any], lasted: float) -> Cost:
    """Extrapolate the cost of a run from a trial that took `lasted` seconds with its start."""
    fraction, wall = seen["fraction"], seen["wall_s"]
    grown = max(seen["memory_mb"] - seen["middle_mb"], 0.0) / max(fraction - seen["middle"], 1e-9)
    return Cost(
        packet_hops=seen["packet_hops"] / fraction,
        wall_s=wall / fraction + lasted - wall,
        peak_mb=seen["memory_mb"] + grown * (1 - fraction),
        source="sampled",
    )


def run_briefly(send: Callable[[dict[str, Any] | None], None], source: Source, threads: int) -> None:
    """Simulate for a moment and say how far that went; then go on until the process is ended."""
    simulation = source.parse().simulate(threads=threads)
    simulation.adapt_threads()
    start = time.perf_counter()
    middle, middle_mb = 0.0, peak_memory_mb()
    while True:
        progress = json.loads(simulation.advance(50))
        wall, fraction = time.perf_counter() - start, progress["fraction"]
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
        # Points that nothing is known of are taken to be like the average of the others.
        scale = len(todo) / len(known)
        hops = sum(cost.packet_hops for cost in known) * scale
        together = sum(cost.wall_s for cost in known) / beside
        wall = max(time_left(together, len(known), len(todo)) or 0.0, *(cost.wall_s for cost in known))
        largest = sorted((cost.peak_mb for cost in known), reverse=True)[:at_once]
        memory = sum(largest) + largest[-1] * (at_once - len(largest))
    samples = sum(cost.source == "sampled" for cost in known)
    finished = len(points) - len(todo)
    turns = f", {beside} at a time" if beside > 1 else ""
    parts = [f"{samples} points tried for {SAMPLE_S:g} s{turns}"] if samples else []
    parts += [f"{finished} finished points"] if finished else []
    basis = "judged by " + " and ".join(parts) if parts else "nothing to judge by"
    return Needs(len(todo), finished, at_once, hops, wall, memory, basis)


def refuse_what_cannot_fit(points: Sequence[Point], costs: Sequence[Cost | None], jobs: int | None) -> None:
    """Raise if the largest points that would run at the same time need more memory than there is.

    A point needs what its scenario counts, or what a finished point of its scheme has taken, if that is more:
    `costs` are those of `from_finished`. What a trial extrapolates is not certain, and refuses nothing.

    Raises
    ------
    ShallowsError
        With the number of jobs that fits, if one does.
    """
    todo = [(point, cost) for point, cost in zip(points, costs, strict=True) if not point.is_finished]
    found = [_need(point, cost) for point, cost in todo]
    known = [need for need in found if need]
    if known:
        # Points that nothing is known of are taken to be like the smallest of the others.
        least = min(known, key=lambda need: need.bytes)
        refuse_too_large([need or least for need in found], jobs or cores())


def _need(point: Point, cost: Cost | None) -> Need | None:
    """The larger of what a point needs at least, and of what it has taken, or one like it."""
    taken = Need(cost.peak_mb * 1e6, label=describe(point.source.labels)) if cost else None
    return max(filter(None, (point.need, taken)), key=lambda need: need.bytes, default=None)
