"""Findings about the workers' internal topics."""

from typing import Final

from eosctl.model.report import FindingKind, OlderFix, Severity
from eosctl.model.versions import STOPPED_STATE

TOO_FEW_REPLICAS: Final = "raise the replication factor of <topic> with kafka-reassign-partitions.sh"

MISSING: Final = FindingKind(
    id="EOS050",
    name="missing-internal-topic",
    title="internal topic is missing",
    severity=Severity.ERROR,
    cause="A worker creates those that are missing when it starts. So while workers run, either they use topics of "
    "other names, or somebody deleted these, and the next start creates them empty.",
    fix="name the workers' topics: --config-topic, --worker-offsets-topic, --status-topic. If one was deleted, save "
    "what the workers still know (GET /connectors?expand=info) before any of them is restarted",
    source="TopicAdmin.createTopics",
)
PARTITIONS: Final = FindingKind(
    id="EOS051",
    name="more-than-one-partition",
    title="config topic with several partitions",
    severity=Severity.ERROR,
    cause="The order of its records is their meaning, and Kafka keeps order within a partition only.",
    fix="create a topic with 1 partition and cleanup.policy=compact, copy the records of all partitions into it in the "
    "order of their timestamps, and set config.storage.topic of all workers to it",
    source="KafkaConfigBackingStore.start",
    commands=("inspect-config",),
)
CLEANUP: Final = FindingKind(
    id="EOS052",
    name="wrong-cleanup-policy",
    title="internal topic is not compacted",
    severity=Severity.ERROR,
    cause="With `delete` in its cleanup policy a topic loses connectors or offsets with time; workers that may read "
    "the policy refuse to start. An empty policy, which brokers accept from 4.2 on, deletes and compacts nothing: "
    "workers start, and read a topic that grows for ever.",
    fix="kafka-configs.sh --alter --entity-type topics --entity-name <topic> --add-config cleanup.policy=compact",
    source="TopicAdmin.verifyTopicCleanupPolicyOnlyCompact, LogConfig.validateValues",
    commands=("inspect-config", "offsets show"),
)
WRITABLE: Final = FindingKind(
    id="EOS053",
    name="internal-topic-unwritable",
    title="internal topic cannot be written",
    severity=Severity.ERROR,
    cause="Workers write with acks=all, which waits for min.insync.replicas.",
    fix="start the brokers that hold its replicas: kafka-topics.sh --describe --topic <topic> names them. Where "
    f"min.insync.replicas is above the replication factor, {TOO_FEW_REPLICAS}",
    source="Partition.appendRecordsToLeader",
)
THIN: Final = FindingKind(
    id="EOS054",
    name="internal-topic-thinly-replicated",
    title="internal topic is thinly replicated",
    severity=Severity.WARNING,
    cause="An offsets topic that is lost starts every source from nothing.",
    fix="raise the replication factor with kafka-reassign-partitions.sh",
    source="TopicAdmin.createTopics",
)
OWN_MISSING: Final = FindingKind(
    id="EOS055",
    name="own-offsets-topic-missing",
    title="connector's own offsets topic is missing",
    severity=Severity.ERROR,
    cause="A worker creates it when the connector or a task starts. Where tasks have run since, somebody deleted it: "
    "the next start creates it empty, and the connector begins from nothing.",
    fix="restore the connector's offsets before it is restarted: create the topic with cleanup.policy=compact, and "
    "`eosctl offsets restore <file> --connector <connector> --stop --resume` with an export from before",
    older=OlderFix(
        STOPPED_STATE,
        "restore the connector's offsets before it is restarted: create the topic with cleanup.policy=compact, delete "
        "the connector (DELETE /connectors/<connector>), `eosctl offsets restore <file> --connector <connector>` with "
        "an export from before, then create it again (PUT /connectors/<connector>/config)",
    ),
    source="Worker.offsetStoreForExactlyOnceSourceTask, TopicAdmin.createTopics",
)
NOT_A_STATUS_TOPIC: Final = FindingKind(
    id="EOS056",
    name="not-a-status-topic",
    title="not a status topic",
    severity=Severity.ERROR,
    cause="None of its first records has a key that Connect knows.",
    fix="name the topic that status.storage.topic of the workers names: --status-topic TOPIC",
    source="KafkaStatusBackingStore.read",
    is_misnaming=True,
)
KINDS: Final = (
    MISSING,
    PARTITIONS,
    CLEANUP,
    WRITABLE,
    THIN,
    OWN_MISSING,
    NOT_A_STATUS_TOPIC,
)
