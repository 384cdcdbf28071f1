"""HTTP server on the loopback address for live pages of a folder or a testbed network."""

import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from shallows.errors import ShallowsError
from shallows.reports.of_folder import LeadsOutError, Site

ADDRESS = "127.0.0.1"
"""Loopback address only: results are private, and the server has no authentication."""

MOST_CONNECTIONS = 32
"""Maximum number of simultaneous connections, each with a thread; a browser opens six."""

TIMEOUT_S = 10.0
"""Time limit for a client's request, and again for receiving the response."""


def open_server(
    folder: Path, port: int, most: int = MOST_CONNECTIONS, timeout_s: float = TIMEOUT_S
) -> ThreadingHTTPServer:
    """Open a server of a folder; it never serves files outside the folder, even through symbolic links.

    The parameters `port`, `most` and `timeout_s`, and the errors, are those of `open_pages`.
    """
    return open_pages(Site(folder).page, port, most, timeout_s)


def open_pages(
    page: Callable[[str], str | None],
    port: int,
    most: int = MOST_CONNECTIONS,
    timeout_s: float = TIMEOUT_S,
) -> ThreadingHTTPServer:
    """Open a server of pages, which listens on `ADDRESS`.

    Parameters
    ----------
    page
        Function that returns the page at a path, such as `/fig2/`, or None if there is none.
    port
        Port to listen on; 0 selects a free port.
    most
        Maximum number of simultaneous connections; further ones get status 503 with `Retry-After`.
    timeout_s
        Time limit for a client's request, and again for receiving the response.

    Raises
    ------
    ShallowsError
        If the port cannot be used.
    """
    pages = staticmethod(page)

    class Handler(_Handler):
        """Handler of requests for the pages that `page` returns."""

        page = pages
        timeout = timeout_s

    try:
        return _Server((ADDRESS, port), Handler, most, timeout_s)
    except OSError as error:
        raise ShallowsError(
            f"port {port} cannot be used: {error.strerror}",
            "name another port, or 0 to select a free port",
        ) from None


class _Server(ThreadingHTTPServer):
    """Server with a thread for each connection, and limits on the number and duration of connections."""

    def __init__(
        self, address: tuple[str, int], handler: type["_Handler"], most: int, timeout_s: float
    ) -> None:
        self.most, self.timeout_s = most, timeout_s
        self.deadlines: dict[socket.socket, float] = {}
        """Deadline for the request of each open connection, by `time.monotonic`."""
        super().__init__(address, handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002
        """Accept a connection; if `most` connections are open, answer with status 503."""
        if len(self.deadlines) < self.most:
            self.deadlines[request] = time.monotonic() + self.timeout_s
            return True
        with suppress(OSError):  # the client may have closed the connection
            request.send(
                b"HTTP/1.0 503 Too many connections\r\nRetry-After: %d\r\n\r\n" % (self.timeout_s + 1)
            )
        return False

    def has_asked(self, request: socket.socket) -> None:
        """Remove the deadline of a connection whose request is complete."""
        self.deadlines[request] = float("inf")

    def service_actions(self) -> None:
        """Close connections whose deadline has passed; called several times a second.

        A socket timeout is not enough, because it restarts with every received byte.
        """
        now = time.monotonic()
        for request, deadline in self.deadlines.copy().items():
            if deadline < now:
                with suppress(OSError):  # the connection may be closed already
                    request.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Remove the deadline of a connection that ends."""
        self.deadlines.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report errors, except those of clients that disconnect."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Handler of one GET request for a page."""

    server: _Server
    page: Callable[[str], str | None]
    server_version, sys_version = "shallows", ""

    def do_GET(self) -> None:
        """Send the requested page."""
        self.server.has_asked(self.connection)
        # In a DNS rebinding attack, the Host header has the name of the attacker's site.
        _, port = self.request.getsockname()
        if self.headers.get("Host") not in {f"{name}:{port}" for name in (ADDRESS, "localhost")}:
            self._answer(
                HTTPStatus.MISDIRECTED_REQUEST, "This server answers for localhost only.\n", "text/plain"
            )
            return
        path = unquote(urlsplit(self.path).path, errors="surrogateescape")  # like Python's file names
        try:
            found = self.page(path)
        except LeadsOutError as error:
            self._answer(HTTPStatus.FORBIDDEN, f"{error}\n", "text/plain")
            return
        except ShallowsError as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error}\n", "text/plain")
            return
        if found is None:
            self._answer(HTTPStatus.NOT_FOUND, "There is nothing here.\n", "text/plain")
        elif not path.endswith("/"):
            self.send_response(HTTPStatus.MOVED_PERMANENTLY)
            self.send_header("Location", f"./{urlsplit(self.path).path.rsplit('/', 1)[-1]}/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._answer(HTTPStatus.OK, found, "text/html")

    def _answer(self, status: HTTPStatus, text: str, kind: str) -> None:
        body = text.encode(errors="replace")  # file names may not be UTF-8
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: a page that reloads itself would fill the screen."""
