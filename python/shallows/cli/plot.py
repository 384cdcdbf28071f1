"""Command `shallows plot`."""

import argparse
from inspect import signature
from pathlib import Path

from shallows import figures
from shallows.cli.codes import OK
from shallows.cli.folders import find_runs
from shallows.errors import ShallowsError
from shallows.runs.folder import check_writable
from shallows.series.inputs import choose_runs


def run(options: argparse.Namespace) -> int:
    """Run `shallows plot` and return its exit code."""
    name: str = options.figure
    # Options that only some figures have.
    choices = {kind: chosen for kind in ("ports", "flows", "tail") if (chosen := getattr(options, kind))}
    draw = getattr(figures, name.replace("-", "_"))
    for option in choices:
        if option not in signature(draw).parameters:
            raise ShallowsError(f"the figure {name} does not support --{option}", "remove the option")
    figure = draw(choose_runs(find_runs(options.folders), options.where), **choices)
    check_writable(Path(options.out))
    for path in figures.save(figure, Path(options.out) / name, options.formats or ["pdf", "png"]):
        print(path)
    return OK
