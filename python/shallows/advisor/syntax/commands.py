"""Commands of one line each: NVUE's `nv set …`, `tc …`, `ip route …`."""

import shlex

from shallows.advisor.syntax.statements import Statement, numbered, refusal


def read(text: str, name: str) -> list[Statement]:
    """Split every line into words, without its prompt and comment.

    >>> [statement.text for statement in read("cumulus@leaf:~$ nv set qos roce mode lossy # all", "leaf")]
    ['nv set qos roce mode lossy']

    Raises
    ------
    ShallowsError
        If a quotation is not closed.
    """
    found = []
    for number, line in numbered(text, name):
        _, prompt, command = line.partition("$ ")
        try:
            words = shlex.split(command if prompt else line, comments=True)
        except ValueError:
            raise refusal(name, number, "a quoted string is not closed", "add the closing quote") from None
        if words and words[0] == "sudo":
            words = words[1:]
        if words:
            found.append(Statement(number, tuple(words)))
    return found
