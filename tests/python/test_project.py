"""Tests of the repository's workflows, hooks, containers and templates: what they refer to exists."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pages import ROOT

YAML = sorted(
    path
    for place in (".github", ".")
    for path in (ROOT / place).glob("**/*.y*ml" if place == ".github" else ".*.yaml")
)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SAYS_MAKE = [
    *YAML,
    ROOT / "Dockerfile",
    ROOT / ".devcontainer" / "devcontainer.json",
    ROOT / "SECURITY.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("**/*.md")),
]


CHARTS = "python/shallows/reports/static/echarts.js"
WORKSPACE: dict[str, Any] = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]


def targets() -> set[str]:
    """Return the phony targets of the Makefile."""
    (listed,) = re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    return set(listed.split())


def steps(name: str) -> Iterator[dict[str, Any]]:
    """Yield all steps of a workflow."""
    document = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))
    for job in document["jobs"].values():
        yield from job["steps"]


def test_there_are_workflows_templates_and_hooks() -> None:
    names = {path.name for path in YAML}
    assert names >= {"tests.yml", "wheels.yml", "docs.yml", "bug.yml", "model.yml", ".pre-commit-config.yaml"}


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_a_yaml_file_parses_to_a_table(path: Path) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    if path.parent.name == "workflows":
        # YAML 1.1 reads the key `on` as true.
        assert document.keys() >= {"name", True, "jobs", "permissions"}
    if path.parent.name == "ISSUE_TEMPLATE":
        assert document.keys() >= {"name", "description", "body"}


@pytest.mark.parametrize("path", SAYS_MAKE, ids=lambda path: path.name)
def test_a_target_that_a_file_names_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`|run: |RUN |&& |\"|^- )make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert named <= targets()


def test_every_target_of_the_makefile_is_made_of_existing_files() -> None:
    named = set(re.findall(r"\brequirements[\w-]*\.txt\b", MAKEFILE))
    assert {"requirements-oldest.txt", "requirements-charts.txt"} <= named
    for name in named:
        assert (ROOT / name).is_file(), name
        assert (ROOT / name.replace(".txt", ".in")).is_file(), name
    for name in re.findall(r"tests/python/test_\w+\.py", MAKEFILE):
        assert (ROOT / name).is_file(), name


def test_a_wheel_needs_neither_marimo_nor_node() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", f"--old-file={CHARTS}", "wheel"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "maturin build" in done.stdout
    assert "requirements-notebooks" not in done.stdout
    assert "requirements-charts" not in done.stdout


def test_lower_bounds_are_the_versions_of_the_oldest_environment() -> None:
    text = (ROOT / "requirements-oldest.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))
    for dependency in PROJECT["dependencies"]:
        name, lower = re.fullmatch(r"([\w-]+)>=([\w.]+),<\d+", dependency).groups()  # type: ignore[union-attr]
        assert pinned[name].removesuffix(".0").removesuffix(".0") == lower.removesuffix(".0"), name


def test_the_metadata_of_the_package_are_complete() -> None:
    assert PROJECT.keys() >= {"authors", "keywords", "classifiers", "urls", "license", "readme"}
    assert PROJECT["urls"].keys() >= {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert [each["name"] for each in citation["authors"]] == [each["name"] for each in PROJECT["authors"]]
    assert set(PROJECT["keywords"]) <= set(citation["keywords"])
    assert citation["version"] == WORKSPACE["package"]["version"]


def test_base_images_have_no_host_in_their_names() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    images = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    stages = set(re.findall(r"^FROM \S+ AS (\w+)", text, re.MULTILINE))
    assert all(re.fullmatch(r"[a-z]+:[\w.-]+", image) for image in images if image not in stages)
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert container["build"]["target"] in stages
    for step in steps("tests.yml"):
        assert step.keys() & {"uses", "run"}


def test_hooks_run_programs_of_the_checkout() -> None:
    document = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repository,) = document["repos"]
    assert repository["repo"] == "local"
    programs = {hook["entry"].split()[0] for hook in repository["hooks"]}
    assert programs == {".venv/bin/ruff", ".venv/bin/mypy", "cargo"}


def test_rust_is_of_the_version_that_the_crates_need() -> None:
    needed = WORKSPACE["package"]["rust-version"]
    for path in (*YAML, ROOT / "Dockerfile"):
        text = path.read_text(encoding="utf-8")
        found = re.findall(
            r"rust:(\d+\.\d+)|rustup (?:default|toolchain install) (\d+\.\d+)|rust-toolchain: \"(.+)\"", text
        )
        assert all(needed in each for each in found), path
