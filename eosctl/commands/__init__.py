"""Typer functions and the composition root: read, decide, show, exit."""
