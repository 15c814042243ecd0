"""Rules about source connectors: whether they can do exactly-once, and overrides that spoil it."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import connectors as kinds
from eosctl.analysis.client_configs import refused_by_producer
from eosctl.analysis.connect_requests import for_connector, put_config, restart_tasks
from eosctl.analysis.explanations import explain_error
from eosctl.analysis.rules.client_configs import clients_of, connector_config, servers_elsewhere
from eosctl.analysis.rules.workers import probes
from eosctl.model.client_configs import ClientConfig, known_number
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ClientRole
from eosctl.model.connectors import connector_path
from eosctl.model.counts import counted
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding
from eosctl.model.rules import Rule, Versions, Whose
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import whole_number

PRODUCER: Final = "producer.override."
FORCED: Final = {
    "producer.override.transactional.id": ClientRole.PRODUCER,
    "producer.override.enable.idempotence": ClientRole.PRODUCER,
    "consumer.override.isolation.level": ClientRole.CONSUMER,
}
"""The overrides that workers with exactly-once replace."""
TIMEOUT: Final = "transaction.timeout.ms"
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
ISOLATION: Final = "isolation.level"
SAYS_NOTHING: Final = "does not implement the API required for preflight validation"
"""A connector that answers null, as FileStreamSource did until 3.3: that is unknown and not unsupported."""
DEDICATED_REST: Final = "dedicated.mode.enable.internal.rest"
INTERVAL: Final = "transaction.boundary.interval.ms"
FLUSH: Final = "offset.flush.interval.ms"
DEFAULT_FLUSH_MS: Final = "60000"


def _configs(evidence: Evidence) -> Iterator[tuple[str, Mapping[str, object]]]:
    for name in evidence.sources():
        if config := evidence.config(name):
            yield name, config


def _text(config: Mapping[str, object], key: str) -> str | None:
    value = config.get(key)
    return None if value is None else str(value)


def _unsupported(evidence: Evidence) -> Iterator[Finding | Skipped]:
    answers = {} if isinstance(evidence.preflight, Skipped) else evidence.preflight
    for name, answer in answers.items():
        yield from (Skipped(f"{name} could not be validated: {each.reason}") for each in answer.unread)
        if any(SAYS_NOTHING in each for each in answer.messages):
            yield Skipped(
                f"{name} does not say whether it supports exactly-once (exactlyOnceSupport() returns null): its "
                f"documentation or a newer release may; `eosctl audit --connector {name}` judges what it wrote so far"
            )
        reported = [each for each in answer.messages if SAYS_NOTHING not in each]
        if reported:
            text = f"with exactly.once.support=required the worker would refuse it: {'; '.join(reported)}"
            yield kinds.UNSUPPORTED.finding(name, text, {"messages": reported})


def _never_asked(evidence: Evidence) -> Iterator[Finding]:
    _, others, _ = probes(evidence)
    answers = {} if isinstance(evidence.preflight, Skipped) else evidence.preflight
    for name, config in _configs(evidence):
        says_nothing = name in answers and any(SAYS_NOTHING in each for each in answers[name].messages)
        if says_nothing or (_text(config, "exactly.once.support") or "requested").lower() == "required":
            continue
        text = "exactly.once.support is not `required`: the worker does not check whether the connector supports it"
        cure = for_connector(kinds.NEVER_ASKED.fix, name)
        later = f"when every worker is enabled, for it is refused (400) until then: {cure}"
        yield kinds.NEVER_ASKED.finding(name, text, cure=later if others else cure)


def _ignored(evidence: Evidence) -> Iterator[Finding | Skipped]:
    enabled, others, unknown = probes(evidence)
    if not enabled and (others or unknown):
        yield from unknown.values()
        return
    for name, config in _configs(evidence):
        keys = [key for key, role in FORCED.items() if key in config and not _kept(evidence, name, key, role)]
        for key in keys:
            cure = f"remove {key} from the config: PUT {connector_path(name)}/config"
            yield kinds.IGNORED.finding(name, f"{key} is replaced by the worker's own value", {"key": key}, cure=cure)


def _kept(evidence: Evidence, connector: str, key: str, role: ClientRole) -> bool:
    """Whether this override is what the client is handed with exactly-once."""
    setting, override = key.partition(".override.")[2], str(evidence.config(connector)[key])
    return any(each.get(setting) == override for each in clients_of(evidence, connector, role, exactly_once=True))


def _breaking(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for name, _ in _configs(evidence):
        wrong: dict[str, str | None] = {}
        for client in clients_of(evidence, name, ClientRole.PRODUCER, exactly_once=True):
            for key in refused_by_producer(client):
                if isinstance(key, Skipped):
                    yield key
                else:
                    wrong[client.origin(key)] = client.get(key)
        for key, value in wrong.items():
            message = (
                f"{key}={value} is refused by an idempotent producer: the tasks' producers cannot be made, all tasks "
                "turn FAILED"
            )
            cure = f"remove {key} from the config: {put_config(name, evidence.versions)}"
            yield kinds.BREAKING.finding(
                name,
                message,
                {"key": key, "value": value},
                cure=cure if key.startswith(PRODUCER) else f"remove {key} and restart the workers one by one",
            )


def _timeouts(clients: Iterable[ClientConfig]) -> tuple[list[int], list[Skipped]]:
    """The transaction timeouts of the tasks' producers that are known, and why the others are not."""
    found = [each.number(TIMEOUT) for each in clients]
    return [each for each in found if isinstance(each, int)], [each for each in found if isinstance(each, Skipped)]


def _timeout(evidence: Evidence) -> Iterator[Finding | Skipped]:
    limits, skipped = _limits(evidence)
    yield from skipped
    for name, _ in _configs(evidence):
        known, unknown = _timeouts(clients_of(evidence, name, ClientRole.PRODUCER, exactly_once=True))
        yield from unknown
        if servers_elsewhere(evidence, name) is not None:
            yield not_asked(f"{name} writes to other bootstrap.servers, and {MAX_TIMEOUT} there was not read")
        elif limits and max(known, default=0) > min(limits):
            message = (
                f"its producers ask for {TIMEOUT}={max(known)}, the brokers allow {min(limits)} at most: no task starts"
            )
            yield kinds.TOO_LONG.finding(
                name,
                message,
                {"transaction_timeout_ms": max(known), "broker_maximum_ms": min(limits)},
                cure=f"{kinds.TOO_LONG.fix}: {put_config(name, evidence.versions)}",
            )


def _limits(evidence: Evidence) -> tuple[list[int], list[Skipped]]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    reported = [each for each in brokers.values() if not isinstance(each, Skipped)]
    return (
        [whole_number(each[MAX_TIMEOUT], MAX_TIMEOUT) for each in reported if MAX_TIMEOUT in each],
        [each for each in brokers.values() if isinstance(each, Skipped)],
    )


def _interval(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for name, config in _configs(evidence):
        if (_text(config, "transaction.boundary") or "poll").lower() != "interval":
            continue
        interval = _interval_ms(evidence, name)
        known, unknown = _timeouts(clients_of(evidence, name, ClientRole.PRODUCER, exactly_once=True))
        if isinstance(interval, Skipped):
            yield interval
            continue
        yield from unknown
        if known and interval >= min(known):
            message = (
                f"transactions last {interval} ms by its interval and {min(known)} ms by {TIMEOUT}: the broker aborts "
                "them"
            )
            cure = (
                f"set transaction.boundary.interval.ms below {min(known)}, or raise {PRODUCER}{TIMEOUT}: "
                f"{put_config(name, evidence.versions)}"
            )
            yield kinds.INTERVAL.finding(
                name, message, {"interval_ms": interval, "transaction_timeout_ms": min(known)}, cure=cure
            )


def _interval_ms(evidence: Evidence, connector: str) -> int | Skipped:
    """The longest interval that a worker would take."""
    own, files = _text(evidence.config(connector), INTERVAL), evidence.worker_files
    if own is not None:
        return known_number(INTERVAL, Property(own, f"{INTERVAL} of {connector}"))
    if isinstance(files, Skipped) or not files:
        return not_asked(f"the interval of {connector} is the workers' {FLUSH}: give --worker-config")
    given = (Property(each.get(FLUSH, DEFAULT_FLUSH_MS), f"{FLUSH} of {name}") for name, each in files.items())
    found = [known_number(FLUSH, each) for each in given]
    unknown = [each for each in found if isinstance(each, Skipped)]
    return unknown[0] if unknown else max(each for each in found if isinstance(each, int))


def _mirror(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for name, _ in _configs(evidence):
        if connector_config(evidence, name).class_name != "MirrorSource":
            continue
        client = next(clients_of(evidence, name, ClientRole.MIRROR_SOURCE_CONSUMER, exactly_once=True))
        level = client.setting(ISOLATION)
        if isinstance(level, Skipped):
            yield level
        elif level.lower() != "read_committed":
            levels = {client.origin(ISOLATION): level}
            message = (
                "its consumer reads uncommitted: records of aborted transactions are mirrored as if they were committed"
            )
            cure = for_connector(kinds.MIRROR.fix, name)
            yield kinds.MIRROR.finding(name, message, {"isolation_levels": levels}, cure=cure)


def _dedicated(evidence: Evidence) -> Iterator[Finding]:
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    for name, properties in files.items():
        enabled = any(
            key.endswith("exactly.once.source.support") and value.lower() == "enabled"
            for key, value in properties.items()
        )
        if "clusters" in properties and enabled and properties.get(DEDICATED_REST, "false").lower() != "true":
            message = (
                f"exactly-once is enabled and {DEDICATED_REST} is not: nodes beside the leader cannot ask it to fence"
            )
            yield kinds.DEDICATED.finding(name, message)


def _failed(evidence: Evidence) -> Iterator[Finding]:
    statuses = {} if isinstance(evidence.statuses, Skipped) else evidence.statuses
    for name, status in statuses.items():
        failed = [task.task for task in status.tasks if task.state == "FAILED"]
        if failed and name in evidence.sources():
            causes = tuple(dict.fromkeys(task.cause for task in status.tasks if task.task in failed and task.cause))
            why = f": {causes[0]}" if causes else ""
            others = f" (and {counted(len(causes) - 1, 'other cause')})" if len(causes) > 1 else ""
            message = f"{len(failed)} of its {len(status.tasks)} tasks are FAILED{why}{others}"
            read = _explained(causes[0]) if causes else f"read why: GET {connector_path(name)}/status"
            cure = f"{read}; then restart them: {restart_tasks(name, failed)}"
            yield kinds.FAILED.finding(name, message, {"tasks": failed, "causes": list(causes)}, cure=cure)


def _explained(cause: str) -> str:
    """What is known of the error that a task failed with, and the command that says more of it."""
    words = shlex.quote(cause.partition(": ")[0].rpartition(".")[2])
    found = explain_error(cause)
    return f"{found[0].title} (`eosctl explain {words}`)" if found else f"remove its cause, {cause.partition(': ')[0]}"


RULES: Final = (
    Rule(
        kinds.UNSUPPORTED,
        "Does every source connector say that it supports exactly-once with its config?",
        needs=("preflight",),
        check=_unsupported,
    ),
    Rule(
        kinds.NEVER_ASKED,
        "Is exactly-once required of every source connector?",
        needs=("inspection",),
        check=_never_asked,
    ),
    Rule(
        kinds.IGNORED,
        "Does every client override take effect?",
        needs=("inspection",),
        check=_ignored,
    ),
    Rule(
        kinds.BREAKING,
        "Can the tasks' producers be idempotent with the connector's overrides?",
        needs=("inspection",),
        check=_breaking,
        blocks=frozenset({"enabled"}),
    ),
    Rule(
        kinds.TOO_LONG,
        "Do the brokers accept the transaction timeout of every connector?",
        needs=("inspection", "brokers"),
        check=_timeout,
        blocks=frozenset({"enabled"}),
    ),
    Rule(
        kinds.INTERVAL,
        "Do transactions by interval end before they time out?",
        needs=("inspection",),
        check=_interval,
        blocks=frozenset({"enabled"}),
    ),
    Rule(
        kinds.MIRROR,
        "Does every MirrorSourceConnector read committed?",
        needs=("inspection",),
        check=_mirror,
    ),
    Rule(
        kinds.DEDICATED,
        "Can the nodes of a dedicated MirrorMaker cluster ask their leader to fence?",
        needs=("worker_files",),
        check=_dedicated,
        versions=Versions(Whose.WORKERS, since=KafkaVersion(3, 5)),
    ),
    Rule(
        kinds.FAILED,
        "Do the tasks of all source connectors run?",
        needs=("statuses",),
        check=_failed,
    ),
)
