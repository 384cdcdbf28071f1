"""Functions that serve a folder and request its pages."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shallows.reports.serve import open_server


@contextmanager
def serving(folder: Path, **limits: Any) -> Iterator[int]:
    """Serve a folder while the context is open, and yield the port."""
    with open_server(folder, 0, **limits) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def ask(port: int, path: str, host: str = "") -> tuple[int, str]:
    """Request a page, and return the status and the text of the response."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={"Host": host or f"127.0.0.1:{port}"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()
