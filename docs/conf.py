"""How Sphinx builds the pages: `make docs`. Pages are Markdown (MyST); a warning is an error."""

from eosctl import __version__

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
html_title = f"eosctl {version}"
html_show_copyright = False
