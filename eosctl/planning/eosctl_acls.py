"""What eosctl's own principal needs: to read, and where it shall act, to fence, to move offsets and to change ACLs."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from eosctl.analysis.connector_stores import connector_offsets_topic
from eosctl.analysis.output_topics import output_topics
from eosctl.model.acl_plan import Need
from eosctl.model.acls import CLUSTER, Operation, ResourcePattern, topic, transactional_id
from eosctl.model.acls import group as group_pattern
from eosctl.model.client_configs import ClientConfig
from eosctl.model.client_roles import ClientRole, ConnectorConfig
from eosctl.model.groups import CONSUMER_OFFSETS
from eosctl.model.names import leader_transactional_id
from eosctl.model.versions import KafkaVersion
from eosctl.planning.acl_clients import Client, Planner
from eosctl.planning.source_acls import task_id_patterns

ABORT_WITH_ALTER: Final = KafkaVersion(3, 8)


def plan_eosctl(planner: Planner) -> Iterator[Need]:
    """The needs of eosctl beside one worker; none where its principal was not named."""
    if (ClientRole.EOSCTL, None) not in planner.request.principals:
        return
    client = planner.book.client(ClientConfig(ClientRole.EOSCTL, None, planner.worker.properties))
    for name in planner.worker.internal_topics:
        yield from _reading(client, name)
    yield from _moving(planner, client, planner.worker.offsets_topic)
    yield from _transactional_ids(client, [transactional_id(leader_transactional_id(planner.group_id))])
    for connector in planner.sources:
        yield from _beside(planner, client, connector)
    yield client.needs(
        Operation.DESCRIBE,
        group_pattern(planner.group_id),
        "the members of the Connect cluster are described",
        source="KafkaApis.handleDescribeGroupsRequest",
        symptom="eosctl upgrade-check cannot tell whether all workers were asked",
    )
    yield client.needs(
        Operation.DESCRIBE,
        CLUSTER,
        "the cluster's ACLs are read",
        source="AclApis.handleDescribeAcls",
        symptom="eosctl acl-plan ends with exit code 5",
    )
    yield client.needs(
        Operation.DESCRIBE,
        topic(CONSUMER_OFFSETS),
        "it is checked that every group has a coordinator, for others are in no list of groups",
        source="KafkaApis.handleTopicMetadataRequest",
        symptom="eosctl fence refuses an ID that a group may have which it may not describe",
        loss="knowing that a Connect group does not exist",
    )
    yield from _writing(planner, client)


def _beside(planner: Planner, client: Client, connector: ConnectorConfig) -> Iterator[Need]:
    """What eosctl needs for one source connector, in the cluster that the connector writes to."""
    there = replace(client, cluster=planner.client(connector, ClientRole.PRODUCER).cluster)
    name = connector_offsets_topic(planner.worker, connector, exactly_once=planner.exactly_once)
    if name is not None:
        yield from _reading(there, name)
        yield from _moving(planner, there, name)
    yield from _auditing(there, connector)
    yield from _transactional_ids(there, task_id_patterns(planner, connector))


def _auditing(client: Client, connector: ConnectorConfig) -> Iterator[Need]:
    """What the connector wrote, as far as its config names the topics."""
    for pattern in output_topics(connector):
        yield client.needs(
            Operation.READ,
            pattern,
            "what connectors wrote there is audited, and looked through for hanging transactions",
            source="KafkaApis.handleFetchRequest, handleDescribeProducersRequest",
            symptom="eosctl audit and eosctl transactions hanging end with exit code 5",
            loss="auditing what is in this topic, and finding hanging transactions there",
        )
        yield client.needs(
            Operation.DESCRIBE_CONFIGS,
            pattern,
            "whether what connectors commit there survives the loss of a broker is checked",
            source="KafkaApis.handleDescribeConfigsRequest",
            symptom="eosctl doctor cannot tell of EOS150 and EOS151",
            loss="findings about the topic's settings",
        )


def _writing(planner: Planner, client: Client) -> Iterator[Need]:
    markers = (
        (Operation.CLUSTER_ACTION, "KafkaApis.handleWriteTxnMarkersRequest")
        if planner.request.broker_version < ABORT_WITH_ALTER
        else (Operation.ALTER, "KafkaApis.handleWriteTxnMarkersRequest (KAFKA-16513)")
    )
    for operation, source, what, command in (
        (Operation.ALTER, "AclApis.handleCreateAcls", "ACLs are created and removed", "apply"),
        (*markers, "hanging transactions are aborted", "transactions abort"),
    ):
        yield client.needs(
            operation,
            CLUSTER,
            what,
            source=source,
            symptom=f"eosctl {command} ends with exit code 5",
            loss="applying ACL plans" if command == "apply" else "aborting hanging transactions",
        )


def _reading(client: Client, name: str) -> Iterator[Need]:
    yield client.needs(
        Operation.READ,
        topic(name),
        "the topic is read record by record",
        source="KafkaApis.handleFetchRequest, handleDescribeProducersRequest",
        symptom="eosctl inspect-config and eosctl offsets end with exit code 5",
    )
    yield client.needs(
        Operation.DESCRIBE_CONFIGS,
        topic(name),
        "cleanup.policy of the topic is checked",
        source="KafkaApis.handleDescribeConfigsRequest",
        symptom="findings about the topic's settings are reported as not checked",
        loss="findings about the topic's settings",
    )


def _moving(planner: Planner, client: Client, name: str) -> Iterator[Need]:
    """Write and, where the topic may not exist, Create on an offsets topic: optional, for eosctl may only read."""
    yield client.needs(
        Operation.WRITE,
        topic(name),
        "offsets are moved there, or restored",
        source="KafkaApis.handleProduceRequest",
        symptom="eosctl migrate-offsets and eosctl offsets restore end with exit code 5",
        loss="moving offsets into this topic, and restoring them",
    )
    if not planner.exists(client, name):
        yield client.needs(
            Operation.CREATE,
            topic(name),
            "offsets are moved there, and the topic may not exist",
            source="ControllerApis.handleCreateTopics",
            symptom="eosctl migrate-offsets ends with exit code 5",
            loss="moving offsets into this topic before somebody has created it",
        )


def _transactional_ids(client: Client, patterns: Iterable[ResourcePattern]) -> Iterator[Need]:
    for pattern in patterns:
        yield client.needs(
            Operation.DESCRIBE,
            pattern,
            "its transaction is described",
            source="KafkaApis.handleDescribeTransactionsRequest (KIP-664)",
            symptom="eosctl fence and eosctl transactions end with exit code 5; listings leave the ID out",
        )
        yield client.needs(
            Operation.WRITE,
            pattern,
            "its producer is fenced; offsets are moved in a transaction of task 0's",
            source="KafkaApis.handleInitProducerIdRequest",
            symptom="eosctl fence and eosctl migrate-offsets end with exit code 5",
            loss="fencing, and moving offsets",
        )
