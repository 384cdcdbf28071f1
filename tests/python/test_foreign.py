"""Tests of other simulators' files: they are imported, rejected with the line, and exported."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shallows
from pages import ROOT
from shallows.errors import ScenarioError, ShallowsError
from shallows.foreign import export
from shallows.foreign.hpcc import import_hpcc
from shallows.foreign.hpcc_config import Arguments
from shallows.foreign.htsim import import_htsim
from shallows.foreign.ignoring import Ignored
from shallows.foreign.writing import write
from shallows.runs.network import Network, network
from shallows.runs.source import Source
from shared import Shell

FILES = ROOT / "experiments" / "foreign"
"""Folder of hand-made files in the formats of other simulators."""

EXPECTED = Path(__file__).parent / "foreign"
"""Folder of expected scenarios, and of files as derived simulators of HPCC and htsim_uec have them."""

UNMODELLED = Ignored(unmodelled=True)


def network_of(scenario: Path) -> Network:
    return network(json.loads(Source.read(scenario).parse().resolved())["topology"])


def lines(text: str) -> list[str]:
    return text.splitlines()


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_hpcc_files_become_the_scenario_that_they_describe(hpcc: Path, tmp_path: Path) -> None:
    write(import_hpcc(hpcc), tmp_path / "hpcc.toml")
    for name in ("hpcc.toml", "hpcc.flows.csv"):
        assert (tmp_path / name).read_text() == (EXPECTED / name).read_text()


def test_the_last_of_repeated_links_carries_packets_as_in_hpccs_reader(hpcc: Path, tmp_path: Path) -> None:
    # nbr2if of third.cc is a map by pairs of nodes: the last link replaces the others, in either order.
    before = hpcc / "topology.txt"
    change(before, "6 2 5", "6 2 6")
    (links := before.read_text().rstrip("\n").split("\n")).append("5 4 100Gbps 3us 0")
    before.write_text("\n".join(links) + "\n")
    imported = import_hpcc(hpcc)
    assert any(
        "left out (line 7): links between nodes that a later line links again" in note
        for note in imported.notes
    ), imported.notes
    out = tmp_path / "repeated.toml"
    write(imported, out)
    between = [cable for cable in network_of(out).cables if cable.one >= 4]
    assert [(cable.rate_bps, cable.delay_ps) for cable in between] == [(10**11, 3 * 10**6)]


@pytest.mark.parametrize(
    ("family", "config", "ignored"),
    [
        ("powertcp", "examples/ours/config.txt", UNMODELLED),
        ("reverie", "config.txt", Ignored()),
        ("hawkeye", "mix/config.txt", UNMODELLED),
        ("conweave", "config.txt", Ignored()),
        ("simai", "config.txt", UNMODELLED),
    ],
)
def test_files_of_hpccs_descendants_are_read_as_their_programs_read_them(
    family: str, config: str, ignored: Ignored, tmp_path: Path
) -> None:
    root = EXPECTED / family
    write(import_hpcc(root / config, ignored, Arguments(root=root)), tmp_path / f"{family}.toml")
    for name in (f"{family}.toml", f"{family}.flows.csv"):
        assert (tmp_path / name).read_text() == (EXPECTED / name).read_text()


@pytest.mark.parametrize("matrix", ["messages", "endless", "microseconds"])
def test_matrices_of_htsims_other_programs_are_read_as_they_read_them(matrix: str, tmp_path: Path) -> None:
    write(import_htsim(EXPECTED / f"{matrix}.cm", None), tmp_path / f"{matrix}.toml")
    for name in (f"{matrix}.toml", f"{matrix}.flows.csv"):
        assert (tmp_path / name).read_text() == (EXPECTED / name).read_text()


@pytest.mark.parametrize(("matrix", "tree"), [("incast", True), ("permutation", False)])
def test_htsim_files_become_the_scenario_that_they_describe(matrix: str, tree: bool, tmp_path: Path) -> None:
    topology = FILES / "htsim" / "tree.topo" if tree else None
    write(import_htsim(FILES / "htsim" / f"{matrix}.cm", topology), tmp_path / f"{matrix}.toml")
    for name in (f"{matrix}.toml", f"{matrix}.flows.csv"):
        assert (tmp_path / name).read_text() == (EXPECTED / name).read_text()


def test_an_idle_path_takes_what_can_be_reckoned_by_hand(shell: Shell, hpcc: Path, tmp_path: Path) -> None:
    # Host 0 to 2: 1,000 bytes are 1,064 on the wire, 85.12 ns at 100 Gb/s and 21.28 ns at 400; links of 1, 2
    # and 1 us: 4,191.52 ns. The acknowledgement of 52 bytes: 4.16 + 1.04 + 4.16 + 4,000 ns. In all 8,200.88.
    # 4,000 bytes are four packets, 3 · 83.84 ns more. One byte is 65: 5.20 + 1.30 + 5.20 + 4,000 + 4,009.36.
    # The ideal has acknowledgements without AETH, 0.72 ns less.
    assert shell("import", "hpcc", hpcc, "-o", "mine.toml").returncode == 0
    run = shell("run", "mine.toml", "--out", "run")
    assert run.returncode == 0, run.stderr
    assert shell("export", "hpcc", "run", "-o", "fct.txt", "--flow", "flow.txt").returncode == 0
    assert lines((tmp_path / "fct.txt").read_text()) == [
        "0b000001 0b000201 1024 100 1000 2000000000 8201 8200",
        "0b000101 0b000301 1024 100 4000 2000001000 8452 8452",
        "0b000201 0b000101 1024 200 1 2000003000 8021 8020",
    ]
    assert (tmp_path / "flow.txt").read_text() == (FILES / "hpcc" / "flow.txt").read_text()


def test_flows_of_a_matrix_wait_for_their_triggers(shell: Shell, tmp_path: Path) -> None:
    shutil.copy(FILES / "htsim" / "incast.cm", tmp_path)
    shutil.copy(FILES / "htsim" / "tree.topo", tmp_path)
    imported = shell("import", "htsim", "incast.cm", "--topo", "tree.topo", "-o", "mine.toml")
    assert imported.returncode == 0, imported.stderr
    assert shell("run", "mine.toml", "--out", "run").returncode == 0
    flows = shallows.Run(tmp_path / "run").flows
    found = {
        (row["source"], row["destination"]): (
            row["arrival_us"],
            row["arrival_us"] + row["fct_receiver_us"],
            row["arrival_us"] + row["fct_sender_us"],
        )
        for row in flows.iter_rows(named=True)
    }
    last = max(found[sender, 0][1] for sender in (1, 2, 3))
    assert found[0, 4][0] == pytest.approx(last, abs=1e-6), "the barrier opens with the last of three"
    assert found[4, 5][0] == pytest.approx(found[0, 4][2], abs=1e-6), "when the sender knows"
    assert found[5, 6][0] == pytest.approx(found[4, 5][1], abs=1e-6), "the first shot"
    assert found[6, 7][0] == pytest.approx(found[5, 6][1], abs=1e-6), "the second"


def test_a_fat_tree_has_the_delays_of_its_switches_on_every_path(tmp_path: Path) -> None:
    # Host 0 to host 15, by a core switch: links of 1, 2, 3, 3, 2 and 1 us; two ToR switches of 400 ns, two
    # aggregation switches of 500 ns, a core switch of 600 ns. Together 14.4 us.
    write(import_htsim(FILES / "htsim" / "incast.cm", FILES / "htsim" / "tree.topo"), tmp_path / "tree.toml")
    built = network_of(tmp_path / "tree.toml")
    names = built.hosts + built.switches
    delays = {frozenset((names[a], names[b])): delay for a, b, _, delay in built.cables}
    path = ["host0", "tor0", "agg1", "core3", "agg7", "tor7", "host15"]
    assert sum(delays[frozenset(pair)] for pair in pairwise(path)) == 14_400_000
    # 16 links to hosts, 8 ToR switches with 2 links up, 8 aggregation switches with 2.
    assert len(built.cables) == 16 + 16 + 16


def test_bundles_are_links_side_by_side_and_two_tiers_have_no_core(tmp_path: Path) -> None:
    # Two ToR switches of two hosts, each with two links of 100 Gb/s to one switch above.
    topology = tmp_path / "two.topo"
    topology.write_text(
        "nodes 4\ntiers 2\npodsize 4\n"
        "Tier 0\nDownlink_speed_Gbps 100\nRadix_Up 2\nRadix_Down 2\nDownlink_Latency_ns 1000\n"
        "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nBundle 2\nDownlink_Latency_ns 1000\n"
    )
    matrix = tmp_path / "one.cm"
    matrix.write_text("Nodes 4\nConnections 1\n0->3 start 0 size 1000\n")
    write(import_htsim(matrix, topology), tmp_path / "two.toml")
    built = network_of(tmp_path / "two.toml")
    assert built.switches == ["tor0", "tor1", "agg0"]
    assert [cable[:2] for cable in built.cables[4:]] == [(4, 6), (4, 6), (5, 6), (5, 6)]


def test_several_priority_groups_have_queues_that_take_turns(hpcc: Path, tmp_path: Path) -> None:
    change(hpcc / "flow.txt", "1 3 3", "1 3 5")
    write(import_hpcc(hpcc), tmp_path / "mine.toml")
    scenario = shallows.Scenario.load(tmp_path / "mine.toml").resolved
    assert scenario["switch"]["port"]["classes"] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert scenario["host"]["nic"]["port"] == scenario["switch"]["port"]
    assert scenario["switch"]["lossless"]["classes"] == [3, 5]
    assert lines((tmp_path / "mine.flows.csv").read_text())[2] == "2000001000,1,3,4000,5,100"


def test_what_has_no_counterpart_is_named_with_all_its_lines(hpcc: Path, shell: Shell) -> None:
    with (hpcc / "config.txt").open("a") as file:
        file.write("HAS_WIN 0\nMONITOR_QPS 1\n")
    refused = shell("import", "hpcc", hpcc, "-o", "mine.toml")
    assert refused.returncode == 1
    assert "config.txt:17: HAS_WIN: 0 (no window) is not modelled; only 1 is\n" in refused.stderr
    assert "config.txt:18: MONITOR_QPS: unknown key; the import would ignore it\n" in refused.stderr
    assert refused.stderr.endswith("or import without them: --ignore KEY for each, or --ignore-unmodelled\n")
    each = shell("import", "hpcc", hpcc, "-o", "a.toml", "--ignore", "HAS_WIN", "--ignore", "MONITOR_QPS")
    every = shell("import", "hpcc", hpcc, "-o", "b.toml", "--ignore-unmodelled")
    assert each.returncode == every.returncode == 0
    for text in (each.stdout, every.stdout, (hpcc.parent / "a.toml").read_text()):
        assert "left out on request: HAS_WIN 0, MONITOR_QPS 1\n" in text


def test_what_hpcc_passes_over_is_left_out_with_a_note(hpcc: Path) -> None:
    before = import_hpcc(hpcc)
    with (hpcc / "topology.txt").open("a") as file:
        file.write("\n4 5 1Gbps 1us 0\nFirst line: nodes, switches, links\n")
    with (hpcc / "flow.txt").open("a") as file:
        file.write("0 1 9 once unread\n")
    change(hpcc / "config.txt", "KMIN_MAP 2 1", "KMIN_MAP 3 100000000000 7 1")
    change(hpcc / "config.txt", "CC_MODE 8", "# not so: CC_MODE 3\nCC_MODE 8 or so")
    after = import_hpcc(hpcc)
    assert (after.tables, after.flows) == (before.tables, before.flows)
    assert [note for note in after.notes if note not in before.notes] == [
        "config.txt:8: CC_MODE is read from this line, because HPCC has no comments",
        "config.txt:9: CC_MODE is repeated; this line counts, as in HPCC",
        "config.txt:9: or so: left out, because HPCC skips such words",
        "config.txt:16: KMIN_MAP repeats rate 100000000000; the last value counts, as in HPCC",
        "topology.txt: left out from line 9 on (2 lines), as in HPCC: the first line states 5 links",
        "flow.txt: left out from line 5 on (1 line), as in HPCC: the first line states 3 flows",
    ]


def test_a_switch_that_is_listed_again_is_one_switch_with_a_note(hpcc: Path) -> None:
    before = import_hpcc(hpcc)
    change(hpcc / "topology.txt", "6 2 5\n4 5\n", "6 3 5\n4 5\n4\n")
    after = import_hpcc(hpcc)
    assert (after.tables, after.flows) == (before.tables, before.flows)
    assert [note for note in after.notes if note not in before.notes] == [
        "topology.txt:3: switch 4 is listed again, after line 2; it counts for the number in the first line, "
        "as in HPCC"
    ]
    # Without switch 5, node 5 is a host.
    change(hpcc / "topology.txt", "6 3 5\n4 5\n4\n", "6 2 5\n4\n4\n")
    with pytest.raises(ShallowsError, match="a link must have a switch at one end, got hosts 2 and 5"):
        import_hpcc(hpcc)


def test_paths_are_from_the_root_of_the_simulator_where_one_is_named(shell: Shell) -> None:
    config = EXPECTED / "powertcp" / "examples" / "ours" / "config.txt"
    refused = shell("import", "hpcc", config, "-o", "mine.toml", "--ignore-unmodelled")
    assert refused.returncode == 1
    assert "config.txt:6: the file of TOPOLOGY_FILE does not exist" in refused.stderr
    assert "name the folder in which HPCC is run: --root DIR" in refused.stderr
    root = EXPECTED / "powertcp"
    accepted = shell("import", "hpcc", config, "-o", "mine.toml", "--ignore-unmodelled", "--root", root)
    assert accepted.returncode == 0, accepted.stderr


def test_links_that_lose_packets_are_left_whole_only_when_asked(hpcc: Path) -> None:
    change(hpcc / "topology.txt", "1us 0", "1us 0.01")
    assert "left out on request: error rates of links (line 3)" in import_hpcc(hpcc, UNMODELLED).notes
    with pytest.raises(ShallowsError, match="the error rate of a link must be 0"):
        import_hpcc(hpcc, Ignored(["RATE_AI"]))


def test_a_network_that_falls_apart_is_refused_with_the_places_and_notes_of_what_was_imported(
    hpcc: Path, shell: Shell, tmp_path: Path
) -> None:
    # The fifth link, line 7, joins the two switches; the first line counts four, so HPCC does not read it.
    change(hpcc / "topology.txt", "6 2 5", "6 2 4")
    refused = shell("import", "hpcc", hpcc, "-o", "mine.toml")
    assert refused.returncode == 1
    topology = hpcc / "topology.txt"
    assert f"{topology}: the imported scenario cannot run: topology.links: no path connects" in refused.stderr
    assert (
        "note: topology.txt: left out from line 7 on (1 line), as in HPCC: the first line states 4 links"
        in refused.stderr
    )
    assert "mine.toml" not in refused.stderr
    assert list(tmp_path.glob("mine*")) == []


def test_a_flow_that_cannot_run_is_refused_at_its_line_in_what_was_imported(tmp_path: Path) -> None:
    # Each of the two waits for the other, which the engine finds.
    path = tmp_path / "circle.cm"
    path.write_text(
        "# a comment\nNodes 3\nConnections 3\nTriggers 2\n0->1 start 5 size 10\n\n"
        "1->2 id 1 trigger 1 size 10 recv_done_trigger 2\n2->1 id 2 trigger 2 size 10 recv_done_trigger 1\n"
        "trigger id 1 oneshot\ntrigger id 2 oneshot\n"
    )
    with pytest.raises(ScenarioError) as refused:
        write(import_htsim(path, None), tmp_path / "mine.toml")
    first, *notes = lines(str(refused.value))
    assert first.startswith(f"{path}:7: the flow cannot run: flows must not wait for each other in a circle")
    assert "  note: no --topo: every host has a link of 100 Gbps to one switch" in notes


def test_hpccs_own_sizes_end_at_32_bits_and_powertcps_do_not(hpcc: Path) -> None:
    change(hpcc / "flow.txt", "100 4000", "100 4294967296")
    note = "flow.txt: HPCC cannot read sizes of 4 GiB and more (line 3)"
    assert note in import_hpcc(hpcc).notes
    change(hpcc / "topology.txt", "6 2 5", "6 2 2 5")
    assert note not in import_hpcc(hpcc).notes


@pytest.mark.parametrize(("unit", "start"), [(None, 3_000_000), ("us", 3_000_000), ("ps", 3)])
def test_starts_are_in_the_unit_of_the_program_that_reads_them(unit: str | None, start: int) -> None:
    # 3 and 12: htsim_uec has microseconds; 3 ps is less than a bit at any rate, so that only it can be meant.
    imported = import_htsim(EXPECTED / "microseconds.cm", None, start_unit=unit)
    assert imported.flows[0].start_ps == start


def test_flows_without_an_end_need_no_list(tmp_path: Path) -> None:
    path = tmp_path / "two.cm"
    path.write_text("Nodes 3\nConnections 2\n0->1 start 0 size 0\n2->1 start 0 size 0\n")
    assert write(import_htsim(path, None), tmp_path / "two.toml") == [tmp_path / "two.toml"]
    [workload] = shallows.Scenario.load(tmp_path / "two.toml").resolved["workload"]
    assert workload["kind"] == "long-lived"


def test_what_a_matrix_loses_is_listed(tmp_path: Path) -> None:
    path = Path(shutil.copy(FILES / "htsim" / "incast.cm", tmp_path))
    change(path, "id 2", "id 2 prio 3")
    change(path, "id 3", "addon id 3")
    imported = import_htsim(path, None, UNMODELLED)
    assert imported.flows == import_htsim(FILES / "htsim" / "incast.cm", None).flows
    assert "left out on request: prio (line 6), addon (line 7)" in imported.notes


@pytest.mark.parametrize("ignored", [UNMODELLED, Ignored(["colour", "comment"])])
def test_words_of_a_matrix_that_nobody_knows_are_passed_over_when_asked(
    ignored: Ignored, tmp_path: Path
) -> None:
    path = Path(shutil.copy(FILES / "htsim" / "incast.cm", tmp_path))
    change(path, "id 2", "colour 3 4 id 2")
    change(path, "Triggers 3\n", "Triggers 3\ncomment of a further program\n")
    imported = import_htsim(path, None, ignored)
    before = import_htsim(FILES / "htsim" / "incast.cm", None)
    assert list(zip(imported.flows.column("source"), imported.flows.column("size"), strict=True)) == list(
        zip(before.flows.column("source"), before.flows.column("size"), strict=True)
    )
    assert "left out on request: comment (line 5), colour (line 7)" in imported.notes


@pytest.mark.parametrize("ignored", [UNMODELLED, Ignored(["Queue_Up", "queue_down", "Vendor"])])
def test_keys_of_a_fat_tree_that_the_scenario_lacks_are_passed_over_when_asked(
    ignored: Ignored, tmp_path: Path
) -> None:
    # Further programs set the queues of each tier so; csg-htsim passes over every key that it does not know.
    path = Path(shutil.copy(FILES / "htsim" / "tree.topo", tmp_path))
    change(path, "Podsize 4\n", "Podsize 4\nVendor of two words\n")
    change(path, "Tier 0\n", "Tier 0\nQueue_Up 100\nQueue_Down 200\n")
    change(path, "Tier 1\n", "Tier 1\nQueue_Up 100\n")
    imported = import_htsim(FILES / "htsim" / "permutation.cm", path, ignored)
    before = import_htsim(FILES / "htsim" / "permutation.cm", FILES / "htsim" / "tree.topo")
    assert imported.tables == before.tables
    note = "tree.topo: left out on request: Vendor (line 5), Queue_Up (lines 7, 15), Queue_Down (line 8)"
    assert note in imported.notes
    with pytest.raises(ShallowsError) as refused:
        import_htsim(FILES / "htsim" / "permutation.cm", path, Ignored(["Vendor", "Queue_Down"]))
    assert refused.value.message == f"{path}:7: unknown key Queue_Up of a tier"
    assert refused.value.remedy.endswith("or import without it: --ignore Queue_Up")


def test_a_word_to_ignore_that_no_file_has_is_refused() -> None:
    with pytest.raises(ShallowsError, match="--ignore Queue_Upp: the files have no such key"):
        import_htsim(
            FILES / "htsim" / "permutation.cm", FILES / "htsim" / "tree.topo", Ignored(["Queue_Upp"])
        )


def test_messages_of_a_connection_follow_one_another(tmp_path: Path, shell: Shell) -> None:
    assert shell("import", "htsim", EXPECTED / "messages.cm", "-o", "mine.toml").returncode == 0
    run = shell("run", "mine.toml", "--set", "host.jitter=off", "--out", "run")
    assert run.returncode == 0, run.stderr
    flows = shallows.Run(tmp_path / "run").flows
    ends = {
        (row["source"], row["size_bytes"]): row["arrival_us"] + row["fct_receiver_us"]
        for row in flows.iter_rows(named=True)
    }
    assert ends[0, 9000] < ends[0, 5000] < ends[0, 4000], "all three waited for the connection, in order"
    ports = {row["source_port"] for row in flows.iter_rows(named=True) if row["source"] == 0}
    assert len(ports) == 1, "one connection"


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("topology.txt", "6 2 5", "6 2 5 9 9", "topology.txt:1: the line must have 3 words, got 5"),
        ("topology.txt", "6 2 5", "6 2 6", "topology.txt:1: this line states 6 links; the file lists 5"),
        ("topology.txt", "6 2 5", "6 2 5 5 9 H100", "topology.txt:1: the topology has 5 NVSwitches"),
        (
            "topology.txt",
            "4 5\n",
            "4\n",
            "topology.txt:3: the lines above list 1 switches; the first line states 2",
        ),
        (
            "topology.txt",
            "4 5\n",
            "4 5 0\n",
            "topology.txt:2: the file lists 3 switches; the first line states 2",
        ),
        (
            "topology.txt",
            "0 4 100Gbps",
            "0 6 100Gbps",
            'topology.txt:3: node must be a whole number from 0 to 5, got "6"',
        ),
        (
            "topology.txt",
            "0 4 100Gbps",
            "0 1 100Gbps",
            "topology.txt:3: a link must have a switch at one end, got hosts 0 and 1",
        ),
        (
            "topology.txt",
            "4 5 400Gbps",
            "5 5 400Gbps",
            "topology.txt:7: a link must join two different nodes, got 5 for both",
        ),
        (
            "topology.txt",
            "1 4 100Gb/s",
            "0 5 100Gb/s",
            "topology.txt:4: host 0 must have one link, got a second",
        ),
        ("topology.txt", "100Gbps", "fast", 'topology.txt:3: "fast" is not a rate'),
        ("topology.txt", "1us 0", "1us 0.01", "topology.txt:3: the error rate of a link must be 0, got 0.01"),
        ("topology.txt", "0.001ms", "a", 'topology.txt:4: the delay "a" is not a time'),
        ("flow.txt", "3\n", "0\n", "flow.txt:1: the number of flows must be at least 1, got 0"),
        ("flow.txt", "3\n", "4\n", "flow.txt:1: this line states 4 flows; the file lists 3"),
        ("flow.txt", "1 3 3 100", "1 3 3", "flow.txt:3: the line must have 6 words, got 5"),
        ("flow.txt", "1 3 3", "1 4 3", "flow.txt:3: the flow's node 4 is not a host"),
        (
            "flow.txt",
            "1 3 3",
            "1 3 0",
            'flow.txt:3: the priority group must be a whole number from 1 to 7, got "0"',
        ),
        ("flow.txt", "100 4000", "100 0", "flow.txt:3: the size must be a whole number from 1 to"),
        ("flow.txt", "2.000001", "1.9", "flow.txt:3: the flow starts before the flow in the line above"),
        ("flow.txt", "2.000001", "soon", 'flow.txt:3: the start "soon" is not a number'),
        (
            "config.txt",
            "CC_MODE 8\n",
            "CC_MODE\n8\n",
            "config.txt:8: CC_MODE must have 1 values in this line, got 0",
        ),
        ("config.txt", "CC_MODE 8\n", "CC_MODE 8\nLB_MODE 9\n", "config.txt:9: LB_MODE: load balancing 9"),
        ("config.txt", "RATE_AI", "RATE_IA", "config.txt:10: RATE_IA: unknown key"),
        (
            "config.txt",
            "KMIN_MAP 2",
            "KMIN_MAP 3",
            "config.txt:15: KMIN_MAP must have 7 values in this line, got 5",
        ),
        (
            "config.txt",
            "KMIN_MAP 2",
            "KMIN_MAP two",
            "config.txt:15: the count of KMIN_MAP must be a whole number",
        ),
        (
            "config.txt",
            "400000000000 400\n",
            "4 400\n",
            "config.txt:15: KMIN_MAP has no entry for links of 400000000000",
        ),
        ("config.txt", "EWMA_GAIN 0.0625\n", "", "config.txt: EWMA_GAIN is missing"),
        ("config.txt", "LINK 0.0000", "LINK 0.001", "config.txt:11: ERROR_RATE_PER_LINK: no counterpart"),
        ("config.txt", "topology.txt", "gone.txt", "config.txt:4: the file of TOPOLOGY_FILE does not exist"),
    ],
)
def test_a_bad_line_of_hpcc_is_named(hpcc: Path, file: str, old: str, new: str, message: str) -> None:
    change(hpcc / file, old, new)
    with pytest.raises(ShallowsError) as refused:
        import_hpcc(hpcc)
    assert message in refused.value.message
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Connections 7", "Connections 8", ":3: Connections must be 7, the number that the file lists, got"),
        ("Triggers 3\n", "", ": Triggers must be 3, the number that the file lists, got 0"),
        ("2->0", "2>0", ':6: "2>0" cannot begin a line of a connection matrix'),
        ("2->0", "2->2", ":6: source and destination must differ, got 2 for both"),
        ("2->0", "2->16", ":6: destination must be a node from 0 to 15, got 16"),
        ("id 2 start 1000000", "id 2", ":6: a flow must have either start or trigger"),
        ("id 2 start 1000000", "id 2 start now", ':6: start "now" is not a number'),
        ("id 2", "id 1", ":6: id 1 is given twice; line 5 has it too"),
        ("id 2", "id 2 prio 3", ":6: prio: priorities of a receiver's pulls"),
        ("id 2", "id 2 colour 3", ':6: unknown word "colour"'),
        (
            "15000 recv_done_trigger 1\n3->0",
            "0 recv_done_trigger 1\n3->0",
            ":6: a flow of size 0 is unbounded",
        ),
        ("15000 recv_done_trigger 1\n3->0", "-1\n3->0", ":6: size must be a whole number from 0 to"),
        ("2->0 id 2", "1->0 id 2 msg", ":6: id must be 1, as in other lines with the same hosts, got 2"),
        ("2->0 id 2", "2->0 msg", ":6: id is missing"),
        ("trigger 1 size 30000", "trigger 9 size 30000", ":8: trigger 9 does not exist"),
        ("trigger 1 size 30000", "start 0 trigger 1 size 30000", ":8: a flow must have either"),
        (
            "count 3",
            "count 4",
            ":8: trigger 1 is fired 3 times, but would start this flow only if it were fired 4 times",
        ),
        (
            "count 3",
            "count 2",
            ":12: trigger 1 is fired 3 times; this barrier trigger may be fired at most 2 times",
        ),
        (
            "multishot",
            "oneshot",
            ":14: trigger 3 is fired 2 times; this oneshot trigger may be fired at most 1 times",
        ),
        ("multishot", "sometimes", ':14: unknown word "sometimes" of a trigger'),
        ("trigger id 2", "trigger id 1", ":13: trigger 1 is listed twice; line 12 has it too"),
        (
            "trigger id 3 multishot",
            "failure switch_type TOR",
            ":14: failure: failures of links and switches are not modelled",
        ),
    ],
)
def test_a_bad_line_of_a_matrix_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = Path(shutil.copy(FILES / "htsim" / "incast.cm", tmp_path))
    change(path, old, new)
    with pytest.raises(ShallowsError) as refused:
        import_htsim(path, None)
    assert f"incast.cm{message}" in refused.value.message
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Nodes 16", "Nodes 18", "tree.topo:4: Nodes (18) must be a multiple of Podsize, got Podsize 4"),
        ("Tiers 3", "Tiers 2", "tree.topo:3: tiers 0 to 1 must be described, got 0, 1, 2"),
        (
            "Tier 0\nDownlink_speed_Gbps 100\n",
            "Tier 0\n",
            "tree.topo:5: downlink_speed_gbps of tier 0 is missing",
        ),
        ("Radix_Down 4", "Radix_Down 8", "tree.topo:19: Radix_Down must be 4 for 4 pods, got 8"),
        (
            "Downlink_speed_Gbps 100\nRadix_Up",
            "Downlink_speed_Gbps 400\nRadix_Up",
            "tree.topo:5: the rates down (800 Gbps)",
        ),
        ("Switch_Latency_ns", "Queue_Size", "tree.topo:10: unknown key Queue_Size of a tier"),
        ("Podsize 4", "Podsize 4\nNodes 16", "tree.topo:5: Nodes is given twice; line 2 has it too"),
        ("Tier 1", "Tier 0", "tree.topo:11: tier 0 is described twice; line 5 begins it too"),
        ("Podsize 4", "Podsize", "tree.topo:4: the line must have 2 words, got 1"),
    ],
)
def test_a_bad_line_of_a_fat_tree_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = Path(shutil.copy(FILES / "htsim" / "tree.topo", tmp_path))
    change(path, old, new)
    with pytest.raises(ShallowsError) as refused:
        import_htsim(FILES / "htsim" / "permutation.cm", path)
    assert message in refused.value.message
    assert refused.value.remedy


def test_a_start_that_htsim_would_round_is_read_exactly_and_told(tmp_path: Path) -> None:
    # 2^24 + 1 is the first whole number that a 32-bit float cannot hold; it becomes 2^24.
    path = tmp_path / "late.cm"
    path.write_text("Nodes 2\nConnections 1\n0->1 start 16777217 size 3000000000\n")
    imported = import_htsim(path, None)
    assert imported.flows[0].start_ps == 16_777_217
    assert (
        "1 start times are exact here; htsim reads them as 32-bit floats, up to 1 ps off (line 3)"
        in imported.notes
    )
    assert "htsim cannot read sizes of 2 GiB and more, such as that of line 3" in imported.notes


def test_files_that_exist_are_replaced_only_when_asked(hpcc: Path, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "mine.flows.csv").write_text("precious")
    refused = shell("import", "hpcc", hpcc, "-o", "mine.toml")
    assert refused.returncode == 1
    assert "mine.flows.csv exists already" in refused.stderr
    assert (tmp_path / "mine.flows.csv").read_text() == "precious"
    assert shell("import", "hpcc", hpcc, "-o", "mine.toml", "--force").returncode == 0
    assert shell("export", "hpcc", "mine.toml", "--flow", "mine.toml").returncode == 1


def test_a_scenario_of_ours_goes_to_hpcc(scenario: Path, shell: Shell, tmp_path: Path) -> None:
    # A star of five hosts at 10 Gb/s and 10 us; hosts are 0 to 4, the switch is 5.
    assert shell("export", "hpcc", scenario, "--topology", "topology.txt").returncode == 0
    links = [f"{host} 5 10Gbps 10000ns 0" for host in range(5)]
    assert lines((tmp_path / "topology.txt").read_text()) == ["6 1 5", "5", *links]
    refused = shell("export", "hpcc", scenario, "--flow", "flow.txt")
    assert "not known before a run\n  run the scenario, and export" in refused.stderr
    assert shell("run", scenario, "--out", "run").returncode == 0
    assert shell("export", "hpcc", "run", "--flow", "flow.txt", "-o", "fct.txt").returncode == 0
    flows = lines((tmp_path / "flow.txt").read_text())
    assert flows[0] == "60"
    assert len(flows) == 61
    assert all(line.split()[2] == "3" and line.split()[3] == "5001" for line in flows[1:])


@st.composite
def networks(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a topology file, in which a tree of switches has additional links, and a flow file."""
    count = draw(st.integers(1, 4))
    hosts = draw(st.integers(2, 6))
    ids = draw(st.permutations(range(count + hosts)))
    switches, ends = ids[:count], ids[count:]
    pairs = [(switches[n], switches[draw(st.integers(0, n - 1))]) for n in range(1, count)]
    if count > 1:
        pairs += draw(st.lists(st.permutations(switches).map(lambda two: (two[0], two[1])), max_size=3))
    pairs += [(end, draw(st.sampled_from(switches))) for end in ends]
    rates = st.sampled_from(["100Gbps", "400Gbps", "25000000000.0"])
    delays = st.sampled_from(["1us", "0.002ms", "1500ns", "0.0000005s"])
    text = [f"{len(ids)} {count} {len(pairs)}", " ".join(map(str, switches))]
    for one, other in draw(st.permutations(pairs)):
        text.append(f"{one} {other} {draw(rates)} {draw(delays)} 0")
    starts = sorted(draw(st.lists(st.integers(0, 10**13), min_size=1, max_size=5)))
    flows = [str(len(starts))]
    for start in starts:
        pair = draw(st.permutations(sorted(ends)))
        group, port, size = draw(st.tuples(st.integers(1, 7), st.integers(0, 65_535), st.integers(1, 2**40)))
        flows.append(f"{pair[0]} {pair[1]} {group} {port} {size} {start / 10**12:.12f}")
    return "\n".join(text) + "\n", "\n".join(flows) + "\n"


@given(networks())
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
def test_what_is_imported_exported_and_imported_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, files: tuple[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("mix")
    config = (FILES / "hpcc" / "config.txt").read_text().replace("ENABLE_QCN 1", "ENABLE_QCN 0")
    found = []
    for turn in range(2):
        place = folder / str(turn)
        place.mkdir()
        (place / "config.txt").write_text(config)
        for name, text in zip(("topology.txt", "flow.txt"), files, strict=True):
            (place / name).write_text(text)
        imported = import_hpcc(place)
        write(imported, place / "mine.toml")
        experiment = Source.read(place / "mine.toml").parse()
        files = (export.hpcc(place / "mine.toml", "topology"), export.hpcc(place / "mine.toml", "flow"))
        found.append((network(json.loads(experiment.resolved())["topology"]), imported.flows, files))
    assert found[0] == found[1]


def test_a_word_that_is_passed_over_reaches_no_terminal_and_no_scenario_as_it_is(tmp_path: Path) -> None:
    path = Path(shutil.copy(FILES / "htsim" / "incast.cm", tmp_path))
    change(path, "id 2", "\x1b[31mred\x07 id 2")
    change(path, "id 3", f"{'x' * 5_000} id 3")
    write(imported := import_htsim(path, None, UNMODELLED), tmp_path / "mine.toml")
    assert f"left out on request: \ufffd[31mred\ufffd (line 6), {'x' * 40}… (line 7)" in imported.notes
    assert Source.read(tmp_path / "mine.toml").parse().name == "mine"
