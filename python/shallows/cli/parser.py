"""The command line: its commands in groups, each with a line of help and an example.

Each command has a module, whose `run` gets the options and returns the exit code. It is imported when
the command runs, and with it the engine and the libraries for tables and figures: `--help` waits for none.
The options of a command are in `shallows.cli.options`, and are imported when the command is named.
"""

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from shallows.cli.lazy import Command, Options, Parser, add


class Group(NamedTuple):
    """Commands that are listed together."""

    options: str
    """Module of `shallows.cli.options` with the options of these commands."""
    commands: dict[str, tuple[str, str]]
    """Line of help and example of each command, by name."""


GROUPS = {
    "first steps": Group(
        "start",
        {
            "demo": ("answer a small question within ten seconds", "shallows demo"),
            "doctor": ("show what this machine can do, and what is missing", "shallows doctor"),
            "completion": (
                "print a script that completes commands in your shell",
                'eval "$(shallows completion bash)"',
            ),
            "schema": (
                "print the JSON Schema of scenario files, for editors",
                "shallows schema > scenario.schema.json",
            ),
        },
    ),
    "run experiments": Group(
        "experiments",
        {
            "run": (
                "run a scenario and write its results into a folder",
                "shallows run load.toml --set workload.0.load=0.6",
            ),
            "sweep": ("run every point of a scenario's [sweep] table", "shallows sweep load.toml --jobs 4"),
            "plan": ("estimate the time and memory of a run or a sweep", "shallows plan load.toml"),
            "merge": (
                "gather the points that shards of a sweep have run",
                "shallows merge load.toml shard-1 shard-2",
            ),
            "testbed": (
                "run a scenario with the real TCP of Linux",
                "shallows testbed run two-flows.toml",
            ),
        },
    ),
    "look at results": Group(
        "results",
        {
            "report": ("print finished results and write report.html", "shallows report runs/load"),
            "plot": ("draw a figure of finished runs, as PDF and PNG", "shallows plot fct runs/load"),
            "serve": ("show a folder in the browser, live during a sweep", "shallows serve runs/load"),
        },
    ),
    "compare and decide": Group(
        "results",
        {
            "compare": (
                "test which scheme or value is better, over all seeds",
                "shallows compare runs/load --baseline DCTCP",
            ),
            "reproduce": (
                "run a paper's experiments and check its claims",
                "shallows reproduce bcc 4 --quick",
            ),
        },
    ),
    "switches and advice": Group(
        "switches",
        {
            "explain": (
                "explain the queues and buffers of a switch configuration",
                "shallows explain config_db.json --chip tomahawk2",
            ),
            "advise": (
                "recommend switch settings for a fabric and its traffic",
                "shallows advise fabric.toml --budget 20min",
            ),
            "chips": ("list switching chips, with the source of each number", "shallows chips tomahawk2"),
        },
    ),
    "import and export": Group(
        "exchange",
        {
            "import": (
                "make a scenario from another simulator's files",
                "shallows import hpcc config.txt -o imported.toml",
            ),
            "export": (
                "write files of other simulators and switch vendors",
                "shallows export switch config_db.json --to eos",
            ),
        },
    ),
}
"""All commands, in the order in which `shallows --help` lists them."""

WITHOUT_OPTIONS = {"schema"}


def command_line() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Overview(
        prog="shallows",
        description="A laboratory for congestion control in shallow-buffered datacenter networks.",
        epilog="`shallows COMMAND --help` explains a command. Try `shallows demo` first.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print what is installed and stop")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Command)
    for group in GROUPS.values():
        for name, (text, example) in group.commands.items():
            options = None if name in WITHOUT_OPTIONS else _options_of(group, name)
            add(commands, name, f"shallows.cli.{name}", text, options, example)
    return parser


def _options_of(group: Group, name: str) -> Options:
    def options(parser: argparse.ArgumentParser) -> None:
        import_module(f"shallows.cli.options.{group.options}").COMMANDS[name](parser)

    return options


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command.

    A program of the user's follows `--`, whatever options stand before it: argparse takes one only right
    after the scenario.

    >>> parse(["testbed", "shell", "a.toml", "--out", "b", "--", "h0", "ping", "10.0.0.2"]).program
    ['h0', 'ping', '10.0.0.2']
    """
    parser = command_line()
    if not arguments:
        parser.exit(2, parser.format_help())
    if [*arguments[:2]] != ["testbed", "shell"] or "--" not in arguments:
        return parser.parse_args(arguments)
    place = arguments.index("--")
    options = parser.parse_args(arguments[:place])
    options.program = [*arguments[place + 1 :]]
    return options


class _Overview(Parser):
    """The parser of all commands; its help lists them in groups, each group with an example."""

    def format_help(self) -> str:
        lines = [self.format_usage(), f"{self.description}\n"]
        for title, group in GROUPS.items():
            lines.append(f"{title}:")
            lines += [f"  {name:<12}{text}" for name, (text, _) in group.commands.items()]
            _, example = next(iter(group.commands.values()))
            lines.append(f"  {'':12}example: {example}\n")
        options = self._get_formatter()
        options.start_section("options")
        options.add_arguments(self._get_optional_actions())
        options.end_section()
        return "\n".join([*lines, options.format_help(), f"{self.epilog}\n"])


class _Version(argparse.Action):
    """Prints what is installed; nothing else imports the engine."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from shallows.about import label

        print(label())
        parser.exit()
