"""Command `shallows doctor`: checks of the installation, the machine and optional tools."""

import argparse
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from shallows.about import build, label
from shallows.errors import ShallowsError
from shallows.quantity import count, digits
from shallows.runs.folder import check_writable
from shallows.runs.running import example
from shallows.runs.source import Source
from shallows.runs.threads import cores

SELF_TEST_S = 1.0
NS3_HEADERS = ["/usr/include/ns3.37/ns3/core-module.h", "/usr/include/ns3/core-module.h"]


def run(options: argparse.Namespace) -> int:
    """Print one line for each check, and return the exit code."""
    checks = [_installation(), _machine(), _folder(), *_optional_tools(), _self_test()]
    show([("ok" if is_fine else "missing", name, finding) for is_fine, name, finding in checks], options)
    return 0 if all(is_fine for is_fine, name, _ in checks if name in {"folder", "engine"}) else 1


def show(checks: Sequence[tuple[str, str, str]], options: argparse.Namespace) -> None:
    """Print verdict, name and finding of each check, as lines or as one JSON document."""
    if options.json:
        described = [{"verdict": v, "name": name, "finding": finding} for v, name, finding in checks]
        print(json.dumps({"checks": described}, ensure_ascii=False))
        return
    for verdict, name, finding in checks:
        print(f"{verdict:<7}  {name:<10}  {finding}")


def _installation() -> tuple[bool, str, str]:
    python = f"Python {platform.python_version()} at {sys.prefix}"
    slow = "" if build()["profile"] == "release" else "; not a release build, so slow: run `make build`"
    return True, "shallows", f"{label()}{slow}; {python}"


def _machine() -> tuple[bool, str, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        True,
        "machine",
        f"{cores()} cores, {digits(memory, 2)} GB of memory, {platform.platform(terse=True)}",
    )


def _folder() -> tuple[bool, str, str]:
    try:
        check_writable(Path())
    except ShallowsError as error:
        return False, "folder", f"{error.message}; work in a folder of your own"
    free = shutil.disk_usage(".").free / 1e9
    return True, "folder", f"{Path().resolve()} can be written, {digits(free, 2)} GB free"


def _optional_tools() -> list[tuple[bool, str, str]]:
    valgrind = shutil.which("valgrind")
    ns3 = next((header for header in NS3_HEADERS if Path(header).exists()), None)
    return [
        (bool(valgrind), "valgrind", valgrind or "only `make bench` needs it: apt-get install valgrind"),
        (bool(ns3), "ns-3", ns3 or "only `make bench` needs it: apt-get install libns3-dev"),
    ]


def _self_test() -> tuple[bool, str, str]:
    """Run an example repeatedly for about a second."""
    experiment = Source.read(example("incast")).parse()
    hops, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < SELF_TEST_S:
        simulation = experiment.simulate()
        while not (progress := json.loads(simulation.advance(100)))["done"]:
            pass
        simulation.finish()
        hops += progress["packet_hops"]
    return True, "engine", f"self-test passed, {count(hops / elapsed)} packet-hops/s on one core"
