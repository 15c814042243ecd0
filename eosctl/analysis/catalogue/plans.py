"""Findings of plans that move or restore offsets."""

from typing import Final

from eosctl.model.report import FindingKind, Severity

NO_OFFSETS: Final = FindingKind(
    id="EOS400",
    name="no-offsets",
    title="nothing to move",
    severity=Severity.WARNING,
    cause="The source topic holds no offset of the connector: it will begin from nothing.",
    fix="check that the connector uses this topic; --offsets-topic names another one",
    source="KIP-618",
    commands=("migrate-offsets",),
)
SOURCE_TOPIC_ASSUMED: Final = FindingKind(
    id="EOS401",
    name="source-topic-assumed",
    title="source topic is assumed",
    severity=Severity.WARNING,
    cause="The connector does not exist, and the config topic no longer holds its config. If it had a "
    "connector-specific offsets topic, the worker-global offsets topic holds copies that may be older.",
    fix="give --offsets-topic with the connector-specific topic that it used",
    source="KIP-618",
    commands=("migrate-offsets",),
)
FOREIGN_KEYS: Final = FindingKind(
    id="EOS402",
    name="foreign-keys",
    title="target holds keys that are no source offsets",
    severity=Severity.ERROR,
    cause="Something else than Connect writes there. Workers of 3.5.0, 3.5.1 and 3.6.0 lose other offsets "
    "over keys that are not JSON (KAFKA-15800); other workers log and ignore such keys. The finding "
    "is a warning if all workers that will read the topic are known to be 3.6.1 or newer.",
    fix="move to a topic that holds source offsets only, such as a new one: --to-topic TOPIC",
    source="KAFKA-15800; OffsetUtils.processPartitionKey (from 3.5 on)",
    commands=("migrate-offsets",),
)
TARGET_CONNECTOR_UNKNOWN: Final = FindingKind(
    id="EOS403",
    name="target-connector-unknown",
    title="state of the target connector is unknown",
    severity=Severity.WARNING,
    cause="A connector that runs while its offsets are written ignores them and continues from its earlier offsets.",
    fix=(
        "give --to-connect-url or --to-config-topic, so that eosctl can look; if the connector runs there, stop it "
        "first"
    ),
    source="KIP-875",
    commands=("migrate-offsets",),
)
TARGET_CONNECTOR_EXISTS: Final = FindingKind(
    id="EOS404",
    name="target-connector-exists",
    title="target connector exists",
    severity=Severity.WARNING,
    cause="It keeps its config and resumes from the other connector's offsets.",
    fix=(
        "check that both connectors read the same source. If they do not, take another name, or delete the target "
        "connector first"
    ),
    source="KIP-618",
    commands=("migrate-offsets",),
)
WORKERS_ANSWER_OTHERWISE: Final = FindingKind(
    id="EOS405",
    name="workers-answer-otherwise",
    title="workers report other offsets",
    severity=Severity.ERROR,
    cause="The workers keep the connector's offsets somewhere else than in the topic that the plan reads.",
    fix=(
        "give --worker-offsets-topic with the workers' offset.storage.topic. --offsets-topic reads the offsets "
        "from another topic, regardless of the workers' answer"
    ),
    source="KIP-875",
    commands=("migrate-offsets",),
)
KEY_IN_FOREIGN_PARTITION: Final = FindingKind(
    id="EOS406",
    name="key-in-foreign-partition",
    title="target has the key in another partition",
    severity=Severity.ERROR,
    cause="A Java producer writes the key to the partition that murmur2 selects. The topic would keep both values.",
    fix="move to a new topic: --to-topic TOPIC",
    source="KafkaBasedLog.send, KafkaOffsetBackingStore.set",
    commands=("migrate-offsets",),
)
OFFSETS_CONFLICT: Final = FindingKind(
    id="EOS407",
    name="offsets-conflict",
    title="source and target differ",
    severity=Severity.ERROR,
    cause="Both topics hold an offset of the same source partition, with different values. A warning where --merge "
    "decides.",
    fix="choose the right value with --merge keep-source or keep-target",
    source="KIP-618",
    commands=("migrate-offsets",),
)
OFFSETS_ONLY_IN_TARGET: Final = FindingKind(
    id="EOS408",
    name="offsets-only-in-target",
    title="offsets that only the target has",
    severity=Severity.ERROR,
    cause="The connector will start from them as well. A warning where --merge decides.",
    fix="--merge keep-source or keep-target keeps them; the connector will start from them",
    source="KIP-618",
    commands=("migrate-offsets",),
)
SOURCE_PARTITION_UNCLEAR: Final = FindingKind(
    id="EOS409",
    name="source-partition-unclear",
    title="source partition without a key to write",
    severity=Severity.ERROR,
    cause="Connect compares keys byte for byte, so an offset has to be written under the bytes that the connector "
    "writes.",
    fix="remove it from the file, or let the connector commit it once; --create-keys uses the order of the file "
    "(an export keeps the order of its topic)",
    source="KIP-875",
    commands=("offsets restore", "offsets create-connector"),
)
CONNECTOR_UNKNOWN: Final = FindingKind(
    id="EOS410",
    name="connector-unknown",
    title="connector does not exist",
    severity=Severity.WARNING,
    cause="No connector of this name exists, and no offsets. A new connector of this name will begin from the "
    "restored offsets.",
    fix="check the spelling of the name",
    source="KIP-875",
    commands=("offsets restore",),
)
POSITION_AT_SOURCE: Final = FindingKind(
    id="EOS411",
    name="position-at-source",
    title="position that the source may no longer have",
    severity=Severity.WARNING,
    cause="A connector can begin only where its source still has what follows. PostgreSQL streams no change before "
    "the slot's confirmed_flush_lsn to Debezium, regardless of Debezium's offset. It is an info if the source has "
    "all changes or was not read.",
    fix=(
        "give --source-dsn to check it in PostgreSQL. To get rows that the source no longer streams, run a new snapshot"
    ),
    source="KIP-875; StartLogicalReplication of PostgreSQL",
    commands=("offsets restore", "offsets create-connector"),
)
OFFSET_UNLIKE_BEFORE: Final = FindingKind(
    id="EOS412",
    name="offset-unlike-before",
    title="offset of another shape than the connector's",
    severity=Severity.ERROR,
    cause="The offset differs in members or types from the present offset, or has a number that no source has. A "
    "misspelt or edited file causes this. A task that does not find its member begins from nothing, or fails. A "
    "warning where only members that the kind of source does not need differ, as in Debezium's snapshots, or with "
    "--force.",
    fix="compare the offset with BEFORE in the plan, and correct the file; --force writes the offset unchanged",
    source="KIP-875",
    commands=("offsets restore", "offsets create-connector"),
)
RECORDS_SKIPPED: Final = FindingKind(
    id="EOS413",
    name="records-skipped",
    title="records would never be copied",
    severity=Severity.ERROR,
    cause="The offset is after the connector's present offset: the connector resumes there, and never reads the "
    "records in between. A warning with --force.",
    fix="restore an offset that is not later than the present one; --force skips the records",
    source="KIP-875",
    commands=("offsets restore", "offsets create-connector"),
)

HISTORY_LEFT: Final = FindingKind(
    id="EOS414",
    name="schema-history-left-behind",
    title="schema history stays in the old Kafka cluster",
    severity=Severity.ERROR,
    cause="A Debezium connector of MySQL, MariaDB, SQL Server, Oracle, Db2 or Informix reads its whole schema "
    "history before it resumes from an offset. If the history topic is missing, the task fails (`The db history "
    "topic or its content is fully or partially missing`). If it is a different topic, the task reads rows by a "
    "wrong schema. migrate-offsets moves offsets, and no schema history; so do `offsets restore` and "
    "`create-connector`. A warning where the target has the same records and only the settings have to be changed, "
    "or where it is not known.",
    fix="copy all records of the topic in their order into one partition of a topic of the same name (MirrorMaker "
    "with replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy). Set "
    "schema.history.internal.kafka.bootstrap.servers of the new config to the target's brokers. Then plan again",
    source="Debezium: KafkaSchemaHistory, where it recovers records, and BaseSourceTask, where it validates them",
    commands=("migrate-offsets", "offsets restore", "offsets create-connector"),
)
HISTORY_FILE: Final = "copy the file to the hosts of the new workers before the connector is resumed"
HISTORY_MISSING: Final = (
    "copy the schema history topic with all its records in their order first, or set snapshot.mode=recovery "
    "(before 2.7 schema_only_recovery), which makes it again, if no table changed since the offset"
)


# Findings about ACLs: of doctor, and of the plan of `eosctl acl-plan`.


LEADER: Final = FindingKind(
    id="EOS130",
    name="leader-acl-missing",
    title="leader may not initialize its transactional ID",
    severity=Severity.ERROR,
    cause="From preparing on, the leader writes the config topic in transactions. Any worker may be elected.",
    fix="`kafka-acls.sh --bootstrap-server <broker> --add --allow-principal <principal> --operation Write "
    "--transactional-id connect-cluster-<group.id>`",
    source="KIP-618; KafkaApis.handleInitProducerIdRequest",
)
TASKS: Final = FindingKind(
    id="EOS131",
    name="task-acl-missing",
    title="tasks may not initialize their IDs",
    severity=Severity.ERROR,
    cause="A task's producer initializes its ID when it starts, and the connector's admin client fences "
    "the IDs of the last task count record. The latter shows only at the first reconfiguration: all "
    "tasks turn FAILED.",
    fix="`kafka-acls.sh --bootstrap-server <broker> --add --allow-principal <principal> --operation Write "
    "--resource-pattern-type prefixed --transactional-id <group.id>-<connector>-`",
    source="KIP-618; KafkaApis.handleInitProducerIdRequest",
)
OTHERS: Final = FindingKind(
    id="EOS132",
    name="connect-acls-missing",
    title="ACLs of workers or connectors are missing",
    severity=Severity.ERROR,
    cause="Under exactly-once each task writes and reads the offsets topic with the connector's own clients, which "
    "need ACLs that only the worker needed before.",
    fix="`eosctl acl-plan --phase enabled --emit kafka-acls` prints all that are missing",
    source="KIP-618; StandardAuthorizer.authorize",
)
COLLISION: Final = FindingKind(
    id="EOS133",
    name="transactional-id-collision",
    title="two owners of one transactional ID",
    severity=Severity.ERROR,
    cause="Connect joins group.id, connector and task with dashes and escapes nothing. With exactly-once on one "
    "Kafka cluster, each owner fences the other.",
    fix="rename one of the connectors, or give one Connect cluster another group.id",
    source="KIP-618",
    commands=("acl-plan",),
)
OVERRIDE_REFUSED: Final = FindingKind(
    id="EOS134",
    name="override-refused",
    title="client override is refused",
    severity=Severity.ERROR,
    cause="connector.client.config.override.policy of the worker does not allow it: the connector cannot be "
    "created or changed. Tasks of an existing connector fail at their start there.",
    fix="allow the overrides on every worker, or take them out of the connector's config",
    source="KIP-458; Worker.connectorClientConfigOverrides",
    commands=("acl-plan",),
)
OVERRIDE_POLICY_UNKNOWN: Final = FindingKind(
    id="EOS135",
    name="override-policy-unknown",
    title="override policy is unknown",
    severity=Severity.INFO,
    cause="eosctl does not know whether the policy allows overrides. The plan assumes that it allows them.",
    fix="if the policy refuses them, name the clients' principals: --principal <connector>/producer=User:NAME",
    source="KIP-458",
    commands=("acl-plan",),
)
TOPICS_UNKNOWN: Final = FindingKind(
    id="EOS136",
    name="topics-unknown",
    title="topics are not known",
    severity=Severity.WARNING,
    cause="The connector's config does not name its topics, so the plan has no ACL for them, or too wide an ACL.",
    fix="name them: --topic <connector>=TOPIC, or --topic <connector>='PREFIX*'",
    source="`eosctl acl-plan`",
    commands=("acl-plan",),
)
OWN_KAFKA_CLIENT: Final = FindingKind(
    id="EOS137",
    name="own-kafka-client",
    title="connector has an additional Kafka client",
    severity=Severity.INFO,
    cause="The connector creates this client itself, without Connect, so acl-plan does not plan its ACLs.",
    fix="find the topics of that client in the connector's documentation, and grant them to its principal",
    source="`eosctl acl-plan`",
    commands=("acl-plan",),
)
TASKS_UNKNOWN: Final = FindingKind(
    id="EOS138",
    name="tasks-unknown",
    title="number of tasks is not known",
    severity=Severity.WARNING,
    cause="tasks.max is a reference that only a worker resolves, and literal ACLs name each task's ID.",
    fix="use --pattern prefixed, or --headroom N for N more tasks",
    source="KIP-297",
    commands=("acl-plan",),
)
SETTING_HIDDEN: Final = FindingKind(
    id="EOS139",
    name="authorizer-setting-hidden",
    title="setting of the authorizer is hidden",
    severity=Severity.INFO,
    cause="Brokers do not show its value, or whether it is set. Super users need no ACL. With "
    "allow.everyone.if.no.acl.found=true every principal may use a resource without ACLs.",
    fix="read the setting in a broker's server.properties; name super users with --super-user User:NAME",
    source="KIP-504",
    commands=("acl-plan",),
)
REFERENCE_UNRESOLVED: Final = FindingKind(
    id="EOS140",
    name="reference-unresolved",
    title="reference that only a worker resolves",
    severity=Severity.WARNING,
    cause="The name of a resource contains a config provider's reference, so no ACL on it is planned.",
    fix="give its config with the value in its place: --connector-config FILE",
    source="KIP-297",
    commands=("acl-plan",),
)
DENIED: Final = FindingKind(
    id="EOS141",
    name="acl-denied",
    title="needed, but denied",
    severity=Severity.ERROR,
    cause="A DENY ACL wins over every ALLOW ACL.",
    fix=(
        "remove the DENY ACL with `kafka-acls.sh --bootstrap-server <broker> --remove`; another ALLOW ACL does not help"
    ),
    source="KIP-11",
    commands=("acl-plan",),
)
PARTLY_DENIED: Final = FindingKind(
    id="EOS142",
    name="acl-partly-denied",
    title="needed, and denied in part",
    severity=Severity.WARNING,
    cause="A DENY ACL covers a part of a needed permission: some hosts, some names, or Describe.",
    fix="remove the DENY ACL, or make sure that it applies to no host or name of Connect's clients",
    source="KIP-11",
    commands=("acl-plan",),
)
INTRUDERS: Final = FindingKind(
    id="EOS144",
    name="others-may-write",
    title="others may write what Connect alone should",
    severity=Severity.WARNING,
    cause="Exactly-once depends on the config topic, which only the leader may write, and on the transactional IDs "
    "of the leader and the tasks. Another principal with Write on the topic can change task count records. A "
    "principal with Write on an ID can fence the leader or a task. An administrator's ACL on all names is an info, "
    "unless every principal has it.",
    fix="remove the ACL with `kafka-acls.sh --bootstrap-server <broker> --remove --allow-principal <principal> "
    "--operation Write --topic <topic>`, unless the principal is an administrator",
    source="KIP-618; StandardAuthorizer.authorize, KafkaApis.handleInitProducerIdRequest",
)
TENANTS: Final = FindingKind(
    id="EOS145",
    name="offsets-topic-shared",
    title="connectors of several principals share an offsets topic",
    severity=Severity.INFO,
    cause="With exactly-once, each connector writes its offsets with its own principal. Principals that may write "
    "one offsets topic can overwrite the offsets of each other's connectors, and a record has nothing that shows "
    "who wrote it.",
    fix=(
        "if the connectors belong to different teams, give each connector its own offsets topic: `eosctl "
        "migrate-offsets --connector <connector> --to-topic <topic>`"
    ),
    source="KIP-618; Worker.offsetStoreForExactlyOnceSourceTask",
)
REQUIRED_MISSING: Final = FindingKind(
    id="EOS143",
    name="required-acl-missing",
    title="required ACL is missing",
    severity=Severity.ERROR,
    cause="A worker or a connector fails without it: `eosctl acl-plan --explain` names the feature that needs it, "
    "and how it is used.",
    fix=(
        "`eosctl acl-plan --plan-file FILE` plans the missing ACLs for `eosctl apply FILE`; --emit kafka-acls "
        "prints them for Kafka's own tool"
    ),
    source="`eosctl acl-plan`",
    commands=("acl-plan",),
)
