"""How Sphinx builds the pages: `make docs`. Pages are Markdown (MyST); a warning is an error."""

import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

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


_COMMANDS = re.compile(r'(?<=<div class="highlight-)(?:sh|console|default)\b.*?</pre>', re.S)
_HYPHENATED = re.compile(r"(?<=[\s>])[^\s<>]*-[^\s<>]*(?=[\s<])")


def setup(app: Sphinx) -> None:
    """Publish the JSON Schemas of documents beside the pages; browsers break no command within an option."""
    app.connect("build-finished", _write_schemas)
    app.connect("html-page-context", _keep_options_whole)


def _keep_options_whole(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    if "body" in context:
        context["body"] = _COMMANDS.sub(
            lambda block: re.sub(
                r"(<pre>)(.*)",
                lambda pre: pre[1] + _HYPHENATED.sub(r'<span class="whole">\g<0></span>', pre[2]),
                block[0],
                flags=re.S,
            ),
            context["body"],
        )


def _write_schemas(app: Sphinx, _: Exception | None) -> None:
    directory = Path(app.outdir, "schemas")
    directory.mkdir(exist_ok=True)
    for kind in KINDS:
        (directory / f"{kind.name}.json").write_text(json.dumps(kind.schema(), indent=2) + "\n", encoding="utf-8")
