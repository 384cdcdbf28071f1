"""What docstring examples may use."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _examples_have_a_folder(doctest_namespace: dict[str, Any], tmp_path: Path) -> None:
    """Examples write into `folder`, which goes afterwards."""
    doctest_namespace["folder"] = tmp_path
