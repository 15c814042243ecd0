"""Findings about the records of the config topic, and about one connector there."""

from typing import Final

from eosctl.model.report import FindingKind, OlderFix, Severity
from eosctl.model.versions import STOPPED_STATE

ONCE_MORE: Final = (
    "if a task is FAILED then with `Failed to write to config topic`, restart it again: the leader's transactional "
    "ID had expired"
)

RESTART_CONNECTOR: Final = (
    "restart the connector, which writes the task configs that its worker does not know: POST "
    "/connectors/<connector>/restart. If the finding stays, that worker knows them all and has written none: "
)
WRITE_TASK_CONFIGS: Final = (
    f"{RESTART_CONNECTOR}stop the connector (PUT /connectors/<connector>/stop) and resume it (PUT "
    "/connectors/<connector>/resume), which writes them all"
)
OLDER_WRITE: Final = OlderFix(
    STOPPED_STATE,
    f"{RESTART_CONNECTOR}delete the connector (DELETE /connectors/<connector>; its offsets stay), check that no "
    "task of it runs, then create it again with the same config (PUT /connectors/<connector>/config)",
)

NOT_A_CONFIG_TOPIC: Final = FindingKind(
    id="EOS060",
    name="not-a-config-topic",
    title="not a config topic",
    severity=Severity.ERROR,
    cause="No record of it has a key that Connect knows.",
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
    cause="A leader that is disabled writes without transactions, and fences no earlier leader. Once a "
    "leader writes in transactions again, the earlier records are only an info.",
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
    fix="give each of the two Connect clusters its own config.storage.topic; they have different group.id",
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
    cause="Workers with exactly-once use read_committed, and an open transaction hides all later records.",
    fix=(
        "wait for the transaction's timeout. If the transaction stays open, `eosctl transactions describe "
        "connect-cluster-<group.id>` shows whether it is the leader's, and `eosctl fence --transactional-id <id>` "
        "ends it. A fenced leader answers 500 to the next config change, and then initializes its ID again. Do not "
        "send it `restart?includeTasks=true`: after that request it refuses every change until it is restarted. If "
        "no coordinator knows the transaction, `eosctl transactions hanging --topic <topic>` shows how to end it"
    ),
    source="KIP-618; KafkaBasedLog.readToLogEnd",
    commands=("inspect-config",),
)
POISON_RECORD: Final = FindingKind(
    id="EOS064",
    name="poison-record",
    title="poison record in the config topic",
    severity=Severity.ERROR,
    cause="Some malformed records make a worker drop the rest of a poll. Then the workers' views of the topic differ.",
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
    cause="Some malformed records stop a worker while it starts. A running worker loses the remaining records of "
    "the same poll. Before 3.9 it stops reading the topic (`Unexpected exception in Thread[KafkaBasedLog Work "
    "Thread`), and cannot be restarted while the topic has the record.",
    fix="before you restart any worker, set cleanup.policy=compact on the topic. The log cleaner removes records "
    "without a key after their segment is closed (segment.ms, 7 days: lower it for a while). The leader "
    "replaces a malformed session key (inter.worker.key.ttl.ms, 1 hour)",
    source="KafkaConfigBackingStore.onCompletion, KafkaBasedLog.poll, Cleaner.shouldRetainRecord",
    commands=("inspect-config",),
)
MALFORMED_RECORD: Final = FindingKind(
    id="EOS066",
    name="malformed-record",
    title="malformed record in the config topic",
    severity=Severity.WARNING,
    cause="Workers log this record and ignore it.",
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
    cause="Workers log these keys and ignore them.",
    fix=(
        "find the client that writes to this topic, and stop it: only Connect should write here. The records do no harm"
    ),
    source="KafkaConfigBackingStore.onCompletion",
    commands=("inspect-config",),
)
PENDING_FENCING_WITH_RUNNING_TASKS: Final = FindingKind(
    id="EOS068",
    name="pending-fencing-with-running-tasks",
    title="tasks run that were not fenced",
    severity=Severity.ERROR,
    cause="Tasks of workers that are not enabled start without a round of fencing; older tasks may still write. A "
    "start in progress looks the same for up to 90 s after its task commit: until then it is only info.",
    fix=(
        "make sure that every worker has exactly.once.source.support=enabled (`eosctl upgrade-check --to "
        "enabled`), then restart the connector's tasks one by one: POST "
        f"/connectors/<connector>/tasks/<task>/restart; {ONCE_MORE}"
    ),
    source="KIP-618; DistributedHerder.fenceZombieSourceTasks, ClusterConfigState.pendingFencing",
    commands=("inspect-config",),
)
TASK_COUNT_MISMATCH: Final = FindingKind(
    id="EOS069",
    name="task-count-mismatch",
    title="task count record does not fit",
    severity=Severity.WARNING,
    cause="The next round fences the number of producers in the record.",
    fix=(
        "stop the connector (PUT /connectors/<connector>/stop), check that no task of it runs, then resume it (PUT "
        "/connectors/<connector>/resume). The workers then commit the task configs, fence and write the task count "
        "record again"
    ),
    older=OlderFix(
        STOPPED_STATE,
        (
            "delete the connector (DELETE /connectors/<connector>; its offsets stay), check that no task of it runs, "
            "then create it again with the same config (PUT /connectors/<connector>/config). The workers then commit "
            "the task configs, fence and write the task count record again"
        ),
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
    fix=(
        "when every worker has exactly.once.source.support=enabled, restart the connector's tasks one by one: POST "
        f"/connectors/<connector>/tasks/<task>/restart; {ONCE_MORE}"
    ),
    source="KIP-618; DistributedHerder.fenceZombieSourceTasks",
    commands=("inspect-config",),
)
INCONSISTENT_CONNECTOR: Final = FindingKind(
    id="EOS071",
    name="inconsistent-connector",
    title="task configs are missing",
    severity=Severity.ERROR,
    cause="Compaction may keep a commit and delete its configs. A worker that starts then runs no tasks of the "
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
    cause="Connect keeps the task count record of a deleted connector.",
    fix=(
        "nothing: Connect keeps it on purpose, so that a new connector of this name fences the tasks of the deleted one"
    ),
    source="KIP-618; KafkaConfigBackingStore.removeConnectorConfig",
    commands=("inspect-config",),
)
IMPOSSIBLE_CONNECTOR: Final = FindingKind(
    id="EOS074",
    name="impossible-connector",
    title="connector that cannot run",
    severity=Severity.ERROR,
    cause="A worker accepts any topic name in a connector's config, and any config in the config topic. "
    "This connector or its tasks turn FAILED. All other connectors continue. A name that is too long "
    "for the group's protocol ends every worker.",
    fix="write its config again: PUT /connectors/<connector>/config, or delete it: DELETE /connectors/<connector>",
    source="Topic.validate, ConnectorConfig.configDef, IncrementalCooperativeConnectProtocol.serializeAssignment",
    commands=("inspect-config", "acl-plan", "offsets show"),
)


# Findings about the workers' internal topics.


TOO_FEW_REPLICAS: Final = "raise the replication factor of <topic> with kafka-reassign-partitions.sh"

MISSING: Final = FindingKind(
    id="EOS050",
    name="missing-internal-topic",
    title="internal topic is missing",
    severity=Severity.ERROR,
    cause="A worker creates missing topics when it starts. So while workers run, either they use topics of other "
    "names, or somebody deleted these, and the next start creates them empty.",
    fix="name the workers' topics: --config-topic, --worker-offsets-topic, --status-topic. If one was deleted, "
    "save the workers' last state (GET /connectors?expand=info) before you restart any of them",
    source="TopicAdmin.createTopics",
)
PARTITIONS: Final = FindingKind(
    id="EOS051",
    name="more-than-one-partition",
    title="config topic with several partitions",
    severity=Severity.ERROR,
    cause="The order of its records is their meaning, and Kafka keeps order within a partition only.",
    fix="create a topic with 1 partition and cleanup.policy=compact. Copy the records of all partitions into it in "
    "the order of their timestamps. Then set config.storage.topic of all workers to it",
    source="KafkaConfigBackingStore.start",
    commands=("inspect-config",),
)
CLEANUP: Final = FindingKind(
    id="EOS052",
    name="wrong-cleanup-policy",
    title="internal topic is not compacted",
    severity=Severity.ERROR,
    cause="With `delete` in its cleanup policy a topic loses connectors or offsets with time; workers that may read "
    "the policy refuse to start. An empty policy, which brokers accept from 4.2 on, deletes and compacts nothing: "
    "workers start, and read a topic that grows for ever.",
    fix="`kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name <topic> --add-config "
    "cleanup.policy=compact`",
    source="TopicAdmin.verifyTopicCleanupPolicyOnlyCompact, LogConfig.validateValues",
    commands=("inspect-config", "offsets show"),
)
WRITABLE: Final = FindingKind(
    id="EOS053",
    name="internal-topic-unwritable",
    title="internal topic cannot be written",
    severity=Severity.ERROR,
    cause="Workers write with acks=all, which waits for min.insync.replicas. Where that is above the replication "
    "factor, brokers before 3.7 refuse each write; newer ones ask for all replicas (EOS054).",
    fix="start the brokers that hold its replicas: `kafka-topics.sh --bootstrap-server <broker> --describe "
    "--topic <topic>` names them. Where "
    f"min.insync.replicas is above the replication factor on brokers before 3.7, {TOO_FEW_REPLICAS}",
    source="Partition.appendRecordsToLeader, Partition.effectiveMinIsr",
)
THIN: Final = FindingKind(
    id="EOS054",
    name="internal-topic-thinly-replicated",
    title="internal topic has a low replication factor",
    severity=Severity.WARNING,
    cause="An offsets topic that is lost starts every source from nothing. With min.insync.replicas above the "
    "replication factor one lost replica stops the writes of every worker.",
    fix="raise the replication factor with kafka-reassign-partitions.sh",
    source="TopicAdmin.createTopics",
)
OWN_MISSING: Final = FindingKind(
    id="EOS055",
    name="own-offsets-topic-missing",
    title="connector-specific offsets topic is missing",
    severity=Severity.ERROR,
    cause="A worker creates it when the connector or a task starts. If tasks have run since, somebody deleted it. "
    "The next start creates it empty, and the connector begins without an offset.",
    fix=(
        "restore the connector's offsets before you restart it. Create the topic with cleanup.policy=compact, and "
        "run `eosctl offsets restore <file> --connector <connector> --stop --resume` with an earlier export"
    ),
    older=OlderFix(
        STOPPED_STATE,
        "restore the connector's offsets before you restart it. Create the topic with cleanup.policy=compact. "
        "Delete the connector (DELETE /connectors/<connector>). Run `eosctl offsets restore <file> --connector "
        "<connector>` with an earlier export. Then create the connector again (PUT /connectors/<connector>/config)",
    ),
    source="Worker.offsetStoreForExactlyOnceSourceTask, TopicAdmin.createTopics",
)
NOT_A_STATUS_TOPIC: Final = FindingKind(
    id="EOS056",
    name="not-a-status-topic",
    title="not a status topic",
    severity=Severity.ERROR,
    cause="No key of its first records is known to Connect.",
    fix="name the topic that status.storage.topic of the workers names: --status-topic TOPIC",
    source="KafkaStatusBackingStore.read",
    is_misnaming=True,
)


# Findings about the records of offsets topics, and what workers and connectors find there.


DELETED: Final = "delete the connector (DELETE /connectors/<connector>; its offsets stay)"
CREATED_AGAIN: Final = "create the connector again (PUT /connectors/<connector>/config)"

UNDELETABLE: Final = FindingKind(
    id="EOS089",
    name="offsets-undeletable",
    title="offsets that REST cannot delete",
    severity=Severity.INFO,
    cause=(
        "From 3.8 on a worker writes tombstones to the worker-global offsets topic first, and waits for the "
        "answer. Only then it writes to the connector-specific topic, or to the topic in the producer's other "
        "Kafka cluster. By then the transaction has ended (`Cannot add partition … while in state READY`), and the "
        "REST request times out after 90 s (KAFKA-15018; measured with 3.9.2 and 4.3.1, and fine in 3.6.2). If a "
        "running task commits a null offset, it commits its records without their offsets and turns FAILED. At "
        "each start it writes these records again."
    ),
    fix=(
        "reset the offsets with eosctl: `eosctl offsets export <file> --connector <connector>`, set the offsets in "
        "the file to null, and `eosctl offsets restore <file> --connector <connector> --stop --resume`. If tasks "
        "commit null offsets, use the worker-global offsets topic for the connector"
    ),
    source="KIP-875, KAFKA-15018; ConnectorOffsetBackingStore.set",
)
SEE_WHICH: Final = "compare both offsets with the connector's output. If the connector reached the worker-global one"
IF_STILL_READ: Final = "if the connector still reads them"

SHADOWED_OFFSET: Final = FindingKind(
    id="EOS080",
    name="shadowed-offset",
    title="shadowed offset",
    severity=Severity.ERROR,
    cause="In the merged view a missing offset of the connector-specific topic hides the worker-global "
    "offset: the connector begins without an offset and copies everything again. Measured: 1,000 "
    "duplicates of 1,000 records. It is a warning if the connector-specific topic has other offsets. "
    "The connector runs with them, and may no longer read the source partitions that are missing "
    "there.",
    fix=(
        "stop the connector (PUT /connectors/<connector>/stop), take offsets.storage.topic out of its config (PUT "
        "/connectors/<connector>/config), then move its offsets: `eosctl migrate-offsets --connector <connector> "
        "--to-topic <topic> --stop --set-config --resume`"
    ),
    older=OlderFix(
        STOPPED_STATE,
        (
            f"{DELETED}, move its offsets: `eosctl migrate-offsets --connector <connector> --to-topic <topic> "
            f"--offsets-topic <worker-global topic>`, then {CREATED_AGAIN}"
        ),
    ),
    source="KIP-618; ConnectorOffsetBackingStore.get",
    commands=("offsets show",),
)
STORES_DISAGREE: Final = FindingKind(
    id="EOS081",
    name="stores-disagree",
    title="offset stores disagree",
    severity=Severity.WARNING,
    cause="The connector uses the offset in its connector-specific topic. The worker-global topic has another value.",
    fix=(
        f"{SEE_WHICH}: `eosctl migrate-offsets --connector <connector> --to-topic <connector-specific topic> "
        "--offsets-topic <worker-global topic> --merge keep-source --stop --set-config --resume`"
    ),
    older=OlderFix(
        STOPPED_STATE,
        (
            f"{SEE_WHICH}: {DELETED}, run `eosctl migrate-offsets --connector <connector> --to-topic "
            "<connector-specific topic> --offsets-topic <worker-global topic> --merge keep-source`, then "
            f"{CREATED_AGAIN}"
        ),
    ),
    source="KIP-618; ConnectorOffsetBackingStore.get, ConnectorOffsetBackingStore.set",
    commands=("offsets show",),
)
MALFORMED_OFFSET: Final = FindingKind(
    id="EOS082",
    name="malformed-offset",
    title="unusable offset",
    severity=Severity.ERROR,
    cause="A connector gets no offset if its value cannot be read.",
    fix="set these offsets again: `eosctl offsets restore <file> --connector <connector> --stop --resume`",
    older=OlderFix(
        STOPPED_STATE,
        f"{DELETED}, set these offsets again: `eosctl offsets restore <file> --connector <connector>`, then "
        f"{CREATED_AGAIN}",
    ),
    source="OffsetStorageReaderImpl.offsets",
    commands=("offsets show",),
)
OFFSETS_WRITTEN_ELSEWHERE: Final = FindingKind(
    id="EOS083",
    name="offsets-written-elsewhere",
    title="offsets are written elsewhere",
    severity=Severity.ERROR,
    cause=(
        "A connector overrides bootstrap.servers of its producer and not of its consumer, or the reverse. Its "
        "tasks then write offsets to one Kafka cluster and read them from the other."
    ),
    fix="override bootstrap.servers of the connector's producer, consumer and admin with one value "
    "(producer.override.…, consumer.override.…, admin.override.bootstrap.servers)",
    source="KIP-618; Worker.offsetStoreForExactlyOnceSourceTask",
    commands=("offsets show",),
)
ORPHAN_OFFSETS: Final = FindingKind(
    id="EOS084",
    name="orphan-offsets",
    title="offsets of a deleted connector",
    severity=Severity.INFO,
    cause="A new connector of the same name begins at these offsets.",
    fix=(
        "nothing. If a new connector of this name must begin without an offset, delete them first: `eosctl offsets "
        "restore <file> --connector <connector>` with an offset of null for each source partition"
    ),
    source="KIP-875; OffsetStorageReaderImpl.offsets",
    commands=(
        "offsets show",
        "audit",
    ),
)
KEY_IN_TWO_PARTITIONS: Final = FindingKind(
    id="EOS085",
    name="key-in-two-partitions",
    title="offset in two partitions",
    severity=Severity.ERROR,
    cause="Compaction is per partition, so both values stay and the order of reading decides. Something wrote with "
    "another partitioner than Java's (librdkafka's default is one), or partitions were added.",
    fix="stop the connector. Write the right offset to every partition that holds the key (`eosctl offsets restore "
    "<file> --connector <connector>`), and move the connector to a new topic (`eosctl migrate-offsets --connector "
    "<connector> --to-topic <topic>`). Or write a tombstone for each key to every partition except the one that "
    "murmur2 selects, and let compaction remove it (delete.retention.ms=0) before a worker starts. A worker that "
    "reads the tombstone last forgets the offset",
    source="KafkaBasedLog.send, KafkaOffsetBackingStore.set",
    commands=(
        "offsets show",
        "audit",
        "migrate-offsets",
    ),
)
LOGICAL_DUPLICATES: Final = FindingKind(
    id="EOS086",
    name="logical-duplicates",
    title="one source partition under two keys",
    severity=Severity.WARNING,
    cause=(
        "Connect compares keys byte for byte, and finds only the offset under the key that the connector writes "
        "now. The offset under the other key is an old one."
    ),
    fix=(
        "find the key with the newest offset (`eosctl offsets show --connector <connector> -o wide`), and write a "
        "tombstone for each other key while the connector is stopped"
    ),
    source="OffsetStorageReaderImpl.offsets",
    commands=(
        "offsets show",
        "audit",
    ),
)
MALFORMED_OFFSETS_KEY: Final = FindingKind(
    id="EOS087",
    name="malformed-offsets-key",
    title="malformed offsets key",
    severity=Severity.ERROR,
    cause="Workers log and ignore this key. Workers of 3.5.0, 3.5.1 and 3.6.0 lose the records after it in the "
    "same poll (KAFKA-15800).",
    fix=(
        "find the client that writes to this topic, and stop it: only Connect should write here. Then write a "
        "tombstone for each such key"
    ),
    source="KAFKA-15800; OffsetUtils.processPartitionKey (from 3.5 on)",
    commands=(
        "offsets show",
        "audit",
    ),
)
NOT_AN_OFFSETS_TOPIC: Final = FindingKind(
    id="EOS093",
    name="not-an-offsets-topic",
    title="not an offsets topic",
    severity=Severity.ERROR,
    cause="No record of it has a key that Connect knows.",
    fix="change nothing in this topic; name the topic that offset.storage.topic of the workers (or "
    "offsets.storage.topic of the connector) names: --worker-offsets-topic TOPIC",
    source="OffsetUtils.processPartitionKey (from 3.5 on)",
    commands=("offsets show",),
    is_misnaming=True,
)
OFFSETS_OPEN_TRANSACTION: Final = FindingKind(
    id="EOS088",
    name="open-transaction",
    title="open transaction blocks an offsets topic",
    severity=Severity.WARNING,
    cause=(
        "Tasks of enabled workers, and all tasks with a connector-specific offsets topic, use read_committed. They "
        "wait for an open transaction before they start. While no worker is enabled, no worker waits for one in "
        "the worker-global offsets topic, and it is an info."
    ),
    fix=(
        "look again: a commit in progress ends within seconds. If the transaction stays open, `eosctl transactions "
        "hanging --topic <topic>` names its transactional ID and the command that ends it. Or let "
        "transaction.timeout.ms pass"
    ),
    source="KIP-618; KafkaBasedLog.readToLogEnd",
    commands=("offsets show",),
)
NULL_PARTITION_LOST: Final = FindingKind(
    id="EOS090",
    name="null-partition-lost",
    title="null source partition is lost",
    severity=Severity.ERROR,
    cause="Workers from 4.2 on write an offset of the null partition and cannot look it up.",
    fix="have the connector name its source partition, or run it on workers of 4.1 or older",
    source="OffsetStorageReaderImpl.offsets; measured with 4.3.1",
    commands=("offsets show",),
)
PRODUCES_ELSEWHERE: Final = FindingKind(
    id="EOS091",
    name="produces-elsewhere",
    title="connector produces to another Kafka cluster",
    severity=Severity.ERROR,
    cause="With exactly-once enabled, or with a connector-specific offsets topic, a task writes offsets with its "
    "own producer. The offsets and transactional IDs are then in the cluster of "
    "producer.override.bootstrap.servers. An info in `offsets show`; an error where a plan would read or write in "
    "the wrong cluster.",
    fix="give -b the brokers of the cluster that has the connector's offsets, and --connect-url its workers",
    source="KIP-618, KIP-875",
    commands=(
        "offsets show",
        "migrate-offsets",
        "offsets restore",
        "offsets create-connector",
    ),
)
EXPORT_COMMITTED: Final = (
    "write the committed offset again: `eosctl offsets export <connector>.json --connector <connector> --exactly-once "
    "enabled`"
)
NEVER_COMMITTED: Final = (
    "(a source partition that never had a committed offset is not in the file: add it with an offset of null)"
)
REWRITTEN_BEFORE_CREATION: Final = (
    f"before a connector of this name is created, {EXPORT_COMMITTED}, then `eosctl offsets restore <connector>.json "
    f"--connector <connector>` {NEVER_COMMITTED}"
)
"""The fix where the connector was deleted."""
UNCOMMITTED_OFFSET: Final = FindingKind(
    id="EOS092",
    name="uncommitted-offset",
    title="offset of a transaction that was not committed",
    severity=Severity.ERROR,
    cause=(
        "Workers that are not enabled read the worker-global offsets topic with `read_uncommitted`: they resume "
        "from offsets of aborted or open transactions. They silently skip the records up to such an offset, "
        "although no `read_committed` consumer has received them. Measured: lines 101 to 150 of 150 never came. "
        "Workers that are enabled ignore such an offset, so it is an info until you roll them back to preparing or "
        "disabled."
    ),
    fix=f"{EXPORT_COMMITTED}, then `eosctl offsets restore <connector>.json --connector <connector> --stop "
    f"--resume` {NEVER_COMMITTED}. If the connector was deleted, omit --stop and --resume: Connect keeps its "
    "offsets, and a new one of its name begins there. On the way back from enabled keep the source connectors "
    "stopped until the roll is over (PUT /connectors/<connector>/stop)",
    older=OlderFix(
        STOPPED_STATE,
        f"{EXPORT_COMMITTED}, {DELETED}, `eosctl offsets restore <connector>.json --connector <connector>`, then "
        f"{CREATED_AGAIN}",
    ),
    source="KafkaOffsetBackingStore.configure; measured with 4.3.1",
    commands=("offsets show",),
)
