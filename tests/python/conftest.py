"""Shared by all tests of the Python package."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _examples_have_a_folder(doctest_namespace: dict[str, Any], tmp_path: Path) -> None:
    """Docstring examples write into `folder`."""
    doctest_namespace["folder"] = tmp_path
