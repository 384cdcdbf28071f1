"""Drawing of the tree of pauses of a run, and its victim flows."""

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from shallows.quantity import digits, percent
from shallows.reports.html import Block
from shallows.reports.page import table
from shallows.runs.results import Run
from shallows.runs.table import Table

if TYPE_CHECKING:
    from shallows.series.pause_tree import Paused, PauseTree
    from shallows.series.victims import Victims

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 176, 38, 44, 10, 12

MOST_BOXES = 6
"""Maximum number of boxes directly to the right of a box; further ports share the last box."""

MOST_DEEP = 6
"""Maximum number of boxes from a root to the right."""

MOST_VICTIMS = 10
"""Maximum number of victim flows in the table."""


def blocks(run: Run) -> list[Block]:
    """Return the tree of pauses of each class, and its victim flows; nothing if no port was paused.

    With routing loops, flows do not take the shortest paths that `victims` assumes, so no victims are listed.
    """
    if not run.has("pause_times") or not any(
        of_class["pauses"] for of_class in run.summary.get("lossless", {}).values()
    ):
        return []
    from shallows.series.pause_tree import pause_trees
    from shallows.series.victims import victims

    loops = run.scenario["switch"]["lossless"].get("routing_loops")
    found = []
    for tree in pause_trees(run):
        note = (
            "The nodes on the left were congested and paused the nodes to their right; each of these paused "
            "the nodes to its right in turn."
        )
        if loops:
            note += (
                " Victim flows are not listed, because the paths of flows in a routing loop are not known."
            )
        found.append(Block("drawing", draw(tree), f"Who paused whom, class {tree.lossless}", note))
        if not loops:
            found.append(table(victim_flows(victims(run, tree))))
    return found


def victim_flows(found: "Victims") -> Table:
    """Tabulate the victim flows of a class, longest pause first."""
    rows = [
        [
            str(victim.flow),
            f"{victim.source} → {victim.destination}",
            digits(victim.paused_us),
            percent(victim.paused_us / victim.lasted_us),
        ]
        for victim in found.victims[:MOST_VICTIMS]
    ]
    count, shown = len(found.victims), len(rows)
    note = (
        f"{found.paused:,} of {found.flows:,} flows of class {found.lossless} were paused, {count:,} of them "
        "without a congested port on any of their paths. Paused: the longest time for which one port of the "
        "path was paused."
    )
    if shown < count:
        note += f" The table has the {shown} that were paused for the longest time."
    columns = ["flow", "path", "paused µs", "of its time"]
    return Table(f"Victim flows of class {found.lossless}", columns, rows, note=note)


@dataclass
class _Box:
    """A box of the drawing, with the boxes to its right."""

    lines: tuple[str, str]
    title: str
    is_switch: bool
    after: "list[_Box]" = field(default_factory=list)
    column: int = 0
    row: float = 0.0


def draw(tree: "PauseTree") -> str:
    """Return a drawing of a tree of pauses as SVG text, with the congested switches on the left."""
    roots = []
    for switch, paused in tree.roots().items():
        queues = tree.congested[switch]
        is_host = any(port.endswith(f"->{switch}") for port in queues)
        said = f"queue of {queues[0]}" if len(queues) == 1 else f"{len(queues)} queues"
        lines = (switch, "host that pauses" if is_host else said)
        box = _Box(lines, f"{switch}: {', '.join(queues)}", is_switch=not is_host)
        box.after = _boxes(paused, tree, 1)
        roots.append((sum(each.paused_us for each in paused), box))
    roots.sort(key=lambda root: -root[0])
    boxes = [box for _, box in roots]
    if len(boxes) > MOST_BOXES:
        rest = len(boxes) - MOST_BOXES
        boxes = [*boxes[:MOST_BOXES], _Box((f"… {rest:,} more", "switches"), "", is_switch=True)]
    rows = 0.0
    for box in boxes:
        rows = _place(box, 0, rows)
    return _svg(boxes, rows)


def _boxes(paused: "list[Paused]", tree: "PauseTree", depth: int) -> list[_Box]:
    """Return the boxes of paused ports, each followed by the ports that were paused because of it."""
    found = []
    few = paused if len(paused) <= MOST_BOXES else paused[: MOST_BOXES - 1]
    for each in few:
        after = tree.after(each.sender)
        box = _Box((each.node, _sum(each.pauses, each.paused_us)), _title(each), is_switch=bool(after))
        if after and depth < MOST_DEEP:
            box.after = _boxes(after, tree, depth + 1)
        found.append(box)
    if rest := paused[len(few) :]:
        pauses, time = sum(each.pauses for each in rest), sum(each.paused_us for each in rest)
        names = ", ".join(each.node for each in rest)
        found.append(_Box((f"{len(rest):,} more", _sum(pauses, time)), names, is_switch=False))
    return found


def _sum(pauses: int, paused_us: float) -> str:
    return f"{pauses:,} × paused, {digits(paused_us)} µs"


def _title(paused: "Paused") -> str:
    return f"{paused.by} paused {paused.sender.port} {paused.pauses:,} times"


def _place(box: _Box, column: int, row: float) -> float:
    """Set column and row of a box and of the boxes after it. Returns the next free row."""
    box.column = column
    if not box.after:
        box.row = row
        return row + 1
    following = row
    for each in box.after:
        following = _place(each, column + 1, following)
    box.row = (box.after[0].row + box.after[-1].row) / 2
    return following


def _svg(boxes: list[_Box], rows: float) -> str:
    every = [each for box in boxes for each in _all(box)]
    width = (max(box.column for box in every) + 1) * (BOX_WIDTH + GAP_X) - GAP_X + 2 * MARGIN
    height = rows * (BOX_HEIGHT + GAP_Y) - GAP_Y + 2 * MARGIN
    parts = [
        f'<svg class="topology" viewBox="0 0 {width} {height:.0f}" width="{width}" role="img" '
        'aria-label="Tree of pauses: congested switches, and the ports that they paused">'
    ]
    for box in every:
        for other in box.after:
            (x1, y1), (x2, y2) = _corner(box), _corner(other)
            parts.append(
                f'<line x1="{x1 + BOX_WIDTH}" y1="{y1 + BOX_HEIGHT / 2:.1f}" x2="{x2}" '
                f'y2="{y2 + BOX_HEIGHT / 2:.1f}"></line>'
            )
    parts += map(_drawn, every)
    return "".join([*parts, "</svg>"])


def _all(box: _Box) -> list[_Box]:
    return [box, *(each for other in box.after for each in _all(other))]


def _corner(box: _Box) -> tuple[float, float]:
    return MARGIN + box.column * (BOX_WIDTH + GAP_X), MARGIN + box.row * (BOX_HEIGHT + GAP_Y)


def _drawn(box: _Box) -> str:
    x, y = _corner(box)
    middle = x + BOX_WIDTH / 2
    name, said = map(escape, box.lines)
    return (
        f'<rect class="{"switch" if box.is_switch else "hosts"}" x="{x}" y="{y:.1f}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="5"><title>{escape(box.title)}</title></rect>'
        f'<text x="{middle}" y="{y + 16:.1f}" text-anchor="middle">{name}</text>'
        f'<text class="names" x="{middle}" y="{y + 30:.1f}" text-anchor="middle">{said}</text>'
    )
