"""Page that lists all commands, generated from the parser of the command line."""

import argparse

INTRODUCTION = """\
# Every command

This page is generated from the parser: `shallows --help` and `shallows COMMAND --help` print the same.

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | an error, with its cause and remedy |
| 2 | a wrong command line |
| 3 | a run that [measured nothing](results.md#what-was-not-measured) or is [invalid](testbed.md#health) |
| 130 | Ctrl-C |
"""


def page(parser: argparse.ArgumentParser) -> str:
    """Return the page in Markdown."""
    return (
        "\n\n".join([INTRODUCTION, *(_section(name, one) for name, one in commands(parser).items())]) + "\n"
    )


def commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return a dict from each command's name, which has one or two words (`import hpcc`), to its parser."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, one in action.choices.items():
                inner = commands(one)
                found |= {f"{name} {more}": parser for more, parser in inner.items()} or {name: one}
    return found


def _section(name: str, parser: argparse.ArgumentParser) -> str:
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    anchor = name.replace(" ", "-")
    parts = [f"## `{name}` {{ #{anchor} }}", parser.description or "", f"```text\n{usage}\n```"]
    shown = [action for action in parser._actions if action.dest != "help"]
    if shown:
        lines = ["| argument | meaning |", "|---|---|"]
        lines += [f"| {_argument(action)} | {_help(action)} |" for action in shown]
        parts.append("\n".join(lines))
    if parser.epilog:
        parts.append(f"```text\n{parser.epilog}\n```")
    return "\n\n".join(parts)


def _argument(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    value = action.metavar if isinstance(action.metavar, str) else None
    if value is None and action.choices is not None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    takes = action.nargs != 0
    text = " ".join(part for part in (names, value if takes else None) if part) or action.dest
    return "`" + text.replace("|", "\\|") + "`"


def _help(action: argparse.Action) -> str:
    if not action.help:
        raise ValueError(f"the help text of {action.dest!r} is missing")
    return action.help.replace("|", "\\|").replace("*", "\\*")
