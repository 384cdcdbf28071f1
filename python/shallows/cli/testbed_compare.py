"""`shallows testbed compare`: a scenario simulated and with real TCP, and how far the two are apart."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from shallows import figures
from shallows.about import build
from shallows.cli.codes import OK
from shallows.cli.console import RunStatus, console, print_notes, print_table
from shallows.comparison import agreement
from shallows.figures import overlaid
from shallows.runs.executing import OnProgress, execute
from shallows.runs.folder import check_writable, write_whole
from shallows.runs.manifest import holds
from shallows.runs.measuring import measure, measured_hash
from shallows.runs.results import Run
from shallows.runs.source import Source

if TYPE_CHECKING:
    from rich.console import Console

    from shallows._core import Experiment


def run(options: argparse.Namespace) -> int:
    """`shallows testbed compare`."""
    first = Source.read(options.scenario, tuple(options.overrides), options.seed).parse()
    folder = Path(options.out) if options.out is not None else Path("runs") / f"{first.name}-testbed-compare"
    check_writable(folder)
    screen = console(stderr=options.json)
    screen.print(
        Text.assemble((first.name, "bold"), f" simulated and on real TCP, {options.repeats} times each")
    )
    simulated, real = [], []
    for seed in range(first.seed, first.seed + options.repeats):
        source = Source.read(options.scenario, tuple(options.overrides), seed)
        simulated.append(_simulated(source, folder / f"simulated-s{seed}", options, screen))
        real.append(_measured(source, folder / f"real-s{seed}", options, screen))
    notes = [f"invalid run: {text}" for text in agreement.invalid(real)]
    if not options.invalid:
        agreement.reject_invalid(real)
    found = agreement.agreements(simulated, real)
    document = agreement.document(found, len(real), notes)
    text = json.dumps(document, ensure_ascii=False, indent=None if options.json else 2)
    shown = agreement.table(found, len(real))
    if options.json:
        print(text)
    else:
        print_table(shown, screen)
        screen.print()
    # What Linux does otherwise is the same in each of them.
    differences = [note for note in real[0].summary["notes"] if note.startswith("Linux does otherwise")]
    print_notes([*notes, *differences], screen)
    paths = [
        write_whole(folder / "agreement.json", text + "\n"),
        write_whole(folder / "agreement.md", agreement.markdown(shown)),
    ]
    if any(each.metric == "queue.mean" for each in found):
        paths += figures.save(overlaid.queues(simulated, real), folder / "queue")
    for path in paths:
        screen.print(str(path), soft_wrap=True)
    return OK


def _simulated(source: Source, folder: Path, options: argparse.Namespace, screen: "Console") -> Run:
    experiment = source.parse()

    def produce(progress: OnProgress) -> Run:
        return execute(source, experiment, folder, progress)

    return _kept_or(folder, experiment.hash, options, screen) or _produced(experiment, "simulated", produce)


def _measured(source: Source, folder: Path, options: argparse.Namespace, screen: "Console") -> Run:
    """Return the run that exists already, unless it is invalid."""
    experiment = source.parse()

    def produce(progress: OnProgress) -> Run:
        return measure(source, experiment, folder, progress, options.dilate)

    kept = _kept_or(folder, measured_hash(experiment, options.dilate), options, screen)
    if kept and (options.invalid or not agreement.invalid([kept])):
        return kept
    return _produced(experiment, "on real TCP", produce)


def _kept_or(folder: Path, content_hash: str, options: argparse.Namespace, screen: "Console") -> Run | None:
    """The run that this folder holds, unless it is to be done again, as by a build with local changes."""
    if options.force or build()["dirty"] or not holds(folder, content_hash):
        return None
    screen.print(f"{folder} is there", soft_wrap=True)
    return Run(folder)


def _produced(experiment: "Experiment", how: str, produce: Callable[[OnProgress], Run]) -> Run:
    with RunStatus(f"{experiment.name} {how}, seed {experiment.seed}") as status:
        return produce(status.update)
