"""Parser of the command line: commands in groups, each with a line of help and an example.

Each command has a module with a function `run`, which takes the options and returns the exit code. The module
is imported only when the command runs, so `--help` loads neither the engine nor libraries for tables and
figures. Options are in `shallows.cli.options`, imported when their command is parsed.
"""

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from shallows.cli.lazy import Command, Options, Parser, add


class Listed(NamedTuple):
    """A command: its module, its line of help, and an example."""

    module: str
    text: str
    example: str


class Group(NamedTuple):
    """A group of commands that `shallows --help` lists together."""

    options: str
    """Module with the options of these commands."""
    commands: dict[str, Listed]


GROUPS = {
    "first steps": Group(
        "shallows.cli.options.start",
        {
            "demo": Listed(
                "shallows.cli.demo",
                "run a small experiment within ten seconds, and explain the result",
                "shallows demo",
            ),
            "examples": Listed(
                "shallows.cli.examples",
                "list the examples in the package, or copy one into this folder",
                "shallows examples gallery/load",
            ),
            "doctor": Listed(
                "shallows.cli.doctor",
                "check the installation, this machine and optional tools",
                "shallows doctor",
            ),
            "completion": Listed(
                "shallows.cli.completion",
                "print a script that adds tab completion to your shell",
                'eval "$(shallows completion bash)"',
            ),
            "schema": Listed(
                "shallows.cli.schema",
                "print the JSON Schema of scenario files, for editors",
                "shallows schema > scenario.schema.json",
            ),
        },
    ),
    "run experiments": Group(
        "shallows.cli.options.experiments",
        {
            "run": Listed(
                "shallows.cli.run",
                "run a scenario and write its results into a folder",
                "shallows run load.toml --set workload.0.load=0.6",
            ),
            "sweep": Listed(
                "shallows.cli.sweep",
                "run every combination of a scenario's [sweep] table",
                "shallows sweep load.toml --jobs 4",
            ),
            "plan": Listed(
                "shallows.cli.plan",
                "estimate the time and memory of a run or a sweep",
                "shallows plan load.toml",
            ),
            "merge": Listed(
                "shallows.cli.merge",
                "combine the results of a sweep's shards in one folder",
                "shallows merge load.toml shard-1 shard-2",
            ),
            "testbed": Listed(
                "shallows.cli.testbed",
                "run a scenario with the real TCP of the Linux kernel",
                "shallows testbed run two-flows.toml",
            ),
        },
    ),
    "look at results": Group(
        "shallows.cli.options.results",
        {
            "report": Listed(
                "shallows.cli.report",
                "print the results of finished runs, and write report.html",
                "shallows report runs/load",
            ),
            "plot": Listed(
                "shallows.cli.plot",
                "draw a figure of finished runs, as PDF and PNG",
                "shallows plot fct runs/load",
            ),
            "serve": Listed(
                "shallows.cli.serve",
                "show results in the browser, updated live during a sweep",
                "shallows serve runs/load",
            ),
        },
    ),
    "compare and decide": Group(
        "shallows.cli.options.results",
        {
            "compare": Listed(
                "shallows.cli.compare",
                "test which scheme or value performs better, over all seeds",
                "shallows compare runs/load --baseline DCTCP",
            ),
            "reproduce": Listed(
                "shallows.cli.reproduce",
                "run a paper's experiments and check its claims",
                "shallows reproduce bcc 4 --quick",
            ),
        },
    ),
    "switches and advice": Group(
        "shallows.cli.options.switches",
        {
            "explain": Listed(
                "shallows.cli.explain",
                "explain the queues and buffers of a switch configuration",
                "shallows explain config_db.json --chip tomahawk2",
            ),
            "advise": Listed(
                "shallows.cli.advise",
                "recommend switch settings for a fabric and its traffic",
                "shallows advise fabric.toml --budget 20min",
            ),
            "chips": Listed(
                "shallows.cli.chips",
                "list switching chips, or show the source of a chip's numbers",
                "shallows chips tomahawk2",
            ),
        },
    ),
    "import and export": Group(
        "shallows.cli.options.exchange",
        {
            "import": Listed(
                "shallows.cli.import",
                "make a scenario from another simulator's files",
                "shallows import hpcc config.txt -o imported.toml",
            ),
            "export": Listed(
                "shallows.cli.export",
                "write files for other simulators and switch vendors",
                "shallows export switch config_db.json --to eos",
            ),
        },
    ),
}
"""All commands, in the order in which `shallows --help` lists them."""

WITHOUT_OPTIONS = {"schema"}


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Overview(
        prog="shallows",
        description="A laboratory for congestion control in shallow-buffered datacenter networks.",
        epilog="`shallows COMMAND --help` explains a command. Start with `shallows demo`.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the installed version and stop")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Command)
    for group in GROUPS.values():
        for name, listed in group.commands.items():
            options = None if name in WITHOUT_OPTIONS else _options_of(group, name)
            add(commands, name, listed.module, listed.text, options, listed.example)
    return parser


def _options_of(group: Group, name: str) -> Options:
    def options(parser: argparse.ArgumentParser) -> None:
        import_module(group.options).COMMANDS[name](parser)

    return options


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of a command.

    The program of `testbed shell` follows `--`. This function splits it off first, as argparse accepts a
    program only directly after the scenario.

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
    """Parser of all commands; its help lists them in groups, each group with an example."""

    def format_help(self) -> str:
        lines = [self.format_usage(), f"{self.description}\n"]
        for title, group in GROUPS.items():
            lines.append(f"{title}:")
            lines += [f"  {name:<12}{listed.text}" for name, listed in group.commands.items()]
            first = next(iter(group.commands.values()))
            lines.append(f"\n  Example: {first.example}\n")
        options = self._get_formatter()
        options.start_section("options")
        options.add_arguments(self._get_optional_actions())
        options.end_section()
        return "\n".join([*lines, options.format_help(), f"{self.epilog}\n"])


class _Version(argparse.Action):
    """Action that prints the installed version; it imports the engine only when used."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from shallows.about import label

        print(label())
        parser.exit()
