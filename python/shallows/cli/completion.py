"""Command `shallows completion`: shell scripts that complete commands, options and files."""

import argparse
from collections.abc import Iterator

import shtab

from shallows.cli.codes import OK
from shallows.cli.parser import command_line
from shallows.examples import examples
from shallows.reproduction.expected import papers

FOLDERS = {"DIR"}
FILES = {"SCENARIO.toml", "FABRIC.toml", "CONFIG", "FILE", "FILE.cm", "FILE.topo", "SOURCE", "fct.txt"}
"""Metavars of the arguments that are files; `FOLDERS` has the metavars of folders."""


def run(options: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    parser = command_line()
    for action in _actions(parser):
        if action.metavar in FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.metavar in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar == "EXAMPLE":
            action.choices = [each.name for each in examples()]
        elif action.metavar == "PAPER":
            action.choices = papers()
    print(shtab.complete(parser, options.shell))
    return OK


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of all its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
