"""Explains an error: compares a log's text, with its stack trace, with the known errors of Connect and of transactions.

1. Every entry whose patterns are all found is reported, the more special first: the entries stand in that order.
2. Connector, task, transactional ID and topic are taken from the text where it names them in Kafka's own forms:
   `WorkerSourceTask{id=orders-0}`, the logging context `[orders|task-0]`, `transactionalId=...`, `topic: ...`. What
   only a space or a colon divides from its noun may be a word of the sentence: _BARE and _CLOSED say when it is none.
3. Kafka's own error classes that no such entry speaks of are reported last, with what the protocol says of them.
4. What the text does not show stands in capitals in the commands; what it shows is quoted as a shell or a URL needs it.
"""

import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from eosctl.analysis.connect_errors import CONNECT_ERRORS, HANGING, RESTART
from eosctl.analysis.kafka_errors import explain_classes
from eosctl.late_pattern import late_pattern
from eosctl.model.report import ErrorPattern, Explanation
from eosctl.model.workers import connector_path

# Errors of transactional producers, of their coordinators and of zombie fencing.
#
# They are data. The more special an entry, the earlier it stands.


CONFIG: Final = "eosctl inspect-config --connector {connector} --group-id {group}"
DESCRIBE: Final = "eosctl transactions describe {transactional_id} --group-id {group}"
HISTORY: Final = "eosctl transactions log {transactional_id} --history"
FENCING: Final = r"zombie fencing"
NO_SUBSTITUTE: Final = (
    "`eosctl fence` does not replace this round: each start of a task begins it again until the leader has written "
    "its task count record."
)

TRANSACTION_ERRORS: Final = (
    ErrorPattern(
        "transaction-version-lowered",
        (r"non-default clientTransactionVersion",),
        "The feature transaction.version was lowered to 0 while coordinators held newer transaction state",
        "Coordinators cannot write the state of an ID whose producer used version 2, so its producer fails, and each "
        "InitProducerId of the ID times out. Raising the feature again does not help: a coordinator keeps the pending "
        "state until its broker restarts.",
        (
            "kafka-features.sh --bootstrap-server HOST:PORT upgrade --feature transaction.version=2",
            "restart the brokers one by one, each once its partitions are back in sync",
            RESTART,
        ),
        "KIP-890, KIP-1022; TransactionLog.valueToBytes, TransactionLogValue.write (from 4.0 on)",
    ),
    ErrorPattern(
        "transactional-request-unsupported",
        (
            r"UnsupportedVersionException: The version of API is not supported",
            r"transactionalId=|fatal error state|Failed to flush offsets and/or records|ExactlyOnceWorkerSourceTask",
        ),
        "A broker no longer supports a transactional request of the producer",
        "Two causes are known. The feature transaction.version was lowered to 0 while the producer used version 2. "
        "The broker's log then has `Attempted to write a non-default clientTransactionVersion`. Each new producer "
        "of the ID waits until the brokers are restarted. Or brokers of 4.2.0 run beside older ones (KAFKA-20322, "
        "fixed in 4.2.1).",
        (
            "kafka-features.sh --bootstrap-server HOST:PORT describe",
            "kafka-features.sh --bootstrap-server HOST:PORT upgrade --feature transaction.version=2",
            "restart the brokers one by one, each once its partitions are back in sync",
            RESTART,
        ),
        "KIP-890, KIP-1022; TransactionManager.maybeTransitionToErrorState",
    ),
    ErrorPattern(
        "timed-out-transaction-lost",
        (r"Could not find transaction metadata when trying to timeout transaction",),
        "A coordinator does not find the transaction that it wants to abort",
        "The number of partitions of __transaction_state was changed, so the ID belongs to another coordinator now "
        "(EOS300). The transaction hangs: no coordinator aborts it.",
        (HANGING, "eosctl explain EOS300"),
        "TransactionCoordinator.abortTimedOutTransactions",
    ),
    ErrorPattern(
        "epoch-exhausted",
        (r"Cannot fence producer with epoch equal to Short\.MaxValue",),
        "The producer's epoch has no successor, so the coordinator cannot fence it",
        "Coordinators of 4.0 to 4.2 raise the epoch twice where InitProducerId interrupts a transaction (KAFKA-19367, "
        "KAFKA-20090), and reach the last epoch, 32767.",
        (DESCRIBE, "update the brokers", HANGING),
        "KAFKA-19367, KAFKA-20090; TransactionMetadata.prepareFenceProducerEpoch",
    ),
    ErrorPattern(
        "fencing-timeout",
        (FENCING, r"(?<!Txn)TimeoutException|timed out"),
        "A round of zombie fencing took longer than Connect allows (90 s)",
        "Kafka's admin client fences the IDs of one coordinator one after the other. In between it waits its retry "
        "back-off, up to a second an ID from 3.7 on (KIP-580). A connector with some 95 tasks a coordinator cannot "
        "be reconfigured then. Workers before 3.7.1 may fail the same way on a slow log append (KAFKA-16047). "
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
        "The brokers' transaction.max.timeout.ms is lower than the requested timeout. Workers from 3.7.1 on "
        "request 90000 ms in every round of zombie fencing, so with a lower limit each round fails. A producer "
        f"requests its own transaction.timeout.ms. {NO_SUBSTITUTE}",
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
        (r"rebalance is (?:expected|needed)|because of a conflicting operation",),
        "The leader refused while the workers were about to rebalance",
        "Before 3.6 workers refused a round of zombie fencing during a pending rebalance. The tasks that had "
        "requested it stayed FAILED (KAFKA-15059). This happened mostly in MirrorMaker's dedicated mode, which had "
        "no REST interface. Other requests are answered with 409 and can simply be sent again.",
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
            "kafka-acls.sh --bootstrap-server HOST:PORT --add --allow-principal User:ADMIN-OF-{connector} "
            "--operation Write --transactional-id {group}-{connector}- --resource-pattern-type prefixed",
            RESTART,
        ),
        "KIP-618; Worker.fenceZombies, KafkaApis.handleInitProducerIdRequest",
    ),
    ErrorPattern(
        "fencing-failed-at-the-leader",
        (r"ConnectRestException: Failed to perform (?:round of )?zombie fencing",),
        "The round of fencing failed at the leader, which answers without the cause",
        "Other workers request the round from the leader over REST. A task's trace then has only the leader's "
        "answer. The cause is in the trace of a task on the leader's worker, and in the leader's log, after "
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
        "With exactly-once, the leader fences the connector's producers before it alters or resets its offsets "
        "over REST. The message has no cause: it is in the exceptions below it, in the leader's log.",
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
        (
            r"TransactionalIdAuthorization|TRANSACTIONAL_ID_AUTHORIZATION_FAILED|transactional id authorization"
            r"|for transactionalId .* failed due to authorization failure",
        ),
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
        "A client that interrupts an open transaction gets this until the markers are written, and retries. In a "
        "round of zombie fencing workers before 3.7.1 take it for fatal although fencing has begun (KAFKA-16570). "
        "If it stays, a partition of the transaction has no leader or too few in-sync replicas.",
        (DESCRIBE, "eosctl transactions hanging --group-id {group}", RESTART),
        "KAFKA-16570, KAFKA-16352; TransactionCoordinator.handleInitProducerId",
    ),
    ErrorPattern(
        "transaction-expired-or-fenced",
        (r"before its producer transaction expired",),
        "The task's transaction timed out, or the task is a zombie that was fenced",
        "Connect reports both cases with the same message. Timed out: the records of one transaction took longer "
        "than the producer's transaction.timeout.ms. Fenced: the connector was reconfigured and a newer task took "
        "over, which is meant to happen.",
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
        "A task starts only if the task configs it was made from still are the newest. A newer task of the same "
        "number follows. If no worker restarts, the connector reconfigures itself repeatedly.",
        (CONFIG,),
        "KIP-618; DistributedHerder.verifyTaskGenerationAndOwnership",
    ),
    ErrorPattern(
        "task-revoked",
        (r"already been revoked from this worker",),
        "The task was moved to another worker while it started: harmless",
        "Its status names the present worker.",
        ("GET {path}/status",),
        "KIP-618; DistributedHerder.verifyTaskGenerationAndOwnership",
    ),
    ErrorPattern(
        "producer-fenced",
        (
            r"ProducerFenced|PRODUCER_FENCED|newer producer with the same"
            r"|fenced by another producer with the same transactionalId",
        ),
        "Another producer has taken over the transactional ID",
        "For a task: a newer generation runs, a round of zombie fencing fenced this one, or two Connect clusters share "
        "a group ID. For the leader's ID: another worker became the leader. The old producer's open transaction is "
        "aborted; its committed transactions stay.",
        (DESCRIBE, HISTORY, CONFIG),
        "KIP-98, KIP-360; TransactionCoordinator.handleInitProducerId",
    ),
    ErrorPattern(
        "invalid-producer-epoch",
        (r"InvalidProducerEpoch|INVALID_PRODUCER_EPOCH|with an old epoch|Epoch of producer .* the last seen epoch",),
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
        "A broker before 2.5 no longer has a record of the producer in the partition: retention deleted them, or "
        "the producer was idle. Later brokers accept the batch as the producer's first (KIP-360).",
        (RESTART,),
        "KIP-360; ProducerAppendInfo.checkSequence",
    ),
    ErrorPattern(
        "first-sequence-refused",
        (r"Expected sequence 0 for transactions v2",),
        "The partition knows nothing of the producer, and its batch is not the producer's first",
        "With transaction.version 2 a partition without state of the producer takes only a first batch (sequence "
        "0). Retention or DeleteRecords removed the producer's state, or an unclean election lost earlier batches. "
        "The task's transaction is aborted; its next producer begins at 0.",
        (
            RESTART,
            "eosctl transactions producers --topic {topic}",
            "look for an unclean election, or producer.id.expiration.ms below the longest pause of the task",
        ),
        "KIP-890; ProducerAppendInfo.checkSequence (from 4.0 on)",
    ),
    ErrorPattern(
        "out-of-order-sequence",
        (
            r"OutOfOrderSequence|OUT_OF_ORDER_SEQUENCE_NUMBER"
            r"|Out of order sequence number for producer|Invalid sequence number for new epoch",
        ),
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
        (
            r"TransactionCoordinatorFenced|TRANSACTION_COORDINATOR_FENCED"
            r"|[Ii]nvalid coordinator epoch for producerId|coordinator epoch \S+ has been fenced",
        ),
        "A marker came from a coordinator that has been replaced",
        "The partition has seen a newer coordinator epoch of this producer ID. The new coordinator writes the "
        "marker. The leader refuses an abort by hand until both have the same coordinator epoch.",
        ("eosctl transactions producers --topic {topic}", "eosctl transactions hanging --topic {topic}"),
        "KIP-98, KIP-664; ProducerAppendInfo.checkCoordinatorEpoch",
    ),
    ErrorPattern(
        "marker-skipped",
        (r"Couldn't find leader endpoint for partitions .* while trying to send transaction markers",),
        "A coordinator ended a transaction without the markers of some partitions",
        "The partitions were deleted, or had no leader. Brokers from 4.3.0 on treat both alike. When the leader is "
        "back, the transaction hangs there, although it may be committed in its other partitions: do not abort it "
        "before the decision is known.",
        ("start the brokers that hold these partitions", HANGING),
        "KAFKA-17573; TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue",
    ),
    ErrorPattern(
        "producer-not-in-transaction",
        (r"Cannot add partition .* while in state",),
        "The task's producer sent records outside a transaction",
        "TransactionManager refuses records before a transaction begins and after it ends. This "
        "transaction ended between two batches, mostly because of an earlier error.",
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
        "marker-repeated",
        (r"Idempotent transaction marker retry detected",),
        "A broker got a transaction's marker again, and wrote it: harmless",
        "A coordinator that was restarted, or lost a connection, sends the marker again. The transaction had "
        "already ended, so the second marker decides nothing.",
        ("nothing to do; where it repeats for hours: eosctl transactions describe {transactional_id}",),
        "KIP-1228, KAFKA-19999; ProducerAppendInfo.checkProducerEpoch (from 4.2 on)",
    ),
    ErrorPattern(
        "write-outside-transaction",
        (r"Expected transactional write from producer",),
        "A producer sent a non-transactional batch to a partition where its transaction is open",
        "No client of Kafka's does so: two programs use one producer ID, or a client of another maker is faulty.",
        (
            "eosctl transactions producers --topic {topic}",
            DESCRIBE,
        ),
        "KIP-98; ProducerAppendInfo.appendDataBatch",
    ),
    ErrorPattern(
        "timed-out-transaction-aborted",
        (r"Completed rollback of ongoing transaction",),
        "The coordinator aborted a transaction that was open for longer than its timeout",
        "The coordinator raised the epoch, too, so the producer fails with its next request. A task that waits in "
        "poll, a slow broker, or a client that is gone leaves a transaction open.",
        (
            HISTORY,
            "if the task needs longer: raise producer.override.transaction.timeout.ms, or use "
            "transaction.boundary=poll",
        ),
        "KIP-98; TransactionCoordinator.onEndTransactionComplete",
    ),
    ErrorPattern(
        "timed-out-transaction-not-aborted",
        (
            r"Rollback of ongoing transaction .* (?:failed due to|has been cancelled due to)"
            r"|Skipping abort of timed out transaction",
        ),
        "The coordinator could not abort a transaction after its timeout yet",
        "It tries again every 10 seconds (transaction.abort.timed.out.transaction.cleanup.interval.ms). If the "
        "message repeats, the coordinator cannot write to __transaction_state, or another change of the ID does not "
        "end.",
        (
            DESCRIBE,
            "eosctl transactions hanging --group-id {group}",
        ),
        "KIP-98; TransactionCoordinator.abortTimedOutTransactions",
    ),
    ErrorPattern(
        "fencing-not-written",
        (r"failed to write an epoch fence transition",),
        "A coordinator raised an epoch to fence a producer, and could not write that",
        "__transaction_state refused the write: too few replicas are in sync, or its leader changed. The producer "
        "that wanted to fence tries again.",
        (
            DESCRIBE,
            "eosctl doctor --group-id {group}",
        ),
        "KIP-360; TransactionCoordinator.endTransaction",
    ),
    ErrorPattern(
        "transaction-topic-grown",
        (r"Transaction topic number of partitions has changed",),
        "The number of partitions of __transaction_state was changed",
        "Transactional IDs belong to other partitions from then on, and what was open hangs (EOS300).",
        (
            "eosctl explain EOS300",
            HANGING,
        ),
        "TransactionStateManager.validateTransactionTopicPartitionCountIsStable",
    ),
    ErrorPattern(
        "acknowledgement-lost",
        (r"received acknowledgment for some previously sent messages and can no longer retry",),
        "The producer gave up on records without knowing whether brokers have them",
        "delivery.timeout.ms or the retries ended before an answer came. A transactional producer must abort, so "
        "Connect's task fails, and its records are read again after a restart.",
        (
            RESTART,
            "look for a broker that answered late, or a lowered producer.override.delivery.timeout.ms",
        ),
        "KIP-360; TransactionManager.maybeResolveSequences",
    ),
    ErrorPattern(
        "producer-in-error-state",
        (
            r"because we are in an error state|since the producer is already in fatal error state"
            r"|Invalid transition attempted from state",
        ),
        "The producer failed earlier, and refuses every further call",
        "This message is a consequence. The error that made the producer fail is above it in the log, "
        "usually at `Transiting to fatal error state` or `Transiting to abortable error state`.",
        (
            "look for the first exception of the task in the log, and explain that one",
            RESTART,
        ),
        "TransactionManager.maybeFailWithError, TransactionManager.transitionTo",
    ),
    ErrorPattern(
        "unexpected-transactional-answer",
        (r"error in (?:InitProducerId|AddOffsetsToTxn|EndTxn|TxnOffsetCommit)Response",),
        "A coordinator answered a transactional request with an error that the client does not know",
        "The error behind the colon is the broker's. A broker that is older or newer than the client, or not "
        "Kafka's, may answer so.",
        (
            "explain the error behind the colon",
            "eosctl probe",
            RESTART,
        ),
        "TransactionManager.handleResponse",
    ),
    ErrorPattern(
        "producer-initialized",
        (r"ProducerId set to .* with epoch",),
        "A producer initialized its transactional ID: harmless",
        "From this moment each older producer of the same ID is fenced. Its epoch is one more than that of the "
        "producer before it, or 0 with a new producer ID.",
        (HISTORY,),
        "KIP-98; TransactionManager.setProducerIdAndEpoch",
    ),
    ErrorPattern(
        "no-transaction-to-abort",
        (r"Could not find any open transactions starting at offset",),
        "kafka-transactions.sh finds no open transaction at this offset",
        "The transaction ended meanwhile, or the offset is not its first one.",
        ("eosctl transactions hanging --topic {topic}",),
        "KIP-664; DescribeProducersResult.partitionResult",
    ),
    ErrorPattern(
        "zombie",
        (r"^\W*(?:a )?zombies?(?: tasks?| producers?)?\W*$",),
        "A task that still runs although a newer generation of tasks was started",
        "A worker that was cut off or paused does not know that its tasks were given to others. Each new "
        "generation fences the producers of the previous generation: the coordinator aborts their "
        "transactions, and brokers refuse their later requests. While the connector is stopped, no "
        "worker does that.",
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
        "The wait ends with the transaction's commit or abort, at the latest by its timeout. A hanging transaction "
        "never ends without help.",
        ("eosctl transactions lso --group CONSUMER-GROUP", "eosctl transactions hanging --group-id {group}"),
        "KIP-98, KIP-664; UnifiedLog.lastStableOffset",
    ),
)


ERROR_PATTERNS: Final[tuple[ErrorPattern, ...]] = (*TRANSACTION_ERRORS, *CONNECT_ERRORS)

_BARE: Final = r"(?=[\w.-]*[0-9_])[\w.-]*\w"
"""A name that only a space marks: with a digit or an underscore, which no word of English has."""
_CLOSED: Final = r"(?=[^\s:]*\d|[^\s:]+\s*$|[^\s,)\];]+[,)\];])"
"""Behind a colon and a space: a name has a digit or ends the line or the clause, otherwise a sentence follows."""
_TASK: Final = (
    late_pattern(r"\[(?P<connector>[^\[\]|]+)\|task-(?P<task>\d+)"),
    late_pattern(r"Task\{id=(?P<connector>.+?)-(?P<task>\d+)\}"),
    late_pattern(r"[Tt]ask [('\"]?(?P<connector>[^\s'\"(]+)-(?P<task>\d+)\b"),
    late_pattern(r"[Cc]onnector(?: name)?(?:=| (?=['\"]))['\"]?(?P<connector>[^\s,'\"\]\)};]+)"),
    late_pattern(rf"[Cc]onnector(?: name)?: +{_CLOSED}(?P<connector>\w[^\s,'\"\]\)}};]*)", re.MULTILINE),
    late_pattern(rf"[Cc]onnector (?P<connector>{_BARE})"),
)
_ID: Final = r"[Tt]ransactional\.?[ _]?[iI]d"
_TRANSACTIONAL_ID: Final = (
    late_pattern(_ID + r"(?: *= *| (?=['\"]))['\"]?(?P<transactional_id>[^\s,'\"\]\)}]+)"),
    late_pattern(rf"{_ID} *: +{_CLOSED}(?P<transactional_id>\w[^\s,'\"\]\)}}]*)", re.MULTILINE),
    late_pattern(rf"{_ID} (?P<transactional_id>{_BARE})"),
)
_TOPIC: Final = (
    late_pattern(
        r"\b[Tt]opics?(?:-partition)?(?:=\[?|: *\[|[ ]\[| (?='))'?(?P<topic>[A-Za-z0-9._-]+?)(?:-\d+)?(?=[\s,'\]]|$)"
    ),
    late_pattern(rf"\b[Tt]opics?: *{_CLOSED}(?P<topic>[A-Za-z0-9._-]+?)(?:-\d+)?(?=[\s,'\]]|$)", re.MULTILINE),
    late_pattern(r"\b[Tt]opic(?:-partition)? (?P<topic>(?=[\w.-]*[0-9_])[\w.-]+?)(?:-\d+)?(?=[\s,;:]|$)"),
    late_pattern(r"partition (?P<topic>[A-Za-z0-9._-]+)-\d+"),
)
_ROLES: Final = (_TASK, _TRANSACTIONAL_ID, _TOPIC)
OVERTAKEN: Final = frozenset({"newer-task-configs", "task-revoked"})
"""Reasons for a FAILED task that Connect starts again by itself, with newer configs or on another worker."""


def explain_error(
    text: str,
    group_id: str | None = None,
    profile: str | None = None,
    known: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Explanation, ...]:
    """Every known error in the text, with the names that the text shows; empty for an unknown text.

    group_id and profile are used in its commands, if given; known are names that the text need not show.
    """
    names = {**names_in(text), **known}
    if group_id is not None:
        names["group"] = group_id
        if "connector" in names and "task" in names:
            names.setdefault("transactional_id", f"{group_id}-{names['connector']}-{names['task']}")
    recognised = tuple(each for each in ERROR_PATTERNS if each.matches(text))
    return (*(_explanation(each, names, profile) for each in recognised), *explain_classes(text, recognised))


def is_overtaken(trace: str) -> bool:
    """True if Connect itself restarts a task that is FAILED with this trace."""
    return any(each.id in OVERTAKEN and each.matches(trace) for each in ERROR_PATTERNS)


def names_in(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for forms in _ROLES:
        match = next((match for form in forms if (match := form.search(text))), None)
        if match is not None:
            found |= match.groupdict()
    return found


def _explanation(pattern: ErrorPattern, names: dict[str, str], profile: str | None) -> Explanation:
    known = {"connector": "CONNECTOR", "task": "TASK", "transactional_id": "ID", "topic": "TOPIC", "group": "GROUP"}
    reported = {role: shlex.quote(name) for role, name in names.items()}
    path = connector_path(names.get("connector", "CONNECTOR"))
    suffix = f" --profile {shlex.quote(profile)}" if profile else ""
    commands = tuple(
        command.format_map({**known, **reported, "path": path}) + (suffix if command.startswith("eosctl ") else "")
        for command in pattern.commands
    )
    return Explanation(pattern.id, pattern.title, pattern.cause, commands, pattern.source)
