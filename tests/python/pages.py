"""The pages of the documentation, and the blocks in them that tell a reader what to type."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("experiments/*/README.md"),
    ]
)

COMMAND_LANGUAGES = ("sh", "bash", "console", "python", "r")
DATA_LANGUAGES = ("toml", "text", "csv", "json", "rust", "diff", "yaml")

FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOTE = re.compile(r"<!-- (not run|run with (--[^:]+)): (.+) -->\n+\Z")
OUTPUT = re.compile(r"<!-- output -->\n+\Z")
TITLE = re.compile(r'title="([^"]+)"')


@dataclass
class Block:
    """A fenced block, and what the comment before it says of it."""

    page: str
    line: int
    language: str
    text: str
    title: str | None = None
    not_run: str | None = None
    """Why tests do not run it."""
    options: str = ""
    """Options that tests add to commands that take a scenario."""
    is_output: bool = False
    """Whether the commands before it print its lines."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_command(self) -> bool:
        """Whether a reader is to run it."""
        return self.language in COMMAND_LANGUAGES

    @property
    def commands(self) -> list[str]:
        """Its lines that call the command line, without their comments."""
        joined = self.text.replace("\\\n", " ")
        lines = [line.split("   #")[0].strip().removeprefix("$ ") for line in joined.splitlines()]
        return [line for line in lines if line.startswith("shallows ")]

    @property
    def script(self) -> str:
        """Return the commands that a shell is to run; for a console, only the text behind its prompt."""
        if self.language != "console":
            return self.text
        return "\n".join(line[2:] for line in self.text.splitlines() if line.startswith("$ "))


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [_block(page, text, match) for match in FENCE.finditer(text)]


def _block(page: str, text: str, match: re.Match[str]) -> Block:
    before = text[: match.start()]
    block = Block(page, before.count("\n") + 1, match[1], match[3])
    if titled := TITLE.search(match[2]):
        block.title = titled[1]
    block.is_output = bool(OUTPUT.search(before))
    if note := NOTE.search(before):
        if note[1] == "not run":
            block.not_run = note[3]
        else:
            block.options = note[2]
    return block
