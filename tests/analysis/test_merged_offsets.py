"""The merged view: what Kafka uses, what KIP-618 promises, and why."""

import pytest

from eosctl.model.offsets import MergedOffset, SourceSupport, StoredOffset
from eosctl.model.records import RecordState
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from tests.analysis.offset_records import AS_OF, record, report, topic, worker

KEY = '["c",{"f":1}]'
OWN = {"c": {"offsets.storage.topic": "own"}}
OPEN, ABORTED = RecordState.OPEN, RecordState.ABORTED


def merged(*topics: object, **more: object) -> MergedOffset:
    [connector] = report(*topics, **more).connectors  # type: ignore[arg-type]
    [row] = connector.offsets
    return row


def value(stored: StoredOffset | Skipped | None) -> object:
    return stored.value if isinstance(stored, StoredOffset) else stored


def test_with_one_store_kafka_and_kip_618_agree() -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}')]), configs={"c": {}})
    assert (value(row.kafka_effective), value(row.kip618_effective)) == ({"p": 1}, {"p": 1})
    assert row.connector_specific is None
    assert row.provenance == "connector-specific store, global-0@0"


def test_the_offset_that_a_task_starts_from_is_said_in_the_connector_s_own_terms() -> None:
    file = '["c",{"filename":"/a"}]'
    row = merged(
        topic("global", [record(0, file, '{"position":1}')]),
        topic("own", [record(5, file, '{"position":12}')]),
        configs=OWN,
    )
    assert row.position == "FileStreamSource: byte 12 of the file"
    assert merged(topic("global", [record(0, file, '{"position":1}')]), topic("own"), configs=OWN).position is None
    assert merged(topic("global", [record(0, KEY, '{"position":1}')]), configs={"c": {}}).position is None


@pytest.mark.parametrize("mode", list(SourceSupport))
def test_nothing_in_the_own_topic_hides_the_worker_s_offset(mode: SourceSupport) -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}')]), topic("own"), configs=OWN, settings=worker(mode))
    assert row.kafka_effective is None
    assert value(row.kip618_effective) == {"p": 1}
    assert row.shadowed
    assert row.provenance == "nothing in own hides the offset in global: it begins from nothing"


def test_the_own_topic_wins_where_both_have_an_offset() -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}')]), topic("own", [record(5, KEY, '{"p":2}')]), configs=OWN)
    assert (value(row.worker_global), value(row.connector_specific)) == ({"p": 1}, {"p": 2})
    assert (value(row.kafka_effective), value(row.kip618_effective)) == ({"p": 2}, {"p": 2})


def test_a_tombstone_in_the_own_topic_is_a_reset_and_no_shadow() -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}')]), topic("own", [record(5, KEY, None)]), configs=OWN)
    assert (row.kafka_effective, row.shadowed) == (None, False)
    assert value(row.kip618_effective) == {"p": 1}
    assert row.provenance == "a tombstone in own"


def test_a_worker_without_exactly_once_reads_what_was_aborted() -> None:
    log = topic("global", [record(0, KEY, '{"p":1}'), record(1, KEY, '{"p":2}', ABORTED)])
    plain = merged(log, configs={"c": {}}, settings=worker(SourceSupport.DISABLED))
    exactly = merged(log, configs={"c": {}}, settings=worker(SourceSupport.ENABLED))
    assert (value(plain.kafka_effective), value(exactly.kafka_effective)) == ({"p": 2}, {"p": 1})


def test_it_is_unknown_where_exactly_once_is_unknown_and_decides() -> None:
    unknown = worker(Skipped("not given"))
    aborted = topic("global", [record(0, KEY, '{"p":1}'), record(1, KEY, '{"p":2}', ABORTED)])
    assert isinstance(merged(aborted, configs={"c": {}}, settings=unknown).kafka_effective, Skipped)
    agreed = topic("global", [record(0, KEY, '{"p":1}')])
    assert value(merged(agreed, configs={"c": {}}, settings=unknown).kafka_effective) == {"p": 1}


def test_an_open_transaction_is_shown_and_not_used() -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}'), record(1, KEY, '{"p":2}', OPEN)]), configs={"c": {}})
    assert value(row.kafka_effective) == {"p": 1}
    assert row.provenance.endswith("; an open transaction may replace it (offset 1)")
    only_open = merged(topic("global", [record(0, KEY, '{"p":2}', OPEN)]), configs={"c": {}})
    assert (value(only_open.worker_global), only_open.kafka_effective) == ({"p": 2}, None)


def test_a_value_that_cannot_be_used_is_answered_as_none() -> None:
    row = merged(topic("global", [record(0, KEY, "[1]")]), configs={"c": {}})
    assert row.kafka_effective is None
    assert row.provenance == "the value in global cannot be used: the value is a list, not an object"


def test_a_key_in_two_partitions_with_two_values_is_unknown() -> None:
    row = merged(
        topic("global", [record(0, KEY, '{"p":1}')], [record(9, KEY, '{"p":2}', timestamp=AS_OF + 1)]),
        configs={"c": {}},
    )
    assert row.kafka_effective == Skipped("global has it in partitions 0, 1: the one that is read last wins")
    assert value(row.worker_global) == {"p": 2}, "the newest is shown"


def test_a_key_in_two_partitions_with_one_value_is_not() -> None:
    row = merged(topic("global", [record(0, KEY, '{"p":1}')], [record(9, KEY, '{"p":1}')]), configs={"c": {}})
    assert value(row.kafka_effective) == {"p": 1}


def test_connectors_that_are_gone_are_shown_as_if_one_of_that_name_began() -> None:
    [connector] = report(topic("global", [record(0, KEY, '{"p":1}')]), configs={}).connectors
    assert (connector.name, connector.known) == ("c", False)
    assert value(connector.offsets[0].kafka_effective) == {"p": 1}


def test_without_configs_nothing_is_guessed() -> None:
    unread = Skipped("no config topic")
    [connector] = report(topic("global", [record(0, KEY, '{"p":1}')]), configs=unread).connectors
    assert (connector.known, connector.stores) == (unread, unread)
    assert value(connector.offsets[0].worker_global) == {"p": 1}
    assert connector.offsets[0].kafka_effective == unread


def test_a_selected_connector_without_offsets_that_does_not_exist_is_absent() -> None:
    assert report(topic("global"), configs={"c": {}}, selected=("c", "d")).absent == ("d",)


@pytest.mark.parametrize(("version", "answer"), [("4.1.2", {"p": 1}), ("4.2.0", None), ("4.3.1", None)])
def test_a_null_source_partition_is_looked_up_in_vain_from_4_2_on(version: str, answer: object) -> None:
    log = topic("global", [record(0, '["c",null]', '{"p":1}')])
    found = report(log, configs={"c": {}}, settings=worker(version=KafkaVersion.parse(version)))
    [row] = found.connectors[0].offsets
    assert value(row.kafka_effective) == answer
    assert value(row.kip618_effective) == {"p": 1}
    assert [each.name for each in found.findings] == ([] if answer else ["null-partition-lost"])
