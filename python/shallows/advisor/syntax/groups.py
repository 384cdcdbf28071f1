"""Junos: what configuration groups give to the places where `apply-groups` names them.

Juniper's guide to configuration groups: what is said outside goes before what a group says, the first of
several groups before the others, and one that is applied closer before one further out. Names in angle
brackets are wildcards of a shell, and give data to what is there and matches.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

from shallows.advisor.syntax.statements import MOST_STATEMENTS, Statement, too_many

APPLY, EXCEPT = "apply-groups", "apply-groups-except"
Words = tuple[str, ...]
_Tree = dict[str, "_Tree"]


def in_force(statements: list[Statement], name: str = "") -> list[Statement]:
    """Statements, with those that are inherited first: what is said outside goes before them.

    What nothing applies, or matches nothing, stays as the group says it. So does what two wildcards of one
    group say differently of the same thing: which of them goes before, the guide does not say.

    >>> said = ["interfaces xe-0/0/1 mtu 1500", "interfaces xe-0/0/2 speed 25g", "apply-groups all"]
    >>> said += ["groups all interfaces <xe-*> mtu 9216"]
    >>> found = in_force([Statement(1, tuple(each.split())) for each in said])
    >>> [each.text for each in found[:2]]
    ['interfaces xe-0/0/1 mtu 9216', 'interfaces xe-0/0/2 mtu 9216']

    Raises
    ------
    ShallowsError
        If groups give more than any configuration has; `name` is the file's.
    """
    groups: dict[str, list[Statement]] = {}
    for each in statements:
        if each.words[0] == "groups" and len(each.words) > 3:
            groups.setdefault(each.words[1], []).append(each)
    applied = [
        (each.words[:-2], each.words[-1])
        for each in statements
        if each.words[-2:-1] == (APPLY,) and each.words[0] not in ("groups", "delete", "deactivate")
    ]
    excepted: dict[str, list[Words]] = {}
    for each in statements:
        if each.words[-2:-1] == (EXCEPT,) and each.words[0] not in ("groups", "delete", "deactivate"):
            excepted.setdefault(each.words[-1], []).append(each.words[:-2])
    tree = _tree(each.words for each in statements if each.words[0] not in ("groups", "delete", "deactivate"))
    taken: set[int] = set()
    inherited: list[Statement] = []
    # The last replaces what was said before: groups applied further out first, and of several the first last.
    order = sorted(enumerate(dict.fromkeys(applied)), key=lambda each: (len(each[1][0]), -each[0]))
    given = {group: _Given(said, tree, excepted.get(group, []), name) for group, said in groups.items()}
    for _, (where, group) in order:
        for statement, words in given[group].below(where) if group in given else ():
            taken.add(id(statement))
            inherited.append(replace(statement, words=words))
            if len(inherited) > MOST_STATEMENTS:
                raise too_many(name, statement.line, "its groups")
    settled = {(*where, APPLY, group) for where, group in applied if group in groups and where}
    settled |= {
        (*where, EXCEPT, group) for group, places in excepted.items() if group in groups for where in places
    }
    return inherited + [each for each in statements if id(each) not in taken and each.words not in settled]


class _Given:
    """What a group says wherever it is applied, found once, and by place."""

    def __init__(self, said: list[Statement], tree: _Tree, outside: Iterable[Words], name: str) -> None:
        excepted = {*outside}
        self.all: list[tuple[Statement, Words]] = []
        for statement, words in _given(said, tree):
            if not any(words[:end] in excepted for end in range(len(words) + 1)):
                self.all.append((statement, words))
            if len(self.all) > MOST_STATEMENTS:
                raise too_many(name, statement.line, "its groups")
        self.by_length: dict[int, dict[Words, list[tuple[Statement, Words]]]] = {}

    def below(self, place: Words) -> list[tuple[Statement, Words]]:
        """What it says of a place."""
        length = len(place)
        if length not in self.by_length:
            found: dict[Words, list[tuple[Statement, Words]]] = {}
            self.by_length[length] = found
            for each in self.all:
                found.setdefault(each[1][:length], []).append(each)
        return self.by_length[length].get(place, [])


def _given(group: list[Statement], tree: _Tree) -> Iterator[tuple[Statement, Words]]:
    """What a group says without a wildcard, and before it what it says with one of all that matches."""
    said: dict[Words, dict[Words, list[tuple[Statement, Words]]]] = {}
    plain = []
    for statement in group:
        words = statement.words[2:]
        wild = [place for place, word in enumerate(words) if _is_wild(word)]
        if not wild:
            plain.append((statement, words))
            continue
        head, rest = words[: wild[-1] + 1], words[wild[-1] + 1 :]
        for path in _matching(tree, head):
            told = (*path, *rest)
            said.setdefault(told[:-1], {}).setdefault(head, []).append((statement, told))
    for by_wildcard in said.values():
        values = [{words for _, words in told} for told in by_wildcard.values()]
        if all(each == values[0] for each in values):
            yield from next(iter(by_wildcard.values()))
    yield from plain


def _is_wild(word: str) -> bool:
    return len(word) > 2 and word.startswith("<") and word.endswith(">")


def _tree(paths: Iterable[Words]) -> _Tree:
    """All that is there, word by word."""
    tree: _Tree = {}
    for path in paths:
        if "inactive:" not in path:
            below = tree
            for word in path:
                below = below.setdefault(word, {})
    return tree


def _matching(tree: _Tree, head: Words) -> Iterator[Words]:
    """Paths that are there, and match word by word."""
    if not head:
        yield ()
    elif _is_wild(head[0]):
        for word, below in tree.items():
            if word not in (APPLY, EXCEPT) and _matches(word, head[0][1:-1]):
                yield from ((word, *rest) for rest in _matching(below, head[1:]))
    elif head[0] in tree:
        yield from ((head[0], *rest) for rest in _matching(tree[head[0]], head[1:]))


@cache
def _matches(word: str, pattern: str) -> bool:
    return fnmatchcase(word, pattern)
