"""What a campaign's histories came to, in figures, and where they are kept."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from tests.campaign.histories import Result
from tests.campaign.judging import Facts
from tests.campaign.truth import Truth

COLUMNS = ("histories", "operations", "doubled", "lost", "held", "altered", "broken", "cannot-tell", "wrong", "failed")


def count(results: Iterable[Result]) -> Counter[str]:
    """By column: doubled and lost are numbers of records, the verdicts' columns numbers of histories."""
    counts: Counter[str] = Counter()
    for each in results:
        done = [name for name in each.operations if "not possible" not in name]
        counts.update({"histories": 1, "operations": len(done), each.outcome: 1})
        counts.update({"doubled": each.facts.truth.doubled_count, "lost": each.facts.truth.lost_count})
    return counts


def table(counts: Counter[str]) -> str:
    """As a table in Markdown."""
    rows = (COLUMNS, ["--:"] * len(COLUMNS), [f"{counts[name]:,}" for name in COLUMNS])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def append_results(file: Path, results: Iterable[Result]) -> None:
    """Each result as a line of JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as lines:
        lines.writelines(f"{json.dumps(asdict(each))}\n" for each in results)


def kept_results(file: Path) -> Iterator[Result]:
    """The results in a file; none where there is no file."""
    for line in file.read_text().splitlines() if file.exists() else ():
        members = json.loads(line)
        truth, *others = members.pop("facts")
        lost, doubled = ({int(partition): numbers for partition, numbers in each.items()} for each in truth)
        yield Result(**members, facts=Facts(Truth(lost, doubled), *others))
