"""Tests of pauses over time: their figures, their tree and its victims, and HPCC's file of pauses."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes

import shallows as sh
from shallows import figures
from shallows.reports import pause_tree
from shallows.series.pause_tree import pause_trees
from shallows.series.pauses import Pauses, Sender, pauses_of
from shallows.series.victims import victims
from shared import Shell

EXAMPLE = Path(__file__).parents[2] / "experiments/models/lossless.toml"
"""Three hosts send to host 4 behind the right switch, and host 3 sends to the idle host 5."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> sh.Run:
    """Run of the example for 2 ms."""
    return sh.run(EXAMPLE, {"stop.at": "2ms"}, out=tmp_path_factory.mktemp("pauses") / "run")


def test_times_paused_are_read_from_intervals() -> None:
    pauses = Pauses(np.array([1.0, 5.0]), np.array([3.0, 6.0]))
    assert pauses.until(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.5, 6.0, 9.0])).tolist() == [
        *(0, 0, 1, 2),
        *(2, 2.5, 3, 3),
    ]
    assert pauses.shares(np.array([0.0, 2.0, 6.0])).tolist() == [0.5, 0.5]
    assert pauses.cover(np.array([0.5, 1.0, 2.9, 3.0, 5.5])).tolist() == [False, True, True, False, True]
    never = Pauses(np.array([]), np.array([]))
    assert never.until(np.array([4.0])).tolist() == [0]
    assert never.cover(np.array([4.0])).tolist() == [False]


def test_pauses_over_time_add_up_to_the_times_of_the_ports(run: sh.Run) -> None:
    assert run.pauses is not None
    assert run.pause_times is not None
    found = pauses_of(run)
    rows = run.pauses.filter(pl.col("paused_us") > 0)
    assert {Sender(*row) for row in rows.select("port", "class").iter_rows()} == set(found)
    for port, lossless, count, paused in rows.select(
        "port", "class", "pauses_received", "paused_us"
    ).iter_rows():
        pauses = found[Sender(port, lossless)]
        assert len(pauses.starts) == count
        assert (pauses.ends - pauses.starts).sum() == pytest.approx(paused, abs=1e-3)
        assert (pauses.starts[1:] >= pauses.ends[:-1]).all()
    assert run.pause_times["start_us"].is_sorted()


def test_the_tree_begins_at_the_congested_switch_and_ends_at_hosts(run: sh.Run) -> None:
    (tree,) = pause_trees(run)
    # Only the link to host 4 has more than one sender.
    assert tree.congested == {"right": ["right->host4"]}
    (first,) = tree.roots()["right"]
    assert (first.sender, first.node, first.by) == (Sender("left->right", 0), "left", "right")
    assert {each.node for each in tree.after(first.sender)} == {"host0", "host1", "host2", "host3"}
    assert all(each.cause == first.sender for each in tree.after(first.sender))


def test_the_flow_to_an_idle_host_is_a_victim(run: sh.Run) -> None:
    (tree,) = pause_trees(run)
    found = victims(run, tree)
    assert (found.flows, found.paused) == (4, 4)
    (victim,) = found.victims
    assert (victim.source, victim.destination) == ("host3", "host5")
    assert 0 < victim.paused_us < victim.lasted_us <= 2_000


def test_flows_belong_to_the_class_to_which_their_dscp_maps(tmp_path: Path) -> None:
    pairs = ((0, 4), (1, 4), (2, 4), (3, 5))
    flows = [{"kind": "long-lived", "senders": one, "receivers": other, "class": 26} for one, other in pairs]
    lossless = {"classes": [3], "alpha": 0.125, "dscp_to_tc": {"26": 3}}
    changes = {"stop.at": "2ms", "switch.lossless": lossless, "workload": flows}
    run = sh.run(EXAMPLE, changes, out=tmp_path / "run")
    (tree,) = pause_trees(run)
    found = victims(run, tree)
    assert (found.lossless, found.flows, len(found.victims)) == (3, 4, 1)


def test_a_slow_host_is_a_root_and_flows_to_it_are_no_victims(tmp_path: Path) -> None:
    # Host 4 reads at a tenth of its rate, so that it pauses its switch before the other queues fill.
    slow = {"name": "slow", "members": 4, "nic": {"receive": {"rate": "10Gbps", "buffer": "1MB"}}}
    run = sh.run(EXAMPLE, {"stop.at": "2ms", "host.group": [slow]}, out=tmp_path / "run")
    (tree,) = pause_trees(run)
    assert tree.congested["host4"] == ["right->host4"]
    (first,) = tree.roots()["host4"]
    assert first.sender == Sender("right->host4", 0)
    assert Sender("left->right", 0) in {each.sender for each in tree.after(first.sender)}
    assert {(victim.source, victim.destination) for victim in victims(run, tree).victims} == {
        ("host3", "host5")
    }
    drawing, _ = pause_tree.blocks(run)
    assert "host that pauses" in str(drawing.content)


def test_a_slow_host_pauses_by_itself_while_its_own_port_is_paused(tmp_path: Path) -> None:
    # Hosts 4 and 5 are slow, and host 4 sends to host 5, so the NIC of host 4 is paused most of the time.
    rates = {"slow": (4, "40Gbps"), "slower": (5, "20Gbps")}
    groups = [
        {"name": name, "members": host, "nic": {"receive": {"rate": rate, "buffer": "1MB"}}}
        for name, (host, rate) in rates.items()
    ]
    pairs = ((0, 4), (3, 4), (4, 5))
    flows = [{"kind": "long-lived", "senders": one, "receivers": other} for one, other in pairs]
    changes = {"stop.at": "3ms", "host.group": groups, "workload": flows}
    run = sh.run(EXAMPLE, changes, out=tmp_path / "run")
    (tree,) = pause_trees(run)
    paused = {each.sender.port: each for each in tree.paused}
    assert paused["host4->right"].cause == Sender("right->host5", 0)
    assert paused["right->host4"].cause is None
    assert tree.congested["host4"] == ["right->host4"]


def test_the_report_has_the_tree_and_the_victims(run: sh.Run) -> None:
    drawing, _ = pause_tree.blocks(run)
    text = re.sub(r"<title>.*?</title>", "", str(drawing.content))
    boxes = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert boxes[:2] == ["right", "queue of right-&gt;host4"]
    assert boxes[2] == "left"
    assert {*boxes[4::2]} == {"host0", "host1", "host2", "host3"}
    assert str(drawing.content).count("<line") == 5
    page = sh.report(run.path).read_text(encoding="utf-8")
    titles = ("Pauses (PFC)", "Headroom", "Pauses by lossless class", "Who paused whom, class 0")
    for title in (*titles, "Victim flows of class 0"):
        assert title in page, title
    assert "host3 → host5" in page
    assert "Tree of pauses" in page


def test_a_run_without_pauses_has_no_tree(tmp_path: Path) -> None:
    idle = sh.run(EXAMPLE, {"stop.at": "5us"}, out=tmp_path / "idle")
    assert idle.pause_times is not None
    assert idle.pause_times.is_empty()
    assert pause_trees(idle) == []
    assert pause_tree.blocks(idle) == []
    for draw, text in ((figures.pauses, "no port was paused"), (figures.headroom, "no headroom was used")):
        (plot,) = draw(idle).axes
        assert text in [each.get_text() for each in plot.texts]


def _rows(plot: Axes) -> list[str]:
    return [label.get_text() for label in plot.get_yticklabels()]


def test_the_figure_of_pauses_shows_the_share_of_each_port(run: sh.Run) -> None:
    figure = figures.pauses(run)
    plot = figure.axes[0]
    found = pauses_of(run)
    assert _rows(plot) == [sender.port for sender in found]
    field = np.asarray(plot.images[0].get_array())
    means = [float((each.ends - each.starts).sum()) / 2_000 for each in found.values()]
    assert field.mean(axis=1) == pytest.approx(means)


def test_the_figure_of_headroom_shows_peaks_beside_sizes(run: sh.Run) -> None:
    assert run.pauses is not None
    plot = figures.headroom(run).axes[0]
    used = {
        port: (size, peak)
        for port, size, peak in run.pauses.select("port", "headroom_bytes", "max_headroom_bytes").iter_rows()
        if peak
    }
    sizes, peaks = ([bar.get_width() for bar in bars] for bars in plot.containers)
    drawn = zip(_rows(plot), sizes, peaks, strict=True)
    assert {port: (round(size * 1e3), round(peak * 1e3)) for port, size, peak in drawn} == used


PFC = re.compile(r"(0|[1-9][0-9]*) ([0-9]+) ([01]) ([1-9][0-9]*) ([01])")
"""A line of HPCC's pfc.txt: `%lu %u %u %u %u` of time, node, type of the node, interface and type."""


def test_pauses_are_exported_as_hpcc_writes_them(run: sh.Run, shell: Shell, tmp_path: Path) -> None:
    assert shell("export", "hpcc", run.path, "--pfc", "pfc.txt").returncode == 0
    lines = (tmp_path / "pfc.txt").read_text().splitlines()
    fields = [match.groups() for line in lines if (match := PFC.fullmatch(line))]
    assert len(fields) == len(lines) > 20
    times = [int(time) for time, *_ in fields]
    assert times == sorted(times)
    # Hosts are nodes 0 to 5, the switches 6 and 7. A host has one interface; the left switch has the cables
    # of hosts 0 to 3 before the one to the right switch.
    places = {(node, kind, interface) for _, node, kind, interface, _ in fields}
    assert places == {*((str(host), "0", "1") for host in range(4)), ("6", "1", "5")}
    # At each port, pauses and their ends take turns.
    for place in places:
        kinds = [change for _, *of, change in fields if tuple(of) == place]
        assert kinds == ["1", "0"] * (len(kinds) // 2) + ["1"] * (len(kinds) % 2)
    assert run.pause_times is not None
    started = run.pause_times.filter(pl.col("port") == "left->right")["start_us"]
    expected = [round(us * 1_000) for us in started]
    assert [int(time) for time, node, *_, change in fields if node == "6" and change == "1"] == expected


def test_runs_without_lossless_classes_have_no_pauses_to_export(scenario: Path, tmp_path: Path) -> None:
    lossy = sh.run(scenario, out=tmp_path / "lossy")
    assert lossy.pause_times is None
    assert pause_tree.blocks(lossy) == []
    with pytest.raises(
        sh.ShallowsError, match=r"no record of pauses over time\n  export a run of a scenario with"
    ):
        sh.export_hpcc(lossy, pfc=tmp_path / "pfc.txt")


@pytest.fixture(scope="module")
def doubled(tmp_path_factory: pytest.TempPathFactory) -> sh.Run:
    """Run of the example with two parallel links between the switches."""
    folder = tmp_path_factory.mktemp("doubled")
    graph = """[topology]
kind = "graph"
hosts = ["host{0..6}"]
switches = ["left", "right"]
rate = "100Gbps"
link_delay = "500ns"
framing = "38B"
links = [
    { between = ["host{0..4}", "left"] },
    { between = ["host{4..6}", "right"] },
    { between = ["left", "right"], rate = "400Gbps" },
    { between = ["left", "right"], rate = "400Gbps" },
]

[host]"""
    text = re.sub(r"\[topology\].*?\[host\]", graph, EXAMPLE.read_text(encoding="utf-8"), flags=re.DOTALL)
    (folder / "doubled.toml").write_text(text, encoding="utf-8")
    return sh.run(folder / "doubled.toml", {"stop.at": "2ms"}, out=folder / "run")


def test_the_pauses_of_parallel_links_belong_to_their_nodes(doubled: sh.Run, tmp_path: Path) -> None:
    (tree,) = pause_trees(doubled)
    assert tree.congested == {"right": ["right->host4"]}
    between = {each.sender.port for each in tree.roots()["right"]}
    assert between == {"left->right", "left->right#2"}
    assert {each.by for each in tree.paused} == {"left", "right"}
    # Only the host's own link is certain on the path of a flow: ECMP chooses one of the parallel links.
    (victim,) = victims(doubled, tree).victims
    assert (victim.source, victim.destination) == ("host3", "host5")
    assert "Victim flows of class 0" in sh.report(doubled.path).read_text(encoding="utf-8")
    sh.export_hpcc(doubled, pfc=tmp_path / "pfc.txt")
    fields = [line.split() for line in (tmp_path / "pfc.txt").read_text().splitlines()]
    # The left switch is node 6; its cables to the right switch follow those to four hosts.
    assert {interface for _, node, _, interface, _ in fields if node == "6"} == {"5", "6"}
