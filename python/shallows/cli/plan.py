"""Command `shallows plan`."""

import argparse
import json
import sys

from shallows.cli.codes import OK
from shallows.cli.console import Status, console, print_table
from shallows.cli.sweeping import print_curves, read_source
from shallows.quantity import count, duration, size
from shallows.runs.threads import cores, division_in_words
from shallows.sweeps import estimate
from shallows.sweeps.planning import Plan, plan


def run(options: argparse.Namespace) -> int:
    """Run `shallows plan` and return its exit code."""
    screen = console(stderr=options.json)
    with Status() as status:
        found = plan(
            read_source(options),
            out=options.out or None,
            jobs=options.jobs,
            shard=options.shard,
            say=lambda line: status.show(line, line),
        )
    if not options.json:
        print_curves(found.points, screen)
    if options.json:
        print(json.dumps(found.document(), ensure_ascii=False))
    elif found.experiment:
        screen.print(f"{found.path}: one run, {_cost(found)}", soft_wrap=True)
        screen.print(f"it runs {division_in_words(found.experiment, cores())}", soft_wrap=True)
    else:
        print_table(found.table, screen)
        screen.print(f"{found.path}: {len(found.points)} runs, {found.needs}", soft_wrap=True)
    if not options.json and (by := _by_events(found)):
        screen.print(by, soft_wrap=True)
    if warning := found.needs.warning():
        print(warning, file=sys.stderr)
    return OK


def _by_events(found: Plan) -> str:
    """Describe the runs with lossless classes; return an empty text if there are none.

    Such runs process events one by one, instead of in time windows.
    """
    lossless = sum(bool(json.loads(point.headrooms)) for point in found.points)
    reason = "by events and not by windows, because of lossless classes"
    if found.experiment:
        return f"it runs {reason}" if lossless else ""
    return f"{lossless} of them run {reason}" if lossless else ""


def _cost(found: Plan) -> str:
    (point,), (cost,) = found.points, found.costs
    if cost is None:
        return "its cost is unknown: a short trial made no progress"
    basis = "finished before" if point.is_finished else f"judged by a trial of {estimate.SAMPLE_S:g} s"
    hops, time, memory = count(cost.packet_hops), duration(cost.wall_s), size(cost.peak_mb * 1e6)
    return f"{hops} packet-hops, about {time} and {memory} of memory ({basis})"
