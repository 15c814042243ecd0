"""What a dashboard shows: the panels that `watch --emit` writes, theme by theme.

A metric that no panel names gets one of its own at the end, so that none is left out.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.model.watch import Alert, Metric, Panel, PanelKind, PanelRow

STAT, SERIES, TABLE = PanelKind.STAT, PanelKind.TIME_SERIES, PanelKind.TABLE
AGE: Final = "time() - {}"
SUM: Final = "sum by (profile) ({})"

_THEMES: Final = (
    PanelRow(
        "Now",
        (
            Panel("Hanging transactions", STAT, (metrics.HANGING,), bad_from=1),
            Panel("Partitions held back", STAT, (metrics.LSO_HELD_PARTITIONS,)),
            Panel("Errors found by doctor", STAT, (metrics.FINDINGS,), SUM, (("severity", "error"),), bad_from=1),
            Panel("Audits: broken", STAT, (metrics.AUDIT_VERDICT,), SUM, (("verdict", "broken"),), bad_from=1),
            Panel("Facts not read", STAT, (metrics.UNREAD_FACTS,), bad_from=1),
            Panel("Last cycle ended ago", STAT, (metrics.CYCLE_AS_OF,), AGE, bad_from=600),
        ),
    ),
    PanelRow(
        "Last stable offset",
        (
            Panel("Held back for", SERIES, (metrics.LSO_HELD,), bad_from=900),
            Panel("Offsets held back", SERIES, (metrics.LSO_LAG,)),
            Panel("Who holds partitions back", TABLE, (metrics.LSO_HELD,)),
        ),
    ),
    PanelRow(
        "Transactions",
        (
            Panel("Transactional IDs by state", SERIES, (metrics.TRANSACTIONAL_IDS,)),
            Panel("Open transactions", SERIES, (metrics.OPEN_TRANSACTIONS,)),
            Panel("Oldest open transactions", SERIES, (metrics.OPEN_AGE,)),
            Panel("Hanging, or not known whether", SERIES, (metrics.HANGING, metrics.HANGING_UNDECIDED)),
            Panel("IDs near expiry, epochs near the end", SERIES, (metrics.IDS_NEAR_EXPIRY, metrics.EPOCHS_NEAR_END)),
            Panel("Hanging transactions", TABLE, (metrics.HANGING_AGE,)),
        ),
    ),
    PanelRow(
        "Connectors",
        (
            Panel("Age of the newest source offset", SERIES, (metrics.OFFSET_AGE,)),
            Panel("Since the last commit of a task", SERIES, (metrics.SINCE_COMMIT,)),
            Panel("The same, by its longest interval before", SERIES, (metrics.QUIET_RATIO,), bad_from=3),
            Panel("Zombie fencing pending", SERIES, (metrics.FENCING_PENDING,), bad_from=1),
            Panel("Expected time of zombie fencing", SERIES, (metrics.FENCING_EXPECTED,)),
            Panel("Inconsistent", SERIES, (metrics.INCONSISTENT,), bad_from=1),
            Panel("Source offsets hidden", SERIES, (metrics.NULL_SHADOWS,), bad_from=1),
        ),
    ),
    PanelRow(
        "Doctor",
        (
            Panel("Findings by severity", SERIES, (metrics.FINDINGS,), "sum by (profile, severity) ({})"),
            Panel("Waived findings", SERIES, (metrics.FINDINGS_WAIVED,), SUM),
            Panel("Rules that find something", TABLE, (metrics.FINDINGS,), "{} > 0"),
            Panel("Rules that cannot tell", TABLE, (metrics.RULE_UNKNOWN,), "{} > 0"),
            Panel("Facts were read ago", STAT, (metrics.DOCTOR_AS_OF,), AGE),
        ),
    ),
    PanelRow(
        "Audit",
        (
            Panel("Verdicts", TABLE, (metrics.AUDIT_VERDICT,), "{} == 1"),
            Panel("Findings", SERIES, (metrics.AUDIT_FINDINGS,)),
            Panel("The last run of a job read up to, ago", SERIES, (metrics.AUDIT_AS_OF,), AGE),
        ),
    ),
    PanelRow(
        "Watch itself",
        (
            Panel("Not read", TABLE, (metrics.UNREAD,)),
            Panel("Facts were read ago", SERIES, (metrics.READ_AS_OF,), AGE),
            Panel("Time of a cycle", SERIES, (metrics.CYCLE_DURATION,)),
            Panel("Requests of a cycle", SERIES, (metrics.CYCLE_REQUESTS,)),
            Panel("All was read ago", SERIES, (metrics.LAST_SUCCESS,), AGE),
            Panel("Series left out", TABLE, (metrics.LEFT_OUT,)),
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


ROWS: Final = tuple(with_all(_THEMES, metrics.METRICS))
"""In the order in which they are shown."""


# The alerts that `watch --emit` writes.
#
# An alert also resolves when its data can no longer be read: EosctlFactsUnread fires then.


CRITICAL: Final = "critical"
WARNING: Final = "warning"

ALERTS: Final = (
    Alert(
        "EosctlNotWatching",
        metrics.CYCLE_AS_OF,
        "",
        "5m",
        CRITICAL,
        "No metrics of eosctl watch are scraped, so no other alert can fire",
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
    Alert(
        "EosctlAuditAltered",
        metrics.AUDIT_VERDICT,
        "== 1",
        "0m",
        WARNING,
        "Somebody changed source offsets: records are in topics once more, or left out. See `eosctl audit status`",
        labels=(("verdict", "altered"),),
    ),
)
