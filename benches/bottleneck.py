"""Compare Shallows with ns-2 on short flows through one slow link: completion times, packets and speed.

The comparison is part of `make bench`, and covers Reno, NewReno, Sack1 and FullTcp/Sack over DropTail, RED,
RED with defaults, DRR and SFQ. Writes `target/bench/bottleneck.json`, prints a table, and fails if a flow
does not finish. `peers/README.md` describes the settings of both simulators, and their differences.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import shallows as sh

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import flows  # noqa: E402
import ns2  # noqa: E402
from ns2 import Passage  # noqa: E402
from pinned import status  # noqa: E402

FOLDER = HERE.parent / "target" / "bench"
SCENARIO = HERE / "scenarios" / "bottleneck.toml"
PORT = "left->right"
LOAD = 0.7
FLOWS_SEED = 1
# If completion times differ by less than this share, both simulators sent the same packets at the same times.
ALIKE = 1e-3


def run_ours(flow_list: Path, settings: Mapping[str, Any], seed: int) -> Passage:
    """Run a flow list to completion."""
    with tempfile.TemporaryDirectory() as scratch:
        overrides = {"workload.0.path": str(flow_list), **settings}
        run = sh.run(SCENARIO, overrides=overrides, seed=seed, out=Path(scratch) / "run")
        done = run.flows.select("flow", "fct_us").rows()
        port = run.counters.filter(run.counters["port"] == PORT)
        return Passage(
            fct_us={flow: fct for flow, fct in done if fct is not None},
            sent=port["received"].sum(),
            dropped=port["dropped"].sum(),
            run_s=run.summary["engine"]["wall_s"],
            packet_hops=run.summary["engine"]["packet_hops"],
        )


def compare(ours: Passage, theirs: Passage) -> dict[str, Any]:
    """Return the results of both simulators for one case, in the form of `bottleneck.json`."""
    ratios = [ours.fct_us[flow] / fct for flow, fct in theirs.fct_us.items()]
    return {
        "flows": len(ratios),
        "alike": sum(abs(ratio - 1) < ALIKE for ratio in ratios),
        "fct_ratio": statistics.median(ratios),
        **{
            name: {
                "mean_fct_us": statistics.fmean(side.fct_us.values()),
                "sent": side.sent,
                "dropped": side.dropped,
                "hops_per_s": side.hops_per_s,
            }
            for name, side in (("shallows", ours), ("ns2", theirs))
        },
    }


def print_case(name: str, case: Mapping[str, Any]) -> None:
    """Print the results of both simulators for one case."""
    ours, theirs = case["shallows"], case["ns2"]
    print(
        f"  {name:<22}{case['alike']:>6} of {case['flows']:<6}{case['fct_ratio']:>7.3f}"
        f"{ours['mean_fct_us'] / 1e3:>10.2f}{theirs['mean_fct_us'] / 1e3:>9.2f}"
        f"{ours['sent']:>9,}{theirs['sent']:>9,}{ours['dropped']:>8,}{theirs['dropped']:>7,}"
        f"{ours['hops_per_s'] / 1e6:>9.2f}{theirs['hops_per_s'] / 1e6:>7.2f}"
    )


def bench(count: int, out: Path) -> list[str]:
    """Run every case in both simulators, print and write the results; return reasons for invalid cases."""
    ns2.require()
    FOLDER.mkdir(parents=True, exist_ok=True)
    flow_list = FOLDER / f"bottleneck-{count}.csv"
    flows.write_first(flow_list, count, flows.bottleneck(LOAD, FLOWS_SEED))
    print(
        f"one link of 100 Mb/s, {count} flows: ours, then ns-2's\n"
        f"  {'':<22}{'flows alike':<16}{'median':>7}{'mean FCT, ms':>19}{'packets':>18}{'dropped':>15}"
        f"{'M hops/s':>16}"
    )
    document, found = {}, []
    for queue, of_queue in ns2.QUEUES.items():
        for transport, of_transport in ns2.TRANSPORTS.items():
            name = f"{queue} {transport}"
            theirs = ns2.run(flow_list, transport, queue, 1, FOLDER / "ns2-fct.csv")
            ours = run_ours(flow_list, {**of_queue, **of_transport}, 1)
            left = 2 * count - len(ours.fct_us) - len(theirs.fct_us)
            if left:
                found.append(f"{name}: {left} flows are left over")
                continue
            document[name] = compare(ours, theirs)
            print_case(name, document[name])
    out.write_text(json.dumps(document, indent=2) + "\n", encoding="ascii")
    return found


def main() -> int:
    """Parse the arguments, run the benchmark, and print each problem in one line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--flows", type=int, default=400, help="how many (default: 400)")
    parser.add_argument("--json", type=Path, default=FOLDER / "bottleneck.json", help="where the numbers go")
    arguments = parser.parse_args()
    if arguments.flows < 1:
        parser.error("--flows must be at least 1")
    return status(lambda: bench(arguments.flows, arguments.json))


if __name__ == "__main__":
    sys.exit(main())
