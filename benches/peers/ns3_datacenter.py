"""ns3-datacenter's side of the comparison of queue pairs: its files, runs, and results.

The environment variable `NS3_DATACENTER` names the folder `simulator/ns-3.39` of inet-tub/ns3-datacenter, in
which PowerTCP's examples are built. Only the example `powertcp-evaluation-burst` is run.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import flows
from measure import Run, mean_fct_by_size
from pinned import pinned

FOLDER = "NS3_DATACENTER"
PROGRAM = "build/examples/PowerTCP/ns3.39-powertcp-evaluation-burst-optimized"
HOSTS = 16
LOAD = 0.5
LINK_BITS_PER_SECOND = 100e9
PAYLOAD = 1_000
FIRST_S = 0.001
LAST_S = 1.0
CLASS = 3
"""The priority group of all flows: the example sends acknowledgements with group 3."""

CONFIG = """ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE {payload}
TOPOLOGY_FILE {folder}/topology.txt
FLOW_FILE {folder}/flow.txt
FCT_OUTPUT_FILE {folder}/fct.txt
PFC_OUTPUT_FILE {folder}/pfc.txt
SIMULATOR_STOP_TIME {stop}
CC_MODE {mode}
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 900
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 100Mb/s
ERROR_RATE_PER_LINK 0
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN {window}
GLOBAL_T 1
VAR_WIN {window}
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 1
MULTI_RATE 0
SAMPLE_FEEDBACK 0
RATE_BOUND 1
ACK_HIGH_PRIO 0
LINK_DOWN 0 0 0
KMAX_MAP 1 100000000000 1600
KMIN_MAP 1 100000000000 400
PMAX_MAP 1 100000000000 0.2
BUFFER_SIZE 16
"""


class Control(NamedTuple):
    """A congestion control: its `CC_MODE`, and 1 if a window limits each sender's bytes in flight, else 0."""

    mode: int
    window: int


CONTROLS = {"dcqcn": Control(1, 0), "hpcc": Control(3, 1)}


def program() -> Path | None:
    """Return the program, or None if `NS3_DATACENTER` names no folder in which it is built."""
    found = Path(os.environ.get(FOLDER, "")) / PROGRAM
    return found.resolve() if FOLDER in os.environ and found.is_file() else None


def star_flows(count: int, seed: int) -> list[flows.Flow]:
    """Return flows between the hosts of a star: Poisson arrivals, uniform pairs, web search sizes."""
    draw = random.Random(seed)
    rate = LOAD * HOSTS * LINK_BITS_PER_SECOND / 8 / flows.mean_size()
    start_s, rows = FIRST_S, []
    for _ in range(count):
        start_s += draw.expovariate(rate)
        source, other = int(draw.random() * HOSTS), int(draw.random() * (HOSTS - 1))
        destination = other + (other >= source)
        rows.append(flows.Flow(round(start_s * 1e9), source, destination, flows.size_at(draw.random())))
    return rows


def write(folder: Path, control: str, rows: list[flows.Flow]) -> Path:
    """Write the files that both simulators read; return the path of the configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    mode, window = CONTROLS[control]
    # If a switch is a link's second end, the example often prints its ports; so the switch is the first end.
    links = [f"{HOSTS} {host} 100Gbps 1us 0" for host in range(HOSTS)]
    header = f"{HOSTS + 1} 1 1 {HOSTS}\n{HOSTS}\n"
    (folder / "topology.txt").write_text(header + "\n".join(links) + "\n", encoding="ascii")
    lines = [
        f"{row.source} {row.destination} {CLASS} {10_000 + number} {row.bytes} {row.start_ns / 1e9:.9f}"
        for number, row in enumerate(rows)
    ]
    (folder / "flow.txt").write_text(f"{len(rows)}\n" + "\n".join(lines) + "\n", encoding="ascii")
    stop = round(rows[-1].start_ns / 1e9 + LAST_S, 6)
    config = folder / "config.txt"
    text = CONFIG.format(folder=folder, payload=PAYLOAD, stop=stop, mode=mode, window=window)
    config.write_text(text, encoding="ascii")
    return config


def packet_hops(rows: list[flows.Flow]) -> int:
    """Return the packet-hops of the flows: each data packet and its acknowledgement cross two links."""
    return sum(-(-row.bytes // PAYLOAD) for row in rows) * 2 * 2


def run(simulator: Path, config: Path, control: str, rows: list[flows.Flow]) -> Run:
    """Run the flows to completion. The time is the processor time in the last line of the output."""
    mode, window = CONTROLS[control]
    options = [f"--conf={config}", f"--algorithm={mode}", f"--windowCheck={window}"]
    options += ["--wien=false", "--delayWien=false"]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(simulator.parents[2] / "lib")}
    begin = time.monotonic()
    output = subprocess.run(
        pinned([str(simulator), *options]),
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        cwd=config.parent,
    ).stdout
    process_s = time.monotonic() - begin
    fcts = [line.split() for line in (config.parent / "fct.txt").read_text(encoding="ascii").splitlines()]
    return Run(
        wall_s=float(output.split()[-1]),
        process_s=process_s,
        packet_hops=packet_hops(rows),
        delivered_bytes=sum(row.bytes for row in rows),
        peak_rss_mb=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6,
        drops=output.count("dropping lossless packet"),
        unfinished=len(rows) - len(fcts),
        mean_fct_us=mean_fct_by_size((int(words[4]), int(words[6]) / 1e3) for words in fcts),
    )
