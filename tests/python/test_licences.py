"""Tests of the licences that are distributed: those of the engine's crates and of the charts' packages."""

import hashlib
import json
import re
import shutil
from html import escape

import pytest

import engine
from not_run import needs
from pages import ROOT
from shallows.reports import page


@pytest.mark.skipif(shutil.which("cargo") is None, reason=needs("Cargo", "rustup.rs"))
def test_the_licences_of_the_engine_are_those_of_its_crates() -> None:
    assert engine.FILE.read_text(encoding="utf-8") == engine.text(), "Cargo.lock has changed: make licences"


def test_every_crate_of_the_engine_is_in_the_lock_file_and_brings_its_terms() -> None:
    head, *texts = engine.FILE.read_text(encoding="utf-8").split("\n==== ")
    crates = re.findall(r"^(\S+) v(\S+): (.+)$", head, re.MULTILINE)
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    assert {"parquet", "pyo3", "serde"} <= {name for name, _, _ in crates}
    for name, version, terms in crates:
        assert f'name = "{name}"\nversion = "{version}"\n' in lock
        brought = [text for text in texts if f" of {name} v{version}" in text.partition("\n")[0]]
        assert brought or terms.endswith("it brings no text)")
    # Apache License 2.0 §4(d): a notice goes along.
    assert any(text.startswith("NOTICE.txt of parquet ") for text in texts)


def test_the_licences_of_the_charts_are_those_of_its_packages() -> None:
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    bundled = {
        (name.removeprefix("node_modules/"), package["version"], package["license"])
        for name, package in lock["packages"].items()
        if name and "esbuild" not in name  # which only builds
    }
    text = page.NOTICES.read_text(encoding="utf-8")
    assert set(re.findall(r"^==== (\S+) (\S+): (.+)$", text, re.MULTILINE)) == bundled
    assert {"LICENSE", "NOTICE", "licenses/LICENSE-d3"} <= set(re.findall(r"^---- (.+)$", text, re.MULTILINE))
    # As the build of the charts made it.
    digest = hashlib.sha256(page.NOTICES.read_bytes()).hexdigest()
    assert f"{digest}  charts.built.txt\n" in (ROOT / "web" / "charts.sha256").read_text(encoding="utf-8")


def test_a_page_brings_the_licences_of_its_charts() -> None:
    text = page.render("title", "kind", "subtitle", [])
    notices = escape(page.NOTICES.read_text(encoding="utf-8").strip(), quote=False)
    assert notices.replace('"', "&#34;").replace("'", "&#39;") in text
