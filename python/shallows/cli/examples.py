"""Command `shallows examples`."""

import argparse
import json
from pathlib import Path

from shallows.cli.codes import OK
from shallows.cli.console import console, print_table
from shallows.examples import Example, copy, examples, find
from shallows.reproduction.expected import FILE
from shallows.runs.table import Table

TITLES = {
    "demo": "Demos",
    "gallery": "Gallery",
    "advisor": "Fabrics, for `shallows advise`",
    "models": "Models, with a small scenario for each",
    "testbed": "Testbed, for `shallows testbed`",
}
"""Headings of groups; other groups are papers."""


def run(options: argparse.Namespace) -> int:
    """List examples, or copy one into the current folder."""
    listed = examples()
    groups = list(dict.fromkeys(each.group for each in listed))
    if options.name is not None and options.name not in groups:
        return _copy(find(options.name), options)
    shown = [each for each in listed if options.name in {None, each.group}]
    if options.json:
        print(json.dumps([_describe(each) for each in shown], ensure_ascii=False))
        return OK
    screen = console()
    for group in dict.fromkeys(each.group for each in shown):
        rows = [[each.name, each.title] for each in shown if each.group == group]
        print_table(
            Table(_heading(group, shown[0].path.parents[1]), ["name", "title"], rows, names=2), screen
        )
    screen.print("\n`shallows examples NAME` copies one into this folder.")
    return OK


def _heading(group: str, folder: Path) -> str:
    if group in TITLES:
        return TITLES[group]
    judged = (folder / group / FILE).is_file()
    return f"Paper {group}" + (f": `shallows reproduce {group}` runs it" if judged else "")


def _copy(example: Example, options: argparse.Namespace) -> int:
    written = copy(example, Path())
    if options.json:
        print(json.dumps(_describe(example) | {"written": [*map(str, written)]}, ensure_ascii=False))
        return OK
    for path in written:
        print(path)
    return OK


def _describe(example: Example) -> dict[str, str]:
    return {"name": example.name, "title": example.title, "path": str(example.path)}
