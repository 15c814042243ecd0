"""The use cases: read, decide, act. They return Reports, Plans and Outcomes and know neither Typer nor render."""
