"""The table of metrics: each with what it is, its labels, and the most series that it has of one cluster.

A count of 0 is there only where all was read that it needs; a larger one is a lower bound where something was not, and
eosctl_unread says what. Of a list only the first are series, the worst first; eosctl_series_left_out counts the others.
"""

from typing import Final

from eosctl.model.watch import Metric

OWNER: Final = ("transactional_id", "connector", "task")

FINDINGS: Final = Metric("eosctl_findings", "Findings of each rule of doctor by severity.", ("rule", "severity"), 300)
FINDINGS_WAIVED: Final = Metric(
    "eosctl_findings_waived", "Findings of each rule for which a waiver of the profile holds.", ("rule",), 200
)
RULE_UNKNOWN: Final = Metric("eosctl_rule_unknown", "Whether the rule cannot tell, or not all (1).", ("rule",), 200)
DOCTOR_AS_OF: Final = Metric("eosctl_doctor_as_of_seconds", "When the facts were read.")

LSO_HELD_PARTITIONS: Final = Metric(
    "eosctl_lso_held_partitions", "Partitions whose last stable offset is behind the high watermark."
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
HANGING: Final = Metric("eosctl_hanging_transactions", "Open transactions that no coordinator will end (KIP-664).")
HANGING_AGE: Final = Metric(
    "eosctl_hanging_transaction_age_seconds",
    "Since the last batch of a hanging transaction, the oldest first, and what to do: abort, fence, complete or wait.",
    ("topic", "partition", "producer_id", *OWNER, "advice"),
    50,
)
HANGING_UNDECIDED: Final = Metric(
    "eosctl_hanging_undecided_transactions", "Open transactions of which it is not known whether they hang."
)
TRANSACTIONAL_IDS: Final = Metric(
    "eosctl_transactional_ids", "Transactional IDs by the state at their coordinator.", ("state",), 10
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
FENCING_PENDING: Final = Metric(
    "eosctl_fencing_pending",
    "Whether a round of zombie fencing is due before the source's tasks may start (1); where all workers are enabled.",
    ("connector",),
    500,
)
FENCING_EXPECTED: Final = Metric(
    "eosctl_fencing_expected_seconds",
    "How long a round of zombie fencing is expected to take, where that is a second or more (EOS030).",
    ("connector",),
    500,
)
INCONSISTENT: Final = Metric(
    "eosctl_connector_inconsistent",
    "Whether the config topic lacks task configs of the connector, so that none of its tasks starts (1).",
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
    "The same, divided by the longest interval between two of its commits, where a week of them is known (EOS160).",
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
READ_AS_OF: Final = Metric("eosctl_read_as_of_seconds", "When a command read its facts.", ("command",), 6)
CYCLE_AS_OF: Final = Metric("eosctl_cycle_as_of_seconds", "When the last cycle ended.")
CYCLE_DURATION: Final = Metric("eosctl_cycle_duration_seconds", "How long the last cycle took.")
CYCLE_REQUESTS: Final = Metric(
    "eosctl_cycle_requests", "Requests of the last cycle, to brokers and to Connect workers.", ("to",), 2
)
LAST_SUCCESS: Final = Metric(
    "eosctl_last_success_seconds", "When the last cycle ended that read all it asked for; absent before the first."
)
LEFT_OUT: Final = Metric(
    "eosctl_series_left_out", "Series of a metric beyond the most that it may have.", ("metric",), 50
)

METRICS: Final = (
    *(LSO_HELD_PARTITIONS, LSO_LAG, LSO_HELD, HANGING, HANGING_AGE, HANGING_UNDECIDED),
    *(TRANSACTIONAL_IDS, OPEN_TRANSACTIONS, OPEN_AGE, EPOCHS_NEAR_END, IDS_NEAR_EXPIRY),
    *(FENCING_PENDING, FENCING_EXPECTED, INCONSISTENT, NULL_SHADOWS, OFFSET_AGE),
    *(SINCE_COMMIT, QUIET_RATIO),
    *(FINDINGS, FINDINGS_WAIVED, RULE_UNKNOWN, DOCTOR_AS_OF, AUDIT_VERDICT, AUDIT_FINDINGS, AUDIT_AS_OF),
    *(UNREAD_FACTS, UNREAD, READ_AS_OF, CYCLE_AS_OF, CYCLE_DURATION, CYCLE_REQUESTS, LAST_SUCCESS, LEFT_OUT),
)
"""In the order in which they are exposed."""
