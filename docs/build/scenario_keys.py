"""Page that lists all keys of a scenario file, generated from its JSON Schema."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]

INTRODUCTION = """\
# Every key of a scenario

This page is generated from the JSON Schema (`shallows schema`), so it is complete. [Scenario](scenario.md)
explains the keys with examples. A value with a unit is text, such as `"80us"`. A *required* key has no
default. Keys that exclude each other have the default *none*. A table with only a `kind` may be the kind
alone: `congestion = "reno"`.
"""


ORDER = ("name", "seed", "topology", "switch", "host", "tcp", "workload", "measure", "stop", "sweep")
"""Order of the tables on the page: that of a scenario file."""


@dataclass
class Table:
    """One table of keys: its anchor, its heading, its description and its schema."""

    anchor: str
    title: str
    text: str
    schema: Schema
    parts: list["Table"] = field(default_factory=list)


def page(schema: Schema) -> str:
    """Return the page in Markdown."""
    return _Page(schema).text()


class _Page:
    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.definitions: Schema = schema["$defs"]
        self.anchors: dict[str, str] = {}
        """Anchors of the definitions that have keys, by name."""

    def text(self) -> str:
        properties = self.schema["properties"]
        ordered = {key: properties[key] for key in ORDER} | properties
        top = {**self.schema, "properties": ordered}
        tables = [Table("top-level", "Top level", "", top)]
        self._find(top, "", "", tables)
        return "\n\n".join([INTRODUCTION, *(self._section(table) for table in tables)]) + "\n"

    def _find(self, schema: Schema, path: str, kind: str, tables: list[Table]) -> None:
        """Append the tables of the keys in `schema` to `tables`; keep tables of the same key together."""
        found = []
        for key, value in schema.get("properties", {}).items():
            for name in self._tables_of(value):
                if name not in self.anchors:
                    found.append((name, f"{path}.{key}" if path else key))
                    self.anchors[name] = ""
        for name, here in found:
            anchor, title, definition = here.replace(".", "-"), f"`{here}`", self.definitions[name]
            if anchor in self.anchors.values():
                anchor, title = f"{anchor}-of-{kind}", f'{title} of kind `"{kind}"`'
            self.anchors[name] = anchor
            table = Table(anchor, title, _description(definition), definition)
            tables.append(table)
            self._find(definition, here, kind, tables)
            for choice in definition.get("oneOf", []):
                if "properties" in choice:
                    label = choice["properties"]["kind"]["const"]
                    title = f'`kind = "{label}"`'
                    table.parts.append(Table(f"{anchor}--{label}", title, _description(choice), choice))
                    self._find(choice, here, label, tables)

    def _tables_of(self, value: Schema) -> Iterator[str]:
        """Yield the names of the definitions with keys to which a value refers, directly or indirectly."""
        for reference in _references(value):
            definition = self.definitions[reference]
            choices = [definition, *definition.get("oneOf", [])]
            if any("properties" in choice for choice in choices):
                yield reference
            else:
                yield from self._tables_of(definition)

    def _section(self, table: Table) -> str:
        parts = [f"## {table.title} {{ #{table.anchor} }}", table.text]
        if table.schema.get("properties"):
            parts.append(self._rows(table.schema))
        for part in table.parts:
            parts += [f"### {part.title} {{ #{part.anchor} }}", part.text, self._rows(part.schema)]
        return "\n\n".join(part for part in parts if part)

    def _rows(self, schema: Schema) -> str:
        required = schema.get("required", [])
        keys = {key: value for key, value in schema["properties"].items() if key != "kind"}
        if not keys:
            return "No keys."
        lines = ["| key | value | default | meaning |", "|---|---|---|---|"]
        for key, value in keys.items():
            default = "*required*" if key in required else self._default(value)
            lines.append(f"| `{key}` | {self._type(value)} | {default} | {self._meaning(key, value)} |")
        return "\n".join(lines)

    def _default(self, value: Schema) -> str:
        stated = value.get("default")
        if isinstance(stated, dict):
            return f'`"{stated["kind"]}"`' if "kind" in stated else "of its keys"
        if stated is not None:
            return f"`{json.dumps('0s' if stated == '0ps' else stated, ensure_ascii=False)}`"
        return "see text" if "Default" in _description(value) else "*none*"

    def _type(self, value: Schema) -> str:
        """Return the values that a key allows, with their unit."""
        if "$ref" in value:
            return self._named(_name(value["$ref"]))
        if "anyOf" in value:
            choices = [choice for choice in value["anyOf"] if choice != {"type": "null"}]
            return " or ".join(self._type(choice) for choice in choices)
        if "const" in value:
            return f"`{json.dumps(value['const'])}`"
        if "enum" in value:
            return ", ".join(f"`{json.dumps(choice)}`" for choice in value["enum"])
        kinds = value["type"] if isinstance(value["type"], list) else [value["type"]]
        if "array" in kinds:
            return f"list of: {self._type(value['items'])}"
        words = {
            "integer": "whole number",
            "number": "number",
            "boolean": "`true`, `false`",
            "string": "text",
        }
        return " or ".join(words.get(kind, "table") for kind in kinds if kind != "null")

    def _named(self, name: str) -> str:
        definition = self.definitions[name]
        if name in self.anchors:
            return f"[{'kind' if 'oneOf' in definition else 'table'}](#{self.anchors[name]})"
        if "oneOf" in definition and all("const" in choice for choice in definition["oneOf"]):
            return ", ".join(f"`{json.dumps(choice['const'])}`" for choice in definition["oneOf"])
        text = _description(definition)
        inner = any(self.definitions[name].get("oneOf") for name in _references(definition))
        return _cell(text) if text and not inner else self._type(definition)

    def _meaning(self, key: str, value: Schema) -> str:
        text = _description(value)
        if not text:
            raise ValueError(f"the description of {key!r} is missing in the schema")
        for reference in _references(value):
            definition = self.definitions[reference]
            choices = definition.get("oneOf", [])
            if choices and all("const" in choice for choice in choices):
                lines = [f"`{choice['const']}`: {_description(choice)}" for choice in choices]
                text += "<br>" + "<br>".join(lines)
        return _cell(text)


def _references(value: Schema) -> Iterator[str]:
    """Yield the names of the definitions to which a value refers directly, not through other definitions."""
    if "$ref" in value:
        yield _name(value["$ref"])
    for choice in value.get("anyOf", []):
        yield from _references(choice)
    if isinstance(value.get("items"), dict):
        yield from _references(value["items"])


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _description(schema: Schema) -> str:
    return str(schema.get("description", ""))


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")
