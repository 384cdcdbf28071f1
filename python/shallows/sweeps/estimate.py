"""What a sweep will cost: packet-hops, time and memory, from finished points and short samples of others."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from typing import Any

from shallows.errors import ShallowsError
from shallows.quantity import count, duration, size
from shallows.runs.child import Child
from shallows.runs.memory import available_mb, peak_memory_mb, refuse_too_large
from shallows.runs.results import Run, describe
from shallows.runs.source import Source
from shallows.runs.threads import cores
from shallows.sweeps.points import Point

SAMPLE_S, LONGEST_S = 0.5, 5.0
"""Wall time of a sample, and of one that has seen no progress until then."""

SAMPLES_PER_SCHEME, MOST_SAMPLES = 3, 12


@dataclass(frozen=True)
class Cost:
    """What a run costs."""

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
    """What is left of a sweep."""

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
    """What finished points cost, and others of the same scheme by the nearest of them."""
    return _fill(points, _measured(points))


def sample(points: Sequence[Point], say: Callable[[str], None]) -> list[Cost | None]:
    """As `from_finished`, after some points of each scheme have run for a moment, one after the other."""
    known = _measured(points)
    chosen = _choose(points, known)
    for number, index in enumerate(chosen, 1):
        say(f"trying point {number} of {len(chosen)}")
        if cost := _try(points[index].source):
            known[index] = cost
    return _fill(points, known)


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


def _try(source: Source) -> Cost | None:
    """Run a point for a moment; nothing if it does not get far enough to tell, or fails.

    Raises
    ------
    ShallowsError
        If it needs more memory than there is, by what is known before it is built.
    """
    refuse_too_large(source.parse())
    start = time.perf_counter()
    child = Child()
    child.give(run_briefly, source)
    try:
        wait([child.pipe])
        seen = next(iter(child.receive()), None)
        child.end()
    except EOFError:
        child.end()
        return None
    except BaseException:
        child.stop()
        raise
    if not seen:
        return None
    fraction, wall = seen["fraction"], seen["wall_s"]
    starting = time.perf_counter() - start - wall
    grown = max(seen["memory_mb"] - seen["middle_mb"], 0.0) / max(fraction - seen["middle"], 1e-9)
    return Cost(
        packet_hops=seen["packet_hops"] / fraction,
        wall_s=wall / fraction + starting,
        peak_mb=seen["memory_mb"] + grown * (1 - fraction),
        source="sampled",
    )


def run_briefly(send: Callable[[dict[str, Any] | None], None], source: Source) -> None:
    """Simulate for a moment and say how far that went."""
    simulation = source.parse().simulate()
    start = time.perf_counter()
    middle, middle_mb = 0.0, peak_memory_mb()
    while True:
        progress = json.loads(simulation.advance(50))
        wall, fraction = time.perf_counter() - start, progress["fraction"]
        if progress["done"] or wall >= (SAMPLE_S if fraction else LONGEST_S):
            break
        if wall < SAMPLE_S / 2:
            middle, middle_mb = fraction, peak_memory_mb()
    if not fraction:
        send(None)
        return
    seen = {"middle": middle, "middle_mb": middle_mb, "memory_mb": peak_memory_mb(), "wall_s": wall}
    send({"fraction": fraction, "packet_hops": progress["packet_hops"]} | seen)


def add_up(points: Sequence[Point], costs: Sequence[Cost | None], jobs: int | None) -> Needs:
    """What is left to do, all points together."""
    todo = [(point, cost) for point, cost in zip(points, costs, strict=True) if not point.is_finished]
    known = [cost for _, cost in todo if cost]
    at_once = max(min(jobs or cores(), len(todo)), 1)
    hops = wall = memory = None
    if known:
        # Points that nothing is known of are taken to be like the average of the others.
        scale = len(todo) / len(known)
        hops = sum(cost.packet_hops for cost in known) * scale
        busy = min(at_once, cores())
        wall = max(sum(cost.wall_s for cost in known) * scale / busy, max(cost.wall_s for cost in known))
        largest = sorted((cost.peak_mb for cost in known), reverse=True)[:at_once]
        memory = sum(largest) + largest[-1] * (at_once - len(largest))
    samples = sum(cost.source == "sampled" for cost in known)
    finished = len(points) - len(todo)
    parts = [f"{samples} points tried for {SAMPLE_S:g} s"] if samples else []
    parts += [f"{finished} finished points"] if finished else []
    basis = "judged by " + " and ".join(parts) if parts else "nothing to judge by"
    return Needs(len(todo), finished, at_once, hops, wall, memory, basis)


def refuse_what_cannot_fit(points: Sequence[Point], costs: Sequence[Cost | None], jobs: int | None) -> None:
    """Raise if the largest points that would run at the same time need more memory than there is.

    Raises
    ------
    ShallowsError
        With the number of jobs that fits, if one does.
    """
    needs, free = add_up(points, costs, jobs), available_mb()
    if needs.memory_mb is None or needs.memory_mb <= free:
        return
    todo = [(cost.peak_mb, point) for point, cost in zip(points, costs, strict=True) if cost]
    todo = [(peak, point) for peak, point in todo if not point.is_finished]
    largest, point = max(todo, key=lambda each: each[0])
    fits = int(free / largest)
    remedy = f"--jobs {fits} fits" if fits else "use a machine with more memory, or fewer flows and samples"
    labels = describe(point.source.labels)
    who = f"{needs.jobs} points at a time need" if labels else "the run needs"
    which = f"; the largest, {labels}, takes {size(largest * 1e6)}" if labels else ""
    raise ShallowsError(
        f"{who} {size(needs.memory_mb * 1e6)} of memory, and {size(free * 1e6)} are free{which}", remedy
    )
