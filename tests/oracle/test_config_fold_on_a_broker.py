"""KafkaConfigBackingStore started on real topics with real transactions, and our fold of the same records."""

import pytest
from config_logs import key_values, names
from config_topic_oracle import ConfigTopicOracle, in_order, reading
from config_topic_writer import ConfigTopicWriter, Segment, Writer, left_open
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eosctl.analysis.config_topic import fold_config_topic, survey_config_topic
from eosctl.analysis.inspection import inspect
from eosctl.codecs.config_topic import decode_config_record, decode_config_records
from eosctl.codecs.secrets import keep_properties
from eosctl.model.config_topic import Disposition, MalformedRecord
from eosctl.model.connectors import Reader
from eosctl.model.records import IsolationLevel, Record, RecordState
from eosctl.model.versions import KafkaVersion

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

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
        return self.oracles[level].ask(f"{topic}\n".encode())


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


def assert_agreement(bench, log, outcome):
    topic = bench.new_topic()
    records = [record for segment in log for record in bench.writer.write(topic, segment)]
    uncommitted = bench.folded(records, IsolationLevel.READ_UNCOMMITTED)
    assert reading(uncommitted) == _state_of(bench.started(topic, IsolationLevel.READ_UNCOMMITTED))
    committed = bench.folded(records, IsolationLevel.READ_COMMITTED)
    still_open = [segment for segment in log if segment.state is RecordState.OPEN]
    if still_open:
        oracle = bench.oracles[IsolationLevel.READ_COMMITTED]
        blocked = oracle.ask(f"{topic} {committed.offset}\n".encode())
        records = bench.writer.end(still_open[0], records, outcome)
        ended = oracle.ask(b"go\n")
        assert blocked["blocked"] is True
        assert reading(committed) == _state_of(blocked)
        committed = bench.folded(records, IsolationLevel.READ_COMMITTED)
    else:
        ended = bench.started(topic, IsolationLevel.READ_COMMITTED)
    assert ended["blocked"] is False
    assert reading(committed) == _state_of(ended)


def _campaign(examples):
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
    return settings(max_examples=examples, database=None, suppress_health_check=checks)


outcomes = st.sampled_from([RecordState.COMMITTED, RecordState.ABORTED])


@_campaign(25)
@given(log=segments(), outcome=outcomes)
def test_a_worker_starts_with_the_state_that_we_fold(bench, log, outcome):
    assert_agreement(bench, log, outcome)


@pytest.mark.long
@pytest.mark.timeout(3600)
@_campaign(500)
@given(log=segments(), outcome=outcomes)
def test_a_worker_starts_with_the_state_that_we_fold_over_a_campaign(bench, log, outcome):
    assert_agreement(bench, log, outcome)


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
