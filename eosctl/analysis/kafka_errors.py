"""Kafka's own error classes, and Connect's: what can be said of each without knowing where it came from.

The codes, names and classes are those of Errors in kafka-clients, on which 3.3.2, 4.3.1 and 4.4.0 agree; the classes
without a code are those of the same package and of Connect's. A test holds all of it against Kafka's jars.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from eosctl.model.explanations import ErrorPattern, Explanation

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


@dataclass(frozen=True, slots=True)
class KafkaError:
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
