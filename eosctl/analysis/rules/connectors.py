"""Rules about source connectors: whether they can do exactly-once, and overrides that spoil it."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from eosctl.analysis.catalogue import connect as kinds
from eosctl.analysis.client_configs import (
    clients_of,
    connector_config,
    override_refusal,
    refused_by_producer,
    servers_elsewhere,
    workers_of,
)
from eosctl.analysis.connect_requests import for_connector, put_config, restart_tasks
from eosctl.analysis.errors import explain_error
from eosctl.analysis.kafka_errors import is_general
from eosctl.analysis.rules.transactions import held_back
from eosctl.analysis.rules.workers import probes
from eosctl.analysis.transaction_log import ENOUGH, LEAST_MS, Quietness, quietness
from eosctl.model.client_properties import Property, split_list
from eosctl.model.client_roles import ClientConfig, ClientRole, known_number
from eosctl.model.evidence import NOT_READ, Evidence, declared_support
from eosctl.model.groups import CONNECT_PROTOCOL, SHARE_PROTOCOL, ShareGroup
from eosctl.model.names import ConnectorTaskId, TopicPartition, task_transactional_id
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule, Versions, Whose
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.model.text import first_few, pluralize
from eosctl.model.times import ClusterClock, lasting
from eosctl.model.topics import MIN_ISR, TopicFacts
from eosctl.model.transaction_log import CommitHistory
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import whole_number
from eosctl.model.workers import SourceSupport, connector_path

PRODUCER: Final = "producer.override."
FORCED: Final = {
    "producer.override.transactional.id": ClientRole.PRODUCER,
    "producer.override.enable.idempotence": ClientRole.PRODUCER,
    "consumer.override.isolation.level": ClientRole.CONSUMER,
}
"""The overrides that workers with exactly-once replace."""
FORCED_IN_FILES: Final = {
    "transactional.id": None,
    "producer.transactional.id": None,
    "producer.enable.idempotence": "true",
    "consumer.isolation.level": "read_committed",
}
"""The settings of worker files that workers with exactly-once replace, and the value that changes nothing."""
TIMEOUT: Final = "transaction.timeout.ms"
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
ISOLATION: Final = "isolation.level"
SAYS_NOTHING: Final = "does not implement the API required for preflight validation"
"""A connector that answers null, as FileStreamSource did until 3.3: that is unknown and not unsupported."""
DEDICATED_REST: Final = "dedicated.mode.enable.internal.rest"
MIRROR_GROUP: Final = "-mm2"
"""MirrorMaker.addHerder: the group.id of each flow is its source cluster with this."""
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
                f"{name} does not declare whether it supports exactly-once (exactlyOnceSupport() returns null); see "
                f"its documentation or a newer release; `eosctl audit --connector {name}` judges its records so far"
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
    yield from _ignored_in_files(evidence)
    enabled, others, unknown = probes(evidence)
    if not enabled and (others or unknown):
        yield from unknown.values()
        return
    for name, config in _configs(evidence):
        keys = [key for key, role in FORCED.items() if key in config and not _kept(evidence, name, key, role)]
        for key in keys:
            cure = f"remove {key} from the config: PUT {connector_path(name)}/config"
            yield kinds.IGNORED.finding(name, f"{key} is replaced by the worker's own value", {"key": key}, cure=cure)


def _ignored_in_files(evidence: Evidence) -> Iterator[Finding]:
    """Settings of workers that are enabled. transactional.id is one that other producers of the worker take."""
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    for name, properties in files.items():
        enabled = declared_support(properties) is SourceSupport.ENABLED
        for key, forced in FORCED_IN_FILES.items() if enabled else ():
            if key in properties and properties[key].lower() != forced:
                message = f"{key}={properties[key]} is replaced by the worker's own value"
                if key == "producer.transactional.id":
                    message += "; producers of dead letter queues take it, and fail because nothing initializes it"
                harmless = forced is not None
                cure = f"remove {key} from {name}, and restart the worker"
                severity = Severity.INFO if harmless else None
                yield kinds.IGNORED.finding(name, message, {"key": key}, cure=cure, severity=severity)


def _kept(evidence: Evidence, connector: str, key: str, role: ClientRole) -> bool:
    """True if the client gets this override with exactly-once."""
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
    return _apart([each.number(TIMEOUT) for each in clients])


def _apart(found: Collection[int | Skipped]) -> tuple[list[int], list[Skipped]]:
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
        interval = interval_ms(evidence, name)
        known, unknown = _timeouts(clients_of(evidence, name, ClientRole.PRODUCER, exactly_once=True))
        if isinstance(interval, Skipped):
            yield interval
            continue
        yield from unknown
        if known and interval >= min(known) / 2:
            yield _interval_finding(evidence, name, interval, min(known))


def _interval_finding(evidence: Evidence, name: str, interval: int, timeout: int) -> Finding:
    aborts = interval >= timeout
    outcome = "aborts them" if aborts else "aborts one to which a poll and a batch add as much again"
    message = f"transactions last {interval} ms by its interval and {timeout} ms by {TIMEOUT}: the broker {outcome}"
    cure = (
        f"set transaction.boundary.interval.ms well below {timeout}, at most {timeout // 2 - 1}, or raise "
        f"{PRODUCER}{TIMEOUT}: {put_config(name, evidence.versions)}"
    )
    evidenced = {"interval_ms": interval, "transaction_timeout_ms": timeout}
    severity = Severity.ERROR if aborts else Severity.WARNING
    return kinds.INTERVAL.finding(name, message, evidenced, cure=cure, severity=severity)


def interval_ms(evidence: Evidence, connector: str) -> int | Skipped:
    """The longest interval that a worker would take."""
    own, files = _text(evidence.config(connector), INTERVAL), evidence.worker_files
    if own is not None:
        return known_number(INTERVAL, Property(own, f"{INTERVAL} of {connector}"))
    if isinstance(files, Skipped) or not files:
        return not_asked(f"the interval of {connector} is the workers' {FLUSH}: give --worker-config")
    given = (Property(each.get(FLUSH, DEFAULT_FLUSH_MS), f"{FLUSH} of {name}") for name, each in files.items())
    known, unknown = _apart([known_number(FLUSH, each) for each in given])
    return unknown[0] if unknown else max(known)


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
        if "clusters" not in properties or not enabled or _is_alone(evidence, properties["clusters"]):
            continue
        if properties.get(DEDICATED_REST, "false").lower() != "true":
            message = (
                f"exactly-once is enabled and {DEDICATED_REST} is not: nodes beside the leader cannot ask it to fence"
            )
            yield kinds.DEDICATED.finding(name, message)


def _is_alone(evidence: Evidence, clusters: str) -> bool:
    """True if the group is a dedicated MirrorMaker's, `<source>-mm2`, with one node, which leads itself."""
    group, name = evidence.group, str(evidence.group_id)
    ours = name.endswith(MIRROR_GROUP) and name.removesuffix(MIRROR_GROUP) in split_list(clusters)
    return ours and not isinstance(group, Skipped) and len(group.members) == 1


def _failed(evidence: Evidence) -> Iterator[Finding]:
    statuses = {} if isinstance(evidence.statuses, Skipped) else evidence.statuses
    for name, status in statuses.items():
        failed = [task.task for task in status.tasks if task.state == "FAILED"]
        if failed and name in evidence.sources():
            causes = tuple(dict.fromkeys(task.cause for task in status.tasks if task.task in failed and task.cause))
            why = f": {causes[0]}" if causes else ""
            others = f" (and {pluralize(len(causes) - 1, 'other cause')})" if len(causes) > 1 else ""
            message = f"{len(failed)} of its {len(status.tasks)} tasks are FAILED{why}{others}"
            read = _explained(name, causes[0]) if causes else f"read why: GET {connector_path(name)}/status"
            cure = f"{read}; then restart them: {restart_tasks(name, failed)}"
            yield kinds.FAILED.finding(name, message, {"tasks": failed, "causes": list(causes)}, cure=cure)


def _explained(connector: str, cause: str) -> str:
    """The explanation of the error that a task failed with, and the command for more of it.

    For a class without Kafka's own words, such as any converter's DataException, only the trace names the cause.
    """
    words = cause.partition(": ")[0].rpartition(".")[2]
    known = [each for each in explain_error(cause) if not is_general(each)]
    if known:
        return f"{known[0].title} (`{shlex.join(['eosctl', 'explain', words])}`)"
    more = shlex.join(["eosctl", "explain", "--connector", connector])
    return f"remove the cause that {words} names (`{more}` reads the whole trace)"


RULES: Final = (
    Rule(
        kinds.UNSUPPORTED,
        "Does every source connector declare that it supports exactly-once with its config?",
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


# The rule about transactions that a connector ends itself.


DEFAULT_TIMEOUT_MS: Final = 60_000


def _unbound(evidence: Evidence) -> Iterator[Finding | Skipped]:
    """Connectors whose producers have the default timeout, without a choice of their operator."""
    for name in evidence.sources():
        by_connector = connector_config(evidence, name).get("transaction.boundary").lower() == "connector"
        producers = clients_of(evidence, name, ClientRole.PRODUCER, exactly_once=True)
        unread = {each.unread for each in producers if by_connector and TIMEOUT not in each.properties}
        yield from (each for each in unread if each is not None)
        if None in unread:
            message = f"it ends its transactions itself, and the broker after {DEFAULT_TIMEOUT_MS} ms, Kafka's default"
            yield kinds.UNBOUND.finding(
                name,
                message,
                {"transaction_timeout_ms": DEFAULT_TIMEOUT_MS},
                cure=for_connector(_bound_by(evidence), name),
            )


def _bound_by(evidence: Evidence) -> str:
    """The kind's fix, on the workers where a worker's override policy refuses it in a connector's config (KIP-1188)."""
    refusal = override_refusal(workers_of(evidence), (TIMEOUT,))
    on_workers = f"set producer.{TIMEOUT} on all workers to more than the longest transaction takes, and restart them"
    return kinds.UNBOUND.fix if refusal is None else f"{on_workers} one by one: {refusal}"


BOUNDARY_RULES: Final = (
    Rule(
        kinds.UNBOUND,
        "Does every connector that ends its own transactions have its own timeout?",
        needs=("inspection",),
        check=_unbound,
    ),
)


# Rules about the topics that source connectors write to, in the workers' own Kafka cluster.


UNCLEAN: Final = "unclean.leader.election.enable"


def _written(evidence: Evidence) -> Iterator[tuple[str, list[TopicFacts]] | Skipped]:
    """Each connector with its existing topics, and why others are unknown."""
    outputs = {} if isinstance(evidence.outputs, Skipped) else evidence.outputs
    topics = {} if isinstance(evidence.topics, Skipped) else evidence.topics
    for name, written in outputs.items():
        if isinstance(written, Skipped):
            yield written
            continue
        found = [topics.get(each) for each in written]
        yield from (each for each in found if isinstance(each, Skipped))
        yield name, [each for each in found if isinstance(each, TopicFacts)]


def _thin(evidence: Evidence) -> Iterator[Finding | Skipped]:
    brokers = 0 if isinstance(evidence.brokers, Skipped) else len(evidence.brokers)
    for each in _written(evidence):
        if isinstance(each, Skipped):
            yield each
            continue
        name, topics = each
        yield from (topic.settings for topic in topics if isinstance(topic.settings, Skipped))
        thin = {topic.name: why for topic in topics if (why := _why_thin(topic, brokers))}
        weak = [topic.name for topic in topics if topic.name not in thin and topic.is_weak]
        if thin:
            message = f"committed records may be lost: {first_few([f'{topic} ({why})' for topic, why in thin.items()])}"
            raised = any(topic.replication_factor == 1 for topic in topics if topic.name in thin)
            yield kinds.THIN.finding(name, message, {"topics": dict(thin)}, cure=None if raised else kinds.CLEAN)
        if weak:
            message = f"{MIN_ISR} is 1, so the last writes may be in one replica alone: {first_few(weak)}"
            yield kinds.THIN.finding(name, message, {"topics": weak}, severity=Severity.INFO, cure=kinds.TWO_IN_SYNC)


def _why_thin(topic: TopicFacts, brokers: int) -> str:
    reasons = []
    if topic.replication_factor == 1 and brokers > 1:
        reasons.append("replication factor 1")
    if topic.setting(UNCLEAN) == "true" and topic.replication_factor > 1:
        reasons.append(f"{UNCLEAN}=true")
    return " and ".join(reasons)


def _unwritable(evidence: Evidence) -> Iterator[Finding | Skipped]:
    is_capped = evidence.min_isr_is_capped
    for each in _written(evidence):
        if isinstance(each, Skipped):
            yield each
            continue
        name, topics = each
        refusals = {topic.name: topic.refusal(is_capped) for topic in topics}
        yield from (why for why in refusals.values() if isinstance(why, Skipped))
        if wrong := {topic: why for topic, why in refusals.items() if isinstance(why, str)}:
            message = f"nothing can be written to {first_few([f'{topic} ({why})' for topic, why in wrong.items()])}"
            yield kinds.UNWRITABLE.finding(name, message, {"topics": wrong})
        whole = {topic.name: topic.needs_all(is_capped) for topic in topics if refusals[topic.name] is None}
        if fragile := {topic: why for topic, why in whole.items() if why is not None}:
            these = first_few([f"{topic} has {why}" for topic, why in fragile.items()])
            message = f"one lost replica stops writes: {these}"
            raised = any(topic.replication_factor == 2 for topic in topics if topic.name in fragile)
            cure = kinds.THIN.fix if raised else kinds.TWO_IN_SYNC
            yield kinds.UNWRITABLE.finding(name, message, {"topics": fragile}, severity=Severity.WARNING, cure=cure)


OUTPUT_RULES: Final = (
    Rule(
        kinds.THIN,
        "Do committed records survive the loss of a broker?",
        needs=("outputs", "topics", "brokers"),
        check=_thin,
    ),
    Rule(
        kinds.UNWRITABLE,
        "Can every topic be written that connectors write to?",
        needs=("outputs", "topics"),
        check=_unwritable,
        blocks=frozenset({"preparing", "enabled", "disabled"}),
    ),
)


# Rules about the consumers of the connectors' output.


SHOWN: Final = 20
"""Twice offset.flush.interval.ms: by default a task commits as often."""
NOT_LISTED: Final = ShareGroup(NOT_READ, NOT_READ)


def _uncommitted(evidence: Evidence) -> Iterator[Finding | Skipped]:
    known = {} if isinstance(evidence.groups, Skipped) else evidence.groups
    consumers = sorted(name for name, kind in known.items() if kind not in {CONNECT_PROTOCOL, SHARE_PROTOCOL})
    if consumers:
        # No request asks for it, so no answer lacks it.
        yield not_asked(
            f"no broker reports a consumer's isolation.level; there are {pluralize(len(consumers), 'consumer group')}: "
            f"{_few(consumers)}"
        )
    yield from _share_groups(evidence, sorted(name for name, kind in known.items() if kind == SHARE_PROTOCOL))


def _share_groups(evidence: Evidence, names: list[str]) -> Iterator[Finding | Skipped]:
    """Share groups on topics of source connectors that read uncommitted."""
    shares, outputs = evidence.share_groups, evidence.outputs
    lacking = next((each for each in (shares, outputs) if isinstance(each, Skipped)), None)
    if names and lacking is not None:
        yield Skipped(
            f"how {pluralize(len(names), 'share group')} ({_few(names)}) read: {lacking.reason}", lacking.cause
        )
    if isinstance(shares, Skipped) or isinstance(outputs, Skipped):
        return
    yield from (each for each in outputs.values() if isinstance(each, Skipped) and names)
    written = {topic for each in outputs.values() if not isinstance(each, Skipped) for topic in each}
    for name in names:
        group = shares.get(name, NOT_LISTED)
        unread = [each for each in (group.isolation, group.starts) if isinstance(each, Skipped)]
        yield from (Skipped(f"share group {name}: {each.reason}", each.cause) for each in unread)
        topics = set() if isinstance(group.starts, Skipped) else {each.topic for each in group.starts}
        if group.reads_uncommitted and topics & written:
            message = f"share group {name} reads {_few(sorted(topics & written))} uncommitted"
            cure = kinds.SET_ISOLATION.format(shlex.quote(name))
            yield kinds.UNCOMMITTED.finding(name, message, {"topics": sorted(topics & written)}, cure=cure)


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _sinks(evidence: Evidence) -> Iterator[Finding | Skipped]:
    statuses = {} if isinstance(evidence.statuses, Skipped) else evidence.statuses
    for name in (name for name, status in statuses.items() if status.type == "sink"):
        levels = [
            each.setting(ISOLATION) for each in clients_of(evidence, name, ClientRole.SINK_CONSUMER, exactly_once=True)
        ]
        yield from (each for each in levels if isinstance(each, Skipped))
        uncommitted = any(not isinstance(each, Skipped) and each.lower() != "read_committed" for each in levels)
        if uncommitted and not evidence.config(name):
            yield Skipped(f"the config of {name}, which may set {ISOLATION}, is not known")
        elif uncommitted:
            message = "its consumer reads uncommitted: records of aborted transactions reach its target"
            yield kinds.SINK.finding(name, message, cure=for_connector(kinds.SINK.fix, name))


CONSUMER_RULES: Final = (
    Rule(
        kinds.HELD_BACK,
        "Is no read_committed consumer held back by a transaction in progress?",
        needs=("open_transactions",),
        check=held_back,
        unproven="a transaction has to be in progress for two minutes; it is decided on evidence made by hand",
    ),
    Rule(
        kinds.UNCOMMITTED,
        "Do all consumers and share groups of the output read committed?",
        needs=("groups",),
        check=_uncommitted,
    ),
    Rule(
        kinds.SINK,
        "Does every sink connector read committed?",
        needs=("statuses", "inspection"),
        check=_sinks,
        unproven="it is decided from the config topic and the workers' files alone, on evidence made by hand",
    ),
)


# Rules about the progress of tasks: their last commit, held against their own history.


NEVER: Final = "the transaction log has no commit of it"


class TaskCommits(NamedTuple):
    """A RUNNING task, the history of its commits (None: no commit is known), and how quiet it is now."""

    connector: str
    task: int
    history: CommitHistory | None
    quietness: Quietness | None


def task_commits(evidence: Evidence) -> Iterator[TaskCommits | Skipped]:
    """Commits of each RUNNING task of a source; empty unless all workers are enabled: others commit no transactions.

    Skipped for an unknown one.
    """
    group_id, commits, statuses = evidence.group_id, evidence.commits, evidence.statuses
    enabled, others, unknown = probes(evidence)
    if isinstance(group_id, Skipped) or isinstance(commits, Skipped) or isinstance(statuses, Skipped):
        return
    yield from (*unknown.values(), *evidence.silent.values())
    if not enabled or others or unknown or evidence.silent:
        return
    clock = evidence.clock
    if isinstance(clock, ClusterClock) and not clock.agrees:
        yield Skipped(f"how long tasks committed nothing: {clock}")
        return
    cluster_now = evidence.as_of + (clock.ahead_ms if isinstance(clock, ClusterClock) else 0)
    for name in evidence.sources():
        status = statuses.get(name)
        if status is None or status.state != "RUNNING":
            continue
        if servers_elsewhere(evidence, name) is not None:
            yield not_asked(f"{name} writes to another Kafka cluster, whose coordinators have its commits: ask there")
            continue
        for task in status.running_tasks:
            history = commits.get(task_transactional_id(group_id, ConnectorTaskId(name, task)))
            if isinstance(history, Skipped):
                yield history
            else:
                now = None if history is None else quietness(history, cluster_now)
                yield TaskCommits(name, task, history, now)


def _quiet(evidence: Evidence) -> Iterator[Finding | Skipped]:
    quiet: dict[str, list[tuple[int, CommitHistory, Quietness]]] = {}
    short = []
    for each in task_commits(evidence):
        if isinstance(each, Skipped):
            yield each
        elif each.history is None or each.quietness is None:
            short.append(each)
        elif each.quietness.quiet:
            quiet.setdefault(each.connector, []).append((each.task, each.history, each.quietness))
        elif each.quietness.ratio is None and each.quietness.silent_ms > LEAST_MS:
            short.append(each)
    for name, tasks in quiet.items():
        yield _finding(name, tasks, evidence.config(name))
    if short:
        yield Skipped(_too_short(short), Cause.NOT_IN_USE)


def _may_drop(config: Mapping[str, object]) -> str:
    """A transform that drops all records leaves the position where it was, as an idle source does."""
    transforms = _text(config, "transforms")
    return f", or its transforms ({transforms}) drop every record: then its offset stays" if transforms else ""


def _finding(
    connector: str, tasks: Sequence[tuple[int, CommitHistory, Quietness]], config: Mapping[str, object]
) -> Finding:
    task, history, worst = max(tasks, key=lambda each: each[2].ratio or 0)
    more = f" (so do {len(tasks) - 1} other tasks)" if len(tasks) > 1 else ""
    message = (
        f"task {task} is RUNNING and commits nothing since {lasting(worst.silent_ms)}{more}: of the "
        f"{history.intervals:,} intervals between two commits in {lasting(history.span_ms)} before, the longest was "
        f"{lasting(history.longest_ms)}. Its source may be idle{_may_drop(config)}"
    )
    shown = [
        {
            "task": number,
            "silent_ms": now.silent_ms,
            "last_commit_ms": each.last_ms,
            "longest_interval_ms": each.longest_ms,
            "intervals": each.intervals,
            "history_ms": each.span_ms,
        }
        for number, each, now in tasks
    ]
    cure = (
        "look whether its source has changes that are not in the topics; if it has, look where the connector waits "
        f"(jstack: thread task-thread-{connector}-{task}), then {restart_tasks(connector, [each[0] for each in tasks])}"
    )
    severity = Severity.WARNING if any(now.whole for _, _, now in tasks) else Severity.INFO
    return kinds.QUIET.finding(connector, message, {"tasks": shown}, cure=cure, severity=severity)


def _too_short(tasks: Iterable[TaskCommits]) -> str:
    words = [f"{each.connector} task {each.task} ({_left(each.history)})" for each in tasks]
    needed = f"EOS160 needs {ENOUGH} intervals and a day"
    whose = pluralize(len(words), "RUNNING task commits", "RUNNING tasks commit")
    return f"{whose} nothing now, and the history is too short to judge: {first_few(words)}. {needed}"


def _left(history: CommitHistory | None) -> str:
    if history is None:
        return NEVER
    return f"{pluralize(history.intervals, 'interval')} in {lasting(history.span_ms)}"


PROGRESS_RULES: Final = (
    Rule(
        kinds.QUIET,
        "Does every RUNNING task that commits transactions commit as often as in its history?",
        needs=("group_id", "commits", "statuses"),
        check=_quiet,
    ),
)


# Rules about losses that no state of a connector or a task shows.


ASSIGNED: Final = "task.assigned.partitions"


def _tolerated(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for name, config in _configs(evidence):
        value = (_text(config, "errors.tolerance") or "none").lower()
        if value.startswith("${"):
            yield not_asked(f"errors.tolerance of {name} is {value}, a reference that only a worker resolves")
        elif value == "all":
            message = "errors.tolerance=all: records that a transform or a converter refuses are lost"
            yield kinds.TOLERATED.finding(name, message, cure=for_connector(kinds.TOLERATED.fix, name))


def _uneven(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for name, _ in _configs(evidence):
        if connector_config(evidence, name).class_name != "MirrorSource":
            continue
        owners = _assigned(evidence, name)
        if isinstance(owners, Skipped):
            yield owners
            continue
        twice = [each for each, tasks in owners.items() if len(tasks) > 1]
        nowhere = _holes(evidence, name, owners)
        reasons = [f"{first_few(list(map(str, twice)))} in two tasks"] if twice else []
        reasons += [f"{first_few(list(map(str, nowhere)))} in none"] if nowhere else []
        if reasons:
            shown = {"twice": list(map(str, twice[:SHOWN])), "nowhere": list(map(str, nowhere[:SHOWN]))}
            message = f"its task configs have source partitions {' and '.join(reasons)}"
            yield kinds.UNEVEN.finding(name, message, shown, cure=for_connector(kinds.UNEVEN.fix, name))


def _assigned(evidence: Evidence, connector: str) -> Mapping[TopicPartition, Sequence[int]] | Skipped:
    """The tasks that have each source partition, by the task configs that were committed last."""
    assert not isinstance(evidence.inspection, Skipped)
    state = evidence.inspection.state.state(connector)
    found: dict[TopicPartition, list[int]] = {}
    for task in state.visible_tasks:
        value = state.task_configs.get(task, {}).get(ASSIGNED, "")
        places = [each.rpartition("-") for each in split_list(str(value))]
        if not places or not all(topic and number.isascii() and number.isdigit() for topic, _, number in places):
            return Skipped(f"which source partitions task {task} of {connector} has ({ASSIGNED}) is not known")
        for topic, _, number in places:
            found.setdefault(TopicPartition(topic, int(number)), []).append(task)
    return found


def _holes(evidence: Evidence, connector: str, owners: Collection[TopicPartition]) -> list[TopicPartition]:
    """Those below the last assigned one of a topic, and those that are in the source and have an offset."""
    last: dict[str, int] = {}
    for each in owners:
        last[each.topic] = max(each.partition, last.get(each.topic, 0))
    there = {TopicPartition(topic, number) for topic, most in last.items() for number in range(most)}
    mirrors = () if isinstance(evidence.mirrors, Skipped) else evidence.mirrors
    there |= {
        each.bounds.topic_partition
        for each in mirrors
        if not isinstance(each, Skipped) and each.connector == connector and each.bounds.topic_partition.topic in last
    }
    return sorted(there.difference(owners), key=lambda each: (each.topic, each.partition))


LOSS_RULES: Final = (
    Rule(
        kinds.TOLERATED,
        "Does every source fail where a record cannot be converted?",
        needs=("inspection",),
        check=_tolerated,
        unproven="it is decided from the config topic alone, on evidence made by hand",
    ),
    Rule(
        kinds.UNEVEN,
        "Is every source partition of a mirror in exactly one of its tasks?",
        needs=("inspection",),
        check=_uneven,
        unproven="MirrorSource does not create such task configs on demand; a test decides it on made evidence",
    ),
)
