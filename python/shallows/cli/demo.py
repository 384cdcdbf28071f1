"""Command `shallows demo`: a question, its sweep, and the answer in a table, a figure and a paragraph."""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shallows import figures, reports
from shallows.cli.codes import FAILED, OK
from shallows.cli.console import console, print_table
from shallows.cli.sweeping import run_sweep
from shallows.quantity import digits, duration, percent
from shallows.runs import points_table
from shallows.runs.folder import check_writable
from shallows.runs.results import Run
from shallows.runs.running import example
from shallows.runs.source import Source
from shallows.sweeps.points import plan
from shallows.sweeps.sweeps import choose_engine


@dataclass(frozen=True)
class Demo:
    """A question with its scenario, and the function that answers it from the runs."""

    question: str
    scenario: Path
    answer: Callable[[Sequence[Run]], str]
    has_figure: bool


def run(options: argparse.Namespace) -> int:
    """Run a demo, print its answer, and return the exit code."""
    chosen = _bcc() if options.full else _incast()
    parent = Path(options.out) / chosen.scenario.stem
    check_writable(parent)
    screen = console()
    screen.print(chosen.question)
    start = time.monotonic()
    source = Source.read(chosen.scenario)
    parent, points = plan(source, parent)
    outcomes = run_sweep(parent, points, choose_engine(), screen)
    runs = [outcome.run for outcome in outcomes if outcome.run]
    if len(runs) < len(outcomes):
        return FAILED
    print_table(points_table.points(runs), screen)
    text = chosen.answer(runs)
    screen.print(f"\n{text}\n")
    if chosen.has_figure:
        for path in figures.save(figures.fct(runs), parent / "fct"):
            screen.print(f"figure: {path}", soft_wrap=True)
    screen.print(f"report: {reports.write_sweep(runs, parent, text)}", soft_wrap=True)
    screen.print(f"took {duration(time.monotonic() - start)}", style="dim")
    return OK


def _incast() -> Demo:
    question = (
        "Forty servers answer one request at the same moment, through a port that two long flows keep busy. "
        "How far may these fill the switch's shared buffer before it marks packets?"
    )
    return Demo(question, example("incast"), describe_incast, has_figure=False)


def _bcc() -> Demo:
    question = (
        "24 servers send web search traffic to 8 others, whose switch ports share 3 MB of buffer. "
        "What does DCTCP's marking threshold cost or save as the load grows?"
    )
    return Demo(question, example("demo/bcc-f2"), describe_thresholds, has_figure=True)


def describe_incast(runs: Sequence[Run]) -> str:
    """Compare the schemes by the time of their slowest answer: name the best scheme and the worst."""
    ordered = sorted(runs, key=_slowest)
    best, worst = ordered[0], ordered[-1]
    shortest, longest = _slowest(best), _slowest(worst)
    last = _name(worst)
    lossless = sum(run.summary["packets"]["dropped_in_switches"] == 0 for run in runs)
    parts = [
        f"The slowest answer takes {digits(shortest)} µs with {_name(best)}, and {digits(longest)} µs with",
        f"{last}: {digits(longest / shortest, 2)} times as long. {last} loses {_loss(worst)} of its packets",
        f"and waits for {worst.summary['timeouts']:,} retransmission timeouts;",
        f"{lossless or 'none'} of the {len(runs)} schemes {'lose' if lossless > 1 else 'loses'} nothing.",
    ]
    return " ".join(parts)


def describe_thresholds(runs: Sequence[Run]) -> str:
    """Describe how a high threshold speeds up large flows and slows down small flows."""
    high, low, reno = (_by_load(runs, name) for name in dict.fromkeys(map(_name, runs)))
    light, heavy = min(high), max(high)
    above, below, neither = _name(high[light]), _name(low[light]), _name(reno[light])
    at_light, at_heavy = percent(light), percent(heavy)
    parts = [
        f"At {at_light} load, large flows complete {_change(high[light], low[light])} with {above} than with",
        f"{below}; at {at_heavy} they complete {_change(high[heavy], low[heavy])}.",
        _tail_sentence(high, above) + ",",
        f"while with {below} it is {digits(_tail(low[heavy]))} µs at {at_heavy}.",
        f"At {at_heavy} load {above} loses {_loss(high[heavy])} of all packets, {below} {_loss(low[heavy])}.",
        f"{neither} loses {_loss(reno[light])} at {at_light} load and {_loss(reno[heavy])} at {at_heavy},",
        f"where its small flows take {digits(_tail(reno[heavy]))} µs at their 99th percentile.",
    ]
    return " ".join(parts)


def _tail_sentence(runs: dict[float, Run], name: str) -> str:
    """Describe how the p99 completion time of small flows grows, and at which load it first triples."""
    light, heavy = min(runs), max(runs)
    start = _tail(runs[light])
    leap = next((load for load in sorted(runs) if _tail(runs[load]) > 3 * start), None)
    worst = runs[leap or heavy]
    return (
        f"The 99th percentile of small flows, {digits(start)} µs with {name} at {percent(light)}, "
        f"{'leaps' if leap else 'grows'} to {digits(_tail(worst))} µs at {percent(leap or heavy)} "
        f"({worst.summary['timeouts']:,} timeouts)"
    )


def _by_load(runs: Sequence[Run], name: str) -> dict[float, Run]:
    return {float(run.labels["workload.0.load"]): run for run in runs if _name(run) == name}


def _name(run: Run) -> str:
    return str(run.labels["scheme"])


def _slowest(run: Run) -> float:
    return float(run.summary["fct_us"]["all"]["max"])


def _tail(run: Run) -> float:
    return float(run.summary["fct_us"]["small"]["p99"])


def _loss(run: Run) -> str:
    return percent(run.summary["loss_rate_in_switches"])


def _change(run: Run, other: Run) -> str:
    """Describe how much faster or slower the large flows of one run are than those of another run."""
    times = [float(each.summary["fct_us"]["large"]["mean"]) for each in (run, other)]
    saved = 1 - times[0] / times[1]
    return f"{percent(abs(saved))} {'faster' if saved >= 0 else 'slower'}"
