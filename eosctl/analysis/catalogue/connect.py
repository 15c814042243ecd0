"""Findings about what each worker is set to."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

SILENT: Final = FindingKind(
    id="EOS010",
    name="worker-silent",
    title="worker does not answer",
    severity=Severity.ERROR,
    cause="Only the worker itself can report its settings.",
    fix=(
        "start the worker or correct its address (--connect-url). If the worker was removed permanently, give "
        "--connect-url without it: the group drops it after session.timeout.ms (10 s by default)"
    ),
    source="RootResource.serverInfo",
)
OTHER_KAFKA: Final = FindingKind(
    id="EOS011",
    name="workers-elsewhere",
    title="worker of another Kafka cluster",
    severity=Severity.ERROR,
    cause="Workers on different Kafka clusters do not form one Connect cluster: leader, config topic and fencing "
    "differ.",
    fix="give --connect-url only workers of one Connect cluster, and -b the brokers that are their bootstrap.servers",
    source="KIP-238; RootResource.serverInfo",
    commands=("migrate-offsets", "offsets restore", "offsets create-connector"),
)
MIXED: Final = FindingKind(
    id="EOS012",
    name="mixed-phases",
    title="mixed phases",
    severity=Severity.ERROR,
    cause="A worker that is not enabled writes without transactions, and nothing fences its tasks. During "
    "the second rolling restart this is normal for a while.",
    fix="finish the rolling step: `eosctl upgrade-check --to enabled` says which worker is next",
    source="KIP-618; Worker.startExactlyOnceSourceTask, Worker.startSourceTask",
)
NOWHERE: Final = FindingKind(
    id="EOS013",
    name="exactly-once-not-enabled",
    title="exactly-once is not enabled",
    severity=Severity.WARNING,
    cause="exactly.once.source.support is disabled unless it is set; preparing alone gives no transactions to tasks.",
    fix=(
        "set preparing, then enabled, on every worker in two rolling restarts: `eosctl upgrade-check --to "
        "preparing`, then `eosctl upgrade-check --to enabled`, name the next worker"
    ),
    source="KIP-618; DistributedConfig.exactlyOnceSourceEnabled",
)
CONTRADICTION: Final = FindingKind(
    id="EOS014",
    name="file-contradicts-worker",
    title="file and worker contradict each other",
    severity=Severity.WARNING,
    cause="A worker reads its properties file only when it starts.",
    fix=(
        "restart the workers whose file was changed, one after the other; or give --worker-config the files that "
        "they run with"
    ),
    source="ConnectDistributed.main",
)
INVALID: Final = FindingKind(
    id="EOS015",
    name="invalid-support-value",
    title="value that no worker accepts",
    severity=Severity.ERROR,
    cause="A worker refuses to start with any other value.",
    fix="set exactly.once.source.support to disabled, preparing or enabled",
    source="DistributedConfig.exactlyOnceSourceEnabled, ConfigDef.parseValue",
)
DRAFT: Final = FindingKind(
    id="EOS016",
    name="draft-names",
    title="names of KIP-618's draft",
    severity=Severity.WARNING,
    cause="The draft of KIP-618 has exactly.once.source.enabled and tasks-count-<connector>; releases have "
    "exactly.once.source.support and tasks-fencing-<connector>.",
    fix=(
        "in every worker's file replace exactly.once.source.enabled=true by exactly.once.source.support=preparing, "
        "and restart the workers one by one. Then set it to enabled, and restart them one by one again"
    ),
    source="KIP-618; KafkaConfigBackingStore.TASK_COUNT_RECORD_PREFIX",
)
DIFFER: Final = FindingKind(
    id="EOS017",
    name="worker-files-disagree",
    title="workers' files disagree",
    severity=Severity.ERROR,
    cause="Workers of one group that use different internal topics overwrite each other's state; two "
    "groups that use the same topics do too. A different connect.protocol is a warning: the group "
    "uses the best protocol that all members know.",
    fix="give all workers of one Connect cluster the same values, and each Connect cluster its own topics and group.id",
    source="DistributedConfig.transactionalProducerId, WorkerCoordinator.metadata",
)
TWO_STEPS_AWAY: Final = FindingKind(
    id="EOS018",
    name="two-steps-away",
    title="worker two steps away from the target",
    severity=Severity.ERROR,
    cause="Every worker must be preparing before any is enabled. A leader that is disabled writes its task count "
    "records outside a transaction, and no new leader can fence it. As a zombie it may write a record too late.",
    fix=(
        "set exactly.once.source.support=preparing on every worker first, and restart them one by one: `eosctl "
        "upgrade-check --to preparing` names the next worker"
    ),
    source="KIP-618",
    commands=("upgrade-check",),
)
PLUGINS: Final = FindingKind(
    id="EOS019",
    name="plugins-differ",
    title="workers with different plugins",
    severity=Severity.WARNING,
    cause="Each worker loads the plugins in its plugin.path. A task that is given to a worker without the class is "
    "FAILED there, and one of another version may keep offsets in another form. Workers from 4.1 on load several "
    "versions of a class. They use the version in connector.plugin.version, or the newest (KIP-891). An info where "
    "no connector uses the class.",
    fix="install the same plugins in the same versions on every worker, and restart the workers one by one",
    source="Plugins.newConnector, Worker.startTask, PluginUtils.connectorVersionRequirement (from 4.1 on)",
)


# Findings about the group that the workers form.


NO_GROUP: Final = FindingKind(
    id="EOS020",
    name="no-such-group",
    title="no such group of workers",
    severity=Severity.ERROR,
    cause="Transactional IDs begin with the group.id: with a wrong group.id every finding about them is wrong.",
    fix="give --group-id the group.id of the workers, and -b the brokers of their bootstrap.servers",
    source="KIP-618; Worker.taskTransactionalId, WorkerCoordinator.protocolType",
    commands=("migrate-offsets", "offsets restore", "offsets create-connector"),
    is_misnaming=True,
)
UNNAMED: Final = FindingKind(
    id="EOS021",
    name="unnamed-worker",
    title="worker that was not named",
    severity=Severity.ERROR,
    cause="One worker that is not enabled voids exactly-once for the tasks that it is given.",
    fix="name every worker with --connect-url, as it advertises itself (rest.advertised.host.name and .port)",
    source="KIP-618; Worker.startSourceTask",
)
STRANGER: Final = FindingKind(
    id="EOS022",
    name="worker-knows-other-connectors",
    title="worker that knows other connectors",
    severity=Severity.ERROR,
    cause="The worker belongs to another Connect cluster, or does not keep up with the config topic.",
    fix=(
        "give --connect-url only workers of one Connect cluster. If the worker belongs to this cluster, look for "
        "errors of KafkaBasedLog in its log, and restart it"
    ),
    source="DistributedHerder.connectors",
)
PROTOCOL: Final = FindingKind(
    id="EOS023",
    name="unsigned-requests",
    title="fencing endpoint is open",
    severity=Severity.WARNING,
    cause="Workers ask the leader to fence over REST. Only the protocol `sessioned` signs these requests (KIP-507), "
    "and it is used only where every worker supports it.",
    fix="set connect.protocol=sessioned (the default) on every worker and restart them one by one",
    source="KIP-507; DistributedHerder.requestNotSignedProperly",
)
MOVING: Final = FindingKind(
    id="EOS024",
    name="tasks-moving",
    title="tasks are moving",
    severity=Severity.WARNING,
    cause=(
        "While a worker is down, its tasks wait for it (scheduled.rebalance.max.delay.ms, 5 minutes). If another "
        "worker restarts before this delay ends, the tasks move twice."
    ),
    fix="wait: `eosctl upgrade-check --to <phase> --wait 300` ends when the group is at rest",
    source="KIP-415; IncrementalCooperativeAssignor.handleLostAssignments",
)
ONE_ADDRESS: Final = FindingKind(
    id="EOS025",
    name="shared-worker-address",
    title="workers that cannot reach each other",
    severity=Severity.ERROR,
    cause="A task start asks the leader to fence, and every change is forwarded to the leader, at the address that "
    "it advertises. Two members may advertise the same address, or a member of a group on several hosts its "
    "loopback address. Then such a request reaches no worker (500, `IO Error trying to forward REST request`) or a "
    "worker that is not the leader (409, `Cannot complete request because of a conflicting operation`). The tasks "
    "that requested a round of fencing then turn FAILED.",
    fix="set rest.advertised.host.name and rest.advertised.port of every worker to the address by which "
    "the other workers reach it, and restart them one by one",
    source="DistributedHerder.fenceZombieSourceTasks, RestClient.httpRequest",
)
POLICIES: Final = FindingKind(
    id="EOS026",
    name="override-policies-differ",
    title="workers with different override policies",
    severity=Severity.WARNING,
    cause="The worker that answers a request checks the overrides of a connector's clients by its own policy. Each "
    "worker that starts a task checks them, too. If only some workers allow the connector's `producer.override.` "
    "settings, its tasks turn FAILED on the others.",
    fix="set connector.client.config.override.policy (and connector.client.config.override.allowlist) to the same "
    "value on every worker, and restart them one by one",
    source="AbstractHerder.validateClientOverrides, Worker.connectorClientConfigOverrides",
)
SIGNATURES: Final = FindingKind(
    id="EOS027",
    name="signatures-refused",
    title="signatures that a worker refuses",
    severity=Severity.ERROR,
    cause="With connect.protocol=sessioned workers sign their requests to the leader by "
    "inter.worker.signature.algorithm. A leader takes only those in its inter.worker.verification.algorithms; "
    "others end with 400 (`key signing algorithm used by other workers`), and the tasks that requested a round of "
    "fencing turn FAILED.",
    fix=(
        "add the inter.worker.signature.algorithm of all workers to every worker's "
        "inter.worker.verification.algorithms (both are HmacSHA256 by default), and restart the workers one by "
        "one"
    ),
    source="DistributedHerder.requestNotSignedProperly, InternalRequestSignature.addToRequest",
)
ANSWERS_DIFFER: Final = FindingKind(
    id="EOS028",
    name="preflight-differs",
    title="workers disagree on a connector",
    severity=Severity.WARNING,
    cause="The worker that answers a request validates the config with its own version of the plugin, or with the "
    "version in connector.plugin.version (KIP-891, from 4.1 on). If workers have different versions, the worker "
    "that answers decides whether the connector supports exactly-once and whether its config is accepted. Each "
    "task runs its own worker's version.",
    fix="install the same plugins in the same versions on every worker and restart them one by one. Or set "
    "connector.plugin.version to a version that supports exactly-once and that all workers have (PUT "
    "/connectors/<connector>/config)",
    source="KIP-618, KIP-891; AbstractHerder.validateConnectorConfig, DistributedHerder.validateSourceConnectorConfig",
)
STANDALONE: Final = FindingKind(
    id="EOS029",
    name="standalone-worker",
    title="standalone worker",
    severity=Severity.WARNING,
    cause="Only workers of a Connect cluster (connect-distributed) run source tasks in transactions. A standalone "
    "worker ignores exactly.once.source.support and keeps its offsets in a file; so its connectors write at least "
    "once. An info where the file does not set exactly.once.source.support.",
    fix="run the connectors on a Connect cluster: `eosctl offsets create-connector <file> --config <config>` begins a "
    "connector there at an offset from the standalone worker's GET /connectors/<connector>/offsets (from 3.6 on)",
    source="KIP-618; StandaloneHerder.createConnectorTasks, Worker.startSourceTask",
)


# Findings about the workers' versions.


TOO_OLD: Final = FindingKind(
    id="EOS001",
    name="worker-too-old",
    title="worker before 3.3",
    severity=Severity.ERROR,
    cause="Kafka 3.3.0 introduced exactly-once sources. An older worker ignores the setting, and nothing "
    "fences its tasks.",
    fix="upgrade the worker to Kafka 3.3 or newer and restart it; this may be the same restart that sets preparing",
    source="KIP-618; DistributedConfig.exactlyOnceSourceEnabled",
)
MIXED_VERSIONS: Final = FindingKind(
    id="EOS002",
    name="mixed-versions",
    title="mixed versions",
    severity=Severity.WARNING,
    cause="Workers of different versions read some records of the config topic differently (KAFKA-16838, KIP-875).",
    fix="finish the rolling upgrade of the workers before the next rolling step",
    source="KIP-618, KIP-875; KafkaConfigBackingStore.onCompletion",
)
BUGS: Final = FindingKind(
    id="EOS003",
    name="known-bugs",
    title="bugs that are fixed in newer releases",
    severity=Severity.ERROR,
    cause="Each release fixes bugs of transactions and of exactly-once sources. The finding names the bugs of the "
    "versions that were seen. KAFKA-19012 is an error where workers have exactly-once enabled: their producers can "
    "write records to another topic. Note: eosctl knows only the minor release of a broker, so the broker may have "
    "the fix already.",
    fix="upgrade the workers, or the brokers, to the release that the finding names",
    source="Kafka's issues that the finding names",
)
LISTS: Final = FindingKind(
    id="EOS004",
    name="list-refused",
    title="list with an empty part",
    severity=Severity.WARNING,
    cause="From 4.2 on clients and workers refuse a list setting with an empty part, such as a comma at its end "
    "(ConfigException, `values must not be empty`). The worker does not start after the upgrade. Older ones accept "
    "it. A part that is named twice is no fault: it counts once.",
    fix="remove the empty part from the worker's file before the upgrade",
    source="KIP-1161; ConfigDef.parseType; measured with 3.9.2 and 4.3.1",
)


# Findings about source connectors: whether they can do exactly-once, and overrides that spoil it.


UNSUPPORTED: Final = FindingKind(
    id="EOS100",
    name="exactly-once-unsupported",
    title="connector does not support exactly-once",
    severity=Severity.WARNING,
    cause="A connector writes duplicates on any worker if it does not keep its position in source offsets, or if "
    "its source cannot be read again from that position.",
    fix="use a release or a mode of the connector that supports it; its validation names the setting that prevents it",
    source="KIP-618; SourceConnector.exactlyOnceSupport",
)
NEVER_ASKED: Final = FindingKind(
    id="EOS101",
    name="exactly-once-not-required",
    title="exactly.once.support is not required",
    severity=Severity.INFO,
    cause=(
        "The default, `requested`, checks nothing. With `required`, a worker that is not enabled refuses the "
        "config (400), and so does every worker if the connector does not implement exactlyOnceSupport(). Both the "
        "worker that gets the request and the leader check it."
    ),
    fix="set exactly.once.support=required: PUT /connectors/<connector>/config",
    source="KIP-618; DistributedHerder.validateSourceConnectorExactlyOnceSupport",
)
IGNORED: Final = FindingKind(
    id="EOS102",
    name="override-ignored",
    title="override is ignored",
    severity=Severity.WARNING,
    cause="Workers with exactly-once enabled set transactional.id, enable.idempotence and isolation.level of source "
    "tasks themselves, over the worker's producer.* and consumer.* settings and the connector's overrides. An info "
    "for settings of a worker's file that other clients of the worker can use.",
    fix="remove the setting from the connector's config, or from the worker's file",
    source="KIP-618; Worker.exactlyOnceSourceTaskProducerConfigs, Worker.exactlyOnceSourceOffsetsConsumerConfigs",
)
BREAKING: Final = FindingKind(
    id="EOS103",
    name="override-breaks-idempotence",
    title="override breaks idempotence",
    severity=Severity.ERROR,
    cause="An idempotent producer needs acks=all, at most 5 requests in flight and retries. A connector uses the "
    "worker's `producer.` settings where its config has no `producer.override.` setting.",
    fix="remove the setting from the connector's config, or from the workers' files",
    source="ProducerConfig.postProcessAndValidateIdempotenceConfigs, Worker.baseProducerConfigs",
)
TOO_LONG: Final = FindingKind(
    id="EOS104",
    name="transaction-timeout-too-long",
    title="transaction timeout above the brokers' maximum",
    severity=Severity.ERROR,
    cause="InitProducerId with a longer timeout than transaction.max.timeout.ms is refused "
    "(InvalidTxnTimeoutException).",
    fix="raise transaction.max.timeout.ms of the brokers (restart them one by one), or lower "
    "producer.override.transaction.timeout.ms of the connector",
    source="KIP-98; TransactionCoordinator.handleInitProducerId",
)
INTERVAL: Final = FindingKind(
    id="EOS105",
    name="transaction-interval-too-long",
    title="interval too long for the transaction timeout",
    severity=Severity.ERROR,
    cause="The coordinator counts transaction.timeout.ms from the first record of a transaction, and aborts it "
    "then. The task checks transaction.boundary.interval.ms only after a poll returned. Add the time of one poll "
    "and of one batch to it. It is a warning from half the timeout on, and an error from the timeout on.",
    fix="set transaction.boundary.interval.ms well below producer.override.transaction.timeout.ms: the time of one "
    "poll and one batch comes on top",
    source="KIP-618, KIP-98; ExactlyOnceWorkerSourceTask.buildTransactionManager, "
    "TransactionCoordinator.abortTimedOutTransactions",
)
MIRROR: Final = FindingKind(
    id="EOS106",
    name="mirror-reads-uncommitted",
    title="MirrorMaker reads uncommitted",
    severity=Severity.WARNING,
    cause="With read_uncommitted, the default, a mirror also copies records of aborted transactions.",
    fix="set source.consumer.isolation.level=read_committed: PUT /connectors/<connector>/config; in dedicated mode, "
    "which has no such request, set <source>.consumer.isolation.level=read_committed in mm2.properties and restart "
    "the nodes",
    source="MirrorConnectorConfig.sourceConsumerConfig, MirrorMakerConfig.connectorBaseConfig",
)
DEDICATED: Final = FindingKind(
    id="EOS107",
    name="mirror-without-internal-rest",
    title="dedicated MirrorMaker without internal REST",
    severity=Severity.WARNING,
    cause="Nodes of a dedicated MirrorMaker open a REST server only with dedicated.mode.enable.internal.rest=true "
    "(from 3.5 on). One node alone is its own leader and needs none; of several, only the leader can have tasks "
    "fenced.",
    fix="set dedicated.mode.enable.internal.rest=true and listeners on every node, and restart them",
    source="KIP-710; MirrorMaker.addHerder",
)
FAILED: Final = FindingKind(
    id="EOS108",
    name="tasks-failed",
    title="tasks of a source failed",
    severity=Severity.WARNING,
    cause="With exactly-once, a task fails if fencing, its producer or its offsets topic fails. Connect "
    "never restarts it.",
    fix="read why: GET /connectors/<connector>/status; then restart each of them: POST "
    "/connectors/<connector>/tasks/<task>/restart. `restart?includeTasks=true` restarts all with one request. But "
    "a leader whose transactional ID expired or was fenced refuses that request, and then every change until it is "
    "restarted (EOS110)",
    source="KIP-618; WorkerTask.onFailure",
)
UNBOUND: Final = FindingKind(
    id="EOS109",
    name="connector-transactions-unbound",
    title="transactions that the connector ends, without their own timeout",
    severity=Severity.WARNING,
    cause="With transaction.boundary=connector only the connector decides when its transaction ends. The "
    "coordinator aborts a transaction that is open for longer than transaction.timeout.ms, and the task turns "
    "FAILED. The producer's default is 60000 ms, regardless of the connector.",
    fix="set producer.override.transaction.timeout.ms to more than its longest transaction takes (PUT "
    "/connectors/<connector>/config; connector.client.config.override.policy must allow it), and at most to the "
    "brokers' transaction.max.timeout.ms",
    source="ExactlyOnceWorkerSourceTask.buildTransactionManager, TransactionCoordinator.abortTimedOutTransactions",
)


# Findings about losses that no state of a task shows.


TOLERATED: Final = FindingKind(
    id="EOS170",
    name="errors-tolerated",
    title="records that cannot be converted are dropped",
    severity=Severity.WARNING,
    cause="With errors.tolerance=all a source task drops each record that a transform or a converter refuses. The "
    "task continues. The offset of the next written record is after the dropped record, so the connector never "
    "reads the dropped record again. Only sinks have a dead letter queue. Without exactly-once, records that the "
    "producer could not send are dropped, too.",
    fix="set errors.tolerance=none: PUT /connectors/<connector>/config; while it is `all`, set "
    "errors.log.enable=true, and watch total-records-skipped of the task's MBean task-error-metrics",
    source="AbstractWorkerSourceTask.sendRecords, ExactlyOnceWorkerSourceTask.recordDropped, "
    "WorkerSourceTask.producerSendFailed; SinkConnectorConfig.DLQ_PREFIX",
)
UNEVEN: Final = FindingKind(
    id="EOS171",
    name="mirror-partition-unassigned",
    title="source partition of a mirror in no task or in two",
    severity=Severity.ERROR,
    cause=(
        "MirrorSource gives each source partition to exactly one task, in task.assigned.partitions of the task's "
        "config. A partition in two tasks is mirrored twice; a partition in no task is not mirrored. All tasks are "
        "RUNNING."
    ),
    fix="have the connector make its task configs again: PUT /connectors/<connector>/config with its present config, "
    "then look at its task configs: `eosctl inspect-config --connector <connector>`",
    source="MirrorSourceConnector.taskConfigs, MirrorSourceConfig.taskConfigForTopicPartitions (from 3.5 on)",
)
HISTORY: Final = FindingKind(
    id="EOS172",
    name="schema-history-expires",
    title="schema history that does not keep every record",
    severity=Severity.ERROR,
    cause="A Debezium connector that starts reads its schema history topic from the first record on, in "
    "one partition. If retention or compaction has deleted records, or a second partition has some, "
    "the connector builds a wrong schema or the task fails: `The db history topic or its content is "
    "fully or partially missing`. The offsets alone do not bring it back. A warning where only the "
    "number of partitions differs.",
    fix="`kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name <topic> "
    "--add-config cleanup.policy=delete,retention.ms=-1,retention.bytes=-1`; where records were already deleted, "
    "use Debezium's snapshot.mode=recovery",
    source="Debezium: KafkaSchemaHistory, where it recovers records and where it checks its topic",
)
ICEBERG_COORDINATORS: Final = FindingKind(
    id="EOS173",
    name="iceberg-coordinators",
    title="Iceberg sink with two coordinators, or with none",
    severity=Severity.ERROR,
    cause="The coordinator of an Iceberg sink commits files to the table that the tasks announced in the control "
    "topic. It runs in the task that has the first partition of the sink's group. Two coordinators commit older "
    "offsets of the control topic over newer ones. When the newer coordinator ends, events between are read again. "
    "If retention has deleted them, their files are never in the table, and no task reads their records again. "
    "Without a coordinator nothing comes into the table: a warning, because it starts within seconds of its task.",
    fix="stop the connector, wait until `<group>` has no members, and start it again: PUT "
    "/connectors/<connector>/stop, then PUT /connectors/<connector>/resume. If a member stays, restart its worker",
    source="Iceberg: CommitterImpl.hasLeaderPartition, Coordinator.commitConsumerOffsets; apache/iceberg#17551, #16016",
)
ICEBERG_DELETED: Final = FindingKind(
    id="EOS174",
    name="iceberg-control-deleted",
    title="control topic of an Iceberg sink that loses events before they are read",
    severity=Severity.ERROR,
    cause="Tasks announce written files in the control topic, and commit the offsets of their records with it. If "
    "retention or compaction deletes an event before the coordinator reads it, the files are never in the table, and "
    "no task reads these records again. A stopped sink leaves a few events of its last commit unread, so for it the "
    "rule warns.",
    fix="keep the events for longer than the sink may be stopped: `kafka-configs.sh --bootstrap-server <broker> "
    "--alter --entity-type topics --entity-name <topic> --add-config "
    "cleanup.policy=delete,retention.ms=-1,retention.bytes=-1`. Where events were deleted, compare the table with "
    "the topics of the sink",
    source="Iceberg: Channel.send, Coordinator.commitToTable; apache/iceberg#17551",
)
ICEBERG_LATEST: Final = FindingKind(
    id="EOS175",
    name="iceberg-begins-at-latest",
    title="Iceberg sink whose coordinator begins at the end of the control topic",
    severity=Severity.WARNING,
    cause="The coordinator's group has no offset of this partition of the control topic, or one that is not there any "
    "more. And iceberg.kafka.auto.offset.reset is latest (Iceberg's default). A coordinator that starts passes over "
    "all events in the partition. Their files are never in the table, and no task reads their records again. "
    "So it is until the first commit of a new sink, after offsets.retention.minutes without a "
    "coordinator, and after events were deleted.",
    fix="set iceberg.kafka.auto.offset.reset=earliest: PUT /connectors/<connector>/config. Then tasks read the control "
    "topic from its beginning at each start, too, and write some smaller files. Files that the table has are not "
    "added again while it has the snapshots of this sink",
    source="Iceberg: KafkaClientFactory.createConsumer, Coordinator.lastCommittedOffsetsForTable; apache/iceberg#18006",
)


# Findings about the progress of tasks: what is RUNNING and commits nothing.


QUIET: Final = FindingKind(
    id="EOS160",
    name="task-quiet",
    title="task without a commit for longer than in its history",
    severity=Severity.WARNING,
    cause=(
        "A task commits a transaction for what its connector's poll returns. Without changes it commits nothing. "
        "If the connector waits for ever in poll, it commits nothing either: the task is RUNNING in both cases. So "
        "this is no proof of a fault; the source may be idle. The rule reports a task without a commit for a "
        "minute and for three times the longest interval between its earlier commits. It is a warning if the "
        "history reaches back a week, otherwise an info. If a task commits at random times at a constant rate, the "
        "rule reports it with a probability below 0.6 % during a time as long as the history. A transform that "
        "drops every record, or errors.tolerance=all, has the same effect: Connect writes no offset for a dropped "
        "record, so the position does not move, and the source keeps its log from that position. While a task is "
        "PAUSED it commits nothing either, and the pause counts as an interval."
    ),
    fix="look whether the source has changes that are not in the topics. If it has none, do nothing (a heartbeat "
    "of the connector, such as Debezium's heartbeat.interval.ms, shows the difference). If it has some, find where "
    "the connector waits (jstack of the worker: thread task-thread-<connector>-<task>), then restart the task: "
    "POST /connectors/<connector>/tasks/<task>/restart",
    source="KIP-618; AbstractWorkerSourceTask.execute, ExactlyOnceWorkerSourceTask.commitTransaction",
)


# Findings about the topics that source connectors write to.


SET: Final = (
    "`kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name <topic> --add-config "
)
CLEAN: Final = f"{SET}unclean.leader.election.enable=false`"
TWO_IN_SYNC: Final = f"{SET}min.insync.replicas=2`"

THIN: Final = FindingKind(
    id="EOS150",
    name="output-loses-committed",
    title="output topics that may lose committed records",
    severity=Severity.WARNING,
    cause="A transaction is as durable as the partitions it wrote to. With one replica, or after an unclean leader "
    "election, committed records may be lost while their source offsets remain. With min.insync.replicas below 2 a "
    "write may exist in only one replica (an info).",
    fix="raise the replication factor of these topics to 3 with kafka-reassign-partitions.sh, then "
    f"{SET}min.insync.replicas=2,unclean.leader.election.enable=false`",
    source="Partition.appendRecordsToLeader, Partition.maybeIncrementLeaderHW",
)
UNWRITABLE: Final = FindingKind(
    id="EOS151",
    name="output-unwritable",
    title="output topics that cannot be written, or stop with one lost replica",
    severity=Severity.ERROR,
    cause="A partition without leader, or with fewer replicas in sync than min.insync.replicas, takes no write with "
    "acks=all. The producer tries again for weeks (Connect sets the largest delivery.timeout.ms), and the task stays "
    "RUNNING. After transaction.timeout.ms its coordinator aborts the transaction, and the task is FAILED when the "
    "partition takes writes again. Where min.insync.replicas is above the replication factor, brokers before 3.7 "
    "refuse each write; newer ones ask for all replicas, so one that is lost stops the writes (a warning).",
    fix="start the brokers that hold the replicas: `kafka-topics.sh --bootstrap-server <broker> --describe "
    "--under-min-isr-partitions` and the same with --unavailable-partitions name the partitions. Where "
    "min.insync.replicas is above the replication factor on brokers before 3.7, raise the replication factor with "
    "kafka-reassign-partitions.sh",
    source="Partition.appendRecordsToLeader, Partition.effectiveMinIsr, Worker.baseProducerConfigs",
)
DISKLESS: Final = FindingKind(
    id="EOS152",
    name="diskless-topic",
    title="topic that takes no transactions",
    severity=Severity.ERROR,
    cause="A diskless topic keeps its records in object storage (KIP-1150; diskless.enable, in older releases of "
    "Inkless inkless.enable). It takes no transactional writes and is not compacted. Tasks that write to one with "
    "exactly-once turn FAILED, and an internal topic that is not compacted grows for ever or loses its state.",
    fix="create a classic topic (diskless.enable=false), and have the connector or the workers use that one: a "
    "diskless topic cannot be turned into a classic one",
    source="KIP-1150, KIP-1163; limitations of diskless topics in their vendors' documentation",
)


# Findings about the consumers of the connectors' output.


SET_ISOLATION: Final = (
    "`kafka-configs.sh --bootstrap-server <broker> --alter --entity-type groups --entity-name {} --add-config "
    "share.isolation.level=read_committed`"
)

UNCOMMITTED: Final = FindingKind(
    id="EOS120",
    name="consumers-read-uncommitted",
    title="consumers that read uncommitted",
    severity=Severity.WARNING,
    cause="A consumer reads records of aborted transactions unless it sets isolation.level=read_committed; that is not "
    "its default, and no broker reports it. A share group has the group setting share.isolation.level, by "
    "default read_uncommitted too.",
    fix="set isolation.level=read_committed in every consumer of the connectors' topics; for a share group: "
    f"{SET_ISOLATION.format('<group>')}",
    source="KIP-98, KIP-932; ConsumerConfig.ISOLATION_LEVEL_CONFIG, "
    "GroupConfig.SHARE_ISOLATION_LEVEL_CONFIG (from 4.1 on)",
)
SINK: Final = FindingKind(
    id="EOS121",
    name="sink-reads-uncommitted",
    title="sink connector that reads uncommitted",
    severity=Severity.INFO,
    cause="A sink's consumer uses the worker's `consumer.` settings and the connector's "
    "`consumer.override.` settings. Unless they contain isolation.level=read_committed, it also "
    "reads records of aborted transactions: exactly-once of the source that wrote its topics ends "
    "there.",
    fix="set consumer.override.isolation.level=read_committed: PUT /connectors/<connector>/config, or "
    "consumer.isolation.level=read_committed on all workers",
    source="Worker.baseConsumerConfigs",
)
LONG_ON_SHARED: Final = FindingKind(
    id="EOS123",
    name="long-transaction-on-shared-topic",
    title="long transactions on a shared offsets topic",
    severity=Severity.WARNING,
    cause="Each task that starts reads its offsets topic to the end, and an open transaction of another connector "
    "holds that end back. If its worker is lost, a transaction stays open until transaction.timeout.ms has passed "
    "or another worker starts the task. The group waits scheduled.rebalance.max.delay.ms (5 minutes) before it "
    "starts the task. The rule reports a longer timeout.",
    fix="give the connector its own offsets topic (`eosctl migrate-offsets --connector <connector> --to-topic "
    "<topic>`), or lower producer.override.transaction.timeout.ms",
    source="KIP-618; ConnectorOffsetBackingStore.start, KafkaBasedLog.readToLogEnd",
)
HELD_BACK: Final = FindingKind(
    id="EOS122",
    name="consumers-held-back",
    title="consumers wait for a transaction in progress",
    severity=Severity.WARNING,
    cause="A `read_committed` consumer gets no record beyond the last stable offset, which is the first "
    "record of a transaction that has not ended. The transaction's coordinator aborts it after "
    "its timeout; no commit of another producer helps. A warning where it stops an Iceberg sink, which has new "
    "transactional IDs at each start and then waits for its own old transaction.",
    fix="see which groups wait: `eosctl transactions lso`. If its producer is permanently gone: `eosctl fence "
    "--transactional-id <transactional-id>` ends it now",
    source="KIP-98; TransactionCoordinator.abortTimedOutTransactions",
)
