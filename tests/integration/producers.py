"""Transactional producers for tests: each leaves its transactional ID in one state of TransactionMetadata."""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.topics import make_topic


def create_topic(bootstrap: str, topic: str, partitions: int = 1, replication_factor: int = 1, **settings: str) -> None:
    """Creates the topic and returns when every partition has a leader; `_` stands for a dot in its settings."""
    config = {key.replace("_", "."): value for key, value in settings.items()}
    new = NewTopic(topic, partitions, replication_factor, config=config)
    make_topic(AdminClient({"bootstrap.servers": bootstrap}), new)


def transactional_producer(bootstrap: str, transactional_id: str, **settings: object) -> Producer:
    """A producer that has initialised its transactions: the ID is Empty and this producer holds it."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 60_000,
            "log_level": 0,
            **settings,
        }
    )
    producer.init_transactions(30)
    return producer


def open_transaction(bootstrap: str, transactional_id: str, topic: str, **settings: object) -> Producer:
    """A producer with one record written in a transaction that is still open: the ID is Ongoing."""
    producer = transactional_producer(bootstrap, transactional_id, **settings)
    producer.begin_transaction()
    producer.produce(topic, b"value", b"key")
    if producer.flush(30):
        raise TimeoutError(f"the record of {transactional_id} was not acknowledged")
    return producer


def complete(bootstrap: str, transactional_id: str, topic: str, *, commit: bool) -> Producer:
    """A producer that ended one transaction: the ID is CompleteCommit or CompleteAbort."""
    producer = open_transaction(bootstrap, transactional_id, topic)
    if commit:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)
    return producer


@contextmanager
def refused_as_fenced() -> Iterator[None]:
    """The block must fail as a fenced producer fails, and not otherwise."""
    try:
        yield
    except KafkaException as error:
        name = error.args[0].name()
        if name not in {"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING"}:
            raise AssertionError(f"refused with {name}, not as a fenced producer") from error
        return
    raise AssertionError("the old producer was not refused")
