"""Explains an error: compares a log's text, with its stack trace, with the known errors of Connect and of transactions.

1. Every entry whose patterns are all found is reported, the more special first: the entries stand in that order.
2. Connector, task, transactional ID and topic are taken from the text where it names them in Kafka's own forms:
   `WorkerSourceTask{id=orders-0}`, the logging context `[orders|task-0]`, `transactionalId=...`, `topic: ...`. What
   only a space divides from its noun is a name if it has a digit or an underscore, otherwise a word of the sentence.
3. Kafka's own error classes that no such entry speaks of are reported last, with what the protocol says of them.
4. What the text does not show stands in capitals in the commands; what it shows is quoted as a shell or a URL needs it.
"""

import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from eosctl.analysis.kafka_errors import explain_classes
from eosctl.model.connectors import connector_path
from eosctl.model.report import ErrorPattern, Explanation

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
            "PUT {path}/config with what it is, and once more if that is refused",
            "if it stays refused: restart the worker that leads the group",
        ),
        "KIP-618; KafkaConfigBackingStore.claimWritePrivileges",
    ),
    ErrorPattern(
        "leader-write-failed",
        (r"Failed to write to config topic",),
        "The leader's producer was fenced, or could not write to the config topic",
        "The leader of workers that are preparing or enabled writes in transactions as connect-cluster-<group.id>. "
        "Another worker that became the leader fences it; the request can be sent again. Where it stays, the ID's ACL "
        "is missing or two clusters share the group ID.",
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
        "The leader changed between the request and its arrival. The task that asked turns FAILED, and its next start "
        "asks the new leader.",
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
        "DistributedHerder.checkRebalanceNeeded, DistributedHerder.doFenceZombieSourceTasks",
    ),
    ErrorPattern(
        "worker-busy",
        (r"The worker is currently (?!reclaiming)\w+", r"[Rr]equest timed out|timed out"),
        "The worker did not answer a request in time, because its one thread for requests waits",
        "The message names what the worker waits for. A leader that initializes its transactional ID "
        "also reports `ensuring membership in the cluster`. If the message stays, the coordinator of "
        "connect-cluster-<group.id> does not answer, or transaction.version was lowered to 0 (EOS047).",
        ("eosctl transactions describe connect-cluster-{group} --group-id {group}", "eosctl doctor --group-id {group}"),
        "KAFKA-15563; DistributedHerder.tick, HerderRequestHandler.completeRequest (from 3.8 on)",
    ),
    ErrorPattern(
        "reclaiming-write-privileges",
        (r"reclaiming write privileges for the config topic",),
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
        "From 3.8 on a commit with a null offset (a tombstone) does not end if the connector has its own "
        "offsets topic or its own Kafka cluster (EOS089). The next commit then fails with this message.",
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
        "The task goes on as if it had no offset for that source partition, and may copy everything again. Workers "
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
            r"Failed to read to end of|read(ing)? (log )?to (the )?end.*(TimeoutException|timed? ?out)"
            r"|timed? ?out.*read(ing)? (log )?to (the )?end",
        ),
        "A worker cannot read one of its topics to the end",
        "A worker with exactly-once reads its internal topics with read_committed, up to the high watermark: an open "
        "transaction in the config or offsets topic stops it until it ends, and a hanging one never ends by itself. "
        "Before a round of zombie fencing the leader waits only worker.sync.timeout.ms (3 s), which a slow broker can "
        "exceed, too.",
        ("eosctl transactions lso --topic connect-configs --topic connect-offsets --group-id {group}", HANGING),
        "KIP-618, KIP-664; KafkaBasedLog.readToLogEnd, DistributedHerder.refreshConfigSnapshot",
    ),
    ErrorPattern(
        "init-transactions-timeout",
        (r"initTransactions|InitProducerId", r"(?<!Txn)TimeoutException|timed? ?out"),
        "The producer found no transaction coordinator in time",
        "__transaction_state cannot be created or is leaderless: its replication factor (3) or min ISR (2) is more "
        "than the number of live brokers, as on one-broker clusters. Or the last transaction of the ID is ending.",
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
        "The connector does not say whether it supports exactly-once",
        "exactly.once.support=required asks the connector's exactlyOnceSupport(), which this one does not implement. "
        "It may support it all the same: its documentation says whether it does.",
        ("set exactly.once.support=requested, which asks nothing, once you know that it does",),
        "KIP-618; DistributedHerder.validateSourceConnectorExactlyOnceSupport",
    ),
    ErrorPattern(
        "connector-unsupported",
        (r"does not support exactly-once (semantics|delivery guarantees) with",),
        "The connector does not support exactly-once with this configuration",
        "FileStreamSource needs `file`, MirrorSourceConnector a source consumer with "
        "source.consumer.isolation.level=read_committed; others say in their documentation.",
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
        "Requests between workers are signed with the session key in the config topic (KIP-507). It is refused where "
        "the workers read different config topics, where the signer's inter.worker.signature.algorithm is not among "
        "the leader's inter.worker.verification.algorithms, or where a proxy changes headers.",
        (
            "compare group.id, config.storage.topic, inter.worker.signature.algorithm and "
            "inter.worker.verification.algorithms of the workers",
            "restart the task",
        ),
        "KIP-507; DistributedHerder.requestNotSignedProperly",
    ),
    ErrorPattern(
        "forwarding-failed",
        (r"IO Error trying to forward REST request",),
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
            "raise the replication factor where it is below min.insync.replicas; do not lower min.insync.replicas",
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
        ("set it on the workers instead (producer.*, consumer.*, admin.*), or change the policy on all of them",),
        "KIP-458; AbstractConnectorClientConfigOverridePolicy.validate",
    ),
    ErrorPattern(
        "topic-not-authorized",
        (r"TopicAuthorization|TOPIC_AUTHORIZATION_FAILED|Not authorized to access topics",),
        "A right on a topic is missing",
        "Tasks need Write on output topics and on the connector's offsets topic, its consumer Read on the latter, and "
        "workers Read and Write on their three internal topics.",
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
)


# Errors of transactional producers, of their coordinators and of zombie fencing.
#
# They are data. The more special an entry, the earlier it stands.


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
        "A broker does not support a transactional request of the producer any more",
        "Two causes are known. The feature transaction.version was lowered to 0 while the producer used version 2: "
        "then the broker's log says `Attempted to write a non-default clientTransactionVersion`, and each new "
        "producer of the ID waits for ever until the brokers are restarted. Or brokers of 4.2.0 run beside older ones "
        "(KAFKA-20322, fixed in 4.2.1).",
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
        "Before 3.6 workers refused a round of zombie fencing during a pending rebalance, and the tasks "
        "that had asked for it stayed FAILED (KAFKA-15059). This happened mostly in MirrorMaker's "
        "dedicated mode, which had no REST interface. Other requests are answered with 409 and can "
        "simply be sent again.",
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
        "A client that interrupts an open transaction gets this until the markers are written, and retries. In a round "
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
        "For a task: a newer generation runs, a round of zombie fencing fenced this one, or two Connect clusters share "
        "a group ID. For the leader's ID: another worker became the leader. The old producer's open transaction is "
        "aborted; its committed transactions stay.",
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
        "That ends when the transaction is committed or aborted, at the latest by its timeout. One that hangs never "
        "ends by itself.",
        ("eosctl transactions lso --group CONSUMER-GROUP", "eosctl transactions hanging --group-id {group}"),
        "KIP-98, KIP-664; UnifiedLog.lastStableOffset",
    ),
)


ERROR_PATTERNS: Final[tuple[ErrorPattern, ...]] = (*TRANSACTION_ERRORS, *CONNECT_ERRORS)

_BARE: Final = r"(?=[\w.-]*[0-9_])[\w.-]*\w"
"""A name that only a space marks: with a digit or an underscore, which no word of English has."""
_TASK: Final = (
    re.compile(r"\[(?P<connector>[^\[\]|]+)\|task-(?P<task>\d+)"),
    re.compile(r"Task\{id=(?P<connector>.+?)-(?P<task>\d+)\}"),
    re.compile(r"[Tt]ask '?(?P<connector>[^\s'\"]+)-(?P<task>\d+)\b"),
    re.compile(r"[Cc]onnector(?: name)?(?:[=:] *| (?=['\"]))['\"]?(?P<connector>[^\s,'\"\]\)};]+)"),
    re.compile(rf"[Cc]onnector (?P<connector>{_BARE})"),
)
_ID: Final = r"[Tt]ransactional\.?[ _]?[iI]d"
_TRANSACTIONAL_ID: Final = (
    re.compile(_ID + r"(?: *= *| *: +| (?=['\"]))['\"]?(?P<transactional_id>[^\s,'\"\]\)}]+)"),
    re.compile(rf"{_ID} (?P<transactional_id>{_BARE})"),
)
_TOPIC: Final = (
    re.compile(
        r"[Tt]opics?(?:-partition)?(?:[=:] *\[?|[ ]\[| (?='))'?(?P<topic>[A-Za-z0-9._-]+?)(?:-\d+)?(?=[\s,'\]]|$)"
    ),
    re.compile(r"[Tt]opic(?:-partition)? (?P<topic>(?=[\w.-]*[0-9_])[\w.-]+?)(?:-\d+)?(?=[\s,;:]|$)"),
    re.compile(r"partition (?P<topic>[A-Za-z0-9._-]+)-\d+"),
)
_ROLES: Final = (_TASK, _TRANSACTIONAL_ID, _TOPIC)
OVERTAKEN: Final = frozenset({"newer-task-configs", "task-revoked"})
"""What a task is FAILED with that is being started again, with newer configs or on another worker."""


def explain_error(
    text: str,
    group_id: str | None = None,
    profile: str | None = None,
    known: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Explanation, ...]:
    """Every known error that the text shows, with the names it shows; none where it shows none.

    group_id and profile stand in its commands, where they are given; known are names that the text need not show.
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
