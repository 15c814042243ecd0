"""Two clusters, a topic in one and its copy in the other, and the audit of the copy."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from eosctl.codecs.offsets_topic import encode_offsets_key
from eosctl.operations.session import Session
from tests.commands.conftest import Eosctl, Ran
from tests.integration.producers import create_topic, transactional_producer
from tests.integration.witnesses import check
from tests.waiting import eventually

BEGUN_MS = Session.now() - 60_000
HEADERS: list[tuple[str, bytes | None]] = [("trace", b"\x00\xff"), ("trace", None)]


@dataclass(frozen=True)
class Judged:
    """The audit's answer about one partition."""

    exit_code: int
    pair: dict[str, Any]
    findings: dict[str, dict[str, Any]]

    @property
    def verdict(self) -> str:
        """held, broken or cannot-tell."""
        return str(self.pair["verdict"])

    @property
    def counts(self) -> dict[str, int]:
        """The number of records of each kind of difference that occurs."""
        kinds = ("head", "lead", "lag", "gap", "repeat", "late", "aborted", "unknown")
        return {kind: self.pair[f"{kind}_records"] for kind in kinds if self.pair[f"{kind}_records"]}


class Copied:
    """Topic `name` in the source, and `eu.<name>` in the target, of one partition."""

    def __init__(self, eosctl: Eosctl, source: str, target: str, name: str) -> None:
        self._eosctl, self.source, self.target, self.name = eosctl, source, target, name
        create_topic(source, name)
        create_topic(target, f"eu.{name}")
        self.headers: list[tuple[str, bytes | None]] = HEADERS

    def write(self, numbers: Iterable[int], **settings: object) -> None:
        """Numbered records in the source."""
        self._write(self.source, self.name, numbers, settings)

    def copy(self, numbers: Iterable[int], **settings: object) -> None:
        """The same records in the target, as a mirror writes them."""
        self._write(self.target, f"eu.{self.name}", numbers, settings)

    def _write(self, servers: str, topic: str, numbers: Iterable[int], settings: dict[str, object]) -> None:
        producer = Producer({"bootstrap.servers": servers, **settings})
        self._produce(producer, topic, numbers)
        assert producer.flush(30) == 0

    def _produce(self, producer: Producer, topic: str, numbers: Iterable[int]) -> None:
        for number in numbers:
            value = None if number % 10 == 9 else b"record %d" % number
            producer.produce(topic, value, b"%d" % (number % 3), 0, timestamp=BEGUN_MS + number, headers=self.headers)

    def transact(self, numbers: Iterable[int], *, commit: bool = True, in_target: bool = False) -> None:
        """A transaction with these records, ended in one way or the other."""
        servers, topic = (self.target, f"eu.{self.name}") if in_target else (self.source, self.name)
        producer = transactional_producer(servers, f"{topic}-writer")
        producer.begin_transaction()
        self._produce(producer, topic, numbers)
        assert producer.flush(30) == 0
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)

    def delete_before(self, offset: int, *, in_target: bool = False) -> None:
        """DeleteRecords in the source, or in the target."""
        servers, topic = (self.target, f"eu.{self.name}") if in_target else (self.source, self.name)
        place = TopicPartition(topic, 0, offset)
        admin = AdminClient({"bootstrap.servers": servers})
        admin.delete_records([place])[place].result(30)

    def say_copied(self, offset: int) -> str:
        """The offset that the mirror committed, in an offsets topic of the target; that topic's name."""
        topic = f"{self.name}-offsets"
        create_topic(self.target, topic)
        key = encode_offsets_key("mirror", {"cluster": "eu", "partition": 0, "topic": self.name})
        producer = Producer({"bootstrap.servers": self.target})
        producer.produce(topic, b'{"offset":%d}' % offset, key)
        assert producer.flush(30) == 0
        return topic

    def delete(self, *, in_target: bool = False) -> None:
        """The topic of the source, or of the target, is deleted."""
        servers, topic = (self.target, f"eu.{self.name}") if in_target else (self.source, self.name)
        admin = AdminClient({"bootstrap.servers": servers})
        admin.delete_topics([topic])[topic].result(30)
        eventually(lambda: topic not in admin.list_topics(timeout=30).topics, f"{topic} to be gone")

    def recreate(self, *, in_target: bool = False) -> None:
        """The topic is deleted, and one of the same name created."""
        self.delete(in_target=in_target)
        create_topic(*((self.target, f"eu.{self.name}") if in_target else (self.source, self.name)))

    def ask(self, *more: object, naming: Sequence[object] = ("--alias", "eu")) -> Ran:
        """The command itself."""
        return self._eosctl(
            "mirror", "audit", "-b", self.target, "--source-bootstrap-server", self.source, "--topic", self.name,
            *naming, "-o", "json", *more,
        )  # fmt: skip

    def audit(self, *more: object, naming: Sequence[object] = ("--alias", "eu")) -> Judged:
        """The audit's answer about the one partition."""
        ran = self.ask(*more, naming=naming)
        assert ran.exit_code in {0, 1, 3}, ran.stderr
        data = json.loads(ran.stdout)["data"]
        (pair,) = data["pairs"]
        check(data, self.target, self.source)
        return Judged(ran.exit_code, pair, {each["name"]: each for each in data["findings"]})
