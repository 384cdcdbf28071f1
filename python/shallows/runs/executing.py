"""Execution of an experiment, and writing of its folder."""

import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shallows import _core
from shallows.about import build
from shallows.errors import ClaimLostError, DefectError
from shallows.runs.folder import RunFolder, failure, run_name
from shallows.runs.formats import FORMAT
from shallows.runs.leases import Lease
from shallows.runs.manifest import holds, write_manifest
from shallows.runs.memory import forget_peak, need_of, peak_memory_mb, refuse_growth, refuse_too_large
from shallows.runs.results import Run
from shallows.runs.source import Source
from shallows.runs.threads import Threads

STEP_MS = 100
"""Wall time between two progress reports, in ms; also the usual delay of Ctrl-C."""

ONE_THREAD = Threads(1)

OnProgress = Callable[[dict[str, Any]], None]


def default_folder(experiment: _core.Experiment, parent: Path) -> Path:
    """Return the default folder of an experiment's run."""
    return parent / run_name(experiment.name, experiment.hash, experiment.seed)


def is_reusable(folder: Path, content_hash: str, *, verify: bool = False) -> bool:
    """Return whether this folder already holds the run with this content hash.

    `verify` also compares the hashes of the run's files. The result is always false in a build with local
    changes, because no commit identifies the code of such a build.
    """
    return not build()["dirty"] and holds(folder, content_hash, verify=verify)


def execute(
    source: Source,
    experiment: _core.Experiment,
    destination: Path,
    on_progress: OnProgress | None = None,
    lease: Lease | None = None,
    threads: Threads = ONE_THREAD,
) -> Run:
    """Run an experiment on these threads and write its folder; an older folder is replaced.

    `lease` is the lease on the folder, if the caller holds one.

    Raises
    ------
    ShallowsError
        If the folder cannot be written, or the run needs more memory than the machine has.
    """
    refuse_too_large([need_of(experiment)])
    environment = environment_of(source, experiment)
    return store(
        source,
        experiment,
        environment,
        destination,
        lambda path: _simulate(experiment, path, on_progress, threads),
        lease,
    )


def store(
    source: Source,
    experiment: _core.Experiment,
    environment: dict[str, Any],
    destination: Path,
    produce: Callable[[Path], dict[str, Any]],
    lease: Lease | None = None,
) -> Run:
    """Write the folder of an experiment from the results of `produce`.

    `produce` receives the folder, writes the tables into it and returns the summary. `environment` is the
    origin of the results, for `env.json`.
    """
    with RunFolder(destination, lease) as folder:
        path = folder.path
        try:
            summary = produce(path)
            (path / "scenario.toml").write_text(source.text, encoding="utf-8")
            (path / "resolved.json").write_text(experiment.resolved() + "\n", encoding="utf-8")
            _write(path / "env.json", environment)
            _write(path / "summary.json", summary)
            write_manifest(path, environment["hash"])
            folder.commit()
        except OSError as error:
            if folder.is_lost():
                raise ClaimLostError(
                    f"{destination} could not be written: another process has taken it over or removed it",
                    "the results of this run are lost; repeat the command",
                ) from None
            raise failure(
                f"{destination} could not be written",
                error,
                "the results of this run are lost; free some space, or name another folder with --out",
            ) from None
    return Run(destination)


def _simulate(
    experiment: _core.Experiment, folder: Path, on_progress: OnProgress | None, threads: Threads
) -> dict[str, Any]:
    forget_peak()
    start = time.perf_counter()
    try:
        simulation = experiment.simulate(folder, threads.most, threads.adapts)
        while True:
            progress = json.loads(simulation.advance(STEP_MS))
            if on_progress:
                on_progress(progress)
            if progress["done"]:
                break
            refuse_growth(simulation, progress["simulated_s"])
        results = simulation.finish()
        wall = time.perf_counter() - start
        summary: dict[str, Any] = json.loads(results.summary())
    except DefectError as error:
        raise DefectError(
            f"{error}\n  This is a defect of Shallows. Please report it with the scenario, "
            f"seed {experiment.seed} and version {build()['version']} ({build()['source_hash'][:12]})."
        ) from None
    engine = summary["engine"]
    engine["wall_s"] = round(wall, 4)
    engine["packet_hops_per_s"] = round(engine["packet_hops"] / wall)
    engine["peak_rss_mb"] = round(peak_memory_mb(), 1)
    summary["marking_curves"] = json.loads(experiment.marking_curves())
    if headrooms := json.loads(experiment.headrooms()):
        summary["headroom"] = headrooms
        summary["pause_thresholds"] = json.loads(experiment.pause_thresholds())
    summary["notes"] = experiment.notes()
    summary["observations"] = results.observations()
    summary["warnings"] = experiment.warnings() + results.warnings()
    for name in results.tables():
        results.write_table(name, str(folder / f"{name}.parquet"))
    return summary


def environment_of(source: Source, experiment: _core.Experiment) -> dict[str, Any]:
    """Return the origin of an experiment's results: `env.json`."""
    return {
        "format": FORMAT,
        "hash": experiment.hash,
        "seed": experiment.seed,
        "file": source.file,
        "overrides": [f"{key}={value}" for key, value in source.overrides],
        "labels": source.labels,
        **build(),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
