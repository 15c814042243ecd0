"""A plan of ACLs: for which phases, what another tool leaves out, and which rules say a binding."""

from typing import Any

import pytest

from eosctl.errors import NotAuthorized, Unsupported
from eosctl.model.acl_plan import (
    AclRequest,
    LeftOut,
    PlannedPhase,
    granting_command,
    kafka_user,
    planned_phases,
    principal_of,
    says,
)
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, ResourceType, group, topic
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectCluster, WorkerConfig
from eosctl.model.report import FindingKind, Severity
from eosctl.model.workers import SOURCE_SUPPORT, SourceSupport
from tests.render.test_acl_formats import of_plan, planned

BINDING = AclBinding("User:a", Operation.READ, topic("t"))
DISABLED, PREPARING, ENABLED = SourceSupport


def cluster(*phases: SourceSupport) -> ConnectCluster:
    """Workers of group g, each with its own file."""
    files = ((f"{number}.properties", each.value) for number, each in enumerate(phases))
    return ConnectCluster(
        tuple(
            WorkerConfig({"group.id": Property("g", file), SOURCE_SUPPORT: Property(phase, f"{file} {SOURCE_SUPPORT}")})
            for file, phase in files
        ),
        (),
    )


@pytest.mark.parametrize(
    ("workers", "wanted", "phases"),
    [
        (cluster(DISABLED, ENABLED), None, [(ENABLED, "1.properties"), (DISABLED, "0.properties")]),
        (cluster(PREPARING, PREPARING), None, [(PREPARING, "0.properties")]),
        (cluster(DISABLED, ENABLED), PREPARING, [(PREPARING, "--phase")]),
    ],
)
def test_a_plan_is_for_the_phases_of_the_workers_or_the_wanted_one(workers, wanted, phases):
    assert planned_phases(AclRequest((workers,), wanted)) == tuple(PlannedPhase("g", *each) for each in phases)


NEEDED, OPTIONAL = planned(BINDING), planned(BINDING, loss="a metric is missing")


@pytest.mark.parametrize(
    ("left_out", "words"),
    [
        ((), None),
        ((OPTIONAL,), None),
        ((OPTIONAL, NEEDED), "1 needed binding is omitted from the text"),
        ((NEEDED, NEEDED), "2 needed bindings are omitted from the text"),
    ],
)
def test_a_text_that_lacks_a_needed_binding_is_an_error(left_out, words: str | None):
    hints = {id(NEEDED): "write it by hand", id(OPTIONAL): "leave it"}
    error = of_plan(left_out=tuple(LeftOut(each, "why", hints[id(each)]) for each in left_out)).failure
    if words is None:
        assert error is None
    else:
        assert isinstance(error, Unsupported)
        assert (error.message, error.hint) == (words, "write it by hand")


KIND = FindingKind("EOS999", "a-name", "a title", Severity.ERROR, "a cause", "do this", "a class")


@pytest.mark.parametrize(
    ("severity", "is_for_tools", "fails"),
    [(Severity.ERROR, False, True), (Severity.ERROR, True, False), (Severity.INFO, False, False)],
)
def test_a_plan_for_another_tool_does_not_fail_by_its_findings(severity, is_for_tools: bool, fails: bool):
    finding = KIND.finding("s", "wrong", severity=severity)
    assert of_plan(findings=(finding,), is_for_tools=is_for_tools).found is fails


@pytest.mark.parametrize(
    ("resource", "operation", "has_command"),
    [
        ("Topic t", "Read", True),
        ("Broker 1", "Read", False),
        ("Topic t", "connect", False),
        ("postgresql://h/d", "connect", False),
        ("postgresql://h/d", "Read", False),
        ("Topic t ", "Read", False),
    ],
)
def test_only_a_missing_acl_of_kafka_has_a_command_that_grants_it(resource: str, operation: str, has_command: bool):
    found = granting_command(NotAuthorized(principal="User:a", operation=operation, resource=resource), "b:1")
    assert (found is not None) is has_command


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"operations": ["Read"]}, True),
        ({"operation": "Read"}, True),
        ({"operations": ["Write", "All"]}, True),
        ({"operations": ["Write"]}, False),
        ({}, False),
        ({"operations": ["Read"], "host": "*"}, True),
        ({"operations": ["Read"], "host": "10.0.0.1"}, False),
        ({"operations": ["Read"], "resource": {"type": "topic", "name": "u"}}, False),
        ({"operations": ["Read"], "resource": {"type": "topic", "name": "t", "patternType": "prefix"}}, False),
        ({"operations": ["Read"], "resource": None}, False),
    ],
)
def test_a_rule_of_a_user_says_a_binding_of_its_resource_operation_and_host(rule: dict[str, Any], said: bool):
    assert says({"resource": {"type": "topic", "name": "t"}, **rule}, BINDING) is said


PREFIXED = PatternType.PREFIXED


@pytest.mark.parametrize(
    ("one", "other", "covers", "overlaps"),
    [
        (topic("t"), topic("t"), True, True),
        (topic("t"), group("t"), False, False),
        (topic("*"), group("t"), False, False),
        (topic("t", PREFIXED), group("tu"), False, False),
        (topic("*"), topic("t"), True, True),
        (topic("*"), topic("*"), True, True),
        (topic("*"), topic("*t"), False, False),
        (topic("t"), topic("*"), False, True),
        (topic("t", PREFIXED), topic("tu"), True, True),
        (topic("t", PREFIXED), topic("u"), False, False),
        (topic("t", PREFIXED), topic("*"), False, True),
        (topic("tu", PREFIXED), topic("t", PREFIXED), False, True),
        (topic("*", PREFIXED), topic("t"), False, False),
        (topic("*", PREFIXED), topic("*"), False, False),
        (topic("*", PREFIXED), topic("*t"), True, True),
    ],
)
def test_a_pattern_covers_names_of_its_own_type(one: ResourcePattern, other: ResourcePattern, covers, overlaps):
    assert one.covers(other) is covers
    assert one.overlaps(other) is other.overlaps(one) is overlaps
    assert one.is_wildcard is (one == ResourcePattern(ResourceType.TOPIC, "*"))


@pytest.mark.parametrize(
    ("name", "authentication", "principal"),
    [
        ("a", "tls", "User:CN=a"),
        ("a", "tls-external", "User:CN=a"),
        ("a", "scram-sha-512", "User:a"),
        ("a", None, "User:a"),
    ],
)
def test_a_user_with_a_certificate_has_the_name_in_it(name: str, authentication: str | None, principal: str):
    assert principal_of(name, authentication) == principal
    spec = kafka_user(principal, [BINDING], "c")["spec"]
    assert spec.get("authentication") == ({"type": "tls"} if principal == "User:CN=a" else None)
