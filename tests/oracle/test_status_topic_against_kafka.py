"""Records of a status topic, read by us and by Kafka's own KafkaStatusBackingStore."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eosctl.codecs.status_topic import STATES, decode_status_record
from eosctl.model.records import Record
from eosctl.model.status_topic import StatusKind
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import compile_java
from tests.jvm import Oracle, java_with, sized
from tests.kafka_versions import workers_of

pytestmark = [pytest.mark.kafka, pytest.mark.workers]

SOURCE = Path(__file__).with_name("StatusTopicOracle.java")
NAMES = st.sampled_from(["orders", "a-b", "a-0", "", "-", "a-", "ä", "a:b", "x:connector-y", "a\x00"])
NUMBERS = st.sampled_from(["0", "7", "+7", "-1", "07", "2147483648", "x", "", "٣", "1-"])
KEYS = (
    st.builds("status-connector-{}".format, NAMES)
    | st.builds("status-task-{}-{}".format, NAMES, NUMBERS)
    | st.builds("status-topic-{}:connector-{}".format, NAMES, NAMES)
    | st.builds("status-topic-{}{}".format, NAMES, st.sampled_from(["", ":", ":connector", ":connector-", ":c-orders"]))
    | st.sampled_from(["status-", "status-task", "connector-orders", ""])
)
MEMBERS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.just(1.5) | st.text(max_size=6)
STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "state": st.sampled_from(sorted(STATES)) | MEMBERS,
        "trace": st.text(max_size=6) | MEMBERS,
        "worker_id": st.text(max_size=6) | MEMBERS,
        "generation": st.integers(-(2**40), 2**40) | MEMBERS,
        "version": st.none(),
    },
)
USES = st.fixed_dictionaries(
    {
        "topic": MEMBERS
        | st.fixed_dictionaries(
            {
                "name": st.just("t"),
                "connector": st.just("c"),
                "task": st.integers(0, 9),
                "discoverTimestamp": st.just(1),
            }
        )
    }
)
VALUES = st.none() | (STATUSES | USES | MEMBERS).map(lambda value: json.dumps(value).encode()) | st.just(b"no JSON")


class StatusTopicOracle(Oracle):
    """One JVM that is asked about one record after the other."""

    def __init__(self, version: str) -> None:
        jars = resolve_jars(version, lambda _: None)
        classes = compile_java(jars.compiler, SOURCE, jars.classpath)
        super().__init__([*java_with(jars, classes), "StatusTopicOracle"])

    def ask(self, key: bytes | None, value: bytes | None) -> dict[str, Any]:
        return self.answer_to(sized(key) + sized(value))


@pytest.fixture(scope="module")
def oracle(kafka_version: str) -> Iterator[StatusTopicOracle]:
    with StatusTopicOracle(workers_of(kafka_version)) as started:
        yield started


def ours(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """The worker's state after the record, in the oracle's form."""
    found = decode_status_record(Record(0, 0, key, value))
    if found.kind is StatusKind.INVALID or found.reason is not None or value is None:
        return {}
    names = ("connector", "task", "topic", "state", "trace", "worker_id", "generation")
    return {"kind": found.kind.value} | {name: getattr(found, name) for name in names}


@settings(max_examples=400)
@example(b"status-connector-orders", b'{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":3}')
@example(b"status-task-a-b-7", b'{"state":"FAILED","trace":"t","worker_id":"w:1","generation":4294967297}')
@example(b"status-topic-t:connector-a-b", b'{"topic":{"name":"t","connector":"c","task":2,"discoverTimestamp":1}}')
@example(None, b'{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":3}')
@given(key=KEYS.map(str.encode), value=VALUES)
def test_every_record_is_what_kafka_makes_of_it(
    oracle: StatusTopicOracle, key: bytes | None, value: bytes | None
) -> None:
    assert ours(key, value) == oracle.ask(key, value)
