"""One transaction of records whose partitions the caller has chosen, over librdkafka's transactional producer."""

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from eosctl.clients.errors import librdkafka_error
from eosctl.clients.librdkafka import producer
from eosctl.errors import EosctlError, Refused, TimedOut
from eosctl.model.client_properties import ClientProperties
from eosctl.model.counts import counted

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

QUEUE: Final = 10_000_000
"""queue.buffering.max.messages, librdkafka's greatest: the whole transaction may wait for the broker."""


class PartitionRecord(NamedTuple):
    """A record for one partition; value None is a tombstone."""

    partition: int
    key: bytes
    value: bytes | None


class TransactionalProducer:
    """The holder of `transactional_id` from its first call on: all others that hold it are fenced.

    A context manager: leaving it by an exception aborts the transaction that is open. Every call is bounded by
    `timeout_s` and raises an EosctlError: NotAuthorized names the TransactionalId or the topic, Refused means that
    another producer took the ID.
    """

    def __init__(
        self, properties: ClientProperties, transactional_id: str, *, transaction_timeout_ms: int, timeout_s: float
    ) -> None:
        self.transactional_id = transactional_id
        self._properties = properties
        self._timeout_s = timeout_s
        self.open = False
        self._producer = producer(
            properties,
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
            queue_buffering_max_messages=QUEUE,
            linger_ms=5,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if self.open:
            self.abort()

    def initialise(self) -> None:
        """InitProducerId: fences the former holder and waits until its transaction is aborted or committed.

        Raises OtherCluster where this client's brokers are not of the cluster that its properties name. It is asked
        again afterwards: a producer of the one cluster has no transaction in the other.
        """
        self._require_cluster()
        self._call("init_transactions", f"TransactionalId {self.transactional_id}")
        self._require_cluster()

    def _require_cluster(self) -> None:
        from confluent_kafka import KafkaException

        if self._properties.cluster_id is None:
            return
        try:
            found = self._producer.list_topics(timeout=self._timeout_s).cluster_id
        except KafkaException as error:
            raise self._meaning(error.args[0], "Cluster kafka-cluster") from error
        self._properties.require_cluster(str(found), ",".join(self._properties.bootstrap_servers))

    def begin(self) -> None:
        """Begin a transaction; nothing is sent yet."""
        self._producer.begin_transaction()
        self.open = True

    def write(self, topic: str, records: Iterable[PartitionRecord]) -> int:
        """Queue the records and return how many they were; they are sent in the background.

        There is no callback for each: a record that is not delivered makes the commit fail.
        """
        from confluent_kafka import KafkaException

        produce, count = self._producer.produce, 0
        try:
            for count, (partition, key, value) in enumerate(records, 1):  # noqa: B007  # counted for the answer
                produce(topic, value, key, partition)
        except KafkaException as error:
            raise self._meaning(error.args[0], f"Topic {topic}") from error
        return count

    def flush(self, topic: str) -> None:
        """Wait until all records written so far are acknowledged; TimedOut where some are not."""
        from confluent_kafka import KafkaException

        try:
            left = self._producer.flush(self._timeout_s)
        except KafkaException as error:
            raise self._meaning(error.args[0], f"Topic {topic}") from error
        if left:
            raise TimedOut(f"{counted(left, 'record')} for topic {topic} not acknowledged within {self._timeout_s:g} s")

    def commit(self, topic: str) -> None:
        """Commit: all records become visible together. Asked again while that is safe, until the time is up.

        A TimedOut leaves it open whether the transaction was committed: whoever initialises the ID next learns it.
        """
        with _interrupted_later():
            self._call("commit_transaction", f"Topic {topic}")
            self.open = False

    def abort(self) -> str | None:
        """Abort the open transaction: None, or why that was not confirmed (the coordinator does it in time)."""
        self.open = False
        try:
            self._call("abort_transaction", f"TransactionalId {self.transactional_id}")
        except EosctlError as error:
            return error.message
        return None

    def _call(self, name: str, resource: str) -> None:
        from confluent_kafka import KafkaException

        deadline = monotonic() + self._timeout_s
        while True:
            try:
                getattr(self._producer, name)(max(0.1, deadline - monotonic()))
                return
            except KafkaException as error:
                cause = error.args[0]
                if not cause.retriable() or monotonic() >= deadline:
                    raise self._meaning(cause, resource) from error

    def _meaning(self, error: "KafkaError", resource: str) -> EosctlError:
        if error.name() in {"_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}:
            return Refused(
                f"another producer took transactional ID {self.transactional_id}: {error.str()}",
                hint="does the connector run, or another eosctl? Nothing of this transaction was committed",
            )
        if error.name() == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
            resource = f"TransactionalId {self.transactional_id}"
        return librdkafka_error(error, principal=self._properties.principal, operation="Write", resource=resource)


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Hold Ctrl-C back, so that what is known of the commit is known when it strikes."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    caught: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: caught.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if caught:
            handler(*caught[0])
