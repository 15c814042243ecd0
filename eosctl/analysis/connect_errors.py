"""Errors of Connect's workers: of their leader, their internal topics, connectors and the requests between them.

They are data. The more special an entry, the earlier it stands.
"""

from typing import Final

from eosctl.model.report import ErrorPattern

HANGING: Final = "eosctl transactions hanging --group-id {group}"
RESTART: Final = "restart the task: POST {path}/tasks/{task}/restart"

CONNECT_ERRORS: Final = (
    ErrorPattern(
        "leader-without-privilege",
        (r"Failed to perform fencable send|without claiming write privileges first",),
        "The leader's transactional ID expired or was fenced, and the leader did not initialize it again",
        "A leader that is preparing or enabled writes in transactions as connect-cluster-<group.id>. "
        "After a failed config change it initializes the ID again; after a failed "
        "`restart?includeTasks=true` it never does, and refuses every change until it is restarted.",
        (
            "eosctl transactions describe connect-cluster-{group} --group-id {group}",
            "PUT {path}/config with its present config, and again if that is refused",
            "if it stays refused: restart the worker that leads the group",
        ),
        "KIP-618; KafkaConfigBackingStore.claimWritePrivileges",
    ),
    ErrorPattern(
        "leader-write-failed",
        (r"Failed to write to config topic",),
        "The leader's producer was fenced, or could not write to the config topic",
        "The leader of workers that are preparing or enabled writes in transactions as connect-cluster-<group.id>. "
        "Another worker that became the leader fences it; the request can be sent again. If the error stays, the "
        "ID's ACL is missing or two clusters share the group ID.",
        (
            "eosctl transactions describe connect-cluster-{group} --group-id {group}",
            "send the REST request again",
        ),
        "KIP-618; DistributedHerder.writeToConfigTopicAsLeader",
    ),
    ErrorPattern(
        "not-the-leader",
        (r"Only the leader may perform zombie fencing",),
        "A request to fence a connector's tasks reached a worker that does not lead",
        "The leader changed between the request and its arrival. The task turns FAILED, and its next start sends "
        "the request to the new leader.",
        (RESTART, "eosctl doctor --group-id {group}"),
        "KIP-618; DistributedHerder.fenceZombieSourceTasks",
    ),
    ErrorPattern(
        "stale-configuration",
        (r"Cannot complete request momentarily due to (?:stale configuration|no known leader URL)",),
        "The worker has not read the config topic to its end, or knows no leader yet (409)",
        "It is so for a moment after a change of a config, and during a rebalance. The request can be sent again.",
        (
            "send the request again",
            "where it stays: eosctl transactions lso --topic CONFIG-TOPIC",
        ),
        "DistributedHerder.checkRebalanceNeeded, DistributedHerder.fenceZombieSourceTasks",
    ),
    ErrorPattern(
        "worker-busy",
        (r"The worker is currently (?!reclaiming)\w+", r"[Rr]equest timed out|timed out"),
        "The worker did not answer a request in time, because its one thread for requests waits",
        "The message names the cause of the wait. A leader that initializes its transactional ID also reports "
        "`ensuring membership in the cluster`. If the message stays, the coordinator of connect-cluster-<group.id> "
        "does not answer, or transaction.version was lowered to 0 (EOS047).",
        ("eosctl transactions describe connect-cluster-{group} --group-id {group}", "eosctl doctor --group-id {group}"),
        "KAFKA-15563; DistributedHerder.tick, HerderRequestHandler.completeRequest (from 3.8 on)",
    ),
    ErrorPattern(
        "reclaiming-write-privileges",
        (r"(?:reclaim(?:ing|ed)|relinquished) write privileges for (?:the )?config topic",),
        "The leader was fenced, and is initializing its transactional ID again",
        "The leader writes nothing to the config topic until its producer is initialized. If this lasts, the "
        "coordinator of connect-cluster-<group.id> does not answer, or another leader fences this one each time.",
        ("eosctl transactions describe connect-cluster-{group} --group-id {group}", "send the REST request again"),
        "KIP-618; DistributedHerder.tick, KafkaConfigBackingStore.claimWritePrivileges",
    ),
    ErrorPattern(
        "offsets-not-flushed",
        (r"OffsetStorageWriter is already flushing|OffsetStorageWriter beginFlush\(\) while already flushing",),
        "An earlier commit of the task's offsets never ended",
        "From 3.8 on a commit with a null offset (a tombstone) never ends if the connector has its own offsets "
        "topic or Kafka cluster (EOS089). The next commit then fails with this message.",
        ("eosctl explain EOS089", "eosctl offsets show --connector {connector} --group-id {group}", RESTART),
        "KAFKA-15018; OffsetStorageWriter.beginFlush, ConnectorOffsetBackingStore.set",
    ),
    ErrorPattern(
        "topic-reader-failed",
        (r"Unexpected exception in (?:Thread\[)?KafkaBasedLog Work Thread",),
        "The worker's reader of an internal topic failed",
        "The exception that follows is the cause; a malformed record is the most frequent one (EOS065). Before 3.9 the "
        "worker reads nothing more of that topic until it is restarted (KAFKA-14401).",
        ("eosctl inspect-config --group-id {group}", "eosctl explain EOS065", "explain the exception below it"),
        "KAFKA-14401; KafkaBasedLog.WorkThread.run",
    ),
    ErrorPattern(
        "source-partition-not-serialized",
        (r"CRITICAL: Failed to serialize (?:partition key|offset data)",),
        "A task's source partition or offset cannot be serialized",
        "The task continues without an offset for that source partition, and may copy everything again. Workers "
        "from 4.2 on fail so for a null source partition (EOS090).",
        (
            "eosctl offsets show --connector {connector} --group-id {group}",
            "eosctl explain EOS090",
            "GET {path}/status",
        ),
        "OffsetStorageReaderImpl.offsets, OffsetStorageWriter.doFlush",
    ),
    ErrorPattern(
        "not-read-to-end",
        (
            r"Failed to read to end of|reading to the end of|Error trying to read to end of"
            r"|read(ing)? (log )?to (the )?end.*(TimeoutException|timed? ?out)"
            r"|timed? ?out.*read(ing)? (log )?to (the )?end",
        ),
        "A worker cannot read one of its topics to the end",
        "A worker with exactly-once reads its internal topics with read_committed, up to the high watermark. An "
        "open transaction in the config or offsets topic stops the worker until it ends. A hanging transaction "
        "never ends without help. Before a round of zombie fencing the leader waits only worker.sync.timeout.ms (3 "
        "s), which a slow broker can exceed, too.",
        ("eosctl transactions lso --topic connect-configs --topic connect-offsets --group-id {group}", HANGING),
        "KIP-618, KIP-664; KafkaBasedLog.readToLogEnd, DistributedHerder.refreshConfigSnapshot",
    ),
    ErrorPattern(
        "init-transactions-timeout",
        (r"initTransactions|InitProducerId", r"(?<!Txn)TimeoutException|timed? ?out"),
        "The producer found no transaction coordinator in time",
        "Brokers cannot create __transaction_state, or it is leaderless. Its replication factor (3) or min ISR (2) "
        "exceeds the number of live brokers, as on one-broker clusters. Or the last transaction of the ID is "
        "ending.",
        (
            "eosctl transactions describe {transactional_id}",
            "transaction.state.log.replication.factor and transaction.state.log.min.isr against the number of brokers",
        ),
        "KIP-98; KafkaProducer.initTransactions",
    ),
    ErrorPattern(
        "coordinator-not-available",
        (r"CoordinatorNotAvailable|COORDINATOR_NOT_AVAILABLE",),
        "There is no transaction coordinator",
        "__transaction_state is being created, or its partition is leaderless: there are fewer live "
        "brokers than transaction.state.log.replication.factor.",
        ("eosctl transactions list",),
        "KIP-98; KafkaApis.handleFindCoordinatorRequest",
    ),
    ErrorPattern(
        "worker-not-enabled",
        (r"does not have exactly-once source support enabled",),
        "The worker's exactly.once.source.support is not `enabled`",
        "A connector with exactly.once.support=required is refused by workers that are disabled or preparing. All "
        "workers must be enabled.",
        ("eosctl upgrade-check --to enabled --group-id {group}",),
        "KIP-618; DistributedHerder.validateSourceConnectorExactlyOnceSupport",
    ),
    ErrorPattern(
        "connector-does-not-say",
        (r"API required for preflight validation",),
        "The connector does not declare whether it supports exactly-once",
        "exactly.once.support=required asks the connector's exactlyOnceSupport(), which this one does not "
        "implement. It may support exactly-once; check its documentation.",
        ("set exactly.once.support=requested, which asks nothing, once you know that it does",),
        "KIP-618; DistributedHerder.validateSourceConnectorExactlyOnceSupport",
    ),
    ErrorPattern(
        "connector-unsupported",
        (r"does not support exactly-once (semantics|delivery guarantees) with",),
        "The connector does not support exactly-once with this configuration",
        "FileStreamSource needs `file`, MirrorSourceConnector a source consumer with "
        "source.consumer.isolation.level=read_committed; for other connectors see their documentation.",
        ("change the connector's configuration, or set exactly.once.support=requested and accept duplicates",),
        "KIP-618; SourceConnector.exactlyOnceSupport",
    ),
    ErrorPattern(
        "own-offsets-topic",
        (r"may not produce to their own offsets topic",),
        "The connector writes its records into its own offsets topic",
        "The task would wait for its own transaction for ever, so Connect refuses.",
        ("give the connector another offsets.storage.topic, and move its offsets: eosctl migrate-offsets",),
        "KIP-618; ExactlyOnceWorkerSourceTask.prepareToSendRecord",
    ),
    ErrorPattern(
        "internal-rest-missing",
        (r"dedicated\.mode\.enable\.internal\.rest|required for exactly-once source tasks",),
        "A dedicated MirrorMaker 2 of several nodes has no internal REST",
        "A task on another node than the leader asks the leader for fencing over REST.",
        ("set dedicated.mode.enable.internal.rest=true and listeners on every node",),
        "KIP-710; DistributedHerder.fenceZombieSourceTasks",
    ),
    ErrorPattern(
        "request-signature",
        (
            r"Internal request (contained|missing)|X-Connect-(Authorization|Request-Signature)"
            r"|key signing algorithm used by other workers",
        ),
        "A worker refused another worker's request for fencing",
        "Requests between workers are signed with the session key in the config topic (KIP-507). The leader "
        "refuses it in three cases: the workers read different config topics; the leader's "
        "inter.worker.verification.algorithms lacks the signer's inter.worker.signature.algorithm; or a proxy "
        "changes headers.",
        (
            "compare group.id, config.storage.topic, inter.worker.signature.algorithm and "
            "inter.worker.verification.algorithms of the workers",
            "restart the task",
        ),
        "KIP-507; DistributedHerder.requestNotSignedProperly",
    ),
    ErrorPattern(
        "forwarding-failed",
        (r"Error trying to forward REST request",),
        "A worker could not reach the leader over REST",
        "Every task start asks the leader for its round of fencing, and every change is sent to it, at the address "
        "that the leader advertises. `localhost`, a closed port or a certificate that does not match keep it from "
        "arriving.",
        (
            "compare rest.advertised.host.name, rest.advertised.port and listeners of the workers",
            "eosctl doctor --group-id {group}",
        ),
        "RestClient.httpRequest",
    ),
    ErrorPattern(
        "too-few-replicas",
        (r"NotEnoughReplicas|NOT_ENOUGH_REPLICAS",),
        "A partition has fewer replicas in sync than min.insync.replicas",
        "Connect's producers write with acks=all, and so does the coordinator to __transaction_state: nothing can be "
        "written until enough replicas are in sync.",
        (
            "start the brokers that hold the replicas: kafka-topics.sh --bootstrap-server HOST:PORT "
            "--describe --under-min-isr-partitions",
            "on brokers before 3.7, raise the replication factor where it is below min.insync.replicas (newer ones "
            "write while all replicas are in sync); do not lower min.insync.replicas",
        ),
        "Partition.appendRecordsToLeader",
    ),
    ErrorPattern(
        "idempotence-contradicted",
        (r"Must set (acks|retries|max\.in\.flight\S*) to|max\.in\.flight\S* must be set to at most 5",),
        "A producer setting contradicts idempotence",
        "A transactional producer needs acks=all, retries above 0 and at most 5 requests in flight. The setting is in "
        "the connector's producer.override.* or in the worker's producer.*, which every connector inherits.",
        ("eosctl doctor --group-id {group} --worker-config FILE", "remove the setting", "GET {path}/status"),
        "ProducerConfig.postProcessAndValidateIdempotenceConfigs",
    ),
    ErrorPattern(
        "override-refused-by-policy",
        (r"policy does not allow '.*' to be overridden",),
        "The worker's connector.client.config.override.policy refuses an override",
        "None accepts no producer.override.*, consumer.override.* or admin.override.*; Principal accepts "
        "sasl.jaas.config, sasl.mechanism and security.protocol; Allowlist (from 4.2) those of its list; All "
        "everything.",
        ("set it on the workers instead (producer.*, consumer.*, admin.*), or change the policy on all workers",),
        "KIP-458; AbstractConnectorClientConfigOverridePolicy.validate",
    ),
    ErrorPattern(
        "topic-not-authorized",
        (r"TopicAuthorization|TOPIC_AUTHORIZATION_FAILED|Not authorized to access topics|topic authorization failure",),
        "A right on a topic is missing",
        "Tasks need Write on output topics and on the connector's offsets topic. Its consumer needs Read on the "
        "offsets topic. Workers need Read and Write on their three internal topics.",
        ("eosctl acl-plan --group-id {group}",),
        "KIP-618; KafkaApis.handleProduceRequest",
    ),
    ErrorPattern(
        "config-topic-partitions",
        (r"single partition",),
        "The config topic has more than one partition",
        "The order of its records is what Connect lives by, so it must have exactly one.",
        ("eosctl inspect-config --group-id {group}",),
        "KIP-618; KafkaConfigBackingStore.start",
    ),
    ErrorPattern(
        "topic-not-compacted",
        (r"cleanup\.policy", r"compact"),
        "An internal topic is not compacted",
        "Configs and offsets would be deleted with age.",
        (
            "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics --entity-name {topic} "
            "--add-config cleanup.policy=compact",
        ),
        "KAFKA-9216; TopicAdmin.verifyTopicCleanupPolicyOnlyCompact",
    ),
    ErrorPattern(
        "sink-group-not-empty",
        (r"Failed to (alter|reset) consumer group offsets for connector",),
        "A task of the sink connector has not left its consumer group",
        "A group's offsets are changed only while it has no members. A task that was stopped leaves it when it comes "
        "back from the sink; one that never does stays until its worker is restarted.",
        ("GET {path}/status until the connector is STOPPED without tasks, and send the request again",),
        "KIP-875; Worker.alterSinkConnectorOffsets (from 3.6 on)",
    ),
    ErrorPattern(
        "leader-cannot-write",
        (r"Unable to claim write privileges|Failed to create and initialize fencable producer",),
        "The leader cannot initialize its transactional ID",
        "The leader of workers that are preparing or enabled needs connect-cluster-<group.id> before it writes to "
        "the config topic. It tries again and again while it leads. A missing ACL, a coordinator that does not "
        "answer, or a lowered transaction.version (EOS047) is the cause; the exception below the message names it.",
        (
            "eosctl doctor --group-id {group}",
            "eosctl transactions describe connect-cluster-{group} --group-id {group}",
            "explain the exception below it",
        ),
        "KIP-618; KafkaConfigBackingStore.claimWritePrivileges, DistributedHerder.tick",
    ),
    ErrorPattern(
        "boundary-not-defined",
        (
            r"does not support connector-defined transaction boundaries"
            r"|canDefineTransactionBoundaries|cannot define its own transaction boundaries",
        ),
        "transaction.boundary=connector, and the connector does not define transaction boundaries",
        "With `connector` the connector's task itself begins and ends transactions. Few connectors implement it.",
        ("set transaction.boundary=poll (the default) or interval: PUT {path}/config",),
        "KIP-618; DistributedHerder.validateSourceConnectorTransactionBoundary, "
        "SourceConnector.canDefineTransactionBoundaries",
    ),
    ErrorPattern(
        "commit-failed",
        (
            r"Failed to flush offsets and/or records for task"
            r"|Failed to commit producer transaction|Failed to flush offsets to storage",
        ),
        "A task could not commit its transaction, and fails",
        "Records and offsets of this transaction are aborted together, so that nothing is lost: the task reads the "
        "records again after a restart. The exception below the message is the cause.",
        (
            "explain the exception below it",
            RESTART,
        ),
        "KIP-618; ExactlyOnceWorkerSourceTask.commitTransaction",
    ),
    ErrorPattern(
        "stop-timed-out",
        (r"Graceful stop of task \S+ failed",),
        "A task did not stop within task.shutdown.graceful.timeout.ms, and was abandoned",
        "The abandoned task may still run, and still hold connections and a database slot. With exactly-once its "
        "producer is fenced before the next generation starts, so it cannot commit. Without exactly-once it can "
        "still write, so that records come twice.",
        (
            "GET {path}/status",
            "restart the worker if the task does not end: only that ends its thread",
            "raise task.shutdown.graceful.timeout.ms if the connector needs longer",
        ),
        "Worker.awaitStopTask, WorkerTask.cancel",
    ),
    ErrorPattern(
        "secondary-offsets-failed",
        (
            r"Failed to write offsets to secondary backing store"
            r"|Skipping offsets write to (?:primary|secondary) store because",
        ),
        "Offsets reached only one of the connector's two offsets topics",
        "A connector that has its own offsets topic writes each offset there, and a copy to the worker-global "
        "topic. The transaction does not cover the copy, and a failure of it stops nothing. The task reads its own "
        "topic first, so it continues correctly; the copy is stale.",
        (
            "eosctl offsets show --connector {connector} --group-id {group}",
            "explain the exception below it",
        ),
        "KIP-618; ConnectorOffsetBackingStore.set",
    ),
    ErrorPattern(
        "offsets-flush-timeout",
        (
            r"Timed out waiting to flush offsets to storage"
            r"|Timed out while waiting for previous offset flush to complete",
        ),
        "A task without exactly-once could not commit its offsets within offset.flush.timeout.ms",
        "Records that the producer has not sent yet hold the commit back. The task continues, and reads the records "
        "since its last commit again after a restart: they come twice. With exactly-once, offsets are part of the "
        "transaction, and this message does not exist.",
        (
            "GET {path}/status",
            "raise offset.flush.timeout.ms, or lower producer.override.buffer.memory and batch sizes",
            "eosctl upgrade-check --to enabled --group-id {group}",
        ),
        "WorkerSourceTask.commitOffsets",
    ),
    ErrorPattern(
        "nothing-to-commit",
        (r"Either no records were produced by the task since the last offset commit",),
        "Nothing to commit: the task wrote no record since its last commit",
        "The source was idle, or a transform or errors.tolerance=all dropped every record. Connect writes no offset "
        "for a dropped record, so the source's position does not move (EOS160, EOS170).",
        (
            "eosctl explain EOS160",
            "eosctl offsets show --connector {connector} --group-id {group}",
        ),
        "WorkerSourceTask.commitOffsets, ExactlyOnceWorkerSourceTask.recordDropped",
    ),
    ErrorPattern(
        "aborted-by-connector",
        (r"Aborting transaction for .* as requested by connector",),
        "The connector aborted its transaction by itself",
        "With transaction.boundary=connector a task may abort. The records are aborted; the source's position still "
        "passes them, so the connector does not read them again.",
        (
            "look for the connector's own message before it",
            "eosctl audit --connector {connector} --group-id {group}",
        ),
        "KIP-618; TransactionContext.abortTransaction, ExactlyOnceWorkerSourceTask.maybeCommitTransactionForBatch",
    ),
    ErrorPattern(
        "internal-topic-unavailable",
        (r"Could not look up partition metadata for",),
        "A worker finds no partitions of one of its internal topics in time, and ends",
        "The topic does not exist and could not be created, its partitions are leaderless, or the worker's "
        "principal has no Describe permission on it.",
        (
            "eosctl doctor --group-id {group}",
            "eosctl acl-plan --group-id {group}",
        ),
        "KafkaBasedLog.start",
    ),
    ErrorPattern(
        "poll-timeout",
        (r"worker poll timeout has expired",),
        "A worker left its group: it was busy for longer than rebalance.timeout.ms",
        "The message names the last action. Its tasks move to other workers, and it must stop them first. Where "
        "that action is a read or write of an internal topic, an open transaction or a coordinator that does not "
        "answer is the usual cause.",
        (
            "eosctl doctor --group-id {group}",
            "eosctl transactions lso --topic connect-configs --topic connect-offsets --group-id {group}",
        ),
        "WorkerCoordinator.handlePollTimeoutExpiry (from 3.8 on)",
    ),
    ErrorPattern(
        "topic-not-created",
        (r"Task failed to create new topic|Request to create new topic .* failed",),
        "A task could not create the topic that it writes to",
        "The topic does not exist, and the task's admin client has no Create permission, or the broker refused "
        "replication factor or configuration.",
        (
            "explain the exception below it",
            "eosctl acl-plan --group-id {group}",
            "create the topic, then restart the task",
        ),
        "KIP-158; AbstractWorkerSourceTask.maybeCreateTopic",
    ),
    ErrorPattern(
        "incomplete-task-configs",
        (r"incomplete set of task configs",),
        "The config topic holds only a part of a connector's task configs",
        "Compaction or a leader that failed between two writes left a part. No worker starts tasks of the connector "
        "until it is reconfigured (EOS071).",
        (
            "eosctl inspect-config --connector {connector} --group-id {group}",
            "PUT {path}/config with what it is",
        ),
        "KafkaConfigBackingStore.processTasksCommitRecord (from 3.4 on)",
    ),
    ErrorPattern(
        "fencing-skipped",
        (r"Skipping zombie fencing round",),
        "No round of zombie fencing was necessary: harmless",
        "The line itself gives the reason: all old generations are fenced, the connector is new, or it "
        "has one task, as before, whose own producer fences the old one.",
        (
            "nothing to do; eosctl inspect-config --connector {connector} --group-id {group} shows the task count "
            "record",
        ),
        "KIP-618; DistributedHerder.fenceZombieSourceTasks",
    ),
    ErrorPattern(
        "session-key-missing",
        (r"has not been able to read a session key",),
        "The worker has not read the session key from the config topic yet (503)",
        "It has just started, or it cannot read the config topic to its end: an open transaction holds it back.",
        (
            "send the request again",
            "eosctl transactions lso --topic connect-configs --group-id {group}",
        ),
        "KIP-507; DistributedHerder.requestNotSignedProperly",
    ),
    ErrorPattern(
        "group-not-authorized",
        (r"GroupAuthorization|GROUP_AUTHORIZATION_FAILED|Not authorized to access group",),
        "Read permission on a consumer group is missing",
        "Workers need Read on the group of group.id, and a sink connector's consumers Read on connect-<connector>. "
        "A worker without it joins no group, and answers no request.",
        ("eosctl acl-plan --group-id {group}",),
        "KafkaApis.handleJoinGroupRequest, GroupAuthorizationException.forGroupId",
    ),
    ErrorPattern(
        "schema-history-missing",
        (r"(?:db|database schema) history topic or its content is fully or partially missing",),
        "Debezium does not find its schema history in Kafka",
        "The topic in schema.history.internal.kafka.topic was deleted, its retention removed records, or the "
        "connector was moved to another Kafka cluster without it (EOS172, EOS414).",
        (
            "eosctl explain EOS172",
            "eosctl explain EOS414",
            "run Debezium's recovery snapshot of schemas only: snapshot.mode=recovery (before 2.7 "
            "schema_only_recovery), once no schema changed since the offset",
        ),
        "Debezium, not Kafka",
    ),
    ErrorPattern(
        "empty-list-refused",
        (r"Configuration \S+ values must not be empty|Configuration \S+ values must not be duplicated",),
        "A list in the configuration has an empty value, or a value twice",
        "From 4.2 on clients and workers refuse empty values in lists, as in `a,,b` (KIP-1161).",
        ("remove the value, then start the worker again or send the config again",),
        "KIP-1161; ConfigDef.ValidList",
    ),
)
