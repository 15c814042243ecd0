"""How Sphinx builds the pages: `make docs`. Pages are Markdown (MyST); a warning is an error."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

from eosctl.render.answers.kinds import KINDS
from eosctl.version import __version__

project = "eosctl"
author = "the eosctl project"
release = version = __version__
extensions = ["myst_parser"]
exclude_patterns = ["build"]
myst_heading_anchors = 3
smartquotes = False  # a flag has two hyphens
highlight_language = "text"  # of blocks that name none: output, tables of exit codes
nitpicky = True
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_title = f"eosctl {version}"
html_show_copyright = False
html_use_index = False


_BLOCK = re.compile(r'<div class="highlight-(\w+) notranslate"><div class="highlight"><pre>.*?</pre>', re.S)
_COMMANDS = ("sh", "console", "default")
_WORD = re.compile(r"(?P<word>(?:<span[^>]*>[^\s<]+</span>|[^\s<>])+)|<[^>]*>")
_IN_COLUMNS = re.compile(r"\S {2,}\S")
_PLACES = re.compile(
    r'<(td|th|h[1-4])[ >].*?</\1>|<span class="pre">[^<]*</span>|(?<=[ >(])[A-Za-z.]{30,}(?=[\s<,;:)])', re.S
)
_TEXT = re.compile(r"(?<=>)[^<>\n]+(?=<)")
_SHORT = re.compile(r'(?<=<span class="pre)(?=">[^<]{1,24}</span>)')
_LONG = re.compile(r"[^\s&;]{8,}")
_AFTER_SIGNS = re.compile(r"(?<=[._/=,])(?=[^\s._/=,])")
_BETWEEN_PARTS = re.compile(_AFTER_SIGNS.pattern + "|(?<=[a-z0-9])(?=[A-Z][a-z])")
_CLASS_NAME = 14  # letters: a shorter one stays whole


def setup(app: Sphinx) -> None:
    """Publish the JSON Schemas of documents beside the pages; browsers break lines between words and parts of names."""
    app.connect("build-finished", _write_schemas)
    app.connect("html-page-context", _break_lines_well)
    app.add_search_language(_English)
    if app.tags.has("checked"):
        _share_navigation(app)


class _English(SearchEnglish):
    """Stems each word once for all pages, not for each page again."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.stem = cache(super().stem)


def _share_navigation(app: Sphinx) -> None:
    """Pages that are only checked have the navigation of the first page of their directory: each its own is half the
    work, and no page of a directory has other links in it.
    """
    trees: dict[str, str] = {}

    def share(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
        toctree, directory = context["toctree"], page.rpartition("/")[0]

        def of_directory(**options: object) -> str:
            if directory not in trees:
                trees[directory] = toctree(**options)
            return trees[directory]

        context["toctree"] = of_directory

    app.connect("html-page-context", share, priority=400)  # before the theme, which marks it up


def _break_lines_well(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Break names in tables, headings and code, and very long ones elsewhere, after a sign and before a capital.

    Break no word of a command; wrap output that has no columns.
    """
    if "body" in context:
        context["body"] = _BLOCK.sub(_wrapped, _PLACES.sub(_broken, context["body"]))


def _wrapped(block: re.Match[str]) -> str:
    if block[1] == "text" and not _IN_COLUMNS.search(block[0]):
        return block[0].replace("highlight-text", "highlight-none", 1)
    if block[1] not in _COMMANDS:
        return block[0]
    head, pre, code = block[0].partition("<pre>")
    return head + pre + _WORD.sub(_whole, code)


def _whole(word: re.Match[str]) -> str:
    if not word["word"] or not {"-", "/"} & set(re.sub("<[^>]*>", "", word[0])):
        return word[0]
    parts = re.sub(r"(?<=[^<]/)(?=[^>/])", "<wbr>", word[0])
    return f'<span class="whole">{parts}</span>'


def _broken(place: re.Match[str]) -> str:
    if not place[0].startswith("<"):
        return _in_parts(place)
    return _TEXT.sub(_in_parts, _SHORT.sub(" short", place[0]))


def _in_parts(text: re.Match[str]) -> str:
    return _LONG.sub(
        lambda word: (_BETWEEN_PARTS if len(word[0]) >= _CLASS_NAME else _AFTER_SIGNS).sub("<wbr>", word[0]), text[0]
    )


def _write_schemas(app: Sphinx, _: Exception | None) -> None:
    directory = Path(app.outdir, "schemas")
    directory.mkdir(exist_ok=True)
    for kind in KINDS:
        (directory / f"{kind.name}.json").write_text(json.dumps(kind.schema(), indent=2) + "\n", encoding="utf-8")
