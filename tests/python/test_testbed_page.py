"""Tests of a running testbed network's page: status text of the switch, and the page in the browser."""

import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import standing_pages
from shallows.cli import main
from shallows.reports.of_standing import MOST_LINES, Page
from shallows.reports.serve import open_pages
from shallows.runs import standing
from shared import HOSTILE, SHALLOWS, STAR, needs_testbed


def _data(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    document: dict[str, Any] = json.loads(found[1])
    return document


def _shown(page: Page) -> str:
    text = page.at("/")
    assert text is not None
    return text


def test_what_the_switch_writes_is_read_again() -> None:
    with standing_pages.watch(
        standing_pages.text(1.5, {"host0->switch0": 0, "switch0->host1": 30_000}, ("one was late",))
    ) as watch:
        (state,) = watch.states
    assert state.time_s == 1.5
    assert state.health == "frames came to their hosts late by 9 us"
    assert state.complaints == ("one was late",)
    assert state.ports == (
        standing.Port("host0->switch0", 0, 7, 1, 0),
        standing.Port("switch0->host1", 30_000, 7, 1, 0),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        " .500000 s: being written\n" + standing_pages.HEAD,
        "nothing of ours",
        "1.500000 s: fine\n" + standing_pages.HEAD + "switch0->host1 1 2\n",
        "1.500000 s: fine\n" + standing_pages.HEAD + "switch0->host1 1 2 3 -4\n",
        "\x00\xff",
    ],
)
def test_half_a_page_and_what_is_none_are_left_alone(text: str) -> None:
    with standing_pages.watch(text) as watch:
        assert not watch.states


def test_a_page_that_changes_while_it_is_read_is_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = iter([standing_pages.text(1.0, {"a": 1}), standing_pages.text(1.2, {"a": 2})])
    monkeypatch.setattr("os.pread", lambda _, most, __: next(texts).encode()[:most])
    assert standing.read(0) is None


def test_the_page_shows_ports_and_draws_the_last_minute() -> None:
    texts = [standing_pages.text(number / 5, {"switch0->host1": 1_000 * number}) for number in range(400)]
    with standing_pages.watch(*texts) as watch:
        shown = _shown(Page("star", watch))
    (chart,) = _data(shown)["charts"]
    # 300 states of 0.2 s are a minute; the last was the 400th, at 79.8 s.
    assert chart["x"]["start"] == 20
    (line,) = chart["lines"]
    assert line["points"][0] == [20, 100]
    assert line["points"][-1] == [79.8, 399]
    assert len(line["points"]) == 300
    assert "It has stood for 79.8 s of the network" in shown
    cells = re.findall("<td[^>]*>([^<]*)</td>", shown)
    assert cells == ["switch0-&gt;host1", "399,000", "7", "1", "0"]


def test_the_longest_queues_are_drawn_and_keep_their_colours() -> None:
    many = {f"switch0->host{number}": 1_000 * (number + 1) for number in range(20)}
    with standing_pages.watch(standing_pages.text(0, many), standing_pages.text(0.2, many)) as watch:
        page = Page("star", watch)
        before = {line["name"]: line["look"] for line in _data(_shown(page))["charts"][0]["lines"]}
        assert [*before] == [f"switch0->host{number}" for number in range(12, 20)]
        assert sorted(before.values()) == [*range(MOST_LINES)]
        os.pwrite(watch.page, standing_pages.text(0.4, many | {"switch0->host0": 99_000}).encode(), 0)
        watch.look()
        after = {line["name"]: line["look"] for line in _data(_shown(page))["charts"][0]["lines"]}
    # The shortest of them has made room, and left its colour to the one that came.
    assert after == {name: look for name, look in before.items() if name != "switch0->host12"} | {
        "switch0->host0": before["switch0->host12"]
    }


def test_the_page_says_when_the_clock_was_late_and_when_nothing_is_heard() -> None:
    with standing_pages.watch(
        standing_pages.text(1, {"a": 1}),
        standing_pages.text(2, {"a": 1}, ("one frame in a hundred was late",)),
    ) as watch:
        page = Page("star", watch)
        assert "Invalid run: one frame in a hundred was late" in _shown(page)
        assert "Nothing has been heard" not in _shown(page)
        watch.heard -= 7.2
        assert "Nothing has been heard of the switch for 7 s." in _shown(page)


def test_before_anything_waits_the_page_says_so() -> None:
    with standing_pages.watch() as watch:
        assert "It does not stand yet." in _shown(Page("star", watch))
        assert Page("star", watch).at("/other/") is None
    with standing_pages.watch(standing_pages.text(1, {"a": 0}), standing_pages.text(2, {"a": 0})) as watch:
        assert "Nothing waits at any port, and nothing did in the last minute." in _shown(Page("star", watch))


def test_names_run_nothing_and_the_policy_is_that_of_all_pages() -> None:
    with standing_pages.watch(
        standing_pages.text(1, {HOSTILE.replace(" ", "-"): 1}, (HOSTILE,)),
        standing_pages.text(2, {HOSTILE: 1}),
    ) as watch:
        shown = _shown(Page(HOSTILE, watch))
    assert "<img" not in shown
    policy = re.search('Content-Security-Policy" content="([^"]+)"', shown)
    assert policy
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe-inline" not in policy[1].split("script-src")[1].split(";")[0]


def _ask(port: int, path: str = "/", host: str = "") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Host": host or f"127.0.0.1:{port}"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_it_is_served_to_this_machine_alone() -> None:
    with (
        standing_pages.watch(standing_pages.text(1, {"a": 1})) as watch,
        open_pages(Page("star", watch).at, 0) as server,
    ):
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            assert server.server_address[0] == "127.0.0.1"
            assert _ask(server.server_port)[0] == 200
            assert _ask(server.server_port, host="attacker.example")[0] == 421
            assert _ask(server.server_port, "/etc/passwd")[0] == 404
        finally:
            server.shutdown()
            thread.join()


def test_a_port_that_is_taken_is_an_error_before_anything_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "star.toml").write_text(STAR)
    with standing_pages.watch() as watch, open_pages(Page("star", watch).at, 0) as server:
        taken = str(server.server_port)
        assert main(["testbed", "shell", str(tmp_path / "star.toml"), "--serve", taken, "--", "true"]) == 1
    assert (
        f"port {taken} cannot be used: Address already in use\n  name another port, or 0 to select a free "
        "port" in capsys.readouterr().err
    )
    with pytest.raises(SystemExit):
        main(["testbed", "shell", "--serve", "star.toml"])
    assert "--serve: must be a whole number" in capsys.readouterr().err


FLOOD = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    s.sendto(bytes(1_400), ("10.0.0.3", 9))
"""


@needs_testbed
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_browser_sees_the_queues_and_the_server_goes_with_the_network(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "scenario.toml").write_text(STAR)
    (tmp_path / "flood.py").write_text(FLOOD)
    script = "h0 python3 flood.py & h1 python3 flood.py & wait"
    command = [SHALLOWS, "testbed", "shell", "scenario.toml", "--serve", "0", "--", "bash", "-c", script]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stderr.readline())
        assert found
        port = int(found[1])
        deadline = time.monotonic() + 30
        # Two hosts at 100 Mb/s each, and one link of that; the marker drops what is not ECN-capable.
        waiting = r"switch0-&gt;host2</td><td[^>]*>[1-9][0-9],[0-9]{3}<"
        while not re.search(waiting, shown := _ask(port)[1]):
            assert time.monotonic() < deadline, shown
            time.sleep(0.2)
        assert [line["name"] for line in _data(shown)["charts"][0]["lines"]]
        process.send_signal(number)
        process.communicate(timeout=30)
    with pytest.raises(ConnectionError):
        _ask(port)
