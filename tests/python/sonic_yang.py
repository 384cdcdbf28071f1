"""Validation of CONFIG_DB with SONiC's own YANG models (sonic-buildimage's src/sonic-yang-models) by yangson.

No registry has the models, and their licence is ambiguous, so this repository does not contain them.
`SHALLOWS_SONIC_BUILDIMAGE` is the path of a copy of sonic-buildimage that contains them, and the two IETF
modules that they import. evidence/advisor.md describes how to make this copy.
"""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

TABLES = (
    *("buffer-pg", "buffer-pool", "buffer-port-egress-profile-list", "buffer-port-ingress-profile-list"),
    *("buffer-profile", "buffer-queue", "cable-length", "device_metadata", "dot1p-tc-map", "dscp-tc-map"),
    *("pfc-priority-priority-group-map", "pfc-priority-queue-map", "pfcwd", "port", "port-qos-map"),
    *("queue", "scheduler", "tc-priority-group-map", "tc-queue-map", "wred-profile"),
)
"""Names of the models for the tables that we read and write; further models are imported from these."""

TYPE = "py"
"""Which of the two forms of a template is meant."""


class Models:
    """The YANG models in a folder.

    Parameters
    ----------
    folder
        `src/sonic-yang-models` of sonic-buildimage.
    work
        Folder into which the modules are written in the form that yangson reads.
    """

    def __init__(self, folder: Path, work: Path) -> None:
        from yangson import DataModel  # type: ignore[import-not-found]

        modules, todo = [], [f"sonic-{table}" for table in TABLES]
        known = set()
        while todo:
            name = todo.pop()
            if name in known:
                continue
            known.add(name)
            text = _text(folder, name)
            (work / f"{name}.yang").write_text(text)
            revisions = re.findall(r"^\s*revision\s+\"?(\d{4}-\d\d-\d\d)", text, re.MULTILINE)
            (space,) = re.findall(r"^\s*namespace\s+\"?([^\";\s]+)", text, re.MULTILINE)
            modules.append(
                {
                    "name": name,
                    "revision": max(revisions, default=""),
                    "namespace": space,
                    "conformance-type": "implement",
                }
            )
            todo += re.findall(r"^\s*import\s+\"?([\w-]+)", text, re.MULTILINE)
        library = {"ietf-yang-library:modules-state": {"module-set-id": "sonic", "module": modules}}
        self.model = DataModel(json.dumps(library), (str(work),))
        self.tables = {
            child.name: (name, top, child)
            for name in sorted(known)
            for top in self.model.schema.children
            if top.ns == name
            for child in top.children
        }

    def refuse(self, database: dict[str, Any]) -> str | None:
        """Describe the errors of a CONFIG_DB; empty if its tables are valid."""
        from yangson.exceptions import YangsonException  # type: ignore[import-not-found]

        raw: dict[str, Any] = {}
        try:
            for table, rows in database.items():
                module, top, node = self.tables[table]
                raw.setdefault(f"{module}:{top.name}", {})[table] = _rows(node, rows)
            self.model.from_raw(raw).validate()
        except (YangsonException, KeyError, ValueError) as error:
            return f"{type(error).__name__}: {error}"
        return None


def _text(folder: Path, name: str) -> str:
    template = folder / "yang-templates" / f"{name}.yang.j2"
    if template.exists():
        import jinja2

        text: str = jinja2.Template(template.read_text()).render(yang_model_type=TYPE)
    else:
        text = (folder / "yang-models" / f"{name}.yang").read_text()
    return text.replace("[text()=", "[.=")  # the same of a leaf, and what yangson knows


def _rows(node: Any, rows: dict[str, Any]) -> dict[str, Any]:
    """Return a table as YANG data: lists by number of key parts, and containers for rows without a list."""
    found: dict[str, Any] = {}
    for key, fields in rows.items():
        parts = key.split("|")
        plain = [child for child in node.children if child.name == key]
        if plain:
            found[key] = _fields(plain[0], fields)
            continue
        (list_,) = [each for each in node.children if len(getattr(each, "keys", ())) == len(parts)]
        # `Ethernet0,Ethernet4|3` means queue 3 of both ports.
        for each in product(*(part.split(",") for part in parts)):
            named = dict(zip((name for name, _ in list_.keys), each, strict=True))
            found.setdefault(list_.name, []).append(_fields(list_, named | fields))
    return found


def _fields(node: Any, fields: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in fields.items():
        child = node.get_data_child(name, node.ns)
        if child is None:
            inner = [each for each in node.children if getattr(each, "keys", ())]
            if len(inner) != 1 or len(inner[0].children) != 2:
                raise KeyError(f"{node.name} has no field {name}")
            # A map: its entries are fields in CONFIG_DB, and a list of two leaves in YANG.
            (key,) = [each for each, _ in inner[0].keys]
            (other,) = [each.name for each in inner[0].children if each.name != key]
            found.setdefault(inner[0].name, []).append(_fields(inner[0], {key: name, other: value}))
        elif isinstance(value, list) or type(child).__name__ == "LeafListNode":
            values = value if isinstance(value, list) else value.split(",")
            found[name] = [_raw(child, each) for each in values]
        else:
            found[name] = _raw(child, value)
    return found


def _raw(leaf: Any, text: str) -> Any:
    value = leaf.type.parse_value(text)
    if value is None:
        raise ValueError(f"{leaf.name}: {text!r} is no {leaf.type}")
    return leaf.type.to_raw(value)
