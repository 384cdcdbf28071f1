"""Tests of hostile input: no file blocks the process or fills its memory, and no number takes minutes."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

import shallows as sh
from pages import ROOT
from shallows import bounded
from shallows.cli import main
from shallows.errors import ScenarioError, ShallowsError
from shallows.foreign.hpcc import import_hpcc
from shallows.foreign.htsim import import_htsim
from shallows.reproduction.expected import read as read_claims
from shallows.runs import memory
from shallows.runs.executing import execute
from shallows.runs.source import Source
from shared import SMALL, Shell
from vendors import SWITCHES

QUIET = """
[topology]
kind = "star"
hosts = 2
rate = "10Gbps"
link_delay = "1us"
[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
[[workload]]
kind = "trace"
path = "flows.csv"
"""
"""A flow without competing flows."""

ADVISED = ROOT / "experiments" / "advisor" / "legacy-10g.toml"

MATRIX = "Nodes 2\nConnections 1\n0->1 start {start} size {size}\n"


@pytest.fixture
def special(tmp_path: Path) -> dict[str, Path]:
    """Paths that are not regular files: reading them blocks, never ends, or fails."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    door = tmp_path / "door"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(door))
    return {"a pipe": pipe, "a device": Path("/dev/zero"), "a socket": door, "a folder": tmp_path}


def test_what_is_no_regular_file_is_refused_wherever_one_is_read(
    special: dict[str, Path], tmp_path: Path
) -> None:
    claims = tmp_path / "claims"
    claims.mkdir()
    for kind, path in special.items():
        (claims / "expected.toml").unlink(missing_ok=True)
        (claims / "expected.toml").symlink_to(path)
        readers: list[Callable[[], object]] = [
            partial(sh.run, path),
            partial(import_htsim, path, None),
            partial(read_claims, claims),
        ]
        if kind != "a folder":  # of which HPCC's configuration is read
            readers.append(partial(import_hpcc, path))
        for reader in readers:
            with pytest.raises(ShallowsError, match=f"must be a file, but is {kind}"):
                reader()


COMMANDS = [
    ("explain", "FILE"),
    ("explain", "--fabric", "FILE", str(SWITCHES / "eos.cfg")),
    ("advise", "FILE", "--rules-only"),
    ("advise", str(ADVISED), "--rules-only", "--config", "FILE"),
    ("export", "switch", "FILE", "--to", "eos"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_configuration_that_is_no_text_file_is_refused_by_every_command(
    command: tuple[str, ...], special: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long, bad = tmp_path / "long.cfg", tmp_path / "bad.cfg"
    with long.open("wb") as file:
        file.truncate((1 << 26) + 1)
    bad.write_bytes(b"hostname \xff\n")
    refused = {path: f"must be a file, but is {kind}" for kind, path in special.items() if kind != "a folder"}
    refused |= {
        long: "the file must have at most 64 MiB",
        bad: "bad.cfg must be UTF-8 text; byte 9 is invalid",
    }
    for path, words in refused.items():
        assert main([str(path) if word == "FILE" else word for word in command]) == 1
        said = capsys.readouterr()
        assert words in said.err
        assert said.err.count("\n") == 2, said.err


def test_a_file_that_is_regular_and_would_wait_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Like /proc/kmsg without new messages: a non-blocking read gives EAGAIN.
    end, other = os.pipe()
    monkeypatch.setattr("shallows.bounded._refuse_special", lambda *_: None)
    path = f"/proc/self/fd/{end}"
    with pytest.raises(ShallowsError, match="the pipe is empty"):
        bounded.read_bytes(path, remedy="name another")
    os.close(end)
    os.close(other)


def test_a_list_of_flows_that_is_no_regular_file_is_refused(special: dict[str, Path], scenario: Path) -> None:
    for path in special.values():
        workload = {"workload.0": {"kind": "trace", "path": str(path)}}
        with pytest.raises(
            ScenarioError, match="must be a regular file, not a folder, pipe, socket or device"
        ):
            sh.Scenario.load(scenario, workload)


def test_a_file_that_never_ends_is_read_no_further_than_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.txt"
    with path.open("wb") as file:
        file.truncate(3 << 20)
    with pytest.raises(ShallowsError, match="must have at most 2 MiB"):
        bounded.read_bytes(path, remedy="", most=2 << 20)
    monkeypatch.setattr("shallows.foreign.reading.MOST_LINES", 3)
    path.write_text("# a\n# b\n# c\n# d\n")
    with pytest.raises(ShallowsError, match="at most 3 lines"):
        import_htsim(path, None)


@pytest.mark.parametrize("block", [1, 3, 1 << 16])
def test_lines_are_read_within_their_bounds_however_a_file_comes(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "BLOCK", block)

    def lines(contents: bytes, longest: int = 8, most: int = 64) -> list[str]:
        path = tmp_path / "lines.txt"
        path.write_bytes(contents)
        blocks = bounded.read_blocks(path, remedy="mend it", longest=longest, most=most)
        return [line for block in blocks for line in block]

    assert lines(b"\xef\xbb\xbfa b\r\n\n\xc3\xa4\rc") == ["a b", "", "\u00e4", "c"]
    with pytest.raises(
        ShallowsError, match=r"lines\.txt:2: the line must have at most 8 bytes, got [0-9]+\n  mend it"
    ):
        lines(b"12345678"[:7] + b"\n" + b"123456789\n")
    with pytest.raises(ShallowsError, match="must have at most 0 MiB"):
        lines(b"1234567\n" * 9)
    with pytest.raises(ShallowsError, match="must be UTF-8 text; byte 5 is invalid"):
        lines(b"abc\nd\xff\n")
    with pytest.raises(ShallowsError, match="must be a file, but is a folder"):
        list(bounded.read_blocks(tmp_path, remedy="", longest=8))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_byte_order_mark_changes_nothing(mark: str, tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text(f"{mark}start_ns,source,destination,bytes\n0,0,1,3000\n", encoding="utf-8")
    path = tmp_path / "listed.toml"
    path.write_text(f"{mark}{QUIET}", encoding="utf-8")
    assert sh.run(path, out=tmp_path / "run").flows["size_bytes"].to_list() == [3000]


@pytest.mark.parametrize(
    "start", ["1e999999", "1e-999999", "9" * 5_000, "1e" + "9" * 5_000, "0." + "1" * 5_000]
)
def test_a_start_of_any_number_of_digits_is_refused_at_once(start: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.cm"
    path.write_text(MATRIX.format(start=start, size=1500))
    began = time.monotonic()
    with pytest.raises(ShallowsError, match=r"hostile.cm:3: start") as refused:
        import_htsim(path, None)
    assert time.monotonic() - began < 1
    assert len(str(refused.value)) < 300


def test_a_whole_number_of_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hostile.cm"
    path.write_text(MATRIX.format(start=0, size="9" * 5_000))
    with pytest.raises(ShallowsError, match=r"size must be a whole number"):
        import_htsim(path, None)


@pytest.mark.parametrize("name", ["x" * 9_000, "a\0b"])
def test_a_file_of_an_impossible_name_is_not_there(name: str, tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_text(f"TOPOLOGY_FILE {name}\nFLOW_FILE flow.txt\nCC_MODE 8\nEWMA_GAIN 0.1\nENABLE_QCN 0\n")
    with pytest.raises(
        ShallowsError, match=r"config.txt:1: the file of TOPOLOGY_FILE does not exist"
    ) as refused:
        import_hpcc(path)
    assert len(str(refused.value)) < 2_000


def test_products_of_numbers_within_the_bounds_are_exact() -> None:
    # 40 nines times 10^12 + 1 have 53 digits, of which Python's arithmetic would keep 28.
    digits = "9" * 40
    product = bounded.EXACT.multiply(bounded.decimal(digits), Decimal(10**12 + 1))
    assert int(product) == int(digits) * (10**12 + 1)


def test_a_tree_of_more_links_than_any_memory_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.topo"
    # 65,536 ToR switches below as many others: 4,294,967,296 links.
    path.write_text(
        "Nodes 65536\nTiers 2\nPodsize 65536\n"
        "Tier 0\nDownlink_speed_Gbps 65536\nRadix_Up 65536\nRadix_Down 1\nDownlink_Latency_ns 1\n"
        "Tier 1\nDownlink_speed_Gbps 1\nRadix_Down 65536\nDownlink_Latency_ns 1\n"
    )
    matrix = tmp_path / "flows.cm"
    matrix.write_text("Nodes 65536\nConnections 1\n0->1 start 0 size 1\n")
    with pytest.raises(
        ShallowsError, match=r"huge.topo:1: a fat tree must have at most 1048576 links, got 4295032832"
    ):
        import_htsim(matrix, path)


CLAIMS = """title = "t"
[experiment.x]
figures = ["1"]
scenario = "x.toml"
axis = "load"
[[claim]]
id = "c"
experiment = "x"
kind = "value"
source = "s"
metric = "m"
expected = 1
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "value"', "kind = []", "unknown kind"),
        ('id = "c"', "id = {}", "id must be a string"),
        ("expected = 1", "expected = nan", "expected must be a number, a size"),
        ("expected = 1", f"expected = {'9' * 5_000}", "Exceeds the limit"),
        ("expected = 1", f"expected = {'[' * 5_000}", "nested too deeply|expected.toml"),
        ("expected = 1", 'expected = "soon"', "expected must be a number, a size"),
        ('figures = ["1"]', "figures = 1", "figures must be a list of strings"),
        ('axis = "load"', "quick = []", "quick must be a table"),
        ("[experiment.x]", "[experiment]\nx = 1\n[ignored]", "unknown key ignored"),
    ],
)
def test_a_value_of_another_type_in_a_file_of_claims_is_named(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in CLAIMS
    (tmp_path / "expected.toml").write_text(CLAIMS.replace(old, new))
    with pytest.raises(ShallowsError, match=message):
        read_claims(tmp_path)


@pytest.mark.parametrize("text", ["{}", "[]", "1", "[" * 100_000, '{"engine": 1, "name": []}', "9" * 5_000])
def test_a_summary_that_is_none_is_said_to_be_damaged(text: str, shell: Shell, scenario: Path) -> None:
    folder = sh.run(scenario, out=scenario.parent / "run").path
    (folder / "summary.json").write_text(text)
    done = shell("report", folder)
    assert done.returncode == 1
    assert "summary.json" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64, pytest.param(10**5_000, id="long"), 1.5, "one"])
def test_a_seed_that_is_none_is_refused_with_the_limit(seed: int, scenario: Path) -> None:
    with pytest.raises(ScenarioError, match="9223372036854775807"):
        sh.run(scenario, seed=seed)


def test_the_command_line_knows_no_other_limit_of_seeds(shell: Shell, scenario: Path) -> None:
    for seed in (2**63, 2**64):
        refused = shell("run", scenario, "--seed", str(seed))
        assert refused.returncode == 1
        assert "at most 9223372036854775807" in refused.stderr or "to 9223372036854775807" in refused.stderr
    refused = shell("run", scenario, "--seed", "9" * 5_000)
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
    assert len(refused.stderr) < 1_000


def test_what_a_message_repeats_is_short(shell: Shell, scenario: Path) -> None:
    for setting in (
        "workload.0.load=1e308",
        f"workload.0.load={'9' * 300}.0",
        f"tcp.congestion={'x' * 9_000}",
    ):
        refused = shell("run", scenario, "--set", setting)
        assert refused.returncode == 1
        assert max(map(len, refused.stderr.split())) < 250
    assert "1e308" in shell("run", scenario, "--set", "workload.0.load=1e308").stderr


def test_what_needs_more_memory_than_there_is_is_refused_before_it_is_built(
    shell: Shell, scenario: Path
) -> None:
    many = 'switch.port={kind="hashed-drr", buckets=4000000000}'
    for setting, what in [
        (many, "the buckets or bins of"),
        ('switch.port={kind="sfq", buckets=4000000000}', "the buckets or bins of"),
        ('switch.port={kind="hcf", limit="20p", bins=4000000000}', "the buckets or bins of"),
    ]:
        for command in ("run", "plan"):
            source = scenario
            if command == "plan":
                source = scenario.with_name("swept.toml")
                source.write_text(SMALL + "[sweep]\naxes = { seed = [1] }\n")
            refused = shell(command, source, "--set", setting)
            assert refused.returncode == 1, refused.stderr
            assert what in refused.stderr
            assert "fewer buckets or bins" in refused.stderr


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"measure.sample_queues": "1ns", "stop.at": "10000s"}, "samples of one port"),
        (
            {
                "workload": [{"kind": "ping", "senders": [0], "receivers": [1], "interval": "1ps"}],
                "stop.at": "1s",
            },
            "echo requests",
        ),
        (
            {
                "workload": [
                    {
                        "kind": "partition-aggregate",
                        "clients": [0],
                        "workers": [1],
                        "size": "1KB",
                        "arrivals": {"kind": "periodic", "period": "1ps"},
                    }
                ],
                "stop.at": "1s",
            },
            "flows",
        ),
    ],
)
def test_what_would_record_more_than_memory_holds_is_refused(
    changes: dict[str, object], what: str, scenario: Path, tmp_path: Path
) -> None:
    with pytest.raises(ShallowsError, match=what) as refused:
        sh.run(scenario, changes, out=tmp_path / "run")
    assert refused.value.remedy
    assert not (tmp_path / "run").exists()


def test_a_run_whose_records_use_up_the_memory_ends_with_what_they_are(
    endless: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source.read(endless, (("measure.sample_queues", "1us"),))
    experiment = source.parse()
    monkeypatch.setattr(memory, "refuse_too_large", lambda _: None)
    monkeypatch.setattr(memory, "available_mb", lambda: 0.001)
    monkeypatch.setattr("shallows.runs.executing.refuse_too_large", lambda _: None)
    with pytest.raises(
        ShallowsError, match=r"the run was stopped after .* of simulated time: .* of memory are free"
    ) as refused:
        execute(source, experiment, endless.parent / "run")
    assert "the results of this run are lost" in refused.value.remedy
    assert not (endless.parent / "run").exists()


LARGE = """
[topology]
kind = "leaf-spine"
leaves = 512
spines = 512
hosts_per_leaf = 256
rate = "10Gbps"
uplink_rate = "10Gbps"
link_delay = "1us"
[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
[stop]
at = "1s"
[[workload]]
kind = "long-lived"
senders = "0"
receivers = "1"
"""

INTERRUPTED = """
import signal, sys, time
from shallows.runs.source import Source

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
source = Source.read(sys.argv[1])
signal.setitimer(signal.ITIMER_REAL, 0.2)
began = time.monotonic()
try:
    source.parse()
    print("built")
except KeyboardInterrupt:
    print(time.monotonic() - began)
"""


def test_building_a_network_can_be_interrupted(tmp_path: Path) -> None:
    # 134 million routes: many seconds, in which no signal was heard.
    path = tmp_path / "large.toml"
    path.write_text(LARGE)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, path], capture_output=True, text=True, timeout=60, check=True
    )
    assert float(done.stdout) < 2


def test_what_is_not_modelled_is_said_so_with_what_is(shell: Shell, scenario: Path) -> None:
    for setting, expected in [
        ("tcp.congestion=dcqcn", ['"dcqcn" is not allowed here (it controls queue pairs', '"cubic"']),
        ("tcp.congestion.kind=BBR", ['"BBR" is not modelled; expected one of', '"reno"']),
        ("tcp.congestion=pint", ['"pint" is not allowed here (set', 'roce.congestion = "hpcc-pint"']),
        ("roce.recovery=go-back-0", ['"go-back-0" is not modelled; expected one of', '"go-back-n"']),
        ("switch.pfc=true", ["not allowed here (set switch.lossless); allowed keys:", "buffer"]),
        ("topology.rate=10gbps", ['did you mean "10Gbps"?']),
    ]:
        refused = shell("run", scenario, "--set", setting)
        assert refused.returncode == 1
        for text in expected:
            assert text in refused.stderr


def test_ports_that_no_pattern_finds_come_with_what_to_write(scenario: Path) -> None:
    with pytest.raises(ScenarioError, match=r"\* matches any text, .*: .*to-host"):
        sh.Scenario.load(scenario, {"measure.traces": [{"ports": ["nowhere*"]}]})
    with pytest.raises(
        ScenarioError, match=r'must be a list in brackets, such as \["to-host"\], got "to-host"'
    ):
        sh.Scenario.load(scenario, {"measure.traces": [{"ports": "to-host"}]})
    with pytest.raises(ScenarioError, match="must name at least one port: give a list of names"):
        sh.Scenario.load(scenario, {"measure.traces": [{"ports": []}]})


def test_a_run_without_losses_is_a_note_and_no_warning(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("start_ns,source,destination,bytes\n0,0,1,3000\n")
    (tmp_path / "quiet.toml").write_text(QUIET)
    done = shell("run", "quiet.toml", "--out", "calm")
    assert "note: no packet was dropped" in done.stdout
    assert "warning: no packet was dropped" not in done.stdout
    assert sh.Run(tmp_path / "calm").summary["observations"] == [
        "no packet was dropped: buffer limits and loss recovery had no effect"
    ]
    page = (tmp_path / "calm" / "report.html").read_text()
    assert page.index("no packet was dropped") > page.index("Results")


def test_a_pandas_frame_names_the_extra_that_it_needs(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import polars as pl

    run = sh.run(scenario, out=scenario.parent / "run")

    def missing(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("pyarrow is required")

    monkeypatch.setattr(pl.DataFrame, "to_pandas", missing)
    with pytest.raises(ShallowsError, match="pyarrow") as refused:
        run.flows.to_pandas()
    assert "shallows[pandas]" in refused.value.remedy


def test_a_number_of_5000_digits_given_in_python_is_refused(scenario: Path) -> None:
    with pytest.raises(ShallowsError, match="a whole number must have at most 40 digits"):
        sh.Scenario.load(scenario, {"seed": 10**5_000})


def test_a_matrix_of_more_hosts_than_the_engine_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "many.cm").write_text("Nodes 200000\nConnections 1\n0->1 start 0 size 1000\n")
    with pytest.raises(ShallowsError, match=r"many.cm:1.*Nodes"):
        import_htsim(tmp_path / "many.cm", None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a\nb", "control character"), ("a\0b", "control character"), ("x" * 5_000, "5,000 characters")],
)
def test_names_of_folders_that_no_system_has_are_refused_before_anything_runs(
    name: str, expected: str, scenario: Path
) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: sh.run(scenario, out=name),
        lambda: sh.Scenario.load(scenario).run(out=name),
        lambda: sh.sweep(scenario, out=name),
        lambda: sh.Run(name),
    ]
    for attempt in attempts:
        with pytest.raises(sh.ShallowsError, match=expected):
            attempt()


@pytest.mark.parametrize(
    "command", [("report",), ("compare",), ("run", "SCENARIO", "--out"), ("plan", "SCENARIO", "--out")]
)
def test_commands_refuse_folders_with_names_that_no_system_has(
    command: tuple[str, ...], scenario: Path, shell: Shell
) -> None:
    given = [str(scenario) if word == "SCENARIO" else word for word in command]
    done = shell(*given, "z" * 5_000)
    assert (done.returncode, done.stdout) == (1, "")
    assert "is too long for the system: 5,000 characters" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("serve", "NAME"),
        ("import", "hpcc", "NAME", "-o", "a.toml"),
        ("import", "htsim", "NAME", "-o", "a.toml"),
        ("export", "hpcc", "NAME"),
        ("reproduce", "hcf", "--experiments", "NAME"),
        ("merge", "SCENARIO", "NAME"),
        ("explain", "NAME"),
    ],
)
def test_a_path_that_is_too_long_is_an_error_of_ours_wherever_a_folder_may_be_named(
    command: tuple[str, ...], scenario: Path, shell: Shell
) -> None:
    words = {"SCENARIO": str(scenario), "NAME": "z" * 300}
    done = shell(*(words.get(word, word) for word in command))
    assert done.returncode in {1, 2}
    assert done.stderr.startswith("shallows: ")
    assert "Traceback" not in done.stderr


def test_a_folder_may_have_a_name_with_unusual_spaces_and_letters(tmp_path: Path) -> None:
    # A no-break space and a letter for private use are not printable to Python, but no control characters.
    for name in ("a\xa0b", "é", "\ue000"):
        assert bounded.folder_of(tmp_path / name) == tmp_path / name


def test_an_object_that_is_no_path_is_no_run() -> None:
    with pytest.raises(sh.ShallowsError, match="a run must be named by a string or a Path, got None"):
        sh.Run(None)  # type: ignore[arg-type]
