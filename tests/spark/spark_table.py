"""Prints what `make spark` saw: masters, deploy modes, faults."""

import json
import sys
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "build" / "spark.json"


def table(rows: list[dict[str, object]]) -> str:
    """The rows as a table of Markdown."""
    head = list(rows[0])
    lines = [head, ["---"] * len(head), *([str(value) for value in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(table(json.loads(RESULTS.read_text("utf-8"))) + "\n")
