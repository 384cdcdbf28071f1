"""YAML values with their keys and line numbers; repetition by aliases is bounded."""

from collections.abc import Iterator
from typing import Any

import yaml

from shallows.advisor.syntax.statements import DEEPEST, refusal, too_deep
from shallows.errors import ShallowsError

MOST_VALUES = 1 << 19
"""Maximum number of values in a document, counting repetition by aliases: 1,000 ports with 500 values
each."""


class Node:
    """A mapping, list or scalar of a document, with its line."""

    def __init__(self, line: int, value: "dict[str, Node] | list[Node] | str") -> None:
        self.line = line
        self.value = value
        below = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
        self.size: int = 1 + sum(each.size for each in below)
        """Number of values in this node, including the node itself and repetition by aliases."""
        self.height: int = 1 + max((each.height for each in below), default=-1)
        """Number of levels of values below this node; 0 for a scalar."""

    def get(self, *keys: str) -> "Node | None":
        """Return the value below these keys, if it exists."""
        node: Node | None = self
        for key in keys:
            node = node.value.get(key) if node is not None and isinstance(node.value, dict) else None
        return node

    def items(self) -> "Iterator[tuple[str, Node]]":
        """Yield the keys and values of a mapping; nothing for other nodes."""
        if isinstance(self.value, dict):
            yield from self.value.items()

    def entries(self) -> "Iterator[Node]":
        """Yield the items of a list; nothing for other nodes."""
        if isinstance(self.value, list):
            yield from self.value

    def scalar(self) -> str | None:
        """Return the text of a scalar."""
        return self.value if isinstance(self.value, str) else None

    def leaves(self, path: tuple[str, ...] = ()) -> "Iterator[tuple[tuple[str, ...], Node]]":
        """Yield every scalar and empty collection, with the keys and positions above it."""
        below: Iterator[tuple[str, Node]] = (
            self.items()
            if isinstance(self.value, dict)
            else ((str(place), entry) for place, entry in enumerate(self.entries()))
        )
        empty = True
        for key, node in below:
            empty = False
            yield from node.leaves((*path, key))
        if empty:
            yield path, self


def read(text: str, name: str) -> Node:
    r"""Parse a document into nodes.

    >>> [(*path, node.line, node.scalar()) for path, node in read("a: {b: 1}\nc: [x, y]", "avd").leaves()]
    [('a', 'b', 1, '1'), ('c', '0', 2, 'x'), ('c', '1', 2, 'y')]

    Raises
    ------
    ShallowsError
        If the text is not YAML, is too deep, repeats a key, has a key that is not a scalar, or repeats too
        much by aliases.
    """
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Reader(name).document(yaml.parse(text, loader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise refusal(name, line, f"invalid YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ShallowsError(f"{name} is not YAML: {str(error).splitlines()[0]}", "correct the file") from None


class _Reader:
    """Builder of nodes from events; unlike yaml's composer, it limits the depth.

    Values that an alias repeats are counted, but not copied.
    """

    def __init__(self, name: str) -> None:
        self.name, self.values = name, 0
        self.anchors: dict[str, Node | None] = {}
        """Anchored nodes by name; None until a node is complete."""

    def document(self, events: Iterator[Any]) -> Node:
        """Return the only document of a stream."""
        found = None
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if found is not None:
                    raise refusal(
                        self.name,
                        event.start_mark.line + 1,
                        "a file must have one YAML document; a second starts here",
                        "keep one document",
                    )
                self.anchors = {}
            elif not isinstance(event, yaml.StreamStartEvent | yaml.StreamEndEvent | yaml.DocumentEndEvent):
                found = self.node(event, events, 0)
        return Node(1, {}) if found is None else found

    def node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        """Return the value that an event starts."""
        line = event.start_mark.line + 1
        if depth > DEEPEST:
            raise too_deep(self.name, line)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, depth)
        self.count(1, line)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            found = Node(line, event.value)
        elif isinstance(event, yaml.SequenceStartEvent):
            found = Node(line, [self.node(each, events, depth + 1) for each in _until_end(events)])
        else:
            found = Node(line, self.mapping(events, line, depth + 1))
        if event.anchor is not None:
            self.anchors[event.anchor] = found
        return found

    def count(self, values: int, line: int) -> None:
        """Count values before they are built; reject too many."""
        self.values += values
        if self.values > MOST_VALUES:
            raise refusal(
                self.name,
                line,
                f"a file must have at most {MOST_VALUES:,} values, repeated aliases included",
                "name the file of one device, and use fewer aliases",
            )

    def alias(self, event: Any, depth: int) -> Node:
        line = event.start_mark.line + 1
        if event.anchor not in self.anchors:
            raise refusal(
                self.name,
                line,
                f"the alias &{event.anchor[:40]} is undefined",
                "define the alias, or write its value",
            )
        found = self.anchors[event.anchor]
        if found is None or depth + found.height > DEEPEST:
            raise too_deep(self.name, line)
        self.count(found.size, line)
        return found

    def mapping(self, events: Iterator[Any], line: int, depth: int) -> dict[str, Node]:
        keys: dict[str, Node] = {}
        for event in _until_end(events):
            where = event.start_mark.line + 1
            key = self.node(event, events, depth).scalar() if _is_plain(event) else None
            if key is None:
                raise refusal(self.name, where, "a key must be a string", "correct the key")
            value = self.node(next(events), events, depth)
            if key == "<<":
                for each in [*value.entries()] or [value]:
                    for name, node in each.items():
                        keys.setdefault(name, node)
            elif key in keys and keys[key].line >= line:
                raise refusal(self.name, where, f'the key "{key[:40]}" occurs twice', "remove one of the two")
            else:
                keys[key] = value
        return keys


def _until_end(events: Iterator[Any]) -> Iterator[Any]:
    """Yield the events that start the items of a collection."""
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            return
        yield event


def _is_plain(event: Any) -> bool:
    """Return whether an event is a scalar or an alias."""
    return isinstance(event, yaml.ScalarEvent | yaml.AliasEvent)
