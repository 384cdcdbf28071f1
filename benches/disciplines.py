"""Measure the run time that each discipline, marker and buffer policy adds to the leaf-spine benchmark.

Every variant runs the flows of `scenarios/leaf-spine.toml` to completion, on the same core as the baseline (a
drop-tail queue) and right after it. The median ratio of a variant's time to the baseline's is reported, so
that changes of the machine's speed cancel out. Buffers are large, so that the cost does not include loss
recovery. Writes `target/bench/disciplines.json`, prints a table, and fails if a variant adds more than 50 %.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import ours  # noqa: E402
from command import flow_list, options  # noqa: E402

BASELINE = "fifo drop-tail"
# Largest allowed run time of a variant, as a multiple of the baseline's.
MOST = 1.5

K = "585000B"
THRESHOLD = f"{{ kind = 'threshold', k = '{K}' }}"
CLASSES = {"workload.0.class": "{ kind = 'by-sender', classes = 8 }"}
QUEUES = "queues = 8, classes = [0, 1, 2, 3, 4, 5, 6, 7]"


def port(text: str) -> dict[str, str]:
    """Return the overrides that give every switch port this discipline, without markers."""
    return {"switch.port": f"{{ {text} }}", "switch.markers": "[]", **(CLASSES if "queues" in text else {})}


def markers(*texts: str) -> dict[str, str]:
    """Return the overrides that give every switch port these markers, on one queue."""
    return {"switch.markers": f"[{', '.join(texts)}]"}


def buffer(text: str) -> dict[str, str]:
    """Return the overrides that give every switch this buffer, without markers."""
    return {"switch.buffer": f"{{ {text} }}", "switch.markers": "[]"}


DWRR = f"kind = 'dwrr', quantum = '1p', {QUEUES}"
VARIANTS: dict[str, dict[str, str]] = {
    BASELINE: markers(),
    "strict-priority": port(f"kind = 'strict-priority', {QUEUES}"),
    "wrr": port(f"kind = 'wrr', quantum = '1p', {QUEUES}"),
    "dwrr": port(DWRR),
    "wfq": port(f"kind = 'wfq', {QUEUES}"),
    "wfq self-clocked": port(f"kind = 'wfq', virtual_time = 'self-clocked', {QUEUES}"),
    "hcf": port("kind = 'hcf', limit = '100000p'"),
    "hashed-drr": port("kind = 'hashed-drr', buckets = 128, quantum = '9002B', limit = '1GB'"),
    "sfq": port("kind = 'sfq', buckets = 128, max_packets = 100000"),
    "shaper": {**markers(), "switch.shaper": "{ rate = '99.9Gbps', burst = '1MB' }"},
    "threshold": markers(THRESHOLD),
    "red": markers("{ kind = 'red', kmin = '300KB', kmax = '900KB', pmax = 0.1 }"),
    "red-classic": markers(
        "{ kind = 'red-classic', unit = 'packets', kmin = '33p', kmax = '99p', weight = 0.1 }"
    ),
    "mq-ecn": {**port(DWRR), **markers(f"{{ kind = 'mq-ecn', k = '{K}' }}")},
    "ein": markers(THRESHOLD, f"{{ kind = 'ein', high_water = '{K}' }}"),
    "ein-as-released": markers("{ kind = 'ein-as-released', limit = 65 }"),
    "tcn": markers("{ kind = 'tcn', threshold = '46us' }"),
    "codel": markers("{ kind = 'codel', target = '20us', interval = '200us', action = 'mark' }"),
    "bcc": markers(THRESHOLD, "{ kind = 'bcc', kmin = '500MB', kmax = '900MB' }"),
    "complete-sharing": buffer("kind = 'complete-sharing', pool = '1GB'"),
    "static-partition": buffer("kind = 'static-partition', per_port = '30MB'"),
    "abm": buffer("kind = 'abm', alpha = 8, pool = '1GB'"),
}


def measure(repeats: int, count: int) -> dict[str, Any]:
    """Run each variant `repeats` times, always after the baseline; return costs and time ratio of each."""
    listed = flow_list(count)

    def run(sets: dict[str, str]) -> dict[str, Any]:
        settings = {ours.TRACE_KEY: listed, **sets}
        return ours.run_shallows(ours.SCENARIOS / "leaf-spine.toml", settings)

    pairs: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {name: [] for name in VARIANTS}
    for _ in range(repeats):
        for name, sets in VARIANTS.items():
            pairs[name].append((run(VARIANTS[BASELINE]), run(sets)))
    found: dict[str, Any] = {}
    for name, runs in pairs.items():
        summary = runs[0][1]
        wall_s = statistics.median(run["engine"]["wall_s"] for _, run in runs)
        hops = summary["engine"]["packet_hops"]
        found[name] = {
            "wall_s": wall_s,
            "packet_hops": hops,
            "ns_per_hop": wall_s / hops * 1e9,
            "dropped": summary["packets"]["dropped"],
            "ratio": statistics.median(
                run["engine"]["wall_s"] / base["engine"]["wall_s"] for base, run in runs
            ),
        }
    return found


def print_table(found: dict[str, Any]) -> None:
    """Print a row for each variant."""
    print(f"\n{'leaf-spine under':<20}{'packet-hops':>12}{'drops':>8}{'wall s':>8}{'ns/hop':>8}{'adds':>7}")
    for name, row in found.items():
        print(
            f"{name:<20}{row['packet_hops']:>12,}{row['dropped']:>8,}{row['wall_s']:>8.3f}"
            f"{row['ns_per_hop']:>8.0f}{row['ratio'] - 1:>7.0%}"
        )


def main() -> int:
    """Parse the arguments, run the benchmark, and print a line for each variant that is too slow."""
    arguments = options(__doc__, "disciplines", repeats=3)
    found = measure(arguments.repeats, arguments.count)
    print_table(found)
    arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="ascii")
    slow = [name for name, row in found.items() if row["ratio"] > MOST]
    for name in slow:
        print(f"bench: {name} adds more than {MOST - 1:.0%} to the run time", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
