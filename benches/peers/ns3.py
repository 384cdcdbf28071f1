"""ns-3 side of the comparison: compilation and runs of `ns3_fabric.cc`."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import time
from pathlib import Path

from measure import Run, mean_fct_by_size
from pinned import MissingToolError, pinned

SOURCES = [Path(__file__).with_name(name) for name in ("ns3_fabric.cc", "ecmp_routing.h")]
MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")


def compile_if_stale(folder: Path) -> Path:
    """Return the program in `folder`, after compiling it if a source is newer."""
    program = folder / "ns3_fabric"
    if program.exists() and all(program.stat().st_mtime > source.stat().st_mtime for source in SOURCES):
        return program
    if not shutil.which("g++"):
        raise MissingToolError("g++ is missing: apt-get install g++")
    if not Path("/usr/include/ns3/core-module.h").exists():
        raise MissingToolError("ns-3 is missing: apt-get install libns3-dev")
    libraries = [f"-lns3-{module}" for module in MODULES]
    command = [
        "g++",
        "-O2",
        "-std=c++17",
        "-Wall",
        "-Wextra",
        str(SOURCES[0]),
        "-o",
        str(program),
        *libraries,
    ]
    if subprocess.run(command, check=False).returncode != 0:
        raise MissingToolError(
            "ns3_fabric.cc does not compile; it is written for ns-3.37, libns3-dev of Debian 12"
        )
    return program


def run_star(program: Path, simulated_s: float) -> Run:
    """Run 16 long flows for `simulated_s` seconds."""
    report, process_s = _run([str(program), "--mode=star", f"--time={simulated_s}"])
    return _to_run(report, process_s, unfinished=0, mean_fct_us={})


def run_leaf_spine(program: Path, flow_list: Path, seed: int, fcts: Path) -> Run:
    """Run a flow list to completion, with the ECMP hashes of `seed`, and write the FCTs into `fcts`."""
    arguments = [f"--flows={flow_list}", f"--seed={seed}", f"--fcts={fcts}"]
    report, process_s = _run([str(program), "--mode=leaf-spine", *arguments])
    with fcts.open(encoding="ascii") as file:
        means = mean_fct_by_size(
            (int(row["bytes"]), int(row["fct_ns"]) / 1e3) for row in csv.DictReader(file)
        )
    return _to_run(report, process_s, unfinished=report["flows"] - report["completed"], mean_fct_us=means)


def _run(command: list[str]) -> tuple[dict, float]:
    begin = time.monotonic()
    output = subprocess.run(pinned(command), check=True, capture_output=True, text=True).stdout
    return json.loads(output), time.monotonic() - begin


def _to_run(report: dict, process_s: float, unfinished: int, mean_fct_us: dict[str, float]) -> Run:
    return Run(
        wall_s=report["run_s"],
        process_s=process_s,
        packet_hops=report["packet_hops"],
        delivered_bytes=report["delivered_bytes"],
        peak_rss_mb=report["peak_rss_kb"] * 1024 / 1e6,  # the kernel's kB are 1,024 bytes
        drops=report["drops"],
        unfinished=unfinished,
        mean_fct_us=mean_fct_us,
    )
