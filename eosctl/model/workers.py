"""A Connect cluster as its workers' REST interface describes it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.versions import KafkaVersion


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """One worker that answered `GET /`: its URL, version and the Kafka cluster that it keeps its topics in."""

    url: str
    version: str
    kafka_cluster_id: str


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """State (RUNNING, FAILED, PAUSED, UNASSIGNED, …) of one task and the worker that runs it.

    cause is the last cause that the trace of a FAILED task names, None where it names none.
    """

    task: int
    state: str
    worker_id: str
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """A connector and its tasks; type is "source", "sink" or None where the worker does not know the plugin."""

    name: str
    type: str | None
    state: str
    tasks: tuple[TaskStatus, ...]

    @property
    def running_tasks(self) -> tuple[int, ...]:
        """Indexes of the tasks that run now."""
        return tuple(sorted(status.task for status in self.tasks if status.state == "RUNNING"))

    @property
    def producing_tasks(self) -> tuple[int, ...]:
        """Indexes of the tasks that may have a producer: those that run, and those that are PAUSED.

        These keep theirs, unless they were started while PAUSED: then they have none before they are resumed.
        """
        return tuple(sorted(status.task for status in self.tasks if status.state in {"RUNNING", "PAUSED"}))


@dataclass(frozen=True, slots=True)
class ConnectFacts:
    """The workers at the given URLs (those that did not answer are Skipped) and the connectors of their cluster."""

    workers: Mapping[str, WorkerFacts | Skipped]
    connectors: Mapping[str, ConnectorStatus]

    @property
    def types(self) -> dict[str, str]:
        """Connector name to "source" or "sink", for those whose type is known."""
        return {name: status.type for name, status in self.connectors.items() if status.type is not None}

    @property
    def running_tasks(self) -> dict[str, int]:
        """Connector name to the number of its tasks that run."""
        return {name: len(status.running_tasks) for name, status in self.connectors.items()}


def version_of(worker: WorkerFacts) -> KafkaVersion | Skipped:
    """The version that the worker names; one whose build left none behind answers `unknown` (AppInfoParser)."""
    try:
        return KafkaVersion.parse(worker.version)
    except ValueError:
        return Skipped(f"{worker.url} names no version: {worker.version!r}", Cause.UNDECODABLE)


def oldest_version(workers: Iterable[WorkerFacts | Skipped]) -> KafkaVersion | Skipped:
    """The oldest version that these workers name; Skipped where none names one."""
    versions = [each if isinstance(each, Skipped) else version_of(each) for each in workers]
    unknown = [each for each in versions if isinstance(each, Skipped)]
    known = [each for each in versions if not isinstance(each, Skipped)]
    return min(known, default=unknown[-1] if unknown else not_asked("no worker was asked for its version"))


def place_of(url: str) -> str:
    """Host and port of a REST address, as far as two spellings of it are the same."""
    scheme, separator, rest = url.rpartition("://")
    host = rest.partition("/")[0].rpartition("@")[2].lower()
    _, colon, port = host.rpartition(":")
    known = colon and port.isdecimal()
    return host if known else f"{host}:{443 if separator and scheme == 'https' else 80}"


def is_loopback(place: str) -> bool:
    """Whether `host:port` leads every host to itself."""
    host = place.rpartition(":")[0]
    return host in {"localhost", "[::1]"} or host.startswith("127.")
