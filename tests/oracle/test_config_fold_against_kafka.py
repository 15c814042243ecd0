"""The fold of config topics against Kafka's own."""

import pytest
from config_logs import ODD_KEYS, ODD_TEXTS, key_values, logs, names
from config_topic_oracle import ConfigTopicOracle, in_order, reading, shown_to
from config_topic_writer import ConfigTopicWriter, Segment, Writer, left_open
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eosctl.analysis.config_topic import ConfigTopicReplay, fold_config_topic, survey_config_topic
from eosctl.analysis.inspection import inspect
from eosctl.codecs.config_topic import decode_config_record, decode_config_records
from eosctl.codecs.secrets import keep_properties
from eosctl.model.config_topic import Disposition, MalformedRecord
from eosctl.model.connectors import Reader
from eosctl.model.records import IsolationLevel, Record, RecordState
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


SUPPORT = {IsolationLevel.READ_COMMITTED: "enabled", IsolationLevel.READ_UNCOMMITTED: "disabled"}


class Bench:
    """A writer and one oracle per isolation level, on one broker."""

    def __init__(self, sandbox, fresh_name):
        self.writer = ConfigTopicWriter(sandbox.bootstrap_servers)
        workers = sandbox.spec.workers_version
        self.version = KafkaVersion.parse(workers)
        self._fresh_name = fresh_name
        self.oracles = {
            level: ConfigTopicOracle(workers, "topic", sandbox.bootstrap_servers, support)
            for level, support in SUPPORT.items()
        }

    def new_topic(self, cleanup_policy="compact"):
        topic = self._fresh_name("connect-configs")
        self.writer.create_topic(topic, cleanup_policy)
        return topic

    def folded(self, records, level):
        return fold_config_topic(decode_config_records(records, keep_properties), Reader(self.version, level))

    def started(self, topic, level):
        return self.oracles[level].answer_to(f"{topic}\n".encode())


@pytest.fixture(scope="module")
def bench(broker, fresh_name):
    made = Bench(broker, fresh_name)
    yield made
    for oracle in made.oracles.values():
        oracle.stop()


def _state_of(answer):
    return in_order({name: value for name, value in answer.items() if name != "blocked"})


def _stops_the_rest_of_a_poll(pair):
    record = decode_config_record(Record(0, 0, *pair))
    return isinstance(record, MalformedRecord) and record.disposition in {Disposition.POISON, Disposition.FATAL}


@st.composite
def segments(draw):
    pool = draw(st.lists(names, min_size=1, max_size=2))
    pairs = st.lists(key_values(pool).filter(lambda pair: not _stops_the_rest_of_a_poll(pair)), min_size=1, max_size=6)
    ended = st.builds(
        Segment,
        st.sampled_from(Writer),
        st.sampled_from([RecordState.COMMITTED, RecordState.COMMITTED, RecordState.ABORTED]),
        pairs.map(tuple),
    )
    log = draw(st.lists(ended, min_size=1, max_size=6))
    if draw(st.booleans()):
        log.append(left_open(draw(ended)))
        log += [
            Segment(Writer.PLAIN, RecordState.COMMITTED, draw(pairs.map(tuple))) for _ in range(draw(st.integers(0, 2)))
        ]
    return log


def assert_broker_agrees(bench, log, outcome):
    topic = bench.new_topic()
    records = [record for segment in log for record in bench.writer.write(topic, segment)]
    uncommitted = bench.folded(records, IsolationLevel.READ_UNCOMMITTED)
    assert reading(uncommitted) == _state_of(bench.started(topic, IsolationLevel.READ_UNCOMMITTED))
    committed = bench.folded(records, IsolationLevel.READ_COMMITTED)
    still_open = [segment for segment in log if segment.state is RecordState.OPEN]
    if still_open:
        oracle = bench.oracles[IsolationLevel.READ_COMMITTED]
        blocked = oracle.answer_to(f"{topic} {committed.offset}\n".encode())
        records = bench.writer.end(still_open[0], records, outcome)
        ended = oracle.answer_to(b"go\n")
        assert blocked["blocked"] is True
        assert reading(committed) == _state_of(blocked)
        committed = bench.folded(records, IsolationLevel.READ_COMMITTED)
    else:
        ended = bench.started(topic, IsolationLevel.READ_COMMITTED)
    assert ended["blocked"] is False
    assert reading(committed) == _state_of(ended)


def _broker_campaign(examples):
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
    return settings(max_examples=examples, database=None, suppress_health_check=checks)


outcomes = st.sampled_from([RecordState.COMMITTED, RecordState.ABORTED])


@_broker_campaign(10)
@given(log=segments(), outcome=outcomes)
def test_a_worker_starts_with_the_state_that_we_fold(bench, log, outcome):
    assert_broker_agrees(bench, log, outcome)


@pytest.mark.long
@pytest.mark.timeout(3600)
@_broker_campaign(500)
@given(log=segments(), outcome=outcomes)
def test_a_worker_starts_with_the_state_that_we_fold_over_a_campaign(bench, log, outcome):
    assert_broker_agrees(bench, log, outcome)


CONFIG = b'{"properties":{"name":"x"}}'


def test_a_poison_record_makes_a_worker_lose_the_rest_of_the_poll_and_is_reported(bench):
    topic = bench.new_topic()
    pairs = ((b"connector-a", CONFIG), (b"commit-a", b'{"tasks":"two"}'), (b"connector-b", CONFIG))
    records = bench.writer.write(topic, Segment(Writer.PLAIN, RecordState.COMMITTED, pairs))
    assert bench.folded(records, IsolationLevel.READ_UNCOMMITTED).connectors == ("a", "b")
    assert bench.started(topic, IsolationLevel.READ_UNCOMMITTED)["connectors"] == ["a"]
    assert ("poison-record", "commit-a") in _found(bench, records, topic)


def test_a_null_key_keeps_a_worker_from_starting_and_is_reported(bench):
    topic = bench.new_topic(cleanup_policy="delete")
    pairs = ((b"connector-a", CONFIG), (None, CONFIG))
    records = bench.writer.write(topic, Segment(Writer.PLAIN, RecordState.COMMITTED, pairs))
    bench.writer.set_cleanup_policy(topic, "compact")
    assert bench.started(topic, IsolationLevel.READ_UNCOMMITTED)["failure"] == "java.lang.NullPointerException"
    assert ("fatal-record", "null") in _found(bench, records, topic)


def _found(bench, records, topic):
    survey = survey_config_topic(decode_config_records(records), Reader(bench.version))
    return {(finding.name, finding.subject) for finding in inspect(survey, topic=topic).findings}
