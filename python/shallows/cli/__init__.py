"""The command line: one module for each command, and what they share."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from shallows.bounded import printable
from shallows.cli.codes import FAILED, INTERRUPTED
from shallows.cli.parser import parse
from shallows.errors import DefectError, ScenarioError, ShallowsError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return _run(options)
    except (ScenarioError, ShallowsError) as error:
        print(f"shallows: {_shown(error)}", file=sys.stderr)
        return FAILED
    except DefectError as error:
        print(f"shallows: defect: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt as interrupt:
        kept = interrupt.args[0] if interrupt.args else "nothing of this run is kept"
        print(f"\nshallows: interrupted; {kept}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left (`shallows schema | head`); Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _shown(error: Exception) -> str:
    """Its lines; what they repeat of a file cannot move a terminal's cursor."""
    return "\n".join(map(printable, str(error).split("\n")))


def _terminate(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)


def _run(options: argparse.Namespace) -> int:
    """Each command is a module, whose `run` this calls."""
    code: int = import_module(options.command).run(options)
    return code
