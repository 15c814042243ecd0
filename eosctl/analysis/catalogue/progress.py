"""Findings about the progress of tasks: what is RUNNING and commits nothing."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

QUIET: Final = FindingKind(
    id="EOS160",
    name="task-quiet",
    title="task commits nothing, longer than ever in its history",
    severity=Severity.WARNING,
    cause="A task commits a transaction for what its connector's poll returns. Where there are no changes it commits "
    "nothing, and where the connector waits for ever in poll neither: both are RUNNING. So this is no proof of a "
    "fault; the source may be idle. It is found where nothing was committed for three times the longest interval "
    "between two commits of the task's history, and a minute at least: a warning where the history reaches back a "
    "week, information where it has less. Commits at random times at a constant rate are found with a probability "
    "below 0.6 % during a time as long as the history. "
    "While a task is PAUSED it commits nothing either, and the pause counts as an interval.",
    fix="look whether the source has changes that are not in the topics. If it has none, nothing is to be done (a "
    "heartbeat of the connector, as heartbeat.interval.ms of Debezium, shows the difference); if it has, look where "
    "the connector waits (jstack of the worker: thread task-thread-<connector>-<task>), then restart the task: POST "
    "/connectors/<connector>/tasks/<task>/restart",
    source="KIP-618; AbstractWorkerSourceTask.execute, ExactlyOnceWorkerSourceTask.commitTransaction",
)
KINDS: Final = (QUIET,)
