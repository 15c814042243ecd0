"""Rules about ACLs: whose a missing binding is, and the words and the command of a finding."""

import pytest

from eosctl.model.acl_plan import AclDifference, BindingStatus, ComparedBinding, PlannedBinding, Reason
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType, topic
from eosctl.model.client_roles import ClientRole
from eosctl.model.evidence import UNKNOWN_PRINCIPAL, Evidence
from eosctl.model.skipped import Skipped
from eosctl.model.workers import SourceSupport
from tests.analysis.evidence import OWN, answer, but, inspection, transactional_id

UNREAD = Skipped("denied")
OF_BINDINGS = ("EOS130", "EOS131", "EOS132")
ID = transactional_id("g-x-0")
WORKER, ADMIN, PRODUCER, TOOL = (
    Reason(ClientRole.WORKER, None, "it leads", "KIP-618", "it fails"),
    Reason(ClientRole.ADMIN, "x", "it fences", "KIP-618", "it fails"),
    Reason(ClientRole.PRODUCER, "y", "it writes", "KIP-618", "it fails"),
    Reason(ClientRole.EOSCTL, "x", "it looks", "KIP-618", "it fails"),
)


def planned(
    pattern: ResourcePattern, *reasons: Reason, principal: str = "User:c", may: str = "Write"
) -> PlannedBinding:
    return PlannedBinding(AclBinding(principal, Operation(may), pattern), frozenset(), reasons)


def missing(*bindings: PlannedBinding, status: BindingStatus | Skipped = BindingStatus.MISSING) -> Evidence:
    difference = AclDifference(tuple(ComparedBinding(each, status) for each in bindings), (), ())
    return but(acl_differences=dict.fromkeys(SourceSupport, difference))


def subjects(rule: str, evidence: Evidence) -> list[str]:
    return [each.subject for each in answer(rule, evidence).findings]


@pytest.mark.parametrize(
    ("binding", "leader", "tasks", "others"),
    [
        (planned(ID, WORKER), ["g-x-0"], [], []),
        (planned(ID, ADMIN), [], ["x"], []),
        (planned(ID, ADMIN, WORKER), ["g-x-0"], ["x"], []),
        (planned(ID, WORKER, ADMIN, PRODUCER, ADMIN), ["g-x-0"], ["x", "y"], []),
        (planned(topic("t"), WORKER, ADMIN), [], [], ["Topic t"]),
        (planned(topic("t"), TOOL), [], [], []),
        (planned(topic("t"), TOOL, ADMIN), [], [], ["Topic t"]),
        (planned(topic("t"), ADMIN._replace(loss="it asks more often")), [], [], []),
        (planned(topic("t"), ADMIN, PRODUCER._replace(loss="it asks more often")), [], [], ["Topic t"]),
    ],
)
def test_a_missing_binding_is_the_leader_s_the_tasks_or_another_one_by_each_of_its_reasons(
    binding, leader, tasks, others
) -> None:
    present = missing(binding, status=BindingStatus.PRESENT)
    assert [subjects(rule, missing(binding)) for rule in OF_BINDINGS] == [leader, tasks, others]
    assert [subjects(rule, present) for rule in OF_BINDINGS] == [[], [], []]


@pytest.mark.parametrize("binding", [planned(ID, WORKER), planned(ID, ADMIN), planned(topic("t"), PRODUCER)])
def test_a_binding_that_could_not_be_compared_is_not_fine(binding: PlannedBinding) -> None:
    found = [answer(rule, missing(binding, status=UNREAD)).cannot_tell for rule in OF_BINDINGS]
    assert sorted(found) == [(), (), ("denied",)]


@pytest.mark.parametrize(("count", "more"), [(1, ": it fences"), (2, " (and 1 more)"), (3, " (and 2 more)")])
def test_the_ids_of_one_connector_and_principal_are_one_finding(count: int, more: str) -> None:
    ids = [planned(transactional_id(f"g-x-{task}"), ADMIN) for task in range(count)]
    [found] = answer("EOS131", missing(*ids)).findings
    assert found.message.endswith(more)
    assert found.evidence["transactional_ids"] == [f"g-x-{task}" for task in range(count)]
    two = missing(*ids, planned(ID, ADMIN, principal="User:d"))
    assert [each.evidence["principal"] for each in answer("EOS131", two).findings] == ["User:c", "User:d"]


@pytest.mark.parametrize(
    ("pattern", "principal", "resource"),
    [
        (topic("t"), "User:c", "User:c --operation Write --topic t`"),
        (topic("a b"), "User:CN=c d", "'User:CN=c d' --operation Write --topic 'a b'`"),
        (ResourcePattern(ResourceType.GROUP, "g"), "User:c", "--operation Write --group g`"),
        (
            ResourcePattern(ResourceType.TOPIC, "t", PatternType.PREFIXED),
            "User:c",
            "--operation Write --resource-pattern-type prefixed --topic t`",
        ),
        (ResourcePattern(ResourceType.CLUSTER, "kafka-cluster"), "User:c", "--operation Write --cluster`"),
        (
            ResourcePattern(ResourceType.DELEGATION_TOKEN, "t"),
            "User:c",
            "`eosctl acl-plan --emit kafka-acls` prints the command",
        ),
    ],
)
def test_the_command_of_a_missing_binding_names_its_resource(pattern, principal, resource) -> None:
    [found] = answer("EOS132", missing(planned(pattern, ADMIN, principal=principal))).findings
    assert found.cure.endswith(resource)


@pytest.mark.parametrize(
    ("reason", "principal", "said"),
    [
        (WORKER, UNKNOWN_PRINCIPAL, "the worker's principal is not known: give --principal worker=User:NAME"),
        (ADMIN, UNKNOWN_PRINCIPAL, "the connector's principal is not known: give --principal connector=User:NAME"),
        (
            ADMIN,
            "User:ANONYMOUS",
            "User:ANONYMOUS is who connects without a name: give --super-user User:ANONYMOUS if it is one",
        ),
    ],
)
def test_a_binding_of_a_principal_without_a_name_asks_for_it(reason, principal, said) -> None:
    answered = answer("EOS132", missing(planned(topic("t"), reason, principal=principal)))
    assert (answered.findings, answered.cannot_tell, answered.complete) == ((), (said,), True)


OFFSETS, CONFIGS = topic("connect-offsets"), topic("connect-config")
X, Y = PRODUCER._replace(connector="x"), PRODUCER


def in_force(*bindings: PlannedBinding, **changes: object) -> Evidence:
    difference = AclDifference(tuple(ComparedBinding(each, BindingStatus.PRESENT) for each in bindings), (), ())
    return but(acl_in_force=difference, **changes)


@pytest.mark.parametrize(
    ("evidence", "shared"),
    [
        (in_force(planned(OFFSETS, X, principal="User:x"), planned(OFFSETS, Y, principal="User:y")), [OFFSETS.name]),
        (in_force(planned(OFFSETS, X), planned(OFFSETS, Y)), []),
        (in_force(planned(OFFSETS, X, principal="User:x"), planned(OFFSETS, Y, principal=UNKNOWN_PRINCIPAL)), []),
        (in_force(planned(OFFSETS, X, principal="User:x"), planned(OFFSETS, Y, principal="User:y", may="Read")), []),
        (in_force(planned(OFFSETS, X, principal="User:x"), planned(OFFSETS, WORKER, principal="User:y")), []),
        (in_force(planned(topic("out"), X, principal="User:x"), planned(topic("out"), Y, principal="User:y")), []),
        (in_force(planned(CONFIGS, X, principal="User:x"), planned(CONFIGS, Y, principal="User:y")), []),
        (
            in_force(
                planned(topic("own"), X, principal="User:x"),
                planned(topic("own"), Y, principal="User:y"),
                inspection=inspection(**OWN),
            ),
            ["own"],
        ),
    ],
)
def test_an_offsets_topic_that_producers_of_several_principals_may_write_is_found(evidence, shared) -> None:
    assert subjects("EOS145", evidence) == shared
