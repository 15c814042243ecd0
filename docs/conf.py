"""How Sphinx builds the pages: `make docs`. Pages are Markdown (MyST); a warning is an error."""

import json
from pathlib import Path

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


def setup(app: Sphinx) -> None:
    """Publish the JSON Schemas of documents beside the pages."""
    app.connect("build-finished", _write_schemas)


def _write_schemas(app: Sphinx, _: Exception | None) -> None:
    directory = Path(app.outdir, "schemas")
    directory.mkdir(exist_ok=True)
    for kind in KINDS:
        (directory / f"{kind.name}.json").write_text(json.dumps(kind.schema(), indent=2) + "\n", encoding="utf-8")
