"""The page of tested Kafka versions, from what `make matrix` saw.

    python -m tests.project.matrix build/matrix.xml…   keep the result in docs/matrix.json, and write docs/versions.md

The result is pytest's JUnit file; of several, an area counts as the last one has it. A test belongs to the version in
its parameters; those without one run on the default version in `make test` and are not counted here.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from eosctl import __version__
from tests.side_by_side import version_of

ROOT = Path(__file__).resolve().parents[2]
RESULT = Path("docs", "matrix.json")
PAGE = Path("docs", "versions.md")

Result = Mapping[str, Any]


def result_of(junit: str) -> Result:
    """What was seen: date, version of eosctl, and for each area and version how many tests passed and failed."""
    [suite] = ElementTree.fromstring(junit).iter("testsuite")
    areas: dict[str, dict[str, dict[str, int]]] = {}
    for case in suite.iter("testcase"):
        version = version_of(case.attrib["name"])
        if version is None:
            continue
        cell = areas.setdefault(area_of(case.attrib["classname"]), {}).setdefault(version, {"passed": 0, "failed": 0})
        cell["failed" if case.find("failure") is not None or case.find("error") is not None else "passed"] += 1
    return {"date": suite.attrib["timestamp"][:10], "eosctl": __version__, "areas": dict(sorted(areas.items()))}


def area_of(module: str) -> str:
    """`tests.integration.test_fence_states` is about "fence states"."""
    return module.rpartition(".")[2].removeprefix("test_").replace("_", " ")


def page(result: Result) -> str:
    """The result as a page: a row for each area, a column for each version."""
    versions = sorted({version for cells in result["areas"].values() for version in cells}, key=_numbers)
    seen = f"Tests on real brokers and workers, {result['date']}, eosctl {result['eosctl']}. `make matrix` runs them."
    lines = ["<!-- made by `make matrix`: do not edit -->", "", "# Tested versions of Kafka", "", seen, ""]
    if any("/" in version for version in versions):
        lines += ["`4.3.1/3.6.2` is brokers of 4.3.1 with workers of 3.6.2.", ""]
    lines += [f"| | {' | '.join(versions)} |", f"|---|{'---|' * len(versions)}"]
    for area, cells in result["areas"].items():
        lines.append(f"| {area} | {' | '.join(_cell(cells.get(version)) for version in versions)} |")
    return "\n".join((*lines, ""))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.split("[./]", version)))


def _cell(counts: Mapping[str, int] | None) -> str:
    if counts is None:
        return "–"
    return f"**{counts['failed']} failed**, {counts['passed']}" if counts["failed"] else f"{counts['passed']} passed"


def main(junits: Sequence[Path], root: Path) -> int:
    """Keep the result and write the page; 1 where a test failed or none ran."""
    results = [result_of(each.read_text("utf-8")) for each in junits]
    areas = {area: cells for each in results for area, cells in each["areas"].items()}
    date = max(each["date"] for each in results)
    result = {"date": date, "eosctl": __version__, "areas": dict(sorted(areas.items()))}
    (root / RESULT).write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    (root / PAGE).write_text(page(result), "utf-8")
    cells = [cell for each in result["areas"].values() for cell in each.values()]
    return int(not cells or any(cell["failed"] for cell in cells))


if __name__ == "__main__":
    sys.exit(main([Path(each) for each in sys.argv[1:]], ROOT))
