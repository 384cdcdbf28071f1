"""Tests of reports and of a running sweep's page: contents, number of drawn points, and accepted requests."""

import hashlib
import json
import os
import re
import shutil
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import shallows as sh
from served import ask, serving
from shallows import reports
from shallows.cli import main
from shallows.figures import style
from shallows.reports import chart, html, of_sweep, page, sweep_charts, topology
from shallows.reports.of_folder import Site
from shallows.reports.of_sweep import count_warnings
from shallows.runs import process
from shallows.runs.folder import RunFolder
from shallows.runs.index import runs_in
from shallows.runs.network import Cable, Network, network
from shallows.runs.source import Source
from shallows.runs.steps import Series
from shallows.sweeps import progress
from shallows.sweeps.points import plan, write_index
from shared import HOSTILE, Shell, seal, write_run


class Elements(HTMLParser):
    """Names of a page's elements, and the addresses that they fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element."""
        self.names.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in {"src", "href"} and value]


def data(text: str) -> dict[str, Any]:
    """Return the data of a page's charts."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    document: dict[str, Any] = json.loads(found[1])
    return document


@pytest.fixture
def run(scenario: Path, tmp_path: Path) -> sh.Run:
    """A finished run with samples of queues."""
    return sh.run(scenario, out=tmp_path / "run")


def test_a_report_fetches_nothing_and_lets_only_its_own_scripts_run(run: sh.Run) -> None:
    text = reports.write_run(run).read_text(encoding="utf-8")
    elements = Elements(text)
    assert all(target.startswith("#") for target in elements.fetched)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    rules = policy[1].replace("&#39;", "'").split("; ")
    assert "default-src 'none'" in rules
    scripts = next(rule for rule in rules if rule.startswith("script-src"))
    # The chart library and our own script; the data are no script.
    assert scripts.count("'sha256-") == 2 == elements.names.count("script") - 1
    assert "unsafe" not in scripts


def test_charts_are_built_and_are_what_their_hash_says() -> None:
    named = (Path(__file__).parents[2] / "web" / "charts.sha256").read_text(encoding="utf-8").split()[0]
    assert page.library(), page.MISSING
    assert hashlib.sha256(page.LIBRARY.read_bytes()).hexdigest() == named


def test_the_lock_file_names_hashes_and_no_addresses() -> None:
    lock = json.loads((Path(__file__).parents[2] / "web" / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert {"node_modules/echarts", "node_modules/esbuild"} <= packages.keys()
    assert all("integrity" in entry and "resolved" not in entry for entry in packages.values())


def test_hostile_names_stay_text_in_the_page_and_in_its_data(hostile: Path) -> None:
    whole = reports.write(hostile).read_text(encoding="utf-8")
    single = reports.write(runs_in(hostile)[0].path).read_text(encoding="utf-8")
    for text in (whole, single):
        assert f"<h1>{escape(HOSTILE)}</h1>" in text
        elements = Elements(text)
        assert "img" not in elements.names
        assert elements.names.count("script") == 3
    assert HOSTILE in {line["name"] for drawn in data(whole)["charts"] for line in drawn["lines"]}


def test_hostile_names_of_hosts_and_switches_stay_text_in_the_drawing() -> None:
    built = Network([HOSTILE], ["<b>"], [0], [Cable(0, 1, 10**10, 10**6)], {}, 0)
    drawn = topology.draw(built)
    assert set(Elements(drawn).names) == {"svg", "line", "title", "rect", "text"}


def test_four_hundred_hosts_are_a_drawing_of_few_boxes() -> None:
    fabric = {
        "kind": "leaf-spine",
        "leaves": 20,
        "spines": 8,
        "hosts_per_leaf": 20,
        "rate": "25Gbps",
        "uplink_rate": "100Gbps",
        "link_delay": "1us",
        "uplink_delay": "2us",
        "host_delay": "0ps",
        "mtu": 1500,
    }
    built = network(fabric)
    drawn = topology.draw(built)
    # Three and the last of spines, leaves and hosts; each leaf is linked with the spines and with its hosts.
    assert drawn.count("<rect") == 4 + 4 + 4
    assert drawn.count("<line") == 4 * 4 + 4
    for words in (
        "… 4 more …",
        "… 16 more …",
        "20 hosts",
        "host380 – host399",
        "25 Gbps, 1 µs",
        "100 Gbps, 2 µs",
    ):
        assert words in drawn
    # 20 hosts · 25 Gbps over 8 spines · 100 Gbps.
    assert "not oversubscribed, 0.625 to 1" in topology.describe(fabric, built)


def test_a_fat_tree_is_drawn_in_four_tiers() -> None:
    tree = {"kind": "fat-tree", "k": 8, "oversubscription": 2, "link_delay": "1us", "mtu": 1500}
    tree |= {"rate": "10Gbps", "aggregation_rate": "10Gbps", "core_rate": "40Gbps"}
    built = network(tree)
    drawn = topology.draw(built)
    # Of 16 core, 32 aggregation and 32 edge switches and their hosts four each.
    assert drawn.count("<rect") == 4 * 4
    for words in ("8 hosts", "host248 – host255", "agg31", "… 12 more …", "… 28 more …", "10 Gbps, 1 µs"):
        assert words in drawn
    # Eight hosts on each edge switch for four uplinks.
    said = topology.describe(tree, built)
    assert "8 pods of 4 edge and 4 aggregation switches" in said
    assert "oversubscribed, 2 to 1" in said


def test_a_graph_is_drawn_in_tiers_with_rates_that_differ() -> None:
    text = (Path(__file__).parents[2] / "experiments/models/graph.toml").read_text(encoding="utf-8")
    resolved = json.loads(Source("graph.toml", text).parse().resolved())
    drawn = topology.draw(network(resolved["topology"]))
    # Hosts alike are one box: s1 and s2 below t1, s3 and r1 below t2; r2 has a link of another rate.
    assert drawn.count("<rect") == 3 + 3
    for words in ("30 hosts", "11 hosts", "scorpion", "40 Gbps"):
        assert words in drawn
    assert drawn.count('class="special"') == 1


def graph(hosts: list[str], switches: list[str], *links: tuple[str, str, str]) -> dict[str, Any]:
    """Return a topology of kind `graph`, with these links and their delays."""
    listed = [{"between": [a, b], "delay": delay} for a, b, delay in links]
    usual = {"rate": "10Gbps", "link_delay": "1us", "host_delay": "0ps", "mtu": 1500}
    return {"kind": "graph", "hosts": hosts, "switches": switches, "links": listed, **usual}


def listed_star(hosts: int) -> dict[str, Any]:
    """Return a star that lists each link separately, as imported scenarios do."""
    return graph([f"h{{0..{hosts}}}"], ["s"], *((f"h{i}", "s", f"{i + 1}us") for i in range(hosts)))


def row_of_switches(count: int) -> dict[str, Any]:
    """Return a row of connected switches, each with one host, with patterns in the lists of links."""
    trunks = ((f"s{i}", f"s{i + 1}", "1us") for i in range(count - 1))
    leaves = ((f"h{i}.*", f"s{i}", "1us") for i in range(count))
    return graph([f"h{i}.0" for i in range(count)], [f"s{{0..{count}}}"], *trunks, *leaves)


def steps_to_draw(graph: dict[str, Any]) -> int:
    """Return the number of bytecode instructions that a drawing takes."""
    taken = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal taken
        frame.f_trace_opcodes = True
        taken += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        topology.draw(network(graph))
    finally:
        sys.settrace(before)
    return taken


@pytest.mark.parametrize("graph_of", [listed_star, row_of_switches])
def test_four_times_the_network_takes_four_times_the_work_to_draw(
    graph_of: Callable[[int], dict[str, Any]],
) -> None:
    steps_to_draw(graph_of(10))  # what is made once
    assert steps_to_draw(graph_of(800)) < 5 * steps_to_draw(graph_of(200))


def test_many_hosts_whose_links_differ_are_one_group_of_their_switch() -> None:
    drawn = topology.draw(network(listed_star(8192)))
    assert drawn.count("<rect") == 2
    for words in ("8,192 hosts", "h0 – h8191", "10 Gbps, 1 µs – 8.192 ms"):
        assert words in drawn
    # A few are told apart, and each says what is its own.
    few = topology.draw(network(listed_star(4)))
    assert few.count("<rect") == 1 + 4
    assert all(f">{delay} µs</text>" in few for delay in (2, 3, 4))


def test_ranges_name_ends_of_links_too() -> None:
    links = [("h{0..3}", "s0", "1us"), ("h3", "s1", "1us"), ("s0", "s1", "1us")]
    drawn = topology.draw(network(graph(["h{0..4}"], ["s{0..2}"], *links)))
    assert "3 hosts" in drawn
    assert drawn.count("<line") == 3


def test_a_drawn_distribution_is_exact_and_no_coarser_than_it_says() -> None:
    points = chart.distribution(np.arange(1.0, 100_001.0))
    # Of 1 … 100,000 the value is the rank.
    assert all(share == value / 100_000 for value, share in points)
    assert points[0] == (1.0, 1e-5)
    assert points[-1] == (100_000.0, 1.0)
    shares = np.array([share for _, share in points])
    assert np.diff(shares).max() <= chart.coarseness(chart.FINEST_CDF) + 1e-5
    # The last hundredth and thousandth are drawn more finely.
    assert np.diff(shares[shares > 0.99]).max() <= 0.01 / (chart.FINEST_CDF // 10) + 1e-5
    assert len(points) <= chart.FINEST_CDF + 4


def test_a_page_holds_more_of_a_line_than_it_draws_at_once_and_says_how_fine_it_is() -> None:
    times = np.arange(0.0, 60_001)
    busy = Series(times, times % 3)
    drawn = chart.OverTime([busy, Series(times[:11], times[:11])], share_of=2)
    assert drawn.most == chart.SERIES_POINTS // 2
    many, few = drawn.points(time=1000, size=2)
    assert drawn.most < len(many) <= chart.SERIES_HELD // 2 + 1
    # 60 ms in 20,000 parts, each with all three values; in ms and twos.
    assert many[1] == pytest.approx((0.003, 0.5, 0, 1))
    assert "down to parts of 3 µs" in drawn.note
    # Ten changes are drawn as they were, and the last one holds until the end.
    assert few == [(i / 1000, i / 2) for i in range(10)] + [(0.01, 4.5)]
    assert "down to each change" in chart.OverTime([Series(times[:5001], times[:5001])], share_of=2).note
    assert chart.OverTime([Series(times[:11], times[:11])], share_of=2).note == ""


def test_looks_are_those_of_the_figures() -> None:
    for index, look in enumerate(chart.looks()):
        theirs = style.look(index)
        assert look["color"].strip("#") == theirs["color"].strip("#")
        assert look["marker"] == theirs["marker"]
        assert bool(look["dash"]) == (theirs["linestyle"] != "-")


def test_a_hundred_thousand_flows_are_a_small_page_with_few_points(hundred_thousand: Path) -> None:
    flows = sh.Run(hundred_thousand)
    assert flows.flows.height == 100_000
    written = reports.write_run(flows)
    assert written.stat().st_size <= 5_000_000
    drawn = data(written.read_text(encoding="utf-8"))["charts"]
    lines = [(line, each["most"]) for each in drawn for line in each["lines"]]
    at_once = sum(min(len(line["points"]), most or 20_000) + len(line["bars"]) for line, most in lines)
    assert 1_000 < at_once <= 20_000
    assert sum(len(line["points"]) for line, _ in lines) <= chart.MOST_POINTS + chart.SERIES_HELD
    by_name = {each["name"]: each for each in drawn}
    # What is drawn is what the summary says: the slowest flow is the last point of its line.
    slowest = max(line["points"][-1][0] for line in by_name["fct_us"]["lines"])
    unit = {"µs": 1.0, "ms": 1e3}[by_name["fct_us"]["x"]["unit"]]
    assert slowest * unit == pytest.approx(flows.summary["fct_us"]["all"]["max"], rel=1e-5)


def test_too_many_points_are_refused_rather_than_drawn() -> None:
    line = chart.Line("a", 0, [(float(i), 0.0) for i in range(chart.MOST_POINTS + 1)])
    made = chart.Chart("a", "A", "steps", chart.Axis("x"), chart.Axis("y"), [line])
    with pytest.raises(AssertionError, match="got 20001"):
        page.render("a", "b", "c", [html.Section("A", [page.chart(made)])])


def test_a_sweep_has_verdicts_intervals_and_lines_that_can_be_chosen(finished_sweep: Path) -> None:
    text = of_sweep.page(runs_in(finished_sweep), finished_sweep)
    assert "reno against dctcp" in text
    assert 'class=" verdict cannot-tell"' in text
    by_name = {each["name"]: each for each in data(text)["charts"]}
    goodput = by_name["goodput"]["lines"]
    assert [line["name"] for line in goodput] == ["dctcp", "reno"]
    there = {"scheme": "dctcp", "workload.0.load": 0.6}
    at_60 = [
        run.summary["goodput_gbps"] for run in runs_in(finished_sweep) if run.labels == run.labels | there
    ]
    place, low, high = goodput[0]["bars"][1]
    assert place == 60
    # The mean of three seeds, within its interval.
    assert goodput[0]["points"][1][1] == pytest.approx(sum(at_60) / 3, rel=1e-5)
    assert low < goodput[0]["points"][1][1] < high
    cdf = next(each for name, each in by_name.items() if name.startswith("cdf-"))
    assert cdf["choices"] == {"load": ["0.3", "0.6"]}


def test_more_values_than_looks_are_shades_in_every_chart(finished_sweep: Path, tmp_path: Path) -> None:
    run = runs_in(finished_sweep)[0]
    sizes = ["10KB", "20KB", "50KB", "100KB", "200KB", "500KB", "1MB", "2MB", "5MB", "10MB"]
    runs = []
    for size in sizes:
        for load in (0.3, 0.6):
            copy = shutil.copytree(run.path, tmp_path / f"{size}-{load}")
            environment = json.loads((copy / "env.json").read_text())
            labels = {"switch.markers.0.k": size, "workload.0.load": load, "seed": 1}
            (copy / "env.json").write_text(json.dumps(environment | {"labels": labels}))
            seal(copy)
            runs.append(sh.Run(copy))
    found, notes = sweep_charts.draw(runs)
    assert "One seed: no bars." in notes
    for each in found:
        shades = {line.name: line.shade for line in each.lines}
        # From 10 KB to 10 MB are three decades: 100 KB is a third of the way.
        assert shades["k 10KB"] == 0
        assert shades["k 100KB"] == pytest.approx(1 / 3)
        assert shades["k 10MB"] == 1
        assert len(set(shades.values())) == 10


def test_more_schemes_than_looks_have_a_shade_each(finished_sweep: Path, tmp_path: Path) -> None:
    run = runs_in(finished_sweep)[0]
    runs = []
    for scheme in "ABCDEFGHI":
        copy = shutil.copytree(run.path, tmp_path / scheme)
        environment = json.loads((copy / "env.json").read_text())
        (copy / "env.json").write_text(json.dumps(environment | {"labels": {"scheme": scheme, "seed": 1}}))
        seal(copy)
        runs.append(sh.Run(copy))
    found, _ = sweep_charts.draw(runs)
    assert found
    for each in found:
        assert [line.shade for line in each.lines] == [place / 8 for place in range(9)]
    eight, _ = sweep_charts.draw(runs[:8])
    assert {line.shade for each in eight for line in each.lines} == {None}


def test_warnings_of_a_sweep_count_runs_and_name_the_fewest_samples(tmp_path: Path) -> None:
    # Two seeds at one point, and one at another.
    for place, count in enumerate((50, 40, 9_000)):
        (folder := tmp_path / str(place)).mkdir()
        summary = {"warnings": ["no packet was dropped"], "fct_us": {"all": {"count": count}}}
        write_run(folder, {"labels": {"seed": place, "load": 0.5 if count < 100 else 0.9}}, summary)
    found = count_warnings([sh.Run(tmp_path / str(place)) for place in range(3)])
    # 20 of 2,000 lie above the 99th percentile.
    assert found == [
        "3 of 3 runs: no packet was dropped",
        "Too few for a p99, which needs 2,000 in all seeds together: flows at 1 of 2 points (fewest 90). "
        "Run longer, or with more seeds.",
    ]


def test_what_is_missing_in_an_unfinished_folder_is_said(
    shell: Shell, finished: Path, tmp_path: Path
) -> None:
    # Two loads of three seeds come before the second scheme.
    lost = runs_in(finished)[7].path.rename(tmp_path / "elsewhere")
    found = shell("report", "finished")
    assert found.returncode == 0
    assert "missing: reno, load 0.3, seed 2" in found.stderr
    text = (finished / "report.html").read_text(encoding="utf-8")
    assert "1 points are not finished, and missing here: reno, load 0.3, seed 2" in text
    (lost / "resolved.json").unlink()
    with pytest.raises(sh.ShallowsError, match=r"elsewhere is damaged: resolved\.json is missing"):
        reports.write(lost)


def test_a_sweep_without_a_point_and_a_run_in_the_making_say_so(sweep: Path, tmp_path: Path) -> None:
    parent, points = plan(Source.read(sweep), tmp_path / "sweep")
    parent.mkdir()
    write_index(parent, points)
    with pytest.raises(
        sh.ShallowsError, match=r"a sweep with 8 points, all of them unfinished: dctcp, load 0\.3, seed 1;"
    ):
        reports.write(parent)
    with (
        RunFolder(tmp_path / "one"),
        pytest.raises(sh.ShallowsError, match=f"one is not finished: process {os.getpid()} on .* is writing"),
    ):
        reports.write(tmp_path / "one")


def test_a_reproduction_shows_claims_causes_and_what_the_paper_published(tmp_path: Path) -> None:
    check = {"place": 0.4, "paper": "117", "ours": 120.0, "interval": [110.0, 130.0], "verdict": "holds"}
    check |= {"seeds": 3, "said": "holds"}
    shown = {"shown": {"ours": "120", "interval": "110 – 130"}}
    claim = {"id": "fig2-small", "source": "Fig. 2", "kind": "value", "metric": "m", "experiment": "fig2"}
    bad = claim | {"id": "fig2-large", "verdict": "does not hold", "cause": f"because {HOSTILE}"}
    single = {"seeds": 1, "said": "does not hold (one seed)"}
    line = {"name": "K200", "index": 0, "ours": [[0.4, 120.0, 110.0, 130.0]], "paper": [[0.4, 117.0]]}
    document = {
        "paper": "A paper",
        "quick": True,
        "holding": 1,
        "claims": [
            claim | {"verdict": "holds", "seeds": 3, "said": "holds", "cause": "", "checks": [check | shown]},
            bad | single | {"checks": [check | shown | single | {"verdict": "does not hold"}]},
        ],
        "drawings": {
            "fig2": {
                "axis": "load",
                "is_wide": False,
                "seeds": [3],
                "panels": [{"title": "p99", "lines": [line]}],
            }
        },
        "figures": {"fig2": ["2"]},
        "command": "shallows reproduce paper --quick",
        "build": {"version": "1", "commit": None, "source_hash": "abc"},
    }
    (tmp_path / "claims.json").write_text(json.dumps(document))
    text = reports.write(tmp_path).read_text(encoding="utf-8")
    assert "2 claims: 1 hold, 1 do not hold; 1 are judged by one seed" in text
    assert "does not hold (one seed)" in text
    assert "because &lt;/script&gt;&lt;img" in text
    assert "A reduced run" in text
    (drawn,) = data(text)["charts"]
    assert [each["name"] for each in drawn["lines"]] == ["K200", "K200, paper"]
    assert drawn["lines"][1]["points"] == [[0.4, 117.0]]
    assert drawn["lines"][0]["bars"] == [[0.4, 110.0, 130.0]]
    (tmp_path / "claims.json").write_text("{}")
    with pytest.raises(sh.ShallowsError, match="another version wrote it"):
        reports.write(tmp_path)


def test_the_server_answers_for_this_machine_only_and_for_what_is_in_the_folder(
    scenario: Path, tmp_path: Path
) -> None:
    (tmp_path / "served").mkdir()
    sh.run(scenario, out=tmp_path / "served" / "one")
    with serving(tmp_path / "served") as port:
        assert ask(port, "/")[0] == 200
        status, text = ask(port, "/one/")
        assert status == 200
        assert "Flow completion times" in text
        assert ask(port, "/one/", f"localhost:{port}")[0] == 200
        # Another name that leads to this server (DNS rebinding).
        assert ask(port, "/one/", f"attacker.example:{port}") == (
            421,
            "This server answers for localhost only.\n",
        )
        for path in (
            "/../",
            "/%2e%2e/",
            "/one/../../",
            "/..%2fserved/",
            "/.hidden/",
            "/two/",
            "/one/summary.json",
        ):
            assert ask(port, path)[0] == 404
        assert ask(port, "/one")[0] == 301


def test_few_connections_are_open_at_once(tmp_path: Path) -> None:
    before = threading.active_count()
    with serving(tmp_path, most=3, timeout_s=600) as port, ExitStack() as opened:
        slow = [
            opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30)) for _ in range(20)
        ]
        # The first three connections are accepted and send nothing; the others are rejected.
        for each in slow[3:]:
            assert each.recv(100).startswith(b"HTTP/1.0 503 ")
        # A thread from before may have ended meanwhile.
        assert threading.active_count() <= before + 1 + 3
        slow[0].close()
        # Once the server has noticed this, it accepts another connection.
        for _ in range(1000):
            with suppress(ConnectionError):
                if ask(port, "/")[0] == 200:
                    break
            time.sleep(0.01)
        else:
            pytest.fail("there is still no room")


def ended(connection: socket.socket) -> bool:
    """Return whether the server has closed a connection without a response."""
    try:
        return connection.recv(100) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_a_connection_on_which_no_request_comes_ends(tmp_path: Path) -> None:
    with serving(tmp_path, timeout_s=0.5) as port:
        silent = socket.create_connection(("127.0.0.1", port), timeout=30)
        slow = socket.create_connection(("127.0.0.1", port), timeout=0.1)
        start = time.monotonic()
        slow.send(b"GET / HTTP/1.0\r\n")
        # The client sends a few bytes again and again, so that no single wait is long.
        while not ended(slow):
            assert time.monotonic() < start + 30
            slow.send(b"X: x\r\n")
        assert ended(silent)
        for each in (silent, slow):
            each.close()
        assert ask(port, "/")[0] == 200


def test_what_clients_do_is_no_traceback(
    scenario: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sh.run(scenario, out=tmp_path / "one")
    with serving(tmp_path / "one", timeout_s=0.2) as port:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", port)) as gone:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                gone.sendall(f"GET / HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert ask(port, "/")[0] == 200
    assert capfd.readouterr().err == ""


def test_links_that_lead_out_of_the_folder_are_refused(
    finished: Path, scenario: Path, tmp_path: Path
) -> None:
    served, elsewhere = tmp_path / "served", tmp_path / "elsewhere"
    sh.run(scenario, out=served / "one")
    sh.run(scenario, out=elsewhere / "run")
    (served / "away").symlink_to(elsewhere / "run")
    (served / "again").symlink_to(served / "one")
    finished.rename(served / "sweep")
    with serving(served) as port:
        status, text = ask(port, "/")
        assert status == 200
        assert "away leads out of the folder that is served" in text
        assert [name in text for name in ("one/", "sweep/", "again/", "away/")] == [True, True, True, False]
        assert ask(port, "/again/")[0] == 200
        assert ask(port, "/away/") == (
            403,
            "away leads out of the folder that is served\n"
            "  serve what it leads to, or a folder that holds both\n",
        )
        # A file that is one: the page would show what it leads to.
        secret = tmp_path / "secret"
        secret.write_text("# a secret")
        (served / "one" / "scenario.toml").unlink()
        (served / "one" / "scenario.toml").symlink_to(secret)
        seal(served / "one")
        assert ask(port, "/one/")[0] == 403
        # A point of a sweep: by a link, and by what the sweep says of itself.
        assert ask(port, "/sweep/")[0] == 200
        # What else is there is not shown, wherever it leads.
        (served / "sweep" / "latest").symlink_to("/")
        assert ask(port, "/sweep/")[0] == 200
        index = json.loads((served / "sweep" / "sweep.json").read_text())
        index["points"][0]["folder"] = "../../elsewhere/run"
        (served / "sweep" / "sweep.json").write_text(json.dumps(index))
        assert ask(port, "/sweep/")[0] == 403


def test_a_port_in_use_is_an_error_with_a_remedy(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(tmp_path) as port:
        refused = shell("serve", ".", "--port", str(port))
    assert refused.returncode == 1
    assert refused.stderr == (
        f"shallows: port {port} cannot be used: Address already in use\n"
        "  name another port, or 0 to select a free port\n"
    )
    assert main(["serve", str(tmp_path / "nowhere")]) == 1
    assert "nowhere is not a folder" in capsys.readouterr().err


def test_the_page_of_a_sweep_says_what_is_done_running_failed_and_left(finished: Path) -> None:
    # A sweep that has ended well leaves no file of its progress.
    assert not list(finished.glob(progress.FILES))
    names = [run.path.name for run in runs_in(finished)]
    for name in names[3:]:
        shutil.rmtree(finished / name)
    now = time.time()
    document = {
        "running": [{"folder": names[3], "fraction": 0.5}],
        "failed": [{"folder": names[4], "error": "no memory"}],
        "ran": 3,
        "packet_hops": 9_000,
        "process": process.me().describe(),
        "points": names,
        "started": now - 9,
        "updated": now,
        "ended": False,
    }
    path = finished / ".progress.here.1.json"
    path.write_text(json.dumps(document))
    state = progress.read(finished)
    # Three have run, half of one, and one has failed: 4.5 in nine seconds. Of twelve points 7.5 are left.
    assert state.left_s == pytest.approx(15.0)
    text = Site(finished).page("/") or ""
    assert "3 of 12 runs done, 1 failed, 1 running, 1 k packet-hops/s, 15 s left" in text
    assert "dctcp, load 0.6, seed 2 failed: no memory" in text
    assert "7 runs have not started." in text
    # A process that has ended runs no points; no process has the largest 31-bit number.
    gone = replace(process.me(), number=2**31 - 1).describe()
    path.write_text(json.dumps(document | {"process": gone}))
    assert "1 failed, nothing runs: `shallows sweep` goes on from here" in (Site(finished).page("/") or "")
