"""Findings about the topics that source connectors write to."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

SET: Final = "kafka-configs.sh --alter --entity-type topics --entity-name <topic> --add-config "
CLEAN: Final = f"{SET}unclean.leader.election.enable=false"
TWO_IN_SYNC: Final = f"{SET}min.insync.replicas=2"

THIN: Final = FindingKind(
    id="EOS150",
    name="output-loses-committed",
    title="output topics that may lose what was committed",
    severity=Severity.WARNING,
    cause="A transaction is as durable as the partitions that it wrote to. With one replica, or with a leader that was "
    "elected uncleanly, committed records are lost while the source offsets that say so remain. With "
    "min.insync.replicas below 2 a write may be in one replica alone (an info).",
    fix="raise the replication factor of these topics to 3 with kafka-reassign-partitions.sh, then "
    f"{TWO_IN_SYNC},unclean.leader.election.enable=false",
    source="Partition.appendRecordsToLeader, Partition.maybeIncrementLeaderHW",
)
UNWRITABLE: Final = FindingKind(
    id="EOS151",
    name="output-unwritable",
    title="output topics that cannot be written",
    severity=Severity.ERROR,
    cause="A partition without leader, or with fewer replicas in sync than min.insync.replicas, takes no write with "
    "acks=all. The producer tries again for weeks (Connect sets the largest delivery.timeout.ms), and the task stays "
    "RUNNING. After transaction.timeout.ms its coordinator aborts the transaction, and the task is FAILED when the "
    "partition takes writes again.",
    fix="start the brokers that hold the replicas: kafka-topics.sh --describe --under-min-isr-partitions and "
    "--unavailable-partitions name the partitions. Where min.insync.replicas is above the replication factor, raise "
    "the replication factor with kafka-reassign-partitions.sh",
    source="Partition.appendRecordsToLeader, Worker.baseProducerConfigs",
)
KINDS: Final = (THIN, UNWRITABLE)
