"""Output of a Junos terminal around a configuration: prompts, modes and the edited path."""

import re
from dataclasses import dataclass

_PROMPT = re.compile(r"[\w.-]+@([\w.-]+)[>#%](?:\s*(\S.*))?", re.ASCII)
_HEADING = re.compile(r"([A-Za-z][\w.-]*):", re.ASCII)
_MODE = re.compile(r"(?:\{[a-z]+(?::\w+)*\})?(?:\[edit([^\]]*)\])?|---\(more.*\)---", re.ASCII)


@dataclass(frozen=True)
class Prompt:
    """A line with a prompt, and the entered command."""

    host: str
    entered: str

    def shown(self, edited: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the path of the section that a `show` command prints; the output omits the section's name.

        >>> prompt("root@leaf1> show configuration class-of-service schedulers | no-more").shown()
        ('class-of-service', 'schedulers')
        >>> prompt("root@leaf1# show schedulers").shown(("class-of-service",))
        ('class-of-service', 'schedulers')
        """
        match self.entered.partition("|")[0].split():
            case ["show", "configuration", *path]:
                return tuple(path)
            case ["show", *path]:
                return (*edited, *path)
        return ()


def prompt(line: str) -> Prompt | None:
    """Return the prompt at the start of a line, if there is one.

    >>> prompt("root@leaf1> show configuration"), prompt("class-of-service {")
    (Prompt(host='leaf1', entered='show configuration'), None)
    """
    found = _PROMPT.fullmatch(line.strip())
    if not found:
        return None
    return Prompt(found[1], found[2] or "")


def heading(line: str) -> str | None:
    """Return the switch name in a line that consists of a name and a colon; None for other lines.

    >>> heading("leaf1:"), heading("set system host-name leaf1")
    ('leaf1', None)
    """
    found = _HEADING.fullmatch(line.strip())
    return found[1] if found else None


def mode(line: str) -> tuple[str, ...] | None:
    """Return the path that a mode line shows as being edited; None for other lines.

    >>> mode("{master:0}[edit class-of-service]"), mode("{master}"), mode("class-of-service {")
    (('class-of-service',), (), None)
    """
    found = _MODE.fullmatch(line.strip())
    return tuple((found[1] or "").split()) if found else None
