"""The figures of docs/dev/scale.md, from what benchmarks.audit measured: `python -m benchmarks.scale` writes them.

Between `<!-- NAME -->` and `<!-- end -->` stands what the function NAME gives for results/audit.json.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.audit import EXECUTORS, GROWTH, KEYS, growth_of
from benchmarks.contenders.audit_topics import PARTITIONS
from benchmarks.growth_picture import Grown, growth_picture
from benchmarks.measure import RESULTS

PAGE: Final = Path(__file__).parent.parent / "docs" / "dev" / "scale.md"
PICTURE: Final = PAGE.parent.parent / "pictures" / "growth.svg"
NETWORK: Final = 1.25e9
"""Bytes a second of 10 Gbit/s."""
STATE_BYTES: Final = 300
LARGEST_RANGE: Final = 5_000_000
KEYS_OF_A_PARTITION: Final = 2_000
BILLION, TRILLION, HOUR = 10**9, 10**12, 3600

_PART: Final = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Rates:
    """A core-second: bytes of batches read by their headers, records of an offsets topic, states of keys."""

    header_bytes: float
    records: float
    record_bytes: float
    states: float

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> "Rates":
        """From results/audit.json, which has the parts `read` and `growth`."""
        headers, one = result["taken"]["headers"], result["taken"][growth_of(result["records"], 1)]
        told, scan_cpu_s = headers["told"], one["scan_cpu_s"]
        states = KEYS * one["told"]["ranges"] / PARTITIONS
        return cls(
            told["bytes"] / headers["work_cpu_s"],
            told["records"] / scan_cpu_s,
            told["bytes"] / told["records"],
            states / (one["work_cpu_s"] - scan_cpu_s),
        )


def _rounded(number: float) -> str:
    """Two digits that count, in thousands."""
    digits = len(str(int(number)))
    whole = round(number, 2 - digits)
    return f"{whole:,.0f}" if number >= 10 else f"{number:.1f}"


def _size(number: float) -> str:
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{_rounded(number / size)} {unit}"
    return f"{number:.0f} B"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [" | ".join(row) for row in (tuple(head), *(tuple(row) for row in rows))]
    lines.insert(1, "|".join("---" for _ in lines[0].split(" | ")))
    return "\n".join([f"| {lines[0]} |", f"|{lines[1]}|", *(f"| {line} |" for line in lines[2:])])


def machine(result: Mapping[str, Any]) -> str:
    """Where and when."""
    told, versions = result["machine"], result["versions"]
    parts = ", ".join(f"{part} {result['dates'][part]} ({load})" for part, load in sorted(result["loads"].items()))
    return (
        f"Measured on {told['cpus']} cores that the broker, Spark and the contenders share, not always of the same"
        f" machine; each part with its date, and the load when it ended:\n{parts}.\n"
        f"Kafka {versions['kafka']}, pyspark {versions['pyspark']};"
        f" {result['records']:,} records of {result['keys']:,} keys in {PARTITIONS} partitions."
    )


def rates(result: Mapping[str, Any]) -> str:
    """The throughput of one core."""
    each = Rates.of(result)
    rows = [
        ("batch headers of an output topic", _size(each.header_bytes)),
        (
            "records of an offsets topic, decoded and folded",
            f"{each.records / 1e6:.1f} M records ({_size(each.records * each.record_bytes)})",
        ),
        ("states of keys, merged and judged", _rounded(each.states)),
    ]
    limits = result.get("limits", {})
    if limits:
        rows.append(("for comparison: bytes received from a local socket", _size(limits["socket"])))
        rows.append(("for comparison: bytes copied in memory", _size(limits["memory"])))
    return _table(("work", "per core-second"), rows)


def against(result: Mapping[str, Any]) -> str:
    """The ratios of the contenders."""
    least, most = result["bars"]["at least"], result["bars"]["at most"]
    bars = {**{name: f"≥ {bar:g}" for name, bar in least.items()}, **{name: f"≤ {bar:g}" for name, bar in most.items()}}
    return _table(
        ("ratio", "measured", "bar"),
        [(name, f"{ratio:.2f}", bars.get(name, "")) for name, ratio in result["ratios"].items()],
    )


def _topics(each: Rates) -> dict[str, tuple[float, float]]:
    """Bytes and core-seconds of one record."""
    return {
        "output topic, records of 1 kB": (1000, 1000 / each.header_bytes),
        "the same, compressed to a fifth": (200, 200 / each.header_bytes),
        f"offsets topic, records of {each.record_bytes:.0f} B": (each.record_bytes, 1 / each.records),
    }


def billion(result: Mapping[str, Any]) -> str:
    """A billion records, and what limits."""
    each = Rates.of(result)
    rows = [
        (name, _size(BILLION * size), _rounded(BILLION * cost), f"{_rounded(BILLION * size / NETWORK)} s")
        for name, (size, cost) in _topics(each).items()
    ]
    outputs, offsets = NETWORK / each.header_bytes, NETWORK / (each.records * each.record_bytes)
    limit = (
        f"10 Gbit/s is 1.25 GB/s: {outputs:.1f} cores read as much of an output topic,"
        f" {offsets:.1f} of an offsets topic.\nWith more cores on one card the network is the limit."
    )
    return f"{_table(('topic', 'bytes', 'core-seconds', 'at 10 Gbit/s'), rows)}\n\n{limit}"


def trillion(result: Mapping[str, Any]) -> str:
    """A trillion records within an hour."""
    rows = []
    for name, (size, cost) in _topics(Rates.of(result)).items():
        hours, egress = TRILLION * cost / HOUR, TRILLION * size / HOUR
        brokers = f"{_size(egress)}/s: {_rounded(egress / NETWORK)} brokers with 10 Gbit/s each"
        rows.append((name, _size(TRILLION * size), _rounded(hours), f"{_rounded(hours / 4)} of 4 cores", brokers))
    return _table(("topics", "bytes", "core-hours", "executors for one hour", "brokers' egress for one hour"), rows)


def merging(result: Mapping[str, Any]) -> str:
    """The cost of the states of a trillion records, and the effect of more executors on the merge."""
    each = Rates.of(result)
    states = TRILLION * KEYS_OF_A_PARTITION / LARGEST_RANGE
    share = states / each.states / (TRILLION / each.records)
    text = (
        f"At {KEYS_OF_A_PARTITION:,} keys in a partition 10^12 records leave {states / 1e6:.0f} million states:"
        f" {_size(states * STATE_BYTES)} to shuffle and\n{_rounded(states / each.states)} core-seconds to merge,"
        f" {100 * share:.1f} % of what reading takes."
    )
    merged = [(count, result["taken"].get(f"merge on Spark, {count} executors")) for count in EXECUTORS]
    rows = [
        (str(count), f"{one['scan_s']:.1f} s", f"{one['work_s'] - one['scan_s']:.1f} s")
        for count, one in merged
        if one is not None
    ]
    table = _table(("executors on this machine", "reading", "merging and judging"), rows)
    return f"{text}\n\n{table}" if rows else text


def growth(result: Mapping[str, Any]) -> str:
    """Elapsed and memory by records and processes."""
    rows = [
        (f"{each.records:,}", str(each.processes), f"{each.elapsed_s:.1f} s", f"{each.memory_mib:.0f} MiB")
        for each in grown(result)
    ]
    return _table(("records", "processes", "whole process", "memory of a process"), rows)


def grown(result: Mapping[str, Any]) -> list[Grown]:
    """The results of part `growth`. Raises KeyError where it did not."""
    sizes = (result["records"] // 10, result["records"], result["large_records"])
    wanted = [(size, processes) for processes in GROWTH for size in sizes]
    taken = [result["taken"][growth_of(*each)] for each in wanted]
    return [Grown(*each, one["whole_s"], one["memory_mib"]) for each, one in zip(wanted, taken, strict=True)]


FIGURES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    each.__name__: each for each in (machine, rates, against, billion, trillion, merging, growth)
}


def with_figures(page: str, result: Mapping[str, Any]) -> str:
    """The page, every part that is measured written again."""
    return _PART.sub(lambda found: f"{found[1]}{_figures(found[2], result)}\n{found[3]}", page)


def _figures(name: str, result: Mapping[str, Any]) -> str:
    try:
        return FIGURES[name](result)
    except KeyError as contender:
        return f"Not measured yet: {contender}."


def measured() -> Mapping[str, Any]:
    """The content of results/audit.json."""
    result: Mapping[str, Any] = json.loads((RESULTS / "audit.json").read_text(encoding="utf-8"))
    return result


def main() -> int:
    """Write the page and its picture."""
    result = measured()
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
    PICTURE.write_text(growth_picture(grown(result)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
