"""Errors by which workers and connectors refuse to start or to write.

They are data. The more special an entry, the earlier it stands.
"""

from typing import Final

from eosctl.model.explanations import ErrorPattern

HANGING: Final = "eosctl transactions hanging --group-id {group}"

CONNECT_ERRORS: Final = (
    ErrorPattern(
        "leader-without-privilege",
        (r"Failed to perform fencable send|without claiming write privileges first",),
        "The leader's transactional ID expired or was fenced, and the leader did not claim it again",
        "A leader that is preparing or enabled writes in transactions as connect-cluster-<group.id>. A failed change "
        "of a config makes it claim the ID again; after a failed `restart?includeTasks=true` it never does, and "
        "refuses every change until it is restarted.",
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
        "not-read-to-end",
        (
            r"Failed to read to end of|read(ing)? (log )?to (the )?end.*(TimeoutException|timed? ?out)"
            r"|timed? ?out.*read(ing)? (log )?to (the )?end",
        ),
        "A worker cannot read one of its topics to the end",
        "A worker with exactly-once reads committed records only, and to the high watermark: an open transaction in "
        "the config or offsets topic stops it until that ends. One that hangs never ends by itself.",
        ("eosctl transactions lso --topic connect-configs --topic connect-offsets --group-id {group}", HANGING),
        "KIP-618, KIP-664; KafkaBasedLog.readToLogEnd",
    ),
    ErrorPattern(
        "init-transactions-timeout",
        (r"initTransactions|InitProducerId", r"(?<!Txn)TimeoutException|timed? ?out"),
        "The producer found no transaction coordinator in time",
        "__transaction_state cannot be created or has no leader: its replication factor (3) or min ISR (2) is more "
        "than the brokers that live, the classic of one-broker clusters. Or the ID's last transaction is being ended.",
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
        "__transaction_state is being created, or its partition has no leader: too few brokers live for "
        "transaction.state.log.replication.factor.",
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
            "start the brokers that hold the replicas: kafka-topics.sh --describe --under-min-isr-partitions",
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
        ("kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config cleanup.policy=compact",),
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
