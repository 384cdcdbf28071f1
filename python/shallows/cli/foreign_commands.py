"""What `import` and `export` do, after the command line is understood."""

import argparse
from pathlib import Path

from shallows.cli.codes import OK
from shallows.cli.console import console, print_notes
from shallows.errors import ShallowsError
from shallows.foreign import export
from shallows.foreign.hpcc import import_hpcc
from shallows.foreign.htsim import import_htsim
from shallows.foreign.ignoring import Ignored
from shallows.foreign.writing import Imported, write


def from_hpcc(options: argparse.Namespace) -> int:
    """`shallows import hpcc`."""
    root = Path(options.root) if options.root else None
    return _write(import_hpcc(Path(options.source), _ignored(options), root), options)


def from_htsim(options: argparse.Namespace) -> int:
    """`shallows import htsim`."""
    topology = Path(options.topology) if options.topology else None
    imported = import_htsim(Path(options.source), topology, _ignored(options), options.start_unit)
    return _write(imported, options)


def _ignored(options: argparse.Namespace) -> Ignored:
    return Ignored(options.ignored, unmodelled=options.unmodelled)


def _write(imported: Imported, options: argparse.Namespace) -> int:
    out = Path(options.out)
    paths = write(imported, out, force=options.force)
    screen = console()
    print_notes(imported.notes, screen)
    for path in paths:
        screen.print(str(path), soft_wrap=True)
    screen.print(f"run it: shallows run {out}", style="dim", soft_wrap=True)
    return OK


def to_hpcc(options: argparse.Namespace) -> int:
    """`shallows export hpcc`."""
    source = Path(options.source)
    wanted = {"fct": options.out, "flow": options.flow, "topology": options.topology}
    if not any(wanted.values()):
        raise ShallowsError("nothing to write", "name a file with -o (fct.txt), --flow or --topology")
    texts = {Path(path): export.hpcc(source, what) for what, path in wanted.items() if path}
    for path in export.write(texts, force=options.force):
        print(path)
    return OK
