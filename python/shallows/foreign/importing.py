"""Functions that import files of other simulators as scenarios, and export scenarios and runs to HPCC."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shallows.errors import ShallowsError
from shallows.foreign import export, hpcc, htsim
from shallows.foreign.hpcc_config import Arguments
from shallows.foreign.ignoring import Ignored
from shallows.foreign.writing import Imported, write
from shallows.runs.results import Run
from shallows.runs.source import ScenarioLike


@dataclass(frozen=True)
class Written:
    """An imported scenario."""

    path: Path
    """The scenario file."""
    files: tuple[Path, ...]
    """All written files: the list of flows, if there is one, and the scenario."""
    notes: tuple[str, ...]
    """Differences from the other simulator's model."""


def import_hpcc(
    source: str | Path,
    out: str | Path,
    *,
    root: str | Path | None = None,
    topology: str | Path | None = None,
    flow: str | Path | None = None,
    control: str | None = None,
    ignored: Sequence[str] = (),
    unmodelled: bool = False,
    force: bool = False,
) -> Written:
    """Import HPCC's `config.txt`, with its topology and flows, as a scenario.

    Parameters
    ----------
    source
        The configuration file, or its folder.
    out
        The scenario file to write, which ends in `.toml`.
    root
        Folder that paths in the configuration are relative to; default: its own folder or the one above.
    topology, flow
        Files to read instead of those in `TOPOLOGY_FILE` and `FLOW_FILE`.
    control
        Congestion control instead of that of `CC_MODE`: `dcqcn`, `hpcc`, `hpcc-pint`, `timely`, `dctcp`,
        `powertcp` or `theta-powertcp`.
    ignored
        Keys to leave out. Without this option, a key that scenarios have no counterpart for is an error.
    unmodelled
        Whether to leave out everything that scenarios have no counterpart for.
    force
        Whether to replace existing files.

    Raises
    ------
    ShallowsError
        With file and line, if an entry is malformed or has no counterpart.
    """
    paths = (Path(path) if path else None for path in (root, topology, flow))
    made = hpcc.import_hpcc(Path(source), _ignored(ignored, unmodelled), Arguments(control, *paths))
    return _written(made, out, force)


def import_htsim(
    source: str | Path,
    out: str | Path,
    *,
    topology: str | Path | None = None,
    start_unit: str | None = None,
    ignored: Sequence[str] = (),
    unmodelled: bool = False,
    force: bool = False,
) -> Written:
    """Import htsim's connection matrix as a scenario.

    Parameters
    ----------
    source
        The connection matrix.
    out
        The scenario file to write, which ends in `.toml`.
    topology
        The `.topo` file; default: a single switch.
    start_unit
        Unit of start times, `ps` or `us`.
    ignored, unmodelled, force
        As for `import_hpcc`.

    Raises
    ------
    ShallowsError
        With file and line, if an entry is malformed or has no counterpart.
    """
    network = Path(topology) if topology else None
    made = htsim.import_htsim(Path(source), network, _ignored(ignored, unmodelled), start_unit)
    return _written(made, out, force)


def export_hpcc(
    source: ScenarioLike | Run,
    *,
    fct: str | Path | None = None,
    pfc: str | Path | None = None,
    flow: str | Path | None = None,
    topology: str | Path | None = None,
    force: bool = False,
) -> list[Path]:
    """Write HPCC's `fct.txt`, `pfc.txt`, `flow.txt` or `topology.txt` from a run or a scenario.

    Parameters
    ----------
    source
        A run or its folder, or a scenario or its file.
    fct, pfc, flow, topology
        Files to write; at least one.
    force
        Whether to replace existing files.

    Returns
    -------
    list of Path
        The written files.

    Raises
    ------
    ShallowsError
        If no file is named, the source lacks the data, or a file cannot be written.
    """
    wanted = {"fct": fct, "pfc": pfc, "flow": flow, "topology": topology}
    if not any(wanted.values()):
        raise ShallowsError(
            "no output file was named", "name a file with -o (fct.txt), --pfc, --flow or --topology"
        )
    texts = {Path(path): export.hpcc(source, what) for what, path in wanted.items() if path}
    return export.write(texts, force=force)


def _ignored(keys: Sequence[str], unmodelled: object) -> Ignored:
    return Ignored(keys, unmodelled=bool(unmodelled))


def _written(imported: Imported, out: str | Path, force: object) -> Written:
    files = write(imported, Path(out), force=bool(force))
    return Written(files[-1], tuple(files), tuple(imported.notes))
