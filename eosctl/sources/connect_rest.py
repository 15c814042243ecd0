"""The Connect REST interface, as far as eosctl reads it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

from msgspec.structs import replace

from eosctl.clients import rest
from eosctl.clients.deadline import Deadline
from eosctl.clients.rest import NotFound, RestClient, expanded_connectors
from eosctl.clients.rest_identity import (
    DiscoveredUrl,
    decoding,
    list_of,
    object_of,
    sanitized,
    task_number,
    text_of,
    texts_of,
)
from eosctl.codecs.secrets import mask_properties
from eosctl.errors import EosctlError, Undecodable, Unreachable
from eosctl.model import evidence
from eosctl.model.client_roles import class_name
from eosctl.model.skipped import Cause, Skipped, read_or_skip
from eosctl.model.workers import (
    ConnectFacts,
    ConnectorStatus,
    KnownPhase,
    TaskStatus,
    WorkerFacts,
    connector_path,
    version_of,
)

if TYPE_CHECKING:
    from eosctl.model.client_roles import ConnectorConfig
    from eosctl.model.offsets import ConnectorOffset


CAUSED_BY: Final = "Caused by: "
FRAMES: Final = ("at ", "... ")
MOST_LINES: Final = 20
"""Of a trace, and each line is cut as well: a snapshot keeps those of all FAILED tasks."""


KnownWorkers = Mapping[str, WorkerFacts]
NONE_KNOWN: Final[KnownWorkers] = MappingProxyType({})


def read_connect(urls: Sequence[str], timeout_s: float, known: KnownWorkers = NONE_KNOWN) -> ConnectFacts:
    """The workers at `urls`, asked in parallel unless known, and the connectors as the first of them knows them.

    A worker that fails is Skipped with the reason; when all fail, the first one's error is raised.
    """
    workers = read_workers(urls, timeout_s, known)
    alive = [url for url, worker in workers.items() if isinstance(worker, WorkerFacts)]
    return ConnectFacts(workers, read_first_connectors(alive, timeout_s))


def read_workers(urls: Sequence[str], timeout_s: float, known: KnownWorkers) -> dict[str, WorkerFacts | Skipped]:
    """The workers at `urls`, asked in parallel unless known; one that fails is Skipped.

    When all fail the first error is raised.
    """
    asked = [url for url in urls if url not in known]
    answers = dict(zip(asked, rest.at_once(partial(_worker_or_error, timeout_s), asked, most=16), strict=True))
    found = {url: known[url] if url in known else answers[url] for url in urls}
    errors = [each for each in found.values() if isinstance(each, EosctlError)]
    if len(errors) == len(found):
        raise errors[0]
    return {url: Skipped.of(worker) if isinstance(worker, EosctlError) else worker for url, worker in found.items()}


def _worker_or_error(timeout_s: float, url: str) -> WorkerFacts | EosctlError:
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
    with RestClient(url, timeout_s) as rest:
        body = rest.get("/")
    if not isinstance(body, dict) or not all(isinstance(body.get(key), str) for key in ("version", "kafka_cluster_id")):
        raise Undecodable(
            f"{url} does not answer as a Connect worker does", hint="GET / must give version and kafka_cluster_id"
        )
    return WorkerFacts(url, body["version"], body["kafka_cluster_id"])


def read_connectors(url: str, timeout_s: float) -> dict[str, ConnectorStatus]:
    with RestClient(url, timeout_s) as rest:
        found = expanded_connectors(rest, "status", "info")
    with decoding(f"{url}/connectors answered an entry that is not a connector's"):
        return {name: connector_status(name, entry) for name, entry in sorted(found.items())}


def read_connector(rest: RestClient, name: str) -> ConnectorStatus | None:
    """The status of one connector; None where it does not exist."""
    try:
        body = rest.get(f"{connector_path(name)}/status")
    except NotFound:
        return None
    with decoding(f"{rest.url} answered something else than the status of connector {name}"):
        return connector_status(name, {"status": object_of(body)})


def connector_status(name: str, entry: Mapping[str, object]) -> ConnectorStatus:
    """A connector by the worker's `status`, and its `info` where that is there too. KeyError or TypeError for another
    form."""
    status = object_of(entry["status"])
    kind = object_of(entry.get("info", {})).get("type") or status.get("type")
    connector = object_of(status["connector"])
    worker_id = connector.get("worker_id")
    return ConnectorStatus(
        name=name,
        type=kind if kind in {"source", "sink"} else None,
        state=text_of(connector["state"]),
        tasks=tuple(
            TaskStatus(
                task_number(task["id"]),
                text_of(task["state"]),
                text_of(task["worker_id"]),
                _last_cause(task.get("trace")),
                _without_frames(task.get("trace")),
            )
            for task in list_of(status["tasks"])
        ),
        worker_id=worker_id if isinstance(worker_id, str) and worker_id else None,
        trace=_without_frames(connector.get("trace")),
    )


def _last_cause(trace: object) -> str | None:
    """The innermost exception of a task's stack trace with its message, without what looks like a secret in it."""
    if not isinstance(trace, str) or not trace.strip():
        return None
    causes = [line for line in trace.splitlines() if line.startswith(CAUSED_BY)]
    return _exception(causes[-1] if causes else trace.strip().splitlines()[0])


def _exception(line: str) -> str:
    name, colon, message = line.removeprefix(CAUSED_BY).partition(": ")
    return f"{sanitized(name)}{colon}{sanitized(message)}"


def _without_frames(trace: object) -> str | None:
    """The exceptions of a stack trace with their messages, the outermost first, without what looks like a secret."""
    if not isinstance(trace, str) or not trace.strip():
        return None
    lines = (line for line in trace.strip().splitlines() if line.strip() and not line.lstrip().startswith(FRAMES))
    said = [f"{CAUSED_BY if line.startswith(CAUSED_BY) else ''}{_exception(line)}" for line in lines]
    return "\n".join(said if len(said) <= MOST_LINES else [*said[: MOST_LINES // 2], *said[-MOST_LINES // 2 :]])


def read_active_topics(
    urls: Sequence[str], connectors: Sequence[str], timeout_s: float
) -> dict[str, tuple[str, ...] | Skipped]:
    """`GET /connectors/{c}/topics` (KIP-558): the topics that each connector was seen to use since its last reset.

    A connector that was deleted meanwhile has none. Skipped if the worker answers 403 because topics are not tracked.
    Raises the last error if no worker answers.
    """
    failure: EosctlError = Unreachable("no Connect worker was given")
    for url in urls:
        try:
            with RestClient(url, timeout_s) as client:
                found = rest.at_once(partial(_active_topics, client), connectors)
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


T = TypeVar("T")
Infos = Mapping[str, Mapping[str, Any]]
"""Type and config of each connector, by name."""

HEARTBEAT: Final = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
NOT_ENABLED: Final = "does not have exactly-once source support enabled"


def read_connector_configs(urls: Sequence[str], timeout_s: float) -> Mapping[str, Mapping[str, object]]:
    """Source connectors' configs by name, masked, from the first worker that answers."""

    def decode(infos: Infos, _: str) -> Mapping[str, Mapping[str, object]]:
        return {name: mask_properties(info["config"]) for name, info in infos.items() if info.get("type") != "sink"}

    return _first_infos(urls, timeout_s, decode)


def read_client_configs(urls: Sequence[str], timeout_s: float) -> Mapping[str, ConnectorConfig]:
    """Every connector's config by name, with its secrets, from the first worker that answers."""

    def decode(infos: Infos, url: str) -> Mapping[str, ConnectorConfig]:
        return {name: _client_config(name, info, url) for name, info in sorted(infos.items())}

    return _first_infos(urls, timeout_s, decode)


def _client_config(name: str, info: Mapping[str, Any], url: str) -> ConnectorConfig:
    from eosctl.codecs.connector_files import known_connector

    connector = known_connector(info["config"], url, name)
    # A worker that lacks the connector's plugin calls the type unknown; then its settings decide.
    return replace(connector, type=info["type"] if info.get("type") in {"source", "sink"} else None)


def _first_infos(urls: Sequence[str], timeout_s: float, decode: Callable[[Infos, str], T]) -> T:
    failure: EosctlError | None = None
    for url in urls:
        try:
            with RestClient(url, timeout_s) as rest:
                body = expanded_connectors(rest, "info")
            with decoding(f"{url}/connectors answered an entry that is not a connector's"):
                infos = {name: object_of(entry["info"]) for name, entry in body.items()}
                configs = {name: object_of(info["config"]) for name, info in infos.items()}
                return decode({name: {**info, "config": configs[name]} for name, info in infos.items()}, url)
        except EosctlError as error:
            failure = failure or error
    assert failure is not None
    raise failure


def read_answers(
    urls: Sequence[str], connectors: Iterable[str], timeout_s: float
) -> Mapping[str, tuple[ConnectorOffset, ...] | Skipped]:
    """`GET /connectors/{c}/offsets` of each; one that they cannot report (before 3.5) is missing; Skipped where they
    fail.
    """
    found: dict[str, tuple[ConnectorOffset, ...] | Skipped] = {}
    for name in connectors:
        answer = read_or_skip(partial(rest.ask_worker, urls, timeout_s, partial(rest.answered_offsets, connector=name)))
        found |= {} if answer is None else {name: answer}
    return found


def read_config_digest(connector: str, worker: RestClient) -> str | None:
    """The digest of its config; None where it does not exist."""
    from eosctl.codecs.connector_files import config_digest

    config = rest.config_of(worker, connector)
    return None if config is None else config_digest(config)


ENDED: Final = frozenset({"UNASSIGNED", "FAILED", "DESTROYED", "STOPPED"})
PAUSE_S: Final = 0.1


def await_end(connector: str, timeout_s: float, worker: RestClient) -> tuple[str, ...]:
    """For a connector that does not exist: returns when no task of it is left, or the remaining ones at the
    deadline."""
    deadline = Deadline(timeout_s)
    while running := _tasks_left(connector, worker):
        if not deadline.pause(PAUSE_S):
            break
    return running


def _tasks_left(connector: str, worker: RestClient) -> tuple[str, ...]:
    """Numbers of the tasks that go on by their status; workers forget it once the tasks have ended."""
    path = f"{connector_path(connector)}/status"
    try:
        body = worker.get(path)
    except NotFound:
        return ()
    with decoding(f"{worker.url}{path} answered no status of a connector"):
        tasks = list_of(object_of(body)["tasks"])
        return tuple(str(task_number(each["id"])) for each in tasks if text_of(each["state"]) not in ENDED)


def probe_source_support(url: str, timeout_s: float) -> bool | Skipped:
    """True if this worker has exactly-once enabled, by validating a connector that requires it.

    The worker answers about itself and writes nothing. False stands for `preparing` too, which keeps offsets in the
    same way. Skipped if it does not answer, or has no source connector.
    """
    try:
        with RestClient(url, timeout_s) as rest:
            return _is_enabled(rest)
    except EosctlError as error:
        return Skipped.of(error)


def common_support(enabled: Mapping[str, bool | Skipped]) -> KnownPhase | Skipped:
    """The workers' common answer: Skipped if one is missing, or if they differ."""
    for each in enabled.values():
        if isinstance(each, Skipped):
            return each
    if len(set(enabled.values())) > 1:
        without = ", ".join(url for url, each in enabled.items() if not each)
        return Skipped(f"the workers differ: {without} has it not enabled", Cause.MIXED)
    return KnownPhase.ENABLED if all(enabled.values()) else KnownPhase.NOT_ENABLED


def _is_enabled(rest: RestClient) -> bool | Skipped:
    body = rest.get("/connector-plugins")
    with decoding(f"{rest.url}/connector-plugins answered no list of plugins"):
        plugins = [object_of(each) for each in list_of(body)]
        sources = [text_of(each["class"]) for each in plugins if each.get("type") == "source"]
    if not sources:
        return Skipped(f"{rest.url} has no source connector to ask about")
    with decoding(f"{rest.url}/connectors answered an entry that is not a connector's"):
        config = _probing_config(rest, sources)
    name = quote(config["connector.class"], safe="")
    body = rest.request("PUT", f"/connector-plugins/{name}/config/validate", config).body
    return not any(NOT_ENABLED in text for each in validated_values(body, rest.url) for text in each["errors"])


def _probing_config(rest: RestClient, sources: Sequence[str]) -> Mapping[str, str]:
    """A config with which a worker shows whether it has exactly-once enabled, and logs no error.

    A connector whose config misses a required setting throws when asked about its support, and the worker logs that
    with ERROR (DistributedHerder.validateSourceConnectorExactlyOnceSupport). MirrorHeartbeatConnector comes with Kafka
    and is not asked: it inherits SourceConnector's answer. Otherwise an existing connector's whole config is used,
    which the worker has already. Without one, the first plugin is validated with a config that may be too short for it.
    """
    required = {"tasks.max": "1", "exactly.once.support": "required"}
    if HEARTBEAT in sources:
        return {"name": "eosctl", "connector.class": HEARTBEAT, **required}
    for each in expanded_connectors(rest, "info", "status").values():
        info = object_of(each.get("info", {}))
        if info.get("type") == "source" and not _has_failed(each):
            config = {key: value for key, value in object_of(info["config"]).items() if isinstance(value, str)}
            if "connector.class" in config:
                return {**config, "exactly.once.support": "required"}
    return {"name": "eosctl", "connector.class": sources[0], **required}


def validated_values(body: object, url: str) -> list[Mapping[str, Any]]:
    """The values, with their errors, in an answer to `PUT …/config/validate`; Undecodable where it is none."""
    otherwise = f"{url} answered the validation of a config with something else"
    with decoding(otherwise):
        values = [object_of(each["value"]) for each in list_of(object_of(body)["configs"])]
        found: list[Mapping[str, Any]] = [{**each, "errors": texts_of(each.get("errors", []))} for each in values]
    if not found:
        raise Undecodable(otherwise)
    return found


# The workers' reports about themselves and about connectors, requested in parallel. Nothing is written.  The validate
# probe: a worker that validates a connector with `exactly.once.support=required` answers with an error about itself
# unless its own exactly.once.source.support is enabled (KIP-618). It answers by itself, without the leader. The
# endpoint by which workers have the leader fence is never called.


PARALLEL: Final = 32
NOT_PROBED: Final = Skipped(
    "its exactly.once.source.support is read with a PUT, which eosctl sends only to workers that you name: give its "
    "--connect-url, or its properties file"
)
PREFLIGHT_FIELDS: Final = frozenset({"exactly.once.support", "transaction.boundary", "connector.plugin.version"})

Workers = Mapping[str, "evidence.WorkerEvidence | EosctlError"]
Plugins = Mapping[str, tuple[str, ...]]


def read_worker_evidence(
    urls: Sequence[str], timeout_s: float, probed: Mapping[str, bool] = MappingProxyType({})
) -> Workers:
    """Each worker's evidence by its address, or why there is none; those in `probed` are not probed again."""

    def attempt(url: str) -> evidence.WorkerEvidence | EosctlError:
        try:
            return _worker(url, timeout_s, probed)
        except EosctlError as error:
            return error

    return dict(zip(urls, rest.at_once(attempt, urls, PARALLEL), strict=True))


def _worker(url: str, timeout_s: float, probed: Mapping[str, bool]) -> evidence.WorkerEvidence:
    facts = read_worker(url, timeout_s)
    version = version_of(facts)
    enabled: bool | Skipped | None = probed.get(url)
    if enabled is None:
        enabled = NOT_PROBED if isinstance(url, DiscoveredUrl) else probe_source_support(url, timeout_s)
    names, plugins = (
        read_or_skip(lambda: _connector_names(url, timeout_s)),
        read_or_skip(lambda: _plugins(url, timeout_s)),
    )
    return evidence.WorkerEvidence(url, version, facts.kafka_cluster_id, enabled, names, plugins)


def _connector_names(url: str, timeout_s: float) -> frozenset[str]:
    with RestClient(url, timeout_s) as rest:
        body = rest.get("/connectors")
    with decoding(f"{url}/connectors answered no list of connectors"):
        return frozenset(texts_of(body))


def _plugins(url: str, timeout_s: float) -> Plugins:
    """Connector classes with the versions of each; a worker names the newest last (PluginDesc.compareTo)."""
    with RestClient(url, timeout_s) as rest:
        body = rest.get("/connector-plugins")
    found: dict[str, tuple[str, ...]] = {}
    with decoding(f"{url}/connector-plugins answered no list of plugins"):
        for each in map(object_of, list_of(body)):
            found[text_of(each["class"])] = (*found.get(text_of(each["class"]), ()), str(each.get("version")))
    return found


def read_preflight(
    urls: Sequence[str], timeout_s: float, connectors: Collection[str] | None = None
) -> Mapping[str, evidence.Preflight]:
    """The answer of each of these source connectors (None: all) when exactly-once is required.

    Configs are read from the first worker; they are not kept. One worker of every set of versions of its plugin
    validates each, in turn. A worker's answer about itself is left out. A FAILED connector is skipped: it did not start
    with its config, and a worker that validates such a config logs an error.
    """
    with RestClient(urls[0], timeout_s) as client:
        body = expanded_connectors(client, "info", "status")
    if not all("info" in each for each in body.values()):
        raise Undecodable(f"{urls[0]}/connectors answered something else than connectors with their configs")
    entries = {name: entry for name, entry in sorted(body.items()) if connectors is None or name in connectors}
    configs = {name: entry["info"]["config"] for name, entry in entries.items() if _is_source(entry)}
    clients = {url: RestClient(url, timeout_s) for url in urls}
    try:
        several = urls if len(urls) > 1 else ()
        known = rest.at_once(lambda url: read_or_skip(lambda: _plugins(url, timeout_s)), several, PARALLEL)
        plugins = dict(zip(urls, known, strict=False))
        asked = [
            (name, url)
            for number, (name, config) in enumerate(configs.items())
            if not _has_failed(entries[name])
            for url in _unlike(plugins, str(config.get("connector.class", "")), number) or urls
        ]

        def answer(question: tuple[str, str]) -> tuple[str, ...] | Skipped:
            name, url = question
            return read_or_skip(lambda: _messages(clients[url], configs[name]))

        found = dict(zip(asked, rest.at_once(answer, asked, PARALLEL), strict=True))
    finally:
        for client in clients.values():
            client.__exit__()
    answers = {name: {url: each for (of, url), each in found.items() if of == name} for name in configs}
    return {
        name: evidence.Preflight(
            each or {urls[0]: Skipped(f"connector {name} is FAILED, and its config is not validated")}
        )
        for name, each in answers.items()
    }


def _has_failed(entry: Mapping[str, Any]) -> bool:
    """True if the connector itself, not a task of it, is FAILED."""
    status = entry.get("status")
    connector = status.get("connector") if isinstance(status, dict) else None
    return isinstance(connector, dict) and connector.get("state") == "FAILED"


def _unlike(plugins: Mapping[str, Plugins | Skipped], connector_class: str, turn: int) -> list[str]:
    """One worker of each set of versions of this class, the turn decides which; none where no plugins were read."""
    alike: dict[object, list[str]] = {}
    for url, known in plugins.items():
        versions: object = url
        if not isinstance(known, Skipped):
            versions = tuple(each for name, each in known.items() if class_name(name) == class_name(connector_class))
        alike.setdefault(versions, []).append(url)
    return [urls[turn % len(urls)] for urls in alike.values()]


def _is_source(entry: object) -> bool:
    info = entry.get("info") if isinstance(entry, dict) else None
    return isinstance(info, dict) and info.get("type") == "source" and isinstance(info.get("config"), dict)


def _messages(rest: RestClient, config: Mapping[str, object]) -> tuple[str, ...]:
    name = str(config.get("connector.class", ""))
    asked = {**config, "exactly.once.support": "required"}
    body = rest.request("PUT", f"/connector-plugins/{quote(name, safe='')}/config/validate", asked).body
    values = validated_values(body, rest.url)
    with decoding(f"{rest.url} answered the validation of a config with something else"):
        errors = [text for value in values if value.get("name") in PREFLIGHT_FIELDS for text in value["errors"]]
    return tuple(sanitized(text) for text in errors if NOT_ENABLED not in text)
