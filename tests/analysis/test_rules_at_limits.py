"""Rules at their limits: one less, equal and one more, and each part of a condition false alone."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.analysis.rules.connectors import SAYS_NOTHING
from eosctl.analysis.rules.topics import FIVE_YEARS_MS
from eosctl.model.evidence import Evidence, Preflight
from eosctl.model.groups import ConnectGroup, GroupMember, ShareGroup
from eosctl.model.leftovers import Leftover, LeftoverKind, MissingMarker
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Severity
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.times import ClusterClock
from eosctl.model.topics import TopicFacts
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import TransactionState
from eosctl.model.versions import KafkaVersion, Release
from eosctl.model.workers import ConnectorStatus, TaskStatus
from tests.analysis.config_records import Log
from tests.analysis.evidence import (
    BEFORE_3_7,
    BROKER,
    FILE,
    HEALTHY,
    NOW,
    ONE_COORDINATOR,
    OUT_1,
    OWN,
    PLUGINS,
    POLICY,
    UNREAD,
    A,
    B,
    answer,
    but,
    commits,
    described,
    inspection,
    logged,
    members,
    mirror,
    mirrored,
    status,
    tasks,
    topic,
    transaction_log,
    worker,
)

TIMEOUT = "transaction.timeout.ms"
LEADER = "connect-cluster-g"
SOURCE = "org.example.Source"
OFF = {A: worker(A, enabled=False), B: worker(B, enabled=False)}
SILENT = Skipped("denied")
ELSEWHERE = {"producer.override.bootstrap.servers": "o:1"}
UNCLEAN = {"unclean.leader.election.enable": "true"}
FLUSH = {"offset.flush.interval.ms": "30000"}
DISKLESS = {"diskless.enable": "true"}
QUIET = {"g-x-0": commits(silent_ms=9_000_000), "g-x-1": commits()}
NOT_IDEMPOTENT = {"producer.override.enable.idempotence": "false"}
ANOTHERS = Skipped("it is in group h", Cause.OTHER_GROUP)


def file(**more: str) -> dict[str, str]:
    return FILE | {key.replace("_", "."): value for key, value in more.items()}


def interval(ms: object, **more: str) -> Any:
    return inspection(**{"transaction.boundary": "INTERVAL", "transaction.boundary.interval.ms": str(ms), **more})


def facts(name: str = "out", factor: int = 3, isr: str = "2", **more: Any) -> dict[str, TopicFacts]:
    settings = {"min.insync.replicas": isr} | more.pop("settings", {})
    return {name: TopicFacts(name, 1, factor, settings, **more)}


def held(ms: int | None, partitions: tuple[TopicPartition, ...] = (OUT_1,)) -> Any:
    start = None if ms is None else NOW - ms
    return (replace(described("sink-0", TransactionState.ONGOING, start), partitions=partitions),)


def ongoing(late_ms: int, state: TransactionState = TransactionState.ONGOING) -> dict[str, Any]:
    return {"transactions": {"g-x-0": described("g-x-0", state, NOW - 60_000 - late_ms)}}


def failed(*causes: str | None) -> dict[str, ConnectorStatus]:
    found = tuple(TaskStatus(number, "FAILED", "a:8083", cause) for number, cause in enumerate(causes))
    return {"x": ConnectorStatus("x", "source", "RUNNING", found)}


def nodes(*urls: str) -> ConnectGroup:
    return ConnectGroup("Stable", "connect", "sessioned", tuple(GroupMember(each, each) for each in urls))


MIRRORMAKER = {"mm2": {"clusters": "a, b", "b.exactly.once.source.support": "Enabled"}}


def mirrormaker(group: str = "a-mm2", members_: ConnectGroup | Skipped = UNREAD, **more: str) -> Evidence:
    files = {"mm2": MIRRORMAKER["mm2"] | {key.replace("_", "."): value for key, value in more.items()}}
    return but(worker_files=files, group_id=group, group=members_)


def two() -> Log:
    """Connectors x and y, of which tests change the config."""
    return Log().healthy("x", 1).healthy("y", 1)


def broker(node: int = 0, **state_log: str) -> dict[int, dict[str, str]]:
    """Three brokers, one of which has these settings of the transaction log."""
    settings = {f"transaction.state.log.{key.replace('_', '.')}": value for key, value in state_log.items()}
    return {2: BROKER, 1: BROKER, node: BROKER | settings}


def old_protocol(client: int) -> dict[str, TransactionLogValue]:
    return HEALTHY.logged | {"g-x-0": logged(client=client)}


def history(partitions: int = 1, **settings: str) -> Evidence:
    """A connector with its schema history in the topic h."""
    named = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
    named |= {key.replace("_", "."): value for key, value in settings.items()}
    config = inspection(**{"schema.history.internal.kafka.topic": "h"})
    return but(inspection=config, topics={"h": TopicFacts("h", partitions, 3, named)})


FOUND: list[tuple[str, Evidence, tuple[str, ...]]] = [
    # An interval of half the timeout, or more.
    ("EOS105", but(inspection=interval(29_999)), ()),
    ("EOS105", but(inspection=interval(30_000)), ("x",)),
    ("EOS105", but(inspection=inspection(**{"transaction.boundary": "poll",
                                            "transaction.boundary.interval.ms": "60000"})), ()),
    ("EOS105", but(inspection=inspection(**{"transaction.boundary": "interval"}),
                   worker_files={A: FILE | FLUSH, B: FILE | {"offset.flush.interval.ms": "1000"}}), ("x",)),
    ("EOS105", but(inspection=inspection(**{"transaction.boundary": "interval"}),
                   worker_files={A: FILE | {"offset.flush.interval.ms": "1000"}}), ()),
    ("EOS105", but(inspection=interval(90_000),
                   worker_files={A: FILE, B: file(producer_transaction_timeout_ms="200000")}), ("x",)),
    # A timeout that is the brokers' limit.
    ("EOS104", but(inspection=inspection(**{f"producer.override.{TIMEOUT}": "900000"})), ()),
    ("EOS104", but(inspection=inspection(**{f"producer.override.{TIMEOUT}": "900001"}), brokers={0: {}}), ()),
    ("EOS104", but(brokers={0: BROKER, 1: BROKER | {"transaction.max.timeout.ms": "59999"}}), ("x",)),
    # Required.
    ("EOS101", but(inspection=inspection(**{"exactly.once.support": "REQUIRED"})), ()),
    ("EOS101", but(inspection=inspection(**{"exactly.once.support": "requested"})), ("x",)),
    ("EOS101", but(inspection=inspection(a="b"), preflight={"x": Preflight({A: (f"it {SAYS_NOTHING}",)})}), ()),
    ("EOS101", but(inspection=inspection(a="b"), preflight={"y": Preflight({A: (f"it {SAYS_NOTHING}",)})}), ("x",)),
    ("EOS101", but(inspection=inspection(a="b"), preflight={"x": Preflight({A: ("no",)})}), ("x",)),
    ("EOS100", but(preflight={"x": Preflight({A: ("no", f"it {SAYS_NOTHING}")})}), ("x",)),
    ("EOS100", but(preflight={"x": Preflight({A: (f"it {SAYS_NOTHING}",)})}), ()),
    # Settings that are replaced.
    ("EOS102", but(inspection=inspection(**{"producer.override.enable.idempotence": "true"})), ()),
    ("EOS102", but(inspection=inspection(**{"producer.override.transactional.id": "g-x-1"})), ("x",)),
    ("EOS102", but(worker_files={A: file(producer_enable_idempotence="TRUE")}), ()),
    ("EOS102", but(worker_files={A: file(producer_enable_idempotence="false")}), (A,)),
    ("EOS102", but(worker_files={A: file(transactional_id="t")}), (A,)),
    ("EOS102", but(worker_files={A: file(consumer_isolation_level="read_committed")}), ()),
    ("EOS102", but(worker_files={A: {"producer.enable.idempotence": "false"}}), ()),
    # A mirror that reads uncommitted.
    ("EOS106", but(inspection=mirror(**{"consumer.isolation.level": "READ_COMMITTED"})), ()),
    ("EOS106", but(inspection=inspection(**{"consumer.isolation.level": "read_uncommitted"})), ()),
    # A dedicated MirrorMaker.
    ("EOS107", mirrormaker(), ("mm2",)),
    ("EOS107", mirrormaker(dedicated_mode_enable_internal_rest="TRUE"), ()),
    ("EOS107", mirrormaker(members_=nodes("http://1")), ()),
    ("EOS107", mirrormaker(members_=nodes("http://1", "http://2")), ("mm2",)),
    ("EOS107", mirrormaker("c-mm2", nodes("http://1")), ("mm2",)),
    ("EOS107", mirrormaker("a", nodes("http://1")), ("mm2",)),
    ("EOS107", but(worker_files={"mm2": {"clusters": "a", "a.exactly.once.source.support": "preparing"}}), ()),
    ("EOS107", but(worker_files={"w": {"exactly.once.source.support": "enabled"}}), ()),
    ("EOS107", but(worker_files={"mm2": {"clusters": "a", "emit.heartbeats": "enabled"}}), ()),
    # Failed tasks of sources.
    ("EOS108", but(statuses={"x": ConnectorStatus("x", "sink", "RUNNING", failed("c")["x"].tasks)},
                   inspection=UNREAD), ()),
    ("EOS108", but(statuses={"x": status(0, state="UNASSIGNED")}), ()),
    # Output topics.
    ("EOS150", but(topics=facts(factor=1), brokers={0: BROKER}), ()),
    ("EOS150", but(topics=facts(factor=1), brokers={0: BROKER, 1: BROKER}), ("x",)),
    ("EOS150", but(topics=facts(settings=UNCLEAN)), ("x",)),
    ("EOS150", but(topics=facts(factor=1, settings=UNCLEAN), brokers={0: BROKER}), ()),
    ("EOS150", but(topics=facts(settings=dict.fromkeys(UNCLEAN, "false"))), ()),
    ("EOS150", but(topics=facts(factor=2, isr="1")), ()),
    ("EOS150", but(topics=facts(factor=3, isr="1")), ("x",)),
    ("EOS150", but(topics=facts("other", 1)), ()),
    ("EOS151", but(topics=facts(in_sync=1)), ("x",)),
    ("EOS151", but(topics=facts(in_sync=2)), ()),
    # Share groups and sinks.
    ("EOS120", but(groups={"q": "share"},
                   share_groups={"q": ShareGroup("read_uncommitted", {TopicPartition("o", 0): 1})}), ()),
    ("EOS120", but(groups={"q": "share"}, share_groups={"q": ShareGroup("read_committed", {OUT_1: 1})}), ()),
    ("EOS120", but(groups={"q": "share"}, share_groups={"q": ShareGroup("read_uncommitted", {OUT_1: 1}),
                                                        "r": ShareGroup("read_uncommitted", {OUT_1: 1})}), ("q",)),
    ("EOS121", but(statuses={"x": ConnectorStatus("x", "sink", "RUNNING", ())},
                   worker_files={A: file(consumer_isolation_level="READ_COMMITTED")}), ()),
    # Transactions that hold readers back.
    ("EOS122", but(open_transactions=held(119_999)), ()),
    ("EOS122", but(open_transactions=held(120_000)), ("sink-0",)),
    ("EOS122", but(open_transactions=held(120_000, ())), ()),
    ("EOS122", but(open_transactions=held(None)), ()),
    # Tasks that commit nothing.
    ("EOS160", but(commits={"g-x-0": commits(silent_ms=60_000, longest_ms=1), "g-x-1": commits()}), ()),
    ("EOS160", but(commits={"g-x-0": commits(silent_ms=60_001, longest_ms=1), "g-x-1": commits()}), ("x",)),
    ("EOS160", but(commits={"g-x-0": commits(silent_ms=600_000, longest_ms=200_000), "g-x-1": commits()}), ()),
    ("EOS160", but(commits={"g-x-0": commits(silent_ms=600_001, longest_ms=200_000), "g-x-1": commits()}), ("x",)),
    ("EOS160", but(commits={"g-x-0": commits(silent_ms=9_000_000, intervals=29), "g-x-1": commits()}), ()),
    ("EOS160", but(commits={"g-x-0": commits(silent_ms=9_000_000, intervals=30), "g-x-1": commits()}), ("x",)),
    ("EOS160", but(commits={"g-x-0": commits(silent_ms=9_000_000), "g-x-1": commits()},
                   statuses={"x": replace(status(0, 1), state="PAUSED")}), ()),
    # Workers.
    ("EOS011", but(cluster_id=UNREAD), ()),
    ("EOS012", but(workers=OFF), ()),
    ("EOS013", but(workers=OFF), ("workers",)),
    ("EOS013", but(workers=OFF, statuses={}, inspection=UNREAD), ()),
    ("EOS013", but(workers=OFF, statuses=UNREAD, inspection=UNREAD), ("workers",)),
    ("EOS013", but(workers={A: worker(A, enabled=False), B: worker(B)}), ()),
    ("EOS013", but(workers={A: worker(A, enabled=False), B: worker(B, enabled=SILENT)}), ()),
    ("EOS014", but(workers=OFF), (A, B)),
    ("EOS014", but(workers=OFF, worker_files={A: file(exactly_once_source_support="preparing")}), ()),
    ("EOS014", but(worker_files={A: {"group.id": "g"}}), (A,)),
    ("EOS014", but(worker_files={A: file(exactly_once_source_support="disabled")}), (A,)),
    ("EOS014", but(worker_files={"f": FILE}), ()),
    ("EOS014", but(workers={A: worker(A, enabled=False), B: worker(B)}, worker_files={"f": FILE}), ()),
    ("EOS014", but(workers=OFF, worker_files={"f": FILE}), ("f",)),
    ("EOS014", but(workers={A: SILENT, B: worker(B, enabled=False)}, worker_files={"f": FILE}), ()),
    ("EOS014", but(workers={A: SILENT, B: worker(B, enabled=False)}, worker_files={B: FILE}), (B,)),
    ("EOS014", but(workers={A: worker(A, enabled=SILENT), B: worker(B, enabled=False)}, worker_files={"f": FILE}), ()),
    ("EOS014", but(workers=OFF, worker_files={"f": {"offset.storage.file.filename": "o",
                                                    "exactly.once.source.support": "enabled"}}), ()),
    ("EOS014", but(workers=OFF, worker_files={"f": FILE | {"offset.storage.file.filename": "o"}}), ("f",)),
    ("EOS015", but(worker_files={A: file(exactly_once_source_support="${env:E}")}), ()),
    ("EOS015", but(worker_files={A: file(exactly_once_source_support="PREPARING")}), ()),
    ("EOS016", but(inspection=inspection(Log().healthy("x", 1).put("other", {}))), ()),
    ("EOS017", but(worker_files={A: FILE, B: file(connect_protocol="compatible")}), ("connect.protocol",)),
    ("EOS017", but(worker_files={A: FILE, B: file(connect_protocol="sessioned")}), ()),
    ("EOS017", but(worker_files={A: FILE, B: file(status_storage_topic="s")}), ()),
    ("EOS017", but(worker_files={A: file(status_storage_topic="t"), B: file(status_storage_topic="s")}),
     ("status.storage.topic",)),
    # The group.
    ("EOS020", but(group=members(state="Empty")), ("g",)),
    ("EOS020", but(group=members(state="Empty"), workers={A: SILENT}), ()),
    ("EOS021", but(group=members(A, B, f"{A}/")), ()),
    ("EOS022", but(workers={A: worker(A), B: worker(B, connectors=("x", "y"))}), ()),
    ("EOS022", but(workers={A: worker(A), B: worker(B), "http://c": worker("http://c", connectors=("x", "y"))}),
     ("http://c",)),
    ("EOS022", but(workers={A: worker(A), B: replace(worker(B), connectors=SILENT)}), ()),
    ("EOS023", but(group=members(protocol="compatible")), ()),
    ("EOS023", but(group=members(A, protocol="")), ()),
    ("EOS024", but(group=members(state="Empty"), statuses={"x": status(0, worker="gone:1")}), ()),
    ("EOS024", but(group=members(A, B, state="CompletingRebalance"), statuses={}), ("g",)),
    ("EOS024", but(statuses={"x": status(0, worker="gone:8083", state="FAILED")}), ()),
    ("EOS024", but(statuses={"x": status(0, worker="a:8083")}), ()),
    ("EOS025", but(group=members("http://localhost:1", "http://localhost:2")), ()),
    ("EOS025", but(group=members("http://localhost:1", "http://localhost:1")), ("localhost:1",)),
    ("EOS026", but(worker_files={A: FILE, B: FILE | {POLICY: "All"}}), ()),
    ("EOS026", but(worker_files={A: FILE | {POLICY: "Allowlist"}, B: FILE | {POLICY: "Allowlist",
     "connector.client.config.override.allowlist": "acks"}}), (POLICY,)),
    ("EOS026", but(worker_files={A: FILE, B: file(connector_client_config_override_allowlist="acks")}), ()),
    ("EOS027", but(worker_files={A: FILE, B: file(inter_worker_signature_algorithm="HmacSHA512",
                                                  connect_protocol="compatible")}), ()),
    ("EOS027", but(worker_files={A: file(inter_worker_verification_algorithms="HmacSHA256,HmacSHA512"),
     B: file(inter_worker_verification_algorithms="HmacSHA256,HmacSHA512",
             inter_worker_signature_algorithm="HmacSHA512")}), ()),
    ("EOS028", but(preflight={"x": Preflight({A: (), B: ()})}), ()),
    ("EOS028", but(preflight={"x": Preflight({A: (), B: SILENT})}), ()),
    # Versions and plugins.
    ("EOS001", but(workers={A: worker(A, "3.3.0")}), ()),
    ("EOS002", but(workers={A: worker(A, "3.9.2"), B: SILENT}), ()),
    ("EOS019", but(workers={A: worker(A), B: worker(B, plugins={SOURCE: ("2",)})}), (SOURCE,)),
    ("EOS019", but(workers={A: worker(A), B: worker(B, plugins={SOURCE: ("0", "1")})}), ()),
    ("EOS019", but(workers={A: worker(A), B: worker(B, plugins=SILENT)}), ()),
    # IDs.
    ("EOS110", but(workers=OFF, worker_files={A: file(exactly_once_source_support="disabled")}, transactions={}), ()),
    ("EOS110", but(workers=OFF, worker_files={A: file(exactly_once_source_support="preparing")}, transactions={}),
     (LEADER,)),
    ("EOS110", but(transactions={LEADER: SILENT}), ()),
    ("EOS111", but(transactions={}, workers=OFF), ()),
    ("EOS111", but(transactions={}, workers={A: worker(A), B: worker(B, enabled=False)}), ()),
    ("EOS111", but(transactions={}, statuses={"x": status(0, state="FAILED")}), ()),
    ("EOS111", but(transactions={}, statuses={"x": status(0, state="PAUSED")}), ("x",)),
    ("EOS111", but(transactions={}, inspection=inspection(**{"producer.override.bootstrap.servers": "o:1"})), ()),
    ("EOS112", but(**ongoing(30_000)), ()),
    ("EOS112", but(**ongoing(30_001)), ("g-x-0",)),
    ("EOS112", but(**ongoing(90_000, TransactionState.PREPARE_COMMIT)), ("g-x-0",)),
    ("EOS112", but(**ongoing(90_000, TransactionState.COMPLETE_COMMIT)), ()),
    ("EOS112", but(transactions={"g-x-0": described("g-x-0", TransactionState.ONGOING)}), ()),
    ("EOS116", but(transactions={"g-x-0": described("g-x-0", TransactionState.COMPLETE_ABORT, NOW, (OUT_1,))},
                   leaderless=frozenset({OUT_1})), ()),
    ("EOS116", but(transactions={"g-x-0": described("g-x-0", TransactionState.ONGOING, NOW, (OUT_1,))},
                   leaderless=frozenset({TopicPartition("out", 2)})), ()),
    ("EOS117", but(idle_since={"g-x-1": NOW - 604_800_000 + 86_400_001}), ()),
    ("EOS117", but(idle_since={"g-x-1": NOW - 604_800_000 + 86_400_000}, statuses={"x": status(0)}), ()),
    ("EOS117", but(idle_since={"g-x-1": NOW - 604_800_000}, clock=ClusterClock(1, 120_000, 5)), ()),
    ("EOS117", but(idle_since={"g-x-1": NOW - 3_600_000 + 514_285}, brokers={
        0: BROKER, 1: BROKER | {"transactional.id.expiration.ms": "3600000"}}), ("x",)),
    ("EOS117", but(idle_since={"g-x-1": NOW - 3_600_000 + 514_286}, brokers={
        0: BROKER, 1: BROKER | {"transactional.id.expiration.ms": "3600000"}}), ()),
    ("EOS114", but(statuses={"x": status(0), "xa": status(0, name="xa")}), ()),
    ("EOS115", but(transactional_ids=("g-x-0", "h-gone-0", "g-gone-a", "g-x-12")), ()),
    ("EOS119", but(groups_elsewhere={"x": members()}), ()),
    ("EOS119", but(groups_elsewhere={"x": members("http://t", kind="consumer")}), ()),
    ("EOS118", but(other_groups={"h": SILENT}), ()),
    # Rounds of fencing.
    ("EOS030", but(inspection=inspection(tasks(1)), transaction_log=ONE_COORDINATOR), ()),
    ("EOS030", but(inspection=inspection(tasks(2)), transaction_log=ONE_COORDINATOR), ()),
    ("EOS030", but(inspection=inspection(tasks(4)), transaction_log=ONE_COORDINATOR), ()),
    ("EOS030", but(inspection=inspection(tasks(5)), transaction_log=ONE_COORDINATOR), ("x",)),
    ("EOS030", but(inspection=inspection(tasks(5).put("connector-x", None)), transaction_log=ONE_COORDINATOR), ()),
    ("EOS030", but(inspection=inspection(tasks(5)), transaction_log=None), ("x",)),
    ("EOS031", but(brokers={0: BROKER | {"transaction.max.timeout.ms": "90000"}}), ()),
    ("EOS031", but(brokers={0: BROKER | {"transaction.max.timeout.ms": "89999"}}), ("broker 0",)),
    ("EOS031", but(brokers={0: {}}), ()),
    # Brokers and the transaction log.
    ("EOS040", but(transaction_log=None), ()),
    ("EOS040", but(transaction_log=None, brokers=broker(replication_factor="4")), ("broker 0",)),
    ("EOS040", but(transaction_log=None, brokers=broker(min_isr="3")), ()),
    ("EOS040", but(transaction_log=None, brokers=broker(min_isr="4")), ()),
    ("EOS040", but(transaction_log=None, brokers=broker(min_isr="4"), broker_releases=BEFORE_3_7), ("broker 0",)),
    ("EOS040", but(transaction_log=None, brokers={0: SILENT, **broker(1, replication_factor="4")}), ("broker 1",)),
    ("EOS041", but(transaction_log=transaction_log(leaders=dict.fromkeys(range(49), 0))), ("__transaction_state",)),
    ("EOS041", but(transaction_log=transaction_log(leaders=dict.fromkeys(range(50), 0))), ()),
    ("EOS041", but(transaction_log=None), ()),
    ("EOS042", but(transaction_log=None), ()),
    ("EOS042", but(transaction_log=transaction_log(2), brokers={0: BROKER, 1: BROKER}), ()),
    ("EOS042", but(transaction_log=transaction_log(2, min_insync_replicas="1"), brokers={0: BROKER, 1: BROKER}), ()),
    ("EOS042", but(transaction_log=transaction_log(1), brokers={0: BROKER, 1: BROKER}), ("__transaction_state",)),
    ("EOS042", but(brokers=dict.fromkeys(range(5), BROKER)), ()),
    ("EOS043", but(brokers={0: BROKER | {"transaction.partition.verification.enable": "true"}}), ()),
    ("EOS044", but(brokers={0: BROKER | {"transactional.id.expiration.ms": "86400000"}}), ()),
    ("EOS044", but(brokers={0: BROKER | {"transactional.id.expiration.ms": "86399999"}}), ("broker 0",)),
    ("EOS045", but(transaction_log=None, brokers=broker(num_partitions="9")), ()),
    ("EOS045", but(brokers={0: SILENT, **broker(1, num_partitions="49")}), ("__transaction_state",)),
    ("EOS046", but(finalized_features={"transaction.version": 2}), ()),
    ("EOS046", but(finalized_features={"transaction.version": 1}, broker_releases={0: SILENT}), ("brokers",)),
    ("EOS046", but(finalized_features={"transaction.version": 1}, broker_releases={
        0: Release(KafkaVersion(4, 0), None)}), ("brokers",)),
    ("EOS303", but(workers={A: worker(A, "4.0.0")}), ()),
    ("EOS303", but(workers={A: worker(A, "3.9.9", enabled=SILENT)}), (A,)),
    ("EOS303", but(finalized_features={}, workers={A: worker(A, "3.9.9")}), ()),
    ("EOS303", but(logged=old_protocol(1)), ("x",)),
    ("EOS303", but(logged=old_protocol(2)), ()),
    ("EOS303", but(logged=old_protocol(0), statuses={}), ()),
    ("EOS303", but(logged=old_protocol(0), statuses={"x": status(1)}), ()),
    ("EOS303", but(logged=old_protocol(0), inspection=inspection(**ELSEWHERE)), ()),
    ("EOS303", but(logged={LEADER: SILENT, "g-x-0": logged(client=0)}), ("x",)),
    ("EOS304", but(transactions={"g-x-0": SILENT, "g-x-1": replace(described("g-x-1"), timeout_ms=2**31 - 1)}),
     ("g-x-1",)),
    # Internal topics.
    ("EOS050", but(internal_topics=(replace(topic(), facts=SILENT), replace(topic("status"), facts=None))),
     ("connect-status",)),
    ("EOS051", but(internal_topics=(topic(partitions=2), topic("status", 2))), ("connect-config",)),
    ("EOS052", but(internal_topics=(replace(topic(), facts=None),)), ()),
    ("EOS053", but(internal_topics=(topic(factor=2),)), ()),
    ("EOS053", but(internal_topics=(replace(topic(), facts=None), topic("status", factor=1))), ()),
    ("EOS053", but(internal_topics=(replace(topic(), facts=None), topic("status", factor=1)),
                   broker_releases=BEFORE_3_7), ("connect-status",)),
    ("EOS054", but(internal_topics=(topic(factor=2),), brokers={0: BROKER, 1: BROKER}), ()),
    ("EOS054", but(internal_topics=(topic(factor=1),), brokers={0: BROKER, 1: BROKER}), ("connect-config",)),
    ("EOS054", but(internal_topics=(topic(factor=3),), brokers=dict.fromkeys(range(5), BROKER)), ()),
    ("EOS055", but(inspection=inspection(**OWN), topics={"own": None}, statuses={}), ()),
    ("EOS055", but(inspection=inspection(**OWN), topics={"own": TopicFacts("own", 1, 3)}), ()),
    ("EOS056", but(internal_topics=(topic("status"),)), ()),
    ("EOS089", but(inspection=inspection(**OWN), workers=OFF), ()),
    ("EOS089", but(inspection=inspection(**OWN), workers={A: worker(A), B: worker(B, enabled=False)}), ("x",)),
    ("EOS089", but(inspection=inspection(**{"offsets.storage.topic": "connect-offsets"})), ()),
    ("EOS089", but(inspection=inspection(**{"offsets.storage.topic": "connect-config"})), ("x",)),
    ("EOS089", but(inspection=inspection(**OWN), workers={A: worker(A, "3.8.0")}), ("x",)),
    ("EOS089", but(inspection=inspection(**OWN), workers={A: worker(A, "3.7.2")}), ()),
    # Mirrors whose source deletes.
    ("EOS326", but(mirrors=(mirrored(8, log_start=9),)), ()),
    ("EOS326", but(mirrors=(mirrored(7, log_start=9),)), ("m",)),
    ("EOS326", but(mirrors=(SILENT, mirrored(7, log_start=9))), ("m",)),
    ("EOS327", but(mirrors=(mirrored(19),)), ()),
    ("EOS327", but(mirrors=(mirrored(19, written_ms=NOW - 7_200_000 + 60_000),)), ()),
    ("EOS327", but(mirrors=(mirrored(19, written_ms=NOW - 7_200_000 + 60_001),)), ("m",)),
    ("EOS327", but(mirrors=(mirrored(20, written_ms=SILENT),)), ("m",)),
    ("EOS328", but(mirrors=(mirrored(19, next_ms=0),)), ()),
    ("EOS328", but(mirrors=(mirrored(18, next_ms=NOW - 1_800_000),)), ("m",)),
    ("EOS328", but(mirrors=(mirrored(18, next_ms=NOW - 1_799_999),)), ()),
    ("EOS328", but(mirrors=(mirrored(18, next_ms=None),)), ()),
    ("EOS328", but(mirrors=(mirrored(18, next_ms=0, retention_ms=-1),)), ()),
    ("EOS328", but(mirrors=(mirrored(18, retention_ms=0),)), ("m",)),
    ("EOS328", but(mirrors=(mirrored(13, log_start=8, retention_bytes=9),)), ("m",)),
    ("EOS328", but(mirrors=(mirrored(14, log_start=8, retention_bytes=9),)), ()),
    ("EOS328", but(mirrors=(mirrored(13, log_start=8, retention_bytes=0),)), ("m",)),
    ("EOS328", but(mirrors=(mirrored(13, log_start=8, retention_bytes=-1),)), ()),
    # Schema history.
    ("EOS172", history(), ()),
    ("EOS172", history(retention_ms=str(FIVE_YEARS_MS)), ()),
    ("EOS172", history(retention_ms=str(FIVE_YEARS_MS - 1)), ("x",)),
    ("EOS172", history(retention_ms="0"), ("x",)),
    ("EOS172", history(retention_bytes=str(2**63 - 1)), ()),
    ("EOS172", history(retention_bytes=str(2**63 - 2)), ("x",)),
    ("EOS172", history(retention_ms="9", cleanup_policy="compact"), ("x",)),
    ("EOS172", history(retention_ms="9", cleanup_policy=""), ()),
    ("EOS172", history(1), ()),
    ("EOS172", history(2), ("x",)),
    ("EOS172", but(topics={"h": TopicFacts("h", 2, 3, {})}), ()),
    # Settings that do harm only when something else fails.
    ("EOS029", but(worker_files={"w": {"offset.storage.file.filename": "f", "clusters": "a, b"}}), ()),
    ("EOS033", but(worker_files={"w": {"worker.sync.timeout.ms": "100"}}), ()),
    ("EOS033", but(worker_files={A: file(worker_sync_timeout_ms="3000")}), ()),
    ("EOS033", but(worker_files={A: file(worker_sync_timeout_ms="2999")}), (A,)),
    ("EOS033", but(worker_files={A: file(task_shutdown_graceful_timeout_ms="59999")}), ()),
    ("EOS033", but(worker_files={A: file(task_shutdown_graceful_timeout_ms="${env:G}")}), ()),
    ("EOS033", but(worker_files={A: file(rebalance_timeout_ms="${env:R}")}), ()),
    ("EOS033", but(worker_files={A: file(rebalance_timeout_ms="${env:R}", worker_sync_timeout_ms="1")}), (A,)),
    ("EOS048", but(brokers={0: SILENT, 1: BROKER | {"producer.id.expiration.ms": "899999"}}), ("broker 1",)),
    ("EOS048", but(brokers={0: BROKER | {"producer.id.expiration.ms": "900000"}}), ()),
    ("EOS048", but(brokers={0: {"producer.id.expiration.ms": "899999"}}), ("broker 0",)),
    ("EOS048", but(brokers={0: {"producer.id.expiration.ms": "9", "transaction.max.timeout.ms": "9"}}), ()),
    ("EOS123", but(inspection=inspection(two().config("y", **ELSEWHERE)),
                   worker_files={A: file(producer_transaction_timeout_ms="300001")}), ()),
    ("EOS123", but(inspection=inspection(two().config("x", **OWN).config("y", **OWN)),
                   worker_files={A: file(producer_transaction_timeout_ms="300001")}), ("x", "y")),
    ("EOS123", but(inspection=inspection(two().config("x", **OWN)),
                   worker_files={A: file(producer_transaction_timeout_ms="300001")}), ()),
    ("EOS152", but(transaction_log=SILENT), ()),
    ("EOS152", but(transaction_log=None), ()),
    ("EOS152", but(transaction_log=transaction_log(diskless_enable="true")), ("__transaction_state",)),
    ("EOS152", but(topics=facts(settings=DISKLESS), outputs=SILENT), ()),
    ("EOS152", but(topics=facts(settings=DISKLESS), outputs={"x": SILENT}), ()),
    ("EOS152", but(topics=facts("other", settings=DISKLESS)), ()),
    ("EOS152", but(inspection=inspection(**OWN), topics=facts("own", settings=DISKLESS)), ("own",)),
    # IDs of the leader and of tasks.
    ("EOS055", but(inspection=inspection(**OWN, **ELSEWHERE), topics={"own": None}), ()),
    ("EOS111", but(transactions={}, statuses={}), ()),
    ("EOS113", but(group_id="connect", groups={"connect": "connect", "o-0": "consumer"},
                   statuses={"cluster-o": status(0, name="cluster-o")}, inspection=UNREAD), ()),
    ("EOS113", but(group_id="connect", groups={"connect": "connect", "o-1": "connect"},
                   statuses={"cluster-o": status(0, name="cluster-o")}, inspection=UNREAD), ()),
    ("EOS117", but(idle_since={"g-x-1": 0}, statuses={}), ()),
    ("EOS118", but(other_groups={"h": members("http://o")}), ()),
    # Overrides of workers that do not all answer, a topic that is thin and weak, a connector without a status.
    ("EOS102", but(workers={A: SILENT}, inspection=inspection(**NOT_IDEMPOTENT)), ("x",)),
    ("EOS102", but(workers={A: worker(A), B: worker(B, enabled=SILENT)}, inspection=inspection(**NOT_IDEMPOTENT)),
     ("x",)),
    ("EOS150", but(topics=facts(isr="1", settings=UNCLEAN)), ("x",)),
    ("EOS160", but(statuses={}), ()),
    ("EOS160", but(commits=QUIET), ("x",)),
    ("EOS160", but(commits=QUIET, workers={}), ()),
    ("EOS160", but(commits=QUIET, workers={A: worker(A), B: worker(B, enabled=False)}), ()),
    ("EOS160", but(commits=QUIET, workers={A: worker(A), B: worker(B, enabled=SILENT)}), ()),
    ("EOS160", but(commits=QUIET, workers={A: worker(A), B: SILENT}), ()),
    # Workers of another group, silent ones, and none.
    ("EOS014", but(workers={}, worker_files={"f": FILE}), ()),
    ("EOS014", but(worker_files={A: file(exactly_once_source_support="on")}), ()),
    ("EOS014", but(worker_files={A: {"exactly.once.source.support": "preparing"}}), (A,)),
    ("EOS022", but(workers={A: worker(A, connectors=("x", "y"))}), ()),
    ("EOS025", but(group=ConnectGroup("Stable", "connect", "sessioned", (GroupMember("1", None),))), ()),
    ("EOS002", but(workers={A: worker(A), B: replace(worker(B), version=SILENT)}), ()),
    ("EOS013", but(workers={}), ()),
    ("EOS024", but(group=members(), statuses={"x": status(0, worker="gone:1")}), ()),
    ("EOS024", but(group=members(A, state="PreparingRebalance"), statuses={"x": status(0, worker="gone:1")}), ("g",)),
    ("EOS010", but(workers={A: ANOTHERS, B: worker(B)}), ()),
    ("EOS022", but(workers={A: ANOTHERS, B: worker(B)}), (A,)),
    ("EOS022", but(workers={A: SILENT, B: worker(B)}), ()),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "evidence", "subjects"), FOUND)
def test_a_rule_finds_its_condition_up_to_its_limit_and_nothing_beyond(rule, evidence, subjects) -> None:
    assert tuple(each.subject for each in answer(rule, evidence).findings) == subjects


def without(key: str) -> dict[str, str]:
    return {name: value for name, value in BROKER.items() if name != key}


def unset(described: Any) -> Any:
    """An internal topic, or the transaction log, whose settings could not be read."""
    return replace(described, facts=replace(described.facts, settings=SILENT))


CANNOT_TELL: list[tuple[str, Evidence, str]] = [
    ("EOS105", but(inspection=inspection(**{"transaction.boundary": "interval"}), worker_files={}), "the workers'"),
    ("EOS105", but(inspection=inspection(**{"transaction.boundary": "interval"}), worker_files=UNREAD), "the workers'"),
    ("EOS105", but(inspection=inspection(**{"transaction.boundary": "interval"}),
                   worker_files={A: FILE | FLUSH, B: file(offset_flush_interval_ms="${env:F}")}), "${env:F}"),
    ("EOS105", but(inspection=interval(59_000), worker_files={A: file(producer_transaction_timeout_ms="${env:T}")}),
     "${env:T}"),
    ("EOS100", but(preflight={"x": Preflight({A: SILENT})}), "x could not be validated: denied"),
    ("EOS100", but(preflight={"x": Preflight({A: (SAYS_NOTHING,)})}), "does not declare"),
    ("EOS102", but(workers={A: worker(A, enabled=False)}), ""),
    ("EOS102", but(workers={A: worker(A, enabled=SILENT)}), "denied"),
    ("EOS104", but(brokers={0: BROKER, 1: SILENT}), "denied"),
    ("EOS012", but(workers={A: worker(A), B: worker(B, enabled=SILENT)}), f"whether {B} has it enabled is not known"),
    ("EOS013", but(workers={A: worker(A, enabled=SILENT)}), f"{A}: denied"),
    ("EOS013", but(workers={A: worker(A), B: worker(B, enabled=SILENT)}), ""),
    ("EOS014", but(workers={A: SILENT, B: worker(B, enabled=False)}, worker_files={"f": FILE}), f"{A} has it enabled"),
    ("EOS015", but(worker_files={A: file(exactly_once_source_support="${env:E}")}), "a config provider resolves it"),
    ("EOS017", but(worker_files={A: file(bootstrap_servers="a:1"), B: file(bootstrap_servers="b:1")}), f"of {B} leads"),
    ("EOS017", but(worker_files={A: file(bootstrap_servers="a:1,b:1"), B: file(bootstrap_servers="b:1")}), ""),
    ("EOS021", but(group=ConnectGroup("Stable", "connect", "sessioned", (GroupMember("m", None),))), "member m of"),
    ("EOS022", but(workers={A: worker(A), B: replace(worker(B), connectors=SILENT)}), "denied"),
    ("EOS023", but(group=members(A, protocol="", state="PreparingRebalance")), "the group is PreparingRebalance"),
    ("EOS002", but(workers={A: replace(worker(A), version=SILENT)}), "denied"),
    ("EOS001", but(workers={A: replace(worker(A), version=SILENT)}), "denied"),
    ("EOS003", but(workers={A: replace(worker(A), version=SILENT)}), "denied"),
    ("EOS019", but(workers={A: worker(A, plugins=SILENT)}), "denied"),
    ("EOS028", but(preflight={"x": Preflight({A: (), B: SILENT})}), "x could not be validated: denied"),
    ("EOS028", but(preflight={"x": Preflight({A: SILENT})}), ""),
    ("EOS110", but(transactions={LEADER: SILENT}), "denied"),
    ("EOS110", but(workers={A: worker(A, enabled=SILENT)}, worker_files={}), "denied"),
    ("EOS111", but(workers={A: worker(A), B: SILENT}), "denied"),
    ("EOS111", but(transactions={LEADER: described(LEADER), "g-x-0": SILENT, "g-x-1": described("g-x-1")}), "denied"),
    ("EOS111", but(inspection=inspection(**{"producer.override.bootstrap.servers": "o:1"})), "another Kafka cluster"),
    ("EOS112", but(**ongoing(90_000), clock=ClusterClock(1, 120_000, 5)), "how long transactions are open"),
    ("EOS112", but(**ongoing(90_000, TransactionState.COMPLETE_COMMIT), clock=ClusterClock(1, 120_000, 5)), ""),
    ("EOS112", but(transactions={"g-x-0": SILENT}), "denied"),
    ("EOS116", but(transactions={"g-x-0": SILENT}), "denied"),
    ("EOS117", but(brokers={0: {}}), "no broker reports its transactional.id.expiration.ms"),
    ("EOS117", but(brokers={0: BROKER, 1: {}}), ""),
    ("EOS117", but(brokers={0: BROKER, 1: SILENT}), "denied"),
    ("EOS117", but(idle_since={"g-x-0": SILENT}), "denied"),
    ("EOS117", but(clock=ClusterClock(1, 120_000, 5)), "how long IDs were idle"),
    ("EOS118", but(other_groups={"h": SILENT}), "denied"),
    ("EOS119", but(groups_elsewhere={"x": SILENT}), "denied"),
    ("EOS115", but(unlisted=("broker 3 is silent",)), "broker 3 is silent"),
    ("EOS031", but(brokers={0: {}}), "broker 0 does not report its transaction.max.timeout.ms"),
    ("EOS031", but(brokers={0: SILENT}), "denied"),
    ("EOS150", but(outputs={"x": SILENT}), "denied"),
    ("EOS150", but(topics={"out": SILENT}), "denied"),
    ("EOS150", but(topics={"out": TopicFacts("out", 1, 3, SILENT)}), "denied"),
    ("EOS151", but(topics={"out": TopicFacts("out", 1, 3, SILENT)}), "denied"),
    ("EOS120", but(groups={"c": "consumer", "g": "connect", "q": "share"}, share_groups={
        "q": ShareGroup("read_committed", {})}), "there are 1 consumer group: c"),
    ("EOS120", but(groups={"q": "share"}, share_groups=SILENT), "how 1 share group (q) read: denied"),
    ("EOS120", but(groups={}, share_groups=SILENT), ""),
    ("EOS120", but(groups={"q": "share"}, outputs={"x": SILENT}, share_groups={"q": ShareGroup("read_committed", {})}),
     "denied"),
    ("EOS120", but(groups={}, outputs={"x": SILENT}), ""),
    ("EOS120", but(groups={"q": "share"}, share_groups={"q": ShareGroup(SILENT, {})}), "share group q: denied"),
    ("EOS120", but(groups={"q": "share"}, share_groups={}), "share group q"),
    ("EOS109", but(inspection=inspection(**{"transaction.boundary": "CONNECTOR"}), worker_files={}), "the workers'"),
    ("EOS040", but(transaction_log=None, brokers={0: without("transaction.state.log.min.isr")}), "state.log.min.isr"),
    ("EOS040", but(transaction_log=None, brokers={0: without("transaction.state.log.replication.factor")}),
     "replication.factor"),
    ("EOS040", but(transaction_log=None, brokers={0: BROKER, 1: SILENT, 2: BROKER}), "denied"),
    ("EOS040", but(brokers={0: BROKER, 1: SILENT}), ""),
    ("EOS042", but(transaction_log=unset(transaction_log())), "denied"),
    ("EOS042", but(transaction_log=unset(transaction_log(2))), ""),
    ("EOS043", but(brokers={0: without("transaction.partition.verification.enable")}), ""),
    ("EOS043", but(brokers={0: {}}), "broker 0 does not report its transaction.partition.verification.enable"),
    ("EOS043", but(brokers={0: SILENT, 1: BROKER}), "denied"),
    ("EOS044", but(brokers={0: SILENT, 1: BROKER}), "denied"),
    ("EOS044", but(brokers={0: without("transactional.id.expiration.ms")}), "transactional.id.expiration.ms"),
    ("EOS045", but(brokers={0: without("transaction.state.log.num.partitions")}), "num.partitions"),
    ("EOS045", but(transaction_log=None, brokers={0: SILENT}), ""),
    ("EOS303", but(workers={A: worker(A), B: SILENT}), "denied"),
    ("EOS303", but(workers={A: replace(worker(A, enabled=False), version=SILENT)}), ""),
    ("EOS303", but(logged=SILENT), "denied"),
    ("EOS303", but(logged=SILENT, workers={A: worker(A, "3.9.2")}), ""),
    ("EOS303", but(logged={"g-x-0": SILENT}), "denied"),
    ("EOS303", but(logged={"g-x-7": SILENT}), ""),
    ("EOS050", but(internal_topics=(replace(topic("status"), facts=SILENT),)), "denied"),
    ("EOS051", but(internal_topics=(replace(topic("status"), facts=SILENT),)), ""),
    ("EOS052", but(internal_topics=(topic(), replace(topic("status"), facts=SILENT))), "denied"),
    ("EOS053", but(internal_topics=(topic(), replace(topic("status"), facts=SILENT))), "denied"),
    ("EOS052", but(internal_topics=(unset(topic()),)), "denied"),
    ("EOS053", but(internal_topics=(unset(topic()),)), "denied"),
    ("EOS054", but(internal_topics=(unset(topic()),)), ""),
    ("EOS055", but(inspection=inspection(**OWN), topics={"own": SILENT}, statuses={}), "denied"),
    ("EOS089", but(inspection=inspection(**OWN), workers={A: worker(A, enabled=SILENT)}), "denied"),
    ("EOS089", but(workers={A: worker(A, enabled=SILENT)}), ""),
    ("EOS089", but(inspection=inspection(**OWN), workers={A: worker(A), B: worker(B, enabled=SILENT)}), ""),
    ("EOS172", history(retention_ms="9", cleanup_policy="delete"), ""),
    ("EOS172", but(topics={"h": SILENT}), ""),
    ("EOS172", replace(history(), topics={"h": SILENT}), "denied"),
    ("EOS172", replace(history(), topics={}), "the schema history of x (h at None) is in a Kafka cluster"),
    ("EOS172", replace(history(), topics={"h": TopicFacts("h", 1, 3, SILENT)}), "denied"),
    ("EOS172", replace(history(), topics={"h": TopicFacts("h", 1, 3, {})}), "not report cleanup.policy of topic h"),
    ("EOS109", but(inspection=inspection(**{"transaction.boundary": "poll"}), worker_files={}), ""),
    ("EOS109", but(inspection=inspection(**{"transaction.boundary": "connector", f"producer.override.{TIMEOUT}": "5"}),
                   worker_files={}), ""),
    ("EOS033", but(worker_files={A: file(task_shutdown_graceful_timeout_ms="${env:G}")}),
     f"task.shutdown.graceful.timeout.ms of {A} is '${{env:G}}'"),
    ("EOS033", but(worker_files={A: file(rebalance_timeout_ms="${env:R}")}), f"rebalance.timeout.ms of {A} is"),
    ("EOS033", but(worker_files={A: FILE}), ""),
    ("EOS047", but(finalized_features={}, logged={"g-x-0": logged(client=0), "g-x-1": SILENT}), "denied"),
    ("EOS047", but(finalized_features={}, logged={"g-x-0": logged(client=0)}), ""),
    ("EOS047", but(finalized_features={"transaction.version": 1}, logged={"g-x-1": SILENT}), ""),
    ("EOS121", but(statuses={"x": ConnectorStatus("x", "sink", "RUNNING", ())}, inspection=inspection(),
                   worker_files={A: file(consumer_isolation_level="read_committed")}), ""),
    ("EOS121", but(statuses={"x": ConnectorStatus("x", "sink", "RUNNING", ())}, inspection=inspection()),
     "the config of x, which may set"),
    ("EOS013", but(workers={}), ""),
    ("EOS023", but(group=members(protocol="", state="Empty")), ""),
    ("EOS013", but(workers={A: worker(A, enabled=SILENT)}, statuses={}, inspection=UNREAD), f"{A}: denied"),
    ("EOS117", but(brokers={0: SILENT}), "denied"),
    ("EOS117", but(idle_since={"g-x-0": NOW, "g-x-1": NOW}), ""),
    ("EOS160", but(commits=QUIET | {"g-x-1": commits(silent_ms=60_000, intervals=29)}), ""),
    ("EOS160", but(commits=QUIET | {"g-x-1": commits(silent_ms=60_001, intervals=29)}), "29 intervals"),
    ("EOS102", but(workers={A: worker(A), B: worker(B, enabled=SILENT)}), ""),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "evidence", "reason"), CANNOT_TELL)
def test_a_rule_says_what_was_not_read_where_that_could_decide(rule, evidence, reason) -> None:
    said = " ".join(answer(rule, evidence).cannot_tell)
    assert reason in said
    assert bool(said) is bool(reason)


SEVERITIES: list[tuple[str, Evidence, Severity]] = [
    ("EOS029", but(worker_files={"w": {"offset.storage.file.filename": "f"}}), Severity.INFO),
    ("EOS105", but(inspection=interval(59_999)), Severity.WARNING),
    ("EOS105", but(inspection=interval(60_000)), Severity.ERROR),
    ("EOS102", but(worker_files={A: file(producer_enable_idempotence="false")}), Severity.INFO),
    ("EOS102", but(worker_files={A: file(transactional_id="t")}), Severity.WARNING),
    ("EOS150", but(topics=facts(isr="1")), Severity.INFO),
    ("EOS150", but(topics=facts(factor=1)), Severity.WARNING),
    ("EOS160", but(commits={"g-x-0": commits(silent_ms=9_000_000, days=7)}), Severity.WARNING),
    ("EOS160", but(commits={"g-x-0": commits(silent_ms=9_000_000, days=6)}), Severity.INFO),
    ("EOS017", but(worker_files={A: FILE, B: file(connect_protocol="compatible")}), Severity.WARNING),
    ("EOS017", but(worker_files={A: FILE, B: file(group_id="h")}), Severity.ERROR),
    ("EOS003", but(workers={A: worker(A, "4.1.1")}), Severity.ERROR),
    ("EOS003", but(workers={A: worker(A, "4.1.1", enabled=False)}), Severity.WARNING),
    ("EOS003", but(workers={A: worker(A, "4.1.1", enabled=SILENT)}), Severity.ERROR),
    ("EOS019", but(workers={A: worker(A), B: worker(B, plugins={})}), Severity.INFO),
    ("EOS030", but(inspection=inspection(tasks(25)), transaction_log=ONE_COORDINATOR), Severity.WARNING),
    ("EOS030", but(inspection=inspection(tasks(24)), transaction_log=ONE_COORDINATOR), Severity.INFO),
    ("EOS030", but(inspection=inspection(tasks(20)), transaction_log=ONE_COORDINATOR), Severity.INFO),
    ("EOS172", history(2), Severity.WARNING),
    ("EOS172", history(2, retention_ms="9"), Severity.ERROR),
    ("EOS303", but(workers={A: worker(A, "3.9.2")}), Severity.INFO),
    ("EOS303", but(logged=old_protocol(0)), Severity.WARNING),
]


@pytest.mark.parametrize(("rule", "evidence", "severity"), SEVERITIES)
def test_a_finding_is_as_severe_as_its_condition(rule, evidence, severity) -> None:
    assert answer(rule, evidence).findings[0].severity is severity


@pytest.mark.parametrize(
    ("causes", "said"),
    [
        ((None,), "1 of its 1 tasks are FAILED"),
        (("c: 1",), "1 of its 1 tasks are FAILED: c: 1"),
        (("c: 1", "c: 1"), "2 of its 2 tasks are FAILED: c: 1"),
        (("c: 1", None, "d: 2"), "3 of its 3 tasks are FAILED: c: 1 (and 1 other cause)"),
    ],
)
def test_failed_tasks_are_reported_with_each_cause_once(causes, said) -> None:
    [found] = answer("EOS108", but(statuses=failed(*causes))).findings
    assert found.message == said
    assert ("GET /connectors/x/status" in found.cure) is (causes == (None,))


def test_the_cause_of_a_task_that_has_not_failed_is_none_of_the_connector() -> None:
    both = (TaskStatus(0, "FAILED", "a:8083", "c"), TaskStatus(1, "RUNNING", "b:8083", "old"))
    [found] = answer("EOS108", but(statuses={"x": ConnectorStatus("x", "source", "RUNNING", both)})).findings
    assert found.evidence == {"tasks": [0], "causes": ["c"]}


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (20, 20), (21, 20)])
def test_of_many_groups_twenty_are_named(count, shown) -> None:
    [said] = answer("EOS120", but(groups={f"c{number:02}": "consumer" for number in range(count)})).cannot_tell
    assert len(said.rpartition(": ")[2].removesuffix(" …").split(", ")) == shown
    assert said.endswith("…") is (count > 20)


def test_a_thin_topic_of_one_replica_has_another_fix_than_one_with_unclean_elections() -> None:
    unclean = {"unclean.leader.election.enable": "true"}
    one, two = (
        answer("EOS150", but(topics=each)).findings[0].cure for each in (facts(factor=1), facts(settings=unclean))
    )
    assert one != two
    both = answer("EOS150", but(outputs={"x": ("out", "o")}, topics=facts(settings=unclean) | facts("o", 1))).findings[
        0
    ]
    assert both.cure == one
    alone = but(outputs={"x": ("out", "o")}, topics=facts(settings=unclean) | facts("o", 1), brokers={0: BROKER})
    assert answer("EOS150", alone).findings[0].cure == two


def test_a_decided_transaction_says_for_each_broker_why_it_has_no_marker() -> None:
    value = TransactionLogValue(
        0, ProducerIdAndEpoch(7, 1), 60_000, TransactionState.PREPARE_ABORT, (OUT_1,), NOW - 90_000, 0
    )
    missing = (MissingMarker(OUT_1, 3, "silent"), MissingMarker(TopicPartition("out", 2), 3, "silent"),
               MissingMarker(TopicPartition("out", 3), None, "it has no leader"))  # fmt: skip
    leftover = Leftover("p", LeftoverKind.PREPARED, value, None, missing)
    [found] = answer("EOS307", but(decided=(leftover,))).findings
    assert found.message == (
        "it is PrepareAbort for 90 s, and 3 partitions have no marker: out-1, out-2 of broker 3: silent; out-3: it has "
        "no leader"
    )
    assert answer("EOS307", but(decided=(replace(leftover, missing=SILENT),))).cannot_tell == ("denied",)
    assert len(answer("EOS307", but(decided=(leftover,), clock=ClusterClock(1, 1000, 5))).findings) == 1
    off = answer("EOS307", but(decided=(leftover,), clock=ClusterClock(1, 120_000, 5)))
    assert (off.findings, "how long transactions have been decided" in off.cannot_tell[0]) == ((), True)
    assert answer("EOS307", but(decided=(), clock=ClusterClock(1, 120_000, 5))).outcome == "fine"


def asking(version: str) -> Any:
    return inspection(**{"connector.class": SOURCE, "connector.plugin.version": version})


def loaded(*versions: str, at: str = "4.3.1") -> dict[str, Any]:
    return {"workers": {A: worker(A), B: worker(B, at, plugins={SOURCE: versions})}}


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (but(**loaded("2"), inspection=asking("latest")), "the plugin has versions 1, 2"),
        (but(**loaded("2"), inspection=asking("1")), f"the plugin in version 1, which x asks for, is missing on {B}"),
        (but(**loaded("1.0", "2"), inspection=asking("1")), None),
        (but(**loaded("1.0.1"), inspection=asking("[1]")),
         f"the plugin in version [1], which x asks for, is missing on {B}"),
        (but(**loaded("1", "2"), inspection=asking("[1,2]")),
         "the plugin in version [1,2], which x asks for, has versions 1, 1 and 2"),
        (but(**loaded("1"), inspection=asking("[1,2]")), None),
        (but(**loaded(), inspection=asking("[1,2]")),
         f"the plugin in version [1,2], which x asks for, is missing on {B}"),
        (but(workers={A: worker(A), B: worker(B, plugins={})}, inspection=asking("latest")),
         f"the plugin is missing on {B}"),
        (but(**loaded("2", at="4.1.0"), inspection=asking("1")),
         f"the plugin in version 1, which x asks for, is missing on {B}"),
        (but(workers={A: worker(A), B: replace(worker(B, plugins={SOURCE: ("2",)}), version=SILENT)},
             inspection=asking("1")), f"the plugin in version 1, which x asks for, is missing on {B}"),
        (but(**loaded("2", at="4.0.0"), inspection=asking("1")),
         "the plugin in version 1, which x asks for, has versions 1, 2"),
        (but(**loaded("2"), inspection=UNREAD), "the plugin has versions 1, 2"),
        (but(**loaded("2"), inspection=inspection()), "the plugin has versions 1, 2, and no connector uses it"),
    ],
)  # fmt: skip
def test_a_plugin_is_compared_in_the_version_that_its_connectors_ask_for(evidence, message) -> None:
    assert [each.message for each in answer("EOS019", evidence).findings] == ([] if message is None else [message])


def test_a_plugin_of_kafka_has_the_worker_s_version() -> None:
    kafka = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    workers = {A: worker(A, plugins=PLUGINS | {kafka: ("4.3.1",)}), B: worker(B, plugins=PLUGINS | {kafka: ("4.3.0",)})}
    assert answer("EOS019", but(workers=workers)).findings == ()


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        (broker(replication_factor="4", min_isr="5"), "is 4 and 3 brokers live: the transaction log cannot be created"),
        (broker(min_isr="4"), "state.log.min.isr is 4: brokers before 3.7 cannot write to the transaction log, so no"),
    ],
)
def test_a_log_that_is_not_there_yet_lacks_brokers_before_it_lacks_replicas_in_sync(evidence, message) -> None:
    [found] = answer("EOS040", but(transaction_log=None, brokers=evidence, broker_releases=BEFORE_3_7)).findings
    assert message in found.message


@pytest.mark.parametrize(("factor", "raised"), [(1, True), (2, False), (3, False)])
def test_a_replication_factor_of_min_insync_replicas_needs_no_raise(factor: int, raised: bool) -> None:
    log, internal = transaction_log(factor), topic(factor=factor)
    short = (
        replace(log, facts=replace(log.facts, in_sync=1)),
        replace(internal, facts=replace(internal.facts, in_sync=1)),
    )
    for rule, given in (("EOS040", {"transaction_log": short[0]}), ("EOS053", {"internal_topics": short[1:]})):
        [found] = answer(rule, but(broker_releases=BEFORE_3_7, **given)).findings
        assert found.cure.startswith("raise the replication") is raised


@pytest.mark.parametrize(
    ("config", "where"),
    [
        (OWN, "own"),
        ({"producer.override.bootstrap.servers": "o:1"}, "connect-offsets at o:1"),
        ({"producer.override.bootstrap.servers": "o:2,o:1", **OWN}, "own at o:1,o:2"),
        ({"producer.override.bootstrap.servers": "${env:SERVERS}"}, "connect-offsets at other servers"),
    ],
)
def test_offsets_that_cannot_be_deleted_are_in_the_second_store_of_the_connector(config, where) -> None:
    [found] = answer("EOS089", but(inspection=inspection(**config))).findings
    assert found.evidence == {"offsets_topic": where}
    lone = but(inspection=inspection(**config), internal_topics=(topic(),))
    [found] = answer("EOS089", lone).findings
    assert found.evidence == {"offsets_topic": where.replace("connect-offsets", "the workers' topic")}


@pytest.mark.parametrize(
    ("ids", "cure"),
    [
        ({"g-x-0": logged(client=0)}, "POST /connectors/x/tasks/0/restart"),
        ({LEADER: logged(client=0)}, "restart the worker that leads the group"),
    ],
)
def test_a_producer_of_the_old_protocol_is_restarted_where_it_runs(ids, cure) -> None:
    [found] = answer("EOS303", but(logged=HEALTHY.logged | ids)).findings
    assert found.cure == cure


@pytest.mark.parametrize(
    ("servers", "elsewhere"), [("a:9092", False), ("b:9092,a:9092", False), ("o:9092", True), (None, False)]
)
def test_a_schema_history_in_another_kafka_cluster_is_not_judged_by_a_topic_of_this_one(servers, elsewhere) -> None:
    given = {} if servers is None else {"schema.history.internal.kafka.bootstrap.servers": servers}
    config = inspection(**{"schema.history.internal.kafka.topic": "h", **given})
    files = {A: file(bootstrap_servers="a:9092"), B: file(bootstrap_servers="a:9092,b:9092")}
    evidence = replace(history(2), inspection=config, worker_files=files)
    assert answer("EOS172", evidence).outcome == ("cannot tell" if elsewhere else "found")
    assert answer("EOS172", replace(evidence, worker_files={})).outcome == "found", "whose servers are unknown"
