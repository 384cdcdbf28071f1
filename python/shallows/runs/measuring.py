"""Testbed runs with real TCP: starting the testbed's program and writing its results."""

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shallows import _core
from shallows.bounded import folder_of
from shallows.errors import DefectError, ScenarioError, ShallowsError
from shallows.runs.executing import OnProgress, environment_of, store
from shallows.runs.folder import check_writable, refuse_existing, run_name
from shallows.runs.leases import Lease
from shallows.runs.results import Run
from shallows.runs.source import ScenarioLike, Source, source_of
from shallows.runs.toml_text import override_texts, toml_value

PROGRAM = "shallows-testbed"


def program() -> Path:
    """Return the path of the testbed's program: beside the Python executable, or on `PATH`.

    Raises
    ------
    ShallowsError
        If the program is in neither place.
    """
    beside = Path(sys.executable).parent / PROGRAM
    found = str(beside) if beside.is_file() else shutil.which(PROGRAM)
    if found is None:
        raise ShallowsError(
            f"the testbed's program {PROGRAM} is not installed",
            "build the program with `make testbed` in a checkout, on Linux",
        )
    return Path(found)


def measured_hash(experiment: _core.Experiment, dilation: int = 1) -> str:
    """Return the content hash of a testbed run, which differs from that of the experiment's simulation."""
    dilated = f" dilated {dilation}" if dilation > 1 else ""
    return hashlib.sha256(f"testbed {experiment.hash}{dilated}".encode()).hexdigest()


def measured_folder(experiment: _core.Experiment, parent: Path, dilation: int = 1) -> Path:
    """Return the default folder of a testbed run."""
    content_hash = measured_hash(experiment, dilation)
    return parent / run_name(f"{experiment.name}-testbed", content_hash, experiment.seed)


def unable() -> str | None:
    """Return the reason for which this machine cannot run the testbed; None if it can."""
    try:
        program()
    except ShallowsError as error:
        return f"{error.message}; {error.remedy}"
    return None if os.geteuid() == 0 else "the testbed needs root"


def measure(
    source: Source,
    experiment: _core.Experiment,
    destination: Path,
    on_progress: OnProgress | None = None,
    dilation: int = 1,
    lease: Lease | None = None,
    attempts: int | None = None,
) -> Run:
    """Run an experiment with real TCP and write its folder, which replaces an older folder.

    `dilation` is the factor by which network time is slowed; results are in network time. `lease` is the
    lease on the folder, if the caller holds one. With `attempts`, the scenario runs until a run is valid,
    at most that many times, and invalid runs are not kept. Without `attempts`, it runs once, and the run
    is always kept.

    Raises
    ------
    ScenarioError
        If the scenario needs something that Linux lacks.
    ShallowsError
        If this machine cannot carry the network, the folder cannot be written, or all attempts are invalid.
    DefectError
        If a thread of the testbed's program panicked.
    """
    environment = environment_of(source, experiment) | {
        "hash": measured_hash(experiment, dilation),
        "testbed": True,
        "dilation": dilation,
    }
    binary = program()

    def produce(folder: Path) -> dict[str, Any]:
        start = time.perf_counter()
        done = _carry(binary, source, folder, dilation, on_progress)
        for _ in range(1, attempts or 1):
            if done["summary"]["health"]["valid"]:
                break
            for capture in folder.glob("*.pcapng"):
                capture.unlink()
            done = _carry(binary, source, folder, dilation, on_progress)
        summary: dict[str, Any] = done["summary"]
        if attempts and not summary["health"]["valid"]:
            raise ShallowsError(
                f"invalid run: {'; '.join(summary['health']['complaints'])}",
                "repeat the measurement on a less busy machine; docs/testbed.md lists the checks",
            )
        wall = time.perf_counter() - start
        engine = summary["engine"]
        engine["wall_s"] = round(wall, 4)
        engine["packet_hops_per_s"] = round(engine["packet_hops"] / wall)
        engine["peak_rss_mb"] = round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, 1)
        summary["marking_curves"] = json.loads(experiment.marking_curves())
        summary["notes"] = experiment.notes() + [
            f"Linux does otherwise: {text}" for text in done["differences"]
        ]
        summary["observations"] = done["observations"]
        summary["warnings"] = experiment.warnings() + done["warnings"]
        complaints = summary["health"]["complaints"]
        summary["problems"] += [{"code": "invalid", "text": f"invalid: {text}"} for text in complaints]
        return summary

    return store(source, experiment, environment, destination, produce, lease)


def run_testbed(
    scenario: ScenarioLike,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    dilation: int = 1,
    *,
    force: bool = False,
    on_progress: OnProgress | None = None,
) -> Run:
    """Run a scenario with real TCP on this Linux machine, as `shallows testbed run` does.

    Parameters
    ----------
    scenario
        Path of the scenario file, or a `Scenario`.
    overrides
        Values that replace values of the file, by dotted key.
    seed
        Root of all random streams; the file's if not given.
    out
        Folder for the results; default: one under `runs/` named after scenario, hash and seed.
    dilation
        Factor by which network time is slowed.
    force
        Whether to replace an existing run.
    on_progress
        Function that receives the progress of the run.

    Returns
    -------
    Run
        The run; `summary["health"]["valid"]` is false if the machine did not keep up.

    Raises
    ------
    ScenarioError
        If the scenario needs something that Linux cannot do.
    ShallowsError
        If the machine cannot carry the network, or the folder exists or cannot be written.
    """
    source = source_of(scenario, override_texts(overrides), seed)
    experiment = source.parse()
    folder = new_folder(experiment, out, dilation, force=force)
    return measure(source, experiment, folder, on_progress, dilation)


def new_folder(
    experiment: _core.Experiment, out: str | Path | None, dilation: int = 1, *, force: bool = False
) -> Path:
    """Return the folder for a run with real TCP: `out`, or by default one under `runs/`.

    Raises
    ------
    ShallowsError
        If the folder exists and `force` is not given, or if it cannot be written.
    """
    folder = folder_of(out) if out is not None else measured_folder(experiment, Path("runs"), dilation)
    refuse_existing(folder, measured_hash(experiment, dilation), force=force)
    check_writable(folder.parent)
    return folder


def carried(source: Source, folder: Path) -> dict[str, Any]:
    """Run a trial that measures this machine, and return the trial's summary.

    A trial has no upper limit for the rates of links. Links may thus be faster than this machine can carry,
    so the results are not valid.

    Raises
    ------
    ShallowsError
        If this machine cannot carry the network.
    """
    summary: dict[str, Any] = _carry(program(), source, folder, 1, None, trial=True)["summary"]
    return summary


def captures_of(ports: Sequence[str] | None) -> tuple[tuple[str, str], ...]:
    """Return the override that captures only packets sent by these ports; empty without ports.

    >>> captures_of(["to-host"])
    (('measure.captures', '[{ports = ["to-host"]}]'),)
    """
    return (("measure.captures", toml_value([{"ports": list(ports)}])),) if ports else ()


def stand(
    source: Source, command: Sequence[str], page: int, dilation: int = 1, captures: Path | None = None
) -> dict[str, Any]:
    """Set up the network of a scenario while a command runs; an empty command starts a shell.

    Meanwhile the program writes the state of the network into the file with descriptor `page`, which
    `standing.read` parses. Captured packets are written into the folder `captures`, if it is given.

    Returns
    -------
    dict
        `code`: exit code of the command; `ports`: counters of each port; `health`; `differences`: where Linux
        differs from the scenario.

    Raises
    ------
    ScenarioError
        If the scenario needs something that Linux cannot do.
    ShallowsError
        If this machine cannot carry the network.
    """
    binary = program()
    kept = str(captures.resolve()) if captures else None
    request = json.dumps({"scenario": _asked(source, dilation), "command": list(command), "captures": kept})
    # The files are in memory, because a killed process would leave files on disk.
    with (
        os.fdopen(os.memfd_create("request"), "w+") as asked,
        os.fdopen(os.memfd_create("answer"), "w+") as answer,
    ):
        asked.write(request)
        asked.flush()
        files = (asked.fileno(), answer.fileno(), page)
        paths = [f"/proc/self/fd/{file}" for file in files]
        ended = subprocess.run([str(binary), "shell", *paths], pass_fds=files, check=False)
        answer.seek(0)
        text = answer.read()
    return _done(json.loads(text) if text else {}, source, f"{ended.returncode}, without a message")


def _asked(source: Source, dilation: int, trial: bool = False) -> dict[str, Any]:
    """Return the request to the testbed's program; with `trial`, links may be too fast for this machine."""
    return {
        "text": source.text,
        "file": source.file,
        "base": str(Path(source.file).resolve().parent),
        "overrides": source.overrides,
        "seed": source.seed,
        "dilation": dilation,
        "trial": trial,
    }


def _carry(
    binary: Path,
    source: Source,
    folder: Path,
    dilation: int,
    on_progress: OnProgress | None,
    trial: bool = False,
) -> dict[str, Any]:
    """Run a scenario in the testbed's program, which is killed when this function ends."""
    request = {"scenario": _asked(source, dilation, trial), "folder": str(folder.resolve())}
    said: dict[str, Any] = {}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [str(binary), "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            for line in _told(process, json.dumps(request)):
                said = json.loads(line)
                if "progress" in said and on_progress:
                    on_progress(said["progress"])
            process.wait()
        finally:
            process.kill()
        errors.seek(0)
        lines = errors.read().decode(errors="replace").splitlines()
    return _done(said, source, f"{process.returncode}{f': {lines[-1]}' if lines else ', without a message'}")


def _done(said: dict[str, Any], source: Source, end: str) -> dict[str, Any]:
    """Return the results in the program's final message; raise an error if it has none."""
    match said:
        case {"done": dict() as done}:
            return done
        case {"scenario": str() as message}:
            raise ScenarioError(message)
        case {"machine": str() as message}:
            raise ShallowsError(message, "`shallows testbed doctor` lists what this machine supports")
        case {"defect": text}:
            raise DefectError(
                f"{text or 'the testbed panicked'}\n  This is a defect of Shallows. Please report it with "
                "the scenario; the results of this run are lost."
            )
        case {"refused": list() as refusals}:
            keys = "\n".join(f"{source.file}: {each['key']}: {each['reason']}" for each in refusals)
            raise ScenarioError(f"{keys}\n  docs/testbed.md lists the keys that real hosts support")
    raise ShallowsError(f"{PROGRAM} exited with code {end}", "the results of this run are lost")


def _told(process: "subprocess.Popen[str]", request: str) -> Iterator[str]:
    """Write a request to the program's standard input, and yield its output line by line."""
    if process.stdin and process.stdout:
        with process.stdin as pipe:
            pipe.write(request)
        yield from process.stdout
