"""ns-2 side of the comparison: runs of `ns2_bottleneck.tcl`, and the equivalent settings of Shallows."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinned import MissingToolError, pinned

SCRIPT = Path(__file__).with_name("ns2_bottleneck.tcl")

# Overrides of a scenario that reproduce ns-2's transports and queues, by their names in ns-2.
TRANSPORTS: Mapping[str, Mapping[str, Any]] = {
    "Reno": {"tcp.recovery": "reno"},
    "Newreno": {"tcp.recovery": "newreno", "tcp.full_ack": "ssthresh"},
    "Sack1": {"tcp.recovery": "sack1"},
    "FullTcp/Sack": {"tcp.recovery": "fulltcp"},
}
PORT = "switch.overrides.0.port"
QUEUES: Mapping[str, Mapping[str, Any]] = {
    "DropTail": {},
    "RED": {
        "switch.overrides.0.markers": [
            {"kind": "red-classic", "variant": "ns-2", "kmin": "5p", "kmax": "15p", "weight": 0.002}
            | {"unit": "packets", "typical_packet": "1500B"}
        ]
    },
    # ns-2's defaults: thresholds from the target delay, weight from the link, sizes in bytes, large buffer.
    "RED/automatic": {
        "switch.buffer.per_port": "750000B",
        "switch.overrides.0.markers": [{"kind": "red-classic", "variant": "ns-2"}],
    },
    "DRR": {
        PORT: {"kind": "hashed-drr", "buckets": 16, "limit": "75000B", "quantum": "1500B"}
        | {"hash": "source-only"}
    },
    "SFQ": {PORT: {"kind": "sfq", "buckets": 16, "max_packets": 50, "hash": "address-sum", "drop": "as-ns2"}},
}

# Number of links of a path: from a sender to its switch, over the bottleneck, and to the receiver.
LINKS = 3


@dataclass(frozen=True)
class Passage:
    """Result of one simulator for a list of flows."""

    fct_us: Mapping[int, float]
    """Completion times in µs, by number of the flow in the list."""
    sent: int
    """Number of packets that arrived at the bottleneck's queue."""
    dropped: int
    """Number of packets that the bottleneck's queue dropped."""
    run_s: float
    """Wall time of the simulation without set-up, in seconds."""
    packet_hops: int

    @property
    def hops_per_s(self) -> float:
        """Speed in packet-hops per second of wall time."""
        return self.packet_hops / self.run_s


def require() -> None:
    """Raise `MissingToolError` if ns-2 is not installed."""
    if not shutil.which("ns"):
        raise MissingToolError("ns-2 is missing: apt-get install ns2")


def run(flow_list: Path, transport: str, queue: str, seed: int, fcts: Path) -> Passage:
    """Run a flow list to completion, with the random numbers of `seed`, and write the FCTs into `fcts`."""
    command = ["ns", str(SCRIPT), str(flow_list), transport, queue, str(seed), str(fcts)]
    output = subprocess.run(pinned(command), check=True, capture_output=True, text=True).stdout
    report = json.loads(output.splitlines()[-1])
    with fcts.open(encoding="ascii") as file:
        times = {int(row["flow"]): int(row["fct_ns"]) / 1e3 for row in csv.DictReader(file)}
    sent, dropped = report["arrived"], report["dropped"]
    return Passage(
        fct_us=times,
        sent=sent,
        dropped=dropped,
        run_s=report["run_s"],
        # Delivered packets and their acknowledgements cross all links; dropped packets cross only the first.
        packet_hops=2 * LINKS * (sent - dropped) + dropped,
    )
