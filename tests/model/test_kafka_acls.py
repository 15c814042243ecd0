"""The kafka-acls.sh line that grants what a cluster denied."""

import pytest

from eosctl.errors import NotAuthorized
from eosctl.model.acl_plan import granting_command

HEAD = "kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal=User:tool"


def denied(operation: str, resource: str, principal: str = "User:tool") -> NotAuthorized:
    return NotAuthorized(principal=principal, operation=operation, resource=resource)


@pytest.mark.parametrize(
    ("operation", "resource", "line"),
    [
        ("Read", "Topic orders", f"{HEAD} --operation=Read --topic=orders"),
        ("Describe", "Group connect-cluster", f"{HEAD} --operation=Describe --group=connect-cluster"),
        ("Describe", "Cluster kafka-cluster", f"{HEAD} --operation=Describe --cluster"),
        ("Describe", "TransactionalId *", f"{HEAD} --operation=Describe '--transactional-id=*'"),
        ("Write", "Topic a b;c", f"{HEAD} --operation=Write '--topic=a b;c'"),
    ],
)
def test_a_denied_operation_is_granted_by_this_line(operation, resource, line):
    assert granting_command(denied(operation, resource), "b:9092") == line


def test_a_principal_that_only_brokers_can_name_is_left_to_fill_in():
    line = granting_command(denied("Read", "Topic orders", "the principal of client.p12"), "b:9092")
    assert line == f"{HEAD.replace('User:tool', 'User:NAME')} --operation=Read --topic=orders"


@pytest.mark.parametrize(
    ("operation", "resource"),
    [
        ("authenticate with PLAIN", "broker:9092: Authentication failed"),
        ("GET /connectors", "http://worker:8083 (401)"),
        ("Alter (brokers before 3.8: ClusterAction)", "Cluster kafka-cluster"),
        ("write", "ledger"),
        ("Read", "Topic  leading"),
    ],
)
def test_what_no_acl_line_grants_has_none(operation, resource):
    assert granting_command(denied(operation, resource), "b:9092") is None


@pytest.mark.parametrize(
    ("operation", "resource", "message"),
    [
        ("Describe", "Topic orders", "User:tool lacks Describe on topic orders"),
        ("Write", "TransactionalId a-0", "User:tool lacks Write on transactional ID a-0"),
        ("GET /", "http://w:8083 (401)", "User:tool may not GET / on http://w:8083 (401)"),
    ],
)
def test_a_denial_names_principal_operation_and_resource(operation, resource, message):
    assert denied(operation, resource).message == message
