"""How good recommendations are: `shallows advise` in random fabrics, beside a much longer exhaustive sweep.

Usage: python benches/recommendations.py [FABRIC ...] [--flows N] [--times N]

Each fabric is raced, as `shallows advise` does. Then all candidates and a grid of thresholds and factors α
run under seeds that the race did not see, until they have cost so many times as many packet-hops. A setting
beats the recommendation if by interval it is better by more than 3 % in one of the goals, and in those that
stand before it no worse by more than that; the intervals of a fabric hold together. Runs are kept in
`target/bench/recommendations`, so that what was stopped goes on; the table is in docs/advisor.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
from pathlib import Path
from typing import Any

from shallows.advisor.candidates import Candidate, Curve, candidates
from shallows.advisor.fabric import Fabric
from shallows.advisor.race import CONFIDENCE, Objective, Race, judge_pair, run_set
from shallows.advisor.recommendation import Recommendation, recommend
from shallows.sweeps.sweeps import choose_engine

FOLDER = Path(__file__).resolve().parent.parent / "target" / "bench" / "recommendations"
GOALS = ("throughput", "p99 of small flows", "p99 of small flows, then throughput", "loss, then throughput")
SIZES = ("web-search", "data-mining")
THRESHOLDS = (0.15, 0.3, 0.6, 1.0, 2.0, 4.0)
"""Of the grid, in bandwidth-delay products."""

FIRST_SEED = 1_001
BLOCK = 4
"""Seeds that run between two looks at what they have cost."""


def draw(number: int, flows: int) -> Fabric:
    """A fabric: the same for the same number."""
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
            # From half of a bandwidth-delay product for each port to three.
            "buffer": {"pool": f"{pipe * ports * pick.uniform(0.5, 3):.0f}B", "ports_per_pool": ports},
            "traffic": {"load": pick.choice([0.5, 0.6, 0.7, 0.8])},
            "class": [{"sizes": pick.choice(SIZES), "transport": pick.choice(["dctcp", "ecn-star"])}],
            "goal": pick.choice(GOALS),
            "simulated": {"hosts": 2 * ports, "flows": flows},
        }
    )


def described(fabric: Fabric) -> str:
    """Its numbers in a line."""
    (traffic,), links, buffer = fabric.classes, fabric.links, fabric.buffer
    pool = f"pool of {buffer.pool / 1e6:.2f} MB for {buffer.ports} ports"
    return (
        f"{links.rate / 1e9:g} Gb/s, {links.rtt * 1e6:g} us, {pool}, {traffic.transport}, {traffic.sizes}, "
        f"load {fabric.loads[0]:g}"
    )


def grid(fabric: Fabric) -> list[Candidate]:
    """Steps over all thresholds and factors, whatever rules say."""
    alphas = fabric.alphas()
    chosen = [alphas[len(alphas) * place // 4] for place in (1, 2, 3)]
    found = []
    for share, alpha in itertools.product(THRESHOLDS, chosen):
        k = fabric.rounded(share * fabric.pipe)
        found.append(Candidate(f"K {share:g} BDP, alpha {alpha:g}", "grid", "between", (Curve(k, k),), alpha))
    return found


def beaten(
    found: Recommendation, measured: dict[str, Any], goals: list[Objective], others: int
) -> tuple[list[str], str]:
    """By whom, and by how much at least; and who comes nearest to that, with the interval."""
    confidence = 1 - (1 - CONFIDENCE) / (others * len(goals))
    mine = found.candidate.name
    by: list[str] = []
    nearest: tuple[float, str] = (0.0, "none")
    for name in sorted(measured.keys() - {mine}):
        for objective in goals:
            change = judge_pair(measured, objective.metric, mine, name, confidence).change
            if change is None or change.estimate > objective.delta:
                break
            share = -change.estimate / objective.delta
            if share > nearest[0]:
                limits = f"{-change.high:.1%} to {-change.low:.1%}"
                nearest = share, f"{name}: {objective.goal.said} by {-change.estimate:.1%} ({limits})"
            if change.high < -objective.delta:
                by.append(
                    f"{name}: {objective.goal.said} by {-change.estimate:.1%}, at least {-change.high:.1%}"
                )
                break
    return by, nearest[1]


def examine(number: int, flows: int, times: float) -> dict[str, Any]:
    """Race one fabric, and run everything much longer beside it."""
    fabric, folder = draw(number, flows), FOLDER / str(number)
    engine = choose_engine("local")
    race = Race(fabric, candidates(fabric), folder / "race", engine)
    race.run(1e9, lambda *_: None)
    found = recommend(race)
    load = fabric.loads[0]
    goals = [Objective(goal, load) for goal in fabric.goals]
    field = {each.settings: each for each in [*race.candidates, *grid(fabric)]}
    everybody = list(field.values())
    hops, measured, first = 0, {each.name: {} for each in everybody}, FIRST_SEED
    while hops < times * race.packet_hops:
        seeds = range(first, first + BLOCK)
        metrics = [goal.metric for goal in goals]
        ran = run_set(fabric, everybody, [load], seeds, folder / "all", engine, lambda *_: None, metrics)
        hops, first = hops + ran.packet_hops, first + BLOCK
        for name, by_seed in ran.measured[load].items():
            measured[name].update(by_seed)
    by, nearest = beaten(found, measured, goals, len(everybody) - 1)
    return {
        "fabric": number,
        "said": described(fabric),
        "goal": "; ".join(goal.text for goal in fabric.goals),
        "recommended": found.candidate.text,
        "why": found.candidate.origin,
        "race_seeds": race.rounds,
        "race_hops": race.packet_hops,
        "settings": len(everybody),
        "seeds": first - FIRST_SEED,
        "hops": hops,
        "beaten_by": by,
        "nearest": nearest,
    }


def main() -> int:
    """Parse the arguments, examine, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("fabrics", type=int, nargs="*", help="which (default: 1 to 10)")
    parser.add_argument("--flows", type=int, default=100, help="of a run (default: 100)")
    parser.add_argument("--times", type=float, default=10, help="packet-hops over the race's (default: 10)")
    options = parser.parse_args()
    rows = []
    for number in options.fabrics or range(1, 11):
        row = examine(number, options.flows, options.times)
        rows.append(row)
        raced = f"{row['race_seeds']} seeds, {row['race_hops'] / 1e6:.0f} M packet-hops"
        beside = f"{row['settings']} settings, {row['seeds']} seeds, {row['hops'] / 1e6:.0f} M"
        print(f"{number:>2}  {row['goal']}: {row['recommended']} ({row['why']}) after {raced}", flush=True)
        print(f"    {row['said']}", flush=True)
        print(f"    beside {beside}: beaten by {len(row['beaten_by'])}; nearest {row['nearest']}", flush=True)
        for each in row["beaten_by"]:
            print(f"      {each}")
    (FOLDER / "table.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 1 if any(row["beaten_by"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
