"""Compare the speeds of Shallows and ns-3 on the same flows, topology and settings, and on one core.

The comparison is part of `make bench`. The two simulators take turns, so that changes of the machine's speed
affect both. Writes `target/bench/peers.json`, prints a table, and fails if the two simulators did not do the
same work. `peers/README.md` describes the settings of both.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import flows  # noqa: E402
import measure  # noqa: E402
import ns3  # noqa: E402
import ours  # noqa: E402
from measure import Run  # noqa: E402
from pinned import status  # noqa: E402

FOLDER = HERE.parent / "target" / "bench"
STAR_SECONDS = 0.5
LOAD = 0.6
FLOWS_SEED = 1
COUNTS = (1_000, 4_000, 16_000)
COMPARED_COUNT = 4_000
# Larger differences of mean FCTs need an explanation.
FCT_TOLERANCE = 0.10

Case = tuple[list[Run], list[Run]]


def take_turns(repeats: int, ours_runs: Callable[[int], Run], theirs_runs: Callable[[int], Run]) -> Case:
    """Run both simulators in turn. The seed of both is the number of the repeat, counted from 1."""
    case: Case = ([], [])
    for seed in range(1, repeats + 1):
        case[1].append(theirs_runs(seed))
        case[0].append(ours_runs(seed))
    return case


def measure_star(program: Path, repeats: int, seconds: float) -> Case:
    """Measure both simulators with sixteen long DCTCP flows that share one port of a switch."""
    return take_turns(repeats, lambda _: ours.run_star(seconds), lambda _: ns3.run_star(program, seconds))


def measure_leaf_spine(program: Path, repeats: int, count: int) -> Case:
    """Measure both simulators with web search traffic among 128 hosts; all flows complete."""
    flow_list, total_bytes = make_flow_list(count)
    return take_turns(
        repeats,
        lambda seed: ours.run_leaf_spine(flow_list, total_bytes, seed),
        lambda seed: ns3.run_leaf_spine(program, flow_list, seed, FOLDER / f"ns3-fct-{seed}.csv"),
    )


def measure_scaling(repeats: int) -> dict[str, Any]:
    """Measure the cost per packet-hop of Shallows with growing numbers of flows at the same load."""
    runs: dict[int, list[Run]] = {count: [] for count in COUNTS}
    for seed in range(1, repeats + 1):
        for count in COUNTS:
            flow_list, total_bytes = make_flow_list(count)
            runs[count].append(ours.run_leaf_spine(flow_list, total_bytes, seed))
    scaling: dict[str, Any] = {}
    for count in COUNTS:
        found = measure.figures(runs[count])
        scaling[str(count)] = {**found, "ns_per_hop": 1e9 / found["hops_per_s"]}
    few, many = str(COUNTS[0]), str(COUNTS[-1])
    scaling[f"ratio_{many}_over_{few}"] = scaling[many]["ns_per_hop"] / scaling[few]["ns_per_hop"]
    return scaling


def make_flow_list(count: int) -> tuple[Path, int]:
    """Write a list of `count` flows; return its path and the total size of the flows in bytes."""
    path = FOLDER / f"flows-{count}.csv"
    rows = flows.write(path, count, LOAD, FLOWS_SEED)
    return path, sum(row.bytes for row in rows)


def compare(case: Case) -> dict[str, Any]:
    """Return the results of one case for `peers.json`; `ratio` is the lower speed ratio, by hops or bytes."""
    return {
        "shallows": measure.figures(case[0]),
        "ns3": measure.figures(case[1]),
        "ratio": min(measure.speed_ratios(*case)),
    }


def print_case(name: str, case: Case) -> None:
    """Print the results of both simulators for one case, and the ratio of their speeds."""
    print(f"\n{name}")
    print(
        f"  {'':<10}{'packet-hops':>13}{'wall s':>10}{'process s':>11}"
        f"{'hops/s':>14}{'ns/hop':>9}{'peak MB':>9}"
    )
    for side, runs in zip(("shallows", "ns-3"), case, strict=True):
        found = measure.figures(runs)
        process_s = measure.median(runs, lambda run: run.process_s)
        print(
            f"  {side:<10}{found['packet_hops']:>13,.0f}{found['wall_s']:>10.3f}{process_s:>11.3f}"
            f"{found['hops_per_s']:>14,.0f}{1e9 / found['hops_per_s']:>9.0f}{found['peak_rss_mb']:>9.1f}"
        )
    by_hops, by_bytes = measure.speed_ratios(*case)
    print(
        f"  {min(by_hops, by_bytes):.1f} times ns-3 "
        f"(by packet-hops {by_hops:.1f}, by delivered bytes {by_bytes:.1f}); "
        f"packet-hops {measure.hops_ratio(*case):.3f} of ns-3's"
    )


def print_fcts(case: Case) -> None:
    """Print mean FCTs per size bin."""
    print(f"\n  {'mean FCT, us':<14}{'shallows':>10}{'ns-3':>10}{'ratio':>8}")
    for size, ratio in measure.fct_ratios(*case).items():
        means = [sum(run.mean_fct_us[size] for run in runs) / len(runs) for runs in case]
        remark = "  beyond 10 %: to be explained" if abs(ratio - 1) > FCT_TOLERANCE else ""
        print(f"  {size:<14}{means[0]:>10.1f}{means[1]:>10.1f}{ratio:>8.3f}{remark}")


def print_scaling(scaling: dict[str, Any]) -> None:
    """Print our cost per packet-hop by number of flows."""
    print(
        "\nscaling, our side alone\n"
        f"  {'flows':<10}{'packet-hops':>13}{'wall s':>10}{'ns/hop':>9}{'peak MB':>9}"
    )
    for count in COUNTS:
        found = scaling[str(count)]
        print(
            f"  {count:<10,}{found['packet_hops']:>13,.0f}{found['wall_s']:>10.3f}"
            f"{found['ns_per_hop']:>9.0f}{found['peak_rss_mb']:>9.1f}"
        )
    print(f"  cost per packet-hop at 16,000 flows over that at 1,000: {scaling['ratio_16000_over_1000']:.2f}")


def bench(repeats: int, out: Path, quick: bool) -> list[str]:
    """Run and print all comparisons, write the results to `out`, and return reasons for invalid results."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    ours.require()
    program = ns3.compile_if_stale(FOLDER)
    seconds, count = (0.05, 200) if quick else (STAR_SECONDS, COMPARED_COUNT)
    star = measure_star(program, repeats, seconds)
    print_case(f"star: 16 long DCTCP flows, 10 Gb/s, 1500 B, {seconds} s", star)
    leaf_spine = measure_leaf_spine(program, repeats, count)
    print_case(f"leaf-spine: 128 hosts, 100 Gb/s, 9000 B, {count:,} web search flows", leaf_spine)
    print_fcts(leaf_spine)
    document = {
        "star": compare(star),
        "leaf_spine": compare(leaf_spine),
        "fct_ratio": measure.fct_ratios(*leaf_spine),
    }
    if not quick:
        document["scaling"] = measure_scaling(repeats)
        print_scaling(document["scaling"])
    out.write_text(json.dumps(document, indent=2) + "\n", encoding="ascii")
    return measure.problems("star", *star) + measure.problems("leaf-spine", *leaf_spine)


def main() -> int:
    """Parse the arguments, run the benchmark, and print each problem in one line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="runs of each side; medians are taken (default: 3)"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, without the scaling")
    parser.add_argument("--json", type=Path, default=FOLDER / "peers.json", help="where the numbers go")
    arguments = parser.parse_args()
    if arguments.repeats < 1:
        parser.error("--repeats must be at least 1")
    return status(lambda: bench(arguments.repeats, arguments.json, arguments.quick))


if __name__ == "__main__":
    sys.exit(main())
