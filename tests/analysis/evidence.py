"""A healthy Connect cluster as evidence; tests change one thing of it."""

from msgspec.structs import replace

from eosctl.analysis.inspection import ReportedConnectors, inspect
from eosctl.analysis.rules.registry import RULES, ask
from eosctl.model.acl_plan import AclDifference, BindingStatus, ComparedBinding, PlannedBinding, Reason
from eosctl.model.acls import AclBinding, Operation, ResourcePattern, ResourceType
from eosctl.model.evidence import Evidence, InternalTopic, Preflight, TransactionLog, WorkerEvidence
from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.topics import MirroredPartition, PartitionOffsets, TopicFacts
from eosctl.model.transaction_log import DAY_MS, CommitDay, CommitHistory, TransactionLogValue
from eosctl.model.transactions import TransactionDescription, TransactionState
from eosctl.model.versions import KafkaVersion, Release
from eosctl.model.workers import ConnectorStatus, SourceSupport, TaskStatus
from tests.analysis.config_records import Log

NOW = 1_790_000_100_000
A, B = "http://a:8083", "http://b:8083"
BROKER = {
    "transaction.max.timeout.ms": "900000",
    "transactional.id.expiration.ms": "604800000",
    "transaction.partition.verification.enable": "true",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "50",
    "producer.id.expiration.ms": "86400000",
}
FILE = {"group.id": "g", "exactly.once.source.support": "enabled", "config.storage.topic": "connect-configs"}
PLUGINS = {"org.example.Source": ("1",)}
COMPACT = {"cleanup.policy": "compact", "min.insync.replicas": "2"}


BEFORE_3_7 = dict.fromkeys(range(3), Release(KafkaVersion(3, 0), KafkaVersion(3, 7)))
"""Brokers that refuse writes where min.insync.replicas is above the replication factor."""


def worker(url, version="4.3.1", *, enabled=True, cluster="K", connectors=("x",), plugins=PLUGINS):
    return WorkerEvidence(url, KafkaVersion.parse(version), cluster, enabled, frozenset(connectors), plugins)


def described(name, state=TransactionState.EMPTY, start_ms=None, partitions=()):
    return TransactionDescription(name, state, ProducerIdAndEpoch(1, 0), 60_000, start_ms, partitions, 1)


def logged(state=TransactionState.COMPLETE_COMMIT, client=2, version=1):
    """The last record of an ID in the transaction log."""
    return TransactionLogValue(
        version, ProducerIdAndEpoch(1, 0), 60_000, state, (), NOW, NOW, client_transaction_version=client
    )


def inspection(log=None, *, running=2, **config):
    log = log or Log().writer(7).config("x", **config).tasks("x", 0, 1).commit("x", 2).fencing("x", 2)
    return inspect(
        log.survey(),
        topic="connect-configs",
        topic_facts=TopicFacts("connect-configs", 1, 3, COMPACT),
        reported=ReportedConnectors({"x": "source"}, {"x": running}),
        group_id="g",
    )


def topic(role="config", partitions=1, factor=3, **settings):
    named = {key.replace("_", "."): value for key, value in settings.items()}
    return InternalTopic(role, f"connect-{role}", TopicFacts(f"connect-{role}", partitions, factor, COMPACT | named))


def transaction_log(factor=3, leaders=None, partitions=50, **settings):
    named = {"min.insync.replicas": "2"} | {key.replace("_", "."): value for key, value in settings.items()}
    facts = TopicFacts("__transaction_state", partitions, factor, named)
    return TransactionLog(facts, {number: number % 3 for number in range(partitions)} if leaders is None else leaders)


def acls(*missing, phases=tuple(SourceSupport)):
    """Differences in which these bindings (principal, role, connector, pattern[, operation]) are missing."""
    compared = tuple(ComparedBinding(_planned(*each), BindingStatus.MISSING) for each in missing)
    return {phase: AclDifference(compared if phase in phases else (), (), ()) for phase in SourceSupport}


def _planned(principal, role, connector, pattern, operation=Operation.WRITE):
    reason = Reason(role, connector, "it has to", "KIP-618", "it fails")
    return PlannedBinding(AclBinding(principal, operation, pattern), frozenset(), (reason,))


def transactional_id(name):
    return ResourcePattern(ResourceType.TRANSACTIONAL_ID, name)


def commits(*, silent_ms=0, days=8, intervals=1000, longest_ms=60_000, claimed_ms=None):
    """A task that committed last silent_ms ago, with a history of this many days and intervals."""
    last = NOW - silent_ms
    return CommitHistory(last - days * DAY_MS, last, claimed_ms, (CommitDay(last // DAY_MS, intervals, longest_ms),))


HEALTHY = Evidence(
    as_of=NOW,
    group_id="g",
    cluster_id="K",
    workers={A: worker(A), B: worker(B)},
    group=ConnectGroup("Stable", "connect", "sessioned", (GroupMember("1", f"{A}/"), GroupMember("2", f"{B}/")), A),
    worker_files={A: FILE, B: FILE},
    statuses={
        "x": ConnectorStatus(
            "x", "source", "RUNNING", (TaskStatus(0, "RUNNING", "a:8083"), TaskStatus(1, "RUNNING", "b:8083"))
        )
    },
    preflight={"x": Preflight({A: ()})},
    inspection=inspection(**{"exactly.once.support": "required"}),
    brokers={0: BROKER, 1: BROKER, 2: BROKER},
    broker_releases=dict.fromkeys(range(3), Release(KafkaVersion(4, 1), None)),
    finalized_features={"metadata.version": 25, "transaction.version": 2},
    internal_topics=(topic(), topic("offsets", 25), topic("status", 5)),
    transaction_log=transaction_log(),
    transactions={name: described(name) for name in ("connect-cluster-g", "g-x-0", "g-x-1")},
    leaderless=frozenset(),
    transactional_ids=("connect-cluster-g", "g-x-0", "g-x-1"),
    open_transactions=(),
    decided=(),
    logged=dict.fromkeys(("connect-cluster-g", "g-x-0", "g-x-1"), logged()),
    idle_since=dict.fromkeys(("connect-cluster-g", "g-x-0", "g-x-1"), NOW),
    commits={"g-x-0": commits(), "g-x-1": commits()},
    offset_findings=(),
    iceberg={},
    groups={"g": "connect"},
    share_groups={},
    acl_differences=acls(),
    acl_in_force=acls()[SourceSupport.ENABLED],
    outputs={"x": ("out",)},
    topics={"out": TopicFacts("out", 3, 3, {"min.insync.replicas": "2"}, in_sync=3)},
    other_groups={},
    groups_elsewhere={},
    mirrors=(),
)


def mirrored(position, *, log_start=0, written_ms=None, next_ms=NOW, retention_ms=3_600_000, retention_bytes=-1):
    """The position of connector m in a source partition that ends at 20; it committed that two hours ago."""
    bounds = PartitionOffsets(TopicPartition("orders", 0), log_start, 20, 20)
    settings = (retention_ms, retention_bytes)
    return MirroredPartition("m", position, NOW - 7_200_000, bounds, written_ms, next_ms, *settings)


def but(**changes):
    """The healthy cluster, which is enabled, with these changes."""
    differences = changes.get("acl_differences")
    if differences is not None:
        enabled = differences if isinstance(differences, Skipped) else differences[SourceSupport.ENABLED]
        changes.setdefault("acl_in_force", enabled)
    return replace(HEALTHY, **changes)


def answer(rule_id, evidence):
    [rule] = [rule for rule in RULES if rule.id == rule_id]
    return ask(rule, evidence)


UNREAD = Skipped("denied")
OUT_1 = TopicPartition("out", 1)
ONE_COORDINATOR = transaction_log(leaders=dict.fromkeys(range(50), 1))
POLICY = "connector.client.config.override.policy"
OWN = {"offsets.storage.topic": "own"}


def mirror(**config):
    return inspection(**{"connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector", **config})


def status(*tasks, name="x", state="RUNNING", worker="a:8083"):
    return ConnectorStatus(name, "source", "RUNNING", tuple(TaskStatus(task, state, worker) for task in tasks))


def members(*urls, protocol="sessioned", kind="connect", state="Stable"):
    return ConnectGroup(state, kind, protocol, tuple(GroupMember(url, url) for url in urls))


def tasks(count, **config):
    return Log().writer(7).config("x", **config).tasks("x", *range(count)).commit("x", count).fencing("x", count)
