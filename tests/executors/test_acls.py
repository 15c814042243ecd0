"""A step on ACLs ends when each broker has them: a controller answers before its brokers know."""

from types import SimpleNamespace as Answer
from typing import Any

import pytest

from eosctl.clients.access import ClusterAccess
from eosctl.errors import TimedOut
from eosctl.executors.acls import perform_create_acls, perform_delete_acls
from eosctl.model.acls import AclBinding, Operation, topic
from eosctl.model.plan import CreateAcls, DeleteAcls, Side

BINDING = AclBinding("User:worker", Operation.READ, topic("orders"))
HAS = Answer(
    error_code=0,
    resources=[
        Answer(
            resource_type=2,
            resource_name="orders",
            pattern_type=3,
            acls=[Answer(principal="User:worker", host="*", operation=3, permission_type=3)],
        )
    ],
)
HAS_NOT = Answer(error_code=0, resources=[])
HIDES = Answer(error_code=31, resources=[])


class Brokers:
    """Two brokers that make the change at once, and answer DescribeAcls with these, the last one for ever."""

    principal = "User:admin"

    def __init__(self, *described: Answer) -> None:
        self.described = list(described)
        self.asked: list[int] = []

    def brokers(self) -> list[Answer]:
        return [Answer(node_id=1), Answer(node_id=2)]

    def request_any(self, request: Any, *, timeout_s: float) -> Answer:
        result = Answer(error_code=0, matching_acls=[BINDING])
        return Answer(results=[result], filter_results=[result])

    def request(self, node_id: int, request: Any, *, timeout_s: float) -> Answer:
        assert "Describe" in request.api.__name__
        self.asked.append(node_id)
        return self.described.pop(0) if len(self.described) > 1 else self.described[0]


def access(brokers: Brokers, timeout_s: float = 30.0) -> ClusterAccess:
    return ClusterAccess(brokers, (), "connect-configs", timeout_s)  # type: ignore[arg-type]  # as far as it is used


STEPS = [
    pytest.param(perform_create_acls, CreateAcls(Side.SOURCE, (BINDING,)), HAS_NOT, HAS, "1 ACLs created", id="create"),
    pytest.param(perform_delete_acls, DeleteAcls(Side.SOURCE, (BINDING,)), HAS, HAS_NOT, "1 ACLs removed", id="delete"),
]


@pytest.mark.parametrize(("perform", "step", "before", "after", "detail"), STEPS)
def test_a_broker_that_is_behind_is_waited_for(perform, step, before, after, detail):
    brokers = Brokers(before, before, after, before, after)
    assert perform(step, lambda: None, access=access(brokers)) == detail
    assert brokers.asked == [1, 1, 1, 2, 2]


@pytest.mark.parametrize(("perform", "step", "before", "after", "detail"), STEPS)
def test_one_that_stays_behind_is_named_with_what_it_lacks(perform, step, before, after, detail):
    with pytest.raises(TimedOut, match=r"1 ACLs are .*, and broker 1 still .*, the first: .*orders.*, after 0\.1 s"):
        perform(step, lambda: None, access=access(Brokers(before), 0.1))


@pytest.mark.parametrize(("perform", "step", "before", "after", "detail"), STEPS)
def test_who_may_not_describe_acls_does_not_wait(perform, step, before, after, detail):
    brokers = Brokers(HIDES)
    assert perform(step, lambda: None, access=access(brokers)) == detail
    assert brokers.asked == [1, 2]
