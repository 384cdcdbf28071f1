"""Options of the benchmarks that measure Shallows alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import flows
import ours
from pinned import MissingToolError

FOLDER = ours.ROOT / "target" / "bench"
LOAD = 0.6
FLOWS_SEED = 1
COUNT = 4_000


def options(description: str | None, name: str, repeats: int) -> argparse.Namespace:
    """Parse `--repeats`, `--quick` and `--json` (default: NAME.json in `FOLDER`).

    Exits if Shallows is not built. `count` in the result is the number of flows.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeats", type=int, default=repeats, help=f"runs of each; medians are taken (default: {repeats})"
    )
    parser.add_argument("--quick", action="store_true", help="a quarter of the flows")
    parser.add_argument("--json", type=Path, default=FOLDER / f"{name}.json", help="where the numbers go")
    arguments = parser.parse_args()
    if arguments.repeats < 1:
        parser.error("--repeats must be at least 1")
    try:
        ours.require()
    except MissingToolError as missing:
        sys.exit(f"bench: {missing}")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.count = COUNT // 4 if arguments.quick else COUNT
    return arguments


def flow_list(count: int) -> Path:
    """Write the first `count` flows of the leaf-spine benchmark, and return the path of the list."""
    path = FOLDER / f"flows-{count}.csv"
    FOLDER.mkdir(parents=True, exist_ok=True)
    flows.write(path, count, LOAD, FLOWS_SEED)
    return path
