"""Junos: inheritance from configuration groups where `apply-groups` names them.

Juniper's guide defines the precedence: statements outside groups override inherited ones, the first of
several groups overrides the others, and a group applied at an inner level overrides one applied further out.
Names in angle brackets are shell wildcards that match existing names.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import translate
from functools import lru_cache
from itertools import chain, product

from shallows.advisor.syntax.statements import MOST_STATEMENTS, Statement, refusal, too_many

APPLY, EXCEPT = "apply-groups", "apply-groups-except"
Words = tuple[str, ...]
_Tree = dict[str, "_Tree"]

MOST_COMPARISONS = 1 << 21
"""Maximum number of comparisons of wildcards with names: 500 wildcards of a switch with 4,096 ports."""


def in_force(statements: list[Statement], name: str = "") -> list[Statement]:
    """Return inherited statements, then the statements outside groups, which take precedence.

    Group statements that are not applied, or match nothing, stay in the result unchanged. Conflicting
    statements of two wildcards of one group also stay, because the guide does not define their order.

    >>> said = ["interfaces xe-0/0/1 mtu 1500", "interfaces xe-0/0/2 speed 25g", "apply-groups all"]
    >>> said += ["groups all interfaces <xe-*> mtu 9216"]
    >>> found = in_force([Statement(1, tuple(each.split())) for each in said])
    >>> [each.text for each in found[:2]]
    ['interfaces xe-0/0/1 mtu 9216', 'interfaces xe-0/0/2 mtu 9216']

    Raises
    ------
    ShallowsError
        If groups produce more statements than any configuration has; the error names `name`.
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
    # A later statement replaces earlier ones, so groups applied further out come first, and the first of
    # several groups comes last.
    order = sorted(enumerate(dict.fromkeys(applied)), key=lambda each: (len(each[1][0]), -each[0]))
    given = _Given(groups, tree, excepted, name)
    for _, (where, group) in order:
        for statement, words in given.below(where, group) if group in groups else ():
            taken.add(id(statement))
            inherited.append(replace(statement, words=words))
    settled = {(*where, APPLY, group) for where, group in applied if group in groups and where}
    settled |= {
        (*where, EXCEPT, group) for group, places in excepted.items() if group in groups for where in places
    }
    return inherited + [each for each in statements if id(each) not in taken and each.words not in settled]


class _Group:
    """Statements of a Junos group; those with wildcards are indexed by all words up to the last wildcard."""

    def __init__(self, said: list[Statement]) -> None:
        self.wild: dict[Words, list[Statement]] = {}
        self.plain: list[Statement] = []
        self.by_length: dict[int, dict[Words, list[Statement]]] = {}
        for statement in said:
            wild = [place for place, word in enumerate(statement.words) if place > 1 and _is_wild(word)]
            if wild:
                self.wild.setdefault(statement.words[2 : wild[-1] + 1], []).append(statement)
            else:
                self.plain.append(statement)

    def plain_below(self, place: Words) -> list[Statement]:
        """Return the statements without wildcards that the group has at or below a path."""
        length = len(place)
        if length not in self.by_length:
            found: dict[Words, list[Statement]] = {}
            self.by_length[length] = found
            for each in self.plain:
                found.setdefault(each.words[2 : 2 + length], []).append(each)
        return self.by_length[length].get(place, [])


class _Given:
    """Statements that paths inherit from groups; their number is limited before they are built."""

    def __init__(
        self, groups: dict[str, list[Statement]], tree: _Tree, excepted: dict[str, list[Words]], name: str
    ) -> None:
        self.groups = {group: _Group(said) for group, said in groups.items()}
        self.excepted = {group: {*places} for group, places in excepted.items()}
        self.tree, self.name = tree, name
        self.statements = self.comparisons = 0
        self.matched: dict[tuple[Words, Words], list[Words]] = {}

    def below(self, place: Words, group: str) -> Iterator[tuple[Statement, Words]]:
        """Yield a group's statements that match a path by wildcards, then statements that name the path."""
        excepted = self.excepted.get(group, set())
        ends = {*map(len, excepted)}
        plain = self.groups[group].plain_below(place)
        self.count(len(plain), plain[0] if plain else None)
        for statement, words in chain(self.wild(place, group), ((each, each.words[2:]) for each in plain)):
            if not any(words[:end] in excepted for end in ends):
                yield statement, words

    def wild(self, place: Words, group: str) -> Iterator[tuple[Statement, Words]]:
        """Yield a group's statements that contain wildcards, except conflicting ones."""
        said: dict[Words, dict[Words, list[tuple[Statement, Words]]]] = {}
        for head, statements in self.groups[group].wild.items():
            shared = min(len(head), len(place))
            self.compare(1, statements[0])
            if not all(map(_matches, place[:shared], head[:shared])):
                continue
            after = len(place) - shared
            told = [each for each in statements if each.words[2 + len(head) :][:after] == place[shared:]]
            paths = self.matching(place[:shared], head[shared:], statements[0]) if told else []
            self.count(len(told) * len(paths), statements[0])
            for statement, path in product(told, paths):
                words = (*path, *statement.words[2 + len(head) :])
                said.setdefault(words[:-1], {}).setdefault(head, []).append((statement, words))
        for by_wildcard in said.values():
            values = [{words for _, words in told} for told in by_wildcard.values()]
            if all(each == values[0] for each in values):
                yield from next(iter(by_wildcard.values()))

    def matching(self, place: Words, head: Words, statement: Statement) -> list[Words]:
        """Return the existing paths below `place` that match the words of a group's statement one by one."""
        if (place, head) not in self.matched:
            found = [(place, tree)] if (tree := _at(self.tree, place)) is not None else []
            for word in head:
                if _is_wild(word):
                    self.compare(sum(len(tree) for _, tree in found), statement)
                    found = [
                        ((*path, name), below)
                        for path, tree in found
                        for name, below in tree.items()
                        if name not in (APPLY, EXCEPT) and _matches(name, word)
                    ]
                else:
                    found = [((*path, word), tree[word]) for path, tree in found if word in tree]
            self.matched[place, head] = [path for path, _ in found]
        return self.matched[place, head]

    def count(self, statements: int, of: Statement | None) -> None:
        """Count statements before they are built, and reject too many."""
        self.statements += statements
        if of is not None and self.statements > MOST_STATEMENTS:
            raise too_many(self.name, of.line, "the groups")

    def compare(self, names: int, of: Statement) -> None:
        """Count comparisons of names with a wildcard; reject too many."""
        self.comparisons += names
        if self.comparisons > MOST_COMPARISONS:
            raise refusal(
                self.name,
                of.line,
                "the groups have too many wildcards: expanding them needs more than "
                f"{MOST_COMPARISONS:,} comparisons",
                "pass the file of only one switch, or replace the wildcards with names",
            )


def _is_wild(word: str) -> bool:
    return len(word) > 2 and word.startswith("<") and word.endswith(">")


def _tree(paths: Iterable[Words]) -> _Tree:
    """Build a tree of all paths, word by word."""
    tree: _Tree = {}
    for path in paths:
        if "inactive:" not in path:
            below = tree
            for word in path:
                below = below.setdefault(word, {})
    return tree


def _at(tree: _Tree, path: Words) -> _Tree | None:
    """Return the subtree below a path."""
    found: _Tree | None = tree
    for word in path:
        found = None if found is None else found.get(word)
    return found


def _matches(name: str, word: str) -> bool:
    """Return whether a name equals or matches a word of a group."""
    return _pattern(word).match(name) is not None if _is_wild(word) else name == word


@lru_cache(maxsize=1024)
def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(translate(word[1:-1]))
