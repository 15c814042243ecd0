"""Findings about the topics that source connectors write to."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

THIN: Final = FindingKind(
    id="EOS150",
    name="output-loses-committed",
    title="output topics that may lose what was committed",
    severity=Severity.WARNING,
    cause="A transaction is as durable as the partitions that it wrote to. With one replica, or with a leader that was "
    "elected uncleanly, committed records are lost while the source offsets that say so remain. With "
    "min.insync.replicas below 2 a write may be in one replica alone (an info).",
    fix="raise the replication factor of these topics with kafka-reassign-partitions.sh, then kafka-configs.sh --alter "
    "--entity-type topics --entity-name <topic> --add-config "
    "min.insync.replicas=2,unclean.leader.election.enable=false",
    source="Partition.appendRecordsToLeader, Partition.maybeIncrementLeaderHW",
)
UNWRITABLE: Final = FindingKind(
    id="EOS151",
    name="output-unwritable",
    title="output topics that cannot be written",
    severity=Severity.ERROR,
    cause="A partition without leader, or with fewer replicas in sync than min.insync.replicas, takes no write with "
    "acks=all: the task waits, its transaction times out, and the task is FAILED.",
    fix="start the brokers that hold the replicas: kafka-topics.sh --describe --under-min-isr-partitions and "
    "--unavailable-partitions name the partitions. Where min.insync.replicas is above the replication factor, raise "
    "the replication factor with kafka-reassign-partitions.sh",
    source="Partition.appendRecordsToLeader",
)
KINDS: Final = (THIN, UNWRITABLE)
