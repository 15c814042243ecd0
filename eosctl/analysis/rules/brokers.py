"""Rules about brokers and the transaction log."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from eosctl.model.counts import counted
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion

FACTOR: Final = "transaction.state.log.replication.factor"
IN_SYNC: Final = "transaction.state.log.min.isr"
MIN_ISR: Final = "min.insync.replicas"
VERIFICATION: Final = "transaction.partition.verification.enable"
EXPIRATION: Final = "transactional.id.expiration.ms"
DAY_MS: Final = 86_400_000
LOG: Final = "__transaction_state"
UP: Final = frozenset({"preparing", "enabled"})


def _told(evidence: Evidence) -> Mapping[int, Mapping[str, str]]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    return {node: settings for node, settings in brokers.items() if not isinstance(settings, Skipped)}


def _untold(evidence: Evidence) -> Iterable[Skipped]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    return (settings for settings in brokers.values() if isinstance(settings, Skipped))


def _not_told(node: int, key: str) -> Skipped:
    return Skipped(f"broker {node} does not tell its {key}")


def _unusable(evidence: Evidence) -> Iterator[Finding | Skipped]:
    log, live = evidence.transaction_log, len(evidence.brokers) if not isinstance(evidence.brokers, Skipped) else 0
    if isinstance(log, Skipped):
        return
    if log is None:
        yield from _untold(evidence)
        for node, settings in _told(evidence).items():
            if FACTOR not in settings:
                yield _not_told(node, FACTOR)
            elif int(settings[FACTOR]) > live:
                message = (
                    f"{FACTOR} is {settings[FACTOR]} and {live} brokers live: the transaction log cannot be "
                    f"created, "
                    "so no transactional producer ever starts"
                )
                yield UNUSABLE.finding(f"broker {node}", message, live_brokers=live)
        return
    minimum = int(log.facts.settings.get(MIN_ISR, "1"))
    if minimum > log.facts.replication_factor:
        message = (
            f"{MIN_ISR} of {LOG} is {minimum} and its replication factor {log.facts.replication_factor}: no "
            f"transaction can "
            "begin or end"
        )
        cure = f"kafka-configs.sh --alter --entity-type topics --entity-name {LOG} --add-config {MIN_ISR}=1"
        yield UNUSABLE.finding(LOG, message, cure=cure, min_isr=minimum)


def _leaderless(evidence: Evidence) -> Iterator[Finding]:
    log = evidence.transaction_log
    if isinstance(log, Skipped) or log is None:
        return
    dead = sorted(number for number in range(log.facts.partitions) if log.leaders.get(number, -1) < 0)
    if dead:
        message = (
            f"{len(dead)} of {log.facts.partitions} partitions of {LOG} have no leader: their IDs have no coordinator"
        )
        yield LEADERLESS.finding(LOG, message, partitions=dead)


def _thin(evidence: Evidence) -> Iterator[Finding]:
    log, brokers = evidence.transaction_log, evidence.brokers
    if isinstance(log, Skipped) or log is None or isinstance(brokers, Skipped):
        return
    factor, wanted = log.facts.replication_factor, min(3, len(brokers))
    if factor < wanted:
        there = counted(len(brokers), "broker")
        message = f"{LOG} has replication factor {factor} on {there}: a broker that fails stops transactions"
        yield THIN.finding(LOG, message, replication_factor=factor, brokers=len(brokers))


def _verification(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _untold(evidence)
    for node, settings in _told(evidence).items():
        if VERIFICATION not in settings:
            yield _not_told(node, VERIFICATION)
        elif settings[VERIFICATION] == "false":
            message = f"{VERIFICATION} is false: a late batch of a zombie can open a transaction that nobody ends"
            yield VERIFY.finding(f"broker {node}", message)


def _expiration(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from _untold(evidence)
    for node, settings in _told(evidence).items():
        limit = settings.get(EXPIRATION)
        if limit is None:
            yield _not_told(node, EXPIRATION)
        elif int(limit) < DAY_MS:
            message = (
                f"{EXPIRATION} is {limit}: a task that is idle for longer fails at its next write (InvalidPidMapping)"
            )
            yield EXPIRES.finding(f"broker {node}", message, transactional_id_expiration_ms=int(limit))


UNUSABLE: Final = Rule(
    id="EOS040",
    title="transaction log cannot be written",
    severity=Severity.ERROR,
    question="Can the transaction log be created and written with the brokers that live?",
    needs=("brokers", "transaction_log"),
    cause="The topic is created at the first use of a transactional ID, with the replication factor and min ISR of the "
    "brokers' settings (3 and 2 by default), and written with acks=all.",
    cure=f"start the missing brokers, or set {FACTOR} and {IN_SYNC} to what the brokers allow and restart them",
    source="KIP-98",
    check=_unusable,
    blocks=UP,
)
LEADERLESS: Final = Rule(
    id="EOS041",
    title="transaction log without leader",
    severity=Severity.ERROR,
    question="Does every partition of the transaction log have a leader?",
    needs=("transaction_log",),
    cause="The leader of an ID's partition is its coordinator. Without one, producers of these IDs wait for ever.",
    cure=f"start the brokers that hold the replicas: kafka-topics.sh --describe --topic {LOG} names them",
    source="KIP-98",
    check=_leaderless,
    blocks=UP,
)
THIN: Final = Rule(
    id="EOS042",
    title="transaction log is thinly replicated",
    severity=Severity.WARNING,
    question="Does the transaction log survive the loss of a broker?",
    needs=("brokers", "transaction_log"),
    cause="A transaction log that is lost takes every producer's epoch with it: zombies are no longer fenced.",
    cure=f"raise its replication factor with kafka-reassign-partitions.sh, then set {MIN_ISR}=2 on it",
    source="KIP-98",
    check=_thin,
)
VERIFY: Final = Rule(
    id="EOS043",
    title="partition verification is off",
    severity=Severity.WARNING,
    question="Do brokers verify that a batch belongs to a transaction under way?",
    needs=("brokers",),
    cause="Verification (KIP-890) keeps a zombie's late batch from opening a hanging transaction.",
    cure=f"kafka-configs.sh --alter --entity-type brokers --entity-default --add-config {VERIFICATION}=true",
    source="KIP-890",
    check=_verification,
    since=KafkaVersion(3, 6),
)
EXPIRES: Final = Rule(
    id="EOS044",
    title="transactional IDs expire early",
    severity=Severity.WARNING,
    question="Do transactional IDs outlive a quiet day?",
    needs=("brokers",),
    cause="A coordinator forgets an ID that was not used for this long; the producer that holds it then fails.",
    cure="set transactional.id.expiration.ms=604800000 (the default) on every broker and restart them one by one",
    source="KIP-98",
    check=_expiration,
)
RULES: Final = (UNUSABLE, LEADERLESS, THIN, VERIFY, EXPIRES)
