"""Errors by which workers and connectors refuse to start or to write.

They are data. The more special an entry, the earlier it stands.
"""

from typing import Final

from eosctl.model.explanations import ErrorPattern

HANGING: Final = "eosctl transactions hanging --group-id {group}"

CONNECT_ERRORS: Final = (
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
        "KIP-618",
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
        "KIP-618, KIP-664",
    ),
    ErrorPattern(
        "init-transactions-timeout",
        (r"initializing transactional state|initTransactions|InitProducerId", r"(?<!Txn)TimeoutException|timed? ?out"),
        "The producer found no transaction coordinator in time",
        "__transaction_state cannot be created or has no leader: its replication factor (3) or min ISR (2) is more "
        "than the brokers that live, the classic of one-broker clusters. Or the ID's last transaction is being ended.",
        (
            "eosctl transactions describe {transactional_id}",
            "transaction.state.log.replication.factor and transaction.state.log.min.isr against the number of brokers",
        ),
        "KIP-98",
    ),
    ErrorPattern(
        "coordinator-not-available",
        (r"CoordinatorNotAvailable|COORDINATOR_NOT_AVAILABLE",),
        "There is no transaction coordinator",
        "__transaction_state is being created, or its partition has no leader: too few brokers live for "
        "transaction.state.log.replication.factor.",
        ("eosctl transactions list",),
        "KIP-98",
    ),
    ErrorPattern(
        "worker-not-enabled",
        (r"does not have exactly-once source support enabled",),
        "The worker's exactly.once.source.support is not `enabled`",
        "A connector with exactly.once.support=required is refused by workers that are disabled or preparing. All "
        "workers must be enabled.",
        ("eosctl upgrade-check --to enabled --group-id {group}",),
        "KIP-618",
    ),
    ErrorPattern(
        "connector-does-not-say",
        (r"API required for preflight validation",),
        "The connector does not say whether it supports exactly-once",
        "exactly.once.support=required asks the connector's exactlyOnceSupport(), which this one does not implement. "
        "It may support it all the same: its documentation tells.",
        ("set exactly.once.support=requested, which asks nothing, once you know that it does",),
        "KIP-618",
    ),
    ErrorPattern(
        "connector-unsupported",
        (r"does not support exactly-once semantics with",),
        "The connector does not support exactly-once with this configuration",
        "FileStreamSource needs `file`, MirrorSourceConnector a source consumer with "
        "source.consumer.isolation.level=read_committed; others say in their documentation.",
        ("change the connector's configuration, or set exactly.once.support=requested and accept duplicates",),
        "KIP-618",
    ),
    ErrorPattern(
        "own-offsets-topic",
        (r"may not produce to their own offsets topic",),
        "The connector writes its records into its own offsets topic",
        "The task would wait for its own transaction for ever, so Connect refuses.",
        ("give the connector another offsets.storage.topic, and move its offsets: eosctl migrate-offsets",),
        "KIP-618",
    ),
    ErrorPattern(
        "internal-rest-missing",
        (r"dedicated\.mode\.enable\.internal\.rest|required for exactly-once source tasks",),
        "A dedicated MirrorMaker 2 of several nodes has no internal REST",
        "A task on another node than the leader asks the leader for fencing over REST.",
        ("set dedicated.mode.enable.internal.rest=true and listeners on every node",),
        "KIP-710",
    ),
    ErrorPattern(
        "request-signature",
        (r"Internal request (contained|missing)|X-Connect-(Authorization|Request-Signature)",),
        "A worker refused another worker's request for fencing",
        "Requests between workers are signed with the session key in the config topic (KIP-507): clocks, a worker that "
        "reads another config topic, or a proxy that changes headers.",
        ("compare group.id and config.storage.topic of the workers; restart the task",),
        "KIP-507",
    ),
    ErrorPattern(
        "config-topic-partitions",
        (r"single partition",),
        "The config topic has more than one partition",
        "The order of its records is what Connect lives by, so it must have exactly one.",
        ("eosctl inspect-config --group-id {group}",),
        "KIP-618",
    ),
    ErrorPattern(
        "topic-not-compacted",
        (r"cleanup\.policy", r"compact"),
        "An internal topic is not compacted",
        "Configs and offsets would be deleted with age.",
        ("kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config cleanup.policy=compact",),
        "KAFKA-9216",
    ),
)
