"""Command `shallows testbed doctor`: checks of the testbed's requirements, and a trial run."""

import argparse
import math
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from shallows.cli.doctor import show
from shallows.errors import ShallowsError
from shallows.quantity import digits
from shallows.runs.measuring import carried, measure, program
from shallows.runs.source import Source

TRIAL = """
name = "trial"
[stop]
at = "1s"
[topology]
kind = "star"
hosts = 3
rate = "100Mbps"
link_delay = "50us"
[switch]
buffer = { kind = "static-partition", per_port = "150KB" }
[tcp]
congestion = "reno"
[[workload]]
kind = "long-lived"
senders = "0..2"
receivers = "2..3"
"""
"""Scenario of the trial: two senders share 100 Mb/s for a second."""

UNPACED = (("topology.rate", "10Gbps"), ("workload.0.senders", "0..1"))
"""Overrides of the trial: one sender, and a rate beyond the capacity of a software switch."""

CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def run(options: argparse.Namespace) -> int:
    """Print one line for each check, and return the exit code."""
    checks = [_program(), *_tools(), _privileges(), _controls()]
    if all(is_fine for is_fine, *_ in checks):
        checks += [_trial(), _reach()]
    bad = {name: "late" if name == "trial" else "missing" for _, name, _ in checks}
    show([("ok" if is_fine else bad[name], name, finding) for is_fine, name, finding in checks], options)
    return 0 if all(is_fine for is_fine, *_ in checks) else 1


def _program() -> tuple[bool, str, str]:
    try:
        return True, "program", str(program())
    except ShallowsError as error:
        return False, "program", f"{error.message}; {error.remedy}"


def _tools() -> list[tuple[bool, str, str]]:
    found = [(name, shutil.which(name)) for name in ("ip", "tc")]
    return [(bool(path), name, path or "apt-get install iproute2") for name, path in found]


def _privileges() -> tuple[bool, str, str]:
    if os.geteuid() == 0:
        return True, "rights", "root"
    made = shutil.which("unshare") and subprocess.run(
        ["unshare", "--user", "--map-root-user", "--net", "true"], capture_output=True, check=False
    )
    if not made or made.returncode:
        return False, "rights", "no namespaces for users: run it with sudo, or as root"
    limits = "without root the switch cannot run before others, nor our own congestion controls at all"
    return True, "rights", f"namespaces of users; {limits}"


def _controls() -> tuple[bool, str, str]:
    known = CONTROLS.read_text().split() if CONTROLS.is_file() else []
    return bool(known), "kernel", f"congestion controls: {', '.join(known) or 'none: this is no Linux'}"


def _trial() -> tuple[bool, str, str]:
    with tempfile.TemporaryDirectory() as folder:
        source = Source(str(Path(folder) / "trial.toml"), TRIAL)
        try:
            summary = measure(source, source.parse(), Path(folder) / "run").summary
        except ShallowsError as error:
            return False, "trial", error.message
    health = summary["health"]
    late = health["lateness"]
    goodput, bound, worst = (
        digits(number) for number in (1e3 * summary["goodput_gbps"], health["bound_p99_us"], late["worst_us"])
    )
    told = (
        f"{goodput} Mb/s of 100; frames were late by {late['median_us']} us in the median, "
        f"{late['p99_us']} us at the 99th percentile (bound {bound}), {worst} us at worst"
    )
    factor = math.ceil(late["p99_us"] / health["bound_p99_us"])
    remedy = [f"time dilated {factor} times would leave room (--dilate {factor})"] if factor > 1 else []
    return bool(health["valid"]), "trial", "; ".join([told, *health["complaints"], *remedy])


def _reach() -> tuple[bool, str, str]:
    with tempfile.TemporaryDirectory() as folder:
        source = Source(str(Path(folder) / "trial.toml"), TRIAL, UNPACED)
        try:
            goodput = carried(source, Path(folder))["goodput_gbps"]
        except ShallowsError as error:
            return False, "reach", error.message
    return (
        True,
        "reach",
        f"{digits(goodput)} Gb/s from one host through one port at most, in packets of 1500 bytes",
    )
