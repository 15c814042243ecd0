"""Rules about settings of workers, brokers and topics that do harm only when something else fails."""

from collections.abc import Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import connect as kinds
from eosctl.analysis.catalogue import transactions
from eosctl.analysis.client_configs import clients_of, servers_elsewhere
from eosctl.analysis.connect_requests import for_connector, put_config
from eosctl.analysis.rules.workers import STANDALONE_OFFSETS
from eosctl.model.client_roles import ClientRole
from eosctl.model.connectors import OFFSETS_TOPIC
from eosctl.model.evidence import Evidence, Properties
from eosctl.model.names import TRANSACTION_LOG
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule, Versions, Whose
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few, pluralize
from eosctl.model.times import lasting
from eosctl.model.topics import TopicFacts
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import whole, whole_number
from eosctl.model.workers import SOURCE_SUPPORT

UP: Final = frozenset({"preparing", "enabled"})
SHOWN: Final = 10


def _files(evidence: Evidence) -> Mapping[str, Properties]:
    return {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files


# Workers.


GRACEFUL: Final = "task.shutdown.graceful.timeout.ms"
REBALANCE: Final = "rebalance.timeout.ms"
SYNC: Final = "worker.sync.timeout.ms"
DEFAULTS_MS: Final = {GRACEFUL: 5_000, REBALANCE: 60_000, SYNC: 3_000}


def _standalone(evidence: Evidence) -> Iterator[Finding]:
    for name, properties in _files(evidence).items():
        if STANDALONE_OFFSETS in properties and "group.id" not in properties and "clusters" not in properties:
            asked = properties.get(SOURCE_SUPPORT)
            more = "" if asked is None else f", and {SOURCE_SUPPORT}={asked} has no effect"
            message = f"{name} is the file of a standalone worker ({STANDALONE_OFFSETS} and no group.id){more}"
            severity = Severity.INFO if asked is None else None
            yield kinds.STANDALONE.finding(name, message, severity=severity)


def _worker_timeouts(evidence: Evidence) -> Iterator[Finding | Skipped]:
    for name, properties in _files(evidence).items():
        if "group.id" not in properties:
            continue
        given = {key: properties.get(key, str(default)) for key, default in DEFAULTS_MS.items()}
        known = {key: number for key, value in given.items() if (number := whole(value)) is not None}
        yield from (Skipped(f"{key} of {name} is {given[key]!r}") for key in given if key not in known)
        if GRACEFUL in known and REBALANCE in known and known[GRACEFUL] >= known[REBALANCE]:
            message = (
                f"{GRACEFUL} is {known[GRACEFUL]} and {REBALANCE} is {known[REBALANCE]}: a worker that waits for a "
                "task that does not end is removed from the group"
            )
            cure = f"set {GRACEFUL} below {known[REBALANCE]} in {name}, and restart the worker"
            yield transactions.WORKER_TIMEOUTS.finding(name, message, {"key": GRACEFUL}, cure=cure)
        if known.get(SYNC, DEFAULTS_MS[SYNC]) < DEFAULTS_MS[SYNC]:
            message = (
                f"{SYNC} is {known[SYNC]}: a leader that does not read the config topic to its end in that time fences "
                "no task"
            )
            cure = f"remove {SYNC} from {name} (the default is {DEFAULTS_MS[SYNC]}), and restart the worker"
            yield transactions.WORKER_TIMEOUTS.finding(name, message, {"key": SYNC}, cure=cure)


# Lists in workers' files. From 4.2 on an empty part ends the start of the worker, and a part that is there twice counts
# once (KIP-1161; tried with DistributedConfig of 3.9.2 and 4.3.1).


LISTS: Final = (
    *("bootstrap.servers", "config.providers", "metric.reporters", "plugin.path", "rest.extension.classes"),
    *("ssl.cipher.suites", "ssl.enabled.protocols"),
)


def _lists(evidence: Evidence) -> Iterator[Finding]:
    for name, properties in _files(evidence).items():
        for key in (key for key in LISTS if key in properties):
            parts = [part.strip() for part in properties[key].split(",")]
            if "" in parts and (len(parts) > 1 or key == "bootstrap.servers"):
                message = f"{key}={properties[key]} has an empty part: a worker of 4.2 or newer does not start with it"
                yield kinds.LISTS.finding(name, message, {"key": key}, cure=f"remove the empty part of {key} in {name}")


RULES: Final = (
    Rule(
        kinds.STANDALONE,
        "Does every worker belong to a Connect cluster, as exactly-once requires?",
        needs=("worker_files",),
        check=_standalone,
    ),
    Rule(
        transactions.WORKER_TIMEOUTS,
        "Do the workers' timeouts leave time for a round of fencing and for tasks that end?",
        needs=("worker_files",),
        check=_worker_timeouts,
    ),
    Rule(
        kinds.LISTS,
        "Will workers of 4.2 and newer accept the lists in the workers' files?",
        needs=("worker_files",),
        check=_lists,
    ),
)


# Brokers.


PRODUCER_EXPIRATION: Final = "producer.id.expiration.ms"
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"
DEFAULT_MAX_MS: Final = 900_000
FEATURE: Final = "transaction.version"
EPOCH_FOR_EACH: Final = 2


def _producers_expire(evidence: Evidence) -> Iterator[Finding]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    for node, settings in brokers.items():
        if isinstance(settings, Skipped) or PRODUCER_EXPIRATION not in settings:
            continue  # brokers before 3.4 have no such setting
        kept = whole_number(settings[PRODUCER_EXPIRATION], PRODUCER_EXPIRATION)
        longest = whole_number(settings.get(MAX_TIMEOUT, str(DEFAULT_MAX_MS)), MAX_TIMEOUT)
        if kept < longest:
            message = f"{PRODUCER_EXPIRATION} is {kept}, less than {MAX_TIMEOUT}, {longest}"
            yield transactions.PRODUCERS_EXPIRE.finding(f"broker {node}", message, {"producer_id_expiration_ms": kept})


def _lowered(evidence: Evidence) -> Iterator[Finding | Skipped]:
    """Of Connect's IDs whose last record in the log has a version that cannot be written at the present level."""
    features, logged = evidence.finalized_features, evidence.logged
    if isinstance(features, Skipped) or isinstance(logged, Skipped) or features.get(FEATURE, 0) > 0:
        return
    yield from (each for each in logged.values() if isinstance(each, Skipped))
    newer = [name for name, each in logged.items() if ended_with_version_2(each)]
    if newer:
        message = (
            f"{FEATURE} was lowered to 0, and {pluralize(len(newer), 'ID')} ({first_few(newer, most=SHOWN)}) ended "
            f"a transaction with version {EPOCH_FOR_EACH}. A coordinator cannot write the next state of such an ID "
            "before its broker is restarted"
        )
        yield transactions.LOWERED.finding(FEATURE, message, {"transactional_ids": newer[:SHOWN]})


def ended_with_version_2(value: TransactionLogValue | Skipped) -> bool:
    return isinstance(value, TransactionLogValue) and value.client_transaction_version >= EPOCH_FOR_EACH


BROKER_RULES: Final = (
    Rule(
        transactions.PRODUCERS_EXPIRE,
        "Do partitions remember a producer for as long as a transaction may take?",
        needs=("brokers",),
        check=_producers_expire,
        versions=Versions(Whose.BROKERS, since=KafkaVersion(3, 4)),
    ),
    Rule(
        transactions.LOWERED,
        "Can coordinators write the state of every ID at the present transaction.version?",
        needs=("finalized_features", "logged"),
        check=_lowered,
        versions=Versions(Whose.BROKERS, since=KafkaVersion(4, 0)),
        blocks=frozenset({"preparing", "enabled", "disabled"}),
    ),
)


# Topics.


DISKLESS: Final = ("diskless.enable", "inkless.enable")
TIMEOUT: Final = "transaction.timeout.ms"
REASSIGNED_MS: Final = 300_000
"""scheduled.rebalance.max.delay.ms: after it tasks of a lost worker start elsewhere, which ends their transactions."""


def _diskless(evidence: Evidence) -> Iterator[Finding]:
    for topic, (uses, facts) in _used(evidence).items():
        settings = facts.settings
        key = next((key for key in DISKLESS if not isinstance(settings, Skipped) and settings.get(key) == "true"), None)
        if key is not None:
            message = f"it has {key}=true, and {first_few(sorted(uses))}"
            yield kinds.DISKLESS.finding(topic, message, {"setting": key})


def _used(evidence: Evidence) -> dict[str, tuple[set[str], TopicFacts]]:
    """The topics that are read, with what uses them."""
    found: dict[str, tuple[set[str], TopicFacts]] = {}

    def add(facts: object, use: str) -> None:
        if isinstance(facts, TopicFacts):
            found.setdefault(facts.name, (set(), facts))[0].add(use)

    for each in () if isinstance(evidence.internal_topics, Skipped) else evidence.internal_topics:
        add(each.facts, f"it is the workers' {each.role} topic")
    log = evidence.transaction_log
    add(None if log is None or isinstance(log, Skipped) else log.facts, f"it is {TRANSACTION_LOG}")
    topics = {} if isinstance(evidence.topics, Skipped) else evidence.topics
    outputs = {} if isinstance(evidence.outputs, Skipped) else evidence.outputs
    for name in evidence.sources():
        own, written = evidence.config(name).get(OFFSETS_TOPIC), outputs.get(name, ())
        add(topics.get(str(own)), f"connector {name} keeps its offsets there")
        for topic in () if isinstance(written, Skipped) else written:
            add(topics.get(topic), f"connector {name} writes to it")
    return found


def _long_on_shared(evidence: Evidence) -> Iterator[Finding]:
    """Connectors with long transactions whose offsets are in a topic that tasks of others read to its end, too."""
    by_topic: dict[str, list[str]] = {}
    for name in evidence.all_sources():
        if servers_elsewhere(evidence, name) is None:
            by_topic.setdefault(str(evidence.config(name).get(OFFSETS_TOPIC, "")), []).append(name)
    for names in by_topic.values():
        for name in sorted(set(names).intersection(evidence.sources())) if len(names) > 1 else ():
            producers = clients_of(evidence, name, ClientRole.PRODUCER, exactly_once=True)
            longest = max((each for one in producers if isinstance(each := one.number(TIMEOUT), int)), default=0)
            if longest > REASSIGNED_MS:
                others = [each for each in names if each != name]
                message = (
                    f"its transactions may stay open for {lasting(longest)} ({TIMEOUT}={longest}), and tasks of "
                    f"{first_few(others)} read the same offsets topic to its end when they start"
                )
                cure = f"{for_connector(kinds.LONG_ON_SHARED.fix, name)}: {put_config(name, evidence.versions)}"
                yield kinds.LONG_ON_SHARED.finding(name, message, {"transaction_timeout_ms": longest}, cure=cure)


TOPIC_RULES: Final = (
    Rule(
        kinds.DISKLESS,
        "Does every topic of exactly-once sources take transactions?",
        needs=("internal_topics", "topics"),
        check=_diskless,
        blocks=UP,
        unproven="Apache Kafka has no such topics yet; it is decided from their settings, on evidence made by hand",
    ),
    Rule(
        kinds.LONG_ON_SHARED,
        "Does a transaction that hangs hold back its own connector alone?",
        needs=("inspection",),
        check=_long_on_shared,
    ),
)
