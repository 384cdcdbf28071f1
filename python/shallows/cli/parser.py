"""The command line: commands, options, and what they say of themselves.

Each command has a module, whose `run` gets the options and returns the exit code. It is imported when
the command runs, and with it the engine and the libraries for tables and figures: `--help` waits for none.
Nor does a command wait until the options of the others are known.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from shallows.figure_names import FIGURES


def command_line() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="shallows",
        description="A laboratory for congestion control in shallow-buffered datacenter networks.",
        epilog="`shallows COMMAND --help` explains a command. Try `shallows demo` first.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print what is installed and stop")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=_Command
    )
    _add(commands, "run", "shallows.cli.run", "run a scenario and write its results into a folder", _run)
    _add(
        commands,
        "sweep",
        "shallows.cli.sweep",
        "run every point of a scenario's [sweep] table, each once",
        _sweep,
    )
    _add(
        commands,
        "plan",
        "shallows.cli.plan",
        "print what a run, or each point of a [sweep] table, needs in time and memory",
        _plan,
    )
    _add(commands, "merge", "shallows.cli.merge", "gather the points that shards of a sweep have run", _merge)
    _add(
        commands,
        "report",
        "shallows.cli.report",
        "print finished results, and write them as a page: report.html",
        _report,
    )
    _add(
        commands,
        "serve",
        "shallows.cli.serve",
        "show a folder in the browser, live while a sweep runs there",
        _serve,
    )
    _add(commands, "plot", "shallows.cli.plot", "draw a figure of finished runs, as PDF and PNG", _plot)
    better = "say which scheme or value is better, as far as the seeds of its runs can tell"
    _add(commands, "compare", "shallows.cli.compare", better, _compare)
    _add(
        commands,
        "reproduce",
        "shallows.cli.reproduce",
        "run a paper's experiments and check what it claims",
        _reproduce,
    )
    _add(
        commands,
        "advise",
        "shallows.cli.advise",
        "say what to set on a fabric's switches, and what it buys",
        _advise,
    )
    _add(commands, "import", "shallows.cli.import", "make a scenario from another simulator's files", _import)
    _add(commands, "export", "shallows.cli.export", "write files of other simulators and vendors", _export)
    _add(commands, "testbed", "shallows.cli.testbed", "run a scenario with the real TCP of Linux", _testbed)
    _add(
        commands,
        "explain",
        "shallows.cli.explain",
        "say what a switch's configuration does to queues",
        _explain,
    )
    _add(commands, "chips", "shallows.cli.chips", "list switching chips and what they can express", _chips)
    _add(commands, "demo", "shallows.cli.demo", "answer a small question within ten seconds", _demo)
    _add(commands, "doctor", "shallows.cli.doctor", "say what this machine can do and what is missing")
    _add(commands, "schema", "shallows.cli.schema", "print the JSON Schema of a scenario file")
    return parser


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command.

    A program of the user's follows `--`, whatever options stand before it: argparse takes one only right
    after the scenario.

    >>> parse(["testbed", "shell", "a.toml", "--out", "b", "--", "h0", "ping", "10.0.0.2"]).program
    ['h0', 'ping', '10.0.0.2']
    """
    if [*arguments[:2]] != ["testbed", "shell"] or "--" not in arguments:
        return command_line().parse_args(arguments)
    place = arguments.index("--")
    options = command_line().parse_args(arguments[:place])
    options.program = [*arguments[place + 1 :]]
    return options


class _Version(argparse.Action):
    """Only this asks the engine what it is."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from shallows.about import label

        print(label())
        parser.exit()


class _Command(argparse.ArgumentParser):
    """Is built when something of it is used: those of all commands take longer than most answers."""

    def __init__(self, options: Callable[[argparse.ArgumentParser], None], module: str, **of: Any) -> None:
        self._late = (options, module, of)

    def __getattr__(self, name: str) -> Any:
        # Python calls this for what is not there yet.
        options, module, of = self.__dict__.pop("_late")
        super().__init__(**of, allow_abbrev=False)
        self.set_defaults(command=module)
        options(self)
        return getattr(self, name)


def _add(
    commands: "argparse._SubParsersAction[_Command]",
    name: str,
    module: str,
    text: str,
    options: Callable[[argparse.ArgumentParser], None] = lambda _: None,
) -> None:
    description = f"{text[0].upper()}{text[1:]}."
    commands.add_parser(name, help=text, description=description, options=options, module=module)


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", metavar="SCENARIO.toml", help="the scenario file")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        type=_override,
        metavar="KEY=VALUE",
        help="a value that differs from the file's, such as tcp.congestion.kind=reno; may be repeated",
    )


def _override(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE, such as workload.0.load=0.6")
    return key.strip(), value.strip()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _natural(text: str) -> int:
    from shallows.bounded import quoted, whole

    if (number := whole(text)) is None:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a whole number from 0 to 2^63 - 1")
    return number


def _seed(text: str) -> int:
    """A whole number; the engine knows which of them are seeds."""
    from shallows.bounded import quoted, whole

    if (number := whole(text, most=10**30)) is None:
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a whole number")
    return number


def _positive(text: str) -> int:
    number = _natural(text)
    if number == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _dilation(text: str) -> int:
    factor = _positive(text)
    if factor > 10_000:
        raise argparse.ArgumentTypeError("must be at most 10000: a second then takes three hours")
    return factor


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON document to standard output, and nothing else there",
    )


def _add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--verify",
        action="store_true",
        help="read the files of finished runs, and compare their hashes; sizes are always checked",
    )


def _add_by(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by",
        action="append",
        default=[],
        choices=["workload", "class", "group", "to_group", "port", "queue", "uplinks"],
        help="a table of the results by that; may be repeated; "
        "default: by workload, class and group of hosts where there are several",
    )


def _run(parser: argparse.ArgumentParser) -> None:
    _add_scenario(parser)
    parser.add_argument(
        "--seed", type=_seed, metavar="N", help="root of all random streams; default: the file's"
    )
    parser.add_argument("--out", metavar="DIR", help="folder of the results; default: runs/NAME-HASH-sSEED")
    parser.add_argument("--force", action="store_true", help="replace the folder if it exists")
    parser.add_argument(
        "--threads",
        default="auto",
        metavar="N",
        help="threads of the run, or auto: the number that is fastest at the moment, at most one per core; "
        "results are the same on any number",
    )
    _add_by(parser)
    _add_verify(parser)
    _add_json(parser)


def _sweep(parser: argparse.ArgumentParser) -> None:
    _add_points(parser)
    parser.add_argument("--engine", choices=["local", "ray"], default="local", help="where points run")
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="of a Ray cluster; default: RAY_ADDRESS, or start Ray on this machine",
    )
    _add_verify(parser)
    _add_json(parser)


def _plan(parser: argparse.ArgumentParser) -> None:
    _add_points(parser)
    _add_json(parser)


def _merge(parser: argparse.ArgumentParser) -> None:
    _add_scenario(parser)
    parser.add_argument("folders", nargs="+", metavar="DIR", help="folder of a shard")
    parser.add_argument("--out", metavar="DIR", help="folder for all points' folders; default: runs/NAME")
    _add_verify(parser)


def _add_points(parser: argparse.ArgumentParser) -> None:
    _add_scenario(parser)
    parser.add_argument(
        "--jobs", type=_positive, metavar="N", help="runs at the same time; default: one per core"
    )
    parser.add_argument("--out", metavar="DIR", help="folder for the points' folders; default: runs/NAME")
    parser.add_argument("--shard", metavar="I/N", help="only every N-th point, beginning with the I-th")


def _report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="of a run, a sweep, or a paper that was reproduced"
    )
    _add_by(parser)
    _add_verify(parser)


def _serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="of a sweep, of several, or of a run")
    parser.add_argument(
        "--port", type=_port, default=8000, metavar="N", help="on 127.0.0.1; 0 for a free one; default: 8000"
    )


def _port(text: str) -> int:
    if (number := _natural(text)) > 65_535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: at most 65535")
    return number


def _plot(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    lines = [f"  {name:14}{text}" for name, text in FIGURES.items()]
    parser.epilog = "\n".join(["figures:", *lines, "", "docs/figures.md shows each of them."])
    parser.add_argument("figure", choices=FIGURES, metavar="FIGURE", help="what to draw, see below")
    parser.add_argument("folders", nargs="+", metavar="DIR", help="a run's folder, or one that holds runs")
    parser.add_argument("--out", default=".", metavar="DIR", help="folder of the figure; default: here")
    parser.add_argument(
        "--format",
        dest="formats",
        action="append",
        choices=["pdf", "svg", "png"],
        help="may be repeated; default: pdf and png",
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        type=_override,
        metavar="AXIS=VALUE",
        help="of a sweep, only these runs, such as load=0.8 or scheme=DCTCP; may be repeated",
    )
    parser.add_argument(
        "--port",
        dest="ports",
        action="append",
        metavar="NAME",
        help="a port or pool, a pattern such as 'switch0->*', or a kind such as to-host; may be repeated",
    )
    parser.add_argument(
        "--tail",
        action="store_true",
        help="of a distribution, the share above each value on a logarithmic axis",
    )
    parser.add_argument(
        "--flow",
        dest="flows",
        action="append",
        type=_natural,
        metavar="N",
        help="a flow by its number; may be repeated",
    )


def _compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders", nargs="+", metavar="DIR", help="a folder of runs for each scheme, or that of one sweep"
    )
    parser.add_argument(
        "--baseline", metavar="NAME", help="the scheme or value to compare with; default: the first"
    )
    parser.add_argument(
        "--by",
        action="append",
        metavar="AXIS",
        help="compare the values of this axis of a sweep, such as switch.markers.0.k or k, not schemes; "
        "may be repeated for combinations",
    )
    parser.add_argument(
        "--metrics",
        type=_names,
        metavar="NAME,…",
        help="put all in order by the first, and find those that no other beats in all of them, such as "
        "fct_us.small.p99,fct_us.large.mean; default: of more than six, what is looked at first",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, metavar="P", help="of the intervals; default: 0.95"
    )
    parser.add_argument(
        "--cool-down",
        type=float,
        default=0.05,
        metavar="SHARE",
        help="of the time in which flows arrive: those at its end are left out; default: 0.05",
    )
    parser.add_argument("--all", action="store_true", help="every metric, not only the main ones")
    parser.add_argument("--out", metavar="DIR", help="folder for compare.json and the figure; default: none")
    _add_verify(parser)
    _add_json(parser)


def _reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", metavar="PAPER", help="its folder in experiments/, such as bcc")
    parser.add_argument("figure", nargs="?", metavar="FIGURE", help="one figure or table; default: all")
    parser.add_argument("--quick", action="store_true", help="a reduced run, which checks the orderings")
    parser.add_argument(
        "--jobs", type=_positive, metavar="N", help="runs at the same time; default: one per core"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder of runs, figures and claims; default: runs/PAPER"
    )
    parser.add_argument("--experiments", metavar="DIR", help="folder of the papers; default: the checkout's")
    _add_json(parser)


def _advise(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fabric", metavar="FABRIC.toml", help="the fabric; docs/advisor.md has its keys")
    parser.add_argument(
        "--rules-only", action="store_true", help="stop after what rules say, and simulate nothing"
    )
    parser.add_argument(
        "--budget",
        type=_budget,
        default=600.0,
        metavar="TIME",
        help="of the simulations, such as 90s, 20min or 2h; a round that has begun is ended; default: 10min",
    )
    parser.add_argument(
        "--jobs", type=_positive, metavar="N", help="runs at the same time; default: one per core"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="what a switch runs today, as `shallows explain` reads it"
    )
    parser.add_argument(
        "--to",
        metavar="FORMAT",
        help="write the change in this vendor's words too: sonic, eos, avd, nvue, nxos, junos or tc",
    )
    parser.add_argument("--out", metavar="DIR", help="folder of runs and page; default: runs/advice-NAME")
    _add_json(parser)


def _budget(text: str) -> float:
    """A time in seconds."""
    from shallows.bounded import quoted

    for unit, scale in (("min", 60.0), ("h", 3600.0), ("s", 1.0)):
        number = text.removesuffix(unit)
        is_number = number != text and number.replace(".", "", 1).isdecimal() and len(number) < 10
        if is_number and float(number) > 0:
            return float(number) * scale
    raise argparse.ArgumentTypeError(f"{quoted(text)} is no time, such as 90s, 20min or 2h")


def _import(parser: argparse.ArgumentParser) -> None:
    kinds = _kinds(parser, "FORMAT")
    text = "make a scenario from HPCC's config.txt, topology.txt and flow.txt"
    _add(kinds, "hpcc", "shallows.cli.import_hpcc", text, _import_hpcc)
    _add(
        kinds,
        "htsim",
        "shallows.cli.import_htsim",
        "make a scenario from htsim's connection matrix",
        _import_htsim,
    )


def _import_hpcc(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="CONFIG", help="the configuration, or the folder that holds it")
    parser.add_argument(
        "--root",
        metavar="DIR",
        help="where the simulator is run, from which the paths in CONFIG are; "
        "default: the folder of CONFIG or the one above",
    )
    _add_imported(parser)


def _import_htsim(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FILE.cm", help="the connection matrix")
    parser.add_argument(
        "--topo", dest="topology", metavar="FILE.topo", help="the fat tree; default: one switch"
    )
    parser.add_argument(
        "--start-unit",
        choices=["ps", "us"],
        help="of the starts: us for htsim_uec, ps for htsim's other programs; "
        "default: us where only htsim_uec can be meant",
    )
    _add_imported(parser)


def _add_imported(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", dest="out", required=True, metavar="SCENARIO.toml", help="what to write")
    parser.add_argument(
        "--ignore",
        dest="ignored",
        action="append",
        default=[],
        metavar="KEY",
        help="do without this key or word; may be repeated",
    )
    parser.add_argument(
        "--ignore-unmodelled",
        dest="unmodelled",
        action="store_true",
        help="do without all that has no counterpart in a scenario; what that is, is listed",
    )
    _add_force(parser)


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def _export(parser: argparse.ArgumentParser) -> None:
    kinds = _kinds(parser, "FORMAT")
    _add(
        kinds,
        "hpcc",
        "shallows.cli.export_hpcc",
        "write HPCC's fct.txt, flow.txt or topology.txt",
        _export_hpcc,
    )
    _add(
        kinds,
        "switch",
        "shallows.cli.export_switch",
        "write a switch's queues and buffers for another vendor",
        _export_switch,
    )


def _export_hpcc(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="a run's folder, or a scenario file")
    parser.add_argument("-o", dest="out", metavar="fct.txt", help="completion times of a run")
    parser.add_argument("--flow", metavar="flow.txt", help="flows of a run, or of a scenario that lists them")
    parser.add_argument("--topology", metavar="topology.txt", help="network of a scenario")
    _add_force(parser)


def _export_switch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", nargs="+", metavar="CONFIG", help="the configuration of one switch")
    parser.add_argument(
        "--to",
        required=True,
        choices=["sonic", "eos", "avd", "nvue", "nxos", "junos", "tc"],
        help="the format; what it cannot express is listed",
    )
    parser.add_argument("--out", metavar="FILE", help="what to write; default: standard output")
    _add_hints(parser)
    _add_force(parser)


def _testbed(parser: argparse.ArgumentParser) -> None:
    kinds = _kinds(parser, "ACTION")
    _add(
        kinds,
        "run",
        "shallows.cli.testbed_run",
        "run a scenario between network namespaces of this machine",
        _testbed_run,
    )
    text = "run a scenario several times simulated and with real TCP, and say how far they are apart"
    _add(kinds, "compare", "shallows.cli.testbed_compare", text, _testbed_compare)
    text = "let the network of a scenario stand while a command runs, whose programs run on its hosts"
    _add(kinds, "shell", "shallows.cli.testbed_shell", text, _testbed_shell)
    _add(
        kinds, "doctor", "shallows.cli.testbed_doctor", "say what this machine can carry and what is missing"
    )


def _kinds(parser: argparse.ArgumentParser, kind: str) -> "argparse._SubParsersAction[_Command]":
    """The commands within a command."""
    return parser.add_subparsers(title=f"{kind.lower()}s", metavar=kind, required=True, parser_class=_Command)


def _testbed_run(parser: argparse.ArgumentParser) -> None:
    _add_scenario(parser)
    parser.add_argument(
        "--seed", type=_seed, metavar="N", help="root of all random streams; default: the file's"
    )
    parser.add_argument(
        "--out", metavar="DIR", help="folder of the results; default: runs/NAME-testbed-HASH-sSEED"
    )
    parser.add_argument("--force", action="store_true", help="replace the folder if it exists")
    _add_dilate(parser)
    _add_pcap(parser)
    _add_json(parser)


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="CONFIG",
        help="files of one switch, or a folder; docs/advisor.md lists formats",
    )
    _add_hints(parser)
    parser.add_argument("--rtt", metavar="TIME", help="round-trip time without queues, such as 30us")
    parser.add_argument("--html", metavar="FILE", help="write a page as well")
    _add_json(parser)


def _add_hints(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fabric",
        metavar="FABRIC.toml",
        help="chip, links and the memory that queues share, which no switch's file has",
    )
    parser.add_argument(
        "--chip", metavar="NAME", help="of the switch; default: as the file or the fabric says"
    )
    parser.add_argument(
        "--rate", metavar="RATE", help="of ports whose rate the file does not say, such as 100Gbps"
    )


def _chips(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="one of them, with the source of each number")
    _add_json(parser)


def _testbed_compare(parser: argparse.ArgumentParser) -> None:
    _add_scenario(parser)
    parser.add_argument(
        "--repeats",
        type=_positive,
        default=3,
        metavar="N",
        help="runs of each, seeds in a row; default: 3",
    )
    parser.add_argument("--seed", type=_seed, metavar="N", help="the first seed; default: the file's")
    parser.add_argument(
        "--out", metavar="DIR", help="folder of runs, table and figure; default: runs/NAME-testbed-compare"
    )
    parser.add_argument("--force", action="store_true", help="repeat runs that are there already")
    parser.add_argument(
        "--invalid", action="store_true", help="compare runs too that are not to be believed, and say so"
    )
    _add_dilate(parser)
    _add_json(parser)


def _testbed_shell(parser: argparse.ArgumentParser) -> None:
    _add_scenario(parser)
    _add_dilate(parser)
    _add_pcap(parser)
    parser.add_argument(
        "--serve",
        nargs="?",
        const=8000,
        type=_port,
        metavar="PORT",
        help="show queues, marks and drops in the browser, on 127.0.0.1; 0 for a free one; default: 8000",
    )
    parser.add_argument(
        "--out", default=".", metavar="DIR", help="folder of the packets of --pcap; default: here"
    )
    parser.add_argument(
        "program", nargs="*", metavar="COMMAND", help="after --: what to run, such as h0 ping 10.0.0.2"
    )


def _add_dilate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dilate",
        type=_dilation,
        default=1,
        metavar="N",
        help="let each of its seconds take N of the machine's, to carry N times the rates; default: 1",
    )


def _add_pcap(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pcap",
        action="append",
        metavar="PORT",
        help="write what this port sends to capture.pcapng, in place of measure.captures: its name, such as "
        "'switch0->*', or a kind such as to-host; may be repeated",
    )


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--full",
        action="store_true",
        help="the single-switch experiment of the BCC paper instead (three minutes on two cores)",
    )
    parser.add_argument(
        "--out", default="runs/demo", metavar="DIR", help="folder of the results; default: runs/demo"
    )
