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
KINDS: Final = (
    MISPLACED,
    EPOCHS_NEAR_END,
    NEWER_RECORD,
)
