"""Pages of the documentation, and the fenced blocks in them that readers are to run."""

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
    """A fenced block, with the options that the comment above it sets for tests."""

    page: str
    line: int
    language: str
    text: str
    title: str | None = None
    not_run: str | None = None
    """Reason for which tests do not run it; None if they do."""
    options: str = ""
    """Options that tests add to commands that take a scenario."""
    is_output: bool = False
    """Whether the commands before this block print its lines."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_command(self) -> bool:
        """Return whether readers are to run the block."""
        return self.language in COMMAND_LANGUAGES

    @property
    def commands(self) -> list[str]:
        """Return the lines that call `shallows`, without comments."""
        joined = self.text.replace("\\\n", " ")
        lines = [line.split("   #")[0].strip().removeprefix("$ ") for line in joined.splitlines()]
        return [line for line in lines if line.startswith("shallows ")]

    @property
    def script(self) -> str:
        """Return the commands as a shell script; in a console block, these are the lines after a prompt."""
        if self.language != "console":
            return self.text
        return "\n".join(line[2:] for line in self.text.splitlines() if line.startswith("$ "))


def blocks(page: str) -> list[Block]:
    """Return all fenced blocks of a page."""
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
