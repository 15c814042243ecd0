"""Findings about the records of the transaction log."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

MISPLACED: Final = FindingKind(
    id="EOS300",
    name="transactional-id-misplaced",
    title="transactional ID in a foreign partition",
    severity=Severity.ERROR,
    cause="Brokers that started after partitions were added look for the ID in the partition that the new number gives "
    "and do not use what lies in another. The ID gets another producer ID, and its old producer is not fenced.",
    fix="if --partitions was given, check it. Otherwise partitions were added to __transaction_state: stop all "
    "transactional producers, restart all brokers, then start the producers, which claim their IDs again (EOS045); "
    "`eosctl fence` does not reach the old ones. The records in the old partitions expire",
    source="KIP-98; TransactionStateManager.partitionFor",
    commands=("transactions log",),
)
EPOCHS_NEAR_END: Final = FindingKind(
    id="EOS301",
    name="producer-epochs-near-end",
    title="producer epochs are near their end",
    severity=Severity.INFO,
    cause="Epochs of a producer ID end at 32766; the coordinator then gives the transactional ID another producer ID.",
    fix="nothing: coordinators do that by themselves. Whoever follows producer IDs (an audit) must know of it",
    source="KIP-360, KIP-890",
    commands=("transactions log",),
)
NEWER_RECORD: Final = FindingKind(
    id="EOS302",
    name="newer-log-record",
    title="record of a newer Kafka",
    severity=Severity.WARNING,
    cause="Its key has a version that this eosctl does not know, so the record was not read.",
    fix="use a newer eosctl",
    source="KIP-915",
    commands=("transactions log",),
)
OLD_PROTOCOL: Final = FindingKind(
    id="EOS303",
    name="old-transaction-protocol",
    title="producers of the old transaction protocol",
    severity=Severity.WARNING,
    cause="Where transaction.version is 2, producers of 4.0 and newer have an epoch of their own for each transaction "
    "(KIP-890, part 2). Those of older workers, and those that connected before it was raised, keep one epoch for all "
    "their transactions: a late batch of one can get into the next. Coordinators log by which protocol a producer "
    "ended its transaction (ClientTransactionVersion, from transaction.version 1 on).",
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
    cause="A coordinator keeps the largest timeout (2147483647 ms) for two-phase commit (KIP-939), and from 4.1 on it "
    "never aborts a transaction of that timeout; older brokers abort it after 24.8 days. While its producer is lost, "
    "readers that read committed are stalled.",
    fix="for a connector: remove producer.override.transaction.two.phase.commit.enable and the largest "
    "producer.override.transaction.timeout.ms, PUT /connectors/<connector>/config, which restarts its tasks. For an "
    "application: nothing where it means two-phase commit; it ends its transactions itself, and `eosctl fence` aborts "
    "them",
    source="KIP-939; TransactionMetadata.isDistributedTwoPhaseCommitTxn (from 4.1 on), "
    "TransactionStateManager.timedOutTransactions",
    commands=("transactions log",),
)
KINDS: Final = (
    MISPLACED,
    EPOCHS_NEAR_END,
    NEWER_RECORD,
    OLD_PROTOCOL,
    WITHOUT_TIMEOUT,
)
