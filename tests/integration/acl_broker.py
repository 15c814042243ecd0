"""A broker whose ACLs are changed between questions, and what it lets each user do."""

from collections.abc import Iterable, Mapping

from eosctl.clients.messages import Request, create_acls, delete_acls, describe_transactions, init_producer_id
from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.model.acls import CLUSTER_NAME, OPERATION_CODES, AclBinding, Operation, ResourceType
from eosctl.model.skipped import Skipped
from eosctl.sources.kafka_acls import read_acls
from tests.faulty_sandbox import Sandbox
from tests.waiting import eventually

AUTHORIZATION_FAILED = {29, 30, 31, 53}
CODES = {code: operation for operation, code in OPERATION_CODES.items()}

Answers = dict[tuple[ResourceType, str, Operation], bool]


def wire_of(sandbox: Sandbox, user: str | None = None) -> Wire:
    """A wire as `user` on the SASL listener, or as the super user."""
    if user is None:
        return Wire(client_properties(bootstrap_server=sandbox.bootstrap_servers))
    return Wire(client_properties(command_config=sandbox.client_properties(user)))


class AclBroker:
    """Sets the cluster's ACLs to exactly the given ones. Leaves none behind when closed."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._root = wire_of(sandbox)

    def __enter__(self) -> "AclBroker":
        return self

    def __exit__(self, *_: object) -> None:
        self.set(())
        self._root.close()

    def set(self, bindings: Iterable[AclBinding]) -> None:
        """The cluster has these bindings and no others when this returns: its brokers decide by them."""
        wanted = frozenset(bindings)
        before = read_acls(self._root)
        assert not isinstance(before, Skipped)
        for request in (create_acls(wanted - before), delete_acls(before - wanted)):
            if next(iter(request.fields.values())):
                response = self._root.request_any(request)
                results = response.results if hasattr(response, "results") else response.filter_results
                assert {each.error_code for each in results} == {0}, response
        eventually(lambda: read_acls(self._root) == wanted, f"the ACLs are {len(wanted)} bindings", every_s=0.005)


class Prober:
    """One user on one broker: queries its permissions, and changes nothing by it.

    Topics must exist. If Describe is denied the broker says no more about that resource, so the answers have only that
    one entry.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def ask(self, names: Mapping[ResourceType, Iterable[str]]) -> Answers:
        """Operation by operation, whether the broker would let the user do it."""
        return {
            **self._topics(list(names[ResourceType.TOPIC])),
            **self._groups(list(names[ResourceType.GROUP])),
            **self._transactional_ids(list(names[ResourceType.TRANSACTIONAL_ID])),
            **self._cluster(),
        }

    def _topics(self, names: list[str]) -> Answers:
        from kafka.protocol.metadata import MetadataRequest

        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        fields = {"topics": topics, "allow_auto_topic_creation": False, "include_topic_authorized_operations": True}
        answers: Answers = {}
        for each in self._wire.request_any(Request(MetadataRequest, fields, 8, 12)).topics:
            answers |= self._described(ResourceType.TOPIC, each.name, each.error_code, each.authorized_operations)
        return answers

    def _groups(self, names: list[str]) -> Answers:
        from kafka.protocol.admin import DescribeGroupsRequest

        fields = {"groups": names, "include_authorized_operations": True}
        answers: Answers = {}
        for each in self._wire.request_any(Request(DescribeGroupsRequest, fields, 3, 5)).groups:
            answers |= self._described(ResourceType.GROUP, each.group_id, each.error_code, each.authorized_operations)
        return answers

    def _cluster(self) -> Answers:
        from kafka.protocol.admin import DescribeClusterRequest

        fields = {"include_cluster_authorized_operations": True}
        allowed = self._wire.request_any(Request(DescribeClusterRequest, fields)).authorized_operations
        code = 0 if allowed else 31
        return self._described(ResourceType.CLUSTER, CLUSTER_NAME, code, allowed)

    def _transactional_ids(self, names: list[str]) -> Answers:
        kind, answers = ResourceType.TRANSACTIONAL_ID, Answers()
        for each in self._wire.request_any(describe_transactions(names)).transaction_states:
            answers[kind, each.transactional_id, Operation.DESCRIBE] = each.error_code not in AUTHORIZATION_FAILED
        for name in names:
            # A timeout of 0 ms is refused, but only after authorization.
            code = self._wire.request_any(init_producer_id(name, 0)).error_code
            assert code, f"InitProducerId of {name} with a timeout of 0 ms was carried out"
            answers[kind, name, Operation.WRITE] = code not in AUTHORIZATION_FAILED
        return answers

    def _described(self, kind: ResourceType, name: str, code: int, allowed: Iterable[int] | None) -> Answers:
        if code in AUTHORIZATION_FAILED:
            return {(kind, name, Operation.DESCRIBE): False}
        assert allowed is not None, f"{kind} {name} is described with error {code} but without operations"
        granted = {CODES[each] for each in allowed}
        return {(kind, name, operation): operation in granted for operation in TOLD[kind]}


TOLD = {
    ResourceType.TOPIC: (
        *(Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE, Operation.ALTER, Operation.DESCRIBE),
        *(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS),
    ),
    ResourceType.GROUP: (Operation.READ, Operation.DELETE, Operation.DESCRIBE),
    ResourceType.CLUSTER: (
        *(Operation.CREATE, Operation.ALTER, Operation.DESCRIBE, Operation.CLUSTER_ACTION),
        *(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS, Operation.IDEMPOTENT_WRITE),
    ),
}
"""The operations that a broker reports for a describable resource (KIP-430; AclEntry.supportedOperations)."""


def warm_up(root: Wire, group: str, transactional_id: str) -> None:
    """Have the coordinators' topics created, so that groups can be described at once."""
    from kafka.protocol.metadata import FindCoordinatorRequest

    for key_type, key in ((0, group), (1, transactional_id)):
        request = Request(FindCoordinatorRequest, {"key_type": key_type, "key": key}, 1, 3)
        eventually(lambda request=request: root.request_any(request).error_code == 0, f"{key} has a coordinator")
