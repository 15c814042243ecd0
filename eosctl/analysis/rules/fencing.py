"""Rules about rounds of zombie fencing: whether they can succeed, and how long they keep a connector silent.

`Admin.fenceProducers` asks each coordinator for one ID after the other and waits its retry back-off between two of them
(from clients 3.7 on, KIP-580, exponentially), so n IDs of one coordinator cost n - 1 waits:

1. The k-th wait is min(retry.backoff.max.ms, retry.backoff.ms x 2^(k-1)), times a factor of 0.8 to 1.2, and never more
   than the maximum: at the maximum 0.95 of it on average. Before 3.7 every wait is retry.backoff.ms.
2. Connect waits 90 s for a round, then fails every task that asked for it. No task of the connector runs meanwhile.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import fencing as kinds
from eosctl.analysis.client_configs import may_override
from eosctl.analysis.connect_requests import for_connector
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import WorkerConfig
from eosctl.model.evidence import Evidence
from eosctl.model.names import ConnectorTaskId, task_transactional_id
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule, Versions, Whose
from eosctl.model.skipped import Skipped
from eosctl.model.versions import NEWEST, KafkaVersion

EXPONENTIAL: Final = KafkaVersion(3, 7)
BUDGET_S: Final = 90.0
TIGHT: Final = 0.9
LONG_SILENCE_S: Final = 20.0
FENCING_TIMEOUT_MS: Final = 90_000
BACKOFF: Final = "retry.backoff.ms"
LONGEST_BACKOFF: Final = "retry.backoff.max.ms"
DEFAULTS: Final = {BACKOFF: 100.0, LONGEST_BACKOFF: 1000.0}
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
        ids = [task_transactional_id(group_id, ConnectorTaskId(each.state.name, task)) for task in range(record)]
        crowd = max(Counter(-1 if log is None else log.coordinator(name) for name in ids).values())
        yield from _of_connector(evidence, each.state.name, record, crowd)


def _of_connector(evidence: Evidence, name: str, record: int, crowd: int) -> Iterator[Finding | Skipped]:
    reported = {key: _setting(evidence, name, key) for key in DEFAULTS}
    unknown = [key for key, value in reported.items() if value is None]
    if unknown:
        yield Skipped(f"admin.override.{unknown[0]} of {name} is not a number that can be read")
        return
    exponential = max(evidence.versions, default=NEWEST) >= EXPONENTIAL
    backoff, longest = reported[BACKOFF] or 0.0, reported[LONGEST_BACKOFF] or 0.0
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
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    workers = [
        WorkerConfig({key: Property(value, name) for key, value in each.items()}) for name, each in files.items()
    ]
    refusing = [each.override_policy for each in workers if not all(may_override(each, key) for key in DEFAULTS)]
    if not refusing:
        return kinds.BUDGET.fix
    why = f"{OVERRIDE_POLICY}={refusing[0]} refuses them in a connector's config"
    return f"set {kinds.ON_WORKERS} and restart them one by one: {why}"


def _setting(evidence: Evidence, connector: str, key: str) -> float | None:
    """The fencing admin's setting: the connector's override, else the workers' (the worst file's), else Kafka's."""
    own = evidence.config(connector).get(f"admin.override.{key}")
    if own is not None:
        return _number(own)
    files = {} if isinstance(evidence.worker_files, Skipped) else evidence.worker_files
    inherited = [_number(_inherited(properties, key)) for properties in files.values()]
    known = [value for value in inherited if value is not None]
    return max(known, default=DEFAULTS[key]) if len(known) == len(inherited) else None


def _inherited(properties: Mapping[str, str], key: str) -> object:
    return properties.get(f"admin.{key}", properties.get(key, DEFAULTS[key]))


def _number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None


def _limit(evidence: Evidence) -> Iterator[Finding | Skipped]:
    brokers = {} if isinstance(evidence.brokers, Skipped) else evidence.brokers
    for node, settings in brokers.items():
        if isinstance(settings, Skipped):
            yield settings
        elif MAX_TIMEOUT not in settings:
            yield Skipped(f"broker {node} does not tell its {MAX_TIMEOUT}")
        elif int(settings[MAX_TIMEOUT]) < FENCING_TIMEOUT_MS:
            message = (
                f"{MAX_TIMEOUT} is {settings[MAX_TIMEOUT]}; workers fence with a timeout of {FENCING_TIMEOUT_MS} ms, "
                f"which "
                "the broker refuses (InvalidTxnTimeoutException): every round fails and all tasks turn FAILED"
            )
            yield kinds.LIMIT.finding(
                f"broker {node}", message, {"node": node, "transaction_max_timeout_ms": int(settings[MAX_TIMEOUT])}
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
