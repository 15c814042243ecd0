"""Kafka's own error classes, and Connect's: the meaning of each regardless of its origin.

The codes, names and classes are those of Errors in kafka-clients, on which 3.3.2, 4.3.1 and 4.4.0 agree; the classes
without a code are those of the same package and of Connect's. A test compares all of it with Kafka's jars.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from eosctl.late_pattern import late_pattern
from eosctl.model.report import ErrorPattern, Explanation

_CLASSES: Final = {
    "org.apache.kafka.common.errors": """
-1 UNKNOWN_SERVER_ERROR UnknownServerException: The server experienced an unexpected
1 OFFSET_OUT_OF_RANGE OffsetOutOfRangeException: The requested offset is not within
2 CORRUPT_MESSAGE CorruptRecordException retriable: This message has failed its CRC checksum
3 UNKNOWN_TOPIC_OR_PARTITION UnknownTopicOrPartitionException retriable: This server does not host this topic-partition
4 INVALID_FETCH_SIZE InvalidFetchSizeException: The requested fetch size
5 LEADER_NOT_AVAILABLE LeaderNotAvailableException retriable: There is no leader for this
6 NOT_LEADER_OR_FOLLOWER NotLeaderOrFollowerException retriable: For requests intended only
7 REQUEST_TIMED_OUT TimeoutException retriable: The request timed out
8 BROKER_NOT_AVAILABLE BrokerNotAvailableException: The broker is not available
9 REPLICA_NOT_AVAILABLE ReplicaNotAvailableException retriable: The replica is not available
10 MESSAGE_TOO_LARGE RecordTooLargeException: The request included a message
11 STALE_CONTROLLER_EPOCH ControllerMovedException: The controller moved to another
12 OFFSET_METADATA_TOO_LARGE OffsetMetadataTooLarge: The metadata field of the offset
13 NETWORK_EXCEPTION NetworkException retriable: The server disconnected before
14 COORDINATOR_LOAD_IN_PROGRESS CoordinatorLoadInProgressException retriable: The coordinator is loading
15 COORDINATOR_NOT_AVAILABLE CoordinatorNotAvailableException retriable: The coordinator is not available
16 NOT_COORDINATOR NotCoordinatorException retriable: This is not the correct coordinator
17 INVALID_TOPIC_EXCEPTION InvalidTopicException: The request attempted to perform
18 RECORD_LIST_TOO_LARGE RecordBatchTooLargeException: The request included message
19 NOT_ENOUGH_REPLICAS NotEnoughReplicasException retriable: Messages are rejected since
20 NOT_ENOUGH_REPLICAS_AFTER_APPEND NotEnoughReplicasAfterAppendException retriable: Messages are written to the log
21 INVALID_REQUIRED_ACKS InvalidRequiredAcksException: Produce request specified an invalid
22 ILLEGAL_GENERATION IllegalGenerationException: Specified group generation id is not valid
23 INCONSISTENT_GROUP_PROTOCOL InconsistentGroupProtocolException: The group member's supported
24 INVALID_GROUP_ID InvalidGroupIdException: The configured groupId is invalid | The group id is invalid
25 UNKNOWN_MEMBER_ID UnknownMemberIdException: The coordinator is not aware
26 INVALID_SESSION_TIMEOUT InvalidSessionTimeoutException: The session timeout is not within
27 REBALANCE_IN_PROGRESS RebalanceInProgressException: The group is rebalancing
28 INVALID_COMMIT_OFFSET_SIZE InvalidCommitOffsetSizeException: The committing offset data
29 TOPIC_AUTHORIZATION_FAILED TopicAuthorizationException: Topic authorization failed
30 GROUP_AUTHORIZATION_FAILED GroupAuthorizationException: Group authorization failed
31 CLUSTER_AUTHORIZATION_FAILED ClusterAuthorizationException: Cluster authorization failed
32 INVALID_TIMESTAMP InvalidTimestampException: The timestamp of the message
33 UNSUPPORTED_SASL_MECHANISM UnsupportedSaslMechanismException: The broker does not support the requested
34 ILLEGAL_SASL_STATE IllegalSaslStateException: Request is not valid given
35 UNSUPPORTED_VERSION UnsupportedVersionException: The version of API is not supported
36 TOPIC_ALREADY_EXISTS TopicExistsException: Topic with this name already
37 INVALID_PARTITIONS InvalidPartitionsException: Number of partitions is below
38 INVALID_REPLICATION_FACTOR InvalidReplicationFactorException: Replication factor is below
39 INVALID_REPLICA_ASSIGNMENT InvalidReplicaAssignmentException: Replica assignment is invalid
40 INVALID_CONFIG InvalidConfigurationException: Configuration is invalid
41 NOT_CONTROLLER NotControllerException retriable: This is not the correct controller
42 INVALID_REQUEST InvalidRequestException: This most likely occurs because
43 UNSUPPORTED_FOR_MESSAGE_FORMAT UnsupportedForMessageFormatException: The message format version
44 POLICY_VIOLATION PolicyViolationException: Request parameters do not satisfy
45 OUT_OF_ORDER_SEQUENCE_NUMBER OutOfOrderSequenceException: The broker received an out of order
46 DUPLICATE_SEQUENCE_NUMBER DuplicateSequenceException: The broker received a duplicate
47 INVALID_PRODUCER_EPOCH InvalidProducerEpochException: Producer attempted to produce
48 INVALID_TXN_STATE InvalidTxnStateException: The producer attempted a transactional
49 INVALID_PRODUCER_ID_MAPPING InvalidPidMappingException: The producer attempted to use a producer
50 INVALID_TRANSACTION_TIMEOUT InvalidTxnTimeoutException: The transaction timeout is larger
51 CONCURRENT_TRANSACTIONS ConcurrentTransactionsException retriable: The producer attempted to update
52 TRANSACTION_COORDINATOR_FENCED TransactionCoordinatorFencedException: Indicates that the transaction
53 TRANSACTIONAL_ID_AUTHORIZATION_FAILED TransactionalIdAuthorizationException: Transactional Id authorization failed
54 SECURITY_DISABLED SecurityDisabledException: Security features are disabled
55 OPERATION_NOT_ATTEMPTED OperationNotAttemptedException: The broker did not attempt
56 KAFKA_STORAGE_ERROR KafkaStorageException retriable: Disk error when trying to access
57 LOG_DIR_NOT_FOUND LogDirNotFoundException: The user-specified log directory
58 SASL_AUTHENTICATION_FAILED SaslAuthenticationException: SASL Authentication failed
59 UNKNOWN_PRODUCER_ID UnknownProducerIdException: This exception is raised
60 REASSIGNMENT_IN_PROGRESS ReassignmentInProgressException: A partition reassignment is in progress
61 DELEGATION_TOKEN_AUTH_DISABLED DelegationTokenDisabledException: Delegation Token feature is not enabled
62 DELEGATION_TOKEN_NOT_FOUND DelegationTokenNotFoundException: Delegation Token is not found
63 DELEGATION_TOKEN_OWNER_MISMATCH DelegationTokenOwnerMismatchException: Specified Principal is not valid
64 DELEGATION_TOKEN_REQUEST_NOT_ALLOWED UnsupportedByAuthenticationException: Delegation Token requests are not allowed
65 DELEGATION_TOKEN_AUTHORIZATION_FAILED DelegationTokenAuthorizationException: Delegation Token authorization failed
66 DELEGATION_TOKEN_EXPIRED DelegationTokenExpiredException: Delegation Token is expired
67 INVALID_PRINCIPAL_TYPE InvalidPrincipalTypeException: Supplied principalType is not supported
68 NON_EMPTY_GROUP GroupNotEmptyException: The group is not empty
69 GROUP_ID_NOT_FOUND GroupIdNotFoundException: The group id does not exist
70 FETCH_SESSION_ID_NOT_FOUND FetchSessionIdNotFoundException retriable: The fetch session ID was not found
71 INVALID_FETCH_SESSION_EPOCH InvalidFetchSessionEpochException retriable: The fetch session epoch is invalid
72 LISTENER_NOT_FOUND ListenerNotFoundException retriable: There is no listener on the leader
73 TOPIC_DELETION_DISABLED TopicDeletionDisabledException: Topic deletion is disabled
74 FENCED_LEADER_EPOCH FencedLeaderEpochException retriable: The leader epoch in the request is older
75 UNKNOWN_LEADER_EPOCH UnknownLeaderEpochException retriable: The leader epoch in the request is newer
76 UNSUPPORTED_COMPRESSION_TYPE UnsupportedCompressionTypeException: The requesting client does
77 STALE_BROKER_EPOCH StaleBrokerEpochException: Broker epoch has changed
78 OFFSET_NOT_AVAILABLE OffsetNotAvailableException retriable: The leader high watermark
79 MEMBER_ID_REQUIRED MemberIdRequiredException: The group member needs to have
80 PREFERRED_LEADER_NOT_AVAILABLE PreferredLeaderNotAvailableException retriable: The preferred leader was not
81 GROUP_MAX_SIZE_REACHED GroupMaxSizeReachedException: The consumer group has reached | The group has reached
82 FENCED_INSTANCE_ID FencedInstanceIdException: The broker rejected this
83 ELIGIBLE_LEADERS_NOT_AVAILABLE EligibleLeadersNotAvailableException retriable: Eligible topic partition leaders
84 ELECTION_NOT_NEEDED ElectionNotNeededException retriable: Leader election not needed
85 NO_REASSIGNMENT_IN_PROGRESS NoReassignmentInProgressException: No partition reassignment is in progress
86 GROUP_SUBSCRIBED_TO_TOPIC GroupSubscribedToTopicException: Deleting offsets of a topic
88 UNSTABLE_OFFSET_COMMIT UnstableOffsetCommitException retriable: There are unstable offsets
89 THROTTLING_QUOTA_EXCEEDED ThrottlingQuotaExceededException retriable: The throttling quota has been
90 PRODUCER_FENCED ProducerFencedException: There is a newer producer
91 RESOURCE_NOT_FOUND ResourceNotFoundException: A request illegally referred to a resource
92 DUPLICATE_RESOURCE DuplicateResourceException: A request illegally referred to the same
93 UNACCEPTABLE_CREDENTIAL UnacceptableCredentialException: Requested credential would not meet
94 INCONSISTENT_VOTER_SET InconsistentVoterSetException: Indicates that the either
95 INVALID_UPDATE_VERSION InvalidUpdateVersionException: The given update version
96 FEATURE_UPDATE_FAILED FeatureUpdateFailedException: Unable to update finalized
97 PRINCIPAL_DESERIALIZATION_FAILURE PrincipalDeserializationException: Request principal deserialization failed
98 SNAPSHOT_NOT_FOUND SnapshotNotFoundException: Requested snapshot was not found
99 POSITION_OUT_OF_RANGE PositionOutOfRangeException: Requested position is not greater
100 UNKNOWN_TOPIC_ID UnknownTopicIdException retriable: This server does not host this topic ID
101 DUPLICATE_BROKER_REGISTRATION DuplicateBrokerRegistrationException: This broker ID is already
102 BROKER_ID_NOT_REGISTERED BrokerIdNotRegisteredException: The given broker ID was not registered
103 INCONSISTENT_TOPIC_ID InconsistentTopicIdException retriable: The log's topic ID did not match
104 INCONSISTENT_CLUSTER_ID InconsistentClusterIdException: The clusterId in the request
105 TRANSACTIONAL_ID_NOT_FOUND TransactionalIdNotFoundException: The transactionalId could not be found
106 FETCH_SESSION_TOPIC_ID_ERROR FetchSessionTopicIdException retriable: The fetch session encountered
107 INELIGIBLE_REPLICA IneligibleReplicaException: The new ISR contains at least
108 NEW_LEADER_ELECTED NewLeaderElectedException: The AlterPartition request successfully
109 OFFSET_MOVED_TO_TIERED_STORAGE OffsetMovedToTieredStorageException: The requested offset is moved
110 FENCED_MEMBER_EPOCH FencedMemberEpochException: The member epoch is fenced
111 UNRELEASED_INSTANCE_ID UnreleasedInstanceIdException: The instance ID is still
112 UNSUPPORTED_ASSIGNOR UnsupportedAssignorException: The assignor or its version
113 STALE_MEMBER_EPOCH StaleMemberEpochException: The member epoch is stale
114 MISMATCHED_ENDPOINT_TYPE MismatchedEndpointTypeException: The request was sent to an endpoint
115 UNSUPPORTED_ENDPOINT_TYPE UnsupportedEndpointTypeException: This endpoint type is not supported
116 UNKNOWN_CONTROLLER_ID UnknownControllerIdException: This controller ID is not known
117 UNKNOWN_SUBSCRIPTION_ID UnknownSubscriptionIdException: Client sent a push telemetry request with
118 TELEMETRY_TOO_LARGE TelemetryTooLargeException: Client sent a push telemetry request larger
119 INVALID_REGISTRATION InvalidRegistrationException: The controller has considered
120 TRANSACTION_ABORTABLE TransactionAbortableException: The server encountered an error
121 INVALID_RECORD_STATE InvalidRecordStateException: The record state is invalid
122 SHARE_SESSION_NOT_FOUND ShareSessionNotFoundException retriable: The share session was not found
123 INVALID_SHARE_SESSION_EPOCH InvalidShareSessionEpochException retriable: The share session epoch is invalid
124 FENCED_STATE_EPOCH FencedStateEpochException: The coordinator rejected the request | The share coordinator rejected
125 INVALID_VOTER_KEY InvalidVoterKeyException: The voter key doesn't match
126 DUPLICATE_VOTER DuplicateVoterException: The voter is already part
127 VOTER_NOT_FOUND VoterNotFoundException: The voter is not part of the set of voters
128 INVALID_REGULAR_EXPRESSION InvalidRegularExpression: The regular expression is not valid
129 REBOOTSTRAP_REQUIRED RebootstrapRequiredException: Client metadata is stale
130 STREAMS_INVALID_TOPOLOGY StreamsInvalidTopologyException: The supplied topology is invalid
131 STREAMS_INVALID_TOPOLOGY_EPOCH StreamsInvalidTopologyEpochException: The supplied topology epoch is invalid
132 STREAMS_TOPOLOGY_FENCED StreamsTopologyFencedException: The supplied topology epoch is outdated
133 SHARE_SESSION_LIMIT_REACHED ShareSessionLimitReachedException retriable: The limit of share sessions
134 GROUP_DELETION_FAILED GroupDeletionFailedException: DeleteGroups could not complete
135 STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED StreamsTopologyDescriptionUpdateFailedException: The broker could not
136 CONTROLLER_ID_NOT_REGISTERED ControllerIdNotRegisteredException: The given controller ID was not registered
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
87 INVALID_RECORD InvalidRecordException: This record has failed the validation
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
"""By package, a line for each class: code and name in the protocol, if it has them; class; whether to retry; and
after a colon the beginnings of its default messages, one for each wording of a release."""
_WRAPPERS: Final = frozenset({"ApiException", "ConnectException", "ConnectRestException", "RetriableException"})
"""Classes that say nothing beside the one that they wrap."""
_NAME: Final = late_pattern(r"[\w.$]*\w")


class KafkaError(Struct, frozen=True):
    """One class: its full name, whether clients may try again, its code and name in the protocol, if it has them.

    messages are the beginnings of its default message, in which no other error's message begins.
    """

    class_name: str
    retriable: bool
    code: int | None = None
    name: str | None = None
    messages: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The class without its package."""
        return self.class_name.rpartition(".")[2]

    @property
    def words(self) -> tuple[str, ...]:
        """Its names in a log."""
        return (self.id,) if self.name is None else (self.id, self.name)


def _errors() -> Iterator[KafkaError]:
    for package, text in _CLASSES.items():
        for line in text.split("\n")[1:-1]:
            error, _, messages = line.partition(": ")
            words = error.removesuffix(" retriable").split()
            code, name = (int(words[0]), words[1]) if len(words) > 1 else (None, None)
            said = tuple(messages.split(" | ")) if messages else ()
            yield KafkaError(f"{package}.{words[-1]}", error.endswith(" retriable"), code, name, said)


KAFKA_ERRORS: Final = tuple(_errors())


def explain_classes(text: str, recognised: tuple[ErrorPattern, ...]) -> tuple[Explanation, ...]:
    """Each of Kafka's errors that the text shows by class, name or message, except those of the recognized patterns."""
    names, lower = set(_NAME.findall(text)), text.casefold()
    shown = [
        each
        for each in KAFKA_ERRORS
        if not names.isdisjoint((each.class_name, *each.words)) or any(m.casefold() in lower for m in each.messages)
    ]
    unsaid = [each for each in shown if not any(error.speaks_of(word) for error in recognised for word in each.words)]
    telling = [each for each in unsaid if each.id not in _WRAPPERS]
    return tuple(map(_explanation, telling or ([] if recognised else unsaid)))


def is_general(explained: Explanation) -> bool:
    """True if only the class of the error is known, which does not show the cause."""
    return any(each.code is None and each.id == explained.id for each in KAFKA_ERRORS)


_CONNECT: Final = "org.apache.kafka.connect."
_REACTIONS: Final = {
    (False, True): "what caused it may pass, and clients try again until their time is over",
    (False, False): "a client that gets it gives up, and Connect's task with it",
    (True, True): "the connector, a converter, a transform or Connect threw it, and Connect tries again",
    (True, False): "the connector, a converter, a transform or Connect threw it, and the task ends with it",
}
"""The reactions of clients that get an error, and of Connect if it or a plugin throws one; the second says whether
to retry."""


def _explanation(error: KafkaError) -> Explanation:
    coded = "" if error.code is None else f": {error.name}, code {error.code}"
    is_retriable = "retriable" if error.retriable else "not retriable"
    cause = f"It is {is_retriable}: {_REACTIONS[error.class_name.startswith(_CONNECT), error.retriable]}."
    if error.retriable:
        commands = ("restart the task that FAILED with it; if it comes back, check the resource in the message",)
    else:
        commands = (
            "remove the cause in the message, then restart the task; read the first exception of a trace first",
        )
    return Explanation(error.id, f"{error.class_name}{coded}", cause, commands, "Errors of kafka-clients")
