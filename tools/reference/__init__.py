"""Generators of man pages, the command reference and completions."""
