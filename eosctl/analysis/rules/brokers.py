"""Rules about brokers and the transaction log."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import transactions as kinds
from eosctl.analysis.client_configs import servers_elsewhere
from eosctl.analysis.connect_requests import restart_tasks
from eosctl.model.evidence import Evidence
from eosctl.model.names import TRANSACTION_LOG as LOG
from eosctl.model.names import ConnectorTaskId, leader_transactional_id, task_transactional_id
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule, Versions, Whose
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few, pluralize
from eosctl.model.topics import MIN_ISR, TopicFacts
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import TransactionState
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import whole_number

FACTOR: Final = "transaction.state.log.replication.factor"
LOG_MIN_ISR: Final = "transaction.state.log.min.isr"
VERIFICATION: Final = "transaction.partition.verification.enable"
PARTITIONS: Final = "transaction.state.log.num.partitions"
EXPIRATION: Final = "transactional.id.expiration.ms"
FEATURE: Final = "transaction.version"
FEATURE_SINCE: Final = KafkaVersion(4, 0)
PER_TRANSACTION: Final = 2
"""The level of `transaction.version` from which on each transaction has an epoch of its own."""
DAY_MS: Final = 86_400_000
LOST_WITH_ONE: Final = "what one broker alone has written is lost with it"
UP: Final = frozenset({"preparing", "enabled"})


def _read(evidence: Evidence) -> Mapping[int, Mapping[str, str]]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    return {node: settings for node, settings in brokers.items() if not isinstance(settings, Skipped)}


def _unread(evidence: Evidence) -> Iterable[Skipped]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    return (settings for settings in brokers.values() if isinstance(settings, Skipped))


def _not_reported(node: int, key: str) -> Skipped:
    return Skipped(f"broker {node} does not report its {key}")


def _unusable(evidence: Evidence) -> Iterator[Finding | Skipped]:
    log = evidence.transaction_log
    if isinstance(log, Skipped):
        return
    if log is None:
        yield from _unread(evidence)
        yield from _not_yet_usable(evidence)
        return
    is_capped = evidence.min_isr_is_capped
    short = log.facts.shortage(is_capped)
    if isinstance(short, Skipped):
        yield short
    elif short is not None:
        message = f"{short}: no transaction can begin or end in {LOG}"
        figures = {"min_isr": log.facts.min_isr, "in_sync": log.facts.in_sync}
        yield kinds.UNUSABLE.finding(LOG, message, figures, cure=_more(log.facts, is_capped))


def _more(facts: TopicFacts, is_capped: bool | None) -> str:
    if facts.lacks_replicas(is_capped):
        return f"raise the replication factor of {LOG} to {facts.min_isr} or more with kafka-reassign-partitions.sh"
    return (
        "start the brokers that hold the replicas: `kafka-topics.sh --bootstrap-server <broker> --describe "
        "--under-min-isr-partitions` names the partitions"
    )


def _not_yet_usable(evidence: Evidence) -> Iterator[Finding | Skipped]:
    """Of a log that the first transactional ID will create."""
    live = len(evidence.brokers) if not isinstance(evidence.brokers, Skipped) else 0
    for node, settings in _read(evidence).items():
        unknown = [key for key in (FACTOR, LOG_MIN_ISR) if key not in settings]
        if unknown:
            yield _not_reported(node, unknown[0])
            continue
        factor, minimum = whole_number(settings[FACTOR], FACTOR), whole_number(settings[LOG_MIN_ISR], LOG_MIN_ISR)
        if factor > live:
            cannot = f"{live} brokers live: the transaction log cannot be created"
        elif minimum <= factor or evidence.min_isr_is_capped:
            continue
        else:
            cannot = f"{LOG_MIN_ISR} is {minimum}: brokers before 3.7 cannot write to the transaction log"
        message = f"{FACTOR} is {factor} and {cannot}, so no transactional producer ever starts"
        if factor <= live and evidence.min_isr_is_capped is None:
            yield Skipped(f"{message} there; the release of a broker is not known")
        else:
            yield kinds.UNUSABLE.finding(f"broker {node}", message, {"live_brokers": live, "min_isr": minimum})


def _leaderless(evidence: Evidence) -> Iterator[Finding]:
    log = evidence.transaction_log
    if isinstance(log, Skipped) or log is None:
        return
    dead = sorted(number for number in range(log.facts.partitions) if log.leaders.get(number, -1) < 0)
    if dead:
        message = (
            f"{len(dead)} of {log.facts.partitions} partitions of {LOG} have no leader: their IDs have no coordinator"
        )
        yield kinds.LEADERLESS.finding(LOG, message, {"partitions": dead})


def _thin(evidence: Evidence) -> Iterator[Finding | Skipped]:
    log, brokers = evidence.transaction_log, evidence.brokers
    if isinstance(log, Skipped) or log is None or isinstance(brokers, Skipped):
        return
    factor, minimum = log.facts.replication_factor, log.facts.min_isr
    figures = {"replication_factor": factor, "brokers": len(brokers)}
    wanted = min(3, len(brokers))
    if factor < wanted:
        risk = LOST_WITH_ONE if factor > 1 and minimum == 1 else "a broker that fails stops transactions"
        message = f"{LOG} has replication factor {factor} on {pluralize(len(brokers), 'broker')}: {risk}"
        raised = f"raise its replication factor to {wanted} with kafka-reassign-partitions.sh"
        yield kinds.THIN.finding(LOG, message, figures, cure=kinds.THIN.fix if wanted == 3 else raised)
    elif isinstance(minimum, Skipped):
        yield minimum
    elif (why := log.facts.needs_all(evidence.min_isr_is_capped)) is not None:
        message = f"{LOG} has {why}: a broker that fails stops transactions"
        cure = kinds.TWO_IN_SYNC if factor > 2 else kinds.THIN.fix
        yield kinds.THIN.finding(LOG, message, figures | {"min_isr": minimum}, cure=cure)
    elif factor > 2 and minimum < 2:
        message = f"{LOG} has replication factor {factor} and {MIN_ISR}={minimum}: {LOST_WITH_ONE}"
        yield kinds.THIN.finding(LOG, message, figures | {"min_isr": minimum}, cure=kinds.TWO_IN_SYNC)


def _verification(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unread(evidence)
    for node, settings in _read(evidence).items():
        if VERIFICATION in settings and settings[VERIFICATION] == "false":
            message = f"{VERIFICATION} is false: a late batch of a zombie can open a hanging transaction"
            yield kinds.VERIFY.finding(f"broker {node}", message)
        elif not settings:
            yield _not_reported(node, VERIFICATION)


def _expiration(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _unread(evidence)
    for node, settings in _read(evidence).items():
        limit = settings.get(EXPIRATION)
        if limit is None:
            yield _not_reported(node, EXPIRATION)
        elif (given := whole_number(limit, EXPIRATION)) < DAY_MS:
            message = (
                f"{EXPIRATION} is {limit}: a task that is idle for longer fails at its next write (InvalidPidMapping)"
            )
            yield kinds.EXPIRES.finding(f"broker {node}", message, {"transactional_id_expiration_ms": given})


def _repartitioned(evidence: Evidence) -> Iterator[Finding | Skipped]:
    log = evidence.transaction_log
    if isinstance(log, Skipped) or log is None:
        return
    yield from _unread(evidence)
    for node, settings in _read(evidence).items():
        wanted = settings.get(PARTITIONS)
        if wanted is None:
            yield _not_reported(node, PARTITIONS)
        elif (setting := whole_number(wanted, PARTITIONS)) != log.facts.partitions:
            message = f"{LOG} has {log.facts.partitions} partitions, and {PARTITIONS} of broker {node} is {wanted}"
            yield kinds.REPARTITIONED.finding(
                LOG, message, {"partitions": log.facts.partitions, "setting": setting, "node": node}
            )
            return


def _old_transactions(evidence: Evidence) -> Iterator[Finding]:
    features, releases = evidence.finalized_features, evidence.broker_releases
    if isinstance(features, Skipped) or isinstance(releases, Skipped):
        return
    if any(not isinstance(each, Skipped) and each.at_least < FEATURE_SINCE for each in releases.values()):
        return  # a rolling upgrade that has not ended: none can raise it before
    level = features.get(FEATURE, 0)
    if level < PER_TRANSACTION:
        message = f"{FEATURE} is finalized at {level}: producers keep one epoch for all their transactions"
        yield kinds.OLD_TRANSACTIONS.finding("brokers", message, {"transaction_version": level})


RULES: Final = (
    Rule(
        kinds.UNUSABLE,
        "Can the transaction log be created and written with the live brokers?",
        needs=("brokers", "transaction_log"),
        check=_unusable,
        blocks=UP,
    ),
    Rule(
        kinds.LEADERLESS,
        "Does every partition of the transaction log have a leader?",
        needs=("transaction_log",),
        check=_leaderless,
        blocks=UP,
    ),
    Rule(
        kinds.THIN,
        "Does the transaction log survive the loss of a broker?",
        needs=("brokers", "transaction_log"),
        check=_thin,
    ),
    Rule(
        kinds.VERIFY,
        "Do brokers verify that a batch belongs to an ongoing transaction?",
        needs=("brokers",),
        check=_verification,
        versions=Versions(Whose.BROKERS, since=KafkaVersion(3, 6)),
    ),
    Rule(
        kinds.EXPIRES,
        "Do transactional IDs outlive a quiet day?",
        needs=("brokers",),
        check=_expiration,
    ),
    Rule(
        kinds.REPARTITIONED,
        "Does the transaction log have the number of partitions that it was created with?",
        needs=("brokers", "transaction_log"),
        check=_repartitioned,
    ),
    Rule(
        kinds.OLD_TRANSACTIONS,
        "Does each transaction have its own producer epoch?",
        needs=("finalized_features", "broker_releases"),
        check=_old_transactions,
        versions=Versions(Whose.BROKERS, since=FEATURE_SINCE),
    ),
)


# Rules about the protocol and the timeouts of Connect's transactions, as coordinators log them.


SHOWN: Final = 10
RESTART_LEADER: Final = "restart the worker that leads the group"
NEW_CLIENTS: Final = FEATURE_SINCE
"""KIP-890, part 2, came to clients and brokers in one release."""


def _old_protocol(evidence: Evidence) -> Iterator[Finding | Skipped]:
    features = evidence.finalized_features
    if isinstance(features, Skipped) or features.get(FEATURE, 0) < PER_TRANSACTION:
        return  # all producers have the old one: EOS046 reports it
    writing = [each for each in evidence.answering if each.enabled is not False]
    yield from (each.version for each in writing if isinstance(each.version, Skipped))
    yield from evidence.silent.values()
    old = [each for each in writing if not isinstance(each.version, Skipped) and each.version < NEW_CLIENTS]
    for worker in old:
        message = f"the worker runs Kafka {worker.version}: its producers keep one epoch for all their transactions"
        cure = f"upgrade the worker to Kafka {NEW_CLIENTS} or newer"
        evidenced = {"version": str(worker.version)}
        yield kinds.OLD_PROTOCOL.finding(worker.url, message, evidenced, cure=cure, severity=Severity.INFO)
    if not old:
        yield from _logged_old(evidence)


def _logged_old(evidence: Evidence) -> Iterator[Finding | Skipped]:
    """Of producers that connected before transaction.version was raised."""
    logged = evidence.logged
    if isinstance(logged, Skipped):
        yield logged
        return
    for owner, ids in _ids_by_owner(evidence).items():
        yield from (each for name in ids if isinstance(each := logged.get(name), Skipped))
        old = [name for name in ids if _speaks_old(logged.get(name))]
        if old:
            message = (
                f"the last transaction of {first_few(old, most=SHOWN)} was of the protocol before KIP-890, which "
                "keeps one epoch for all"
            )
            tasks = [task for name in old if (task := ids[name]) is not None]
            cure = restart_tasks(owner, tasks) if tasks else RESTART_LEADER
            yield kinds.OLD_PROTOCOL.finding(owner, message, {"transactional_ids": old}, cure=cure)


def _ids_by_owner(evidence: Evidence) -> Mapping[str, Mapping[str, int | None]]:
    """The leader's ID, and by connector the IDs of its tasks that have a producer here, with their numbers."""
    group_id, statuses = evidence.group_id, evidence.statuses
    if isinstance(group_id, Skipped) or isinstance(statuses, Skipped):
        return {}
    leader = leader_transactional_id(group_id)
    owners: dict[str, Mapping[str, int | None]] = {leader: {leader: None}}
    for name in evidence.sources():
        if name in statuses and servers_elsewhere(evidence, name) is None:
            tasks = statuses[name].producing_tasks
            owners[name] = {task_transactional_id(group_id, ConnectorTaskId(name, task)): task for task in tasks}
    return owners


def _speaks_old(value: TransactionLogValue | Skipped | None) -> bool:
    """True if its last transaction was of a client below transaction.version 2.

    A record in Empty has the state before the ID was initialized. A coordinator that aborts by itself writes its own
    version instead of the client's.
    """
    return (
        isinstance(value, TransactionLogValue)
        and value.version > 0
        and value.state is not TransactionState.EMPTY
        and value.client_transaction_version < PER_TRANSACTION
    )


def _without_timeout(evidence: Evidence) -> Iterator[Finding | Skipped]:
    known = {} if isinstance(evidence.transactions, Skipped) else evidence.transactions
    for name, each in known.items():
        if isinstance(each, Skipped):
            yield each
        elif each.is_two_phase:
            message = (
                f"its transactions have no timeout: if its worker is lost, readers of its partitions are stalled until "
                f"it is back (the ID is {each.state.value} now)"
            )
            yield kinds.WITHOUT_TIMEOUT.finding(name, message, {"state": each.state.value})


TRANSACTION_LOG_RULES: Final = (
    Rule(
        kinds.OLD_PROTOCOL,
        "Do all producers of Connect use a new epoch for each transaction?",
        needs=("workers", "statuses", "group_id", "finalized_features", "broker_releases"),
        check=_old_protocol,
        versions=Versions(Whose.BROKERS, since=FEATURE_SINCE),
    ),
    Rule(
        kinds.WITHOUT_TIMEOUT,
        "Does a timeout end every transaction of Connect?",
        needs=("transactions",),
        check=_without_timeout,
    ),
)
