"""Kafka's own error classes, and Connect's: what can be said of each without knowing where it came from.

The codes, names and classes are those of Errors in kafka-clients, on which 3.3.2, 4.3.1 and 4.4.0 agree; the classes
without a code are those of the same package and of Connect's. A test holds all of it against Kafka's jars.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from eosctl.model.report import ErrorPattern, Explanation

_CLASSES: Final = {
    "org.apache.kafka.common.errors": """
-1 UNKNOWN_SERVER_ERROR UnknownServerException
1 OFFSET_OUT_OF_RANGE OffsetOutOfRangeException
2 CORRUPT_MESSAGE CorruptRecordException retriable
3 UNKNOWN_TOPIC_OR_PARTITION UnknownTopicOrPartitionException retriable
4 INVALID_FETCH_SIZE InvalidFetchSizeException
5 LEADER_NOT_AVAILABLE LeaderNotAvailableException retriable
6 NOT_LEADER_OR_FOLLOWER NotLeaderOrFollowerException retriable
7 REQUEST_TIMED_OUT TimeoutException retriable
8 BROKER_NOT_AVAILABLE BrokerNotAvailableException
9 REPLICA_NOT_AVAILABLE ReplicaNotAvailableException retriable
10 MESSAGE_TOO_LARGE RecordTooLargeException
11 STALE_CONTROLLER_EPOCH ControllerMovedException
12 OFFSET_METADATA_TOO_LARGE OffsetMetadataTooLarge
13 NETWORK_EXCEPTION NetworkException retriable
14 COORDINATOR_LOAD_IN_PROGRESS CoordinatorLoadInProgressException retriable
15 COORDINATOR_NOT_AVAILABLE CoordinatorNotAvailableException retriable
16 NOT_COORDINATOR NotCoordinatorException retriable
17 INVALID_TOPIC_EXCEPTION InvalidTopicException
18 RECORD_LIST_TOO_LARGE RecordBatchTooLargeException
19 NOT_ENOUGH_REPLICAS NotEnoughReplicasException retriable
20 NOT_ENOUGH_REPLICAS_AFTER_APPEND NotEnoughReplicasAfterAppendException retriable
21 INVALID_REQUIRED_ACKS InvalidRequiredAcksException
22 ILLEGAL_GENERATION IllegalGenerationException
23 INCONSISTENT_GROUP_PROTOCOL InconsistentGroupProtocolException
24 INVALID_GROUP_ID InvalidGroupIdException
25 UNKNOWN_MEMBER_ID UnknownMemberIdException
26 INVALID_SESSION_TIMEOUT InvalidSessionTimeoutException
27 REBALANCE_IN_PROGRESS RebalanceInProgressException
28 INVALID_COMMIT_OFFSET_SIZE InvalidCommitOffsetSizeException
29 TOPIC_AUTHORIZATION_FAILED TopicAuthorizationException
30 GROUP_AUTHORIZATION_FAILED GroupAuthorizationException
31 CLUSTER_AUTHORIZATION_FAILED ClusterAuthorizationException
32 INVALID_TIMESTAMP InvalidTimestampException
33 UNSUPPORTED_SASL_MECHANISM UnsupportedSaslMechanismException
34 ILLEGAL_SASL_STATE IllegalSaslStateException
35 UNSUPPORTED_VERSION UnsupportedVersionException
36 TOPIC_ALREADY_EXISTS TopicExistsException
37 INVALID_PARTITIONS InvalidPartitionsException
38 INVALID_REPLICATION_FACTOR InvalidReplicationFactorException
39 INVALID_REPLICA_ASSIGNMENT InvalidReplicaAssignmentException
40 INVALID_CONFIG InvalidConfigurationException
41 NOT_CONTROLLER NotControllerException retriable
42 INVALID_REQUEST InvalidRequestException
43 UNSUPPORTED_FOR_MESSAGE_FORMAT UnsupportedForMessageFormatException
44 POLICY_VIOLATION PolicyViolationException
45 OUT_OF_ORDER_SEQUENCE_NUMBER OutOfOrderSequenceException
46 DUPLICATE_SEQUENCE_NUMBER DuplicateSequenceException
47 INVALID_PRODUCER_EPOCH InvalidProducerEpochException
48 INVALID_TXN_STATE InvalidTxnStateException
49 INVALID_PRODUCER_ID_MAPPING InvalidPidMappingException
50 INVALID_TRANSACTION_TIMEOUT InvalidTxnTimeoutException
51 CONCURRENT_TRANSACTIONS ConcurrentTransactionsException retriable
52 TRANSACTION_COORDINATOR_FENCED TransactionCoordinatorFencedException
53 TRANSACTIONAL_ID_AUTHORIZATION_FAILED TransactionalIdAuthorizationException
54 SECURITY_DISABLED SecurityDisabledException
55 OPERATION_NOT_ATTEMPTED OperationNotAttemptedException
56 KAFKA_STORAGE_ERROR KafkaStorageException retriable
57 LOG_DIR_NOT_FOUND LogDirNotFoundException
58 SASL_AUTHENTICATION_FAILED SaslAuthenticationException
59 UNKNOWN_PRODUCER_ID UnknownProducerIdException
60 REASSIGNMENT_IN_PROGRESS ReassignmentInProgressException
61 DELEGATION_TOKEN_AUTH_DISABLED DelegationTokenDisabledException
62 DELEGATION_TOKEN_NOT_FOUND DelegationTokenNotFoundException
63 DELEGATION_TOKEN_OWNER_MISMATCH DelegationTokenOwnerMismatchException
64 DELEGATION_TOKEN_REQUEST_NOT_ALLOWED UnsupportedByAuthenticationException
65 DELEGATION_TOKEN_AUTHORIZATION_FAILED DelegationTokenAuthorizationException
66 DELEGATION_TOKEN_EXPIRED DelegationTokenExpiredException
67 INVALID_PRINCIPAL_TYPE InvalidPrincipalTypeException
68 NON_EMPTY_GROUP GroupNotEmptyException
69 GROUP_ID_NOT_FOUND GroupIdNotFoundException
70 FETCH_SESSION_ID_NOT_FOUND FetchSessionIdNotFoundException retriable
71 INVALID_FETCH_SESSION_EPOCH InvalidFetchSessionEpochException retriable
72 LISTENER_NOT_FOUND ListenerNotFoundException retriable
73 TOPIC_DELETION_DISABLED TopicDeletionDisabledException
74 FENCED_LEADER_EPOCH FencedLeaderEpochException retriable
75 UNKNOWN_LEADER_EPOCH UnknownLeaderEpochException retriable
76 UNSUPPORTED_COMPRESSION_TYPE UnsupportedCompressionTypeException
77 STALE_BROKER_EPOCH StaleBrokerEpochException
78 OFFSET_NOT_AVAILABLE OffsetNotAvailableException retriable
79 MEMBER_ID_REQUIRED MemberIdRequiredException
80 PREFERRED_LEADER_NOT_AVAILABLE PreferredLeaderNotAvailableException retriable
81 GROUP_MAX_SIZE_REACHED GroupMaxSizeReachedException
82 FENCED_INSTANCE_ID FencedInstanceIdException
83 ELIGIBLE_LEADERS_NOT_AVAILABLE EligibleLeadersNotAvailableException retriable
84 ELECTION_NOT_NEEDED ElectionNotNeededException retriable
85 NO_REASSIGNMENT_IN_PROGRESS NoReassignmentInProgressException
86 GROUP_SUBSCRIBED_TO_TOPIC GroupSubscribedToTopicException
88 UNSTABLE_OFFSET_COMMIT UnstableOffsetCommitException retriable
89 THROTTLING_QUOTA_EXCEEDED ThrottlingQuotaExceededException retriable
90 PRODUCER_FENCED ProducerFencedException
91 RESOURCE_NOT_FOUND ResourceNotFoundException
92 DUPLICATE_RESOURCE DuplicateResourceException
93 UNACCEPTABLE_CREDENTIAL UnacceptableCredentialException
94 INCONSISTENT_VOTER_SET InconsistentVoterSetException
95 INVALID_UPDATE_VERSION InvalidUpdateVersionException
96 FEATURE_UPDATE_FAILED FeatureUpdateFailedException
97 PRINCIPAL_DESERIALIZATION_FAILURE PrincipalDeserializationException
98 SNAPSHOT_NOT_FOUND SnapshotNotFoundException
99 POSITION_OUT_OF_RANGE PositionOutOfRangeException
100 UNKNOWN_TOPIC_ID UnknownTopicIdException retriable
101 DUPLICATE_BROKER_REGISTRATION DuplicateBrokerRegistrationException
102 BROKER_ID_NOT_REGISTERED BrokerIdNotRegisteredException
103 INCONSISTENT_TOPIC_ID InconsistentTopicIdException retriable
104 INCONSISTENT_CLUSTER_ID InconsistentClusterIdException
105 TRANSACTIONAL_ID_NOT_FOUND TransactionalIdNotFoundException
106 FETCH_SESSION_TOPIC_ID_ERROR FetchSessionTopicIdException retriable
107 INELIGIBLE_REPLICA IneligibleReplicaException
108 NEW_LEADER_ELECTED NewLeaderElectedException
109 OFFSET_MOVED_TO_TIERED_STORAGE OffsetMovedToTieredStorageException
110 FENCED_MEMBER_EPOCH FencedMemberEpochException
111 UNRELEASED_INSTANCE_ID UnreleasedInstanceIdException
112 UNSUPPORTED_ASSIGNOR UnsupportedAssignorException
113 STALE_MEMBER_EPOCH StaleMemberEpochException
114 MISMATCHED_ENDPOINT_TYPE MismatchedEndpointTypeException
115 UNSUPPORTED_ENDPOINT_TYPE UnsupportedEndpointTypeException
116 UNKNOWN_CONTROLLER_ID UnknownControllerIdException
117 UNKNOWN_SUBSCRIPTION_ID UnknownSubscriptionIdException
118 TELEMETRY_TOO_LARGE TelemetryTooLargeException
119 INVALID_REGISTRATION InvalidRegistrationException
120 TRANSACTION_ABORTABLE TransactionAbortableException
121 INVALID_RECORD_STATE InvalidRecordStateException
122 SHARE_SESSION_NOT_FOUND ShareSessionNotFoundException retriable
123 INVALID_SHARE_SESSION_EPOCH InvalidShareSessionEpochException retriable
124 FENCED_STATE_EPOCH FencedStateEpochException
125 INVALID_VOTER_KEY InvalidVoterKeyException
126 DUPLICATE_VOTER DuplicateVoterException
127 VOTER_NOT_FOUND VoterNotFoundException
128 INVALID_REGULAR_EXPRESSION InvalidRegularExpression
129 REBOOTSTRAP_REQUIRED RebootstrapRequiredException
130 STREAMS_INVALID_TOPOLOGY StreamsInvalidTopologyException
131 STREAMS_INVALID_TOPOLOGY_EPOCH StreamsInvalidTopologyEpochException
132 STREAMS_TOPOLOGY_FENCED StreamsTopologyFencedException
133 SHARE_SESSION_LIMIT_REACHED ShareSessionLimitReachedException retriable
134 GROUP_DELETION_FAILED GroupDeletionFailedException
135 STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED StreamsTopologyDescriptionUpdateFailedException
136 CONTROLLER_ID_NOT_REGISTERED ControllerIdNotRegisteredException
ApiException
ApplicationRecoverableException
AuthenticationException
AuthorizationException
AuthorizerNotReadyException retriable
BootstrapResolutionException
DisconnectException retriable
InterruptException
InvalidMetadataException retriable
InvalidOffsetException
InvalidReplicaDirectoriesException retriable
NotLeaderForPartitionException retriable
RecordDeserializationException
RefreshRetriableException retriable
RetriableException retriable
SerializationException
SslAuthenticationException
TransactionAbortedException
WakeupException
""",
    "org.apache.kafka.common": """
87 INVALID_RECORD InvalidRecordException
""",
    "org.apache.kafka.connect.errors": """
AlreadyExistsException
ConnectException
DataException
IllegalWorkerStateException
NotFoundException
RetriableException retriable
SchemaBuilderException
SchemaProjectorException
""",
    "org.apache.kafka.connect.runtime.distributed": """
NotAssignedException
NotLeaderException
RebalanceNeededException
RequestTargetException
""",
    "org.apache.kafka.connect.runtime.rest.errors": """
BadRequestException
ConnectRestException
""",
}
"""By package, a line for each class: code and name in the protocol, if it has them, class, and whether to try again."""
_WRAPPERS: Final = frozenset({"ApiException", "ConnectException", "ConnectRestException", "RetriableException"})
"""Classes that say nothing beside the one that they wrap."""
_NAME: Final = re.compile(r"[\w.$]*\w")


class KafkaError(Struct, frozen=True):
    """One class: its full name, whether clients may try again, its code and name in the protocol, if it has them."""

    class_name: str
    retriable: bool
    code: int | None = None
    name: str | None = None

    @property
    def id(self) -> str:
        """The class without its package."""
        return self.class_name.rpartition(".")[2]

    @property
    def words(self) -> tuple[str, ...]:
        """What a log calls it."""
        return (self.id,) if self.name is None else (self.id, self.name)


def _errors() -> Iterator[KafkaError]:
    for package, text in _CLASSES.items():
        for line in text.split("\n")[1:-1]:
            words = line.removesuffix(" retriable").split()
            code, name = (int(words[0]), words[1]) if len(words) > 1 else (None, None)
            yield KafkaError(f"{package}.{words[-1]}", line.endswith(" retriable"), code, name)


KAFKA_ERRORS: Final = tuple(_errors())


def explain_classes(text: str, recognised: tuple[ErrorPattern, ...]) -> tuple[Explanation, ...]:
    """Each of Kafka's classes, or names of the protocol, in the text that none of the recognised errors speaks of."""
    names = set(_NAME.findall(text))
    named = [each for each in KAFKA_ERRORS if not names.isdisjoint((each.class_name, *each.words))]
    unsaid = [each for each in named if not any(error.speaks_of(word) for error in recognised for word in each.words)]
    telling = [each for each in unsaid if each.id not in _WRAPPERS]
    return tuple(map(_explanation, telling or ([] if recognised else unsaid)))


def _explanation(error: KafkaError) -> Explanation:
    coded = "an error without a code in the protocol" if error.code is None else f"{error.name}, code {error.code}"
    if error.retriable:
        cause = "It is retriable: what caused it may pass, and clients try again until their time is over."
        commands = ("restart the task that FAILED with it; if it comes back, look at what the message names",)
    else:
        cause = "It is not retriable: a client that gets it gives up, and Connect's task with it."
        commands = ("remove what the message names, then restart the task; the first exception of a trace says most",)
    return Explanation(error.id, f"{error.class_name}: {coded}", cause, commands, "Errors of kafka-clients")


# Errors by which workers and connectors refuse to start or to write.
#
# They are data. The more special an entry, the earlier it stands.


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


# Errors of transactional producers, of their coordinators and of zombie fencing.
#
# They are data. The more special an entry, the earlier it stands.


RESTART: Final = "PUT the task back to work: POST {path}/tasks/{task}/restart"
CONFIG: Final = "eosctl inspect-config --connector {connector} --group-id {group}"
DESCRIBE: Final = "eosctl transactions describe {transactional_id} --group-id {group}"
HISTORY: Final = "eosctl transactions log {transactional_id} --history"
FENCING: Final = r"zombie fencing"
NO_SUBSTITUTE: Final = (
    "Fencing the IDs with `eosctl fence` does not replace the round: each start of a task begins it again until the "
    "leader has written its task count record."
)

TRANSACTION_ERRORS: Final = (
    ErrorPattern(
        "fencing-timeout",
        (FENCING, r"(?<!Txn)TimeoutException|timed out"),
        "A round of zombie fencing took longer than Connect allows (90 s)",
        "Kafka's admin client fences the IDs of one coordinator one after the other and waits its retry back-off in "
        "between, up to a second an ID since clients of 3.7 (KIP-580). A connector with some 95 tasks a coordinator "
        "cannot be reconfigured then. Workers before 3.7.1 may fail the same way on a slow log append (KAFKA-16047). "
        f"{NO_SUBSTITUTE}",
        (
            "set admin.override.retry.backoff.ms=5 and admin.override.retry.backoff.max.ms=5 in connector {connector}",
            CONFIG,
            RESTART,
        ),
        "KIP-618, KIP-580, KAFKA-16047; Worker.fenceZombies, AdminApiDriver.poll",
    ),
    ErrorPattern(
        "fencing-timeout-above-broker-limit",
        (r"InvalidTxnTimeout|INVALID_TRANSACTION_TIMEOUT|timeout is larger than the maximum value allowed",),
        "A transaction timeout above the broker's limit",
        "The brokers' transaction.max.timeout.ms is lower than what was asked for. Workers from 3.7.1 on ask for 90000 "
        "ms in every round of zombie fencing, so with a lower limit each round fails; a producer asks for its own "
        f"transaction.timeout.ms. {NO_SUBSTITUTE}",
        (
            "set transaction.max.timeout.ms=900000 (the default) in every broker's server.properties and restart the "
            "brokers one by one: it is not a dynamic setting",
            "or lower producer.override.transaction.timeout.ms, where a task's own producer failed",
            RESTART,
        ),
        "KAFKA-16047; TransactionCoordinator.handleInitProducerId",
    ),
    ErrorPattern(
        "fencing-during-rebalance",
        (r"rebalance is (?:expected|needed)|conflicting operation \(e\.g\. worker rebalance\)",),
        "The leader refused while the workers were about to rebalance",
        "Before 3.6 a round of zombie fencing was refused during a pending rebalance, and the tasks that had asked for "
        "it turned FAILED for good (KAFKA-15059), most of all in MirrorMaker's dedicated mode, which had no REST "
        "interface. Other requests are answered with 409 and can simply be sent again.",
        (RESTART,),
        "KAFKA-15059, KIP-618; DistributedHerder.fenceZombieSourceTasks",
    ),
    ErrorPattern(
        "fencing-not-authorized",
        (FENCING, r"TransactionalIdAuthorization|TRANSACTIONAL_ID_AUTHORIZATION_FAILED|transactional id authorization"),
        "The connector's admin client may not fence",
        "Zombie fencing is done by the connector's admin client (admin.override.*), which needs Write on the "
        "TransactionalIds of all its tasks. It is first needed at the first reconfiguration, not at the first start.",
        (
            "kafka-acls.sh --add --allow-principal User:ADMIN-OF-{connector} --operation Write --transactional-id "
            "{group}-{connector}- --resource-pattern-type prefixed",
            RESTART,
        ),
        "KIP-618; Worker.fenceZombies, KafkaApis.handleInitProducerIdRequest",
    ),
    ErrorPattern(
        "fencing-failed-at-the-leader",
        (r"ConnectRestException: Failed to perform (?:round of )?zombie fencing",),
        "The round of fencing failed at the leader, which answers without the cause",
        "A worker that does not lead asks the leader over REST for the round, and a task's trace has no more than its "
        "answer. The cause is in the trace of a task on the leader's worker, and in the leader's log, where it says "
        "`Uncaught exception in REST call to /connectors/<connector>/fence`.",
        (
            "GET {path}/status and explain the trace of a task on another worker",
            "eosctl doctor --group-id {group}",
            RESTART,
        ),
        "DistributedHerder.fenceZombieSourceTasks, ConnectExceptionMapper.toResponse",
    ),
    ErrorPattern(
        "fencing-before-offsets-failed",
        (r"Failed to perform zombie fencing for source connector prior to modifying offsets",),
        "A round of zombie fencing failed, so the connector's offsets were not changed",
        "With exactly-once the leader fences the connector's producers before it alters or resets its offsets over "
        "REST. The message has no cause: it is in the exceptions below it, in the leader's log.",
        ("explain the whole stack trace: eosctl explain - < FILE", "send the REST request again"),
        "KIP-875; DistributedHerder.modifyConnectorOffsets (from 3.6 on)",
    ),
    ErrorPattern(
        "fencing-failed",
        (
            r"^(?!(?s:.*(ConnectRestException|TimeoutException|timed out|InvalidTxnTimeout|Authorization|rebalance)))"
            r"(?s:.*)Failed to perform (?:round of )?zombie fencing(?! for source)",
        ),
        "A round of zombie fencing failed, so the task does not start",
        "Before the tasks of a source connector start, the leader fences the producers of the generation before. The "
        f"message has no cause: it is in the exceptions below it, or in the leader's log. {NO_SUBSTITUTE}",
        (
            "explain the whole stack trace: eosctl explain - < FILE",
            "eosctl doctor --group-id {group}",
            RESTART,
        ),
        "KIP-618; Worker.fenceZombies, DistributedHerder.fenceZombieSourceTasks",
    ),
    ErrorPattern(
        "transactional-id-not-authorized",
        (r"TransactionalIdAuthorization|TRANSACTIONAL_ID_AUTHORIZATION_FAILED|transactional id authorization",),
        "Write on a TransactionalId is missing",
        "A task's producer needs Write on <group.id>-<connector>-<task>, the leader of workers that are preparing or "
        "enabled on connect-cluster-<group.id>, and every worker may become the leader.",
        ("eosctl acl-plan --group-id {group}", RESTART),
        "KIP-618; KafkaApis.handleInitProducerIdRequest",
    ),
    ErrorPattern(
        "cluster-not-authorized",
        (r"ClusterAuthorization|CLUSTER_AUTHORIZATION_FAILED",),
        "A right on the cluster is missing",
        "A producer without a transactional ID needed IdempotentWrite before Kafka 2.8, and authorizers of other "
        "makers may still want it. Ending a hanging transaction needs Alter, before 3.8 ClusterAction.",
        ("eosctl acl-plan --group-id {group}",),
        "KIP-679, KAFKA-16513; KafkaApis.handleInitProducerIdRequest, KafkaApis.handleWriteTxnMarkersRequest",
    ),
    ErrorPattern(
        "concurrent-transactions",
        (r"ConcurrentTransactions|CONCURRENT_TRANSACTIONS",),
        "The ID's transaction is being ended just now",
        "Whoever interrupts an open transaction gets this until its markers are written; clients ask again. In a round "
        "of zombie fencing workers before 3.7.1 take it for fatal although fencing has begun (KAFKA-16570). Where it "
        "stays, a partition of the transaction has no leader or too few replicas in sync.",
        (DESCRIBE, "eosctl transactions hanging --group-id {group}", RESTART),
        "KAFKA-16570, KAFKA-16352; TransactionCoordinator.handleInitProducerId",
    ),
    ErrorPattern(
        "transaction-expired-or-fenced",
        (r"before its producer transaction expired",),
        "The task's transaction timed out, or the task is a zombie that was fenced",
        "Connect says the same in both cases. Timed out: the records of one transaction took longer than the "
        "producer's transaction.timeout.ms. Fenced: the connector was reconfigured and a newer task took over, which "
        "is meant to happen.",
        (
            CONFIG + " --history",
            HISTORY,
            "if it timed out: raise producer.override.transaction.timeout.ms, or use transaction.boundary=poll",
        ),
        "KIP-618; ExactlyOnceWorkerSourceTask.maybeWrapProducerSendException",
    ),
    ErrorPattern(
        "newer-task-configs",
        (
            r"already generated a new set of task configs|new set of task configs was generated"
            r"|new task configurations were generated",
        ),
        "Newer task configs came while the task started: harmless",
        "A task starts only if the task configs it was made from still are the newest. A newer task of the same number "
        "follows. Where none does, the connector reconfigures itself without end.",
        (CONFIG,),
        "KIP-618; DistributedHerder.verifyTaskGenerationAndOwnership",
    ),
    ErrorPattern(
        "task-revoked",
        (r"already been revoked from this worker",),
        "The task was moved to another worker while it started: harmless",
        "Where it runs now, its status says.",
        ("GET {path}/status",),
        "KIP-618; DistributedHerder.verifyTaskGenerationAndOwnership",
    ),
    ErrorPattern(
        "producer-fenced",
        (r"ProducerFenced|PRODUCER_FENCED|newer producer with the same",),
        "Another producer has taken over the transactional ID",
        "For a task: a newer generation runs, a round of zombie fencing put this one out, or two Connect clusters "
        "share a group ID. For the leader's ID: another worker became the leader. What the old one wrote is aborted.",
        (DESCRIBE, HISTORY, CONFIG),
        "KIP-98, KIP-360; TransactionCoordinator.handleInitProducerId",
    ),
    ErrorPattern(
        "invalid-producer-epoch",
        (r"InvalidProducerEpoch|INVALID_PRODUCER_EPOCH|with an old epoch",),
        "The producer's epoch was raised: by fencing, or by its coordinator after a timeout",
        "A transaction that is open for longer than its transaction timeout is aborted by its coordinator, which "
        "raises the epoch. Zombie fencing does the same.",
        (HISTORY, "if it timed out: raise producer.override.transaction.timeout.ms"),
        "KIP-98, KIP-890; ProducerAppendInfo.checkProducerEpoch",
    ),
    ErrorPattern(
        "id-expired",
        (r"InvalidPidMapping|INVALID_PRODUCER_ID_MAPPING|not currently assigned to its transactional",),
        "The coordinator forgot the transactional ID, or gave it another producer ID",
        "An ID that is idle for transactional.id.expiration.ms (7 days) is forgotten. A connector that had nothing to "
        "write for a week fails with its next record.",
        (RESTART, "eosctl transactions log --group-id {group}"),
        "KIP-98; TransactionStateManager.removeExpiredTransactionalIds",
    ),
    ErrorPattern(
        "unknown-producer-id",
        (r"UnknownProducerId|UNKNOWN_PRODUCER_ID",),
        "The partition has forgotten the producer",
        "A broker before 2.5 has no record of the producer in the partition any more: retention deleted them, or the "
        "producer was idle. Later brokers take such a batch as the producer's first (KIP-360), and do not answer this.",
        (RESTART,),
        "KIP-360; ProducerAppendInfo.checkSequence",
    ),
    ErrorPattern(
        "out-of-order-sequence",
        (r"OutOfOrderSequence|OUT_OF_ORDER_SEQUENCE_NUMBER",),
        "Batches of an idempotent producer are missing before this one",
        "An earlier batch failed, or the leader lost records in an unclean election.",
        (RESTART, "eosctl transactions producers --topic {topic}"),
        "KIP-98; ProducerAppendInfo.checkSequence",
    ),
    ErrorPattern(
        "transaction-abortable",
        (r"TransactionAbortable|TRANSACTION_ABORTABLE",),
        "The broker could not verify the transaction: abort and retry",
        "From 3.6 on brokers ask the coordinator whether a partition belongs to the transaction (KIP-890), so that "
        "none hangs. Brokers before 3.8 answer INVALID_TXN_STATE instead, and so do later ones to clients before 3.8. "
        "Connect's task fails, and its records are read again after a restart.",
        (RESTART,),
        "KIP-890; TransactionCoordinator.handleVerifyPartitionsInTransaction (from 3.6 on)",
    ),
    ErrorPattern(
        "unstable-offset-commit",
        (r"UnstableOffsetCommit|UNSTABLE_OFFSET_COMMIT|unstable offsets that need to be cleared",),
        "The group's offsets are part of a transaction that is not decided",
        "A consumer that reads committed asks for stable offsets (KIP-447) and does not begin until the transaction "
        "that commits them has ended. Mostly that takes moments; where it stays so, the transaction is long or hangs "
        "in __consumer_offsets.",
        (
            "eosctl transactions hanging --topic __consumer_offsets",
            "eosctl transactions lso --topic __consumer_offsets",
        ),
        "KIP-447, KIP-664; ConsumerCoordinator.fetchCommittedOffsets",
    ),
    ErrorPattern(
        "transaction-coordinator-fenced",
        (r"TransactionCoordinatorFenced|TRANSACTION_COORDINATOR_FENCED",),
        "A marker came from a coordinator that has been replaced",
        "The partition has seen a newer coordinator epoch of this producer ID. The new coordinator writes the marker; "
        "an abort by hand is refused until its epoch is the one that the leader has.",
        ("eosctl transactions producers --topic {topic}", "eosctl transactions hanging --topic {topic}"),
        "KIP-98, KIP-664; ProducerAppendInfo.checkCoordinatorEpoch",
    ),
    ErrorPattern(
        "producer-not-in-transaction",
        (r"Cannot add partition .* while in state",),
        "The task's producer sent records outside a transaction",
        "TransactionManager refuses records before the transaction was begun or after it ended: it was ended between "
        "two batches, mostly by an error before this one.",
        ("look for the first exception of the task in the log", RESTART),
        "TransactionManager.maybeAddPartition",
    ),
    ErrorPattern(
        "invalid-transaction-state",
        (r"InvalidTxnState|INVALID_TXN_STATE",),
        "The producer did something that its transaction's state does not allow",
        "Mostly what follows another error: look for the first exception above it. Brokers from 3.6 on also answer it "
        "where a batch comes after its transaction has ended (KIP-890).",
        (DESCRIBE,),
        "KIP-98, KIP-890; TransactionCoordinator.handleEndTransaction",
    ),
    ErrorPattern(
        "zombie",
        (r"^\W*(?:a )?zombies?(?: tasks?| producers?)?\W*$",),
        "A task that still runs although a newer generation of tasks was started",
        "A worker that was cut off or paused does not know that its tasks were given to others. Each start of a "
        "generation fences the producers of the one before: their transactions are aborted, and what they send later "
        "is refused. While the connector is stopped nobody does that.",
        (CONFIG, "eosctl fence --connector {connector} --group-id {group} --dry-run"),
        "KIP-618; DistributedHerder.fenceZombieSourceTasks",
    ),
    ErrorPattern(
        "consumer-stuck",
        (
            r"(?:stuck|stalled|blocked|hanging) consumers?\b"
            r"|consumers?\b.{0,30}\b(?:stuck|stalls?|stalled|blocked|hangs?|hanging)\b",
        ),
        "A read_committed consumer does not get on although records arrive",
        "It reads up to the last stable offset, which is where the first open transaction of the partition begins. "
        "That ends when the transaction is committed or aborted, at the latest by its timeout. One that hangs never "
        "ends by itself.",
        ("eosctl transactions lso --group CONSUMER-GROUP", "eosctl transactions hanging --group-id {group}"),
        "KIP-98, KIP-664; UnifiedLog.lastStableOffset",
    ),
)
