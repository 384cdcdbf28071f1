"""Junos: sections in braces, or the same as `set` commands; both become the words of a `set` command."""

import re
from collections.abc import Iterator

from shallows.advisor.syntax.statements import DEEPEST, Statement, numbered, refusal, too_deep

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{};\[\]]|[^\s{};\[\]"]+|"')
_COMMANDS = ("set", "delete", "deactivate", "activate")
_COMMENT = re.compile(r"/\*.*?\*/|##.*")


def read(text: str, name: str) -> list[Statement]:
    r"""Every leaf as the words that `set` takes; a list in brackets is a statement for each.

    `deactivate` and `delete` stay as they are, with their word in front; among commands, other lines are what
    a terminal showed around them.

    >>> for statement in read("class-of-service { schedulers s1 { shaping-rate 1g; } }", "leaf"):
    ...     print(statement.line, statement.text)
    1 class-of-service schedulers s1 shaping-rate 1g
    >>> [statement.text for statement in read("set system host-name leaf1\ndelete protocols", "leaf")]
    ['system host-name leaf1', 'delete protocols']

    Raises
    ------
    ShallowsError
        If braces, brackets or quotes do not match; the line is named.
    """
    lines = [(number, line) for number, line in numbered(text, name) if not line.lstrip().startswith("#")]
    commands = [(number, line) for number, line in lines if line.split()[0] in _COMMANDS]
    if 2 * len(commands) > len(lines):
        return list(_commands(commands, name))
    return _sections(lines, name)


def _commands(lines: list[tuple[int, str]], name: str) -> Iterator[Statement]:
    for number, line in lines:
        words = _words(number, line, name)
        if any(word in ("{", "}", ";") for word in words):
            raise refusal(name, number, "it has braces among set commands", "give one form, not both")
        kept = words[1:] if words[0] == "set" else words
        if kept:
            yield from _listed(number, tuple(kept), name)


def _words(number: int, line: str, name: str) -> list[str]:
    words = _TOKEN.findall(_COMMENT.sub("", line))
    if '"' in words:
        raise refusal(name, number, "a quotation is not closed", 'close it with "')
    return [word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word for word in words]


def _listed(number: int, words: tuple[str, ...], name: str) -> Iterator[Statement]:
    """One statement, or one for each item of the list that ends it."""
    if "[" not in words and "]" not in words:
        yield Statement(number, words)
        return
    if words.count("[") != 1 or words[-1] != "]" or words.count("]") != 1:
        raise refusal(name, number, "its brackets do not match", "write a list as [ one two ]")
    at = words.index("[")
    for item in words[at + 1 : -1]:
        yield Statement(number, (*words[:at], item))


def _sections(lines: list[tuple[int, str]], name: str) -> list[Statement]:
    found: list[Statement] = []
    above: list[tuple[str, ...]] = []
    opened: list[int] = []
    pending: list[str] = []
    started = comment = 0
    for number, line in lines:
        line, comment = _without_comments(line, comment, number)
        for word in _words(number, line, name):
            started = started if pending else number
            if word == "{":
                if len(above) >= DEEPEST:
                    raise too_deep(name, number)
                if not pending:
                    raise refusal(name, number, "a brace opens a section without a name", "name the section")
                above.append(tuple(pending))
                opened.append(number)
                pending = []
            elif word == "}":
                if pending:
                    raise refusal(name, number, "a statement before it has no end", "end it with ;")
                if not above:
                    raise refusal(name, number, "a brace is closed that none opens", "remove it")
                above.pop()
                opened.pop()
            elif word == ";":
                path = tuple(part for section in above for part in section)
                found += [
                    Statement(started, each.words) for each in _listed(started, (*path, *pending), name)
                ]
                pending = []
            else:
                pending.append(word)
    if comment:
        raise refusal(name, comment, "a comment that starts here is not closed", "close it with */")
    if above:
        raise refusal(
            name, opened[-1], "a brace that opens here is not closed", "give the whole configuration"
        )
    if pending:
        raise refusal(
            name, started, "a statement that starts here has no end", "end it with ;, or give the whole"
        )
    return found


def _without_comments(line: str, within: int, number: int) -> tuple[str, int]:
    """A line without its comments, and the line where one starts that goes on."""
    if within:
        _, closed, line = line.partition("*/")
        if not closed:
            return "", within
    line = _COMMENT.sub("", line)
    before, opened, _ = line.partition("/*")
    return (before, number) if opened else (line, 0)
