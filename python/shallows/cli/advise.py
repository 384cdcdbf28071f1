"""Command `shallows advise`."""

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from shallows.advisor import advising
from shallows.advisor.advice_tables import (
    classes,
    configuration,
    decisions,
    dropped,
    numbers,
    reasons,
    robust,
)
from shallows.advisor.answer import Answer
from shallows.advisor.race import Progress
from shallows.advisor.robustness import Variation
from shallows.cli.codes import OK
from shallows.cli.console import Status, bar, console, print_notes, print_table
from shallows.quantity import count, duration
from shallows.sweeps.sweeps import choose_engine

if TYPE_CHECKING:
    from rich.console import Console

    from shallows.sweeps.points import Outcome


def run(options: argparse.Namespace) -> int:
    """Run `shallows advise` and return its exit code."""
    found = advising.prepare(options.fabric, options.config, options.to)
    screen = console(stderr=options.json)
    _print_rules(found, screen)
    if options.rules_only:
        advising.write_rules(found, options.out)
        screen.print(Text(f"\n{found.headline}", style="bold"))
        _print_files(found, screen)
        if options.json:
            print(_document(found))
        return OK
    folder = advising.folder_for(found, options.out)
    engine = choose_engine("local", options.jobs)
    with AdviseStatus(options.budget) as status:
        advising.simulate(found, folder, engine, options.budget, status.on_round, status.on_variation)
    _print_answer(found, screen)
    if found.to is not None and found.configured is None:
        print_notes(["there is nothing to change"], screen)
    advising.write(found, folder)
    if options.json:
        print(_document(found))
    _print_files(found, screen)
    return OK


def _print_files(found: Answer, screen: "Console") -> None:
    for name in ("change", "rollback", "page"):
        if name in found.written:
            screen.print(f"{name}: {found.written[name]}", soft_wrap=True)


def _document(found: Answer) -> str:
    return json.dumps(found.document(), ensure_ascii=False)


def _print_rules(found: Answer, screen: "Console") -> None:
    fabric = found.fabric
    screen.print(Text(f"{fabric.name}: {'; '.join(goal.text for goal in fabric.goals)}", style="bold"))
    screen.print(Text("\nValues by rule", style="bold"))
    for rule in found.rules:
        screen.print(Text.assemble(f"{rule.name}: ", (rule.text, "bold"), f"   {rule.formula}"))
        _print_small(screen, f"with {rule.given}", f"for {rule.valid_for}", rule.source)
    screen.print(Text("\nContradictions between rules", style="bold"))
    for each in found.contradictions:
        screen.print(Text.assemble((each.name, "bold"), f": {each.numbers}"))
        _print_small(screen, f"cause: {each.cause}", f"here: {each.applies}")


def _print_small(screen: "Console", *lines: str) -> None:
    for line in lines:
        screen.print(Padding(Text(line, style="dim"), (0, 0, 0, 4), expand=False))


def _print_answer(found: Answer, screen: "Console") -> None:
    recommendation = found.recommendation
    if recommendation is None:
        return
    screen.print()
    screen.print(Text(found.headline, style="bold yellow" if found.undecided else "bold green"))
    if found.undecided and found.undecided.minutes is not None:
        budget = f"--budget {found.undecided.minutes}min"
        screen.print(Text(f"  Repeat the command with {budget}: finished runs are kept.", style="dim"))
    for reason in recommendation.reasons:
        screen.print(Text(f"  {reason}"))
    print_table(numbers(found), screen)
    for name, why in reasons(found):
        _print_small(screen, f"{name}: {why}")
    for table in (configuration(found), decisions(found), classes(found), robust(found), dropped(found)):
        if table.rows:
            print_table(table, screen)
    screen.print()
    print_notes(found.assumptions, screen)


class AdviseStatus(Status):
    """Progress of `shallows advise`: rounds of simulations, then variations of the fabric."""

    def __init__(self, budget_s: float) -> None:
        super().__init__()
        self.budget_s = budget_s
        self.start = time.monotonic()

    def on_round(
        self, progress: Progress, running: Mapping[int, dict[str, Any]], outcomes: "Sequence[Outcome]"
    ) -> None:
        """Show the current round of simulations, and how many settings are left."""
        line = f"round {progress.round}, {progress.kept} of {progress.of} settings left"
        self._show(line, running, outcomes)

    def on_variation(
        self, what: Variation, running: Mapping[int, dict[str, Any]], outcomes: "Sequence[Outcome]"
    ) -> None:
        """Show which variation of the fabric is being simulated."""
        self._show(f"sensitivity: {what.name} {what.level}", running, outcomes)

    def _show(self, line: str, running: Mapping[int, dict[str, Any]], outcomes: "Sequence[Outcome]") -> None:
        elapsed = time.monotonic() - self.start
        runs = [each.run for each in outcomes if each.run and not each.reused]
        hops = sum(run.summary["engine"]["packet_hops"] for run in runs)
        hops += sum(each["packet_hops"] for each in running.values())
        left = duration(max(0.0, self.budget_s - elapsed))
        line += f": {len(outcomes)} runs done, {len(running)} running, {count(hops)} packet-hops"
        line += f", at most {left} left and the round that runs"
        self.show(f"{bar(elapsed / self.budget_s)} {line}", line)
