"""The rules of doctor and upgrade-check: one file for each theme, collected in `registry`."""
