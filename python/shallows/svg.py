"""Small line charts as SVG text, for reports that must open anywhere and cost no start-up time."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from shallows.quantity import digits

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 30, 12, 46
STYLES = [
    ("#0072B2", ""),
    ("#D55E00", "7 3"),
    ("#000000", "2 3"),
    ("#009E73", "7 3 2 3"),
    ("#CC79A7", "12 3"),
    ("#E69F00", "4 2"),
]


@dataclass(frozen=True)
class Line:
    """One line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]


def chart(lines: Sequence[Line], x_label: str, y_label: str, *, log_x: bool = False) -> str:
    """Draw lines over common axes; the vertical one starts at zero."""
    lines = [line for line in lines if line.points]
    xs = [x for line in lines for x, _ in line.points if x > 0 or not log_x]
    ys = [y for line in lines for _, y in line.points]
    if not xs:
        return ""
    x_ticks = _decades(min(xs), max(xs)) if log_x else _ticks(min(xs), max(xs))
    y_ticks = _ticks(0.0, max(ys) or 1.0)
    low, high = min(*xs, x_ticks[0]), max(*xs, x_ticks[-1])
    across = _scale(low, high, LEFT, WIDTH - RIGHT, log=log_x)
    down = _scale(0.0, max(max(ys), y_ticks[-1]), HEIGHT - BOTTOM, TOP, log=False)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(y_label)} against {escape(x_label)}">'
    ]
    parts += [_grid_line(across(x), TOP, across(x), HEIGHT - BOTTOM) for x in x_ticks]
    parts += [_grid_line(LEFT, down(y), WIDTH - RIGHT, down(y)) for y in y_ticks]
    parts += [_text(across(x), HEIGHT - BOTTOM + 16, digits(x), "middle") for x in x_ticks]
    parts += [_text(LEFT - 8, down(y) + 4, digits(y), "end") for y in y_ticks]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_label, "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<g transform="rotate(-90 14 {middle})">{_text(14, middle, y_label, "middle")}</g>')
    for line, (color, dashes) in zip(lines, STYLES, strict=False):
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in line.points if x > 0 or not log_x)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" '
            f'stroke-width="2" stroke-dasharray="{dashes}"/>'
        )
    return "".join([*parts, "</svg>", _legend(lines)])


def _legend(lines: Sequence[Line]) -> str:
    items = [
        '<span><svg viewBox="0 0 34 10" width="34" height="10"><line x1="1" y1="5" x2="33" y2="5" '
        f'stroke="{color}" stroke-width="2" stroke-dasharray="{dashes}"/></svg> {escape(line.name)}</span>'
        for line, (color, dashes) in zip(lines, STYLES, strict=False)
    ]
    return f'<div class="legend">{"".join(items)}</div>'


def _scale(low: float, high: float, start: float, end: float, *, log: bool) -> Callable[[float], float]:
    place = math.log if log else float
    first, last = place(low), place(high)
    span = (last - first) or 1.0
    return lambda value: start + (place(value) - first) / span * (end - start)


def _ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """Round numbers that cover the range."""
    rough = (high - low) / wanted or 1.0
    unit: float = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(index * step, 12) for index in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten that cover the range, with 2 and 5 between where they are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = [factor * 10.0**decade for decade in range(first, last + 1) for factor in factors]
    above = next((tick for tick in ticks if tick >= high), ticks[-1])
    below = next((tick for tick in reversed(ticks) if tick <= low), ticks[0])
    return [tick for tick in ticks if below <= tick <= above]


def _grid_line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
