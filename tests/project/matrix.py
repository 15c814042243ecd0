"""The page of tested Kafka versions, from the results of `make matrix`.

python -m tests.project.matrix VERSION,… build/matrix.xml…   write docs/matrix.json and docs/dev/versions.md

The results are pytest's JUnit files; the last file with an area counts. A test belongs to the version in its
parameters; those without one run on the default version in `make test` and are not counted here. What these versions
had is replaced, and all others stay.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from eosctl.version import __version__
from tests.side_by_side import version_of

ROOT = Path(__file__).resolve().parents[2]
RESULT = Path("docs", "matrix.json")
PAGE = Path("docs", "dev", "versions.md")

Result = Mapping[str, Any]
Column = dict[str, dict[str, int]]


def column_of(junit: str, version: str) -> tuple[str, Column]:
    """The results on this version: the date, and for each area how many tests passed and failed."""
    [suite] = ElementTree.fromstring(junit).iter("testsuite")
    areas: Column = {}
    for case in suite.iter("testcase"):
        if version_of(case.attrib["name"]) == version:
            cell = areas.setdefault(area_of(case.attrib["classname"]), {"passed": 0, "failed": 0})
            failed = case.find("failure") is not None or case.find("error") is not None
            cell["failed" if failed else "passed"] += 1
    return suite.attrib["timestamp"][:10], areas


def area_of(module: str) -> str:
    """`tests.integration.test_fence_states` is about "fence states"."""
    return module.rpartition(".")[2].removeprefix("test_").replace("_", " ")


def page(result: Result) -> str:
    """The result as a page: when each version was seen, and the tests of each area that passed and failed on them."""
    columns = {version: result["columns"][version] for version in sorted(result["columns"], key=_numbers)}
    seen = (
        "Tests on real brokers and workers; a version that a row does not name was not run. `make matrix` runs all, "
        "`make matrix VERSIONS=4.3.1/3.6.2` one."
    )
    lines = ["<!-- made by `make matrix`: do not edit -->", "", "# Tested versions of Kafka", "", seen, ""]
    if any("/" in version for version in columns):
        lines += ["`4.3.1/3.6.2` is brokers of 4.3.1 with workers of 3.6.2.", ""]
    lines += ["| version | eosctl | seen |", "|---|---|---|"]
    lines += [f"| {version} | {each['eosctl']} | {each['date']} |" for version, each in columns.items()]
    lines += ["", "| area | tests that passed |", "|---|---|"]
    for area in sorted({area for each in columns.values() for area in each["areas"]}):
        lines.append(f"| {area} | {_cell({version: each['areas'].get(area) for version, each in columns.items()})} |")
    return "\n".join((*lines, ""))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.split("[./]", version)))


def _cell(counts: Mapping[str, Mapping[str, int] | None]) -> str:
    """Versions with the same counts stand together."""
    versions: dict[str, list[str]] = {}
    for version, each in counts.items():
        if each is not None:
            text = f"**{each['failed']} failed**, {each['passed']}" if each["failed"] else str(each["passed"])
            versions.setdefault(text, []).append(version)
    return "; ".join(
        f"{text} on {'all' if len(names) == len(counts) else ', '.join(names)}" for text, names in versions.items()
    )


def main(versions: Sequence[str], junits: Sequence[Path], root: Path) -> int:
    """Keep the columns and write the page; 1 where a test failed or one of the versions had none."""
    kept = json.loads((root / RESULT).read_text("utf-8"))["columns"] if (root / RESULT).exists() else {}
    texts, right = [each.read_text("utf-8") for each in junits], True
    for version in versions:
        seen = [column_of(each, version) for each in texts]
        areas = {area: cell for _, column in seen for area, cell in column.items()}
        right = right and bool(areas) and not any(cell["failed"] for cell in areas.values())
        kept[version] = {
            "date": max(date for date, _ in seen),
            "eosctl": __version__,
            "areas": dict(sorted(areas.items())),
        }
    result = {"columns": {version: kept[version] for version in sorted(kept, key=_numbers)}}
    (root / RESULT).write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    (root / PAGE).write_text(page(result), "utf-8")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].split(","), [Path(each) for each in sys.argv[2:]], ROOT))
