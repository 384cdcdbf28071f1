"""Advises on a fabric: reads its inputs, simulates candidate settings, and writes the answer."""

import json
import math
import time
from dataclasses import replace
from pathlib import Path

from shallows.advisor import readers, writers
from shallows.advisor.advice_page import write_advice
from shallows.advisor.answer import Answer, OnVariation, answer
from shallows.advisor.carried import carry
from shallows.advisor.configuration import Switch
from shallows.advisor.configured import Configured, configured
from shallows.advisor.fabric import Fabric
from shallows.advisor.goals import refuse_pauses
from shallows.advisor.race import OnRound
from shallows.advisor.today import today_of
from shallows.advisor.writers import sonic
from shallows.bounded import folder_of
from shallows.errors import ShallowsError
from shallows.runs.folder import check_writable, write_whole
from shallows.sweeps.sweeps import Engine, choose_engine

DOCUMENT = "advice.json"

BUDGET_S = 600.0
"""Default wall time of the simulations, in seconds."""


def advise(
    fabric: str | Path | Fabric,
    config: str | Path | None = None,
    to: str | None = None,
    *,
    out: str | Path | None = None,
    budget_s: float = BUDGET_S,
    jobs: int | None = None,
    rules_only: bool = False,
) -> Answer:
    """Recommend settings for a fabric's switches, by rules and by simulation of candidate settings.

    Parameters
    ----------
    fabric
        The fabric, or the path of its file.
    config
        The switch's current configuration: a file, or a folder of files, as `shallows explain` reads it.
    to
        Format of the written change: `sonic`, `eos`, `avd`, `nvue`, `nxos`, `junos` or `tc`.
    out
        Folder of the runs and the answer; default: `runs/advice-NAME`. Finished runs are not repeated.
    budget_s
        Wall time of the simulations, in seconds. A round that has started is completed.
    jobs
        Number of simultaneous runs; default: one per core.
    rules_only
        Whether to stop after the rules and simulate nothing; files are written only if `out` is given.

    Returns
    -------
    Answer
        Rules, race, recommendation and sensitivity analysis; `headline` is the answer in one sentence, and
        `written` lists the files.

    Raises
    ------
    ShallowsError
        If `budget_s` or `jobs` is not above 0, a file cannot be read or written, or a setting cannot be
        simulated.
    """
    if not 0 < budget_s < math.inf:
        raise ShallowsError(
            f"budget_s must be above 0, got {budget_s}", "pass a number of seconds such as 600"
        )
    engine = choose_engine("local", jobs)
    found = prepare(fabric, config, to)
    if rules_only:
        write_rules(found, out)
        return found
    folder = folder_for(found, out)
    simulate(found, folder, engine, budget_s)
    write(found, folder)
    return found


def prepare(fabric: str | Path | Fabric, config: str | Path | None = None, to: str | None = None) -> Answer:
    """Return an answer with rules and the current configuration, before any simulation.

    Raises
    ------
    ShallowsError
        If a file cannot be read, or the format is unknown.
    """
    found = Answer(fabric if isinstance(fabric, Fabric) else Fabric.load(fabric), config=config)
    if to is not None:
        writers.writer(to)
        found.to = to
    if config is not None:
        found.switch = readers.read(config)
        found.fabric, notes = carry(found.switch, found.fabric)
        found.today, more = today_of(found.switch, found.fabric)
        found.notes = [*notes, *more]
    lossless = [found.fabric.classes[place].name for place in found.fabric.lossless]
    refuse_pauses(found.fabric.goals, lossless)
    return found


def folder_for(found: Answer, out: str | Path | None) -> Path:
    """Return the folder of an answer and its runs.

    Raises
    ------
    ShallowsError
        If the folder cannot be written.
    """
    folder = folder_of(out) if out is not None else Path("runs") / f"advice-{found.fabric.name}"
    check_writable(folder)
    return folder


def simulate(
    found: Answer,
    folder: Path,
    engine: Engine,
    budget_s: float,
    on_round: OnRound = lambda *_: None,
    on_variation: OnVariation = lambda *_: None,
) -> None:
    """Simulate candidate settings, recommend one, and store the results in `found` (see `answer.answer`).

    Raises
    ------
    ShallowsError
        If a setting cannot be simulated, or a file cannot be written.
    """
    answer(found, folder, engine, budget_s, time.monotonic, on_round, on_variation)
    made = found.configured
    if made and found.switch and found.config is not None:
        said = unfit(made, found.switch, found.config)
        found.configured = replace(made, left_out=(*made.left_out, *([said] if said else [])))


def write_rules(found: Answer, out: str | Path | None) -> None:
    """Write the rules and the configuration change that they recommend into `out`; None writes nothing.

    Raises
    ------
    ShallowsError
        If a file cannot be written.
    """
    if out is None:
        return
    if found.to is not None:
        found.configured = configured(found.to, found.switch, found.fabric, found.chosen)
    write(found, folder_for(found, out))


def write(found: Answer, folder: Path) -> None:
    """Write the answer as JSON and HTML, and the change with its rollback.

    Raises
    ------
    ShallowsError
        If a file cannot be written.
    """
    document = json.dumps(found.document(), ensure_ascii=False, indent=2)
    found.written["document"] = write_whole(folder / DOCUMENT, document + "\n")
    found.written["page"] = write_advice(found, folder)
    if made := found.configured:
        for name, text in (("change", made.change), ("rollback", made.rollback)):
            found.written[name] = write_whole(folder / f"{name}.{made.format}", text)


def unfit(made: Configured, switch: Switch, config: str | Path) -> str | None:
    """Return the reason why a change cannot be applied to the configuration file; None if it can."""
    if made.format != switch.format and {made.format, switch.format} != {"avd", "eos"}:
        return f"the configuration is {switch.format}'s: the change is to its translation, on no switch yet"
    if made.format != "sonic":
        return None
    place = sonic.unfit(made.change, [text for _, text in readers.texts(config)])
    return place and (
        f"the file has no {place}: its keys name several ports or other queues, and `config apply-patch` "
        "will refuse the change; give each queue of each port a row of its own first"
    )
