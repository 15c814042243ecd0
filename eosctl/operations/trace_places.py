"""Where a trace looks: a cluster through its reader, or log directories without a broker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from eosctl.analysis.owners import KnownNames
from eosctl.codecs.batch_limits import most_batch_bytes
from eosctl.errors import Unreachable
from eosctl.model.coverage import Coverage
from eosctl.model.described import transactional_ids_by_producer
from eosctl.model.names import TRANSACTION_LOG, TopicPartition
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transaction_log import LogRecord
from eosctl.operations.owners import ConnectNames, read_connect_names
from eosctl.operations.session import Session
from eosctl.sources.record_log import LiveLog, RecordLog, SegmentLog

INTERNAL = frozenset({TRANSACTION_LOG, "__cluster_metadata", "__share_group_state"})


class Places(Protocol):
    """What a trace asks for beside batches."""

    @property
    def as_of(self) -> int:
        """When it was asked, in ms since the epoch."""

    @property
    def cluster_id(self) -> str | None:
        """The cluster's ID, where it is known."""

    @property
    def log(self) -> RecordLog:
        """The batches."""

    @property
    def names(self) -> KnownNames:
        """The Connect clusters and connectors that are known."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What makes owners less certain."""

    @property
    def coverage(self) -> Coverage:
        """What was asked for, and what of it was not read."""

    def transaction_log(self, producer_id: int) -> Iterable[LogRecord]:
        """Records of the transaction log, those of the ID that holds the producer ID at least."""

    def holder(self, producer_id: int) -> str | Skipped | None:
        """The transactional ID that holds the producer ID now; None: nobody does."""

    def known_to(self, producer_id: int) -> Sequence[TopicPartition]:
        """Partitions in which the producer may have written."""


class LivePlaces:
    """A cluster."""

    def __init__(self, session: Session, config_topic: str) -> None:
        self._reader, self._config_topic = session.reader, config_topic
        self.as_of, self.cluster_id = session.reader.now(), session.reader.cluster_id
        self.log = LiveLog(session.wire)

    @cached_property
    def _connect(self) -> ConnectNames:
        return read_connect_names(self._reader, self._config_topic)

    @property
    def names(self) -> KnownNames:
        """By groups and the config topic."""
        return self._connect.names

    @property
    def notes(self) -> tuple[str, ...]:
        """What makes owners less certain."""
        return self._connect.notes if "_connect" in vars(self) else ()

    @property
    def coverage(self) -> Coverage:
        """That of the reader."""
        return self._reader.coverage

    def transaction_log(self, producer_id: int) -> Iterable[LogRecord]:
        """Of the partition of the ID that holds it; the whole log where nobody does. Raises NotAuthorized."""
        holder = self.holder(producer_id)
        log = self._reader.transaction_log([holder] if isinstance(holder, str) else ())
        for reason in log.unread.values():
            raise Unreachable(f"the transaction log was not read as a whole: {reason.reason}")
        return log.records

    def holder(self, producer_id: int) -> str | Skipped | None:
        """As coordinators list it."""
        listed = self._listed(producer_id)
        name = listed.names.get(producer_id)
        return Skipped("; ".join(listed.unlisted), Cause.UNREACHABLE) if name is None and listed.unlisted else name

    def _listed(self, producer_id: int) -> "_Listed":
        if producer_id not in self._by_producer:
            listed = self._reader.transactional_ids(producer_ids=[producer_id])
            names = transactional_ids_by_producer(listed.transactions)
            self._by_producer[producer_id] = _Listed(names, listed.unlisted)
        return self._by_producer[producer_id]

    @cached_property
    def _by_producer(self) -> "dict[int, _Listed]":
        return {}

    def known_to(self, producer_id: int) -> Sequence[TopicPartition]:
        """Those whose leaders remember it (producer.id.expiration.ms)."""
        found = self._reader.producers(self._reader.partitions({}), quiet=True)
        return [each.topic_partition for each in found.producers if each.producer.producer_id == producer_id]


@dataclass(frozen=True, slots=True)
class _Listed:
    names: Mapping[int, str]
    unlisted: tuple[str, ...]


class DirectoryPlaces:
    """Log directories of brokers. Owners are known by --group-id only."""

    def __init__(self, session: Session, directories: Sequence[Path], config_topic: str) -> None:
        group_id = session.options.group_id
        self.as_of = session.now()
        self.cluster_id: str | None = None
        self.segments = SegmentLog(directories, most_batch_bytes(session.client_properties))
        self.names = KnownNames.of({} if group_id is None else {group_id: ()})
        self.notes = ("read from files: what another broker has is not here",)
        self.coverage = Coverage()

    @property
    def log(self) -> RecordLog:
        """The segments."""
        return self.segments

    def transaction_log(self, producer_id: int) -> Iterable[LogRecord]:
        """All of it that lies there."""
        return self.segments.transaction_log()

    def holder(self, producer_id: int) -> str | Skipped | None:
        """Only a coordinator knows who holds it now."""
        return None

    def known_to(self, producer_id: int) -> Sequence[TopicPartition]:
        """Every partition there."""
        return [each for each in self.segments.all if each.topic not in INTERNAL]
