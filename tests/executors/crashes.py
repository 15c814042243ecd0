"""A migration on a broker without workers, killed and run again: what is in the topics is read back each time."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosctl.analysis.offsets import OffsetsFold
from eosctl.clients.access import ClusterAccess
from eosctl.clients.wire import Wire
from eosctl.codecs.offsets_topic import entries_by_connector
from eosctl.codecs.plan import encode_plan
from eosctl.errors import EosctlError
from eosctl.executors.apply import write_plan_file
from eosctl.model.client_properties import ClientProperties
from eosctl.model.migration import MigrationFacts, MigrationRequest, Move
from eosctl.model.plan import Plan, Side
from eosctl.model.preconditions import ConnectorFacts
from eosctl.model.records import java_partition
from eosctl.model.workers import LiveOwners
from eosctl.planning.migration import plan_migration
from eosctl.planning.undo import undo_plan
from eosctl.sources.kafka_transactions import describe_transactional_ids
from eosctl.sources.plan_facts import read_offsets_topic, read_topic_now
from tests.forks import Forked, start
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
        self.access = ClusterAccess(self.wire, (), CONFIG_TOPIC, 60)
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
        # What the workers leave of a connector that was deleted.
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
                (Side.SOURCE, self.source): read_topic_now(self.access, self.source),
                (Side.TARGET, self.target): None,
            },
            offsets={(Side.SOURCE, self.source): read_offsets_topic(self.access, self.source, OffsetsFold)},
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
        entries = entries_by_connector(read_offsets_topic(self.access, self.target, OffsetsFold)).get(self.name, [])
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
        return read_offsets_topic(self.access, self.target, OffsetsFold).records

    def is_old_or_new(self) -> bool:
        """Whether the target holds nothing of the connector, or all of it."""
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
