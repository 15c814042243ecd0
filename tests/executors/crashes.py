"""Processes that are killed at each place of a write, and what is left."""

import json
import os
import random
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Protocol

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.clients.wire import Wire
from eosctl.codecs.offsets_topic import entries_by_connector
from eosctl.codecs.plan import encode_plan
from eosctl.errors import EosctlError
from eosctl.executors.apply import write_plan_file
from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.model.audit import StateKind
from eosctl.model.client_properties import ClientProperties
from eosctl.model.ledger import CommittedRange
from eosctl.model.migration import MigrationFacts, MigrationRequest, Move
from eosctl.model.names import Side
from eosctl.model.plan import Plan
from eosctl.model.preconditions import ConnectorFacts
from eosctl.model.records import java_partition
from eosctl.model.workers import LiveOwners
from eosctl.operations.plan_facts import read_offsets_topic, read_topic_now
from eosctl.planning.migration import plan_migration
from eosctl.planning.undo import undo_plan
from eosctl.sources.kafka_transactions import describe_transactional_ids
from tests import forks
from tests.executors.crashing_audit import CLUSTER, OWN_FAILPOINTS, Carried, LogShape, carried_of, fold, report_of
from tests.forks import Forked, start
from tests.live_reader import reading_over
from tests.topics import make_topic
from tests.waiting import eventually

CRASHING_APPLY = Path(__file__).with_name("crashing_apply.py")
CONFIG_TOPIC = "connect-configs"
KEYS = 6
FAILPOINTS = (
    *("opened", "checked", "1:begun", "1:performed", "1:done", "2:begun", "2:performed", "2:done"),
    *("3:begun", "initialised", "first-written", "written", "committed", "3:performed", "3:done"),
    *("4:begun", "4:performed", "4:done"),
)

Live = dict[bytes, bytes]


@dataclass(frozen=True)
class Ended:
    """How a process ended: -9 where it was killed."""

    returncode: int
    stdout: str
    stderr: str


class MovedOffsets:
    """One connector with offsets in a topic of its own, and a plan in a file to move them to another."""

    def __init__(self, bootstrap: str, name: str, directory: Path) -> None:
        self.bootstrap, self.name = bootstrap, name
        self.source, self.target = f"{name}-old", f"{name}-new"
        self.wire = Wire(ClientProperties(tuple(bootstrap.split(","))), timeout_s=60)
        self.reader = reading_over(self.wire, CONFIG_TOPIC, timeout_s=60).reader
        self._create(CONFIG_TOPIC, 1)
        self._create(self.source, 5)
        self.old: Live = {}
        self.moved = self._fill()
        self.plan = self._plan()
        self.file = directory / f"{name}.plan"
        write_plan_file(self.file, self.plan)

    def close(self) -> None:
        """Close the connections."""
        self.wire.close()

    def _create(self, topic: str, partitions: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        if topic not in admin.list_topics(timeout=30).topics:
            config = {"cleanup.policy": "compact"}
            make_topic(admin, NewTopic(topic, partitions, 1, config=config))

    def _fill(self) -> Live:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        # The workers' leftovers of a deleted connector.
        producer.produce(CONFIG_TOPIC, b'{"tasks":0}', f"commit-{self.name}".encode(), 0)
        live = {}
        for number in range(KEYS):
            key = b'["%s",{"filename":"/data/\xc3\xbc%d"}]' % (self.name.encode(), number)
            live[key] = b'{"position":%d}' % number
            producer.produce(self.source, live[key], key, partition=java_partition(key, 5))
        assert producer.flush(30) == 0
        return live

    def _plan(self) -> Plan:
        move = Move(self.name, self.name, self.source, self.target, self.target, self.source)
        request = MigrationRequest((move,), "group", "group", partitions=7, replication_factor=1)
        cluster_id = self.wire.cluster_id
        facts = MigrationFacts(
            as_of=1,
            cluster_ids={Side.SOURCE: cluster_id, Side.TARGET: cluster_id},
            connectors={(Side.SOURCE, self.name): ConnectorFacts(None)},
            topics={
                (Side.SOURCE, self.source): read_topic_now(self.reader, self.source),
                (Side.TARGET, self.target): None,
            },
            offsets={(Side.SOURCE, self.source): read_offsets_topic(self.reader, self.source)},
            fenced_ids={Side.SOURCE: (f"group-{self.name}-0", f"group-{self.name}-1")},
            live_owners=dict.fromkeys(Side, LiveOwners()),
        )
        migration = plan_migration(request, facts)
        assert migration.objections == ()
        return migration.plan

    def live(self) -> Live:
        """The connector's committed offsets in the target; every key lies in one partition only.

        A reader of committed records waits at an undecided one, so a commit whose markers are on their way is awaited.
        """
        eventually(lambda: not self._ends(), "the markers of the transaction")
        entries = entries_by_connector(read_offsets_topic(self.reader, self.target)).get(self.name, [])
        values = [(key.raw, each.committed.value) for key, each in entries if each.committed is not None]
        found = {key: value for key, value in values if value is not None}
        assert len(found) == sum(value is not None for _, value in values)
        return found

    def _ends(self) -> bool:
        transactional_id = f"group-{self.name}-0"
        described = describe_transactional_ids(self.wire, [transactional_id])[transactional_id]
        assert not isinstance(described, EosctlError)
        return described is not None and described.state.value.startswith("Prepare")

    def records_written(self) -> int:
        """Records in the target, whatever became of their transactions."""
        return read_offsets_topic(self.reader, self.target).records

    def is_old_or_new(self) -> bool:
        """True if the target holds nothing of the connector, or all of it."""
        return self.live() in (self.old, self.moved)

    def apply(self, failpoint: str = "never", *more: str, file: Path | None = None) -> Ended:
        """Run the plan to its end or to the failpoint."""
        process = self.start(failpoint, *more, file=file)
        out, err = process.communicate(timeout=120)
        return Ended(process.returncode, out, err)

    def start(self, failpoint: str = "never", *more: str, file: Path | None = None) -> Forked:
        """The same, not waited for."""
        return start(str(CRASHING_APPLY), str(file or self.file), self.bootstrap, failpoint, *more)

    def kill_after(self, seconds: float) -> Ended:
        """Run the plan and kill it after so long, wherever it is."""
        process = self.start()
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        out, err = process.communicate(timeout=120)
        timer.cancel()
        return Ended(process.returncode, out, err)

    def copy_of_plan(self, name: str) -> Path:
        """The same plan in another file, as on another machine: no journal is shared."""
        path = self.file.with_name(name)
        path.write_text(encode_plan(self.plan))
        return path

    def undo_file(self) -> Path:
        """The undo of the plan, in a file."""
        path = self.file.with_name(self.file.name + ".undo")
        if not path.exists():
            write_plan_file(path, undo_plan(self.plan))
        return path


def kinds(ended: Sequence[Ended]) -> list[int]:
    """Return codes, for messages."""
    return [each.returncode for each in ended]


COMMIT_FAILPOINTS = (
    *("begun", "job-moved", "cursors-moved", "ranges-written", "report-written", "bucket-written", "carried-written"),
    *("before-commit", "committed"),
)
"""Where commit_run tells that it is."""

EVENTS = ("point", "point", "point", "moment", "moment", "race", "grow")
PATIENCE_S = 120


class Audited(Protocol):
    """One job that processes audit, and what must be true of its ledger."""

    failpoints: tuple[str, ...]
    longest_s: float
    """How long a whole audit takes about: kills at random moments come within it."""

    def start(self, failpoint: str | None = None) -> Forked:
        """A process that audits to the end, or to the failpoint."""
        ...

    def grow(self, chance: random.Random) -> None:
        """Let the log go on."""
        ...

    def check(self) -> None:
        """Raises AssertionError unless the ledger equals one audit of everything, as far as the audits came."""
        ...


def endure(audited: Audited, chance: random.Random) -> int:
    """A schedule of one to four events, then one audit to the end, then the check. How many processes were killed."""
    killed = 0
    for _ in range(chance.randint(1, 4)):
        match chance.choice(EVENTS):
            case "point":
                point = chance.choice(audited.failpoints)
                killed += _ended(audited.start(f"{point}:{chance.randint(1, 4)}")) != 0
            case "moment":
                process = audited.start()
                sleep(chance.uniform(0, audited.longest_s))  # not waiting for anything: the moment is the point
                process.kill()
                killed += _ended(process, killed=True) != 0
            case "race":
                points = [chance.choice([None, *audited.failpoints]) for _ in range(3)]
                killed += sum(_ended(each) != 0 for each in [audited.start(point) for point in points])
            case "grow":
                audited.grow(chance)
        audited.check()
    audited.grow(chance)
    assert _ended(audited.start()) == 0
    audited.check()
    return killed


def _ended(process: Forked, *, killed: bool = False) -> int:
    """0 or -9; any other end of a process is a failure."""
    _, error = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in {0, -9}, error
    assert not (killed and error), error
    return process.returncode


class StandInAudited:
    """The made-up log of crashing_audit, in the store at `url`."""

    failpoints = (*OWN_FAILPOINTS, *COMMIT_FAILPOINTS)

    def __init__(self, url: str, job: str, directory: Path, seed: int, *more: str) -> None:
        self.longest_s = 0.5
        self.url, self.job, self._more = url, job, more
        self._log = directory / f"{job}.log"
        self._chance = random.Random(seed)
        self._ledger: Ledger | None = None
        self.shape = LogShape({"offsets": ("A", [[0, 150], [0, 0], [20, 90]]), "records": ("B", [[0, 200]])})
        self.shape.write(self._log)

    def start(self, failpoint: str | None = None) -> Forked:
        """Another seed for each process: racing ones plan different ranges."""
        script = str(Path(__file__).with_name("crashing_audit.py"))
        seed = str(self._chance.randrange(1 << 30))
        environment = {**os.environ, **({} if failpoint is None else {"EOSCTL_FAILPOINT": failpoint})}
        return forks.start(script, self.url, self.job, str(self._log), seed, *self._more, environment=environment)

    def grow(self, chance: random.Random) -> None:
        """More offsets in each partition; at times the log start passes some, or a topic begins again."""
        topics = {}
        for name, (topic_id, partitions) in self.shape.topics.items():
            if chance.random() < 0.1:
                fresh = [[0, chance.randint(0, 150)] for _ in range(chance.randint(1, 3))]
                topics[name] = (topic_id + "'", fresh)
                continue
            grown = []
            for begin, stable in partitions:
                end = stable + chance.randint(0, 150)
                grown.append([chance.randint(begin, end) if chance.random() < 0.2 else begin, end])
            topics[name] = (topic_id, grown)
        self.shape = LogShape(topics)
        self.shape.write(self._log)

    @property
    def ledger(self) -> Ledger:
        """The ledger as a reader opens it."""
        if self._ledger is None:
            self._ledger = open_ledger(self.url)
        return self._ledger

    def check(self) -> None:
        """Ranges are contiguous, and the carried state equals that of one reading of them in order."""
        ledger = self.ledger
        state = ledger.state(self.job, CLUSTER)
        ranges, runs = list(ledger.ranges(self.job)), ledger.runs(self.job)
        assert [each.run_number for each in runs] == list(range(state.run_number, 0, -1))
        assert {each.run_number for each in ranges} <= {each.run_number for each in runs}
        stand = {str(each): (cursor.topic_id, cursor.offset) for each, cursor in state.cursors.items()}
        for name, place in contiguous(ranges).items():
            if place is not None:
                assert stand.get(name) == place
            elif name in stand:  # the topic began again, and nothing of it was settled yet
                assert stand[name][0] not in {
                    each.topic_id for _, each in ranges if f"{each.topic}-{each.partition}" == name
                }
        read_once = one_reading(ranges)
        carried = carried_of(ledger.carried(state, StateKind.KEYS))
        assert {place: part for place, part in carried.items() if part} == read_once
        if runs:
            last = {name: found for name, found in json.loads(ledger.report(self.job) or "").items() if found}
            assert last == json.loads(report_of(read_once))

    def is_at_the_end(self) -> bool:
        """True if every cursor has reached the last stable offset."""
        cursors = self.ledger.state(self.job, CLUSTER).cursors
        return {(str(each), cursor.topic_id, cursor.offset) for each, cursor in cursors.items()} == {
            (f"{name}-{number}", topic_id, stable)
            for name, (topic_id, partitions) in self.shape.topics.items()
            for number, (_, stable) in enumerate(partitions)
        }


def contiguous(ranges: Iterable[CommittedRange]) -> dict[str, tuple[str | None, int] | None]:
    """The end of the ranges of each partition, None after a topic's end; an AssertionError for a gap between two
    ranges."""
    places: dict[str, tuple[str | None, int] | None] = {}
    for number, each in ranges:
        name = f"{each.topic}-{each.partition}"
        place = places.get(name)
        assert place is None or place == (each.topic_id, each.start), f"run {number}: {each} after {place}"
        if each.kind == "recreated":
            places[name] = None
        else:
            assert each.start < each.end
            places[name] = (each.topic_id, each.end)
    return places


def one_reading(ranges: Iterable[CommittedRange]) -> Carried:
    """The state after reading all that the ledger calls read, once and in order."""
    state: Carried = {}
    for _, each in ranges:
        place = (each.topic, each.partition)
        if each.kind == "recreated":
            state.pop(place, None)
        elif each.kind == "read":
            fold(state.setdefault(place, {}), each.topic_id or "", each.partition, range(each.start, each.end))
            assert each.records == sum(1 for offset in range(each.start, each.end) if offset % 11)
    return {place: part for place, part in state.items() if part}
