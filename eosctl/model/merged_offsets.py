"""Offsets as a connector would be given them, beside what each store holds and what KIP-618 promises."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from eosctl.errors import EosctlError, UsageError
from eosctl.model.names import TopicPartition
from eosctl.model.offset_stores import OffsetStores, StorePlace, WorkerSettings
from eosctl.model.offsets import MalformedValue, OffsetKey, OffsetsTopic, SourceOffset
from eosctl.model.records import Record
from eosctl.model.report import Answer, Finding
from eosctl.model.skipped import Cause, Skipped


class StoredOffset(NamedTuple):
    """A record of an offsets topic and its value read: None for a tombstone, MalformedValue for what nobody can use."""

    topic_partition: TopicPartition
    record: Record
    value: SourceOffset | MalformedValue | None

    @property
    def usable(self) -> bool:
        """Whether a connector that is answered from it gets an offset."""
        return self.value is not None and not isinstance(self.value, MalformedValue)


class ByPhase(NamedTuple):
    """What a task would begin from under workers that are enabled, and under workers that are not.

    uncommitted says that they differ because the key's last record is of a transaction that was aborted or is open.
    """

    enabled: StoredOffset | Skipped | None
    not_enabled: StoredOffset | Skipped | None
    uncommitted: bool


class MergedOffset(NamedTuple):
    """One key of one connector, in every store.

    worker_global and connector_specific are what lies in the worker's topic and in the connector's own: the record that
    the store's reader sees, or the last one that it does not see. kafka_effective is the offset that a task starts
    from, kip618_effective the one that KIP-618 promises; None: from nothing; Skipped: not known, and why. by_phase is
    None where exactly.once.source.support makes no difference to it. position is what the offset that a task starts
    from says in its connector's own terms; None where those are not known.
    """

    key: OffsetKey
    worker_global: StoredOffset | Skipped | None
    connector_specific: StoredOffset | Skipped | None
    kafka_effective: StoredOffset | Skipped | None
    kip618_effective: StoredOffset | Skipped | None
    provenance: str
    shadowed: bool = False
    by_phase: ByPhase | None = None
    position: str | None = None

    @property
    def live(self) -> bool:
        """Whether any store holds more than a tombstone: a value, or something that could not be read."""
        for each in (self.worker_global, self.connector_specific):
            if each is not None and (isinstance(each, Skipped) or each.value is not None):
                return True
        return False


@dataclass(frozen=True, slots=True)
class ConnectorOffsets:
    """A connector and its offsets; known says whether the connector exists.

    stores has two entries where it is unknown whether exactly-once is enabled and that makes a difference.
    """

    name: str
    known: bool | Skipped
    stores: tuple[OffsetStores, ...] | Skipped
    offsets: tuple[MergedOffset, ...]


@dataclass(frozen=True, slots=True)
class OffsetsReport(Answer):
    """The answer of `offsets show`: offsets as of as_of (ms since the epoch), by the settings of the workers.

    topics are those that were to be read: None for one that does not exist. absent are connectors asked for that
    neither exist nor have offsets. skipped says what could not be read or checked and why. is_offsets_topic is False
    where the workers' topic has records and no key of an offsets topic. what_if is the topic that the connectors were
    taken to name, where the user asked what would be then.
    """

    connectors: tuple[ConnectorOffsets, ...]
    topics: Mapping[StorePlace, OffsetsTopic | Skipped | None]
    findings: tuple[Finding, ...]
    absent: tuple[str, ...]
    skipped: Mapping[str, Skipped]
    worker: WorkerSettings
    as_of: int
    cluster_id: str | None = None
    notes: tuple[str, ...] = ()
    is_offsets_topic: bool = True
    what_if: str | None = None

    @property
    def reported(self) -> tuple[Finding, ...]:
        """Its findings."""
        return self.findings

    @property
    def failure(self) -> EosctlError | None:
        """The name of the topic was wrong, where it is not an offsets topic: it says nothing of any connector."""
        if self.is_offsets_topic:
            return None
        return UsageError(
            f"topic {self.worker.offsets_topic} is not an offsets topic of Kafka Connect",
            hint="--worker-offsets-topic takes the topic that offset.storage.topic of the workers names",
        )

    @property
    def complete(self) -> bool:
        """Whether all topics, settings and connectors were read, and no two workers name other stores."""
        lacking = (each.cause.is_gap or each.cause is Cause.MIXED for each in self.skipped.values())
        return not self.coverage.gaps and not any(lacking)
