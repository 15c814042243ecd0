"""Which version a Connect cluster is read as."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eosctl.errors import UsageError
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion

if TYPE_CHECKING:
    from eosctl.sources.cluster_reader import ClusterReader


class WorkerVersion(NamedTuple):
    """The version, and what the user ought to know about it."""

    version: KafkaVersion
    notes: tuple[str, ...] = ()


def worker_version(reader: ClusterReader, given: str | None) -> WorkerVersion:
    """The given version, or the oldest that the workers name, or the newest; UsageError for one that is none."""
    if given is not None:
        try:
            return WorkerVersion(KafkaVersion.parse(given))
        except ValueError as error:
            raise UsageError(f"--worker-version {error}") from error
    known = reader.connect_version()
    if not isinstance(known, Skipped):
        return WorkerVersion(known)
    note = f"read as {NEWEST}: {known.reason}; see --worker-version"
    return WorkerVersion(NEWEST, (note,) if known.cause.is_gap else ())
