"""Findings about stored offsets and their stores."""

import base64
import json

import pytest
from msgspec.structs import replace

from eosctl.analysis.catalogue.internal_topics import SHADOWED_OFFSET
from eosctl.analysis.offsets_report import (
    Connectors,
    as_what_if,
    places_to_read,
    producer_servers,
    report_offsets,
)
from eosctl.analysis.source_stores import connector_offsets_topic, deciding_settings, stores_of, uses_worker_store
from eosctl.model.client_roles import ConnectorConfig, WorkerConfig, as_properties, server_set
from eosctl.model.offsets import OffsetsTopic, OffsetStore, OffsetStores, StorePlace, WorkerSettings
from eosctl.model.records import IsolationLevel, RecordState
from eosctl.model.report import Finding, Severity, exit_code
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import KnownPhase
from eosctl.render.answers.offsets import view_offsets
from tests.analysis.offset_records import AS_OF, READING, SERVERS, record, report, topic, worker

KEY = '["c",{"f":1}]'
OWN = {"c": {"offsets.storage.topic": "own"}}


def found(*topics: OffsetsTopic, **more: object) -> dict[str, Finding]:
    return {each.name: each for each in report(*topics, **more).findings}  # type: ignore[arg-type]


def test_a_healthy_topic_gives_no_finding() -> None:
    assert found(topic("global", [record(0, KEY, '{"p":1}')]), configs={"c": {}}) == {}


def test_a_shadowed_offset_is_an_error_of_its_connector() -> None:
    finding = found(topic("global", [record(0, KEY, '{"p":1}')]), topic("own"), configs=OWN)["shadowed-offset"]
    assert (finding.severity, finding.subject) == (Severity.ERROR, "c")
    assert finding.evidence == {"offsets": 1, "keys_base64": [base64.b64encode(KEY.encode()).decode()]}


def test_a_shadowed_offset_beside_others_of_its_connector_is_a_warning_and_the_setting_stays() -> None:
    """A dropped table is in the workers' topic for ever. Where it is still read, the own topic gets its offset."""
    other = record(1, KEY.replace("f", "g"), '{"p":5}')
    finding = found(topic("global", [record(0, KEY, '{"p":1}')]), topic("own", [other]), configs=OWN)["shadowed-offset"]
    assert finding.severity is Severity.WARNING
    assert "has 1 of its other offsets" in finding.message
    assert "--to-topic own --offsets-topic global --merge keep-target --stop --set-config --resume" in finding.cure
    assert "take offsets.storage.topic out" not in finding.cure


def test_no_fix_stops_a_connector_of_workers_that_cannot() -> None:
    old, new = record(0, KEY, '{"p":1}'), record(0, KEY, '{"p":2}', timestamp=AS_OF + 1)
    cases = {
        "shadowed-offset": (topic("global", [old]), topic("own")),
        "stores-disagree": (topic("global", [new]), topic("own", [old])),
        "malformed-offset": (topic("global", [record(0, KEY, "[1]")]), topic("own", [old])),
    }
    for name, topics in cases.items():
        before = found(*topics, configs=OWN, settings=worker(version=KafkaVersion(3, 4, 1)))[name].cure
        assert ("/stop" in before, "--stop" in before) == (False, False), name
        assert "delete the connector (DELETE /connectors/c; its offsets stay)" in before, name
        assert "--stop" in found(*topics, configs=OWN)[name].cure, name


def test_stores_that_disagree_matter_where_the_worker_s_is_newer() -> None:
    old, new = record(0, KEY, '{"p":1}'), record(0, KEY, '{"p":2}', timestamp=AS_OF + 1)
    behind = found(topic("global", [old]), topic("own", [new]), configs=OWN)
    assert behind["stores-disagree"].severity is Severity.INFO
    stale = found(topic("global", [new]), topic("own", [old]), configs=OWN)
    assert stale["stores-disagree"].severity is Severity.WARNING


def test_a_key_in_two_partitions_is_an_error_where_values_differ() -> None:
    differing = topic("global", [record(0, KEY, '{"p":1}')], [record(4, KEY, '{"p":2}')])
    finding = found(differing, configs={"c": {}})["key-in-two-partitions"]
    assert (finding.severity, finding.evidence["keys"]) == (Severity.ERROR, 1)
    assert "in 0 (offset 0) and 1 (offset 4)" in finding.message
    assert " of connector c" in finding.message
    foreign = [record(offset, "hello", value) for offset, value in ((0, "x"), (4, "y"))]
    ours = record(1, KEY, '{"p":1}')
    finding = found(topic("global", [foreign[0], ours], [foreign[1]]), configs={"c": {}})["key-in-two-partitions"]
    assert "of connector" not in finding.message
    keyless = [each._replace(key=None) for each in foreign]
    shown = found(topic("global", [keyless[0], ours], [keyless[1]]), configs={"c": {}})
    assert "key-in-two-partitions" not in shown
    same = topic("global", [record(0, KEY, '{"p":1}')], [record(4, KEY, '{"p":1}')])
    assert found(same, configs={"c": {}})["key-in-two-partitions"].severity is Severity.WARNING
    gone = topic("global", [record(0, KEY, None)], [record(4, KEY, None)])
    assert found(gone, configs={"c": {}}) == {}


def test_the_same_json_in_other_bytes_is_a_logical_duplicate() -> None:
    other = '["c", {"f":1}]'
    log = topic("global", [record(0, KEY, '{"p":1}'), record(1, other, '{"p":2}')])
    finding = found(log, configs={"c": {}})["logical-duplicates"]
    keys = [base64.b64encode(each.encode()).decode() for each in (KEY, other)]
    assert finding.evidence == {"keys": 1, "examples": [keys]}
    deleted = topic("global", [record(0, KEY, '{"p":1}'), record(1, other, None)])
    assert found(deleted, configs={"c": {}}) == {}
    long_and_double = topic("global", [record(0, KEY, '{"p":1}'), record(1, '["c",{"f":1.0}]', '{"p":2}')])
    assert found(long_and_double, configs={"c": {}}) == {}


def test_a_foreign_key_is_a_finding_and_worse_for_some_versions() -> None:
    log = topic("global", [record(2, KEY, None), record(3, "hello", "x"), record(4, "hello", "y")])
    finding = found(log, configs={})["malformed-offsets-key"]
    assert (finding.severity, finding.evidence["records"]) == (Severity.WARNING, 2)
    assert "partition 0 offset 4, the key is not JSON" in finding.message
    old = found(log, configs={}, settings=worker(version=KafkaVersion(3, 6, 0)))["malformed-offsets-key"]
    assert old.severity is Severity.ERROR
    assert "KAFKA-15800" in old.message
    fixed = found(log, configs={}, settings=worker(version=KafkaVersion(3, 6, 1)))["malformed-offsets-key"]
    assert fixed.severity is Severity.WARNING


def test_a_topic_without_a_single_key_of_an_offsets_topic_is_that_finding_alone() -> None:
    """Neither cleanup.policy=compact nor tombstones are advised for a topic that holds data."""
    data = topic("global", [record(3, "customer-7", "x", RecordState.OPEN)], policy="delete", held_back=1)
    shown = report(data, configs={"c": {}})
    assert [(each.id, each.severity) for each in shown.findings] == [("EOS093", Severity.ERROR)]
    assert "tombstone" not in shown.findings[0].cure
    assert "cleanup.policy" not in shown.findings[0].cure
    assert exit_code(shown) == 2


def test_a_connector_s_own_topic_that_is_no_offsets_topic_gets_no_advice_to_move_offsets_there() -> None:
    general, data = topic("global", [record(0, KEY, '{"p":1}')]), topic("own", [record(3, "customer-7", "x")])
    shown = report(general, data, configs=OWN)
    assert [(each.id, each.subject) for each in shown.findings] == [("EOS093", "own")]
    supposed = as_what_if(shown, "own")
    assert supposed.findings == shown.findings
    assert str(supposed.failure) == "topic own is not an offsets topic of Kafka Connect"
    assert exit_code(supposed) == 2
    assert exit_code(report(topic("global", [], policy="compact"), configs={})) == 0


def test_an_open_transaction_is_worth_a_warning_once_it_is_old() -> None:
    young = record(0, KEY, '{"p":1}', RecordState.OPEN, AS_OF - 1000)
    old = record(0, KEY, '{"p":1}', RecordState.OPEN, AS_OF - 61_000)
    assert found(topic("global", [young], held_back=1), configs={"c": {}})["open-transaction"].severity is Severity.INFO
    finding = found(topic("global", [old], held_back=1), configs={"c": {}})["open-transaction"]
    assert finding.severity is Severity.WARNING
    assert finding.evidence["producers"] == ["7/0"]
    assert "open for 61 s (producer 7/0) hides 1 offset " in finding.message


OPEN_FOR_LONG = topic("global", [record(0, KEY, '{"p":1}', RecordState.OPEN, AS_OF - 61_000)], held_back=1)


@pytest.mark.parametrize("support", [KnownPhase.DISABLED, KnownPhase.PREPARING])
def test_an_open_transaction_in_the_worker_global_topic_blocks_no_worker_while_none_is_enabled(support) -> None:
    finding = found(OPEN_FOR_LONG, configs={"c": {}}, settings=worker(support))["open-transaction"]
    assert (finding.severity, "no worker and no task waits for it" in finding.message) == (Severity.INFO, True)


@pytest.mark.parametrize(
    ("support", "configs"),
    [
        (KnownPhase.DISABLED, {"c": {"offsets.storage.topic": "global"}}),
        (KnownPhase.DISABLED, Skipped("not read")),
        (Skipped("not asked"), {"c": {}}),
    ],
)
def test_it_is_a_warning_where_a_task_reads_the_topic_committed_or_may(support, configs) -> None:
    finding = found(OPEN_FOR_LONG, configs=configs, settings=worker(support))["open-transaction"]
    assert finding.severity is Severity.WARNING


def test_a_topic_that_is_not_compacted_is_an_error() -> None:
    finding = found(topic("global", policy="compact,delete"), configs={})["wrong-cleanup-policy"]
    assert (finding.severity, finding.evidence) == (Severity.ERROR, {"cleanup_policy": "compact,delete"})


def test_an_offset_that_cannot_be_used_is_an_error() -> None:
    finding = found(topic("global", [record(0, KEY, "{")]), configs={"c": {}})["malformed-offset"]
    assert (finding.severity, finding.subject) == (Severity.ERROR, "c")


def test_offsets_written_to_a_topic_that_no_worker_reads_are_an_error() -> None:
    configs = {"c": {"offsets.storage.topic": "own", "producer.override.bootstrap.servers": "z:1"}}
    finding = found(topic("global"), topic("own"), configs=configs)["offsets-written-elsewhere"]
    assert finding.evidence == {"written_to": "own on z:1", "read_from": "own"}


def test_offsets_of_a_connector_that_is_gone_are_worth_knowing() -> None:
    finding = found(topic("global", [record(0, KEY, '{"p":1}')]), configs={})["orphan-offsets"]
    assert (finding.severity, finding.subject, finding.counts) == (Severity.INFO, "c", False)


def test_a_what_if_answer_is_marked_and_rolls_back_only_done_steps() -> None:
    now = report(topic("global", [record(0, KEY, '{"p":1}')]), configs={"c": {}})
    shadow = SHADOWED_OFFSET.finding(
        "c", "1 source partition has an offset in the worker-global offsets topic and none here"
    )
    shown = as_what_if(replace(now, findings=(shadow,)), "moved")
    [finding] = shown.findings
    assert finding.message == f"if moved were its offsets topic: {shadow.message}"
    assert "offsets.storage.topic out of" not in finding.cure
    assert "`eosctl migrate-offsets --connector c --to-topic moved --stop --set-config --resume`" in finding.cure
    assert view_offsets(shown).prose[0] == "If moved were its offsets topic:"
    assert len(view_offsets(now).prose) == 1


DISABLED, PREPARING, ENABLED = KnownPhase.DISABLED, KnownPhase.PREPARING, KnownPhase.ENABLED
COMMITTED, UNCOMMITTED = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED
ALL_CLIENTS = ("producer", "consumer", "admin")


def elsewhere(servers: str = "c:9092") -> dict[str, object]:
    return {f"{client}.override.bootstrap.servers": servers for client in ALL_CLIENTS}


def only(settings: WorkerSettings, config: dict[str, object]) -> OffsetStores:
    stores = stores_of(settings, config)
    assert not isinstance(stores, Skipped)
    [found] = stores
    return found


GLOBAL, OWN_STORE = StorePlace("global"), StorePlace("own")
THERE = frozenset({"c:9092"})


@pytest.mark.parametrize(
    ("mode", "config", "general", "specific"),
    [
        (DISABLED, {}, OffsetStore(GLOBAL, UNCOMMITTED), None),
        (PREPARING, {}, OffsetStore(GLOBAL, UNCOMMITTED), None),
        (DISABLED, elsewhere(), OffsetStore(GLOBAL, UNCOMMITTED), None),
        (DISABLED, {"offsets.storage.topic": "global"}, None, OffsetStore(GLOBAL, COMMITTED)),
        (
            DISABLED,
            {"offsets.storage.topic": "own"},
            OffsetStore(GLOBAL, UNCOMMITTED),
            OffsetStore(OWN_STORE, COMMITTED),
        ),
        (
            DISABLED,
            {"offsets.storage.topic": "own", "consumer.override.isolation.level": "READ_UNCOMMITTED"},
            OffsetStore(GLOBAL, UNCOMMITTED),
            OffsetStore(OWN_STORE, UNCOMMITTED),
        ),
        (ENABLED, {}, None, OffsetStore(GLOBAL, COMMITTED)),
        (ENABLED, {"offsets.storage.topic": "global"}, None, OffsetStore(GLOBAL, COMMITTED)),
        (ENABLED, {"offsets.storage.topic": "own"}, OffsetStore(GLOBAL, COMMITTED), OffsetStore(OWN_STORE, COMMITTED)),
        (
            ENABLED,
            {"offsets.storage.topic": "own", "consumer.override.isolation.level": "read_uncommitted"},
            OffsetStore(GLOBAL, COMMITTED),
            OffsetStore(OWN_STORE, COMMITTED),
        ),
        (ENABLED, elsewhere(" b:9092 , a:9092"), None, OffsetStore(GLOBAL, COMMITTED)),
        (
            ENABLED,
            elsewhere(),
            OffsetStore(GLOBAL, COMMITTED),
            OffsetStore(StorePlace("global", THERE), COMMITTED),
        ),
        (
            ENABLED,
            {**elsewhere(), "offsets.storage.topic": "own"},
            OffsetStore(GLOBAL, COMMITTED),
            OffsetStore(StorePlace("own", THERE), COMMITTED),
        ),
    ],
)
def test_each_row_has_its_stores(
    mode: KnownPhase, config: dict[str, object], general: OffsetStore | None, specific: OffsetStore | None
) -> None:
    stores = only(worker(mode), config)
    assert (stores.worker_global, stores.connector_specific) == (general, specific)


@pytest.mark.parametrize(
    ("mode", "level", "read"),
    [
        (DISABLED, "read_committed", COMMITTED),
        (PREPARING, "read_committed", COMMITTED),
        (DISABLED, "read_uncommitted", UNCOMMITTED),
        (ENABLED, "read_uncommitted", COMMITTED),
    ],
)
def test_a_worker_reads_its_own_topic_with_its_isolation_level_unless_it_is_enabled(
    mode: KnownPhase, level: str, read: IsolationLevel
) -> None:
    settings = worker(mode, clients={"isolation.level": level})
    assert only(settings, {"offsets.storage.topic": "own"}).worker_global == OffsetStore(GLOBAL, read)
    if mode is not ENABLED:
        assert only(settings, {}).worker_global == OffsetStore(GLOBAL, read)


@pytest.mark.parametrize(
    ("mode", "config"),
    [
        (ENABLED, {"offsets.storage.topic": 5}),
        (ENABLED, {"offsets.storage.topic": ""}),
        (ENABLED, {"offsets.storage.topic": "a b"}),
        (DISABLED, {"offsets.storage.topic": "own", "consumer.override.isolation.level": "${file:x:y}"}),
        (Skipped("gone"), {"offsets.storage.topic": "own", "consumer.override.isolation.level": "${file:x:y}"}),
        (Skipped("gone"), {"offsets.storage.topic": "own", "producer.override.bootstrap.servers": "${file:x:y}"}),
    ],
)
def test_stores_are_unknown_where_a_setting_that_decides_is(mode, config) -> None:
    assert isinstance(stores_of(worker(mode), config), Skipped)


def test_the_settings_that_decide_about_stores_are_the_topic_and_those_of_producer_and_consumer() -> None:
    decide = {
        "consumer.override.isolation.level": "read_committed",
        "offsets.storage.topic": "own",
        "producer.override.acks": "all",
    }
    others = {"topic": "t", "admin.override.client.id": "a", "offsets.storage.topic.2": "b"}
    assert list(deciding_settings({**others, **decide}).items()) == list(decide.items())


def test_a_store_is_written_by_the_producer_and_read_by_the_consumer() -> None:
    stores = only(worker(), {"offsets.storage.topic": "own", "producer.override.bootstrap.servers": "c:9092"})
    assert stores.written_to == StorePlace("own", THERE)
    assert stores.connector_specific == OffsetStore(OWN_STORE, COMMITTED)


def test_workers_before_3_3_know_the_worker_global_store_only() -> None:
    stores = only(worker(version=KafkaVersion(3, 2)), {"offsets.storage.topic": "own"})
    assert (stores.worker_global, stores.connector_specific) == (OffsetStore(GLOBAL, UNCOMMITTED), None)


def test_servers_that_the_worker_gives_to_its_clients_count_as_the_connector_s() -> None:
    settings = worker(clients={"producer.bootstrap.servers": "c:9092", "consumer.bootstrap.servers": "c:9092"})
    assert only(settings, {}).written_to == StorePlace("global", THERE)


def test_both_answers_are_given_where_exactly_once_is_unknown() -> None:
    answers = stores_of(worker(Skipped("not given")), {})
    assert not isinstance(answers, Skipped)
    assert [each.worker_global is None for each in answers] == [False, True]


@pytest.mark.parametrize(
    ("settings", "config", "reason"),
    [
        (worker(), {"offsets.storage.topic": "${file:/x:topic}"}, "offsets.storage.topic of the connector is"),
        (worker(), {"producer.override.bootstrap.servers": "[hidden]"}, "where it leads is not known"),
        (
            worker(bootstrap_servers=Skipped("give it")),
            {"producer.override.bootstrap.servers": "c:9092"},
            r"the worker's are not known \(give it\)",
        ),
    ],
)
def test_an_unknown_fact_is_named(settings: WorkerSettings, config: dict[str, object], reason: str) -> None:
    import re

    answer = stores_of(settings, config)
    assert isinstance(answer, Skipped)
    assert re.search(reason, answer.reason)


def test_the_worker_s_servers_need_not_be_known_where_nothing_overrides_them() -> None:
    assert only(worker(bootstrap_servers=Skipped("give it")), {}).connector_specific == OffsetStore(GLOBAL, COMMITTED)


def test_servers_are_a_set_of_strings() -> None:
    assert server_set(" a:1,b:2 ,a:1,") == {"a:1", "b:2"}
    assert server_set("b:9092,a:9092") == SERVERS


@pytest.mark.parametrize(("value", "is_named"), [('{"migrated": true}', True), ('{"migrated": false}', False)])
def test_the_sentinel_of_the_draft_is_called_by_its_name(value: str, is_named: bool) -> None:
    records = [record(0, KEY, '{"p":1}'), record(1, '["reddit-source"]', value)]
    draft = found(topic("global", records))["malformed-offsets-key"]
    assert ('1 of them has {"migrated":true}, the sentinel of KIP-618\'s draft' in draft.message) is is_named


ELSEWHERE = {"producer.override.bootstrap.servers": "c:9092", "consumer.override.bootstrap.servers": "c:9092"}
AT_C = frozenset({"c:9092"})
UNKNOWN = Skipped("the config topic was not read")


@pytest.mark.parametrize(
    ("configs", "more", "selected", "places"),
    [
        ({"c": {}}, {}, (), [GLOBAL]),
        (OWN, {}, (), [GLOBAL, StorePlace("own")]),
        ({**OWN, "d": {"offsets.storage.topic": "other"}}, {}, ("c",), [GLOBAL, StorePlace("own")]),
        ({"c": ELSEWHERE}, {}, (), [GLOBAL, StorePlace("global", AT_C)]),
        ({}, {"former": OWN}, (), [GLOBAL, StorePlace("own")]),
        ({}, {"former": OWN}, ("d",), [GLOBAL]),
        ({}, {"unconfigured": OWN["c"]}, (), [GLOBAL, StorePlace("own")]),
        (UNKNOWN, {"unconfigured": OWN["c"]}, ("d",), [GLOBAL, StorePlace("own")]),
        (UNKNOWN, {"unconfigured": UNKNOWN}, (), [GLOBAL]),
        ({}, {"unconfigured": {"offsets.storage.topic": "no topic"}}, (), [GLOBAL]),
        ({"c": {"offsets.storage.topic": "no topic"}}, {}, (), [GLOBAL]),
    ],
)
def test_offsets_are_read_in_the_workers_topic_and_wherever_a_connector_that_is_selected_keeps_its_own(
    configs, more, selected, places
) -> None:
    connectors = Connectors(configs, **{"unconfigured": {}, **more})
    assert list(places_to_read(worker(), connectors, selected)) == places


@pytest.mark.parametrize(
    ("configs", "selected", "servers"),
    [
        ({"c": {}}, (), []),
        ({"c": ELSEWHERE, "d": ELSEWHERE, "e": {}}, (), [AT_C]),
        ({"c": ELSEWHERE, "d": {}}, ("d",), []),
        ({"c": ELSEWHERE, "d": {}}, ("c",), [AT_C]),
        ({"c": {"producer.override.bootstrap.servers": "${file:x:y}"}}, (), []),
        (UNKNOWN, (), []),
    ],
)
def test_clusters_that_producers_write_to_are_those_that_connectors_override(configs, selected, servers) -> None:
    assert list(producer_servers(worker(), Connectors(configs, {}), selected)) == servers


@pytest.mark.parametrize(
    ("config", "exactly_once", "topic", "shared"),
    [
        ({}, False, None, True),
        ({}, True, "global", False),
        ({"offsets.storage.topic": "global"}, False, "global", False),
        ({"offsets.storage.topic": "own"}, False, "own", True),
        ({"offsets.storage.topic": "own"}, True, "own", True),
        ({"producer.override.bootstrap.servers": "${file:x:y}"}, True, "global", True),
    ],
)
def test_workers_copy_offsets_where_a_connector_keeps_them_elsewhere_or_this_is_unknown(
    config, exactly_once, topic, shared
) -> None:
    workers = WorkerConfig(as_properties({"offset.storage.topic": "global", "bootstrap.servers": "a:9092"}))
    connector = ConnectorConfig("c", as_properties(config))
    assert connector_offsets_topic(workers, connector, exactly_once=exactly_once) == topic
    assert uses_worker_store(workers, connector, exactly_once=exactly_once) == shared


# Each finding at its limits


ROW = '{"p":1}'


@pytest.mark.parametrize(
    ("age_ms", "severity"), [(59_999, Severity.INFO), (60_000, Severity.WARNING), (-5, Severity.INFO)]
)
def test_an_open_transaction_is_young_for_a_minute(age_ms, severity) -> None:
    opened = record(0, KEY, ROW, RecordState.OPEN, AS_OF - age_ms)
    finding = found(topic("global", [opened], held_back=1), configs={"c": {}})["open-transaction"]
    assert (finding.severity, finding.evidence["age_ms"]) == (severity, max(0, age_ms))


def test_an_open_transaction_without_a_record_of_offsets_is_of_an_unknown_producer_and_a_warning() -> None:
    finding = found(topic("global", [record(0, KEY, ROW)], held_back=1), configs={"c": {}})["open-transaction"]
    assert (finding.severity, finding.evidence["age_ms"], finding.evidence["producers"]) == (Severity.WARNING, None, [])
    assert "offset 0 (producer unknown) hides 1 offset " in finding.message


def test_a_partition_that_hides_nothing_has_no_open_transaction() -> None:
    named = found(topic("global", [record(0, KEY, ROW, RecordState.OPEN)]), configs={"c": {}})
    assert "open-transaction" not in named


@pytest.mark.parametrize(
    ("general", "own", "severity"),
    [
        ((ROW, AS_OF), (ROW, AS_OF - 1), None),
        (('{"p":2}', AS_OF), (ROW, AS_OF - 1), Severity.WARNING),
        (('{"p":2}', AS_OF), (ROW, AS_OF), Severity.INFO),
        (('{"p":2}', AS_OF), (None, AS_OF), None),
        (("{", AS_OF), (ROW, AS_OF), None),
    ],
)
def test_stores_disagree_by_usable_values_that_differ_and_the_newer_one_decides(general, own, severity) -> None:
    topics = (topic(name, [record(0, KEY, value, timestamp=at)]) for name, (value, at) in
              (("global", general), ("own", own)))  # fmt: skip
    finding = found(*topics, configs=OWN).get("stores-disagree")
    assert (finding and finding.severity) == severity


NULL = '["c",null]'


@pytest.mark.parametrize(
    ("version", "value", "is_lost"), [((4, 2), ROW, True), ((4, 1), ROW, False), ((4, 2), None, False)]
)
def test_the_offset_of_a_null_partition_is_lost_from_4_2_on(version, value, is_lost) -> None:
    named = found(
        topic("global", [record(0, NULL, value)]), configs={"c": {}}, settings=worker(version=KafkaVersion(*version))
    )
    assert ("null-partition-lost" in named or any("null" in each for each in named)) is is_lost


@pytest.mark.parametrize(("value", "is_orphan"), [(ROW, True), (None, False)])
def test_a_deleted_offset_is_no_orphan(value, is_orphan) -> None:
    named = found(topic("global", [record(0, KEY, value), record(1, KEY.replace("f", "g"), None)]), configs={})
    assert ("orphan-offsets" in named) is is_orphan
    if is_orphan:
        assert named["orphan-offsets"].evidence["offsets"] == 1


@pytest.mark.parametrize(
    ("version", "loses"),
    [
        ((3, 4, 1), False),
        ((3, 5, 0), True),
        ((3, 5, 1), True),
        ((3, 5, 2), False),
        ((3, 6, 0), True),
        ((3, 6, 1), False),
    ],
)
def test_a_key_that_is_not_json_costs_other_offsets_on_three_releases(version, loses) -> None:
    log = topic("global", [record(0, KEY, None), record(1, "hello", "x")])
    finding = found(log, configs={}, settings=worker(version=KafkaVersion(*version)))["malformed-offsets-key"]
    assert ("KAFKA-15800" in finding.message) is loses


@pytest.mark.parametrize(
    ("values", "severity"),
    [
        ((ROW,), None),
        ((ROW, ROW), Severity.WARNING),
        ((ROW, None), Severity.ERROR),
        ((None, None), None),
    ],
)
def test_a_key_in_two_partitions_matters_by_its_last_values(values, severity) -> None:
    log = topic("global", *([record(number, KEY, value)] for number, value in enumerate(values)))
    finding = found(log, configs={"c": {}}).get("key-in-two-partitions")
    assert (finding and finding.severity) == severity


@pytest.mark.parametrize(
    ("other", "value", "alike"),
    [
        ('["c", {"f":1}]', ROW, True),
        ('["c", {"f":1}]', None, False),
        ('["c",{"f":true}]', ROW, False),
        ('["c",{"f":2}]', ROW, False),
        ('["d",{"f":1}]', ROW, False),
        ('["c", {"g":[1]}]', ROW, False),
    ],
)
def test_two_keys_are_one_source_partition_where_their_json_is_the_same(other, value, alike) -> None:
    log = topic("global", [record(0, KEY, ROW), record(1, other, value)])
    assert ("logical-duplicates" in found(log, configs={"c": {}, "d": {}})) is alike


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ('{"a":1,"b":2}', '{"b":2,"a":1}', True),
        ('{"a":1,"b":2}', '{"b":1,"a":2}', False),
        ('{"a":1,"b":2}', '{"a":1}', False),
        ('{"a":{"b":1,"c":2}}', '{"a":{"c":2,"b":1}}', True),
        ('{"a":[1,2]}', '{"a":[2,1]}', False),
        ('{"a":"{","b":2}', '{"b":2,"a":"{"}', True),
        ('{"a":1}', '{"a":2,"a":1}', True),
        ('{"a":0}', '{"a":-0}', True),
        ('{"a":1.0}', '{"a":1.00}', True),
        ('{"a":"\u00e9"}', r'{"a":"\u00e9"}', True),
        (r'{"a":"\ud800"}', r'{"a":"\uD800"}', True),
        (r'{"a":"\n"}', '{"a":"n"}', False),
        ("{}", "null", False),
    ],
)
def test_two_keys_are_the_same_json_however_they_are_written(one, other, alike) -> None:
    log = topic("global", [record(at, f'["c",{each}]', ROW) for at, each in enumerate((one, other))])
    assert ("logical-duplicates" in found(log, configs={"c": {}})) is alike


def test_two_spellings_of_the_null_partition_are_the_same_and_not_the_empty_one() -> None:
    spellings = [record(0, NULL, ROW), record(1, '["c", null]', ROW), record(2, '["c",{}]', ROW)]
    finding = found(topic("global", spellings), configs={"c": {}})["logical-duplicates"]
    assert finding.evidence["examples"] == [[base64.b64encode(each.key or b"").decode() for each in spellings[:2]]]


ABORTED = record(1, KEY, '{"p":9}', RecordState.ABORTED)
LATER = record(2, KEY, '{"p":10}')


@pytest.mark.parametrize(
    ("records", "support", "severity"),
    [
        ([record(0, KEY, ROW), ABORTED], KnownPhase.ENABLED, Severity.INFO),
        ([record(0, KEY, ROW), ABORTED], KnownPhase.DISABLED, Severity.ERROR),
        ([record(0, KEY, ROW), ABORTED], Skipped("not given"), Severity.WARNING),
        ([record(0, KEY, ROW), ABORTED, LATER], KnownPhase.DISABLED, None),
        ([record(0, KEY, ROW), LATER], KnownPhase.DISABLED, None),
        ([ABORTED], KnownPhase.ENABLED, Severity.INFO),
        ([record(0, KEY, '{"p":9}'), ABORTED], KnownPhase.DISABLED, None),
    ],
)
def test_an_uncommitted_offset_matters_by_the_phase_where_it_is_the_last_and_differs(
    records, support, severity
) -> None:
    named = found(topic("global", records), configs={"c": {}}, settings=worker(support))
    assert (named["uncommitted-offset"].severity if "uncommitted-offset" in named else None) == severity
    if records == [ABORTED]:
        assert "(global-0@1) instead of nothing" in named["uncommitted-offset"].message


def test_an_uncommitted_offset_of_a_connector_that_is_gone_is_a_warning_at_most() -> None:
    log = topic("global", [record(0, KEY, ROW), ABORTED])
    levels = {
        support: found(log, configs={}, settings=worker(support))["uncommitted-offset"].severity
        for support in (KnownPhase.ENABLED, KnownPhase.DISABLED)
    }
    assert levels == {KnownPhase.ENABLED: Severity.INFO, KnownPhase.DISABLED: Severity.WARNING}
    assert "a new connector of this name would begin there" in found(log, configs={})["uncommitted-offset"].message


def test_the_evidence_of_an_uncommitted_offset_can_be_written_as_json() -> None:
    """1e400 reads as infinite, which JSON does not have."""
    log = topic(
        "global",
        [record(0, '["c",{"f":1e400}]', '{"p":1e400}'), record(1, '["c",{"f":1e400}]', ROW, RecordState.ABORTED)],
    )
    evidence = found(log, configs={"c": {}})["uncommitted-offset"].evidence
    assert json.loads(json.dumps(evidence, allow_nan=False))["examples"] == [
        {"partition": {"f": "inf"}, "enabled": {"p": "inf"}, "not_enabled": json.loads(ROW)}
    ]


@pytest.mark.parametrize(("version", "is_told"), [((3, 3), True), ((3, 2), False)])
def test_starting_points_by_phase_are_those_of_workers_that_know_exactly_once(version, is_told) -> None:
    shown = report(
        topic("global", [record(0, KEY, ROW), ABORTED]),
        configs={"c": {}},
        settings=worker(version=KafkaVersion(*version)),
    )
    assert [each.by_phase is not None for each in shown.connectors[0].offsets] == [is_told]


def test_only_the_offsets_that_differ_by_phase_are_said_to() -> None:
    other = record(5, KEY.replace("f", "g"), ROW)
    shown = report(topic("global", [record(0, KEY, ROW), ABORTED, other]), configs={"c": {}})
    differing = {each.key.raw: each.by_phase is not None for each in shown.connectors[0].offsets}
    assert differing == {KEY.encode(): True, other.key: False}


IMPOSSIBLE = {"tasks.max": "0"}


@pytest.mark.parametrize(("selected", "subjects"), [((), ["c", "d"]), (("d",), ["d"]), (("other",), [])])
def test_an_impossible_connector_is_named_where_it_is_selected_or_all_are(selected, subjects) -> None:
    shown = report(topic("global"), configs={"c": IMPOSSIBLE, "d": IMPOSSIBLE}, selected=selected)
    assert sorted(each.subject for each in shown.findings if each.name == "impossible-connector") == subjects


@pytest.mark.parametrize(
    ("selected", "names", "absent"),
    [((), ["c", "d", "e"], ()), (("d",), ["d"], ()), (("f",), [], ("f",)), (("c", "f"), ["c"], ("f",))],
)
def test_a_connector_is_reported_that_exists_or_has_left_offsets(selected, names, absent) -> None:
    log = topic("global", [record(0, KEY, ROW), record(1, '["e",{}]', None)])
    shown = report(log, configs={"c": {}, "d": {}}, selected=selected)
    assert [each.name for each in shown.connectors] == names
    assert shown.absent == absent


def test_a_what_if_answer_is_about_the_topic_that_is_supposed() -> None:
    data = topic("own", [record(3, "customer-7", "x")])
    shown = report(topic("global", [record(0, KEY, ROW)], policy="delete"), data, configs=OWN)
    assert {each.subject for each in shown.findings} == {"own", "global"}
    assert [each.subject for each in as_what_if(shown, "own").findings] == ["own"]
    assert not as_what_if(shown, "own").is_offsets_topic
    supposed = as_what_if(shown, "global")
    assert [each.message.startswith("if global were") for each in supposed.findings] == [True] * 2


@pytest.mark.parametrize(
    ("config", "severity"),
    [
        ({}, Severity.INFO),
        ({"offsets.storage.topic": "own"}, Severity.INFO),
        ({"offsets.storage.topic": "global"}, Severity.WARNING),
        ({"offsets.storage.topic": "${file:x:y}"}, Severity.WARNING),
    ],
)
def test_while_no_worker_is_enabled_a_transaction_blocks_tasks_that_name_the_topic_or_may(config, severity) -> None:
    finding = found(OPEN_FOR_LONG, topic("own"), configs={"c": config}, settings=worker(KnownPhase.DISABLED))
    assert finding["open-transaction"].severity is severity


@pytest.mark.parametrize(("version", "stops"), [((3, 5), True), ((3, 4, 1), False)])
def test_offsets_that_a_connector_looks_for_in_another_cluster_are_copied_there(version, stops) -> None:
    there = {**ELSEWHERE, "offsets.storage.topic": "own"}
    settings = worker(version=KafkaVersion(*version))
    place = StorePlace("own", AT_C)
    shown = report_offsets(
        {StorePlace("global"): topic("global", [record(0, KEY, ROW)]), place: topic("own")},
        settings, Connectors({"c": there}, {}), READING, as_of=AS_OF,
    )  # fmt: skip
    cure = next(each.cure for each in shown.findings if each.name == "shadowed-offset")
    assert "--to-bootstrap-server c:9092 --to-topic own" in cure
    assert ("PUT /connectors/c/stop" in cure) is stops
    assert ("resume it" in cure) is stops


def test_a_position_is_explained_for_an_offset_that_a_task_starts_from() -> None:
    file = '["c",{"filename":"/x"}]'
    values = ('{"position":5}', "{", None)
    shown = [report(topic("global", [record(0, file, each)]), configs={"c": {}}) for each in values]
    assert [bool(each.connectors[0].offsets[0].position) for each in shown] == [True, False, False]
