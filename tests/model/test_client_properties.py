"""Whose words name the brokers, and which cluster must answer at them."""

import pytest
from msgspec.structs import replace

from eosctl.errors import OtherCluster, Refused
from eosctl.model.client_properties import (
    TRUSTED,
    ClientProperties,
    Property,
    SaslCredentials,
    is_broker_address,
    keys_not_followed,
    unknown_keys,
)

NAMED = ClientProperties(("A:1",), sasl=SaslCredentials("PLAIN", "tool", "p"), also_named=frozenset({"b:1"}))
TRUSTING = replace(NAMED, properties={TRUSTED: Property("c:1, d:1", "-X")})


@pytest.mark.parametrize(
    ("given", "servers", "named_by"),
    [
        (NAMED, ["a:1"], None),
        (NAMED, ["a:1", "B:1"], None),
        (NAMED, ["c:1"], "a plan"),
        (NAMED, ["a:1", "c:1"], "a plan"),
        (TRUSTING, ["A:1", "b:1", "C:1", "d:1"], None),
        (TRUSTING, ["e:1"], "a plan"),
        (replace(NAMED, named_by="a config"), ["a:1"], "a plan"),
    ],
)
def test_credentials_go_unasked_only_to_brokers_that_the_user_named_all(given, servers, named_by):
    found = replace(given, cluster_id="k").at(servers, "a plan")
    assert (found.bootstrap_servers, found.named_by, found.cluster_id) == (tuple(servers), named_by, None)
    assert found.needs_confirmation is (named_by is not None)
    assert not replace(found, sasl=None).needs_confirmation
    assert not found.confirmed().needs_confirmation


@pytest.mark.parametrize(("wanted", "refused"), [(None, False), ("k", False), ("l", True)])
def test_another_cluster_at_the_address_is_refused(wanted: str | None, refused: bool):
    given = replace(NAMED, cluster_id=wanted)
    if refused:
        with pytest.raises(OtherCluster, match=r"^a:1 is Kafka cluster k now, .* before are l$"):
            given.require_cluster("k", "a:1")
    else:
        given.require_cluster("k", "a:1")


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("b:1", True),
        ("b:65535", True),
        ("b:65536", False),
        ("b:0", False),
        ("b", False),
        ("SSL://b:1", True),
        ("[::1]:1", True),
        ("::1:1", True),
        ("[b:1", False),
    ],
)
def test_a_broker_is_addressed_by_host_and_port(text: str, is_one: bool):
    assert is_broker_address(text) is is_one


def test_keys_that_no_client_knows_and_those_that_only_java_follows_are_told_apart():
    keys = ["acks", "basic.auth.user.info", "config.providers.env.class", "ssl.provider", "my.key", TRUSTED, "a"]
    assert unknown_keys(keys) == ("a", "my.key")
    assert keys_not_followed(keys) == ("ssl.provider",)


@pytest.mark.parametrize(("named_by", "refused"), [(None, False), ("a plan", True)])
def test_brokers_that_only_a_plan_names_are_shown_no_credentials(named_by: str | None, refused: bool):
    given = replace(NAMED, named_by=named_by)
    if refused:
        with pytest.raises(Refused, match=r"^the brokers A:1 are named by a plan and not by you"):
            given.require_named()
    else:
        given.require_named()
