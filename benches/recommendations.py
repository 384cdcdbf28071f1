"""Measure the quality of recommendations: `shallows advise` in random fabrics versus a long exhaustive sweep.

Usage: python benches/recommendations.py [FABRIC ...] [--flows N] [--times N] [--most HOPS] [--jobs N]

In each fabric, a race of candidate settings recommends one setting, as in `shallows advise`. Then all
candidates and the settings of a grid of thresholds and factors α run with new seeds. These runs end when
they have cost `--times` as many packet-hops as the race. All candidates and grid settings except the
recommended one are rivals. A rival beats the recommendation if it is better by more than 3 % in one goal, and
not worse by more than 3 % in the goals listed before that goal. Undecided rivals run with more seeds, until
all are decided or `--most` packet-hops are spent. The intervals of a fabric hold simultaneously over all
rivals, goals and interim comparisons. Runs are stored in `target/bench/recommendations`, so that a stopped
benchmark resumes. The table is in evidence/advisor.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from shallows.about import build
from shallows.advisor.candidates import Candidate, Curve, candidates
from shallows.advisor.fabric import Fabric
from shallows.advisor.final import run_to_end
from shallows.advisor.race import CONFIDENCE, COOL_DOWN, Objective, Race, decide, judge_pair, share_of_look
from shallows.advisor.recommendation import recommend
from shallows.advisor.simulated import document
from shallows.comparison import samples
from shallows.comparison.intervals import Interval
from shallows.comparison.samples import Sample, Series
from shallows.runs.executing import execute
from shallows.runs.source import Source
from shallows.runs.toml_text import toml_document
from shallows.sweeps.sweeps import choose_engine

FOLDER = Path(__file__).resolve().parent.parent / "target" / "bench" / "recommendations"
GOALS = ("throughput", "p99 of small flows", "p99 of small flows, then throughput", "loss, then throughput")
SIZES = ("web-search", "data-mining")
THRESHOLDS = (0.15, 0.3, 0.6, 1.0, 2.0, 4.0)
"""Thresholds of the grid, in bandwidth-delay products."""

FIRST_SEED = 1_001
BLOCK = 4
"""Number of seeds that run for each setting between two checks of the cost so far."""

GROWTH = 1.5
"""Ratio of the numbers of seeds at consecutive interim comparisons."""


def draw(number: int, flows: int) -> Fabric:
    """Return a fabric with random properties, drawn with the seed `number`."""
    pick = random.Random(number)
    rate = pick.choice([10, 25, 40, 100])
    rtt = pick.randint(20, 100)
    pipe = rate * 1e9 * rtt * 1e-6 / 8
    ports = pick.choice([4, 8])
    return Fabric.from_dict(
        {
            "name": f"random-{number}",
            "chip": {"memory": "64MB", "ports": 16, "cell": pick.choice([208, 256])},
            "links": {"rate": f"{rate}Gbps", "rtt": f"{rtt}us", "mtu": 9000},
            # The pool has 0.5 to 3 bandwidth-delay products per port.
            "buffer": {"pool": f"{pipe * ports * pick.uniform(0.5, 3):.0f}B", "ports_per_pool": ports},
            "traffic": {"load": pick.choice([0.5, 0.6, 0.7, 0.8])},
            "class": [{"sizes": pick.choice(SIZES), "transport": pick.choice(["dctcp", "ecn-star"])}],
            "goal": pick.choice(GOALS),
            "simulated": {"hosts": 2 * ports, "flows": flows},
        }
    )


def described(fabric: Fabric) -> str:
    """Describe a fabric in one line."""
    (traffic,), links, buffer = fabric.classes, fabric.links, fabric.buffer
    pool = f"pool of {buffer.pool / 1e6:.2f} MB for {buffer.ports} ports"
    return (
        f"{links.rate / 1e9:g} Gb/s, {links.rtt * 1e6:g} us, {pool}, {traffic.transport}, {traffic.sizes}, "
        f"load {fabric.loads[0]:g}"
    )


def grid(fabric: Fabric) -> list[Candidate]:
    """Return a grid of thresholds and factors α, independent of the advisor's rules."""
    alphas = fabric.alphas()
    chosen = [alphas[len(alphas) * place // 4] for place in (1, 2, 3)]
    found = []
    for share, alpha in itertools.product(THRESHOLDS, chosen):
        k = fabric.rounded(share * fabric.pipe)
        found.append(Candidate(f"K {share:g} BDP, alpha {alpha:g}", "grid", "between", (Curve(k, k),), alpha))
    return found


@dataclass
class Measured:
    """Samples of settings in one fabric, by name and seed. A file stores the data of each sample."""

    fabric: Fabric
    settings: dict[str, Candidate]
    path: Path
    jobs: int
    samples: dict[str, dict[int, Sample]] = field(default_factory=dict)
    hops: int = 0
    """Packet-hops of all requested runs, new or stored."""
    _kept: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.samples = {name: {} for name in self.settings}
        self.texts = {
            name: toml_document(document(self.fabric, each, self.fabric.loads[0]))
            for name, each in self.settings.items()
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                if line.endswith("}"):  # a stopped benchmark may have left a partial line
                    record = json.loads(line)
                    self._kept[record["key"]] = record

    def add(self, names: Iterable[str], seeds: range) -> None:
        """Add the samples of these settings with these seeds; runs that are stored are not repeated."""
        wanted = [(name, seed, _key(self.texts[name], seed)) for seed in seeds for name in names]
        missing = [(self.texts[name], seed, key) for name, seed, key in wanted if key not in self._kept]
        needed = {goal.metric.series for goal in self.fabric.goals}
        with self.path.open("a", encoding="utf-8") as file:
            for record in _run_all(missing, needed, self.jobs):
                self._kept[record["key"]] = record
                file.write(json.dumps(record) + "\n")
        for name, seed, key in wanted:
            record = self._kept[key]
            self.hops += record["hops"]
            series = {
                each: Series(np.array(values), late) for each, (values, late) in record["series"].items()
            }
            self.samples[name][seed] = Sample(series, record["totals"], ())


def _key(text: str, seed: int) -> str:
    """Return the key of a stored run: a hash of scenario, seed and engine."""
    return sha256(f"{build()['source_hash']} {seed} {text}".encode()).hexdigest()[:16]


def _run_all(missing: list[tuple[str, int, str]], needed: set[str], jobs: int) -> Iterator[dict[str, Any]]:
    tasks = [(*each, needed) for each in missing]
    if jobs == 1:
        yield from map(_run, tasks)
        return
    # Spawn, do not fork: threads of polars may hold locks that a forked child would never release.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_run, tasks, chunksize=16)


def _run(task: tuple[str, int, str, set[str]]) -> dict[str, Any]:
    text, seed, key, needed = task
    with tempfile.TemporaryDirectory() as folder:
        source = Source(f"{folder}/scenario.toml", text, (), seed)
        run = execute(source, source.parse(), Path(folder) / "run")
        sample = samples.read(run, COOL_DOWN, [])
        hops = run.summary["engine"]["packet_hops"]
    series = {
        name: ([round(float(value), 6) for value in each.values], each.incomplete)
        for name, each in sample.series.items()
        if name in needed
    }
    return {"key": key, "hops": hops, "series": series, "totals": sample.totals}


@dataclass
class Rival:
    """A setting that is compared with the recommended one; `beats` is None while undecided."""

    name: str
    beats: bool | None = None
    changes: list[tuple[Objective, Interval]] = field(default_factory=list)
    """Interval of each goal's change versus the recommendation; goals without an interval are left out."""
    seeds: int = 0

    def judge(self, measured: Measured, mine: str, goals: list[Objective], confidence: float) -> None:
        """Compare the setting with the recommendation, using all samples so far."""
        self.seeds = len(measured.samples[self.name])
        judged = [judge_pair(measured.samples, each.metric, mine, self.name, confidence) for each in goals]
        found = [(goal, each.change) for goal, each in zip(goals, judged, strict=True)]
        self.changes = [(goal, change) for goal, change in found if change is not None]
        if len(self.changes) == len(goals):
            self.beats = decide([(goal.delta, change) for goal, change in self.changes])

    @property
    def better_by(self) -> float:
        """Largest estimated improvement over the recommended setting, in units of the indifference zone."""
        return max((-change.estimate / goal.delta for goal, change in self.changes), default=0.0)

    @property
    def text(self) -> str:
        """Improvement over the recommended setting for each goal, with its interval, in words."""
        said = []
        for goal, change in self.changes:
            numbers = (-change.estimate, -change.high, -change.low)
            said.append(f"{goal.goal.said} by {numbers[0]:.2%} ({numbers[1]:.2%} to {numbers[2]:.2%})")
        return f"{self.name}: {'; '.join(said)}; {self.seeds} seeds"


def examine(number: int, flows: int, times: float, most: float, jobs: int) -> dict[str, Any]:
    """Run the race, the long sweep, and more seeds of undecided rivals in one fabric; return a table row."""
    fabric, folder = draw(number, flows), FOLDER / str(number)
    race = Race(fabric, candidates(fabric), folder / "race", choose_engine("local", jobs))
    run_to_end(race, 1e9, lambda *_: None)
    found = recommend(race)
    mine, load = found.candidate.name, fabric.loads[0]
    goals = [Objective(goal, load) for goal in fabric.goals]
    everybody = {each.settings: each for each in [*race.candidates, *grid(fabric)]}
    measured = Measured(fabric, {each.name: each for each in everybody.values()}, folder / "runs.jsonl", jobs)
    last = FIRST_SEED
    while measured.hops < times * race.packet_hops:
        measured.add(measured.settings, range(last, last + BLOCK))
        last += BLOCK
    sweep_seeds, sweep_hops = last - FIRST_SEED, measured.hops
    rivals = [Rival(name) for name in measured.settings if name != mine]
    for look in itertools.count(1):
        share = share_of_look(look) / (len(rivals) * len(goals))
        undecided = [each for each in rivals if each.beats is None]
        for each in undecided:
            each.judge(measured, mine, goals, 1 - (1 - CONFIDENCE) * share)
        undecided = [each for each in undecided if each.beats is None]
        if not undecided or measured.hops >= most:
            break
        until = FIRST_SEED + math.ceil((last - FIRST_SEED) * GROWTH)
        print(f"    {number}: {len(undecided)} open after {last - FIRST_SEED} seeds, {measured.hops:,} hops")
        measured.add([mine, *(each.name for each in undecided)], range(last, until))
        last = until
    by, undecided = ([each for each in rivals if each.beats is state] for state in (True, None))
    return {
        "fabric": number,
        "said": described(fabric),
        "goal": "; ".join(goal.text for goal in fabric.goals),
        "recommended": found.candidate.text,
        "name": mine,
        "why": found.candidate.origin,
        "race_ended": race.ended,
        "race_seeds": race.rounds,
        "race_hops": race.packet_hops,
        "settings": len(measured.settings),
        "sweep_seeds": sweep_seeds,
        "sweep_hops": sweep_hops,
        "seeds": last - FIRST_SEED,
        "hops": measured.hops,
        "verdict": "beaten" if by else "cannot tell" if undecided else "held",
        "beaten_by": [each.text for each in by],
        "undecided": [each.text for each in undecided],
        "nearest": max(rivals, key=lambda each: each.better_by).text,
    }


def main() -> int:
    """Parse the arguments, examine each fabric, and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("fabrics", type=int, nargs="*", help="which (default: 1 to 10)")
    parser.add_argument("--flows", type=int, default=100, help="of a run (default: 100)")
    parser.add_argument("--times", type=float, default=10, help="packet-hops over the race's (default: 10)")
    parser.add_argument("--most", type=float, default=5e9, help="packet-hops of a fabric (default: 5e9)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default: 1)")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    rows = []
    for number in options.fabrics or range(1, 11):
        row = examine(number, options.flows, options.times, options.most, options.jobs)
        rows.append(row)
        (FOLDER / str(number) / "row.json").write_text(json.dumps(row, indent=2) + "\n", encoding="utf-8")
        raced = f"{row['race_seeds']} seeds, {row['race_hops'] / 1e6:.0f} M packet-hops"
        beside = f"{row['settings']} settings, {row['sweep_seeds']} seeds, {row['sweep_hops'] / 1e6:.0f} M"
        on = f"{row['seeds']} seeds, {row['hops'] / 1e6:.0f} M"
        print(f"{number:>2}  {row['goal']}: {row['recommended']} ({row['name']}, {row['why']}) after {raced}")
        print(f"    {row['said']}")
        print(f"    beside {beside}; to the end {on}: {row['verdict']}; nearest {row['nearest']}")
        for what in ("beaten_by", "undecided"):
            for each in row[what]:
                print(f"      {what}: {each}")
    return 1 if any(row["verdict"] == "beaten" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
