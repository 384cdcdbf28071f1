"""Running a scenario file from Python: `shallows.run`, and the example scenarios of the package."""

from collections.abc import Mapping
from pathlib import Path

from shallows import examples
from shallows.bounded import folder_of, is_file
from shallows.errors import ShallowsError
from shallows.runs.executing import default_folder, execute, is_reusable
from shallows.runs.manifest import is_run_of
from shallows.runs.results import Run
from shallows.runs.source import ScenarioLike, Source, source_of
from shallows.runs.threads import threads_of
from shallows.runs.toml_text import called, override_texts


def run(
    scenario: ScenarioLike,
    overrides: Mapping[str, object] | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    threads: int | str = "auto",
    *,
    cached: bool = True,
) -> Run:
    """Run a scenario and return its results.

    Parameters
    ----------
    scenario
        Path of the scenario file, or a `Scenario`.
    overrides
        Values that replace those of the file, by dotted key, like `--set`.
    seed
        Root of all random streams; the file's if not given.
    out
        Folder for the results. By default, a folder under `runs/` named after scenario, content hash and
        seed. If the folder already holds this run, its stored results are returned.
    threads
        Number of threads. `"auto"` uses up to one per core, as many as are free and make it faster.
        Results do not depend on the number.
    cached
        Whether stored results may be returned. `False` always simulates, for measurements of speed.

    Returns
    -------
    Run
        The finished run, with its summary, tables and path.

    Raises
    ------
    ScenarioError
        If the scenario cannot run.
    ShallowsError
        If the scenario file cannot be read or the results cannot be written.

    Examples
    --------
    >>> import shallows as sh
    >>> unmarked = sh.run(sh.example("incast"), overrides={"switch.markers": []}, out=folder / "droptail")
    >>> unmarked.summary["packets"]["marked"]
    0
    """
    return run_source(
        source_of(scenario, override_texts(overrides), seed), out, threads=threads, cached=cached
    )


def run_source(
    source: Source,
    out: str | Path | None,
    threads: int | str = "auto",
    *,
    cached: bool = True,
) -> Run:
    """Run the scenario of a `Source`; with `cached`, return the stored run if the folder already holds it."""
    asked = threads_of(threads)
    if not isinstance(out, str | Path | None):
        raise ShallowsError(
            f"out must be a string or a Path, got {called(out)}", "pass the folder for the results"
        )
    experiment = source.parse()
    folder = folder_of(out) if out is not None else default_folder(experiment, Path("runs"))
    if cached and is_reusable(folder, experiment.hash):
        return Run(folder)
    if folder.exists() and not is_run_of(folder, experiment.hash):
        raise ShallowsError(
            f"{folder} exists, but contains no run of this scenario",
            "name another folder, or remove this folder",
        )
    return execute(source, experiment, folder, threads=asked)


def example(name: str) -> Path:
    """Return the path of an example scenario by its name in `shallows examples`.

    `incast` is the scenario of `shallows demo`.

    >>> example("incast").name, example("gallery/load").name
    ('incast.toml', 'load.toml')
    """
    path = Path(__file__).parents[1] / "scenarios" / f"{name}.toml"
    return path if "/" not in name and is_file(path) else examples.find(name).path
