"""Command `shallows serve`."""

import argparse
from pathlib import Path

from shallows.bounded import is_folder
from shallows.cli.console import console
from shallows.errors import ShallowsError
from shallows.reports.serve import ADDRESS, open_server


def run(options: argparse.Namespace) -> int:
    """Serve a folder until Ctrl-C."""
    folder = Path(options.folder)
    if not is_folder(folder):
        raise ShallowsError(
            f"{folder} is not a folder", "name a folder that `shallows run` or `shallows sweep` writes"
        )
    with open_server(folder, options.port) as server:
        screen = console()
        screen.print(
            f"{folder} is at http://{ADDRESS}:{server.server_port}/ (Ctrl-C ends this)", soft_wrap=True
        )
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            screen.print()
    return 0
