"""Where a source connector's offsets are kept: what worker settings and connector config say together (KIP-618)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion

SOURCE_SUPPORT: Final = "exactly.once.source.support"


class SourceSupport(StrEnum):
    """A worker's exactly.once.source.support; only `enabled` changes where offsets are kept and how they are read."""

    DISABLED = "disabled"
    PREPARING = "preparing"
    ENABLED = "enabled"


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What the workers of one Connect cluster are set to, as far as it decides where offsets are kept.

    offsets_topic is offset.storage.topic; clients holds the worker's own `producer.*` and `consumer.*` settings, which
    its connectors inherit, and its isolation.level.
    """

    offsets_topic: str
    exactly_once: SourceSupport | Skipped
    bootstrap_servers: frozenset[str] | Skipped
    version: KafkaVersion = NEWEST
    clients: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StorePlace:
    """A topic and the cluster it is in: bootstrap_servers None is the cluster that the workers keep their topics in."""

    topic: str
    bootstrap_servers: frozenset[str] | None = None

    def __str__(self) -> str:
        servers = self.bootstrap_servers
        return self.topic if servers is None else f"{self.topic} on {','.join(sorted(servers))}"


@dataclass(frozen=True, slots=True)
class OffsetStore:
    """One store as a task reads it."""

    place: StorePlace
    isolation_level: IsolationLevel


@dataclass(frozen=True, slots=True)
class OffsetStores:
    """The stores of one connector; at least one of the two exists.

    worker_global is the store that all connectors share, connector_specific the one that is read with the connector's
    own clients, whatever topic it is in; written_to is where a task's offsets go first. words say which row of Kafka's
    rule applies. sent_to are the bootstrap.servers that the producer has instead of the worker's; Skipped: not known.
    """

    worker_global: OffsetStore | None
    connector_specific: OffsetStore | None
    written_to: StorePlace
    words: str
    sent_to: frozenset[str] | Skipped | None = None

    @property
    def both(self) -> bool:
        """Whether there are two: then an offset may be shadowed (EOS080), and KIP-618 promises a fallback."""
        return self.worker_global is not None and self.connector_specific is not None

    @property
    def places(self) -> tuple[StorePlace, ...]:
        """Where offsets are read from, the worker's topic first."""
        stores = (self.worker_global, self.connector_specific)
        return tuple(dict.fromkeys(store.place for store in stores if store is not None))
