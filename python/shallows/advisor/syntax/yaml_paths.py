"""YAML: each value with the keys above it, and its line. What is repeated by aliases is bounded."""

from collections.abc import Iterator
from typing import Any

from shallows.advisor.syntax.statements import DEEPEST, refusal, too_deep
from shallows.errors import ShallowsError

MOST_VALUES = 1 << 21
"""Of a document, each repeated by an alias counted again: a line each for twice as many as lines may be."""


class Node:
    """A mapping, a list or a scalar of a document, which knows its line."""

    def __init__(self, line: int, value: "dict[str, Node] | list[Node] | str") -> None:
        self.line = line
        self.value = value

    def get(self, *keys: str) -> "Node | None":
        """What stands below these keys, if it does."""
        node: Node | None = self
        for key in keys:
            node = node.value.get(key) if node is not None and isinstance(node.value, dict) else None
        return node

    def items(self) -> "Iterator[tuple[str, Node]]":
        """Keys and values of a mapping; of nothing else any."""
        if isinstance(self.value, dict):
            yield from self.value.items()

    def entries(self) -> "Iterator[Node]":
        """Of a list; of nothing else any."""
        if isinstance(self.value, list):
            yield from self.value

    def scalar(self) -> str | None:
        """The text of a scalar."""
        return self.value if isinstance(self.value, str) else None

    def leaves(self, path: tuple[str, ...] = ()) -> "Iterator[tuple[tuple[str, ...], Node]]":
        """Every scalar and every empty collection, with the keys and places above it."""
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
    r"""A document as nodes.

    >>> [(*path, node.line, node.scalar()) for path, node in read("a: {b: 1}\nc: [x, y]", "avd").leaves()]
    [('a', 'b', 1, '1'), ('c', '0', 2, 'x'), ('c', '1', 2, 'y')]

    Raises
    ------
    ShallowsError
        If it is no YAML, is too deep, has a key twice or one that is no scalar, or says too much by aliases.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(text, loader)
    except RecursionError:
        raise too_deep(name, 1) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise refusal(name, line, f"this is no YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ShallowsError(f"{name} is no YAML: {str(error).splitlines()[0]}", "mend it") from None
    return Node(1, {}) if root is None else _Reader(name).node(root, 0)


class _Reader:
    def __init__(self, name: str) -> None:
        self.name, self.values = name, 0

    def node(self, found: Any, depth: int) -> Node:
        line = found.start_mark.line + 1
        self.values += 1
        if self.values > MOST_VALUES:
            raise refusal(self.name, line, f"aliases repeat more than {MOST_VALUES:,} values", "write fewer")
        if depth > DEEPEST:
            raise too_deep(self.name, line)
        if found.id == "scalar":
            return Node(line, found.value)
        if found.id == "sequence":
            return Node(line, [self.node(entry, depth + 1) for entry in found.value])
        keys: dict[str, Node] = {}
        for key, value in found.value:
            if key.id != "scalar":
                raise refusal(self.name, key.start_mark.line + 1, "a key is no scalar", "give it a name")
            if key.value == "<<":
                merged = self.node(value, depth + 1)
                for each in [*merged.entries()] or [merged]:
                    keys = {**dict(each.items()), **keys}
            elif key.value in keys and keys[key.value].line >= line:
                where = key.start_mark.line + 1
                raise refusal(self.name, where, f'the key "{key.value[:40]}" is there twice', "keep one")
            else:
                keys[key.value] = self.node(value, depth + 1)
        return Node(line, keys)
