"""Rules about the protocol and the timeouts of Connect's transactions, as coordinators log them."""

from collections.abc import Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import transaction_log as kinds
from eosctl.analysis.connect_requests import restart_tasks
from eosctl.analysis.rules.brokers import FEATURE, FEATURE_SINCE, PER_TRANSACTION
from eosctl.analysis.rules.client_configs import servers_elsewhere
from eosctl.model.counts import some
from eosctl.model.evidence import Evidence
from eosctl.model.names import ConnectorTaskId, leader_transactional_id, task_transactional_id
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule, Versions, Whose
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import TransactionState

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
                f"the last transaction of {some(old, most=SHOWN)} was of the protocol before KIP-890, which keeps one "
                "epoch for all"
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
    """Whether its last transaction was of a client below transaction.version 2.

    In Empty a record has what was before the producer claimed the ID. A coordinator that aborts by itself writes its
    own version in the place of the client's.
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


RULES: Final = (
    Rule(
        kinds.OLD_PROTOCOL,
        "Do all producers of Connect have an epoch of their own for each transaction?",
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
