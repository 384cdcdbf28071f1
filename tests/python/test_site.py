"""Tests of the documentation's site: generated pages are complete, links work, no other host is contacted."""

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import command_line
import python_api
import scenario_keys
import shallows as sh
from not_run import needs
from pages import ROOT
from shallows import _core
from shallows.cli.parser import command_line as parser_of_all

SCHEMA: dict[str, Any] = json.loads(_core.schema())


def tables(node: object) -> Iterator[dict[str, Any]]:
    """Yield every object in the schema that has properties."""
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for value in node.values():
            yield from tables(value)
    elif isinstance(node, list):
        for value in node:
            yield from tables(value)


def rows(page: str) -> list[tuple[str, ...]]:
    """Return the cells of each table row on a page that begins with a key."""
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    return [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]) for line in lines]


def test_every_key_of_the_schema_is_on_the_page_with_value_default_and_meaning() -> None:
    found = rows(scenario_keys.page(SCHEMA))
    assert all(len(row) == 4 and all(row) for row in found)
    wanted = [
        (f"`{key}`", " ".join(value["description"].split()))
        for table in tables(SCHEMA)
        for key, value in table["properties"].items()
        if key != "kind"
    ]
    assert len(wanted) > 300
    for key, description in wanted:
        meant = description.replace("|", "\\|")
        assert any(row[0] == key and row[3].startswith(meant) for row in found), (key, description)


def test_every_public_name_of_the_package_is_on_the_page_of_the_api() -> None:
    page = python_api.page(sh._HOMES, sh.figures._HOMES)
    shown = re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)
    headings = re.findall(r'heading: "sh\.([\w.]+)"', page)
    assert set(headings) == {*sh.__all__, *(f"figures.{name}" for name in sh.figures.__all__)} - {
        "figures",
        "figures.STYLE",
    }
    for path in shown:
        module, _, name = path.rpartition(".")
        found = getattr(importlib.import_module(module), name)
        assert found.__module__ == module
        assert found.__doc__


def test_a_value_with_a_unit_shows_how_the_unit_is_written() -> None:
    found = rows(scenario_keys.page(SCHEMA))
    units = {name: one["description"] for name, one in SCHEMA["$defs"].items() if "pattern" in one}
    assert {"Time", "Size", "Speed"} <= set(units)
    measured = [
        (f"`{key}`", units[value["$ref"].rpartition("/")[2]])
        for table in tables(SCHEMA)
        for key, value in table["properties"].items()
        if value.get("$ref", "").rpartition("/")[2] in units
    ]
    assert len(measured) > 50
    for key, written in measured:
        assert any(row[0] == key and written in row[1] for row in found), (key, written)


def test_keys_are_said_to_be_required_as_the_schema_requires_them() -> None:
    found = rows(scenario_keys.page(SCHEMA))
    required = sum(
        len([key for key in table.get("required", []) if key != "kind"]) for table in tables(SCHEMA)
    )
    # `dctcp` stands in the schema once as a kind and once as a table; each is on the page.
    assert sum(row[2] == "*required*" for row in found) == required


def test_a_key_that_the_schema_does_not_describe_is_refused() -> None:
    schema = {
        "$defs": {},
        "properties": {key: {"type": "string", "description": "x"} for key in scenario_keys.ORDER},
    }
    schema["properties"]["seed"] = {"type": "integer"}
    with pytest.raises(ValueError, match="the description of 'seed' is missing"):
        scenario_keys.page(schema)


def test_every_command_and_option_is_on_the_page() -> None:
    page = command_line.page(parser_of_all())
    for name, parser in command_line.commands(parser_of_all()).items():
        section = page.partition(f"## `{name}` {{")[2].partition("\n## ")[0]
        for action in parser._actions:
            if action.dest != "help":
                shown = action.option_strings[0] if action.option_strings else str(action.metavar)
                assert f"| `{shown}" in section, (name, shown)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip(needs("mkdocs-material", "make docs"))
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr
    return folder


def build(config: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", folder],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


def test_every_link_inside_the_site_leads_to_a_place_that_is_there(site: Path) -> None:
    pages = {
        path: path.read_text(encoding="utf-8") for path in site.rglob("*.html") if path.name != "404.html"
    }
    anchors = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in pages.items()}
    assert len(pages) > 30
    for path, text in pages.items():
        for raw in re.findall(r'(?:href|src)="([^"]+)"', text):
            target, _, anchor = unescape(raw).partition("#")
            if target.startswith(("data:", "mailto:", "https:")):
                continue
            there = (path.parent / target.partition("?")[0]).resolve() if target else path
            if there.is_dir():
                there /= "index.html"
            assert there.exists(), f"{path.name}: {raw}"
            if anchor and there in anchors and anchor != "__skip":
                assert anchor in anchors[there], f"{path.name}: {raw}"


def test_the_site_asks_no_other_host_for_anything(site: Path) -> None:
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        fetched = re.findall(
            r'<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="(https?:)?//[^"]*"', text
        )
        assert not fetched, path
        assert not re.search(r"url\(['\"]?https?:|@import", text), path


def test_drawings_are_in_the_page_and_take_its_colours(site: Path) -> None:
    text = (site / "concepts.html").read_text(encoding="utf-8")
    assert text.count('<figure class="drawing">') == 7
    style = (ROOT / "docs/assets/site.css").read_text(encoding="utf-8")
    for drawing in sorted((ROOT / "docs/images/concepts").glob("*.svg")):
        for name in set(
            " ".join(re.findall(r'class="([^"]+)"', drawing.read_text(encoding="utf-8"))).split()
        ):
            assert f".drawing .{name}" in style, f"{drawing.name}: the site does not know the class {name}"


def test_messages_wrap_and_output_in_columns_does_not(site: Path) -> None:
    text = (site / "tutorial.html").read_text(encoding="utf-8")
    blocks = re.findall(r'<div class="language-text( wrap)? highlight">(.*?)</div>', text, re.DOTALL)
    wrapped = [unescape(re.sub("<[^>]+>", "", block)) for wrap, block in blocks if wrap]
    assert len(blocks) > len(wrapped) >= 1
    assert all(block.startswith("shallows: --set") for block in wrapped)


def test_a_broken_link_stops_the_build(tmp_path: Path, site: Path) -> None:
    assert site.exists()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("[nowhere](nowhere.md)")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n")[0]
    settings = "\n".join(
        line for line in settings.splitlines() if not line.startswith(("hooks:", "nav:", "# In"))
    )
    config = tmp_path / "mkdocs.yml"
    config.write_text(re.sub(r"  logo:.*\n|  favicon:.*\n", "", settings))
    done = build(config, tmp_path / "site")
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr
