"""Typer's machinery: shared options, help, defaults, the table of commands."""
