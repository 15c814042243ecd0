"""Errors of transactional producers, of their coordinators and of zombie fencing.

They are data. The more special an entry, the earlier it stands.
"""

from typing import Final

from eosctl.model.explanations import ErrorPattern

RESTART: Final = "PUT the task back to work: POST {path}/tasks/{task}/restart"
CONFIG: Final = "eosctl inspect-config --connector {connector} --group-id {group}"
DESCRIBE: Final = "eosctl transactions describe {transactional_id} --group-id {group}"
HISTORY: Final = "eosctl transactions log {transactional_id} --history"
FENCING: Final = r"zombie fencing"
NO_SUBSTITUTE: Final = (
    "Fencing the IDs with `eosctl fence` does not replace the round: each start of a task begins it again until the "
    "leader has written its task count record."
)

TRANSACTION_ERRORS: Final = (
    ErrorPattern(
        "fencing-timeout",
        (FENCING, r"(?<!Txn)TimeoutException|timed out"),
        "A round of zombie fencing took longer than Connect allows (90 s)",
        "Kafka's admin client fences the IDs of one coordinator one after the other and waits its retry back-off in "
        "between, up to a second an ID since clients of 3.7 (KIP-580). A connector with some 95 tasks a coordinator "
        "cannot be reconfigured then. Workers before 3.7.1 may fail the same way on a slow log append (KAFKA-16047). "
        f"{NO_SUBSTITUTE}",
        (
            "set admin.override.retry.backoff.ms=5 and admin.override.retry.backoff.max.ms=5 in connector {connector}",
            CONFIG,
            RESTART,
        ),
        "KIP-618, KIP-580, KAFKA-16047; Worker.fenceZombies, AdminApiDriver.poll",
    ),
    ErrorPattern(
        "fencing-timeout-above-broker-limit",
        (r"InvalidTxnTimeout|INVALID_TRANSACTION_TIMEOUT|timeout is larger than the maximum value allowed",),
        "A transaction timeout above the broker's limit",
        "The brokers' transaction.max.timeout.ms is lower than what was asked for. Workers from 3.7.1 on ask for 90000 "
        "ms in every round of zombie fencing, so with a lower limit each round fails; a producer asks for its own "
        f"transaction.timeout.ms. {NO_SUBSTITUTE}",
        (
            "set transaction.max.timeout.ms=900000 (the default) in every broker's server.properties and restart the "
            "brokers one by one: it is not a dynamic setting",
            "or lower producer.override.transaction.timeout.ms, where a task's own producer failed",
            RESTART,
        ),
        "KAFKA-16047; TransactionCoordinator.handleInitProducerId",
    ),
    ErrorPattern(
        "fencing-during-rebalance",
        (r"rebalance is (?:expected|needed)|conflicting operation \(e\.g\. worker rebalance\)",),
        "The leader refused while the workers were about to rebalance",
        "Before 3.6 a round of zombie fencing was refused during a pending rebalance, and the tasks that had asked for "
        "it turned FAILED for good (KAFKA-15059), most of all in MirrorMaker's dedicated mode, which had no REST "
        "interface. Other requests are answered with 409 and can simply be sent again.",
        (RESTART,),
        "KAFKA-15059, KIP-618; DistributedHerder.fenceZombieSourceTasks",
    ),
    ErrorPattern(
        "fencing-not-authorized",
        (FENCING, r"TransactionalIdAuthorization|TRANSACTIONAL_ID_AUTHORIZATION_FAILED|transactional id authorization"),
        "The connector's admin client may not fence",
        "Zombie fencing is done by the connector's admin client (admin.override.*), which needs Write on the "
        "TransactionalIds of all its tasks. It is first needed at the first reconfiguration, not at the first start.",
        (
            "kafka-acls.sh --add --allow-principal User:ADMIN-OF-{connector} --operation Write --transactional-id "
            "{group}-{connector}- --resource-pattern-type prefixed",
            RESTART,
        ),
        "KIP-618; Worker.fenceZombies, KafkaApis.handleInitProducerIdRequest",
    ),
    ErrorPattern(
        "fencing-failed-at-the-leader",
        (r"ConnectRestException: Failed to perform (?:round of )?zombie fencing",),
        "The round of fencing failed at the leader, which answers without the cause",
        "A worker that does not lead asks the leader over REST for the round, and a task's trace has no more than its "
        "answer. The cause is in the trace of a task on the leader's worker, and in the leader's log, where it says "
        "`Uncaught exception in REST call to /connectors/<connector>/fence`.",
        (
            "GET {path}/status and explain the trace of a task on another worker",
            "eosctl doctor --group-id {group}",
            RESTART,
        ),
        "DistributedHerder.fenceZombieSourceTasks, ConnectExceptionMapper.toResponse",
    ),
    ErrorPattern(
        "fencing-before-offsets-failed",
        (r"Failed to perform zombie fencing for source connector prior to modifying offsets",),
        "A round of zombie fencing failed, so the connector's offsets were not changed",
        "With exactly-once the leader fences the connector's producers before it alters or resets its offsets over "
        "REST. The message has no cause: it is in the exceptions below it, in the leader's log.",
        ("explain the whole stack trace: eosctl explain - < FILE", "send the REST request again"),
        "KIP-875; DistributedHerder.modifyConnectorOffsets (from 3.6 on)",
    ),
    ErrorPattern(
        "fencing-failed",
        (
            r"^(?!(?s:.*(ConnectRestException|TimeoutException|timed out|InvalidTxnTimeout|Authorization|rebalance)))"
            r"(?s:.*)Failed to perform (?:round of )?zombie fencing(?! for source)",
        ),
        "A round of zombie fencing failed, so the task does not start",
        "Before the tasks of a source connector start, the leader fences the producers of the generation before. The "
        f"message has no cause: it is in the exceptions below it, or in the leader's log. {NO_SUBSTITUTE}",
        (
            "explain the whole stack trace: eosctl explain - < FILE",
            "eosctl doctor --group-id {group}",
            RESTART,
        ),
        "KIP-618; Worker.fenceZombies, DistributedHerder.fenceZombieSourceTasks",
    ),
    ErrorPattern(
        "transactional-id-not-authorized",
        (r"TransactionalIdAuthorization|TRANSACTIONAL_ID_AUTHORIZATION_FAILED|transactional id authorization",),
        "Write on a TransactionalId is missing",
        "A task's producer needs Write on <group.id>-<connector>-<task>, the leader of workers that are preparing or "
        "enabled on connect-cluster-<group.id>, and every worker may become the leader.",
        ("eosctl acl-plan --group-id {group}", RESTART),
        "KIP-618; KafkaApis.handleInitProducerIdRequest",
    ),
    ErrorPattern(
        "cluster-not-authorized",
        (r"ClusterAuthorization|CLUSTER_AUTHORIZATION_FAILED",),
        "A right on the cluster is missing",
        "A producer without a transactional ID needed IdempotentWrite before Kafka 2.8, and authorizers of other "
        "makers may still want it. Ending a hanging transaction needs Alter, before 3.8 ClusterAction.",
        ("eosctl acl-plan --group-id {group}",),
        "KIP-679, KAFKA-16513; KafkaApis.handleInitProducerIdRequest, KafkaApis.handleWriteTxnMarkersRequest",
    ),
    ErrorPattern(
        "concurrent-transactions",
        (r"ConcurrentTransactions|CONCURRENT_TRANSACTIONS",),
        "The ID's transaction is being ended just now",
        "Whoever interrupts an open transaction gets this until its markers are written; clients ask again. In a round "
        "of zombie fencing workers before 3.7.1 take it for fatal although fencing has begun (KAFKA-16570). Where it "
        "stays, a partition of the transaction has no leader or too few replicas in sync.",
        (DESCRIBE, "eosctl transactions hanging --group-id {group}", RESTART),
        "KAFKA-16570, KAFKA-16352; TransactionCoordinator.handleInitProducerId",
    ),
    ErrorPattern(
        "transaction-expired-or-fenced",
        (r"before its producer transaction expired",),
        "The task's transaction timed out, or the task is a zombie that was fenced",
        "Connect says the same in both cases. Timed out: the records of one transaction took longer than the "
        "producer's transaction.timeout.ms. Fenced: the connector was reconfigured and a newer task took over, which "
        "is meant to happen.",
        (
            CONFIG + " --history",
            HISTORY,
            "if it timed out: raise producer.override.transaction.timeout.ms, or use transaction.boundary=poll",
        ),
        "KIP-618; ExactlyOnceWorkerSourceTask.maybeWrapProducerSendException",
    ),
    ErrorPattern(
        "newer-task-configs",
        (
            r"already generated a new set of task configs|new set of task configs was generated"
            r"|new task configurations were generated",
        ),
        "Newer task configs came while the task started: harmless",
        "A task starts only if the task configs it was made from still are the newest. A newer task of the same number "
        "follows. Where none does, the connector reconfigures itself without end.",
        (CONFIG,),
        "KIP-618; DistributedHerder.verifyTaskGenerationAndOwnership",
    ),
    ErrorPattern(
        "task-revoked",
        (r"already been revoked from this worker",),
        "The task was moved to another worker while it started: harmless",
        "Where it runs now, its status says.",
        ("GET {path}/status",),
        "KIP-618; DistributedHerder.verifyTaskGenerationAndOwnership",
    ),
    ErrorPattern(
        "producer-fenced",
        (r"ProducerFenced|PRODUCER_FENCED|newer producer with the same",),
        "Another producer has taken over the transactional ID",
        "For a task: a newer generation runs, a round of zombie fencing put this one out, or two Connect clusters "
        "share a group ID. For the leader's ID: another worker became the leader. What the old one wrote is aborted.",
        (DESCRIBE, HISTORY, CONFIG),
        "KIP-98, KIP-360; TransactionCoordinator.handleInitProducerId",
    ),
    ErrorPattern(
        "invalid-producer-epoch",
        (r"InvalidProducerEpoch|INVALID_PRODUCER_EPOCH|with an old epoch",),
        "The producer's epoch was raised: by fencing, or by its coordinator after a timeout",
        "A transaction that is open for longer than its transaction timeout is aborted by its coordinator, which "
        "raises the epoch. Zombie fencing does the same.",
        (HISTORY, "if it timed out: raise producer.override.transaction.timeout.ms"),
        "KIP-98, KIP-890; ProducerAppendInfo.checkProducerEpoch",
    ),
    ErrorPattern(
        "id-expired",
        (r"InvalidPidMapping|INVALID_PRODUCER_ID_MAPPING|not currently assigned to its transactional",),
        "The coordinator forgot the transactional ID, or gave it another producer ID",
        "An ID that is idle for transactional.id.expiration.ms (7 days) is forgotten. A connector that had nothing to "
        "write for a week fails with its next record.",
        (RESTART, "eosctl transactions log --group-id {group}"),
        "KIP-98; TransactionStateManager.removeExpiredTransactionalIds",
    ),
    ErrorPattern(
        "unknown-producer-id",
        (r"UnknownProducerId|UNKNOWN_PRODUCER_ID",),
        "The partition has forgotten the producer",
        "A broker before 2.5 has no record of the producer in the partition any more: retention deleted them, or the "
        "producer was idle. Later brokers take such a batch as the producer's first (KIP-360), and do not answer this.",
        (RESTART,),
        "KIP-360; ProducerAppendInfo.checkSequence",
    ),
    ErrorPattern(
        "out-of-order-sequence",
        (r"OutOfOrderSequence|OUT_OF_ORDER_SEQUENCE_NUMBER",),
        "Batches of an idempotent producer are missing before this one",
        "An earlier batch failed, or the leader lost records in an unclean election.",
        (RESTART, "eosctl transactions producers --topic {topic}"),
        "KIP-98; ProducerAppendInfo.checkSequence",
    ),
    ErrorPattern(
        "transaction-abortable",
        (r"TransactionAbortable|TRANSACTION_ABORTABLE",),
        "The broker could not verify the transaction: abort and retry",
        "From 3.6 on brokers ask the coordinator whether a partition belongs to the transaction (KIP-890), so that "
        "none hangs. Brokers before 3.8 answer INVALID_TXN_STATE instead, and so do later ones to clients before 3.8. "
        "Connect's task fails, and its records are read again after a restart.",
        (RESTART,),
        "KIP-890; TransactionCoordinator.handleVerifyPartitionsInTransaction (from 3.6 on)",
    ),
    ErrorPattern(
        "unstable-offset-commit",
        (r"UnstableOffsetCommit|UNSTABLE_OFFSET_COMMIT|unstable offsets that need to be cleared",),
        "The group's offsets are part of a transaction that is not decided",
        "A consumer that reads committed asks for stable offsets (KIP-447) and does not begin until the transaction "
        "that commits them has ended. Mostly that takes moments; where it stays so, the transaction is long or hangs "
        "in __consumer_offsets.",
        (
            "eosctl transactions hanging --topic __consumer_offsets",
            "eosctl transactions lso --topic __consumer_offsets",
        ),
        "KIP-447, KIP-664; ConsumerCoordinator.fetchCommittedOffsets",
    ),
    ErrorPattern(
        "transaction-coordinator-fenced",
        (r"TransactionCoordinatorFenced|TRANSACTION_COORDINATOR_FENCED",),
        "A marker came from a coordinator that has been replaced",
        "The partition has seen a newer coordinator epoch of this producer ID. The new coordinator writes the marker; "
        "an abort by hand is refused until its epoch is the one that the leader has.",
        ("eosctl transactions producers --topic {topic}", "eosctl transactions hanging --topic {topic}"),
        "KIP-98, KIP-664; ProducerAppendInfo.checkCoordinatorEpoch",
    ),
    ErrorPattern(
        "producer-not-in-transaction",
        (r"Cannot add partition .* while in state",),
        "The task's producer sent records outside a transaction",
        "TransactionManager refuses records before the transaction was begun or after it ended: it was ended between "
        "two batches, mostly by an error before this one.",
        ("look for the first exception of the task in the log", RESTART),
        "TransactionManager.maybeAddPartition",
    ),
    ErrorPattern(
        "invalid-transaction-state",
        (r"InvalidTxnState|INVALID_TXN_STATE",),
        "The producer did something that its transaction's state does not allow",
        "Mostly what follows another error: look for the first exception above it. Brokers from 3.6 on also answer it "
        "where a batch comes after its transaction has ended (KIP-890).",
        (DESCRIBE,),
        "KIP-98, KIP-890; TransactionCoordinator.handleEndTransaction",
    ),
    ErrorPattern(
        "zombie",
        (r"^\W*(?:a )?zombies?(?: tasks?| producers?)?\W*$",),
        "A task that still runs although a newer generation of tasks was started",
        "A worker that was cut off or paused does not know that its tasks were given to others. Each start of a "
        "generation fences the producers of the one before: their transactions are aborted, and what they send later "
        "is refused. While the connector is stopped nobody does that.",
        (CONFIG, "eosctl fence --connector {connector} --group-id {group} --dry-run"),
        "KIP-618; DistributedHerder.fenceZombieSourceTasks",
    ),
    ErrorPattern(
        "consumer-stuck",
        (
            r"(?:stuck|stalled|blocked|hanging) consumers?\b"
            r"|consumers?\b.{0,30}\b(?:stuck|stalls?|stalled|blocked|hangs?|hanging)\b",
        ),
        "A read_committed consumer does not get on although records arrive",
        "It reads up to the last stable offset, which is where the first open transaction of the partition begins. "
        "That ends when the transaction is committed or aborted, at the latest by its timeout. One that hangs never "
        "ends by itself.",
        ("eosctl transactions lso --group CONSUMER-GROUP", "eosctl transactions hanging --group-id {group}"),
        "KIP-98, KIP-664; UnifiedLog.lastStableOffset",
    ),
)
