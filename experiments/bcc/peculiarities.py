"""Measure the effect of each peculiarity of the authors' simulator.

Runs `fig2-as-made.toml`, each time with one setting changed to that of the paper or the RFC, and prints the
Markdown table of evidence/fidelity.md. It makes 180 runs of 50,000 flows, in six minutes on two cores.

Usage: python experiments/bcc/peculiarities.py FOLDER

Runs are stored in FOLDER; finished ones are not run again.
"""

from __future__ import annotations

import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import shallows as sh

SCENARIO = Path(__file__).with_name("fig2-as-made.toml")
SEEDS = (1, 2)
FLOWS = 50_000
CASES = ((0.8, "720000B"), (0.9, "720000B"), (0.9, "198000B"))
TCP = "tcp."
VARIANTS: dict[str, dict[str, Any]] = {
    "as made": {},
    "reserved bytes counted right": {"switch.buffer.reserved_rule": "exact"},
    "Dynamic Threshold compares shared bytes only": {"switch.buffer.counts": "shared"},
    "marking at enqueue": {"switch.markers.0.at": "enqueue", "host.nic.markers.0.at": "enqueue"},
    "marking without the packet itself": {
        "switch.markers.0.counts_packet": False,
        "host.nic.markers.0.counts_packet": False,
    },
    "host ports do not mark": {"host.nic.markers": []},
    "alpha starts at 1": {TCP + "congestion.initial_alpha": 1.0},
    "duplicate ACKs not counted in F": {TCP + "congestion.duplicate_acks": "ignored"},
    "ACKs with ECE grow the window": {TCP + "congestion.ece_growth": "all"},
    "byte counting in congestion avoidance": {TCP + "avoidance": "byte-counting"},
    "a loss halves the flight, not the window": {TCP + "loss_base": "flight-size"},
    "losses repaired as in RFC 6675": {TCP + "recovery": "sack"},
    "restart after idle as in RFC 5681": {TCP + "restart_after_idle": "reduce"},
    "no restart after idle": {TCP + "restart_after_idle": "off"},
    "initial window 10": {TCP + "initial_window": 10},
    "maximum window 1,000": {TCP + "max_window": 1000},
    "delayed ACKs, m = 2, 6 us": {TCP + "delayed_ack.segments": 2, TCP + "delayed_ack.timeout": "6us"},
    "a new connection for each flow": {"workload.0.connections": "new"},
    "31 senders, as the script at hand": {"workload.0.senders": "all"},
    "no jitter at hosts": {"host.jitter": "off"},
    "FCT at the receiver": {"measure.fct": "receiver"},
    "wire load counts last segments exactly": {"workload.0.counted": "wire"},
    "ECT on new data only": {TCP + "ect": "rfc3168"},
    "connections not primed": {
        "workload.0.connections": {"kind": "persistent", "per_pair": 10, "when_busy": "open-another"}
    },
    "a flow waits when all connections are busy": {"workload.0.connections.when_busy": "queue"},
    "one connection per pair at first": {"workload.0.connections.per_pair": 1},
    "no reserved bytes": {"switch.buffer.reserved": "0B"},
    "pool of 3,000,000 bytes": {"switch.buffer.pool": "3MB"},
    "host ports of 100 MB": {"host.nic.limit": "100MB"},
    "bins at 100 KB and 10 MB": {"measure.bins": ["100KB", "10MB"]},
}


def run(job: tuple[str, float, str, int, str]) -> tuple[float, ...]:
    """Run one variant, and return five results.

    These are the mean and p99 of small flows and the mean of large flows in µs, the loss in %, and the number
    of timeouts.
    """
    variant, load, threshold, seed, folder = job
    overrides = {
        "workload.0.load": load,
        "workload.0.flows": FLOWS,
        "switch.markers.0.k": threshold,
        "host.nic.markers.0.k": threshold,
        **VARIANTS[variant],
    }
    if VARIANTS[variant].get("host.nic.markers") == []:
        del overrides["host.nic.markers.0.k"]
    name = f"{list(VARIANTS).index(variant):02}-{load}-{threshold}-{seed}"
    summary = sh.run(SCENARIO, overrides=overrides, seed=seed, out=Path(folder) / name).summary
    fct = summary["fct_us"]
    loss = 100 * summary["loss_rate_mean_over_ports"]
    return fct["small"]["mean"], fct["small"]["p99"], fct["large"]["mean"], loss, float(summary["timeouts"])


def main() -> int:
    """Run every variant and print the table."""
    if len(sys.argv) != 2:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    jobs = [
        (variant, load, threshold, seed, sys.argv[1])
        for variant in VARIANTS
        for load, threshold in CASES
        for seed in SEEDS
    ]
    with ProcessPoolExecutor() as pool:
        rows = dict(zip(jobs, pool.map(run, jobs), strict=True))
    heads = [f"K={float(k[:-1]) / 1000:.0f} KB, {load:.0%}" for load, k in CASES]
    print(
        "| changed | "
        + " | ".join(f"{head}: small mean, p99, large mean; loss %; timeouts" for head in heads)
        + " |"
    )
    print("|---|" + "---|" * len(CASES))
    for variant in VARIANTS:
        cells = []
        for load, threshold in CASES:
            seeds = [rows[variant, load, threshold, seed, sys.argv[1]] for seed in SEEDS]
            small, p99, large, loss, timeouts = (
                statistics.fmean(values) for values in zip(*seeds, strict=True)
            )
            cells.append(f"{small:.0f}, {p99:.0f}, {large:.0f}; {loss:.4f}; {timeouts:.0f}")
        print(f"| {variant} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
