"""Findings about the records of the config topic, and about one connector there."""

from typing import Final

from eosctl.model.report import FindingKind, OlderFix, Severity
from eosctl.model.versions import STOPPED_STATE

ONCE_MORE: Final = (
    "a task that is FAILED then with `Failed to write to config topic`, because the leader's transactional ID had "
    "expired, once more"
)

RESTART_CONNECTOR: Final = (
    "restart the connector, which writes its task configs where its worker does not know them: POST "
    "/connectors/<connector>/restart. If the finding stays, that worker knows them all and has written none: "
)
WRITE_TASK_CONFIGS: Final = (
    f"{RESTART_CONNECTOR}stop the connector (PUT /connectors/<connector>/stop) and resume it (PUT "
    "/connectors/<connector>/resume), which writes them all"
)
OLDER_WRITE: Final = OlderFix(
    STOPPED_STATE,
    f"{RESTART_CONNECTOR}delete the connector (DELETE /connectors/<connector>; its offsets stay), see that none of its "
    "tasks runs any more, then create it again with the same config (PUT /connectors/<connector>/config)",
)

NOT_A_CONFIG_TOPIC: Final = FindingKind(
    id="EOS060",
    name="not-a-config-topic",
    title="not a config topic",
    severity=Severity.ERROR,
    cause="None of its records has a key that Connect knows.",
    fix="name the topic that config.storage.topic of the workers names: --config-topic TOPIC",
    source="KafkaConfigBackingStore.onCompletion",
    commands=("inspect-config",),
    is_misnaming=True,
)
MIXED_WRITERS: Final = FindingKind(
    id="EOS061",
    name="mixed-writers",
    title="leader without exactly-once wrote",
    severity=Severity.ERROR,
    cause="A leader that is disabled writes plainly, and fences no leader before it. Once a leader writes in "
    "transactions again the plain records are history, and only an info.",
    fix="set exactly.once.source.support to preparing or enabled on every worker and restart them one by one; check "
    "with `eosctl upgrade-check --to <phase>`. After a downgrade on purpose there is nothing to do",
    source="KIP-618; KafkaConfigBackingStore.sendPrivileged",
    commands=("inspect-config",),
)
INTERLEAVED_LEADERS: Final = FindingKind(
    id="EOS062",
    name="interleaved-leaders",
    title="two clusters share the config topic",
    severity=Severity.ERROR,
    cause="Leaders with different group.id have different transactional IDs and do not fence each other.",
    fix="two Connect clusters with different group.id share this topic: give each its own config.storage.topic",
    source="KIP-618; KafkaConfigBackingStore.claimWritePrivileges, DistributedConfig.transactionalProducerId",
    commands=(
        "inspect-config",
        "audit",
    ),
)
OPEN_TRANSACTION: Final = FindingKind(
    id="EOS063",
    name="open-transaction",
    title="open transaction blocks the config topic",
    severity=Severity.WARNING,
    cause="Workers with exactly-once read committed, and an open transaction holds everything behind it back.",
    fix="wait for its timeout; if it stays, `eosctl transactions describe connect-cluster-<group.id>` shows whether it "
    "is the leader's, and `eosctl fence --transactional-id <id>` ends it (a leader that was fenced answers 500 to the "
    "next change of a config and then claims its ID again; send it no `restart?includeTasks=true`, after which it "
    "refuses every change until it is restarted); one that no coordinator knows ends with "
    "`eosctl transactions abort --topic <topic> --partition 0`",
    source="KIP-618; KafkaBasedLog.readToLogEnd",
    commands=("inspect-config",),
)
POISON_RECORD: Final = FindingKind(
    id="EOS064",
    name="poison-record",
    title="poison record in the config topic",
    severity=Severity.ERROR,
    cause="Some malformed records make a worker drop the rest of a poll, so that workers differ in what they know.",
    fix="have Connect write a good record of the same key (PUT /connectors/<connector>/config with a change); "
    "compaction then removes the old one",
    source="KafkaConfigBackingStore.onCompletion",
    commands=("inspect-config",),
)
FATAL_RECORD: Final = FindingKind(
    id="EOS065",
    name="fatal-record",
    title="record that keeps workers from starting",
    severity=Severity.ERROR,
    cause="Some malformed records end a worker that starts. One that runs loses the rest of what it read in the same "
    "poll; before 3.9 it reads nothing more of the topic at all (`Unexpected exception in Thread[KafkaBasedLog Work "
    "Thread`), and cannot be restarted meanwhile.",
    fix="before any worker is restarted, set cleanup.policy=compact on the topic: the log cleaner removes records "
    "without key, once their segment is closed (segment.ms, 7 days: lower it for a while). A session key of a bad form "
    "is followed by the leader's next one (inter.worker.key.ttl.ms, 1 hour)",
    source="KafkaConfigBackingStore.onCompletion, KafkaBasedLog.poll, Cleaner.shouldRetainRecord",
    commands=("inspect-config",),
)
MALFORMED_RECORD: Final = FindingKind(
    id="EOS066",
    name="malformed-record",
    title="malformed record in the config topic",
    severity=Severity.WARNING,
    cause="Workers log such a record and ignore it.",
    fix="have Connect write a good record of the same key (PUT /connectors/<connector>/config, /pause or /resume); "
    "compaction then removes the old one",
    source="KafkaConfigBackingStore.onCompletion",
    commands=("inspect-config",),
)
INVALID_KEYS: Final = FindingKind(
    id="EOS067",
    name="invalid-keys",
    title="unknown keys in the config topic",
    severity=Severity.INFO,
    cause="Workers log such a key and ignore it.",
    fix="nothing; find out what else writes to this topic, which only Connect should",
    source="KafkaConfigBackingStore.onCompletion",
    commands=("inspect-config",),
)
PENDING_FENCING_WITH_RUNNING_TASKS: Final = FindingKind(
    id="EOS068",
    name="pending-fencing-with-running-tasks",
    title="tasks run that were not fenced",
    severity=Severity.ERROR,
    cause="Tasks of workers that are not enabled start without a round of fencing; older tasks may still write.",
    fix="make sure that every worker has exactly.once.source.support=enabled (`eosctl upgrade-check --to enabled`), "
    f"then restart its tasks one by one: POST /connectors/<connector>/tasks/<task>/restart; {ONCE_MORE}",
    source="KIP-618; DistributedHerder.fenceZombieSourceTasks, ClusterConfigState.pendingFencing",
    commands=("inspect-config",),
)
TASK_COUNT_MISMATCH: Final = FindingKind(
    id="EOS069",
    name="task-count-mismatch",
    title="task count record does not fit",
    severity=Severity.WARNING,
    cause="The next round fences as many producers as the record says.",
    fix="stop it (PUT /connectors/<connector>/stop), see that none of its tasks runs any more, then resume it (PUT "
    "/connectors/<connector>/resume), which commits, fences and records again",
    older=OlderFix(
        STOPPED_STATE,
        "delete it (DELETE /connectors/<connector>; its offsets stay), see that none of its tasks runs any more, then "
        "create it again with the same config (PUT /connectors/<connector>/config), which commits, fences and records "
        "again",
    ),
    source="KIP-618; DistributedHerder.fenceZombieSourceTasks, KafkaConfigBackingStore.putTaskCountRecord",
    commands=("inspect-config",),
)
COMMIT_WITHOUT_TASK_COUNT_RECORD: Final = FindingKind(
    id="EOS070",
    name="commit-without-task-count-record",
    title="never started under exactly-once",
    severity=Severity.WARNING,
    cause="A connector gets a task count record at its first start on a worker that is enabled.",
    fix="when every worker has exactly.once.source.support=enabled, restart its tasks one by one: POST "
    f"/connectors/<connector>/tasks/<task>/restart; {ONCE_MORE}",
    source="KIP-618; DistributedHerder.fenceZombieSourceTasks",
    commands=("inspect-config",),
)
INCONSISTENT_CONNECTOR: Final = FindingKind(
    id="EOS071",
    name="inconsistent-connector",
    title="task configs are missing",
    severity=Severity.ERROR,
    cause="Compaction may leave a commit without its configs; a worker that starts then runs no tasks of the "
    "connector. inspect-config and doctor report a warning, audit an error.",
    fix=WRITE_TASK_CONFIGS,
    older=OLDER_WRITE,
    source="ClusterConfigState.inconsistentConnectors, DistributedHerder.reconfigureConnector",
    commands=(
        "inspect-config",
        "audit",
    ),
)
COMMIT_BEFORE_CONFIG: Final = FindingKind(
    id="EOS072",
    name="commit-before-config",
    title="task commit before its connector",
    severity=Severity.WARNING,
    cause="Workers from 3.7.1 ignore a commit of a connector that they do not know yet (KAFKA-16838).",
    fix=WRITE_TASK_CONFIGS,
    source="KAFKA-16838; KafkaConfigBackingStore.processTasksCommitRecord, DistributedHerder.reconfigureConnector",
    commands=("inspect-config",),
)
ORPHAN_RECORDS: Final = FindingKind(
    id="EOS073",
    name="orphan-records",
    title="records of a deleted connector",
    severity=Severity.INFO,
    cause="Connect keeps their task count records on purpose.",
    fix="nothing: Connect keeps them on purpose, so that a new connector of this name fences the old one's tasks",
    source="KIP-618; KafkaConfigBackingStore.removeConnectorConfig",
    commands=("inspect-config",),
)
IMPOSSIBLE_CONNECTOR: Final = FindingKind(
    id="EOS074",
    name="impossible-connector",
    title="connector that cannot run",
    severity=Severity.ERROR,
    cause="A worker takes any name of a topic into a connector's config, and any config that it finds in the config "
    "topic. Such a connector or its tasks turn FAILED, and all others go on. A name that is too long for the group's "
    "protocol ends every worker.",
    fix="write its config again: PUT /connectors/<connector>/config, or delete it: DELETE /connectors/<connector>",
    source="Topic.validate, ConnectorConfig.validate, IncrementalCooperativeConnectProtocol.serializeAssignment",
    commands=("inspect-config", "acl-plan", "offsets show"),
)
KINDS: Final = (
    NOT_A_CONFIG_TOPIC,
    MIXED_WRITERS,
    INTERLEAVED_LEADERS,
    OPEN_TRANSACTION,
    POISON_RECORD,
    FATAL_RECORD,
    MALFORMED_RECORD,
    INVALID_KEYS,
    PENDING_FENCING_WITH_RUNNING_TASKS,
    TASK_COUNT_MISMATCH,
    COMMIT_WITHOUT_TASK_COUNT_RECORD,
    INCONSISTENT_CONNECTOR,
    COMMIT_BEFORE_CONFIG,
    ORPHAN_RECORDS,
    IMPOSSIBLE_CONNECTOR,
)
