"""One run with real TCP: the program that carries it, and what it leaves in the folder."""

import hashlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shallows import _core
from shallows.errors import ScenarioError, ShallowsError
from shallows.runs.folder import run_name
from shallows.runs.results import Run
from shallows.runs.running import OnProgress, Source, environment_of, store

PROGRAM = "shallows-testbed"


def program() -> Path:
    """Where the testbed's program is: beside Python, or on the path.

    Raises
    ------
    ShallowsError
        If it is not there.
    """
    beside = Path(sys.executable).parent / PROGRAM
    found = str(beside) if beside.is_file() else shutil.which(PROGRAM)
    if found is None:
        raise ShallowsError(
            f"the testbed's program, {PROGRAM}, is not there",
            "build it with `make testbed` in a checkout, on Linux",
        )
    return Path(found)


def measured_hash(experiment: _core.Experiment) -> str:
    """The hash of a run with real TCP, which is never that of a simulation of the same experiment."""
    return hashlib.sha256(f"testbed {experiment.hash}".encode()).hexdigest()


def measured_folder(experiment: _core.Experiment, parent: Path) -> Path:
    """Where it belongs, unless the user names a place."""
    return parent / run_name(f"{experiment.name}-testbed", measured_hash(experiment), experiment.seed)


def measure(
    source: Source,
    experiment: _core.Experiment,
    destination: Path,
    on_progress: OnProgress | None = None,
) -> Run:
    """Run an experiment with real TCP and write its folder, which replaces an older one.

    Raises
    ------
    ScenarioError
        If it asks for what Linux cannot do.
    ShallowsError
        If this machine cannot carry it, or the folder cannot be written.
    """
    environment = environment_of(source, experiment) | {"hash": measured_hash(experiment), "testbed": True}
    binary = program()

    def produce(folder: Path) -> dict[str, Any]:
        start = time.perf_counter()
        done = _carry(binary, source, folder, on_progress)
        summary: dict[str, Any] = done["summary"]
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

    return store(source, experiment, environment, destination, produce)


def _carry(binary: Path, source: Source, folder: Path, on_progress: OnProgress | None) -> dict[str, Any]:
    """Have the program run a scenario. It dies with us, and leaves nothing behind."""
    request = {
        "text": source.text,
        "file": source.file,
        "base": str(Path(source.file).resolve().parent),
        "overrides": source.overrides,
        "seed": source.seed,
        "folder": str(folder.resolve()),
    }
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
    match said:
        case {"done": dict() as done}:
            return done
        case {"scenario": str() as message}:
            raise ScenarioError(message)
        case {"machine": str() as message}:
            raise ShallowsError(message, "`shallows testbed doctor` says what this machine can do")
        case {"refused": list() as refusals}:
            keys = "\n".join(f"{source.file}: {each['key']}: {each['reason']}" for each in refusals)
            raise ScenarioError(f"{keys}\n  real hosts cannot do that; docs/testbed.md says what they can")
    last = lines[-1] if lines else "it said nothing"
    raise ShallowsError(
        f"{binary.name} ended with code {process.returncode}: {last}", "nothing of this run is kept"
    )


def _told(process: "subprocess.Popen[str]", request: str) -> Iterator[str]:
    """Hand a program its request; what it says, line by line."""
    if process.stdin and process.stdout:
        with process.stdin as pipe:
            pipe.write(request)
        yield from process.stdout
