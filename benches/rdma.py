"""Compare the speed of queue pairs with that of ns3-datacenter on the same flows, on one core (`make bench`).

The environment variable `NS3_DATACENTER` names the folder `simulator/ns-3.39` of ns3-datacenter, in which
PowerTCP's examples are built. If it is unset, nothing is run. The simulators take turns. Both read the same
configuration, topology and flows, which `shallows import hpcc` converts. The time of ns3-datacenter is the
processor time that its program prints; ours is that of the engine. Writes `target/bench/rdma.json`, prints a
table, and fails if the two simulators did not do the same work.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import measure  # noqa: E402
import ns3_datacenter  # noqa: E402
import ours  # noqa: E402
from measure import Run  # noqa: E402
from pinned import status  # noqa: E402

FOLDER = HERE.parent / "target" / "bench"
FLOWS_SEED = 1
ABSENT = "not run: NS3_DATACENTER names no folder with ns3-datacenter (benches/peers/README.md)"


def bench(simulator: Path, repeats: int, count: int, out: Path) -> list[str]:
    """Run and print all comparisons, write the results to `out`, and return reasons for invalid results."""
    ours.require()
    document: dict[str, Any] = {}
    found: list[str] = []
    print(f"\nqueue pairs: {ns3_datacenter.HOSTS} hosts, 100 Gb/s, {count:,} web search flows")
    head = f"{'packet-hops':>13}{'time s':>9}{'hops/s':>12}{'theirs':>12}{'ratio':>8}"
    print(f"  {'':<8}{head}   mean FCT, ours/theirs")
    for control in ns3_datacenter.CONTROLS:
        rows = ns3_datacenter.star_flows(count, FLOWS_SEED)
        config = ns3_datacenter.write(FOLDER / "rdma" / control, control, rows)
        case: tuple[list[Run], list[Run]] = ([], [])
        for _ in range(repeats):
            case[1].append(ns3_datacenter.run(simulator, config, control, rows))
            case[0].append(ours.run_imported(config, sum(row.bytes for row in rows)))
        mine, theirs = (measure.figures(runs) for runs in case)
        ratio = mine["hops_per_s"] / theirs["hops_per_s"]
        fcts = measure.fct_ratios(*case)
        document[control] = {"shallows": mine, "ns3_datacenter": theirs, "ratio": ratio, "fct_ratio": fcts}
        speeds = f"{mine['hops_per_s']:>12,.0f}{theirs['hops_per_s']:>12,.0f}{ratio:>8.1f}"
        means = ", ".join(f"{size} {value:.3f}" for size, value in fcts.items())
        print(f"  {control:<8}{mine['packet_hops']:>13,.0f}{mine['wall_s']:>9.2f}{speeds}   {means}")
        found += measure.problems(control, *case, peer="ns3-datacenter")
    out.write_text(json.dumps(document, indent=2) + "\n", encoding="ascii")
    return found


def main() -> int:
    """Parse the arguments, run the benchmark, and print each problem in one line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="runs of each side; medians are taken (default: 5)"
    )
    parser.add_argument("--flows", type=int, default=400, help="how many (default: 400)")
    parser.add_argument("--json", type=Path, default=FOLDER / "rdma.json", help="where the numbers go")
    arguments = parser.parse_args()
    if arguments.repeats < 1 or arguments.flows < 1:
        parser.error("--repeats and --flows must be at least 1")
    simulator = ns3_datacenter.program()
    if simulator is None:
        print(f"bench: {ABSENT}")
        return 0
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    return status(lambda: bench(simulator, arguments.repeats, arguments.flows, arguments.json))


if __name__ == "__main__":
    sys.exit(main())
