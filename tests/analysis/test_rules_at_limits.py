"""Rules at their limits: one less, equal and one more, and each part of a condition false alone."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.analysis.rules.connectors import SAYS_NOTHING
from eosctl.model.evidence import Evidence, Preflight
from eosctl.model.groups import ConnectGroup, GroupMember, ShareGroup
from eosctl.model.leftovers import Leftover, LeftoverKind, MissingMarker
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.times import ClusterClock
from eosctl.model.topics import TopicFacts
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import TransactionState
from eosctl.model.workers import ConnectorStatus, TaskStatus
from tests.analysis.config_records import Log
from tests.analysis.evidence import (
    BROKER,
    FILE,
    NOW,
    ONE_COORDINATOR,
    OUT_1,
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
    members,
    mirror,
    status,
    tasks,
    worker,
)

TIMEOUT = "transaction.timeout.ms"
LEADER = "connect-cluster-g"
SOURCE = "org.example.Source"
OFF = {A: worker(A, enabled=False), B: worker(B, enabled=False)}
SILENT = Skipped("denied")
UNCLEAN = {"unclean.leader.election.enable": "true"}
FLUSH = {"offset.flush.interval.ms": "30000"}


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
    ("EOS023", but(group=members()), ()),
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
]  # fmt: skip


@pytest.mark.parametrize(("rule", "evidence", "subjects"), FOUND)
def test_a_rule_finds_its_condition_up_to_its_limit_and_nothing_beyond(rule, evidence, subjects) -> None:
    assert tuple(each.subject for each in answer(rule, evidence).findings) == subjects


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
    ("EOS109", but(inspection=inspection(**{"transaction.boundary": "poll"}), worker_files={}), ""),
    ("EOS109", but(inspection=inspection(**{"transaction.boundary": "connector", f"producer.override.{TIMEOUT}": "5"}),
                   worker_files={}), ""),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "evidence", "reason"), CANNOT_TELL)
def test_a_rule_says_what_was_not_read_where_that_could_decide(rule, evidence, reason) -> None:
    said = " ".join(answer(rule, evidence).cannot_tell)
    assert reason in said
    assert bool(said) is bool(reason)


SEVERITIES: list[tuple[str, Evidence, Severity]] = [
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
