"""Measure the sensitivity of the benchmark's timeouts (Fig. 23) to settings that the paper does not state.

    python experiments/dctcp/sensitivity.py FOLDER

Prints a row for each change of one setting: for TCP and DCTCP, the share of queries with a timeout and the
95th percentile of short messages. README.md has the printed table.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import shallows as sh

HERE = Path(__file__).parent
SECONDS, SERVERS, BACKGROUND = 6, 45, 200_000 / 600

TCP: dict[str, Any] = {"tcp.congestion": "reno", "switch.markers": [], "switch.overrides": []}
"""Settings of TCP, as in fig22.toml."""

CHANGES: dict[str, dict[str, Any]] = {
    "as fig22.toml": {},
    "windows of 128 KB": {"tcp.receive_window": "128KB"},
    "windows of 2 MB": {"tcp.receive_window": "2MB"},
    "NICs with one queue": {"host.nic.port": "fifo", "host.nic.limit": "20000p"},
    "initial windows of 3 packets": {"tcp.initial_window": 3},
    "half of the background": {
        "workload.1.load": 0.03042,
        "workload.2.load": 0.01014,
        "workload.3.load": 0.04563,
    },
    "20 % of it between racks": {
        "workload.1.load": 0.08112,
        "workload.2.load": 0.01014,
        "workload.3.load": 0.04563,
    },
    "queries at regular times": {"workload.0.arrivals": {"kind": "periodic", "period": "143.6ms"}},
}


def bursts(path: Path, tail: float) -> dict[str, Any]:
    """Write a list of background flows, and return the override of the workload that reads the list.

    Half of the flows start together with the previous flow of their server. The times between such groups of
    flows are lognormal, and the logarithm of the times has the standard deviation `tail`:
    "the variance in interarrival time is very high, with a very heavy tail; [...] embedded spikes occur, for
    example the 0ms inter-arrivals that explain the CDF hugging the y-axis up to the 50th percentile" (§2.2).
    """
    chance = np.random.default_rng(1)
    shares, sizes = np.array(WEB_SEARCH).T
    rows: list[tuple[int, int, int, int]] = []
    for source in range(SERVERS):
        mean_gap = 2 * SERVERS / BACKGROUND  # two flows in each group, on average
        at = chance.uniform(0, mean_gap)
        while at < SECONDS:
            while True:
                other = SERVERS if chance.random() < 0.4 else int(chance.integers(SERVERS - 1))
                other += SERVERS > other >= source
                comes = other == SERVERS and chance.random() < 0.5
                size = round(float(np.interp(chance.random(), shares, sizes)))
                rows.append((round(at * 1e9), *((other, source) if comes else (source, other)), max(1, size)))
                if chance.random() < 0.5:
                    break
            at += mean_gap * chance.lognormal(-tail * tail / 2, tail)
    path.write_text(
        "start_ns,source,destination,bytes\n"
        + "".join(f"{','.join(map(str, row))}\n" for row in sorted(rows))
    )
    persistent = {"kind": "persistent"}
    return {"workload.1": {"kind": "trace", "path": str(path.resolve()), "connections": persistent}}


WEB_SEARCH = [
    (0, 0), (0.15, 1e4), (0.2, 2e4), (0.3, 3e4), (0.4, 5e4), (0.53, 8e4), (0.6, 2e5), (0.7, 1e6), (0.8, 2e6),
    (0.9, 5e6), (0.97, 1e7), (1, 3e7),
]  # fmt: skip
"""Distribution of `sizes = "web-search"`: cumulative share and size in bytes."""

SMALL = {"workload.2.load": 0.0000001, "workload.3.load": 0.0000001}
"""Negligible loads of the workloads that the trace replaces."""


def main(folder: Path) -> None:
    """Run all settings that have no finished run, and print the table."""
    folder.mkdir(parents=True, exist_ok=True)
    for tail in (1.0, 2.0):
        changes = bursts(folder / f"bursts-{tail:g}.csv", tail) | SMALL
        CHANGES[f"half of it in bursts, lognormal gaps of σ = {tail:g}"] = changes
    print("| change | TCP: timeouts (%) | p95 (ms) | DCTCP: timeouts (%) | p95 (ms) |\n|---|---|---|---|---|")
    for name, change in CHANGES.items():
        cells = []
        for scheme, base in (("tcp", TCP), ("dctcp", {})):
            changes = base | change | {"stop.at": f"{SECONDS}s"}
            out = folder / f"{name.replace(' ', '-').replace(',', '')}-{scheme}"
            summary = sh.run(HERE / "fig22.toml", changes, out=out).summary
            cells += [
                f"{100 * summary['queries']['all']['with_timeout']:.2f}",
                f"{summary['fct_us']['medium']['p95'] / 1e3:.1f}",
            ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
