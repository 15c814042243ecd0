"""Our fold and Kafka's own KafkaConfigBackingStore read the same config topics and must agree in every field."""

import pytest
from config_logs import ODD_KEYS, ODD_TEXTS, logs
from config_topic_oracle import ConfigTopicOracle, in_order, reading, shown_to
from hypothesis import HealthCheck, given, settings

from eosctl.analysis.config_topic import ConfigTopicReplay, fold_config_topic
from eosctl.codecs.config_topic import decode_config_record, decode_config_records
from eosctl.codecs.secrets import keep_properties
from eosctl.model.connectors import Reader
from eosctl.model.records import IsolationLevel, Record
from eosctl.model.versions import KafkaVersion

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]


@pytest.fixture(scope="module")
def oracle(connect_version):
    with ConfigTopicOracle(connect_version) as running:
        yield running


def _reader(oracle, isolation_level=IsolationLevel.READ_COMMITTED):
    return Reader(KafkaVersion.parse(oracle.version), isolation_level)


def assert_agreement(oracle, records):
    for isolation_level in IsolationLevel:
        ours = fold_config_topic(decode_config_records(records, keep_properties), _reader(oracle, isolation_level))
        theirs = in_order(oracle.fold(shown_to(isolation_level, records)))
        del theirs["thrown"]
        assert reading(ours) == theirs


def _campaign(examples):
    return settings(
        max_examples=examples,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
    )


@_campaign(150)
@given(records=logs())
def test_every_field_agrees(oracle, records):
    assert_agreement(oracle, records)


@pytest.mark.long
@_campaign(10_000)
@given(records=logs(max_size=60))
def test_every_field_agrees_over_a_campaign(oracle, records):
    assert_agreement(oracle, records)


KEYS = (b"connector-x", b"commit-x", b"tasks-fencing-x", b"target-state-x", b"task-x-0", b"session-key", b"other", None)


@pytest.mark.parametrize("value", ODD_TEXTS)
def test_odd_bytes_are_read_as_kafka_reads_them(oracle, value):
    for key in KEYS:
        known = [Record(0, 0, b"connector-x", b'{"properties":{}}'), Record(1, 0, b"task-x-0", b'{"properties":{}}')]
        for before in ([], known):
            assert_agreement(oracle, [*before, Record(2, 0, key, value)])
            assert_what_is_thrown(oracle, [*before, Record(2, 0, key, value)])


def test_leading_zeros_are_read_as_by_workers_since_3_6(oracle):
    """KAFKA-15012. The one place where eosctl reads an old version's topic with newer eyes."""
    log = [Record(0, 0, b"connector-x", b'{"properties":{}}'), Record(1, 0, b"tasks-fencing-x", b'{"task-count":-007}')]
    ours = fold_config_topic(decode_config_records(log, keep_properties), _reader(oracle))
    assert reading(ours)["task_count_records"] == {"x": -7}
    theirs = oracle.fold(log)["task_count_records"]
    assert theirs == ({"x": -7} if _reader(oracle).version >= KafkaVersion(3, 6) else {})


@pytest.mark.parametrize("key", ODD_KEYS)
def test_odd_keys_are_read_as_kafka_reads_them(oracle, key):
    fits_all = b'{"properties":{"a":"b"},"tasks":1,"task-count":1,"key":"YQ==","algorithm":"x","creation-timestamp":1}'
    for value in (fits_all, None):
        assert_agreement(oracle, [Record(0, 0, key, value), Record(1, 0, b"connector-a", fits_all)])
        assert_what_is_thrown(oracle, [Record(0, 0, key, value)])


def assert_what_is_thrown(oracle, records):
    replay = ConfigTopicReplay(_reader(oracle))
    effects = [replay.apply(decode_config_record(record)).value for record in records]
    thrown = oracle.fold(records)["thrown"]
    assert [effect if effect in {"poison", "fatal"} else "" for effect in effects] == thrown
