"""How Sphinx builds the pages: `make docs`. Pages are Markdown (MyST); a warning is an error."""

from eosctl import __version__

project = "eosctl"
author = "the eosctl project"
release = version = __version__
extensions = ["myst_parser"]
exclude_patterns = ["build"]
myst_heading_anchors = 3
smartquotes = False  # a flag has two hyphens
nitpicky = True
html_theme = "furo"
html_title = f"eosctl {version}"
html_show_copyright = False
