"""When somebody is to look: the alerts that `watch --emit` writes.

An alert resolves, too, where what it is about can no longer be read: EosctlFactsUnread fires then.
"""

from typing import Final

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.model.metrics import Alert

CRITICAL: Final = "critical"
WARNING: Final = "warning"

ALERTS: Final = (
    Alert(
        "EosctlNotWatching",
        metrics.CYCLE_AS_OF,
        "",
        "5m",
        CRITICAL,
        "No metrics of eosctl watch are scraped: nobody is watching",
        metric_seen="absent({})",
    ),
    Alert(
        "EosctlCyclesStopped",
        metrics.CYCLE_AS_OF,
        "> 600",
        "0m",
        CRITICAL,
        "The last cycle of eosctl watch ended more than 10 minutes ago",
        metric_seen="time() - {}",
    ),
    Alert(
        "EosctlFactsUnread",
        metrics.UNREAD_FACTS,
        "> 0",
        "10m",
        WARNING,
        "eosctl watch cannot read all it asks for; eosctl_unread says what. Other alerts may have resolved for it",
    ),
    Alert(
        "EosctlTransactionHangs",
        metrics.HANGING,
        "> 0",
        "2m",
        CRITICAL,
        "A transaction hangs, and read_committed consumers stop there. See `eosctl transactions hanging`",
    ),
    Alert(
        "EosctlConsumersHeldBack",
        metrics.LSO_HELD,
        "> 900",
        "0m",
        WARNING,
        "An open transaction holds read_committed consumers back for 15 minutes. See `eosctl transactions lso`",
    ),
    Alert(
        "EosctlTransactionalIdsNearExpiry",
        metrics.IDS_NEAR_EXPIRY,
        "> 0",
        "1h",
        WARNING,
        "Idle transactional IDs of tasks expire soon, and their next write will fail (EOS117)",
    ),
    Alert(
        "EosctlNullShadow",
        metrics.NULL_SHADOWS,
        "> 0",
        "5m",
        CRITICAL,
        "At its next start the connector copies everything again (EOS080). See `eosctl offsets show`",
    ),
    Alert(
        "EosctlConnectorInconsistent",
        metrics.INCONSISTENT,
        "> 0",
        "10m",
        CRITICAL,
        "The config topic lacks task configs of the connector, and none of its tasks starts",
    ),
    Alert(
        "EosctlFencingPending",
        metrics.FENCING_PENDING,
        "> 0",
        "15m",
        WARNING,
        "A round of zombie fencing has not succeeded, and the connector's tasks do not start",
    ),
    Alert(
        "EosctlTaskQuiet",
        metrics.QUIET_RATIO,
        "> 3",
        "10m",
        WARNING,
        "A RUNNING task commits nothing, longer than ever in its history (EOS160). An idle source looks the same",
    ),
    Alert(
        "EosctlFindings",
        metrics.FINDINGS,
        "> 0",
        "10m",
        WARNING,
        "A rule of doctor finds errors. See `eosctl doctor`, and `eosctl explain` with the rule",
        labels=(("severity", "error"),),
    ),
    Alert(
        "EosctlAuditBroken",
        metrics.AUDIT_VERDICT,
        "== 1",
        "0m",
        CRITICAL,
        "By the last audit exactly-once did not hold. See `eosctl audit status`",
        labels=(("verdict", "broken"),),
    ),
)
