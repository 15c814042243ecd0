"""What a session adds to the error that ends its command."""

from pathlib import Path

import pytest

from eosctl.errors import NotAuthorized, Refused
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from tests.operations.conversation import Conversation


def session() -> Session:
    """A session that knows how it connects."""
    made = Session(SessionOptions(console=Conversation(), bootstrap_servers="b:9092"))
    assert made.client_properties.bootstrap_servers == ("b:9092",)
    return made


def denied(hint: str | None = None) -> NotAuthorized:
    return NotAuthorized(principal="User:tool", operation="Read", resource="Topic orders", hint=hint)


LINE = "kafka-acls.sh --bootstrap-server {} --add --allow-principal=User:tool --operation=Read --topic=orders"


def test_a_missing_acl_ends_with_the_command_that_grants_it():
    with pytest.raises(NotAuthorized) as caught, session():
        raise denied()
    assert caught.value.hint == f"grant it with: {LINE.format('b:9092')}"


def test_what_a_denial_says_already_is_kept():
    with pytest.raises(NotAuthorized) as caught, session():
        raise denied("without it nothing is seen")
    assert caught.value.hint == f"without it nothing is seen\ngrant it with: {LINE.format('b:9092')}"


def test_where_two_clusters_are_asked_the_command_names_neither():
    source, target = session(), TargetOptions(bootstrap_server="other:9092")
    with pytest.raises(NotAuthorized) as caught, source, SourceAndTarget(source, "connect-configs", target):
        raise denied()
    assert caught.value.hint == f"grant it with: {LINE.format('HOST:PORT')}"


def test_other_errors_are_left_as_they_are():
    with pytest.raises(Refused) as caught, session():
        raise Refused("no")
    assert caught.value.hint is None


def test_a_session_that_asked_no_broker_adds_nothing():
    unused = Session(SessionOptions(console=Conversation(), command_config=Path("is-not-there")))
    with pytest.raises(NotAuthorized) as caught, unused:
        raise denied()
    assert caught.value.hint is None
