"""Hooks of MkDocs that add pages which are not in docs/: generated pages, and files of other folders."""

import json
import posixpath
import re
import sys
from html import unescape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import command_line
import python_api
import scenario_keys

ROOT = Path(__file__).parents[2]

ELSEWHERE = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
    **{
        f"experiments/{paper.parent.name}/{paper.name}": f"papers/{paper.parent.name}.md"
        for paper in sorted(ROOT.glob("experiments/*/README.md"))
    },
    **{
        f"experiments/models/{model.name}": f"scenarios/{model.stem}.md"
        for model in sorted(ROOT.glob("experiments/models/*.toml"))
    },
    **{f"evidence/{page.name}": f"evidence/{page.name}" for page in sorted(ROOT.glob("evidence/*.md"))},
}
"""Sources outside docs/ and their names on the site. The site has its own index.md."""

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:]+)(#[^)]*)?\)")
NOTE = re.compile(r"^<!-- (not run|run with [^:]+): (.+) -->$", re.MULTILINE)
BLOCK = re.compile(r'<div class="language-text (highlight">(.*?)</div>)', re.DOTALL)
PICTURE = re.compile(r"^!\[([^\]]*)\]\(([^)]+\.svg)\)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the pages whose sources are outside docs/."""
    import shallows as sh
    from shallows import _core
    from shallows.cli.parser import command_line as parser

    made = {
        "keys.md": scenario_keys.page(json.loads(_core.schema())),
        "commands.md": command_line.page(parser()),
        "api.md": python_api.page(sh._HOMES, sh.figures._HOMES),
    }
    for source, name in ELSEWHERE.items():
        if name != "index.md":
            text = (ROOT / source).read_text(encoding="utf-8")
            made[name] = _scenario(source, text) if source.endswith(".toml") else text
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Rewrite a page for the site: adapt links, add notes on untested commands, and inline drawings."""
    name = page.file.src_uri
    if name.startswith("evidence/"):
        page.meta["search"] = {"exclude": True}
    source = next(
        (source for source, target in ELSEWHERE.items() if target == name != "index.md"), f"docs/{name}"
    )

    def link(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        where = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        page_there = ELSEWHERE.get(where, where.removeprefix("docs/") if where.startswith("docs/") else None)
        if page_there is not None:
            return f"[{text}]({posixpath.relpath(page_there, posixpath.dirname(name) or '.')}{anchor})"
        if not (ROOT / where).exists():
            return match[0]
        # The site has no source files, so a link to one becomes its path.
        return text if text.strip("`") == where else f"{text} (`{where}`)"

    def picture(match: re.Match[str]) -> str:
        drawing = (ROOT / "docs" / posixpath.dirname(name) / match[2]).read_text(encoding="utf-8")
        drawing = re.sub(r"<style>.*?</style>|<\?xml.*?\?>", "", drawing, flags=re.DOTALL)
        return f'<figure class="drawing">{" ".join(drawing.split())}</figure>'

    def note(match: re.Match[str]) -> str:
        return f'<p class="tested">{_sentence(match[1], match[2])}</p>'

    blocks = re.split(r"(^```.*?^```$)", PICTURE.sub(picture, markdown), flags=re.MULTILINE | re.DOTALL)
    return "".join(
        part if part.startswith("```") else NOTE.sub(note, LINK.sub(link, part)) for part in blocks
    )


def on_page_content(html: str, **_: object) -> str:
    """Mark blocks of text without columns, such as messages, so that their lines wrap on the page."""
    return BLOCK.sub(
        lambda block: block[0] if _has_columns(block) else f'<div class="language-text wrap {block[1]}', html
    )


def _has_columns(block: re.Match[str]) -> bool:
    return "   " in unescape(re.sub(r"<[^>]+>", "", block[2]))


def _scenario(source: str, text: str) -> str:
    """Return a page that shows a scenario file."""
    return f"# `{source}`\n\n```toml\n{text}```\n"


def _sentence(what: str, reason: str) -> str:
    reason = re.sub(r"`([^`]+)`", r"<code>\1</code>", reason)
    if what == "not run":
        return f"Tests do not run this: {reason}."
    return f"Tests run this with <code>{what.removeprefix('run with ')}</code>: {reason}."
