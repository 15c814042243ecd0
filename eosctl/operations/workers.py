"""The workers that answer: their version, and whether they are those of the Connect group."""

from msgspec import Struct

from eosctl.analysis.catalogue.connect import NO_GROUP
from eosctl.errors import UsageError
from eosctl.model.skipped import Skipped, read_or_skip
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.workers import ConnectFacts, WorkerFacts
from eosctl.sources.cluster_reader import ClusterReader


class WorkerVersion(Struct, frozen=True):
    """The version, and notes for the user on it."""

    version: KafkaVersion
    notes: tuple[str, ...] = ()


def worker_version(reader: ClusterReader, given: str | None) -> WorkerVersion:
    """The given version, or the oldest that the workers name, or the newest; UsageError for one that is none."""
    if given is not None:
        try:
            return WorkerVersion(KafkaVersion.parse(given))
        except ValueError as error:
            raise UsageError(f"--worker-version {error}", hint="write it as 3.9.2 or 4.3") from error
    known = reader.connect_version()
    if not isinstance(known, Skipped):
        return WorkerVersion(known)
    note = f"read as {NEWEST}: {known.reason}; see --worker-version"
    return WorkerVersion(NEWEST, (note,) if known.cause.is_gap else ())


def require_group(reader: ClusterReader, connect: ConnectFacts | Skipped) -> None:
    """UsageError (EOS020) if workers answer, but the named group has none or is no Connect group, or a named worker is
    of another one.

    If none answers they may all be stopped: the coverage says that there is no such group.
    """
    if reader.group_id is None:
        return
    reader.require_workers(reader.group_id)
    group = reader.connect_group(reader.group_id)
    workers = () if isinstance(connect, Skipped) else connect.workers.values()
    answer = any(isinstance(each, WorkerFacts) for each in workers)
    against = None if isinstance(group, Skipped) else group.objection(workers_answer=answer)
    if against is not None:
        raise NO_GROUP.finding(reader.group_id, against, {}).as_usage_error()


def require_workers_group(reader: ClusterReader) -> None:
    """As require_group, asking workers for nothing else."""
    with reader.optional_reads(), reader.sparing_workers():
        require_group(reader, read_or_skip(reader.connect))
