"""Rules about rounds of zombie fencing: whether they can succeed, and how long they keep a connector silent.

`Admin.fenceProducers` asks each coordinator for one ID after the other and waits its retry back-off between two of them
(from clients 3.7 on, KIP-580, exponentially), so n IDs of one coordinator cost n - 1 waits:

1. The k-th wait is min(retry.backoff.max.ms, retry.backoff.ms x 2^(k-1)), times a factor of 0.8 to 1.2, and never more
   than the maximum: at the maximum 0.95 of it on average. Before 3.7 every wait is retry.backoff.ms.
2. Connect waits 90 s for a round, then fails every task that asked for it. No task of the connector runs meanwhile.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import fencing as kinds
from eosctl.analysis.client_configs import may_override
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.rules.client_configs import clients_of, workers_of
from eosctl.model.client_roles import ClientRole
from eosctl.model.evidence import Evidence
from eosctl.model.names import ConnectorTaskId, task_transactional_id
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule, Versions, Whose
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion
from eosctl.model.whole_numbers import MOST_TASKS, whole_number

EXPONENTIAL: Final = KafkaVersion(3, 7)
BUDGET_S: Final = 90.0
TIGHT: Final = 0.9
LONG_SILENCE_S: Final = 20.0
FENCING_TIMEOUT_MS: Final = 90_000
BACKOFF: Final = "retry.backoff.ms"
LONGEST_BACKOFF: Final = "retry.backoff.max.ms"
DEFAULTS: Final = {BACKOFF: 100, LONGEST_BACKOFF: 1000}
OVERRIDE_POLICY: Final = "connector.client.config.override.policy"
MAX_TIMEOUT: Final = "transaction.max.timeout.ms"


def silence_s(ids: int, backoff_ms: float, longest_ms: float, *, exponential: bool = True) -> float:
    """Expected seconds that a round takes for `ids` IDs of one coordinator."""
    waits = max(0, ids - 1)
    if not exponential:
        return waits * backoff_ms / 1000
    growing, wait = 0.0, min(backoff_ms, longest_ms)
    for number in range(waits):
        if wait >= longest_ms or wait <= 0:
            return (growing + (waits - number) * 0.95 * longest_ms) / 1000
        growing += wait
        wait *= 2
    return growing / 1000


def _budget(evidence: Evidence) -> Iterator[Finding | Skipped]:
    group_id, inspection, log = evidence.group_id, evidence.inspection, evidence.transaction_log
    if isinstance(group_id, Skipped) or isinstance(inspection, Skipped) or isinstance(log, Skipped):
        return
    for each in inspection.connectors:
        record = each.state.task_count_record or 0
        if not each.state.known or record < 2:
            continue
        if record > MOST_TASKS:
            yield Skipped(f"the fencing of connector {each.state.name}, which is said to have {record} tasks")
            continue
        tasks = (ConnectorTaskId(each.state.name, task) for task in range(record))
        ids = [task_transactional_id(group_id, task) for task in tasks]
        crowd = max(Counter(-1 if log is None else log.coordinator(name) for name in ids).values())
        yield from _of_connector(evidence, each.state.name, record, crowd)


def _of_connector(evidence: Evidence, name: str, record: int, crowd: int) -> Iterator[Finding | Skipped]:
    exponential = max(evidence.versions, default=NEWEST) >= EXPONENTIAL
    backoff = _setting(evidence, name, BACKOFF)
    longest = _setting(evidence, name, LONGEST_BACKOFF) if exponential else DEFAULTS[LONGEST_BACKOFF]
    if isinstance(backoff, Skipped) or isinstance(longest, Skipped):
        yield from (each for each in (backoff, longest) if isinstance(each, Skipped))
        return
    seconds = silence_s(crowd, backoff, longest, exponential=exponential)
    if seconds < 1:
        return
    severity = Severity.ERROR if seconds >= TIGHT * BUDGET_S else Severity.WARNING
    severity = severity if seconds >= LONG_SILENCE_S else Severity.INFO
    end = (
        f"Connect gives up after {BUDGET_S:g} s and all its tasks turn FAILED"
        if severity is Severity.ERROR
        else "none of its tasks runs meanwhile"
    )
    files = "" if not isinstance(evidence.worker_files, Skipped) else " (unless the workers set admin.retry.backoff.*)"
    yield kinds.BUDGET.finding(
        name,
        f"fencing its {record} producers, up to {crowd} of them at one coordinator, takes about {seconds:.0f} s at "
        f"each "
        f"reconfiguration with {BACKOFF}={backoff:g} and {LONGEST_BACKOFF}={longest:g}{files}: {end}",
        {"producers": record, "at_one_coordinator": crowd, "silence_s": round(seconds, 1), "budget_s": BUDGET_S},
        severity=severity,
        cure=for_connector(_cure(evidence), name),
    )


def _cure(evidence: Evidence) -> str:
    """The kind's fix, without the part that a worker's override policy refuses."""
    workers = workers_of(evidence)
    refusing = [each.override_policy for each in workers if not all(may_override(each, key) for key in DEFAULTS)]
    if not refusing:
        return kinds.BUDGET.fix
    why = f"{OVERRIDE_POLICY}={refusing[0]} refuses them in a connector's config"
    return f"set {kinds.ON_WORKERS} and restart them one by one: {why}"


def _setting(evidence: Evidence, connector: str, key: str) -> int | Skipped:
    """The fencing admin's setting, the worst worker's; Kafka's default where the workers' settings are not known."""
    clients = clients_of(evidence, connector, ClientRole.ADMIN, exactly_once=True)
    found = [DEFAULTS[key] if each.unread and each.get(key) is None else each.number(key) for each in clients]
    unknown = [each for each in found if isinstance(each, Skipped)]
    return unknown[0] if unknown else max(each for each in found if isinstance(each, int))


def _limit(evidence: Evidence) -> Iterator[Finding | Skipped]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    for node, settings in brokers.items():
        if isinstance(settings, Skipped):
            yield settings
        elif MAX_TIMEOUT not in settings:
            yield Skipped(f"broker {node} does not report its {MAX_TIMEOUT}")
        elif (limit := whole_number(settings[MAX_TIMEOUT], MAX_TIMEOUT)) < FENCING_TIMEOUT_MS:
            message = (
                f"{MAX_TIMEOUT} is {settings[MAX_TIMEOUT]}; workers fence with a timeout of {FENCING_TIMEOUT_MS} ms, "
                f"which "
                "the broker refuses (InvalidTxnTimeoutException): every round fails and all tasks turn FAILED"
            )
            yield kinds.LIMIT.finding(
                f"broker {node}",
                message,
                {"node": node, "transaction_max_timeout_ms": limit},
            )


RULES: Final = (
    Rule(
        kinds.BUDGET,
        "Can every connector be fenced within 90 s?",
        needs=("group_id", "inspection", "transaction_log"),
        check=_budget,
        blocks=frozenset({"enabled"}),
    ),
    Rule(
        kinds.LIMIT,
        "Do all brokers accept a transaction timeout of 90 s?",
        needs=("brokers",),
        check=_limit,
        versions=Versions(Whose.WORKERS, since=KafkaVersion(3, 7, 1)),
        blocks=frozenset({"enabled"}),
    ),
)
