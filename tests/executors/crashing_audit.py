"""A process that audits a small made-up log into a real ledger, and kills itself at EOSCTL_FAILPOINT.

python crashing_audit.py STORE JOB LOG SEED [--two-transactions | --racers=N]

LOG is a file with a LogShape, which may grow between two rounds. SEED decides how far each round goes.
--two-transactions commits results and progress separately, to show that the tests notice. Of N racers each waits until
all have read the first state. Prints the stale commits.
"""

import json
import os
import random
import sys
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from eosctl.errors import StaleRange
from eosctl.ledger.ledger import Ledger, lock_of, move_cursors, open_ledger, write_carried, write_run
from eosctl.model.audit import AuditedTopic, PartitionBounds, RangeEvidence, StateKind, StateRow, TopicRole
from eosctl.model.failpoints import Failpoint
from eosctl.model.ledger import CarriedBucket, LedgerRun
from eosctl.operations.audit_history import failpoint_of
from eosctl.planning.audit import Resumption, advance, resume
from tests.waiting import eventually

CLUSTER = "a-cluster"
BUCKETS = 4
CONTROL = 11
"""At each multiple of this offset there is a marker instead of a record."""

OWN_FAILPOINTS = ("state-read", "planned", "read")


@dataclass(frozen=True)
class LogShape:
    """Topics of a log: topic ID, and log start and last stable offset of each partition."""

    topics: Mapping[str, tuple[str, list[list[int]]]]

    def write(self, path: Path) -> None:
        """Put it where the processes look, whole."""
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(path)

    @staticmethod
    def read(path: Path) -> "LogShape":
        """The present content."""
        return LogShape(**json.loads(path.read_text()))


State = dict[str, list[int]]
"""key -> records, and a sum that every record and their order goes into; the key "log" for the whole partition."""


def fold(state: State, topic_id: str, partition: int, offsets: Iterable[int]) -> None:
    """Read the records at these offsets. Reading one twice, or not, or in another order gives another state."""
    for offset in offsets:
        if offset % CONTROL:
            value = zlib.crc32(f"{topic_id}-{partition}-{offset}".encode())
            for key in ("log", f"key{value % 10}"):
                found = state.setdefault(key, [0, 0])
                found[0] += 1
                found[1] = zlib.crc32(f"{found[1]} {value}".encode())


def bucket_of(key: str) -> int:
    """The bucket of a key's state."""
    return zlib.crc32(key.encode()) % BUCKETS


Carried = dict[tuple[str, int], State]


def carried_of(rows: Iterable[StateRow]) -> Carried:
    """Rows -> the state of each partition."""
    carried: Carried = {}
    for row in rows:
        carried.setdefault((row.topic, row.partition), {}).update(json.loads(row.payload))
    return carried


def buckets_of(carried: Carried) -> Iterator[CarriedBucket]:
    """The state of each partition -> rows."""
    for bucket in range(BUCKETS):
        rows = []
        for (topic, partition), state in sorted(carried.items()):
            part = {key: value for key, value in sorted(state.items()) if bucket_of(key) == bucket}
            if part:
                payload = json.dumps(part).encode()
                rows.append(StateRow(StateKind.KEYS, bucket, topic, partition, 0, True, payload))
        yield CarriedBucket(StateKind.KEYS, bucket, tuple(rows))


def report_of(carried: Carried) -> str:
    """A run's conclusion: all records ever, by partition."""
    return json.dumps(
        {f"{topic}-{partition}": state.get("log") for (topic, partition), state in sorted(carried.items())}
    )


Commit = Callable[[Ledger, LedgerRun], object]


class StandInAuditor:
    """Rounds of plan, read, merge, commit until the ledger has come as far as the log."""

    def __init__(self, ledger: Ledger, job: str, log: Path, seed: int, commit: Commit = Ledger.commit) -> None:
        self._ledger, self._job, self._log = ledger, job, log
        self._chance = random.Random(seed)
        self._commit = commit
        self.stale = 0

    def run(self) -> None:
        """Audit to the end of the log."""
        while True:
            try:
                if not self._round():
                    return
            except StaleRange:
                self.stale += 1

    def _round(self) -> bool:
        state = self._ledger.state(self._job, CLUSTER)
        self._ledger.failpoint("state-read")
        shape = LogShape.read(self._log)
        resumptions = resume(state.cursors, *_asked(shape))
        ends = {each.topic_partition: self._end(each, shape) for each in resumptions}
        if state.run_number and all(
            each.before is not None and not each.gaps and ends[each.topic_partition] == each.start
            for each in resumptions
        ):
            return False
        self._ledger.failpoint("planned")
        carried = carried_of(self._ledger.carried(state, StateKind.KEYS))
        steps = []
        for each in resumptions:
            end = ends[each.topic_partition]
            if each.is_recreated:
                carried.pop((each.topic, each.partition), None)
            if not each.ends:
                part = carried.setdefault((each.topic, each.partition), {})
                fold(part, each.topic_id or "", each.partition, range(each.start, end))
            records = sum(1 for offset in range(each.start, end) if offset % CONTROL)
            evidence = RangeEvidence(each.topic, each.partition, each.start, end, records=records)
            steps.append(advance(each, end, evidence))
        self._ledger.failpoint("read")
        report = report_of(carried)
        run = LedgerRun(uuid.uuid4().hex, state, 1, "held", 0, report, "0", tuple(steps), buckets_of(carried))
        self._commit(self._ledger, run)
        return True

    def _end(self, each: Resumption, shape: LogShape) -> int:
        if each.ends:
            return each.start
        last_stable = shape.topics[each.topic][1][each.partition][1]
        return min(last_stable, each.start + self._chance.randint(1, 120))


def _asked(shape: LogShape) -> tuple[list[AuditedTopic], list[PartitionBounds]]:
    topics = [AuditedTopic(name, TopicRole.OFFSETS, topic_id) for name, (topic_id, _) in shape.topics.items()]
    bounds = [
        PartitionBounds(name, number, start, stable, stable, start)
        for name, (_, partitions) in shape.topics.items()
        for number, (start, stable) in enumerate(partitions)
    ]
    return topics, bounds


def commit_in_two(ledger: Ledger, run: LedgerRun) -> None:
    """Wrong on purpose: commits the results first, then the progress."""
    failpoint: Failpoint = ledger.failpoint
    with ledger.store.connect() as connection:
        connection.begin_writing(lock_of(run.state.job))
        write_carried(connection, run, failpoint)
        connection.commit()
        failpoint("between")
        connection.begin_writing(lock_of(run.state.job))
        move_cursors(connection, run, failpoint)
        write_run(connection, run, failpoint)
        failpoint("before-commit")
        connection.commit()
        failpoint("committed")


def met(racers: int, log: Path) -> Failpoint:
    """Waits, the first time that it is there, until so many processes have read the state."""
    place = log.with_name(f"{log.name}.racer-{os.getpid()}")

    def wait(name: str) -> None:
        if name == "state-read" and not place.exists():
            place.touch()
            eventually(lambda: len(list(log.parent.glob(f"{log.name}.racer-*"))) == racers, "the other racers")

    return wait


def main(store: str, job: str, log: str, seed: str, more: str = "") -> int:
    """Audit once to the end."""
    _, is_racer, racers = more.partition("--racers=")
    failpoint = met(int(racers), Path(log)) if is_racer else failpoint_of(os.environ.get("EOSCTL_FAILPOINT"))
    commit = commit_in_two if more == "--two-transactions" else Ledger.commit
    auditor = StandInAuditor(open_ledger(store, failpoint=failpoint), job, Path(log), int(seed), commit)
    auditor.run()
    sys.stdout.write(f"{auditor.stale}\n")
    return 0


if __name__ == "__main__":
    failpoint_of(os.environ.get("EOSCTL_FAILPOINT"))("started")
    sys.exit(main(*sys.argv[1:]))
