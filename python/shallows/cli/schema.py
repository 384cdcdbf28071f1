"""Command `shallows schema`."""

import argparse
import json

from shallows import _core
from shallows.cli.codes import OK


def run(_options: argparse.Namespace) -> int:
    """Print the JSON Schema of a scenario file."""
    print(json.dumps(json.loads(_core.schema()), indent=2))
    return OK
