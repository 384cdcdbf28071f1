"""Junos: sections in braces, or `set` commands; both become the words of a `set` command."""

import re
from collections.abc import Iterator
from dataclasses import replace

from shallows.advisor.syntax import terminal
from shallows.advisor.syntax.statements import (
    DEEPEST,
    MOST_STATEMENTS,
    Statement,
    numbered,
    refusal,
    too_deep,
    too_many,
)

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{};\[\]]|[^\s{};\[\]"]+|"')
_COMMANDS = ("set", "delete", "deactivate", "activate")
LONGEST_LIST = 4096
"""Maximum number of items in brackets."""

_COMMENT = re.compile(r"/\*.*?\*/|##.*")


def read(text: str, name: str) -> list[Statement]:
    r"""Return each leaf as the words of its `set` command; a list in brackets gives one statement per item.

    Statements of `deactivate` and `delete` begin with this word. Lines between commands are terminal
    output and are skipped. In a terminal session, each statement has its host as a section.

    >>> for statement in read("class-of-service { schedulers s1 { shaping-rate 1g; } }", "leaf"):
    ...     print(statement.line, statement.text)
    1 class-of-service schedulers s1 shaping-rate 1g
    >>> [statement.text for statement in read("set system host-name leaf1\ndelete protocols", "leaf")]
    ['system host-name leaf1', 'delete protocols']

    Raises
    ------
    ShallowsError
        If braces, brackets or quotes do not match; the error names the line.
    """
    lines = [(number, line) for number, line in numbered(text, name) if not line.lstrip().startswith("#")]
    commands = list(_entered(lines))
    if 2 * len(commands) > len(lines):
        found: list[Statement] = []
        for command in commands:
            found += _command(*command, name)
            if len(found) > MOST_STATEMENTS:
                raise too_many(name, command[0], "the lists")
        return found
    return _sections(lines, name)


def _entered(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield the number, the text without its prompt, and the host of each line with a command."""
    host: tuple[str, ...] = ()
    for number, line in lines:
        if shown := terminal.prompt(line):
            host, line = (shown.host,), shown.entered
        elif name := terminal.heading(line):
            host = (name,)
        if line.split()[:1] and line.split()[0] in _COMMANDS:
            yield number, line, host


def _command(number: int, line: str, host: tuple[str, ...], name: str) -> Iterator[Statement]:
    words = _words(number, line, name)
    if any(word in ("{", "}", ";") for word in words):
        raise refusal(name, number, "braces and set commands must not be mixed", "use one of the two forms")
    kept = words[1:] if words[0] == "set" else words
    if kept:
        yield from _listed(Statement(number, tuple(kept), host), name)


def _words(number: int, line: str, name: str) -> list[str]:
    words = _TOKEN.findall(_COMMENT.sub("", line))
    if '"' in words:
        raise refusal(name, number, "a quoted string is not closed", 'add the closing "')
    return [word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word for word in words]


def _listed(statement: Statement, name: str) -> Iterator[Statement]:
    """Yield one statement; if it ends with a list, yield one statement for each item of the list."""
    words = statement.words
    if "[" not in words and "]" not in words:
        yield statement
        return
    if words.count("[") != 1 or words[-1] != "]" or words.count("]") != 1:
        raise refusal(
            name, statement.line, "the brackets of a list do not match", "write a list as [ one two ]"
        )
    if len(words) > LONGEST_LIST:
        raise refusal(
            name, statement.line, f"a list must have at most {LONGEST_LIST:,} items", "shorten the list"
        )
    at = words.index("[")
    for item in words[at + 1 : -1]:
        yield replace(statement, words=(*words[:at], item))


def _sections(lines: list[tuple[int, str]], name: str) -> list[Statement]:
    """Return the leaves of sections; in a terminal session, the host is the outermost section."""
    reader = _Sections(name)
    comment = 0
    edited: tuple[str, ...] = ()
    for number, line in lines:
        if not comment and (entered := terminal.prompt(line)):
            reader.shown(number, entered, edited)
        elif not comment and (path := terminal.mode(line)) is not None:
            edited = path
        else:
            line, comment = _without_comments(line, comment, number)
            for word in _words(number, line, name):
                reader.word(number, word)
    if comment:
        raise refusal(name, comment, "the comment that starts here is not closed", "add the closing */")
    if reader.above:
        remedy = "give the whole configuration"
        raise refusal(name, reader.opened[-1], "the brace that opens here is not closed", remedy)
    if reader.pending:
        raise refusal(
            name,
            reader.started,
            "the statement that starts here is not terminated",
            "end the statement with ; or give the complete file",
        )
    return reader.found


class _Sections:
    def __init__(self, name: str) -> None:
        self.name = name
        self.found: list[Statement] = []
        self.host: tuple[str, ...] = ()
        self.shows: tuple[str, ...] = ()
        self.above: list[tuple[str, ...]] = []
        self.opened: list[int] = []
        self.pending: list[str] = []
        self.started = 0

    def shown(self, number: int, entered: terminal.Prompt, edited: tuple[str, ...]) -> None:
        """Start to read the output of a command.

        Unfinished earlier output becomes statements that are not understood.
        """
        if self.pending:
            self.found.append(Statement(self.started, tuple(self.pending), self.host))
        if self.above:
            words = (*self.path(), f"{{ is not closed before line {number}: what it had more is not known")
            self.found.append(Statement(self.opened[-1], words, self.host))
        self.pending, self.above, self.opened = [], [], []
        self.host, self.shows = (entered.host,), entered.shown(edited)

    def path(self) -> tuple[str, ...]:
        """Return the names of the sections around the next statement."""
        return (*self.shows, *(part for section in self.above for part in section))

    def word(self, number: int, word: str) -> None:
        """Process the next word of the text."""
        self.started = self.started if self.pending else number
        if word == "{":
            if len(self.above) >= DEEPEST:
                raise too_deep(self.name, number)
            if not self.pending:
                raise refusal(
                    self.name,
                    number,
                    "a section must have a name before its opening brace",
                    "name the section",
                )
            self.above.append(tuple(self.pending))
            self.opened.append(number)
            self.pending = []
        elif word == "}":
            if self.pending:
                raise refusal(
                    self.name, number, "the previous statement is not terminated", "end that statement with ;"
                )
            if not self.above:
                remedy = "remove the brace, or a surplus closing brace above this line"
                raise refusal(self.name, number, "a closing brace has no opening brace", remedy)
            self.above.pop()
            self.opened.pop()
        elif word == ";":
            if not self.above and self.shows[-1:] == (*self.pending[:1],):
                self.pending = self.pending[1:]  # the output repeats the name of a leaf
            if words := (*self.path(), *self.pending):
                self.found += _listed(Statement(self.started, words, self.host), self.name)
            if len(self.found) > MOST_STATEMENTS:
                raise too_many(self.name, number, "the lists")
            self.pending = []
        else:
            self.pending.append(word)


def _without_comments(line: str, within: int, number: int) -> tuple[str, int]:
    """Return a line without its comments, and the line number of an open comment."""
    if within:
        _, closed, line = line.partition("*/")
        if not closed:
            return "", within
    line = _COMMENT.sub("", line)
    before, opened, _ = line.partition("/*")
    return (before, number) if opened else (line, 0)
