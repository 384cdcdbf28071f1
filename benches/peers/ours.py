"""Our side of the comparison: `shallows run` in its own process, as a user starts it."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from measure import BINS, Run
from pinned import MissingToolError, pinned

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "benches" / "scenarios"
COMMAND = ROOT / ".venv" / "bin" / "shallows"

# Key of the flow list in a scenario with a `trace` workload.
TRACE_KEY = "workload.0.path"


def require() -> None:
    """Raise `MissingToolError` if Shallows is not built. Benchmarks call this before their first run."""
    if not COMMAND.exists():
        raise MissingToolError(f"{COMMAND.relative_to(ROOT)} is missing; run `make build`")


def run_shallows(
    scenario: Path,
    overrides: Mapping[str, object],
    seed: int = 1,
    threads: int | str = 1,
    *,
    pin: bool = True,
) -> dict[str, Any]:
    """Run a scenario and return its `summary.json`, with the time of the whole process as `process_s`.

    A run on one thread is pinned to one core, unless `pin` is false.
    """
    settings = [part for key, value in overrides.items() for part in ("--set", f"{key}={value}")]
    with tempfile.TemporaryDirectory() as scratch:
        out = ["--seed", str(seed), "--out", str(Path(scratch) / "run"), "--json", "--threads", str(threads)]
        command = [str(COMMAND), "run", str(scenario), *settings, *out]
        begin = time.monotonic()
        process = subprocess.run(
            pinned(command) if threads == 1 and pin else command,
            check=True,
            capture_output=True,
            text=True,
        )
        process_s = time.monotonic() - begin
    return {**json.loads(process.stdout), "process_s": process_s}


def run_star(simulated_s: float) -> Run:
    """Run 16 long flows for `simulated_s` seconds."""
    summary = run_shallows(SCENARIOS / "star.toml", {"stop.at": f"{round(simulated_s * 1e6)}us"})
    delivered = summary["goodput_gbps"] * 1e9 / 8 * simulated_s
    return _to_run(summary, delivered, unfinished=0)


def run_leaf_spine(flow_list: Path, total_bytes: int, seed: int) -> Run:
    """Run a flow list to completion; the total size of its flows is `total_bytes`."""
    summary = run_shallows(SCENARIOS / "leaf-spine.toml", {TRACE_KEY: flow_list}, seed)
    unfinished = summary["flows"]["started"] - summary["flows"]["completed"]
    return _to_run(summary, total_bytes, unfinished)


def run_imported(config: Path, total_bytes: int) -> Run:
    """Import the files of HPCC's `config`, and run their flows (`total_bytes` bytes) to completion."""
    scenario = config.with_name("ours.toml")
    for old in config.parent.glob("ours*"):
        old.unlink()
    importing = [str(COMMAND), "import", "hpcc", str(config), "--root", "/", "-o", str(scenario)]
    subprocess.run(importing, check=True, capture_output=True, text=True)
    summary = run_shallows(scenario, {})
    unfinished = summary["flows"]["started"] - summary["flows"]["completed"]
    return _to_run(summary, total_bytes, unfinished)


def _to_run(summary: dict[str, Any], delivered: float, unfinished: int) -> Run:
    engine = summary["engine"]
    fcts = summary["fct_us"]
    return Run(
        wall_s=engine["wall_s"],
        process_s=summary["process_s"],
        packet_hops=engine["packet_hops"],
        delivered_bytes=delivered,
        peak_rss_mb=engine["peak_rss_mb"],
        drops=summary["packets"]["dropped"],
        unfinished=unfinished,
        mean_fct_us={size: fcts[size]["mean"] for size in BINS if fcts.get(size, {}).get("count")},
    )
