"""Keeps what `make spark` saw, and writes it into the page: masters, deploy modes, faults.

python -m tests.spark.spark_table    write the part between `<!-- clusters -->` and `<!-- end -->` of the page
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from tests.spark.standalone import ROOT

RESULTS = ROOT / "docs" / "spark.json"
TABLE = ROOT / "docs" / "dev" / "spark.md"
PART = re.compile(r"(<!-- clusters -->\n).*?(<!-- end -->)", re.DOTALL)
KEY = ("master", "deploy_mode", "fault")
COLUMNS = ("cluster", "fault", "application, exit code", "attempts, lost tasks", "runs in the ledger")
Row = dict[str, Any]


def keep(row: Row) -> None:
    """Puts a row into the results, in the place of that of the same master, deploy mode and fault."""
    rows = kept_rows()
    others = [each for each in rows if [each[name] for name in KEY] != [row[name] for name in KEY]]
    RESULTS.write_text(json.dumps([*others, row], indent=1) + "\n", "utf-8")


def part(rows: Sequence[Row]) -> str:
    """With what and when, and a row for each audit that ran."""
    seen = {f"{each['versions']}, {each['date']}" for each in rows}
    ran = f"Seen with {'; '.join(sorted(seen))}:"
    ordered = sorted(
        rows, key=lambda each: (each["master"], each["deploy_mode"], each["fault"] != "none", each["fault"])
    )
    lines = [COLUMNS, ["---"] * len(COLUMNS), *map(_cells, ordered)]
    return "\n".join([ran, "", *(f"| {' | '.join(line)} |" for line in lines), ""])


def _cells(row: Row) -> list[str]:
    return [
        f"{row['master']}, {row['deploy_mode']}",
        row["fault"],
        f"{row['status'] or '–'}, {row['exit_code']}",
        f"{row['attempts']}, {row['tasks_lost']}",
        str(row["runs_in_ledger"]),
    ]


def kept_rows() -> list[Row]:
    """The rows of all runs, each with its last result."""
    rows: list[Row] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []
    return rows


def with_clusters(page: str, rows: Sequence[Row]) -> str:
    """The page with these rows in it."""
    return PART.sub(lambda found: found[1] + part(rows) + found[2], page)


if __name__ == "__main__":
    TABLE.write_text(with_clusters(TABLE.read_text("utf-8"), kept_rows()), "utf-8")
