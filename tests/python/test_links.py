"""Tests that links in pages lead to their folders, even with special characters in names."""

import http.client
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import pytest

import shallows as sh
from served import ask, serving
from shallows import reports
from shallows.errors import ShallowsError

NAMED = ["exp#2", "a?b", "a%b", "a%23b", "two words", "a:b", "&amp;", "é", 'a"b']
"""Folder names with characters that are special in addresses or in HTML."""


class Links(HTMLParser):
    """Targets of the links in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the target of a link to another page."""
        if tag == "a" and (target := dict(attrs).get("href")) and not target.startswith("#"):
            self.found.append(target)


def test_every_link_of_a_served_folder_leads_to_its_page(scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "served"
    for name in NAMED:
        sh.run(scenario, out=folder / name)
    swept = tmp_path / "swept.toml"
    swept.write_text(scenario.read_text() + "\n[sweep.axes]\nseed = [1, 2]\n")
    runs = list(sh.sweep(swept, out=folder / "sweep #1?").runs)
    with serving(folder) as port:
        status, text = ask(port, "/")
        assert status == 200
        links = Links(text).found
        assert len(links) == len({*links}) == len(NAMED) + 1
        for link in links:
            # A browser joins a link to the address of its page.
            place = urlsplit(urljoin(f"http://127.0.0.1:{port}/", link))
            assert (place.netloc, place.query, place.fragment) == (f"127.0.0.1:{port}", "", "")
            status, text = ask(port, place.path)
            assert status == 200, link
            if "Sweep, live" in text:
                inner = Links(text).found
                assert len(inner) == len(runs) == 2
                for each in inner:
                    status, text = ask(
                        port, urlsplit(urljoin(f"http://127.0.0.1:{port}{place.path}", each)).path
                    )
                    assert (status, "Flow completion times" in text) == (200, True)
            else:
                assert "Flow completion times" in text
            # Without the slash at its end it is sent to itself with one, not to a scheme `a:`.
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", place.path.rstrip("/"))
            moved = connection.getresponse()
            assert moved.status == 301
            assert urljoin(f"http://127.0.0.1:{port}{place.path.rstrip('/')}", moved.headers["Location"]) == (
                f"http://127.0.0.1:{port}{place.path}"
            )


def test_links_of_a_written_report_lead_to_the_files_of_its_points(scenario: Path, tmp_path: Path) -> None:
    swept = tmp_path / "swept.toml"
    swept.write_text(scenario.read_text() + '\n[sweep.axes]\n"workload.0.load" = [0.1, 0.2]\n')
    folder = tmp_path / "a sweep#1"
    for run in sh.sweep(swept, out=folder).runs:
        reports.write(run.path)
    page = reports.write(folder)
    links = Links(page.read_text(encoding="utf-8")).found
    assert len(links) == 2
    for link in links:
        assert Path(url2pathname(urlsplit(urljoin(page.absolute().as_uri(), link)).path)).is_file()


def test_a_folder_whose_name_is_no_utf_8_is_refused_and_the_others_are_served(
    scenario: Path, tmp_path: Path
) -> None:
    folder, name = tmp_path / "served", "byte-\udcff"
    sh.run(scenario, out=folder / "one")
    (folder / "one").rename(folder / name)
    with pytest.raises(ShallowsError, match="the name of a folder must be UTF-8"):
        sh.run(scenario, out=folder / name)
    sh.run(scenario, out=folder / "two")
    with serving(folder) as port:
        status, text = ask(port, "/")
        assert (status, Links(text).found) == (200, ["byte-%FF/", "two/"])
        status, text = ask(port, "/byte-%FF/")
        assert status == 500
        assert "must be UTF-8" in text
