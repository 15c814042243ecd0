"""Findings about brokers and the transaction log."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

TWO_IN_SYNC: Final = (
    "kafka-configs.sh --alter --entity-type topics --entity-name __transaction_state --add-config min.insync.replicas=2"
)

UNUSABLE: Final = FindingKind(
    id="EOS040",
    name="transaction-log-unwritable",
    title="transaction log cannot be written",
    severity=Severity.ERROR,
    cause="The topic is created at the first use of a transactional ID, with the replication factor and min ISR of the "
    "brokers' settings (3 and 2 by default), and written with acks=all.",
    fix="start the missing brokers, or set transaction.state.log.replication.factor and transaction.state.log.min.isr "
    "to what the brokers allow and restart them",
    source="KIP-98; TransactionStateManager.appendTransactionToLog, Partition.appendRecordsToLeader",
)
LEADERLESS: Final = FindingKind(
    id="EOS041",
    name="transaction-log-leaderless",
    title="transaction log without leader",
    severity=Severity.ERROR,
    cause="The leader of an ID's partition is its coordinator. Without one, tasks of these IDs wait for ever "
    "when they start (Connect sets the largest max.block.ms), and a round of fencing fails after 90 s.",
    fix="start the brokers that hold the replicas: kafka-topics.sh --describe --topic __transaction_state names them",
    source="KIP-98; TransactionStateManager.partitionFor, Worker.baseProducerConfigs, Worker.fenceZombies",
)
THIN: Final = FindingKind(
    id="EOS042",
    name="transaction-log-thinly-replicated",
    title="transaction log is thinly replicated",
    severity=Severity.WARNING,
    cause="A transaction log that is lost takes every producer's epoch with it: zombies are no longer fenced.",
    fix=f"raise its replication factor to 3 with kafka-reassign-partitions.sh, then {TWO_IN_SYNC}",
    source="KIP-98; TransactionStateManager.appendTransactionToLog, Partition.maybeIncrementLeaderHW",
)
VERIFY: Final = FindingKind(
    id="EOS043",
    name="partition-verification-off",
    title="partition verification is off",
    severity=Severity.WARNING,
    cause="From 3.6 on brokers ask the coordinator whether a partition belongs to the transaction (KIP-890), so that "
    "no late batch of a zombie opens a hanging one. The setting has no effect on producers of 4.0 and newer where "
    "transaction.version is 2: their partitions are added by the broker itself.",
    fix="kafka-configs.sh --alter --entity-type brokers --entity-default --add-config "
    "transaction.partition.verification.enable=true",
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
    cause="The partition of an ID, and so its coordinator, is its hash modulo the number of partitions. Where "
    "partitions were added, brokers that start later look for IDs in other partitions: epochs are forgotten, zombies "
    "are not fenced, and a broker that still has the old number loads no partition of the log that it is given. Where "
    "only the setting was changed after the topic was created, all is well.",
    fix="set transaction.state.log.num.partitions of every broker to what the topic has. If partitions were added: "
    "stop all transactional producers, restart all brokers, then start the producers, which claim their IDs again; if "
    "only the setting was changed, restart the brokers one by one",
    source="TransactionStateManager.partitionFor, "
    "TransactionStateManager.validateTransactionTopicPartitionCountIsStable",
)
OLD_TRANSACTIONS: Final = FindingKind(
    id="EOS046",
    name="transaction-version-low",
    title="transaction.version below 2",
    severity=Severity.WARNING,
    cause="The feature transaction.version decides what clients and brokers of 4.0 and newer do. At 2 each transaction "
    "has a producer epoch of its own, so that a late batch of one transaction is refused in the next, and brokers add "
    "a partition to the transaction with its first batch, in one request less (KIP-890, part 2). Below 2 an epoch "
    "serves for all transactions of a producer, and brokers only verify that some transaction is open. New clusters "
    "have 2; one that was upgraded keeps what it had until it is raised.",
    fix="once all brokers and controllers run 4.0 or newer for good: kafka-features.sh --bootstrap-server <broker> "
    "upgrade --feature transaction.version=2. Producers that run take it over once they have "
    "connected again; a restart of the task does that at once",
    source="KIP-890, KIP-1022; TransactionManager.maybeUpdateTransactionV2Enabled (from 4.0 on), "
    "TransactionVersion.supportsEpochBump (from 4.0 on)",
)
KINDS: Final = (
    UNUSABLE,
    LEADERLESS,
    THIN,
    VERIFY,
    EXPIRES,
    REPARTITIONED,
    OLD_TRANSACTIONS,
)
