"""Kafka's own `kafka-dump-log.sh`, and its output read independently of eosctl: batches, records and markers."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.faulty_sandbox import Sandbox
from tests.jvm import jars_of, java_with

MAIN = ("org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments")
"""By the sandbox's version: 4.x, and before."""
BATCH = re.compile(
    r"baseOffset: (?P<base>\d+) lastOffset: (?P<last>\d+) .*producerId: (?P<id>-?\d+) producerEpoch: (?P<epoch>-?\d+) "
    r".*isTransactional: (?P<transactional>\w+) isControl: (?P<control>\w+)"
)
ABORTED = re.compile(r"version: 0 producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)")
PRODUCER = re.compile(
    r"producerId: (?P<id>\d+) producerEpoch: (?P<epoch>\d+) coordinatorEpoch: (?P<coordinator>-?\d+) "
    r"currentTxnFirstOffset: (?:None|Some\(|OptionalLong\.empty|OptionalLong\[)(?P<start>\d*)[)\]]? "
    r".*lastSequence: (?P<sequence>\d+) lastOffset: (?P<offset>\d+) offsetDelta: (?P<delta>\d+) "
    r"timestamp: (?P<timestamp>\d+)"
)
MARKER = re.compile(r"\| offset: (?P<offset>\d+) .*endTxnMarker: (?P<type>COMMIT|ABORT)")
RECORD = re.compile(r"\| offset: (?P<offset>\d+) ")


@dataclass
class Dumped:
    """One transaction in one partition: the producer's data in it by offset, and how it ended; None: it did not."""

    producer: tuple[int, int]
    offsets: list[int] = field(default_factory=list)
    ended: str | None = None
    marker: int | None = None


def dump_files(sandbox: Sandbox, files: Sequence[Path]) -> Mapping[Path, Sequence[str]]:
    """By file the lines that the tool prints, in one JVM: of segments their records, of the others their entries."""
    main = MAIN[0] if sandbox.spec.version.major >= 4 else MAIN[1]
    line = [*java_with(jars_of(sandbox)), main, "--print-data-log", "--files", ",".join(map(str, files))]
    ran = subprocess.run(line, check=False, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    _, *printed = re.split(r"^Dumping (.*)\n", ran.stdout, flags=re.MULTILINE)
    found = {Path(path): lines.splitlines() for path, lines in zip(printed[::2], printed[1::2], strict=True)}
    assert [*found] == [*files]
    return found


def dumped_transactions(lines: Iterable[str]) -> Iterator[Dumped]:
    """The transactions of one partition, from the batches and markers in these lines."""
    opened: dict[int, Dumped] = {}
    batch: re.Match[str] | None = None
    for line in lines:
        batch = BATCH.search(line) or batch
        if batch is None or line.startswith("baseOffset"):
            continue
        producer = (int(batch["id"]), int(batch["epoch"]))
        if (marker := MARKER.search(line)) is not None:
            ended = opened.pop(producer[0], None)
            if ended is not None:
                ended.ended, ended.marker = marker["type"], int(marker["offset"])
                yield ended
        elif batch["transactional"] == "true" and (record := RECORD.search(line)) is not None:
            opened.setdefault(producer[0], Dumped(producer)).offsets.append(int(record["offset"]))
    yield from opened.values()
