"""What the worker's own principal needs.

1. Read on Group <group.id>: every worker joins it.
2. Read and Write on each internal topic. The worker writes offsets itself for connectors without exactly-once, and a
   second copy for those with an offsets topic of their own; with exactly-once and without such topics it writes none.
3. Create on an internal topic that does not exist; DescribeConfigs to have its cleanup.policy checked.
4. From phase preparing on: Write on TransactionalId connect-cluster-<group.id>, for any worker may become leader.
"""

from collections.abc import Iterator

from eosctl.analysis.connector_stores import uses_worker_store
from eosctl.model.acl_plan import Need
from eosctl.model.acls import Operation, topic, transactional_id
from eosctl.model.acls import group as group_pattern
from eosctl.model.names import leader_transactional_id
from eosctl.model.offset_stores import SourceSupport
from eosctl.planning.acl_clients import Client, Planner

CREATE_SOURCE = "TopicAdmin.createOrFindTopics"
CHECK_SOURCE = "TopicAdmin.verifyTopicCleanupPolicyOnlyCompact"


def plan_worker(planner: Planner) -> Iterator[Need]:
    """The needs of one worker."""
    worker, client = planner.worker, planner.own_client()
    yield client.needs(
        Operation.READ,
        group_pattern(worker.group_id),
        "every worker joins the group of its Connect cluster",
        source="WorkerCoordinator (JoinGroup, SyncGroup, Heartbeat)",
        symptom=f"GroupAuthorizationException: Not authorized to access group: {worker.group_id}; the worker stops",
    )
    yield from _config_topic(planner, client)
    yield from _offsets_topic(planner, client)
    yield from _status_topic(planner, client)
    for name in worker.internal_topics:
        yield from creation(planner, client, name, "internal topic")
        yield policy_check(client, name)
    if planner.phase is not SourceSupport.DISABLED:
        yield client.needs(
            Operation.WRITE,
            transactional_id(leader_transactional_id(worker.group_id)),
            "the leader writes the config topic in transactions, and any worker may become leader",
            source="DistributedConfig.transactionalProducerId, KafkaConfigBackingStore.claimWritePrivileges",
            symptom="TransactionalIdAuthorizationException at the leader; creating or changing a connector answers 500",
        )


def _config_topic(planner: Planner, client: Client) -> Iterator[Need]:
    name = planner.worker.config_topic
    yield client.needs(
        Operation.READ,
        topic(name),
        "every worker reads the connectors' configs from the config topic",
        source="KafkaConfigBackingStore, KafkaBasedLog.start",
        symptom=f"TopicAuthorizationException: Not authorized to access topics: [{name}]; the worker stops",
    )
    yield client.needs(
        Operation.WRITE,
        topic(name),
        "the leader writes configs, and any worker writes target states",
        source="KafkaConfigBackingStore.sendPrivileged, putTargetState",
        symptom="creating, changing, pausing or stopping a connector answers 500; session keys cannot be written",
    )


def _offsets_topic(planner: Planner, client: Client) -> Iterator[Need]:
    name = planner.worker.offsets_topic
    yield client.needs(
        Operation.READ,
        topic(name),
        "every worker reads the worker-global offsets topic when it starts",
        source="Worker.start, KafkaOffsetBackingStore.start",
        symptom=f"TopicAuthorizationException: Not authorized to access topics: [{name}]; the worker stops",
    )
    yield client.needs(
        Operation.WRITE,
        topic(name),
        "the worker writes the offsets of source tasks without exactly-once, and a copy of those kept elsewhere",
        source="Worker.offsetStoreForRegularSourceTask, ConnectorOffsetBackingStore.set",
        symptom="offsets are not committed: 'Failed to commit offsets' in the log, records twice after a restart",
        loss=_offsets_copy(planner) if planner.exactly_once else None,
    )


def _offsets_copy(planner: Planner) -> str:
    copied = [each.name for each in planner.sources if uses_worker_store(planner.worker, each, exactly_once=True)]
    if copied:
        return f"the copy of the offsets of {', '.join(copied[:3])} that tasks without exactly-once would start from"
    return "the way back to exactly-once off: with it on, the worker writes no offsets of these connectors"


def _status_topic(planner: Planner, client: Client) -> Iterator[Need]:
    name = planner.worker.status_topic
    yield client.needs(
        Operation.READ,
        topic(name),
        "every worker reads the states of connectors and tasks",
        source="KafkaStatusBackingStore.start",
        symptom=f"TopicAuthorizationException: Not authorized to access topics: [{name}]; the worker stops",
    )
    yield client.needs(
        Operation.WRITE,
        topic(name),
        "workers publish the states of their connectors and tasks",
        source="KafkaStatusBackingStore.put",
        symptom="'Failed to write status update' in the log; GET /connectors/…/status has no tasks, or old states",
    )


def creation(planner: Planner, client: Client, name: str, what: str) -> Iterator[Need]:
    """Create on a topic, where it does not exist or nobody knows."""
    exists = planner.exists(client, name)
    if exists:
        return
    yield client.needs(
        Operation.CREATE,
        topic(name),
        f"the {what} does not exist yet" if exists is False else f"the {what} is created if it does not exist",
        source=CREATE_SOURCE,
        symptom=f"the topic stays missing: UnknownTopicOrPartitionException or a timeout over {name}",
        loss=None if exists is False else "the topic has to be created by somebody else beforehand",
    )


def policy_check(client: Client, name: str) -> Need:
    """DescribeConfigs on a topic that must be compacted."""
    return client.needs(
        Operation.DESCRIBE_CONFIGS,
        topic(name),
        "cleanup.policy is checked before the topic is used",
        source=CHECK_SOURCE,
        symptom="an INFO line in the log says that the cleanup policy could not be verified",
        loss="the check that the topic is compacted; a topic with cleanup.policy=delete loses its records silently",
    )
