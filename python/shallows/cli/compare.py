"""Command `shallows compare`."""

import argparse
import json
from pathlib import Path

from shallows import figures
from shallows.cli.codes import OK
from shallows.cli.console import console, print_notes, print_table
from shallows.cli.folders import find_runs
from shallows.comparison import comparison_tables
from shallows.comparison.comparing import compare
from shallows.errors import ShallowsError
from shallows.figures import forest
from shallows.runs.folder import check_writable, write_whole


def run(options: argparse.Namespace) -> int:
    """Run `shallows compare` and return its exit code."""
    if options.out is not None:
        check_writable(Path(options.out))
    if options.verify:
        for run in find_runs(options.folders):
            run.verify()
    found = compare(
        *options.folders,
        baseline=options.baseline,
        confidence=options.confidence,
        cool_down=options.cool_down,
        by=options.by,
        metrics=options.metrics,
    )
    document = json.dumps(found.document(), ensure_ascii=False, indent=None if options.json else 2)
    screen = console(stderr=options.json)
    if options.json:
        print(document)
    else:
        tables = comparison_tables.rankings(found, everything=options.all)
        # For many variants, a ranking is more useful than one table for each variant and the baseline.
        if options.all or not found.is_large:
            tables += comparison_tables.verdicts(found, everything=options.all)
        for table in tables:
            print_table(table, screen)
        screen.print()
    print_notes(found.notes, screen)
    if options.out is not None:
        paths = [write_whole(Path(options.out) / "compare.json", document + "\n")]
        try:
            paths += figures.save(forest.draw(found), Path(options.out) / "compare")
        except ShallowsError as error:
            screen.print(f"no figure: {error.message}", soft_wrap=True)
        for path in paths:
            screen.print(str(path), soft_wrap=True)
    return OK
