"""Tests of tables that are fitted into a terminal: nothing is missing, and no line is too wide."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from fake_races import SMALL as FABRIC
from shallows.cli import fitting, main
from shallows.cli.console import print_table
from shallows.runs.table import Table
from shallows.runs.toml_text import toml_document
from shared import QUERIES

SWITCHES = Path(__file__).parent / "switches"


def printed(table: Table, width: int) -> str:
    """Return a table as a terminal of this width shows it."""
    stream = io.StringIO()
    print_table(table, Console(file=stream, width=width, highlight=False, markup=False, emoji=False))
    return stream.getvalue()


def check(table: Table, width: int) -> None:
    """Fail if a line is too wide, or a word or number of a cell is missing."""
    shown = printed(table, width)
    assert max(map(cell_len, shown.splitlines())) <= width
    if "…" not in "".join([table.title, table.note, *table.columns, *map("".join, table.rows)]):
        assert "…" not in shown
    for cell in {cell for row in table.rows for cell in row}:
        # Names may be on several lines, and longer words too.
        assert all(word in shown for word in cell.split() if len(word) <= width // 3), (table.title, cell)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Table]]:
    """A list that collects all tables that a test prints; commands run in a folder of their own."""
    found: list[Table] = []
    fit = fitting.blocks

    def blocks(table: Table, width: int) -> list[fitting.Block]:
        found.append(table)
        return fit(table, width)

    monkeypatch.setattr(fitting, "blocks", blocks)
    monkeypatch.chdir(tmp_path)
    yield found
    monkeypatch.undo()


PING = """
[stop]
at = "10ms"
[[workload]]
kind = "ping"
senders = "0"
receivers = "1"
interval = "100us"
"""

CLAIM = """
title = "A paper with a title of some words"
[experiment.x]
figures = ["1"]
scenario = "x.toml"
axis = "k"
[[claim]]
id = "a claim with a long name of its own"
experiment = "x"
kind = "value"
metric = "flows.completed"
source = "Section 5.1, second paragraph, and Fig. 12 (b)"
points = [["15KB", 5], ["65KB", 6]]
"""

COMMANDS = {
    "run": "run small.toml --by port --by queue",
    "run with pings": "run pings.toml",
    "run with queries": "run queries.toml --by group",
    "plan": "plan sweep.toml",
    "sweep": "sweep tiny.toml",
    "merge": "merge tiny.toml swept",
    "report": "report {finished}",
    "compare": "compare {finished} --all",
    "compare values": "compare swept --by k --metrics fct_us.small.p99,goodput_gbps --all",
    "explain SONiC": "explain {switches}/sonic.json --chip tomahawk2 --rtt 30us",
    "explain EOS": "explain {switches}/eos.cfg",
    "explain Junos": "explain {switches}/junos.conf",
    "explain tc": "explain {switches}/linux.txt",
    "chips": "chips",
    "advise": "advise fabric.toml --budget 0.001s --to sonic",
    "reproduce": "reproduce mine --experiments experiments",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_every_table_of_a_command_is_whole_at_80_columns(
    command: str, tables: list[Table], tmp_path: Path, scenario: Path, finished_sweep: Path
) -> None:
    text = scenario.read_text()
    files = {
        "pings.toml": text + PING,
        "queries.toml": QUERIES,
        "sweep.toml": text + '[sweep]\naxes = { "workload.0.load" = [0.3, 0.6], seed = [1, 2] }\n',
        "tiny.toml": text.replace("flows = 60", "flows = 5")
        + '[sweep]\naxes = { "switch.markers.0.k" = ["15KB", "65KB"], seed = [1, 2] }\n',
        "fabric.toml": toml_document(FABRIC),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    mine = tmp_path / "experiments" / "mine"
    mine.mkdir(parents=True)
    (mine / "x.toml").write_text(files["tiny.toml"])
    (mine / "expected.toml").write_text(CLAIM)
    if "swept" in command:
        assert main(["sweep", "tiny.toml", "--out", "swept", "--json"]) == 0
    main(command.format(finished=finished_sweep, switches=SWITCHES).split())
    assert tables
    for table in [*tables]:  # `check` prints them again
        for width in (80, 50):
            check(table, width)


def test_a_terminal_of_80_columns_shows_a_sweep_in_blocks_that_repeat_the_axes(
    finished_sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shallows.cli.console.PLAIN_WIDTH", 80)
    assert main(["report", str(finished_sweep)]) == 0
    shown = capsys.readouterr().out.partition("\nResults\n")[2].partition("\nreport: ")[0]
    first, *more = shown.split("\n\n")
    assert "…" not in shown
    for block in (first, *more):
        assert "scheme" in block
        assert sum(line.startswith(("dctcp", "reno")) for line in block.splitlines()) == 12


WORDS = st.text(st.sampled_from("ab1,µ %"), max_size=30)


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(st.data(), st.integers(40, 130))
def test_no_table_is_cut_off_at_any_width(data: st.DataObject, width: int) -> None:
    columns = data.draw(st.lists(WORDS, min_size=1, max_size=12))
    row = st.lists(WORDS, min_size=len(columns), max_size=len(columns))
    rows = data.draw(st.lists(row, max_size=4))
    check(Table("t", columns, rows, names=data.draw(st.integers(1, len(columns)))), width)


def test_a_table_that_fits_is_as_wide_as_its_cells() -> None:
    table = Table("t", ["name", "number"], [["a", "1"]])
    assert printed(table, 80) == "\nt\nname  number\na          1\n"


def test_headings_and_names_are_wrapped_before_columns_move_down() -> None:
    table = Table("t", ["a long heading", "p99 µs"], [["some words of a name", "1,234"]])
    assert printed(table, 20).splitlines()[2:] == [
        "a long           p99",
        "heading           µs",
        "some words of  1,234",
        "a name              ",
    ]


def test_a_table_of_text_is_stacked() -> None:
    table = Table("t", ["rule", "", "source"], [["K", "x" * 30, "RFC 8257"], ["α", "", "DT"]], names=3)
    assert printed(table, 40).splitlines()[2:] == [
        "rule: K",
        "x" * 30,
        "source: RFC 8257",
        "",
        "rule: α",
        "source: DT",
    ]
