"""Tests of reports in Chromium: no errors, charts that react, and pages that fit the screen."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import standing_pages
from not_run import needs
from shallows import reports
from shallows.reports.chart import Axis, Chart, Line
from shallows.reports.html import Section
from shallows.reports.of_standing import Page as Standing
from shallows.reports.page import chart, render
from shallows.reports.serve import open_pages, open_server
from shallows.runs.index import runs_in
from shallows.runs.steps import Series
from shared import HOSTILE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

try:
    from playwright.sync_api import Browser, Page, sync_playwright
except ImportError:
    CHROMIUM = None

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason=needs("Chromium and Playwright", "apt-get install chromium && make browser")
)


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Chromium from Debian's package."""
    with sync_playwright() as playwright:
        # Its sandbox needs rights that containers do not have; the pages are ours.
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class Opened:
    """An opened page, and all of its error messages and failed requests."""

    def __init__(self, browser: "Browser", address: str, **options: Any) -> None:
        self.page: Page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._refuse)
        self.page.on("requestfailed", lambda request: self.complaints.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector(".plot svg path", state="attached")

    def count(self, of: str) -> int:
        """Return the number of matching elements."""
        return int(self.page.locator(of).count())

    def _refuse(self, dialog: Any) -> None:
        self.complaints.append("dialog")
        dialog.dismiss()


@pytest.fixture(scope="module")
def sweep(finished_sweep: Path) -> str:
    """The address of a sweep's page."""
    return reports.write(finished_sweep).as_uri()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_fit_without_a_complaint(
    browser: "Browser", finished_sweep: Path, sweep: str, width: int, theme: Any
) -> None:
    run = reports.write(runs_in(finished_sweep)[0].path).as_uri()
    for address in (sweep, run):
        opened = Opened(browser, address, viewport={"width": width, "height": 844}, color_scheme=theme)
        opened.page.locator("footer summary").click()  # the licences, whose lines are long
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
        dark = opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
        assert dark is (theme == "dark")
        # Every chart has lines, within its frame.
        for plot in opened.page.locator(".plot").all():
            assert int(plot.get_attribute("data-series") or 0) >= 1
            assert plot.evaluate("(plot) => plot.querySelector('svg').clientWidth <= plot.clientWidth")
        assert opened.complaints == []
        opened.page.close()


def test_a_click_on_a_scheme_hides_it_in_every_chart_and_shows_it_again(
    browser: "Browser", sweep: str
) -> None:
    opened = Opened(browser, sweep)
    # Orange is the second scheme's colour, in light and in dark.
    lines = ".plot svg path[stroke='#D55E00']"
    drawn = opened.count(lines)
    assert drawn >= opened.count(".chart")
    entries = opened.page.get_by_role("button", name="reno")
    entries.first.click()
    assert opened.count(lines) == 0
    assert {each.get_attribute("aria-pressed") for each in entries.all()} == {"false"}
    # The keyboard works, too.
    entries.first.focus()
    opened.page.keyboard.press("Enter")
    assert opened.count(lines) == drawn
    assert opened.complaints == []


def test_charts_answer_to_the_pointer_keys_and_choices(browser: "Browser", sweep: str) -> None:
    opened = Opened(browser, sweep)
    plot = opened.page.locator("figure[data-chart='goodput'] .plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tip = plot.locator("div", has_text="load").last
    tip.wait_for()
    for words in ("load", "dctcp", "reno", "Gb/s ["):
        assert words in plot.inner_text()
    plot.focus()
    opened.page.keyboard.press("+")
    back = opened.page.locator("figure[data-chart='goodput']").get_by_role("button", name="whole axis")
    back.click()
    back.wait_for(state="detached")
    choice = opened.page.locator("figure[data-chart^='cdf-'] select").first
    curve = "figure[data-chart^='cdf-'] .plot svg path[stroke='#D55E00']"
    before = opened.page.locator(curve).first.get_attribute("d")
    choice.select_option("0.6")
    assert opened.page.locator(curve).first.get_attribute("d") != before
    opened.page.get_by_role("button", name="show the tail").first.click()
    opened.page.get_by_role("button", name="show all").wait_for()
    assert opened.complaints == []


def test_charts_with_the_same_lines_share_a_legend(browser: "Browser", sweep: str) -> None:
    opened = Opened(browser, sweep)
    shared = opened.page.locator(".legend.shared")
    assert shared.get_by_role("button").count() == 2
    assert opened.page.locator("figure[data-chart='goodput'] .legend").get_by_role("button").count() == 0
    assert opened.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_chart_downloads_as_a_drawing_a_picture_and_numbers(
    browser: "Browser", sweep: str, tmp_path: Path, theme: Any
) -> None:
    opened = Opened(browser, sweep, color_scheme=theme)
    figure = opened.page.locator("figure[data-chart='goodput']")
    files = {}
    for kind in ("SVG", "PNG", "CSV"):
        with opened.page.expect_download() as download:
            figure.get_by_role("button", name=kind, exact=True).click()
        files[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[kind])
        assert files[kind].name.endswith(f"goodput.{kind.lower()}")
    drawing = ElementTree.parse(files["SVG"]).getroot()  # noqa: S314 — our own
    words = {text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Goodput", "dctcp", "reno"} <= words
    assert files["PNG"].read_bytes().startswith(b"\x89PNG")
    header, *rows = files["CSV"].read_text().splitlines()
    assert header == "line,load (%),goodput (Gb/s),low,high"
    assert {row.split(",")[0] for row in rows} == {"dctcp", "reno"}
    assert all(len(row.split(",")) == 5 for row in rows)
    assert opened.complaints == []


def test_the_theme_can_be_switched_and_print_is_light(browser: "Browser", sweep: str) -> None:
    opened = Opened(browser, sweep, color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    opened.page.get_by_role("button", name="Theme").click()
    assert opened.page.evaluate(background) == "rgb(20, 23, 26)"
    # A black line would be invisible.
    assert opened.count(".plot svg path[stroke='#000000']") == 0
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.page.emulate_media(media="print")
    assert opened.page.evaluate(background) == "rgb(255, 255, 255)"
    for plot in opened.page.locator(".plot").all():
        width, height = plot.evaluate("(e) => [e.clientWidth, e.querySelector('svg').clientHeight]")
        assert height >= 200
        assert plot.evaluate("(e) => e.querySelector('svg').clientWidth") <= width
    assert opened.complaints == []


def test_a_table_wider_than_a_phone_shades_its_edge_and_keeps_its_first_column(
    browser: "Browser", finished_sweep: Path
) -> None:
    address = reports.write(runs_in(finished_sweep)[0].path).as_uri()
    opened = Opened(browser, address, viewport={"width": 390, "height": 844})
    wide = "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth)"
    assert opened.page.evaluate(f"{wide}.length") >= 1
    for style in ("backgroundImage", "backgroundAttachment"):
        found = opened.page.evaluate(f"{wide}.map((each) => getComputedStyle(each).{style})")
        assert all(
            {"backgroundImage": "gradient", "backgroundAttachment": "local"}[style] in each for each in found
        )
    places = opened.page.evaluate(
        f"{wide}.map((each) => {{ each.scrollLeft = 1e4; const cell = each.querySelector('td');"
        " return [cell.getBoundingClientRect().left - each.getBoundingClientRect().left, each.scrollLeft] })"
    )
    assert all(abs(left) < 1 and scrolled > 0 for left, scrolled in places)
    # Short names stay on one line.
    assert opened.page.evaluate(
        "[...document.querySelectorAll('td.short')]"
        ".every((each) => each.clientHeight < 40 || each.querySelector('small'))"
    )
    opened.page.close()


@pytest.mark.parametrize(
    "names", [["DCTCP K=30KB", "DCTCP K=65KB", "DCTCP K=300KB", "Reno drop-tail"], list("abcd") * 3]
)
def test_names_below_an_axis_do_not_overlap_on_a_phone(
    browser: "Browser", tmp_path: Path, names: list[str]
) -> None:
    names = [f"{name} {place}" for place, name in enumerate(names)]
    lines = [Line(name, place, [(float(place), 1.0)]) for place, name in enumerate(names)]
    made = Chart("named", "Named", "points", Axis("", names=names), Axis("goodput (Gb/s)"), lines)
    page = tmp_path / "page.html"
    page.write_text(render("Named", "Sweep", "", [Section("Charts", [chart(made)])]), encoding="utf-8")
    opened = Opened(browser, page.as_uri(), viewport={"width": 390, "height": 844})
    boxes = opened.page.evaluate(
        "[...document.querySelectorAll('.plot svg text')]"
        ".map((each) => [each.textContent, each.getBoundingClientRect()])"
        ".filter(([text]) => isNaN(Number(text)) && !text.includes('goodput'))"
        ".map(([, box]) => [box.left, box.top, box.right, box.bottom])"
    )
    assert len(boxes) >= len(names)
    for place, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[place + 1 :]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] + 1 or other[3] <= top + 1
    frame = opened.page.locator(".plot").bounding_box()
    assert frame
    assert all(box[3] <= frame["y"] + frame["height"] for box in boxes)
    assert opened.complaints == []
    opened.page.close()


def test_hostile_names_run_nothing(browser: "Browser", hostile: Path) -> None:
    single = runs_in(hostile)[0].path
    for folder in (hostile, single):
        opened = Opened(browser, reports.write(folder).as_uri())
        assert opened.page.inner_text("h1") == HOSTILE
        assert opened.count("img") == 0
        for plot in opened.page.locator(".plot").all():
            plot.hover()
        assert opened.count("img") == 0
        assert opened.complaints == []
        # If a script got through, the policy would still block it.
        opened.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>')")
        opened.page.wait_for_timeout(200)
        assert "dialog" not in opened.complaints
        assert any("Content Security Policy" in complaint for complaint in opened.complaints)


def test_a_hundred_thousand_flows_open_and_react(browser: "Browser", hundred_thousand: Path) -> None:
    opened = Opened(browser, reports.write(hundred_thousand).as_uri())
    plot = opened.page.locator("figure[data-chart='fct_us'] .plot")
    lines = int(plot.get_attribute("data-series") or 0)
    assert lines >= 2
    # A click and the drawing that follows, in the page's own time.
    took = opened.page.evaluate(
        "() => { const start = performance.now(); document.querySelector('.legend button').click();"
        " return performance.now() - start }"
    )
    assert took < 2_000
    assert plot.get_attribute("data-series") == str(lines - 1)
    assert opened.complaints == []


def test_what_is_drawn_of_a_line_over_time_has_its_area_its_ends_and_its_gaps(
    browser: "Browser", sweep: str
) -> None:
    opened = Opened(browser, sweep)
    # A burst of 2,000 changes in the first of 10 ms, and a peak of no length; nothing in the next 8; a burst.
    times = np.concatenate([np.arange(2000) / 2000, 9 + np.arange(2000) / 2000])
    series = Series(
        np.append(times, 10.0), np.append(np.where(times % 1 < 0.999, np.arange(4000) % 5, 0), 0.0)
    )
    points = [list(point) for point in zip(series.times.tolist(), series.values.tolist(), strict=True)]
    points.insert(1000, [points[1000][0], 77.0])
    for begin, end in [(0.0, 10.0), (0.123, 9.7), (0.51, 0.5104)]:
        drawn = opened.page.evaluate("(given) => shallows.shorten(...given)", [points, begin, end, 300])
        assert len(drawn) <= 301
        edges = np.clip([part[0] for part in drawn], begin, end)
        area = float((np.array([part[1] for part in drawn[:-1]]) * np.diff(edges)).sum())
        assert area == pytest.approx(series.between(begin, end).mean() * (end - begin))
        if end > 9:
            assert max(part[-1] for part in drawn) == 77
            # Of the gap, at most one part at each end is not drawn as empty.
            empty = [
                high - low
                for part, low, high in zip(drawn, edges, edges[1:], strict=False)
                if not any(part[1:])
            ]
            assert sum(empty) >= 8 - 2 * (end - begin) / 300
    # A few changes are drawn unreduced.
    assert drawn == [[0.51, 0], [0.5105, 1]]
    assert opened.complaints == []


def test_the_page_of_a_sweep_renews_itself(browser: "Browser", finished: Path) -> None:
    hidden = [run.path for run in runs_in(finished)[6:]]
    for path in hidden:
        path.rename(path.with_name("." + path.name))
    with _serving(open_server(finished, 0)) as address:
        opened = Opened(browser, address)
        assert "6 of 12 runs done" in opened.page.inner_text(".sub")
        assert opened.page.get_by_role("button", name="reno").count() == 0
        for path in hidden:
            path.with_name("." + path.name).rename(path)
        opened.page.get_by_text("12 of 12 runs done").wait_for()
        opened.page.get_by_role("button", name="reno").first.wait_for()
        assert opened.complaints == []


@contextmanager
def _serving(listening: ThreadingHTTPServer) -> Iterator[str]:
    """Run a server while the context is open, and yield its address."""
    with listening as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_of_a_network_renews_its_numbers_in_place_and_says_when_it_has_gone(
    browser: "Browser", width: int, theme: Any
) -> None:
    text = standing_pages.text
    with standing_pages.watch(text(1, {"a->b": 1_000}), text(2, {"a->b": 77_000})) as watch:
        with _serving(open_pages(Standing(HOSTILE, watch).at, 0)) as address:
            opened = Opened(browser, address, viewport={"width": width, "height": 844}, color_scheme=theme)
            page = opened.page
            assert page.evaluate("document.documentElement.scrollWidth") == width
            # Elements that the reader has changed stay changed when the numbers change.
            page.evaluate("for (const each of document.querySelectorAll('td, .plot, h3')) each.mine = true")
            os.pwrite(watch.page, text(3, {"a->b": 55_000}).encode(), 0)
            watch.look()
            page.get_by_text("55,000").wait_for()
            assert page.evaluate("[...document.querySelectorAll('td, .plot, h3')].every((each) => each.mine)")
            assert (
                page.evaluate(
                    "JSON.parse(document.getElementById('data').textContent).charts[0].lines[0].points.length"
                )
                == 3
            )
            # A further port is a further row, and a further line.
            os.pwrite(watch.page, text(4, {"a->b": 55_000, "c->d": 3_000}).encode(), 0)
            watch.look()
            page.get_by_role("button", name="c->d").wait_for()
            assert page.locator("tbody tr").count() == 2
            assert opened.complaints == []
        page.get_by_text("The network has gone: its shell has ended.").wait_for()
        page.close()
