"""Command line: one module for each command, and shared modules."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from shallows.cli.codes import FAILED, INTERRUPTED
from shallows.cli.parser import parse
from shallows.cli.streams import escaping
from shallows.errors import DefectError, ScenarioError, ShallowsError

_received: list[int] = []
"""SIGINT and SIGTERM signals that this command received."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    with escaping():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    _received.clear()
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        return _run(parse(sys.argv[1:] if arguments is None else arguments))
    except (ScenarioError, ShallowsError) as error:
        print(f"shallows: {error}", file=sys.stderr)
        return FAILED
    except DefectError as error:
        print(f"shallows: defect: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt as interrupt:
        kept = interrupt.args[0] if interrupt.args else "the results of this run are lost"
        print(f"\nshallows: interrupted; {kept}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe (`shallows schema | head`); Python would print an error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except SystemExit:
        raise
    except BaseException:
        # During the import of a native module, an exception from a signal handler becomes a panic.
        if _received:
            return 128 + _received[-1]
        raise


def _terminate(number: int, _frame: object) -> NoReturn:
    _received.append(number)
    raise SystemExit(128 + number)


def _interrupt(number: int, _frame: object) -> NoReturn:
    _received.append(number)
    raise KeyboardInterrupt


def _run(options: argparse.Namespace) -> int:
    """Check the names of folders, then call `run` of the command's module."""
    from shallows.bounded import folder_of

    for folder in (getattr(options, "out", None), *getattr(options, "folders", ())):
        if isinstance(folder, str):
            folder_of(folder)
    code: int = import_module(options.command).run(options)
    return code
