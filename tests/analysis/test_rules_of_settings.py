"""Rules about settings that do harm only when something else fails, and about ACLs of others: what they leave alone."""

import pytest

from eosctl.analysis.rules.settings import DEFAULTS_MS, LISTS, SOURCE_SUPPORT, STANDALONE_OFFSETS
from eosctl.analysis.rules.workers import POLICY, POLICY_PREFIX, SIGNATURE, VERIFICATION
from eosctl.codecs.connector_files import decode_worker_properties
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType, topic
from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from tests.analysis.config_records import Log
from tests.analysis.evidence import BROKER, FILE, HEALTHY, A, answer, but, inspection, logged
from tests.analysis.evidence import topic as internal
from tests.analysis.test_rules import other_writer

NEW = ("EOS004", "EOS029", "EOS033", "EOS047", "EOS048", "EOS123", "EOS144", "EOS145", "EOS152")


@pytest.mark.parametrize("rule", NEW)
def test_a_healthy_cluster_has_none_of_them(rule: str) -> None:
    assert answer(rule, HEALTHY).outcome == "fine"


def files(**settings: str):
    return {A: FILE | {key.replace("_", "."): value for key, value in settings.items()}}


@pytest.mark.parametrize(
    ("key", "value", "outcome"),
    [
        ("bootstrap.servers", "a:1,a:1", "fine"),  # counts once
        ("bootstrap.servers", "a:1, b:1", "fine"),
        ("bootstrap.servers", "a:1,,b:1", "found"),
        ("bootstrap.servers", "", "found"),
        ("plugin.path", "", "fine"),
        ("ssl.cipher.suites", ",x", "found"),
        ("listeners", "http://a:1,", "fine"),  # no older worker takes it either
    ],
)
def test_a_list_with_an_empty_part_is_found_where_newer_workers_alone_refuse_it(key, value, outcome) -> None:
    """As DistributedConfig of 3.9.2 and 4.3.1 take and refuse these."""
    assert answer("EOS004", but(worker_files={A: FILE | {key: value}})).outcome == outcome


@pytest.mark.parametrize(
    ("properties", "severities"),
    [
        ({"offset.storage.file.filename": "f", "exactly.once.source.support": "enabled"}, [Severity.WARNING]),
        ({"offset.storage.file.filename": "f"}, [Severity.INFO]),
        ({"offset.storage.file.filename": "f", "group.id": "g"}, []),
        (FILE, []),
    ],
)
def test_a_standalone_worker_is_reported_as_standalone(properties, severities) -> None:
    assert [each.severity for each in answer("EOS029", but(worker_files={"w": properties})).findings] == severities


def test_timeouts_of_workers_that_are_not_numbers_are_reported() -> None:
    said = answer("EOS033", but(worker_files=files(worker_sync_timeout_ms="${env:T}")))
    assert (said.outcome, "worker.sync.timeout.ms" in said.cannot_tell[0]) == ("cannot tell", True)
    both = files(task_shutdown_graceful_timeout_ms="60000", rebalance_timeout_ms="120000")
    assert answer("EOS033", but(worker_files=both)).outcome == "fine"


@pytest.mark.parametrize(
    ("features", "client", "outcome"),
    [
        ({}, 2, "found"),
        ({}, 0, "fine"),
        ({"transaction.version": 1}, 2, "fine"),
        ({"transaction.version": 2}, 2, "fine"),
    ],
)
def test_a_lowered_transaction_version_is_found_where_an_id_used_the_newer_one(features, client, outcome) -> None:
    said = answer("EOS047", but(finalized_features=features, logged={"g-x-0": logged(client=client)}))
    assert said.outcome == outcome
    assert {"preparing", "enabled", "disabled"} == said.rule.blocks


def test_an_id_that_the_log_does_not_explain_is_not_fine() -> None:
    said = answer("EOS047", but(finalized_features={}, logged={"g-x-0": Skipped("denied")}))
    assert (said.outcome, said.cannot_tell) == ("cannot tell", ("denied",))


def test_brokers_without_the_setting_expire_producers_with_their_ids() -> None:
    old = {key: value for key, value in BROKER.items() if key != "producer.id.expiration.ms"}
    assert answer("EOS048", but(brokers={0: old})).outcome == "fine"


SHARED = inspection(Log().healthy("x", 2).healthy("y", 1))
LONG = files(producer_transaction_timeout_ms="300001")


def test_long_transactions_matter_where_others_read_the_same_offsets_topic() -> None:
    assert [each.subject for each in answer("EOS123", but(inspection=SHARED, worker_files=LONG)).findings] == ["x", "y"]
    assert answer("EOS123", but(worker_files=LONG)).outcome == "fine"
    short = files(producer_transaction_timeout_ms="300000")
    assert answer("EOS123", but(inspection=SHARED, worker_files=short)).outcome == "fine"


@pytest.mark.parametrize("settings", [{"diskless.enable": "false"}, {}, Skipped("denied")])
def test_a_classic_topic_takes_transactions(settings) -> None:
    assert answer("EOS152", but(topics={"out": TopicFacts("out", 1, 3, settings)})).outcome == "fine"


def test_a_diskless_internal_topic_is_found_by_its_older_name_too() -> None:
    [found] = answer("EOS152", but(internal_topics=(internal("offsets", inkless_enable="true"),))).findings
    assert (found.subject, found.severity) == ("connect-offsets", Severity.ERROR)
    assert "it is the workers' offsets topic" in found.message


@pytest.mark.parametrize(
    ("principal", "pattern", "severity"),
    [
        ("User:eve", topic("cfg"), Severity.WARNING),
        ("User:eve", ResourcePattern(ResourceType.TOPIC, "c", PatternType.PREFIXED), Severity.WARNING),
        ("User:admin", topic("*"), Severity.INFO),
        ("User:*", topic("*"), Severity.WARNING),
    ],
)
def test_who_else_may_write_the_config_topic_is_a_warning_unless_it_is_an_administrator(principal, pattern, severity):
    [found] = answer("EOS144", but(acl_in_force=other_writer(principal, "cfg", pattern))).findings
    assert found.severity is severity
    assert "`kafka-acls.sh --bootstrap-server <broker> --remove --allow-principal" in found.cure


@pytest.mark.parametrize("expected", ["User:?", "User:ANONYMOUS"])
def test_who_is_one_of_connects_principals_has_to_be_known(expected) -> None:
    said = answer("EOS144", but(acl_in_force=other_writer("User:eve", "cfg", expected=expected)))
    assert (said.outcome, said.complete) == ("cannot tell", True)


# Settings of worker files that a worker with exactly-once replaces.


@pytest.mark.parametrize(
    ("key", "value", "severities"),
    [
        ("producer.transactional.id", "mine", [Severity.WARNING]),
        ("transactional.id", "mine", [Severity.WARNING]),
        ("producer.enable.idempotence", "false", [Severity.INFO]),
        ("producer.enable.idempotence", "true", []),
        ("consumer.isolation.level", "read_uncommitted", [Severity.INFO]),
        ("consumer.isolation.level", "read_committed", []),
    ],
)
def test_a_worker_s_setting_that_it_replaces_is_named(key, value, severities) -> None:
    found = answer("EOS102", but(worker_files={A: FILE | {key: value}})).findings
    assert [each.severity for each in found] == severities
    preparing = FILE | {key: value, "exactly.once.source.support": "preparing"}
    assert answer("EOS102", but(worker_files={A: preparing})).outcome == "fine"


# A dedicated MirrorMaker, and stores in two Kafka clusters.


def test_one_node_of_a_mirror_maker_leads_itself_and_needs_no_internal_rest() -> None:
    mm2 = {"mm2": {"clusters": "A, B", "B.exactly.once.source.support": "enabled"}}
    nodes = tuple(GroupMember(each, None) for each in ("1", "2"))

    def asked(*members: GroupMember) -> str:
        group = ConnectGroup("Stable", "connect", "sessioned", members)
        return answer("EOS107", but(worker_files=mm2, group_id="A-mm2", group=group)).outcome

    assert (asked(*nodes[:1]), asked(*nodes)) == ("fine", "found")
    alone = ConnectGroup("Stable", "connect", "sessioned", nodes[:1])
    assert answer("EOS107", but(worker_files=mm2, group_id="other", group=alone)).outcome == "found"


def test_a_producer_of_another_kafka_cluster_has_a_second_store_of_offsets() -> None:
    """The workers' own topic in the same cluster is no second store (Worker.offsetStoreForExactlyOnceSourceTask)."""
    same = inspection(**{"offsets.storage.topic": "connect-offsets"})
    assert answer("EOS089", but(inspection=same)).outcome == "fine"
    away = inspection(**{"offsets.storage.topic": "own", "producer.override.bootstrap.servers": "o:1"})
    assert "its offsets are in own at o:1" in answer("EOS089", but(inspection=away)).findings[0].message


def test_an_acl_binding_reads_as_the_command_that_removes_it() -> None:
    prefixed = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "g-", PatternType.PREFIXED)
    [found] = answer("EOS144", but(acl_in_force=other_writer("User:eve", "cfg", prefixed))).findings
    assert "--operation Write --resource-pattern-type prefixed --transactional-id g-`" in found.cure
    assert str(AclBinding("User:eve", Operation.WRITE, prefixed)) in found.message


def test_every_setting_that_a_rule_judges_is_kept_when_a_workers_file_is_read() -> None:
    judged = {
        **dict.fromkeys(LISTS, "a,"),
        **dict.fromkeys(DEFAULTS_MS, "1"),
        STANDALONE_OFFSETS: "f",
        SOURCE_SUPPORT: "x",
    }
    judged |= {SIGNATURE: "HmacSHA1", VERIFICATION: "HmacSHA1", POLICY: "None", f"{POLICY_PREFIX}allowlist": "acks"}
    text = "".join(f"{key}={value}\n" for key, value in judged.items())
    assert decode_worker_properties(text, "worker.properties") == judged
