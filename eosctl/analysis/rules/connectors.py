"""Rules about source connectors: whether they can do exactly-once, and overrides that spoil it."""

from collections.abc import Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import connectors as kinds
from eosctl.analysis.connect_requests import for_connector, restart_tasks
from eosctl.analysis.rules.workers import probes
from eosctl.model.connectors import connector_path
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding
from eosctl.model.rules import Rule, Versions, Whose
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.versions import KafkaVersion

PRODUCER: Final = "producer.override."
TIMEOUT: Final = "transaction.timeout.ms"
DEFAULT_TIMEOUT_MS: Final = 60_000
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
MIRROR_SOURCE: Final = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
MIRROR_ISOLATION: Final = ("source.consumer.isolation.level", "consumer.isolation.level")
"""Where MirrorConnectorConfig.sourceConsumerConfig takes it from, the first that is set."""
SAYS_NOTHING: Final = "does not implement the API required for preflight validation"
"""A connector that answers null, as FileStreamSource did until 3.3: that is unknown and not unsupported."""
DEDICATED_REST: Final = "dedicated.mode.enable.internal.rest"
IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
MOST_IN_FLIGHT: Final = 5
FLUSH: Final = "offset.flush.interval.ms"
DEFAULT_FLUSH_MS: Final = 60_000


def _configs(evidence: Evidence) -> Iterator[tuple[str, Mapping[str, object]]]:
    for name in evidence.sources():
        if config := evidence.config(name):
            yield name, config


def _text(config: Mapping[str, object], key: str) -> str | None:
    value = config.get(key)
    return None if value is None else str(value)


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().lstrip("-").isdecimal() else None


def _unsupported(evidence: Evidence) -> Iterator[Finding | Skipped]:
    answers = {} if isinstance(evidence.preflight, Skipped) else evidence.preflight
    for name, messages in answers.items():
        if isinstance(messages, Skipped):
            yield Skipped(f"{name} could not be validated: {messages.reason}")
            continue
        if any(SAYS_NOTHING in each for each in messages):
            yield Skipped(f"{name} does not say whether it supports exactly-once: ask its documentation")
        reported = [each for each in messages if SAYS_NOTHING not in each]
        if reported:
            text = f"with exactly.once.support=required the worker would refuse it: {'; '.join(reported)}"
            yield kinds.UNSUPPORTED.finding(name, text, {"messages": reported})


def _never_asked(evidence: Evidence) -> Iterator[Finding]:
    _, others, _ = probes(evidence)
    answers = {} if isinstance(evidence.preflight, Skipped) else evidence.preflight
    for name, config in _configs(evidence):
        messages = answers.get(name, ())
        says_nothing = not isinstance(messages, Skipped) and any(SAYS_NOTHING in each for each in messages)
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
        idempotence = _text(config, f"{PRODUCER}enable.idempotence")
        keys = [f"{PRODUCER}transactional.id"] if f"{PRODUCER}transactional.id" in config else []
        if idempotence is not None and idempotence.lower() != "true":
            keys.append(f"{PRODUCER}enable.idempotence")
        keys += [key for key in ("consumer.override.isolation.level",) if _text(config, key) == "read_uncommitted"]
        for key in keys:
            cure = f"remove {key} from the config: PUT {connector_path(name)}/config"
            yield kinds.IGNORED.finding(name, f"{key} is replaced by the worker's own value", {"key": key}, cure=cure)


def _settings(evidence: Evidence, config: Mapping[str, object], key: str) -> dict[str, str]:
    """What the tasks' producers are given for a setting, by where it is set: the connector's config, else worker files.

    Worker.baseProducerConfigs: the worker's `producer.` settings, then the connector's `producer.override.` ones.
    """
    own = _text(config, PRODUCER + key)
    if own is not None:
        return {PRODUCER + key: own}
    return {f"producer.{key} of {file}": value for file, value in evidence.configured(f"producer.{key}").items()}


def _breaking(evidence: Evidence) -> Iterator[Finding]:
    for name, config in _configs(evidence):
        wrong = {key: value for key, value in _settings(evidence, config, "acks").items() if not _all(value)}
        in_flight = _settings(evidence, config, IN_FLIGHT).items()
        wrong |= {key: value for key, value in in_flight if (_whole(value) or 0) > MOST_IN_FLIGHT}
        wrong |= {key: value for key, value in _settings(evidence, config, "retries").items() if value.strip() == "0"}
        for key, value in wrong.items():
            message = (
                f"{key}={value} contradicts idempotence: the tasks' producers cannot be made, all tasks turn FAILED"
            )
            of_connector = key.startswith(PRODUCER)
            cure = f"remove {key} from the config: PUT {connector_path(name)}/config"
            yield kinds.BREAKING.finding(
                name,
                message,
                {"key": key, "value": value},
                cure=cure if of_connector else f"remove {key} and restart the workers one by one",
            )


def _all(acks: str) -> bool:
    return acks.strip().lower() in {"all", "-1"}


def _timeouts(evidence: Evidence, config: Mapping[str, object]) -> list[int | None]:
    """The transaction timeouts of the tasks' producers, by worker; None for one that cannot be read."""
    found = [_whole(value) for value in _settings(evidence, config, TIMEOUT).values()]
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    inherited = PRODUCER + TIMEOUT not in config and len(found) < max(1, len(files))
    return [*found, DEFAULT_TIMEOUT_MS] if inherited else found


def _timeout(evidence: Evidence) -> Iterator[Finding | Skipped]:
    limits, skipped = _limits(evidence)
    yield from skipped
    for name, config in _configs(evidence):
        timeouts = _timeouts(evidence, config)
        known = [each for each in timeouts if each is not None]
        if len(known) < len(timeouts):
            yield Skipped(f"{TIMEOUT} of the producers of {name} is not a number that can be read")
        elif _text(config, f"{PRODUCER}bootstrap.servers") is not None:
            yield Skipped(f"{name} writes to other bootstrap.servers, and {MAX_TIMEOUT} there was not read")
        elif limits and max(known) > min(limits):
            message = (
                f"its producers ask for {TIMEOUT}={max(known)}, the brokers allow {min(limits)} at most: no task starts"
            )
            yield kinds.TOO_LONG.finding(
                name, message, {"transaction_timeout_ms": max(known), "broker_maximum_ms": min(limits)}
            )


def _limits(evidence: Evidence) -> tuple[list[int], list[Skipped]]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    reported = [each for each in brokers.values() if not isinstance(each, Skipped)]
    return (
        [int(each[MAX_TIMEOUT]) for each in reported if MAX_TIMEOUT in each],
        [each for each in brokers.values() if isinstance(each, Skipped)],
    )


def _interval(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for name, config in _configs(evidence):
        if (_text(config, "transaction.boundary") or "poll").lower() != "interval":
            continue
        timeouts, interval = _timeouts(evidence, config), _interval_ms(evidence, config)
        known = [each for each in timeouts if each is not None]
        if interval is None:
            yield not_asked(f"the interval of {name} is the workers' {FLUSH}: give --worker-config")
        elif len(known) < len(timeouts):
            yield Skipped(f"{TIMEOUT} of the producers of {name} is not a number that can be read")
        elif interval >= min(known):
            message = (
                f"transactions last {interval} ms by its interval and {min(known)} ms by {TIMEOUT}: the broker aborts "
                "them"
            )
            cure = (
                f"set transaction.boundary.interval.ms below {min(known)}, or raise {PRODUCER}{TIMEOUT}: PUT "
                f"{connector_path(name)}/config"
            )
            yield kinds.INTERVAL.finding(
                name, message, {"interval_ms": interval, "transaction_timeout_ms": min(known)}, cure=cure
            )


def _interval_ms(evidence: Evidence, config: Mapping[str, object]) -> int | None:
    """The longest interval that a worker would take; None where no file tells."""
    if "transaction.boundary.interval.ms" in config:
        return _whole(_text(config, "transaction.boundary.interval.ms"))
    if isinstance(evidence.worker_files, Skipped):
        return None
    found = [_whole(each.get(FLUSH, str(DEFAULT_FLUSH_MS))) for each in evidence.worker_files.values()]
    return None if None in found else max((each for each in found if each is not None), default=None)


def _mirror(evidence: Evidence) -> Iterator[Finding]:
    for name, config in _configs(evidence):
        if _text(config, "connector.class") not in {MIRROR_SOURCE, "MirrorSourceConnector", "MirrorSource"}:
            continue
        levels = {key: level for key in MIRROR_ISOLATION if (level := _text(config, key)) is not None}
        if next(iter(levels.values()), "").lower() != "read_committed":
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
            message = f"{len(failed)} of its {len(status.tasks)} tasks are FAILED"
            cure = f"read why: GET {connector_path(name)}/status; then restart them: {restart_tasks(name, failed)}"
            yield kinds.FAILED.finding(name, message, {"tasks": failed}, cure=cure)


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
