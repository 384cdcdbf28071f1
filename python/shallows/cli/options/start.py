"""Options of the commands for the first steps."""

import argparse

from shallows.cli.options.shared import add_json


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--full",
        action="store_true",
        help="run the single-switch experiment of the BCC paper, which takes three minutes on two cores, "
        "instead of a short experiment",
    )
    parser.add_argument(
        "--out", default="runs/demo", metavar="DIR", help="folder for the results; default: runs/demo"
    )


def _examples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        nargs="?",
        metavar="EXAMPLE",
        help="name of an example to copy into this folder, or of a group of examples to list; "
        "default: list all examples",
    )
    add_json(parser)


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=["bash", "zsh", "fish"], metavar="SHELL", help="your shell: bash, zsh or fish"
    )


COMMANDS = {
    "demo": _demo,
    "examples": _examples,
    "doctor": add_json,
    "completion": _completion,
}
"""Functions that add the options of each command, by the command's name."""
