"""The table of metrics: each with its meaning, its labels, and the most series of one cluster.

A count is 0 only if everything that it needs was read; a larger one is a lower bound if something was not, and
eosctl_unread names it. A list shows its worst entries as series; eosctl_series_left_out counts the others.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from eosctl.analysis.producer_state import MANY_STATES
from eosctl.model.watch import Alert, Metric, Panel, PanelKind, PanelRow

OWNER: Final = ("transactional_id", "connector", "task")

FINDINGS: Final = Metric("eosctl_findings", "Findings of each rule of doctor by severity.", ("rule", "severity"), 400)
FINDINGS_WAIVED: Final = Metric(
    "eosctl_findings_waived", "Findings of each rule for which a waiver of the profile holds.", ("rule",), 200
)
RULE_UNKNOWN: Final = Metric(
    "eosctl_rule_unknown", "Whether the rule cannot tell, or only in part (1).", ("rule",), 200
)
DOCTOR_AS_OF: Final = Metric("eosctl_doctor_as_of_seconds", "When the facts were read.")

LSO_HELD_PARTITIONS: Final = Metric(
    "eosctl_lso_held_partitions", "Partitions whose last stable offset is below the high watermark."
)
LSO_LAG: Final = Metric(
    "eosctl_lso_lag_offsets",
    "Offsets between last stable offset and high watermark of a partition, those held back longest first.",
    ("topic", "partition"),
    100,
)
LSO_HELD: Final = Metric(
    "eosctl_lso_held_seconds",
    "Since the first record after the last stable offset was written, and whose transaction holds it back.",
    ("topic", "partition", *OWNER),
    100,
)
GROUP_RECORDS: Final = Metric(
    "eosctl_group_lag_records",
    "Records that members of a consumer group can still get if they read committed; absent if not all were counted.",
    ("group",),
    200,
)
GROUP_OFFSETS: Final = Metric(
    "eosctl_group_lag_offsets",
    "Offsets before a consumer group without such a record, by kind: marker, aborted, removed, held_back or uncounted.",
    ("group", "kind"),
    1000,
)
HANGING: Final = Metric("eosctl_hanging_transactions", "Open transactions that no coordinator will end (KIP-664).")
HANGING_AGE: Final = Metric(
    "eosctl_hanging_transaction_age_seconds",
    "Since the last batch of a hanging transaction, the oldest first, and what to do: abort, commit, fence, complete, "
    "wait, or unknown where its decision is not known.",
    ("topic", "partition", "producer_id", *OWNER, "advice"),
    50,
)
HANGING_UNDECIDED: Final = Metric(
    "eosctl_hanging_undecided_transactions", "Open transactions that may hang; their state is not known."
)
PRODUCER_STATES: Final = Metric(
    "eosctl_producer_states",
    "Producers in the memory of a broker, one for each producer ID in each partition that it leads, the most first.",
    ("broker",),
    200,
)
TRANSACTIONAL_IDS: Final = Metric(
    "eosctl_transactional_ids", "Transactional IDs by the state at their coordinator.", ("state",), 10
)
IDS_OF_PREFIX: Final = Metric(
    "eosctl_transactional_ids_of_prefix",
    "Transactional IDs that differ only in the numbers, UUIDs, hashes and pod names at their end, the most first.",
    ("prefix",),
    50,
)
OPEN_TRANSACTIONS: Final = Metric(
    "eosctl_open_transactions", "Transactional IDs with a transaction that is Ongoing or Prepare*."
)
OPEN_AGE: Final = Metric(
    "eosctl_open_transaction_age_seconds",
    "Since an open transaction began, by its coordinator, the oldest first.",
    (*OWNER, "state"),
    20,
)
EPOCHS_NEAR_END: Final = Metric(
    "eosctl_producer_epochs_near_exhaustion",
    "Transactional IDs whose producer epoch is 32,000 or more: at 32,766 the coordinator gives another producer ID.",
)
IDS_NEAR_EXPIRY: Final = Metric(
    "eosctl_transactional_ids_near_expiry", "Tasks whose idle transactional ID expires soon (EOS117)."
)
IDS_EXPIRING: Final = Metric(
    "eosctl_transactional_ids_expiring",
    "Idle transactional IDs of any application that were used again and expire soon, by prefix, the most first; with "
    "--churn, as of the last hour.",
    ("prefix",),
    50,
)
FENCING_PENDING: Final = Metric(
    "eosctl_fencing_pending",
    "1 if a round of zombie fencing is due before the source's tasks may start; only if all workers are enabled.",
    ("connector",),
    500,
)
FENCING_EXPECTED: Final = Metric(
    "eosctl_fencing_expected_seconds",
    "Expected time of a round of zombie fencing, if it is a second or more (EOS030).",
    ("connector",),
    500,
)
INCONSISTENT: Final = Metric(
    "eosctl_connector_inconsistent",
    "1 if task configs of the connector are missing in the config topic, so that none of its tasks starts.",
    ("connector",),
    500,
)
NULL_SHADOWS: Final = Metric(
    "eosctl_null_shadows",
    "Source partitions whose offset is hidden by the connector's own offsets topic: it will begin from nothing.",
    ("connector",),
    500,
)
OFFSET_AGE: Final = Metric(
    "eosctl_source_offset_age_seconds",
    "Since the newest source offset of the connector was written; an idle source writes none.",
    ("connector",),
    500,
)
SINCE_COMMIT: Final = Metric(
    "eosctl_task_since_commit_seconds",
    "Since the last commit of a RUNNING task, or since its later start; a task of an idle source commits nothing.",
    ("connector", "task"),
    500,
)
QUIET_RATIO: Final = Metric(
    "eosctl_task_quiet_ratio",
    "The same, divided by the longest interval between two commits of the task, if a week of commits is known "
    "(EOS160).",
    ("connector", "task"),
    500,
)
AUDIT_VERDICT: Final = Metric(
    "eosctl_audit_verdict", "The verdict of the last run of a job of the audit (1).", ("job", "verdict"), 400
)
AUDIT_FINDINGS: Final = Metric("eosctl_audit_findings", "Findings of the last run of a job.", ("job",), 100)
AUDIT_AS_OF: Final = Metric("eosctl_audit_as_of_seconds", "Up to when the last run of a job read.", ("job",), 100)

UNREAD_FACTS: Final = Metric("eosctl_unread_facts", "Facts that commands needed in the last cycle and could not read.")
UNREAD: Final = Metric(
    "eosctl_unread",
    "A fact that a command needed in the last cycle and could not read (1).",
    ("command", "what", "cause"),
    100,
)
READ_AS_OF: Final = Metric("eosctl_read_as_of_seconds", "When a command read its facts.", ("command",), 7)
CYCLE_AS_OF: Final = Metric("eosctl_cycle_as_of_seconds", "When the last cycle ended.")
CYCLE_DURATION: Final = Metric("eosctl_cycle_duration_seconds", "Duration of the last cycle.")
CYCLE_REQUESTS: Final = Metric(
    "eosctl_cycle_requests", "Requests of the last cycle, to brokers and to Connect workers.", ("to",), 2
)
LAST_SUCCESS: Final = Metric("eosctl_last_success_seconds", "End of the last complete cycle; absent before the first.")
LEFT_OUT: Final = Metric("eosctl_series_left_out", "Series of a metric above its limit.", ("metric",), 50)

METRICS: Final = (
    *(LSO_HELD_PARTITIONS, LSO_LAG, LSO_HELD, GROUP_RECORDS, GROUP_OFFSETS),
    *(HANGING, HANGING_AGE, HANGING_UNDECIDED, PRODUCER_STATES),
    *(TRANSACTIONAL_IDS, IDS_OF_PREFIX, OPEN_TRANSACTIONS, OPEN_AGE, EPOCHS_NEAR_END, IDS_NEAR_EXPIRY),
    IDS_EXPIRING,
    *(FENCING_PENDING, FENCING_EXPECTED, INCONSISTENT, NULL_SHADOWS, OFFSET_AGE),
    *(SINCE_COMMIT, QUIET_RATIO),
    *(FINDINGS, FINDINGS_WAIVED, RULE_UNKNOWN, DOCTOR_AS_OF, AUDIT_VERDICT, AUDIT_FINDINGS, AUDIT_AS_OF),
    *(UNREAD_FACTS, UNREAD, READ_AS_OF, CYCLE_AS_OF, CYCLE_DURATION, CYCLE_REQUESTS, LAST_SUCCESS, LEFT_OUT),
)
"""In the order of exposition."""


STAT, SERIES, TABLE = PanelKind.STAT, PanelKind.TIME_SERIES, PanelKind.TABLE
AGE: Final = "time() - {}"
SUM: Final = "sum by (profile) ({})"

_THEMES: Final = (
    PanelRow(
        "Now",
        (
            Panel("Hanging transactions", STAT, (HANGING,), bad_from=1),
            Panel("Partitions held back", STAT, (LSO_HELD_PARTITIONS,)),
            Panel("Errors found by doctor", STAT, (FINDINGS,), SUM, (("severity", "error"),), bad_from=1),
            Panel("Audits: broken", STAT, (AUDIT_VERDICT,), SUM, (("verdict", "broken"),), bad_from=1),
            Panel("Facts not read", STAT, (UNREAD_FACTS,), bad_from=1),
            Panel("Last cycle ended ago", STAT, (CYCLE_AS_OF,), AGE, bad_from=600),
        ),
    ),
    PanelRow(
        "Last stable offset",
        (
            Panel("Held back for", SERIES, (LSO_HELD,), bad_from=900),
            Panel("Offsets held back", SERIES, (LSO_LAG,)),
            Panel("Records before consumer groups that read committed", SERIES, (GROUP_RECORDS,)),
            Panel("Offsets before them without a record", SERIES, (GROUP_OFFSETS,)),
            Panel("Transactions that hold partitions back", TABLE, (LSO_HELD,)),
        ),
    ),
    PanelRow(
        "Transactions",
        (
            Panel("Transactional IDs by state", SERIES, (TRANSACTIONAL_IDS,)),
            Panel("Transactional IDs by prefix", SERIES, (IDS_OF_PREFIX,), bad_from=10_000),
            Panel("Open transactions", SERIES, (OPEN_TRANSACTIONS,)),
            Panel("Oldest open transactions", SERIES, (OPEN_AGE,)),
            Panel("Hanging, or not known whether", SERIES, (HANGING, HANGING_UNDECIDED)),
            Panel("IDs near expiry, epochs near the end", SERIES, (IDS_NEAR_EXPIRY, EPOCHS_NEAR_END)),
            Panel("IDs of applications near expiry", SERIES, (IDS_EXPIRING,), bad_from=1),
            Panel("Hanging transactions", TABLE, (HANGING_AGE,)),
            Panel("Producers in memory by broker", SERIES, (PRODUCER_STATES,), bad_from=MANY_STATES),
        ),
    ),
    PanelRow(
        "Connectors",
        (
            Panel("Age of the newest source offset", SERIES, (OFFSET_AGE,)),
            Panel("Since the last commit of a task", SERIES, (SINCE_COMMIT,)),
            Panel("The same, by its longest interval before", SERIES, (QUIET_RATIO,), bad_from=3),
            Panel("Zombie fencing pending", SERIES, (FENCING_PENDING,), bad_from=1),
            Panel("Expected time of zombie fencing", SERIES, (FENCING_EXPECTED,)),
            Panel("Inconsistent", SERIES, (INCONSISTENT,), bad_from=1),
            Panel("Source offsets hidden", SERIES, (NULL_SHADOWS,), bad_from=1),
        ),
    ),
    PanelRow(
        "Doctor",
        (
            Panel("Findings by severity", SERIES, (FINDINGS,), "sum by (profile, severity) ({})"),
            Panel("Waived findings", SERIES, (FINDINGS_WAIVED,), SUM),
            Panel("Rules that find something", TABLE, (FINDINGS,), "{} > 0"),
            Panel("Rules that cannot tell", TABLE, (RULE_UNKNOWN,), "{} > 0"),
            Panel("Facts were read ago", STAT, (DOCTOR_AS_OF,), AGE),
        ),
    ),
    PanelRow(
        "Audit",
        (
            Panel("Verdicts", TABLE, (AUDIT_VERDICT,), "{} == 1"),
            Panel("Findings", SERIES, (AUDIT_FINDINGS,)),
            Panel("The last run of a job read up to, ago", SERIES, (AUDIT_AS_OF,), AGE),
        ),
    ),
    PanelRow(
        "Watch itself",
        (
            Panel("Not read", TABLE, (UNREAD,)),
            Panel("Facts were read ago", SERIES, (READ_AS_OF,), AGE),
            Panel("Time of a cycle", SERIES, (CYCLE_DURATION,)),
            Panel("Requests of a cycle", SERIES, (CYCLE_REQUESTS,)),
            Panel("All was read ago", SERIES, (LAST_SUCCESS,), AGE),
            Panel("Series left out", TABLE, (LEFT_OUT,)),
        ),
    ),
)


def with_all(rows: Iterable[PanelRow], table: Iterable[Metric]) -> Iterator[PanelRow]:
    """The rows, and a last row with the metrics that none of them shows."""
    rows = tuple(rows)
    shown = {metric for row in rows for panel in row.panels for metric in panel.metrics}
    others = tuple(Panel(each.help, SERIES, (each,)) for each in table if each not in shown)
    yield from rows
    if others:
        yield PanelRow("More", others)


ROWS: Final = tuple(with_all(_THEMES, METRICS))
"""In the order of display."""


# The alerts that `watch --emit` writes.
#
# An alert also resolves when its data can no longer be read: EosctlFactsUnread fires then.


CRITICAL: Final = "critical"
WARNING: Final = "warning"

ALERTS: Final = (
    Alert(
        "EosctlNotWatching",
        CYCLE_AS_OF,
        "",
        "5m",
        CRITICAL,
        "Prometheus scrapes no metrics of eosctl watch, so no other alert can fire",
        metric_seen="absent({})",
        commands=(
            "systemctl status eosctl-watch",
            "journalctl -u eosctl-watch -n 100",
            "eosctl watch --once --profile <profile>",
        ),
    ),
    Alert(
        "EosctlCyclesStopped",
        CYCLE_AS_OF,
        "> 600",
        "0m",
        CRITICAL,
        "The last cycle of eosctl watch ended more than 10 minutes ago",
        metric_seen="time() - {}",
        commands=(
            "journalctl -u eosctl-watch -n 100",
            "eosctl profile check --profile <profile>",
            "eosctl watch --once --profile <profile> -v",
        ),
    ),
    Alert(
        "EosctlFactsUnread",
        UNREAD_FACTS,
        "> 0",
        "10m",
        WARNING,
        "eosctl watch cannot read all it needs; eosctl_unread names the missing parts. Other alerts may have "
        "resolved for it",
        commands=(
            "eosctl watch --once --profile <profile>",
            "eosctl profile check --profile <profile>",
            "eosctl doctor --profile <profile>",
        ),
    ),
    Alert(
        "EosctlTransactionHangs",
        HANGING,
        "> 0",
        "2m",
        CRITICAL,
        "A transaction hangs, and read_committed consumers stop there. See `eosctl transactions hanging`",
        commands=(
            "eosctl transactions hanging --profile <profile>",
            "eosctl transactions lso --profile <profile>",
            "eosctl explain EOS214",
        ),
    ),
    Alert(
        "EosctlConsumersHeldBack",
        LSO_HELD,
        "> 900",
        "0m",
        WARNING,
        "An open transaction holds read_committed consumers back for 15 minutes. See `eosctl transactions lso`",
        commands=(
            "eosctl transactions lso --topic <topic> --profile <profile>",
            "eosctl transactions describe <transactional_id> --profile <profile>",
            "eosctl connector show <connector> --profile <profile>",
        ),
    ),
    Alert(
        "EosctlTransactionalIdsNearExpiry",
        IDS_NEAR_EXPIRY,
        "> 0",
        "1h",
        WARNING,
        "Idle transactional IDs of tasks expire soon, and their next write will fail (EOS117)",
        commands=(
            "eosctl doctor --profile <profile>",
            "eosctl connector list --profile <profile>",
            "eosctl explain EOS117",
        ),
    ),
    Alert(
        "EosctlApplicationIdsExpire",
        IDS_EXPIRING,
        "> 0",
        "0m",
        WARNING,
        "Idle transactional IDs of an application expire soon, and its next transaction will fail (EOS117)",
        commands=(
            "eosctl transactions churn --prefix <prefix> --profile <profile>",
            "eosctl transactions history --prefix <prefix> --profile <profile>",
            "eosctl explain EOS117",
        ),
    ),
    Alert(
        "EosctlTransactionalIdsLeftBehind",
        IDS_OF_PREFIX,
        "> 10000",
        "1h",
        WARNING,
        "More than 10,000 transactional IDs have one prefix: an application may leave IDs behind (EOS308)",
        commands=(
            "eosctl transactions churn --profile <profile>",
            "eosctl transactions list --limit 20 --profile <profile>",
            "eosctl explain EOS308",
        ),
    ),
    Alert(
        "EosctlProducerStatesPileUp",
        PRODUCER_STATES,
        f"> {MANY_STATES}",
        "1h",
        WARNING,
        "A broker keeps more than a million producers in memory, about 400 MB of its heap (EOS309)",
        commands=(
            "eosctl transactions churn --producers --profile <profile>",
            "eosctl transactions producers --topic <topic> --profile <profile>",
            "eosctl explain EOS309",
        ),
    ),
    Alert(
        "EosctlNullShadow",
        NULL_SHADOWS,
        "> 0",
        "5m",
        CRITICAL,
        "At its next start the connector copies everything again (EOS080). See `eosctl offsets show`",
        commands=(
            "eosctl connector show <connector> --profile <profile>",
            "eosctl offsets show --connector <connector> --profile <profile>",
            "eosctl explain EOS080",
        ),
    ),
    Alert(
        "EosctlConnectorInconsistent",
        INCONSISTENT,
        "> 0",
        "10m",
        CRITICAL,
        "Task configs of the connector are missing in the config topic, and none of its tasks starts",
        commands=(
            "eosctl connector show <connector> --profile <profile>",
            "eosctl inspect-config --connector <connector> --history --profile <profile>",
            "eosctl explain EOS071",
        ),
    ),
    Alert(
        "EosctlFencingPending",
        FENCING_PENDING,
        "> 0",
        "15m",
        WARNING,
        "A round of zombie fencing has not succeeded, and the connector's tasks do not start",
        commands=(
            "eosctl connector show <connector> --profile <profile>",
            "eosctl explain --connector <connector> --profile <profile>",
            "eosctl inspect-config --connector <connector> --history --profile <profile>",
        ),
    ),
    Alert(
        "EosctlTaskQuiet",
        QUIET_RATIO,
        "> 3",
        "10m",
        WARNING,
        "A RUNNING task without a commit for longer than in its history (EOS160). An idle source looks the same",
        commands=(
            "eosctl connector show <connector> --profile <profile>",
            "eosctl offsets show --connector <connector> --profile <profile>",
            "eosctl explain EOS160",
        ),
    ),
    Alert(
        "EosctlFindings",
        FINDINGS,
        "> 0",
        "10m",
        WARNING,
        "A rule of doctor finds errors. See `eosctl doctor`, and `eosctl explain` with the rule",
        labels=(("severity", "error"),),
        commands=(
            "eosctl doctor --profile <profile>",
            "eosctl explain <rule>",
            "eosctl connector list --profile <profile>",
        ),
    ),
    Alert(
        "EosctlAuditBroken",
        AUDIT_VERDICT,
        "== 1",
        "0m",
        CRITICAL,
        "By the last audit exactly-once did not hold. See `eosctl audit status`",
        labels=(("verdict", "broken"),),
        commands=(
            "eosctl audit history --job <job> --profile <profile>",
            "eosctl audit --job <job> --report audit.html --profile <profile>",
            "eosctl connector list --profile <profile>",
        ),
    ),
    Alert(
        "EosctlAuditAltered",
        AUDIT_VERDICT,
        "== 1",
        "0m",
        WARNING,
        "Source offsets were changed: topics have repeated or missing records. See `eosctl audit status`",
        labels=(("verdict", "altered"),),
        commands=(
            "eosctl audit history --job <job> --profile <profile>",
            "eosctl explain EOS206",
            "eosctl audit --job <job> --report audit.html --profile <profile>",
        ),
    ),
)
