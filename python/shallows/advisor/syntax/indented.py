"""Lines structured by indentation, as Arista EOS and Cisco NX-OS print them."""

from collections.abc import Sequence

from shallows.advisor.syntax.statements import DEEPEST, Statement, numbered, too_deep


def read(text: str, name: str, *, comment: str = "!") -> list[Statement]:
    r"""Return the lines of a configuration as statements, each with its enclosing section lines.

    >>> for statement in read("qos profile p\n   uc-tx-queue 3\n      no priority\n!", "leaf"):
    ...     print(statement.line, *statement.sections, ">", statement.text)
    1 > qos profile p
    2 qos profile p > uc-tx-queue 3
    3 qos profile p uc-tx-queue 3 > no priority

    Raises
    ------
    ShallowsError
        If a line is too long, or sections are too deep.
    """
    found: list[Statement] = []
    above: list[tuple[int, str]] = []
    for number, line in numbered(text, name):
        line = line.expandtabs(8)
        words = tuple(line.split())
        if words[0].startswith(comment) or set(line.strip()) == {"-"}:
            continue
        indent = len(line) - len(line.lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        if len(above) >= DEEPEST:
            raise too_deep(name, number)
        found.append(Statement(number, words, tuple(section for _, section in above)))
        above.append((indent, " ".join(words)))
    return found


def write(statements: Sequence[tuple[Sequence[str], str]], step: int = 3) -> list[str]:
    """Format statements with their sections; consecutive statements share a section's line.

    >>> write([(("qos profile p", "uc-tx-queue 3"), "no priority"), (("qos profile p",), "qos trust dscp")])
    ['qos profile p', '   uc-tx-queue 3', '      no priority', '   qos trust dscp']
    """
    lines: list[str] = []
    open_: list[str] = []
    for sections, text in statements:
        same = 0
        while same < min(len(open_), len(sections)) and open_[same] == sections[same]:
            same += 1
        for depth in range(same, len(sections)):
            lines.append(" " * (step * depth) + sections[depth])
        if same == len(sections) < len(open_) and open_[same] == text:
            continue
        lines.append(" " * (step * len(sections)) + text)
        open_ = [*sections, text]
    return lines
