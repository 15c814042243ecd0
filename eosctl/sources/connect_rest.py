"""The Connect REST interface, as far as eosctl reads it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from eosctl.clients.rest import NotFound, RestClient
from eosctl.clients.rest_answers import decoding, list_of, object_of, said, task_number, text_of, texts_of
from eosctl.clients.rest_configs import expanded_connectors
from eosctl.errors import EosctlError, Undecodable, Unreachable
from eosctl.model.connectors import connector_path
from eosctl.model.skipped import Skipped
from eosctl.model.workers import ConnectFacts, ConnectorStatus, TaskStatus, WorkerFacts

CAUSED_BY: Final = "Caused by: "


def read_connect(urls: Sequence[str], timeout_s: float) -> ConnectFacts:
    """The workers at `urls`, asked in parallel, and the connectors as the first worker that answers knows them.

    A worker that fails is Skipped with the reason; when all fail, the first one's error is raised.
    """
    workers = read_workers(urls, timeout_s)
    alive = [url for url, worker in workers.items() if isinstance(worker, WorkerFacts)]
    return ConnectFacts(workers, read_first_connectors(alive, timeout_s))


def read_workers(urls: Sequence[str], timeout_s: float) -> dict[str, WorkerFacts | Skipped]:
    """The workers at `urls`, asked in parallel; one that fails is Skipped, when all fail the first error is raised."""
    with ThreadPoolExecutor(max_workers=min(16, len(urls))) as pool:
        found = dict(zip(urls, pool.map(lambda url: _worker_or_error(url, timeout_s), urls), strict=True))
    errors = [each for each in found.values() if isinstance(each, EosctlError)]
    if len(errors) == len(found):
        raise errors[0]
    return {url: Skipped.of(worker) if isinstance(worker, EosctlError) else worker for url, worker in found.items()}


def _worker_or_error(url: str, timeout_s: float) -> WorkerFacts | EosctlError:
    try:
        return read_worker(url, timeout_s)
    except EosctlError as error:
        return error


def read_first_connectors(urls: Sequence[str], timeout_s: float) -> dict[str, ConnectorStatus]:
    """The connectors as the first of these workers that answers knows them; raises the last error where none does."""
    last: EosctlError = Unreachable("no Connect worker was given")
    for url in urls:
        try:
            return read_connectors(url, timeout_s)
        except EosctlError as error:  # the next worker knows the same cluster
            last = error
    raise last


def read_worker(url: str, timeout_s: float) -> WorkerFacts:
    """`GET /`: version and Kafka cluster ID of one worker."""
    with RestClient(url, timeout_s) as rest:
        body = rest.get("/")
    if not isinstance(body, dict) or not all(isinstance(body.get(key), str) for key in ("version", "kafka_cluster_id")):
        raise Undecodable(
            f"{url} does not answer as a Connect worker does", hint="GET / must give version and kafka_cluster_id"
        )
    return WorkerFacts(url, body["version"], body["kafka_cluster_id"])


def read_connectors(url: str, timeout_s: float) -> dict[str, ConnectorStatus]:
    """`GET /connectors?expand=status&expand=info`: every connector with its type and its tasks' states."""
    with RestClient(url, timeout_s) as rest:
        found = expanded_connectors(rest, "status", "info")
    with decoding(f"{url}/connectors answered an entry that is not a connector's"):
        return {name: _connector(name, entry) for name, entry in sorted(found.items())}


def _connector(name: str, entry: dict[str, object]) -> ConnectorStatus:
    status = object_of(entry["status"])
    kind = object_of(entry.get("info", {})).get("type") or status.get("type")
    return ConnectorStatus(
        name=name,
        type=kind if kind in {"source", "sink"} else None,
        state=text_of(object_of(status["connector"])["state"]),
        tasks=tuple(
            TaskStatus(
                task_number(task["id"]),
                text_of(task["state"]),
                text_of(task["worker_id"]),
                _last_cause(task.get("trace")),
            )
            for task in list_of(status["tasks"])
        ),
    )


def _last_cause(trace: object) -> str | None:
    """The innermost exception of a task's stack trace with its message, without what looks like a secret in it."""
    if not isinstance(trace, str) or not trace.strip():
        return None
    causes = [line for line in trace.splitlines() if line.startswith(CAUSED_BY)]
    last = causes[-1] if causes else trace.strip().splitlines()[0]
    name, colon, message = last.removeprefix(CAUSED_BY).partition(": ")
    return f"{said(name)}{colon}{said(message)}"


def read_active_topics(
    urls: Sequence[str], connectors: Sequence[str], timeout_s: float
) -> dict[str, tuple[str, ...] | Skipped]:
    """`GET /connectors/{c}/topics` (KIP-558): the topics that each connector was seen to use since its last reset.

    A connector that is gone meanwhile has none. Skipped where the worker does not say: it answers 403 where topics are
    not tracked. Raises the last error where no worker answers.
    """
    failure: EosctlError = Unreachable("no Connect worker was given")
    for url in urls:
        try:
            with RestClient(url, timeout_s) as rest, ThreadPoolExecutor(max_workers=8) as pool:
                found = pool.map(partial(_active_topics, rest), connectors)
                return dict(zip(connectors, found, strict=True))
        except EosctlError as error:  # the next worker knows the same cluster
            failure = error
    raise failure


def _active_topics(rest: RestClient, connector: str) -> tuple[str, ...] | Skipped:
    path = f"{connector_path(connector)}/topics"
    try:
        body = rest.get(path)
    except NotFound:
        return ()
    except Unreachable:
        raise
    except EosctlError as error:
        return Skipped.of(error)
    try:
        with decoding(f"{rest.url}{path} answered no list of topics"):
            return tuple(sorted(texts_of(object_of(object_of(body)[connector])["topics"])))
    except Undecodable as error:
        return Skipped.of(error)
