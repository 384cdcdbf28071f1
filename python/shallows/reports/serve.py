"""Pages in the browser, on this machine only: a folder, live while a sweep runs, or a network that stands."""

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
"""Never another: results are nobody else's, and this is no server for the open."""

MOST_CONNECTIONS = 32
"""At once, each with a thread; a browser opens six."""

TIMEOUT_S = 10.0
"""So long a client may take to say what it wants, and again to take the answer."""


def open_server(
    folder: Path, port: int, most: int = MOST_CONNECTIONS, timeout_s: float = TIMEOUT_S
) -> ThreadingHTTPServer:
    """A server of this folder, which listens: nothing outside it is served, wherever its symbolic links lead.

    It is one of pages (`open_pages`), and takes and raises the same.
    """
    return open_pages(Site(folder).page, port, most, timeout_s)


def open_pages(
    page: Callable[[str], str | None],
    port: int,
    most: int = MOST_CONNECTIONS,
    timeout_s: float = TIMEOUT_S,
) -> ThreadingHTTPServer:
    """A server of pages, which listens.

    Parameters
    ----------
    page
        The page at a path, such as `/fig2/`; nothing if there is none.
    port
        Where; 0 is any that is free.
    most
        Connections at once; further ones are told to come again.
    timeout_s
        How long a client may take for its request, and for the answer.

    Raises
    ------
    ShallowsError
        If the port is taken.
    """
    pages = staticmethod(page)

    class Handler(_Handler):
        """Answers with these."""

        page = pages
        timeout = timeout_s

    try:
        return _Server((ADDRESS, port), Handler, most, timeout_s)
    except OSError as error:
        raise ShallowsError(
            f"port {port} cannot be used: {error.strerror}",
            "name another, or 0 for any that is free",
        ) from None


class _Server(ThreadingHTTPServer):
    """A thread for each of a few connections, none of which can wait for ever."""

    def __init__(
        self, address: tuple[str, int], handler: type["_Handler"], most: int, timeout_s: float
    ) -> None:
        self.most, self.timeout_s = most, timeout_s
        self.deadlines: dict[socket.socket, float] = {}
        """Of open connections: until when each has to have sent its request."""
        super().__init__(address, handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002
        """Take a connection if there is room for it."""
        if len(self.deadlines) < self.most:
            self.deadlines[request] = time.monotonic() + self.timeout_s
            return True
        with suppress(OSError):  # whoever does not wait for it has gone
            request.send(
                b"HTTP/1.0 503 Too many connections\r\nRetry-After: %d\r\n\r\n" % (self.timeout_s + 1)
            )
        return False

    def has_asked(self, request: socket.socket) -> None:
        """Note that a request is complete: what is left to do is ours."""
        self.deadlines[request] = float("inf")

    def service_actions(self) -> None:
        """End, several times a second, the connections whose requests do not come.

        A timeout of the socket alone would begin again with every byte.
        """
        now = time.monotonic()
        for request, deadline in self.deadlines.copy().items():
            if deadline < now:
                with suppress(OSError):  # closed meanwhile
                    request.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that ends, however it does."""
        self.deadlines.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that go away."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request: it reads pages and nothing else."""

    server: _Server
    page: Callable[[str], str | None]
    server_version, sys_version = "shallows", ""

    def do_GET(self) -> None:
        """Answer with a page."""
        self.server.has_asked(self.connection)
        # A page elsewhere whose name leads here (DNS rebinding) would name that in the request.
        _, port = self.request.getsockname()
        if self.headers.get("Host") not in {f"{name}:{port}" for name in (ADDRESS, "localhost")}:
            self._answer(
                HTTPStatus.MISDIRECTED_REQUEST, "This server answers for localhost only.\n", "text/plain"
            )
            return
        path = unquote(urlsplit(self.path).path, errors="surrogateescape")  # as Python has names of files
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
        body = text.encode(errors="replace")  # a name of a file may be no UTF-8
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: a page that renews itself would fill the screen."""
