"""Findings about the transactional IDs of the leader and of the tasks."""

from typing import Final

from eosctl.model.report import FindingKind, OlderFix, Severity
from eosctl.model.versions import STOPPED_STATE

IN_PREPARE: Final = (
    "bring back the leaders of its partitions (`kafka-topics.sh --bootstrap-server <broker> --describe "
    "--unavailable-partitions`); where all have one, restart the broker that coordinates the ID"
)

ONCE_RESUMED: Final = "a PAUSED task initializes its ID when it is resumed, and is reported until then"

NO_LEADER_ID: Final = FindingKind(
    id="EOS110",
    name="leader-id-unknown",
    title="leader's transactional ID is unknown",
    severity=Severity.ERROR,
    cause="A leader that is preparing or enabled initializes connect-cluster-<group.id> after its election. The ID "
    "expires when the leader writes nothing for transactional.id.expiration.ms; with connect.protocol=sessioned a "
    "new session key each hour keeps it in use. After that the leader's next write fails (`Failed to perform "
    "fencable send to config topic`). The leader initializes the ID again only if that write changed a config. "
    "After a failed `restart?includeTasks=true` it never does, and refuses every change until it is restarted "
    "(measured with 4.3.1).",
    fix="check --group-id and -b, and restart each worker whose file was changed since it started. If "
    "all is right: PUT /connectors/<connector>/config with the present config, and repeat the "
    "request if it is refused. If it is still refused, restart the leader's worker. If its log has "
    "authorization errors, the worker's principal needs Write on TransactionalId "
    "connect-cluster-<group.id>",
    source="KIP-618; DistributedHerder.writeToConfigTopicAsLeader",
)
NO_TASK_ID: Final = FindingKind(
    id="EOS111",
    name="task-ids-unknown",
    title="tasks run without known IDs",
    severity=Severity.WARNING,
    cause="A task initializes its ID when it starts, and keeps its producer if it is PAUSED later. A task "
    "that starts while PAUSED initializes its ID when it is resumed, and does no harm before. An ID "
    "that is unused for transactional.id.expiration.ms (7 days) is forgotten, and the task's next "
    "write fails with InvalidPidMappingException.",
    fix="restart each of them: POST /connectors/<connector>/tasks/<task>/restart (the leader writes no record for "
    f"it); {ONCE_RESUMED}",
    source="KIP-98, KIP-618; TransactionCoordinator.handleAddPartitionsToTransaction, WorkerTask.doRun",
)
OVERDUE: Final = FindingKind(
    id="EOS112",
    name="transaction-overdue",
    title="transaction outlives its timeout",
    severity=Severity.ERROR,
    cause="A coordinator aborts a transaction that is Ongoing for longer than its timeout. In PrepareCommit and "
    "PrepareAbort the outcome is decided, and no timeout applies: markers wait for leaderless partitions, or, with "
    "brokers before 3.8, for ever (KAFKA-16352). Fencing is refused there (CONCURRENT_TRANSACTIONS).",
    fix=(
        "for Ongoing: `eosctl fence --transactional-id <id>`. For Prepare*: bring back the leaders of its "
        "partitions (`kafka-topics.sh --bootstrap-server <broker> --describe --unavailable-partitions`); where all "
        "have one, restart the broker that coordinates the ID"
    ),
    source="KIP-98, KAFKA-16352; TransactionCoordinator.abortTimedOutTransactions, "
    "TransactionMarkerChannelManager.addTxnMarkersToSend",
)
COLLISION: Final = FindingKind(
    id="EOS113",
    name="task-and-leader-share-id",
    title="task and leader share an ID",
    severity=Severity.ERROR,
    cause="Connect joins names with dashes and escapes no dash. Group `connect` with connector `cluster-x` has IDs "
    "with the prefix of leaders' IDs.",
    fix="give the connector or the other group another name",
    source="KIP-618; Worker.taskTransactionalId, DistributedConfig.transactionalProducerId",
)
PREFIX: Final = FindingKind(
    id="EOS114",
    name="transactional-id-prefix",
    title="name of a connector is a prefix of another's",
    severity=Severity.WARNING,
    cause="Transactional IDs are <group.id>-<connector>-<task>. An ACL names one ID or a prefix of IDs. The prefix "
    "of one connector's tasks also covers the tasks of the other connector.",
    fix="grant literal IDs, or give the connectors names so that no name is a prefix of another",
    source="KIP-618, KIP-290; Worker.taskTransactionalId",
    commands=("acl-plan",),
)
FOREIGN: Final = FindingKind(
    id="EOS115",
    name="foreign-transactional-ids",
    title="unowned transactional IDs under the group's name",
    severity=Severity.INFO,
    cause="They remain from deleted connectors, or another group's name begins with this group's name.",
    fix="IDs of deleted connectors expire; give groups names so that no name is a prefix of another",
    source="KIP-618; Worker.taskTransactionalId",
)
FORGOTTEN: Final = FindingKind(
    id="EOS116",
    name="open-transaction-without-leader",
    title="open transaction on a leaderless partition",
    severity=Severity.ERROR,
    cause="Brokers from 4.3.0 on forget the marker of a leaderless partition and complete the transaction. Its "
    "records hang when the leader is back. Brokers up to 4.2 wait for the leader. A restarted task, a new leader "
    "and `eosctl fence` all end the open transaction of their ID.",
    fix="start the brokers that hold its replicas (`kafka-topics.sh --bootstrap-server <broker> --describe "
    "--unavailable-partitions` names them); restart and fence nothing before that. To find transactions that hang "
    "already: `eosctl transactions hanging`",
    source="KIP-98; TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue; measured with 3.3.2, 3.6.2, 3.9.2, "
    "4.0.0, 4.1.1, 4.2.0, 4.3.0 and 4.3.1",
)
NEAR_EXPIRY: Final = FindingKind(
    id="EOS117",
    name="transactional-id-near-expiry",
    title="idle transactional IDs are near expiry",
    severity=Severity.WARNING,
    cause=(
        "A coordinator forgets an ID without writes for transactional.id.expiration.ms, and the next write of"
        " its task fails (InvalidPidMappingException)."
    ),
    fix="restart each of them: POST /connectors/<connector>/tasks/<task>/restart, which initializes the "
    f"ID again; {ONCE_RESUMED}",
    source="KIP-98; TransactionStateManager.removeExpiredTransactionalIds, WorkerTask.doRun",
    commands=("transactions log", "transactions churn"),
)
SHARED_IDS: Final = FindingKind(
    id="EOS118",
    name="task-ids-shared",
    title="tasks of two groups share an ID",
    severity=Severity.ERROR,
    cause="Connect joins <group.id>-<connector>-<task> with dashes and escapes no dash. Connector b-c of group a "
    "and connector c of group a-b have the same IDs, and fence each other repeatedly.",
    fix="stop the other connector (PUT /connectors/<its name>/stop on its own workers), give this one another name: "
    "`eosctl migrate-offsets --connector <connector> --rename-to <name> --stop --set-config --resume`, delete the old "
    "one (DELETE /connectors/<connector>), and resume the other",
    older=OlderFix(
        STOPPED_STATE,
        "delete both connectors (DELETE /connectors/<connector>; their offsets stay), give this one another name: "
        "`eosctl migrate-offsets --connector <connector> --rename-to <name>`, then create both again",
    ),
    source="Worker.taskTransactionalId",
)
SAME_GROUP_ELSEWHERE: Final = FindingKind(
    id="EOS119",
    name="group-id-elsewhere",
    title="two Connect clusters of one group.id write to one Kafka cluster",
    severity=Severity.WARNING,
    cause="A connector that writes to another Kafka cluster has its IDs, <group.id>-<connector>-<task>, there. "
    "Workers of the same group.id are there: connectors of one name in both would fence each other.",
    fix="give the connectors of the two Connect clusters different names, or one cluster another group.id (stop "
    "its source connectors first: the new IDs fence no old producer)",
    source="Worker.taskTransactionalId",
)


# Findings about the records of the transaction log.


MISPLACED: Final = FindingKind(
    id="EOS300",
    name="transactional-id-misplaced",
    title="transactional ID in a foreign partition",
    severity=Severity.ERROR,
    cause="Brokers that started after partitions were added look for the ID in the partition that the new "
    "number gives. They do not use records of the ID in another partition. The ID gets another "
    "producer ID, and its old producer is not fenced.",
    fix="if --partitions was given, check it. Otherwise partitions were added to __transaction_state: stop all "
    "transactional producers, restart all brokers, then start the producers, which initialize their IDs again "
    "(EOS045); `eosctl fence` does not reach the old ones. The completed records in the old partitions expire. A "
    "transaction that was Ongoing then is never aborted by a coordinator: `eosctl transactions hanging` finds it and "
    "prints the command that ends it",
    source="KIP-98; TransactionStateManager.partitionFor",
    commands=("transactions log",),
)
EPOCHS_NEAR_END: Final = FindingKind(
    id="EOS301",
    name="producer-epochs-near-end",
    title="producer epochs are near their end",
    severity=Severity.INFO,
    cause="Epochs of a producer ID end at 32766; the coordinator then gives the transactional ID another producer ID. "
    "Brokers of 4.0 to 4.2 with transaction.version 2 can exceed the last epoch where InitProducerId interrupts a "
    "transaction (KAFKA-19367, KAFKA-20090): fencing fails then.",
    fix="nothing on most brokers: coordinators change the producer ID by themselves. On brokers of 4.0 to 4.2 restart "
    "the task while it has no open transaction, or update the brokers",
    source="KIP-360, KIP-890",
    commands=("transactions log",),
)
NEWER_RECORD: Final = FindingKind(
    id="EOS302",
    name="newer-log-record",
    title="record of a newer Kafka",
    severity=Severity.WARNING,
    cause="Its key or its value has a version that this eosctl does not know, so the record was not read.",
    fix="use a newer eosctl",
    source="KIP-915",
    commands=("transactions log",),
)
OLD_PROTOCOL: Final = FindingKind(
    id="EOS303",
    name="old-transaction-protocol",
    title="producers of the old transaction protocol",
    severity=Severity.WARNING,
    cause="With transaction.version 2, producers of 4.0 and newer use a new epoch for each transaction (KIP-890, "
    "part 2). Producers of older workers, and producers that connected before transaction.version was raised, keep "
    "one epoch for all transactions. A late batch of one transaction can get into the next. Coordinators log by "
    "which protocol a producer ended its transaction (ClientTransactionVersion, from transaction.version 1 on).",
    fix="upgrade the workers to 4.0 or newer; where they are, restart each task of the old protocol: POST "
    "/connectors/<connector>/tasks/<task>/restart, and for the leader's ID the worker that leads",
    source="KIP-890; TransactionVersion.transactionVersionForEndTxn (from 4.0 on), "
    "TransactionManager.maybeUpdateTransactionV2Enabled (from 4.0 on)",
)
WITHOUT_TIMEOUT: Final = FindingKind(
    id="EOS304",
    name="transaction-without-timeout",
    title="transactions that no timeout ends",
    severity=Severity.WARNING,
    cause=(
        "The largest timeout (2147483647 ms) means two-phase commit (KIP-939). From 4.1 on a coordinator never "
        "aborts such a transaction; older brokers abort it after 24.8 days. While its producer is lost, "
        "read_committed consumers are stalled."
    ),
    fix="for a connector: remove producer.override.transaction.two.phase.commit.enable and the largest "
    "producer.override.transaction.timeout.ms, PUT /connectors/<connector>/config, which restarts its tasks. For an "
    "application: nothing where it means two-phase commit; it ends its transactions itself, and `eosctl fence` aborts "
    "them",
    source="KIP-939; TransactionMetadata.isDistributedTwoPhaseCommitTxn (from 4.1 on), "
    "TransactionStateManager.timedOutTransactions",
    commands=("transactions log",),
)
BROKEN_LOG: Final = FindingKind(
    id="EOS305",
    name="transaction-log-broken",
    title="contradicting records in the transaction log",
    severity=Severity.ERROR,
    cause="Under one producer ID an epoch never falls, and each state follows certain others. A record contradicts "
    "the record before it for one of three reasons. The log is damaged. Another client than a coordinator wrote to "
    "it. Or two brokers were coordinators of the ID at once (unclean.leader.election.enable, a restored replica). "
    "It is a warning if only states contradict each other: after a write that seemed to fail, a coordinator may "
    "write another state.",
    fix="compare the records: `eosctl transactions log <transactional-id> --history`. Look for an unclean election of "
    "the partition's leader in the controller's log. Stop the producer of the ID, and fence the ID before it starts "
    "again: `eosctl fence --transactional-id <transactional-id>`",
    source="KIP-98; TransactionState.validPreviousStates, TransactionStateManager.loadTransactionMetadata",
    commands=("transactions log",),
)
CONTENDED: Final = FindingKind(
    id="EOS306",
    name="transactional-id-contended",
    title="producers take a transactional ID from each other",
    severity=Severity.ERROR,
    cause="Each InitProducerId fences the producer that had the ID. Two clients with one ID that start again when they "
    "are fenced do so for ever, and abort each other's transactions. A client that fails at its start and is started "
    "again looks the same, unless the settings change back and forth; then it is a warning.",
    fix=(
        "give each client its own ID (transactional.id, Spring's transactionIdPrefix, Flink's "
        "transactionalIdPrefix, Streams' application.id; in Connect another name for one connector). Where only "
        "one client has the ID: find in its log why it starts again. To find the clients, have the coordinator "
        "log requests for a minute: `kafka-configs.sh --bootstrap-server <broker> --alter --entity-type broker-loggers "
        "--entity-name <node-id> --add-config kafka.request.logger=DEBUG`. Its lines of INIT_PRODUCER_ID with the ID "
        "have their addresses and versions"
    ),
    source="KIP-98; TransactionMetadata.prepareIncrementProducerEpoch, TransactionMetadata.prepareFenceProducerEpoch",
    commands=("transactions history",),
)

CHURNING: Final = FindingKind(
    id="EOS308",
    name="transactional-ids-left-behind",
    title="an application leaves many transactional IDs behind",
    severity=Severity.WARNING,
    cause="The client takes a new transactional ID at each start or for each transaction: it has a UUID, a pod's name "
    "or a growing number. Coordinators keep each ID in memory and in the transaction log for "
    "transactional.id.expiration.ms (7 days) after its last use, and read all IDs when they take over a partition. "
    "A new ID fences no older producer: a transaction that it left open blocks readers until its timeout.",
    fix="give the application IDs that stay the same after a restart: Spring's transactionIdPrefix with the number of "
    "the instance, a pod's name of a StatefulSet, Streams' state directory on a volume. Where that is impossible "
    "(Iceberg's sink), lower transactional.id.expiration.ms on the brokers, to no less than the longest pause of other "
    "applications",
    source="KIP-98; TransactionStateManager.removeExpiredTransactionalIds",
    commands=("transactions churn",),
)
STATES: Final = FindingKind(
    id="EOS309",
    name="producer-states-pile-up",
    title="a broker keeps very many producers in memory",
    severity=Severity.WARNING,
    cause="A broker keeps a state for each producer ID in each partition of which it has a replica, until the producer "
    "has not written there for producer.id.expiration.ms (1 day). Each new producer has a new ID, and producers are "
    "idempotent by default from clients 3.0 on. A client that makes a producer for each request leaves a state behind "
    "each time. A million states take about 400 MB of heap, and the broker writes them all at each new segment.",
    fix="find the client that writes to the partition that is named, and have it keep one producer for its whole life. "
    "Until then lower producer.id.expiration.ms, to no less than transaction.max.timeout.ms (EOS048): "
    "`kafka-configs.sh --bootstrap-server <broker> --alter --entity-type brokers --entity-default --add-config "
    "producer.id.expiration.ms=3600000`",
    source="KIP-360, KIP-854; ProducerStateManager.removeExpiredProducers",
    commands=("transactions churn",),
)
UNMARKED: Final = FindingKind(
    id="EOS307",
    name="markers-missing",
    title="markers of a decided transaction do not arrive",
    severity=Severity.ERROR,
    cause="The outcome of the transaction is logged, and its coordinator writes a marker to each of its partitions. It "
    "asks the leaders again and again, and no timeout ends this. Until then read_committed consumers of these "
    "partitions are stalled, and the transactional ID cannot be used, fenced or aborted (CONCURRENT_TRANSACTIONS).",
    fix="bring back the leaders that are named. Where a leader answers and has no marker, read the coordinator's log "
    "(TransactionMarkerChannelManager). Its inter-broker listener does not reach the leader, or one of the two has a "
    "release that refuses the request (KAFKA-20322). Where a marker is written and not noted, restart the coordinator. "
    "`eosctl transactions leftovers --prefix <transactional-id>` shows all partitions",
    source="KIP-98; TransactionMarkerChannelManager.addTxnMarkersToSend, "
    "TransactionMarkerRequestCompletionHandler.onComplete",
)


# Findings about brokers and the transaction log.


TWO_IN_SYNC: Final = (
    "`kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name __transaction_state "
    "--add-config min.insync.replicas=2`"
)

UNUSABLE: Final = FindingKind(
    id="EOS040",
    name="transaction-log-unwritable",
    title="transaction log cannot be written",
    severity=Severity.ERROR,
    cause="Brokers create the topic at the first use of a transactional ID, with the replication factor and min "
    "ISR of their settings (3 and 2 by default). They write to it with acks=all. Where min.insync.replicas is above "
    "the replication factor, brokers before 3.7 refuse each write; newer ones ask for all replicas (EOS042).",
    fix="start the missing brokers, or set transaction.state.log.replication.factor and "
    "transaction.state.log.min.isr to values that the number of brokers allows, and restart them",
    source="KIP-98; TransactionStateManager.appendTransactionToLog, Partition.appendRecordsToLeader, "
    "Partition.effectiveMinIsr",
)
LEADERLESS: Final = FindingKind(
    id="EOS041",
    name="transaction-log-leaderless",
    title="transaction log partition without a leader",
    severity=Severity.ERROR,
    cause="The leader of an ID's partition is its coordinator. Without a coordinator, tasks of these IDs never "
    "finish starting (Connect sets the largest max.block.ms). A round of fencing fails after 90 s.",
    fix="start the brokers that hold the replicas: `kafka-topics.sh --bootstrap-server <broker> --describe --topic "
    "__transaction_state` names them",
    source="KIP-98; TransactionStateManager.partitionFor, Worker.baseProducerConfigs, Worker.fenceZombies",
)
THIN: Final = FindingKind(
    id="EOS042",
    name="transaction-log-thinly-replicated",
    title="transaction log has a low replication factor",
    severity=Severity.WARNING,
    cause="A transaction log that is lost takes every producer's epoch with it: zombies are no longer fenced. With "
    "min.insync.replicas above the replication factor one broker that fails stops all transactions.",
    fix=f"raise its replication factor to 3 with kafka-reassign-partitions.sh, then {TWO_IN_SYNC}",
    source="KIP-98; TransactionStateManager.appendTransactionToLog, Partition.maybeIncrementLeaderHW",
)
VERIFY: Final = FindingKind(
    id="EOS043",
    name="partition-verification-off",
    title="partition verification is off",
    severity=Severity.WARNING,
    cause="From 3.6 on brokers ask the coordinator whether a partition belongs to the transaction (KIP-890). So no "
    "late batch of a zombie opens a hanging transaction. The setting has no effect on producers of 4.0 and newer "
    "where transaction.version is 2: their partitions are added by the broker itself. A dynamic value of one "
    "broker wins over the default of all brokers: delete that value, too.",
    fix="`kafka-configs.sh --bootstrap-server <broker> --alter --entity-type brokers --entity-default --add-config "
    "transaction.partition.verification.enable=true`",
    source="KIP-890; AddPartitionsToTxnManager.addTxnData (from 3.6 on)",
)
EXPIRES: Final = FindingKind(
    id="EOS044",
    name="transactional-ids-expire-early",
    title="transactional IDs expire early",
    severity=Severity.WARNING,
    cause="A coordinator forgets an ID that was not used for this long; the producer that holds it then fails.",
    fix="set transactional.id.expiration.ms=604800000 (the default) on every broker and restart them one by one",
    source="KIP-98; TransactionStateManager.removeExpiredTransactionalIds",
)
REPARTITIONED: Final = FindingKind(
    id="EOS045",
    name="transaction-log-repartitioned",
    title="transaction log with another number of partitions",
    severity=Severity.WARNING,
    cause="The partition of an ID, and so its coordinator, is its hash modulo the number of partitions. If "
    "partitions were added, brokers that start later expect IDs in other partitions. They forget epochs and fence "
    "no zombies. A broker with the old number loads no partition of the log that it becomes leader of. If only the "
    "setting was changed after the topic was created, nothing breaks.",
    fix="set transaction.state.log.num.partitions of every broker to the topic's number. If partitions were added: "
    "stop all transactional producers. Restart all brokers. Start the producers, which initialize their IDs again. "
    "Then end the transactions that were Ongoing, because no coordinator aborts them: `eosctl transactions "
    "hanging`. If only the setting was changed, restart the brokers one by one",
    source="TransactionStateManager.partitionFor, "
    "TransactionStateManager.validateTransactionTopicPartitionCountIsStable",
)
OLD_TRANSACTIONS: Final = FindingKind(
    id="EOS046",
    name="transaction-version-low",
    title="transaction.version below 2",
    severity=Severity.WARNING,
    cause="The feature transaction.version decides how clients and brokers of 4.0 and newer behave. At 2 each "
    "transaction has its own producer epoch, so brokers refuse a late batch of one transaction in the next. They "
    "also add a partition to the transaction with its first batch, which saves a request (KIP-890, part 2). Below "
    "2 all transactions of a producer share an epoch. Brokers verify only that the partition is in the producer's "
    "current transaction, which may be a later one. New clusters have 2; an upgraded cluster keeps its level until "
    "it is raised.",
    fix="when all brokers and controllers run 4.0 or newer and will stay there: `kafka-features.sh "
    "--bootstrap-server <broker> upgrade --feature transaction.version=2`. Running producers use it after "
    "their next connection; a restart of the task does that at once",
    source="KIP-890, KIP-1022; TransactionManager.maybeUpdateTransactionV2Enabled (from 4.0 on), "
    "TransactionVersion.supportsEpochBump (from 4.0 on)",
)
LOWERED: Final = FindingKind(
    id="EOS047",
    name="transaction-version-zero",
    title="transaction.version was lowered to 0",
    severity=Severity.ERROR,
    cause="kafka-features.sh lowers transaction.version from 2 to 0 without a warning. A coordinator still holds "
    "the state of IDs whose producers used version 2, and cannot write it in the old form. The producer of such an "
    "ID fails with UnsupportedVersionException. Each later InitProducerId of the ID times out until the broker is "
    "restarted, even if the level is raised again. Tasks stop, and so does the leader: the Connect cluster "
    "accepts no config change. Lowering it from 2 to 1 does no harm. After brokers were restarted the "
    "finding goes with the next transaction of each ID.",
    fix="`kafka-features.sh --bootstrap-server <broker> upgrade --feature transaction.version=2`; then restart the "
    "brokers one by one, each once its partitions are back in sync, and then restart each task that is FAILED: POST "
    "/connectors/<connector>/tasks/<task>/restart",
    source="KIP-890, KIP-1022; TransactionLog.valueToBytes (from 4.0 on); measured with 4.3.1",
)
PRODUCERS_EXPIRE: Final = FindingKind(
    id="EOS048",
    name="producers-expire-early",
    title="partitions forget producers early",
    severity=Severity.WARNING,
    cause="A partition keeps the epoch and last sequence number of a producer for producer.id.expiration.ms after "
    "its last write (1 day by default, from 3.4 on). After that a batch that the producer sends again is written "
    "twice, and a late batch of an older epoch is not recognised.",
    fix="`kafka-configs.sh --bootstrap-server <broker> --alter --entity-type brokers --entity-default --add-config "
    "producer.id.expiration.ms=86400000`",
    source="KIP-854; ProducerStateManager.removeExpiredProducers",
)


# Findings about rounds of zombie fencing: before one, and after one.


ON_WORKERS: Final = "admin.retry.backoff.ms=5 and admin.retry.backoff.max.ms=5 on all workers"

BUDGET: Final = FindingKind(
    id="EOS030",
    name="fencing-too-slow",
    title="fencing takes longer than Connect waits",
    severity=Severity.ERROR,
    cause="Admin.fenceProducers waits its retry back-off between two IDs of one coordinator, and Connect allows 90 "
    "s for a round. About 95 tasks at one broker exceed it with workers from 3.7 on, about 900 before 3.7. "
    "Measured: 100 IDs take 91 to 94 s by default and 0.2 s with a back-off of 1 ms. Fencing from outside does not "
    "replace the round.",
    fix="set admin.override.retry.backoff.ms=5 and admin.override.retry.backoff.max.ms=5 in the connector's config "
    "(PUT /connectors/<connector>/config; connector.client.config.override.policy must allow it, as the default `All` "
    f"does), or {ON_WORKERS} and restart them one by one",
    source="KIP-580, KIP-618; Worker.fenceZombies, AdminApiDriver.poll; measured with 3.9.2 and 4.3.1",
)
LIMIT: Final = FindingKind(
    id="EOS031",
    name="fencing-timeout-refused",
    title="brokers refuse Connect's fencing timeout",
    severity=Severity.ERROR,
    cause="From 3.7.1 on workers send their 90 s as the transaction timeout of each InitProducerId (KAFKA-16047).",
    fix="set transaction.max.timeout.ms=900000 (the default) in every broker's server.properties and restart the "
    "brokers one by one",
    source="KAFKA-16047; FenceProducersHandler.buildSingleRequest; measured with 3.9.2",
)
WORKER_TIMEOUTS: Final = FindingKind(
    id="EOS033",
    name="worker-timeouts",
    title="worker timeouts that endanger fencing",
    severity=Severity.WARNING,
    cause="Before a round of fencing the leader must read the config topic to its end within "
    "worker.sync.timeout.ms (3 s by default). Otherwise the task is FAILED. In a rebalance a worker waits "
    "task.shutdown.graceful.timeout.ms (5 s) for its tasks to end. After rebalance.timeout.ms (60 s) the group "
    "continues without the worker, and assigns its tasks to other workers while the old tasks still run.",
    fix=(
        "remove worker.sync.timeout.ms, task.shutdown.graceful.timeout.ms and rebalance.timeout.ms from the "
        "worker's file, and restart the workers one by one"
    ),
    source="DistributedHerder.fenceZombieSourceTasks, Worker.stopAndAwaitTasks, WorkerCoordinator.metadata",
)
NOT_PROVED: Final = FindingKind(
    id="EOS032",
    name="fencing-not-proved",
    title="fencing is not proved",
    severity=Severity.ERROR,
    cause="After fencing, the coordinator still has an open transaction of the old producer, or its producer ID "
    "and epoch, or did not refuse the old producer.",
    fix="run `eosctl fence --transactional-id <id>` again and keep its owner stopped",
    source="KIP-98, KIP-618",
    commands=("fence",),
)
