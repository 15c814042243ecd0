"""A Connect cluster as a snapshot keeps it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeVar

from eosctl.errors import UsageError
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.evidence import ClusterEvidence, Preflight, WorkerEvidence
from eosctl.model.offset_stores import SourceSupport, WorkerSettings
from eosctl.model.offsets_facts import OffsetsFacts
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.snapshot import Snapshot
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import ConnectFacts, ConnectorStatus, oldest_version
from eosctl.sources.cluster_reader import Configs, Servers
from eosctl.sources.coverage_log import CoverageLog, asked

NOT_SAVED: Final = Skipped("snapshots do not hold it", Cause.NOT_SAVED)

T = TypeVar("T")


class SavedConnect(CoverageLog):
    """What the workers answered when the snapshot was saved."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self._snapshot = snapshot

    @property
    def _offsets(self) -> OffsetsFacts:
        return section_of(self._snapshot.offsets, "offsets")

    @property
    def _evidence(self) -> ClusterEvidence | Skipped:
        return self._snapshot.evidence

    @staticmethod
    def sparing_workers() -> AbstractContextManager[None]:
        """They answered when the snapshot was saved, or did not."""
        return nullcontext()

    @asked("Connect workers")
    def connect(self) -> ConnectFacts | Skipped:
        """As they were saved."""
        return self._snapshot.connect

    @asked("the workers' version")
    def connect_version(self) -> KafkaVersion | Skipped:
        """The oldest that a worker named then."""
        connect = self._snapshot.connect
        return connect if isinstance(connect, Skipped) else oldest_version(connect.workers.values())

    def connector_configs(self) -> Configs | Skipped | None:
        """The config topic has them."""
        return None

    def client_configs(self) -> Mapping[str, ConnectorConfig] | None:
        """No snapshot holds secrets."""
        return None

    @asked("worker")
    def worker_evidence(self) -> Mapping[str, WorkerEvidence | Skipped] | Skipped:
        """As it was saved."""
        return self._evidence if isinstance(self._evidence, Skipped) else self._evidence.workers

    @asked("connector statuses")
    def connector_statuses(self) -> Mapping[str, ConnectorStatus] | Skipped:
        """As they were saved."""
        connect = self._snapshot.connect
        return connect if isinstance(connect, Skipped) else connect.connectors

    @asked("preflight of connectors")
    def preflight(self) -> Mapping[str, Preflight] | Skipped:
        """No snapshot holds it."""
        return NOT_SAVED

    @property
    def _worker(self) -> WorkerSettings:
        return self._offsets.worker

    @asked("the workers' exactly.once.source.support")
    def source_support(self) -> SourceSupport | Skipped:
        """As it was saved."""
        return self._worker.exactly_once

    def worker_offsets_topic(self) -> str | None:
        """The one that was saved; None where no offsets were."""
        offsets = self._snapshot.offsets
        return None if isinstance(offsets, Skipped) else offsets.worker.offsets_topic

    def worker_servers(self) -> Servers | Skipped:
        """As they were saved."""
        return self._worker.bootstrap_servers

    def worker_clients(self) -> Mapping[str, str]:
        """As they were saved."""
        return self._worker.clients


def section_of(section: T | Skipped, noun: str) -> T:
    """The section of a snapshot; UsageError where it was not read when the snapshot was saved."""
    if isinstance(section, Skipped):
        raise UsageError(f"the snapshot holds no {noun}: {section.reason}")
    return section
