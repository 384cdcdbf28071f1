"""One run: from scenario text to a finished folder."""

import json
import platform
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from datetime import time as time_of_day
from pathlib import Path, PurePath
from typing import Any

from shallows import _core
from shallows.about import build
from shallows.bounded import MOST_DIGITS, folder_of, read_text
from shallows.errors import ClaimLostError, DefectError, ShallowsError
from shallows.runs.claims import Claim
from shallows.runs.folder import RunFolder, failure, run_name
from shallows.runs.manifest import FORMAT, holds, is_run_of, write_manifest
from shallows.runs.memory import forget_peak, need_of, peak_memory_mb, refuse_growth, refuse_too_large
from shallows.runs.results import Run
from shallows.runs.threads import threads_of

STEP_MS = 100
"""Wall time between two looks at the progress, and so the longest wait for Ctrl-C."""

OnProgress = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Source:
    """A scenario as its file gives it, and what was asked to be different."""

    file: str
    text: str
    overrides: tuple[tuple[str, str], ...] = ()
    seed: int | None = None
    labels: dict[str, Any] = field(default_factory=dict)
    """What distinguishes this run within a sweep: its scheme and its place on each axis."""
    dilation: int | None = None
    """With real TCP, its time dilated so many times; nothing for a simulation."""

    @classmethod
    def read(
        cls, path: str | Path, overrides: tuple[tuple[str, str], ...] = (), seed: int | None = None
    ) -> "Source":
        """Read a scenario file."""
        if not isinstance(path, str | Path):
            raise ShallowsError(
                f"a scenario is read from a file, and {_called(path)} is no path",
                "name its file; `Scenario.from_dict` takes a dictionary, and a `Scenario` has its own `run`",
            )
        remedy = "name a scenario file, TOML in UTF-8, or try `shallows demo` first"
        return cls(str(path), read_text(path, remedy=remedy), overrides, seed)

    def parse(self, base: Path | None = None) -> _core.Experiment:
        """Parse and check it; files that it names are looked for in `base`, by default its own folder."""
        base = base or Path(self.file).resolve().parent
        return _core.parse(self.text, self.file, str(base), list(self.overrides), self.seed)


MOST_LEVELS = 32
"""Lists and tables inside one another that a scenario may have."""


def toml_value(value: object, levels: int = MOST_LEVELS) -> str:
    """A Python value as the text of a TOML value; numbers of NumPy, arrays and paths too.

    >>> toml_value({"kind": "dctcp", "g": 0.0625, "on": [True, 3]})
    '{kind = "dctcp", g = 0.0625, on = [true, 3]}'

    Raises
    ------
    ShallowsError
        If no scenario has such a value.
    """
    if not levels:
        raise ShallowsError(
            f"a value is nested more than {MOST_LEVELS} levels deep, or contains itself",
            "write lists and dictionaries as a scenario's file has them",
        )
    match value:
        case bool():
            return "true" if value else "false"
        case int() if abs(value) >= 10**MOST_DIGITS:
            raise ShallowsError(
                f"a whole number of more than {MOST_DIGITS} digits means nothing", "name a smaller one"
            )
        case int() | float():
            return (int if isinstance(value, int) else float).__repr__(value)  # NumPy's names their type
        case str() | PurePath():
            return _quote(str(value))
        case list() | tuple():
            return f"[{', '.join(toml_value(item, levels - 1) for item in value)}]"
        case Mapping():
            items = (f"{_key(key)} = {toml_value(item, levels - 1)}" for key, item in value.items())
            return "{" + ", ".join(items) + "}"
        case date() | time_of_day():
            return str(value)  # no scenario has them, and the engine says so
    if callable(plain := getattr(value, "tolist", None)):
        return toml_value(plain(), levels - 1)
    raise ShallowsError(
        f"{_called(value)} is no value of a scenario",
        "these are text, numbers, true or false, lists and dictionaries; leave out a key to get its default",
    )


def toml_document(document: Mapping[str, object]) -> str:
    """A whole scenario as the text of its file: a line for each value, a header for each table.

    >>> print(toml_document({"workload": [{"kind": "poisson"}], "seed": 1, "tcp": {"congestion": "reno"}}))
    seed = 1
    <BLANKLINE>
    [[workload]]
    kind = "poisson"
    <BLANKLINE>
    [tcp]
    congestion = "reno"
    """
    lines, tables = [], []
    for key, value in document.items():
        name = _key(key)
        if isinstance(value, Mapping):
            tables.append([f"[{name}]", *_lines(value)])
        elif isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
            tables += [[f"[[{name}]]", *_lines(item)] for item in value]
        else:
            lines.append(f"{name} = {toml_value(value)}")
    return "\n\n".join("\n".join(part) for part in (lines, *tables) if part)


def _lines(table: Mapping[str, object]) -> list[str]:
    return [f"{_key(key)} = {toml_value(value)}" for key, value in table.items()]


def override_texts(overrides: Mapping[str, object] | None) -> tuple[tuple[str, str], ...]:
    """Overrides by dotted key as `--set` gives them.

    >>> override_texts({"workload.0.load": 0.6})
    (('workload.0.load', '0.6'),)
    """
    if overrides is None:
        return ()
    if not isinstance(overrides, Mapping):
        raise ShallowsError(
            f"overrides are {_called(overrides)}, and not values by dotted key",
            'write them as {"workload.0.load": 0.6}',
        )
    return tuple((_text_key(key), toml_value(value)) for key, value in overrides.items())


def _text_key(key: object) -> str:
    if not isinstance(key, str):
        raise ShallowsError(f"{_called(key)} is no key", "keys are text, such as 'workload.0.load'")
    return key


def _key(key: object) -> str:
    text = _text_key(key)
    plain = text.replace("_", "").replace("-", "")
    return text if plain.isascii() and plain.isalnum() else _quote(text)


def _quote(text: str) -> str:
    """A string of TOML: as one of JSON, but that neither DEL nor half of a pair may be in it."""
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise ShallowsError(f"{text!a} is no text: half of a character is in it", "name it without that")
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _called(value: object) -> str:
    """A value of the wrong type, in a message.

    >>> _called(None), _called(b"x"), _called({1})
    ('None', "b'x' (bytes)", '{1} (set)')
    """
    text = repr(value)
    return text if value is None else f"{text[:60]}{'…' * (len(text) > 60)} ({type(value).__name__})"


def default_folder(experiment: _core.Experiment, parent: Path) -> Path:
    """Where the run of this experiment belongs, unless the user names a place."""
    return parent / run_name(experiment.name, experiment.hash, experiment.seed)


def is_reusable(folder: Path, content_hash: str, *, verify: bool = False) -> bool:
    """Whether this folder already holds what the run of this hash would give.

    `verify` compares its files' hashes.

    A build with local changes reuses nothing: only a commit says what made the results.
    """
    return not build()["dirty"] and holds(folder, content_hash, verify=verify)


def execute(
    source: Source,
    experiment: _core.Experiment,
    destination: Path,
    on_progress: OnProgress | None = None,
    claim: Claim | None = None,
    threads: int = 1,
) -> Run:
    """Run an experiment on up to so many threads and write its folder, which replaces an older one.

    `claim` is the right to do that, if there is one already.

    Raises
    ------
    ShallowsError
        If it cannot be written, or the machine has not the memory that the run needs.
    """
    refuse_too_large([need_of(experiment)])
    environment = environment_of(source, experiment)
    return store(
        source,
        experiment,
        environment,
        destination,
        lambda path: _simulate(experiment, path, on_progress, threads),
        claim,
    )


def store(
    source: Source,
    experiment: _core.Experiment,
    environment: dict[str, Any],
    destination: Path,
    produce: Callable[[Path], dict[str, Any]],
    claim: Claim | None = None,
) -> Run:
    """Have the results of an experiment produced, and write its folder, as `execute` does.

    `produce` writes tables into the folder that it is given, and returns the summary; `environment` says what
    made them.
    """
    with RunFolder(destination, claim) as folder:
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
                    f"{destination} could not be written: another process has taken it over, or removed it",
                    "nothing of this run is kept; the same command runs it again",
                ) from None
            raise failure(
                f"{destination} could not be written",
                error,
                "nothing of this run is kept; free some space or name another place with --out",
            ) from None
    return Run(destination)


def _simulate(
    experiment: _core.Experiment, folder: Path, on_progress: OnProgress | None, threads: int
) -> dict[str, Any]:
    forget_peak()
    start = time.perf_counter()
    try:
        simulation = experiment.simulate(folder, threads)
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
    summary["notes"] = experiment.notes()
    summary["observations"] = results.observations()
    summary["warnings"] = experiment.warnings() + results.warnings()
    for name in results.tables():
        results.write_table(name, str(folder / f"{name}.parquet"))
    return summary


def environment_of(source: Source, experiment: _core.Experiment) -> dict[str, Any]:
    """What makes the results of an experiment: `env.json`."""
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


def run(
    scenario: str | Path,
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
        Path of the scenario file.
    overrides
        Values that differ from the file's, by dotted key, as `--set` gives them.
    seed
        Root of all random streams; the file's if not given.
    out
        Folder for the results. By default, one under `runs/` that is named after scenario, content hash and
        seed. If it already holds this very run, its results are returned.
    threads
        On how many threads, at most; `"auto"` is one per core. Results are the same on any number.
    cached
        Whether a stored run is returned instead of a new one. `False` simulates again, as measures of speed
        need it.

    Returns
    -------
    Run
        Summary, tables and path of the finished run.

    Raises
    ------
    ScenarioError
        If the scenario cannot run.
    ShallowsError
        If its file cannot be read or its results cannot be written.

    Examples
    --------
    >>> import shallows as sh
    >>> unmarked = sh.run(sh.example("incast"), overrides={"switch.markers": []}, out=folder / "droptail")
    >>> unmarked.summary["packets"]["marked"]
    0
    """
    return run_source(
        Source.read(scenario, override_texts(overrides), seed), out, threads=threads, cached=cached
    )


def run_source(
    source: Source,
    out: str | Path | None,
    base: Path | None = None,
    threads: int | str = "auto",
    *,
    cached: bool = True,
) -> Run:
    """Run it, unless it is `cached`: its folder holds this very run. `base` is that of `Source.load`."""
    most = threads_of(threads)
    if not isinstance(out, str | Path | None):
        raise ShallowsError(f"out is {_called(out)}, and no path", "name the folder for the results")
    experiment = source.parse(base)
    folder = folder_of(out) if out is not None else default_folder(experiment, Path("runs"))
    if cached and is_reusable(folder, experiment.hash):
        return Run(folder)
    if folder.exists() and not is_run_of(folder, experiment.hash):
        raise ShallowsError(
            f"{folder} exists and holds something else", "name another folder, or remove this one"
        )
    return execute(source, experiment, folder, threads=most)


def example(name: str) -> Path:
    """Path of a scenario that comes with the package.

    >>> example("incast").name
    'incast.toml'
    """
    folder = Path(__file__).parents[1] / "scenarios"
    path = folder / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(other.stem for other in folder.glob("*.toml")))
        raise ShallowsError(f"there is no example {name!r}", f"the examples are: {known}")
    return path
