"""Harmful names, put in each place where a vendor's file has a name."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import yaml

from shallows.advisor.configuration import Source, Switch
from vendors import read, sample

MARK = "REBOOT"
"""Word in each hostile name, which becomes a separate word if the name is written without checks."""

BREAKS = [
    *(" ", "; ", "\n", "\r\n", "\t", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u00a0", "\x00", "\x1b[2J"),
    *("$(", "`", "|", "||", "&&", "&", "'", '"', "\\", "#", "!", "?", "*", "<", ">", "{", "}", "[", "]", "="),
    *(",", "~", "^", "(", ")", "\n!\n", "\nend\n", "' ; ", '" ; ', "\u202e", "é", "٣", " no ", " --", "\\\n"),
]
"""Characters that separate words, commands, options or comments of a format, or move a terminal's cursor."""

PLAIN = re.compile(r"[A-Za-z0-9_.:/@+%*$=,\[\] -]+", re.ASCII)
"""Pattern of words that cannot end a command, quote or substitute."""

FIRST = {
    "eos": "qos interface platform priority-flow-control uc-tx-queue tx-queue service-profile no default "
    "bandwidth priority random-detect shape speed mtu ingress egress",
    "nxos": "policy-map class-map class interface system service-policy match set mtu no speed "
    "priority bandwidth random-detect queue-limit pause priority-flow-control",
    "nvue": "nv",
    "junos": "set delete",
    "tc": "tc ip sysctl",
}
"""Words that may begin a line, by format."""


@cache
def names(format_: str) -> tuple[str, ...]:
    """Return all names in a format's sample configuration."""
    found = {word for leaf in leaves(read(format_, sample(format_))) for word in re.split("[ ,/]", leaf)}
    text = sample(format_)
    return tuple(
        sorted(
            word for word in found if re.search("[A-Za-z]", word) and len(word) > 2 and _at(word).search(text)
        )
    )


def renamed(format_: str, old: str, new: str) -> str:
    """Return a format's sample configuration with one name replaced, quoted as the format requires."""
    match format_:
        case "sonic":
            quoted = json.dumps(new)[1:-1]
        case "avd":
            quoted = json.dumps(new)
        case "nvue" | "tc":
            quoted = shlex.quote(new)
        case "junos":
            quoted = '"' + new.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case _:
            quoted = new
    return _at(old).sub(lambda _: quoted, sample(format_))


def _at(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])")


def leaves(part: Any) -> Iterator[str]:
    """Yield every text in a switch, except for positions in files, defaults, unread lines and notes."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from leaves(each)
    elif is_dataclass(part) and not isinstance(part, Source):
        told = {"defaults", "unread", "notes"}
        for each in fields(part):
            if each.name not in told:
                yield from leaves(getattr(part, each.name))


def strange(format_: str, text: str, switch: Switch) -> list[str]:
    """Return the written lines in which a hostile name is split or altered."""
    whole = {part for leaf in leaves(switch) for part in (leaf, leaf.rpartition("/")[0], *leaf.split(","))}
    if switch.format in ("junos", "nxos", "eos", "avd", "tc"):  # whose readers join words found apart
        whole |= {word for leaf in whole for word in leaf.split(" ") if MARK in word and word != MARK}
    if format_ == "sonic":
        lines = [*map(str, _texts(json.loads(text)))]
    elif format_ == "avd":
        lines = [*map(str, _texts(yaml.safe_load(text)))]
    else:
        lines = [line for line in text.splitlines() if line.strip()]
        if wrong := [line for line in lines if line.split()[0] not in FIRST[format_].split()]:
            return wrong
    if format_ == "sonic":  # where bars part the keys of rows, and JSON what they are made of
        lines = [line.replace("|", " ") for line in lines]
    return [line for line in lines if not PLAIN.fullmatch(line) or _loose(line, whole)]


def _loose(line: str, whole: set[str]) -> bool:
    """Return whether part of a hostile name is a separate word in the line."""
    words = re.split(r"[ |,]", line.replace("=", " "))
    return any(MARK in word and word not in whole and not _ours(word, whole) for word in words)


def _ours(word: str, whole: set[str]) -> bool:
    """Return whether a word is a name with a suffix of ours, or one with its invalid characters replaced."""
    cut = [name for name in whole if MARK in name and word.startswith(name)]
    clean = {re.sub(r"[^A-Za-z0-9_.@-]", "_", name) for name in whole if MARK in name}
    return any(re.fullmatch(r"-[a-z0-9-]+", word[len(name) :]) for name in cut) or any(
        word in (name, name[:32]) or re.fullmatch(re.escape(name[:27]) + r"\.\d+", word) for name in clean
    )


def _texts(document: Any) -> Iterator[Any]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield key
            yield from _texts(value)
    elif isinstance(document, list):
        for value in document:
            yield from _texts(value)
    elif document is not None:
        yield document
