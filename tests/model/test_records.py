"""Records: settings of the config topic, partitions, ACL patterns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2 as kafka_python_murmur2

from eosctl.errors import NotAuthorized
from eosctl.model.acl_plan import granting_command
from eosctl.model.config_topic import Origin, TargetStateRecord, TaskConfigRecord
from eosctl.model.connectors import ConnectorState, TargetState
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch
from eosctl.model.records import Record, java_partition, murmur2
from eosctl.model.versions import KafkaVersion

ORIGIN = Origin(0, 0)


@pytest.mark.parametrize(
    ("state", "state_v2", "since_3_5", "before"),
    [
        ("STARTED", None, TargetState.STARTED, TargetState.STARTED),
        ("PAUSED", "STOPPED", TargetState.STOPPED, TargetState.PAUSED),
        ("STOPPED", None, TargetState.STOPPED, None),
        (None, "STOPPED", TargetState.STOPPED, None),
        ("PAUSED", "nonsense", None, TargetState.PAUSED),
        ("paused", None, None, None),
        (None, None, None, None),
    ],
)
def test_versions_read_target_states_differently(state, state_v2, since_3_5, before):
    record = TargetStateRecord(ORIGIN, "x", state, state_v2)
    assert record.read_by(KafkaVersion(3, 5)) is since_3_5
    assert record.read_by(KafkaVersion(3, 4, 1)) is before


def test_an_origin_names_its_producer_only_if_it_has_one():
    assert ORIGIN.producer is None
    assert Origin(0, 0, producer_id=5, producer_epoch=1).producer == ProducerIdAndEpoch(5, 1)


def test_a_task_config_names_its_task():
    assert TaskConfigRecord(ORIGIN, "x", 3, {}).task_id == ConnectorTaskId("x", 3)


def test_tasks_are_visible_unless_the_connector_is_inconsistent():
    assert ConnectorState("x", task_count=2).visible_tasks == (0, 1)
    assert ConnectorState("x", task_count=2, inconsistent=True).visible_tasks == ()
    assert ConnectorState("x").visible_tasks == ()


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"abc", 479470107),
    ],
)
def test_murmur2_gives_what_kafka_s_own_test_expects(data: bytes, value: int) -> None:
    assert murmur2(data) == value


@given(st.binary(max_size=200))
def test_murmur2_agrees_with_kafka_python(data: bytes) -> None:
    assert murmur2(data) & 0xFFFFFFFF == kafka_python_murmur2(data) & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "partition"),
    [
        (b'["file-source",{"filename":"/tmp/test.txt"}]', 21),
        (b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]', 7),
        (b'["reddit-source",{"subreddit":"apachekafka"}]', 3),
    ],
)
def test_a_key_lies_where_a_connector_puts_it_among_25_partitions(key: bytes, partition: int) -> None:
    assert java_partition(key, 25) == partition


HEAD = "kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal=User:tool"


def denied(operation: str, resource: str, principal: str = "User:tool") -> NotAuthorized:
    return NotAuthorized(principal=principal, operation=operation, resource=resource)


@pytest.mark.parametrize(
    ("operation", "resource", "line"),
    [
        ("Read", "Topic orders", f"{HEAD} --operation=Read --topic=orders"),
        ("Describe", "Group connect-cluster", f"{HEAD} --operation=Describe --group=connect-cluster"),
        ("Describe", "Cluster kafka-cluster", f"{HEAD} --operation=Describe --cluster"),
        ("Describe", "TransactionalId *", f"{HEAD} --operation=Describe '--transactional-id=*'"),
        ("Write", "Topic a b;c", f"{HEAD} --operation=Write '--topic=a b;c'"),
    ],
)
def test_a_denied_operation_is_granted_by_this_line(operation, resource, line):
    assert granting_command(denied(operation, resource), "b:9092") == line


def test_a_principal_that_only_brokers_can_name_is_left_to_fill_in():
    line = granting_command(denied("Read", "Topic orders", "the principal of client.p12"), "b:9092")
    assert line == f"{HEAD.replace('User:tool', 'User:NAME')} --operation=Read --topic=orders"


@pytest.mark.parametrize(
    ("operation", "resource"),
    [
        ("authenticate with PLAIN", "broker:9092: Authentication failed"),
        ("GET /connectors", "http://worker:8083 (401)"),
        ("Alter (brokers before 3.8: ClusterAction)", "Cluster kafka-cluster"),
        ("write", "ledger"),
        ("Read", "Topic  leading"),
    ],
)
def test_a_denial_that_no_acl_resolves_has_no_granting_command(operation, resource):
    assert granting_command(denied(operation, resource), "b:9092") is None


@pytest.mark.parametrize(
    ("operation", "resource", "message"),
    [
        ("Describe", "Topic orders", "User:tool lacks Describe on topic orders"),
        ("Write", "TransactionalId a-0", "User:tool lacks Write on transactional ID a-0"),
        ("GET /", "http://w:8083 (401)", "User:tool may not GET / on http://w:8083 (401)"),
    ],
)
def test_a_denial_names_principal_operation_and_resource(operation, resource, message):
    assert denied(operation, resource).message == message


@pytest.mark.parametrize(
    ("producer_id", "producer"), [(-1, None), (0, ProducerIdAndEpoch(0, 2)), (7, ProducerIdAndEpoch(7, 2))]
)
def test_a_record_of_a_writer_that_was_not_idempotent_has_no_producer(producer_id: int, producer):
    assert Record(0, 0, None, None, producer_id=producer_id, producer_epoch=2).producer == producer
