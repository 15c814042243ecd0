"""`eosctl transactions` as a user who may not see or do everything."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from eosctl.model.names import TopicPartition
from eosctl.sandbox.properties import SandboxSpec
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import wire_to
from tests.integration.gone_clients import GoneClient
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.producers import complete, create_topic, open_transaction
from tests.waiting import eventually

pytestmark = pytest.mark.kafka

LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
IDS, TOPICS, CLUSTER = ResourceType.TRANSACTIONAL_ID, ResourceType.TOPIC, ResourceType.BROKER
DESCRIBE, READ, ALTER = AclOperation.DESCRIBE, AclOperation.READ, AclOperation.ALTER
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
ALL_IDS = (IDS, "*", LITERAL, DESCRIBE, ALLOW)
ALL_TOPICS = (TOPICS, "*", LITERAL, READ, ALLOW)
SEE_ACLS = (CLUSTER, "kafka-cluster", LITERAL, DESCRIBE, ALLOW)

Grant = tuple[ResourceType, str, ResourcePatternType, AclOperation, AclPermissionType]
Tool = Callable[..., Ran]


@pytest.fixture(scope="module")
def site() -> Iterator[Sandbox]:
    """A hanging transaction in `orders`, a live one and a complete one beside it."""
    with Sandbox(SandboxSpec(broker_config=UNVERIFIED)) as sandbox:
        servers = sandbox.bootstrap_servers
        create_topic(servers, "orders")
        live = open_transaction(servers, "live-0", "orders")
        complete(servers, "done-0", "orders", commit=True)
        with wire_to(servers) as wire:
            hang(wire, TopicPartition("orders", 0), "hung-0")
        yield sandbox
        live.abort_transaction(30)


@pytest.fixture
def tool(site: Sandbox, tmp_path: Path, eosctl: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> Tool:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    identity = tmp_path / "client.properties"
    identity.write_text(site.client_properties("tool"))
    return lambda command, *args: eosctl("transactions", command, "--command-config", identity, *args)


@contextmanager
def granted(site: Sandbox, *grants: Grant) -> Iterator[None]:
    """User:tool has these ACLs inside the block."""
    admin = AdminClient({"bootstrap.servers": site.bootstrap_servers})
    bindings = [
        AclBinding(kind, name, pattern, "User:tool", "*", operation, permission)
        for kind, name, pattern, operation, permission in grants
    ]
    everything = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, "User:tool", None, AclOperation.ANY, AclPermissionType.ANY
    )
    for future in admin.create_acls(bindings).values():
        future.result(30)
    eventually(lambda: len(admin.describe_acls(everything).result(30)) == len(bindings), "the ACLs at the broker")
    try:
        yield
    finally:
        for future in admin.delete_acls([everything]).values():
            future.result(30)
        eventually(lambda: not admin.describe_acls(everything).result(30), "the end of the ACLs")


def hidden(ran: Ran, exit_code: int = 3) -> dict:
    assert ran.exit_code == exit_code, ran.stderr
    return json.loads(ran.stdout)["data"]["hidden"]


def test_list_says_that_it_may_not_see_all(site: Sandbox, tool: Tool):
    with granted(site, (IDS, "done-", PREFIXED, DESCRIBE, ALLOW)):
        ran = tool("list", "-o", "json")
        said = tool("list")
    assert [each["transactional_id"] for each in json.loads(ran.stdout)["data"]["transactions"]] == ["done-0"]
    assert hidden(ran)["may_see_all"] is False
    assert "User:tool lacks Describe on topic __transaction_state" in hidden(ran)["count"]["skipped"]
    assert "lacks Describe on some transactional IDs, and brokers leave them out: how many is unknown" in said.stdout


def test_list_counts_what_it_may_not_see_where_it_may_read_the_transaction_log(site: Sandbox, tool: Tool):
    with granted(
        site, (IDS, "done-", PREFIXED, DESCRIBE, ALLOW), (TOPICS, "__transaction_state", LITERAL, READ, ALLOW)
    ):
        assert hidden(tool("list", "-o", "json"))["count"] == 2
        assert "brokers leave them out: 2 IDs" in tool("list").stdout


def test_list_is_certain_where_all_ids_and_the_acls_may_be_seen(site: Sandbox, tool: Tool):
    with granted(site, ALL_IDS, SEE_ACLS, ALL_TOPICS):
        assert hidden(tool("list", "-o", "json"), 0) == {"may_see_all": True, "count": 0, "uncertain": None}
    with granted(site, ALL_IDS):
        assert "a Deny on some transactional IDs cannot be ruled out" in hidden(tool("list", "-o", "json"))["uncertain"]


def test_hanging_refuses_to_judge_where_ids_are_hidden(site: Sandbox, tool: Tool):
    with granted(site, ALL_TOPICS):
        ran = tool("hanging", "--max-transaction-timeout", "0")
    assert ran.exit_code == 5
    assert "User:tool lacks Describe on transactional ID *" in ran.stderr
    assert "would look as if it hung" in ran.stderr


def test_hanging_sees_a_deny_behind_a_grant_on_all(site: Sandbox, tool: Tool):
    with granted(site, ALL_TOPICS, ALL_IDS, SEE_ACLS, (IDS, "live-", PREFIXED, DESCRIBE, DENY)):
        ran = tool("hanging", "--max-transaction-timeout", "0")
    assert ran.exit_code == 5
    assert "refused: live-…" in ran.stderr


def test_hanging_tells_what_it_could_not_rule_out(site: Sandbox, tool: Tool):
    with granted(site, ALL_TOPICS, ALL_IDS, (IDS, "live-", PREFIXED, DESCRIBE, DENY)):
        ran = tool("hanging", "--max-transaction-timeout", "0", "-o", "json")
    assert ran.exit_code == 1
    data = json.loads(ran.stdout)["data"]
    assert "a Deny on some transactional IDs cannot be ruled out" in data["uncertain"]
    with granted(site, ALL_TOPICS, ALL_IDS, SEE_ACLS):
        certain = json.loads(tool("hanging", "--max-transaction-timeout", "0", "-o", "json").stdout)["data"]
    assert certain["uncertain"] is None
    assert [each["transactional_id"] for each in certain["transactions"]] == ["hung-0"]


def test_producers_names_the_topic_that_may_not_be_read(site: Sandbox, tool: Tool):
    with granted(site, (TOPICS, "orders", LITERAL, DESCRIBE, ALLOW)):
        ran = tool("producers", "orders")
    assert ran.exit_code == 5
    assert "User:tool lacks Read on topic orders" in ran.stderr


def test_describe_shows_what_it_may_and_ends_as_not_authorised(site: Sandbox, tool: Tool):
    with granted(site, (IDS, "done-0", LITERAL, DESCRIBE, ALLOW)):
        ran = tool("describe", "done-0", "live-0", "-o", "json")
    assert ran.exit_code == 5
    rows = {each["transactional_id"]: each for each in json.loads(ran.stdout)["data"]["transactions"]}
    assert rows["done-0"]["state"] == "CompleteCommit"
    assert rows["live-0"]["error"] == "User:tool lacks Describe on transactional ID live-0"


def test_log_names_the_topic_that_may_not_be_read(site: Sandbox, tool: Tool):
    ran = tool("log")
    assert ran.exit_code == 5
    assert "__transaction_state" in ran.stderr


def test_abort_names_the_right_on_the_cluster_and_changes_nothing_without_it(site: Sandbox, tool: Tool):
    where = ("--topic", "orders", "--partition", "0", "--max-transaction-timeout", "0", "--producer-id")
    with granted(site, ALL_TOPICS, ALL_IDS):
        rows = json.loads(tool("hanging", "--max-transaction-timeout", "0", "-o", "json").stdout)["data"][
            "transactions"
        ]
        (hung,) = rows
        ran = tool("abort", *where, hung["producer_id"], "--yes")
        assert ran.exit_code == 5
        assert "User:tool lacks Alter (brokers before 3.8: ClusterAction) on cluster kafka-cluster" in ran.stderr
        still = json.loads(tool("hanging", "--max-transaction-timeout", "0", "-o", "json").stdout)["data"][
            "transactions"
        ]
        assert [each["start_offset"] for each in still] == [hung["start_offset"]]


def test_abort_needs_alter_on_the_cluster_and_no_more_than_hanging_does(site: Sandbox, tool: Tool):
    with wire_to(site.bootstrap_servers) as wire:
        create_topic(site.bootstrap_servers, "payments")
        hung = hang(wire, TopicPartition("payments", 0), "hung-1")
    with granted(site, ALL_TOPICS, ALL_IDS, (CLUSTER, "kafka-cluster", LITERAL, ALTER, ALLOW)):
        ran = tool("abort", "--topic", "payments", "--partition", "0", "--max-transaction-timeout", "0", "--yes")
    assert ran.exit_code == 0, ran.stderr
    assert f"the last stable offset moved from {hung.start_offset} to {hung.start_offset + 2}" in ran.stdout


@pytest.mark.variation
def test_a_commit_is_refused_by_who_may_not_see_all_of_its_topics(
    site: Sandbox, eosctl: Callable[..., Ran], tmp_path: Path
):
    """The coordinator leaves out what may not be described: that is no sign of a client that is at work."""
    plan, identity = tmp_path / "commit.plan", tmp_path / "client.properties"
    identity.write_text(site.client_properties("tool"))
    with wire_to(site.bootstrap_servers) as wire:
        client = GoneClient(wire, "gone-0")
        for topic in ("seen", "unseen"):
            create_topic(site.bootstrap_servers, topic)
            client.write(TopicPartition(topic, 0), b"one")
        named = ("--producer-id", client.producer.producer_id, "--producer-epoch", client.producer.producer_epoch)
        where = ("-b", site.bootstrap_servers, "--watch-client", "0")
        planned = eosctl("transactions", "commit", "gone-0", *named, *where, "--plan-file", plan)
        assert planned.exit_code == 0, planned.stderr
        log = (TOPICS, "__transaction_state", LITERAL, READ, ALLOW)
        ours = (
            (TOPICS, "seen", LITERAL, READ, ALLOW),
            ALL_IDS,
            (IDS, "gone-0", LITERAL, AclOperation.WRITE, ALLOW),
            log,
        )
        with granted(site, *ours):
            refused = eosctl("apply", plan, "--command-config", identity, "--yes")
        assert client.end(commit=False) == 0
    assert refused.exit_code == 8, refused.stderr
    unknown = "whether the client of gone-0 still writes is unknown in unseen-0, which is hidden"
    assert f"{unknown}: Describe on its topic is missing" in refused.stderr
