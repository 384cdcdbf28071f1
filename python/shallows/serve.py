"""`shallows serve`: a folder of results in the browser, live while a sweep runs, on this machine only."""

import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from urllib.parse import unquote, urlsplit

from shallows import progress, tables
from shallows.console import console
from shallows.errors import ShallowsError
from shallows.manifest import finished_hash
from shallows.points import INDEX, finished_in, missing_in, points_of
from shallows.progress import Progress
from shallows.quantity import count, duration
from shallows.reports import holds_claims, of_reproduction, of_run, of_sweep
from shallows.reports.chart import Chart
from shallows.reports.page import Block, Section, chart, render, table
from shallows.reports.sweep_charts import draw
from shallows.results import Run, describe

ADDRESS = "127.0.0.1"
"""Never another: results are nobody else's, and this is no server for the open."""

PATIENCE = 4
"""Charts that took long to draw are drawn anew only after so many times that time."""


def serve(folder: Path, port: int) -> int:
    """Serve a folder until Ctrl-C."""
    if not folder.is_dir():
        raise ShallowsError(f"{folder} is no folder", "name one that `run` or `sweep` writes")
    with open_server(folder, port) as server:
        screen = console()
        screen.print(
            f"{folder} is at http://{ADDRESS}:{server.server_port}/ (Ctrl-C ends this)", soft_wrap=True
        )
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            screen.print()
    return 0


def open_server(folder: Path, port: int) -> ThreadingHTTPServer:
    """A server of this folder, which listens.

    Raises
    ------
    ShallowsError
        If the port is taken.
    """
    site = Site(folder)

    class Handler(_Handler):
        """Answers from this folder."""

        page = staticmethod(site.page)

    try:
        return ThreadingHTTPServer((ADDRESS, port), Handler)
    except OSError as error:
        raise ShallowsError(
            f"port {port} cannot be used: {error.strerror}",
            "name another with --port N, or --port 0 for any that is free",
        ) from None


class _Handler(BaseHTTPRequestHandler):
    """One request: it reads pages and nothing else."""

    page: Callable[[str], str | None]
    server_version, sys_version = "shallows", ""

    def do_GET(self) -> None:
        """Answer with a page."""
        # A page elsewhere whose name leads here (DNS rebinding) would name that in the request.
        _, port = self.request.getsockname()
        if self.headers.get("Host") not in {f"{name}:{port}" for name in (ADDRESS, "localhost")}:
            self._answer(
                HTTPStatus.MISDIRECTED_REQUEST, "This server answers for localhost only.\n", "text/plain"
            )
            return
        path = unquote(urlsplit(self.path).path)
        try:
            found = self.page(path)
        except ShallowsError as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error}\n", "text/plain")
            return
        if found is None:
            self._answer(HTTPStatus.NOT_FOUND, "There is nothing here.\n", "text/plain")
        elif not path.endswith("/"):
            self.send_response(HTTPStatus.MOVED_PERMANENTLY)
            self.send_header("Location", f"{urlsplit(self.path).path.rsplit('/', 1)[-1]}/")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._answer(HTTPStatus.OK, found, "text/html")

    def _answer(self, status: HTTPStatus, text: str, kind: str) -> None:
        body = text.encode()
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


class Site:
    """Pages of a folder and of what is inside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.lock = Lock()
        self.drawn: dict[Path, _Drawn] = {}

    def page(self, path: str) -> str | None:
        """The page at a path, such as `/fig2/`; nothing if there is none."""
        folder = self.folder
        for part in filter(None, path.split("/")):
            # Only what is listed, so that no path leads out.
            inside = (
                {}
                if part.startswith(".")
                else {each.name: each for each in folder.iterdir() if each.is_dir()}
            )
            if part not in inside:
                return None
            folder = inside[part]
        if finished_hash(folder):
            return of_run.page(Run(folder))
        if holds_claims(folder) and path.endswith("/") and folder != self.folder:
            return of_reproduction.page(folder)
        if (folder / INDEX).is_file():
            with self.lock:
                return self._sweep(folder)
        return self._list(folder)

    def _list(self, folder: Path) -> str | None:
        """A page of links to sweeps and runs inside a folder; none if there are none."""
        inside = [
            each for each in sorted(folder.iterdir()) if each.is_dir() and not each.name.startswith(".")
        ]
        rows = []
        links = []
        for each in inside:
            if (each / INDEX).is_file():
                state = progress.read(each)
                rows.append(
                    [
                        each.name,
                        *map(
                            str, (len(state.done), len(state.running), len(state.failed), len(state.points))
                        ),
                    ]
                )
                links.append(f"{each.name}/")
            elif finished_hash(each):
                rows.append([each.name, "1", "0", "0", "1"])
                links.append(f"{each.name}/")
        if not rows and folder != self.folder:
            return None
        note = [] if rows else [Block("note", "Nothing is here yet: no sweep, and no finished run.")]
        shown = tables.Table("", ["", "done", "running", "failed", "points"], rows)
        blocks = [*note, *([table(shown, links)] if rows else [])]
        claims = (
            [Block("note", f"`shallows report {folder}` shows its claims.")] if holds_claims(folder) else []
        )
        return render(
            folder.name, "Folder", str(folder), [Section("Inside", [*blocks, *claims])], live="live.js"
        )

    def _sweep(self, folder: Path) -> str:
        state = progress.read(folder)
        runs = finished_in(folder)
        charts = self._charts(folder, runs)
        results = [table(tables.points(runs), [f"{run.path.name}/" for run in runs])] if runs else []
        warnings = [Block("warning", each) for each in of_sweep.count_warnings(runs)] if runs else []
        return render(
            title=str(runs[0].summary["name"]) if runs else folder.name,
            kind="Sweep, live",
            subtitle=_in_words(state),
            sections=[
                Section("Progress", _progress(state, missing_in(folder))),
                Section("Charts so far", [chart(made) for made in charts]),
                Section("Results so far", results),
                Section("Warnings", warnings),
            ],
            live="live.js",
        )

    def _charts(self, folder: Path, runs: Sequence[Run]) -> Sequence[Chart]:
        """Drawn anew when runs have been added, but no more often than their drawing takes time."""
        names = [run.path for run in runs]
        last = self.drawn.get(folder)
        if last and (last.runs == names or time.monotonic() < last.until):
            return last.charts
        start = time.monotonic()
        charts, _ = draw(runs, [labels for _, labels in points_of(folder)]) if runs else ([], [])
        end = time.monotonic()
        self.drawn[folder] = _Drawn(names, charts, end + PATIENCE * (end - start))
        return charts


class _Drawn:
    """Charts of a sweep, of which runs, and until when they will do."""

    def __init__(self, runs: list[Path], charts: Sequence[Chart], until: float) -> None:
        self.runs, self.charts, self.until = runs, charts, until


def _in_words(state: Progress) -> str:
    parts = [f"{len(state.done)} of {len(state.points)} points done"]
    parts += [f"{len(state.failed)} failed"] if state.failed else []
    if len(state.done) + len(state.failed) == len(state.points) and not state.running:
        return ", ".join([*parts, "nothing runs"] if state.failed else parts)
    if not state.running and state.left_s is None:
        return ", ".join([*parts, "nothing runs: `shallows sweep` goes on from here"])
    parts += [f"{len(state.running)} running", f"{count(state.hops_per_s)} packet-hops/s"]
    return ", ".join([*parts, f"{duration(state.left_s)} left"] if state.left_s is not None else parts)


def _progress(state: Progress, missing: Sequence[str]) -> list[Block]:
    """A bar for the whole, one for each point that runs, and what failed."""
    worked = len(state.done) + sum(state.running.values())
    bars = [("all points", worked / max(len(state.points), 1))]
    bars += [
        (describe(state.points[name]) or name, fraction) for name, fraction in sorted(state.running.items())
    ]
    shown = [(name, round(100 * fraction, 1)) for name, fraction in bars]
    blocks = [Block("progress", shown)]
    blocks += [
        Block("warning", f"{describe(state.points[name]) or name} failed: {error}")
        for name, error in state.failed.items()
    ]
    waiting = len(missing) - len(state.running) - len(state.failed)
    return [*blocks, *([Block("note", f"{waiting} points wait.")] if waiting > 0 else [])]
