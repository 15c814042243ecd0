"""Transactions, topics and configs as real brokers tell them."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.errors import NotAuthorized, Refused, Unreachable, UsageError
from eosctl.model.names import TRANSACTION_LOG, TopicPartition
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import LoggedHolders, TransactionalIdHolder
from eosctl.model.transactions import TransactionState
from eosctl.sources.kafka_log import read_log
from eosctl.sources.kafka_topics import broker_settings, max_transaction_timeout_ms, topic_facts, topic_settings
from eosctl.sources.kafka_transaction_log import (
    find_holders,
    leader_epochs,
    read_transaction_log,
    transaction_log_offsets,
)
from eosctl.sources.kafka_transactions import describe_transactional_ids
from eosctl.sources.listed_transactions import TransactionListings, list_transactional_ids
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import create_topic
from tests.kafka_versions import spec_of
from tests.sources.mixed_topic import MixedTopic

pytestmark = pytest.mark.kafka


def super_user(sandbox):
    return Wire(client_properties(bootstrap_server=sandbox.bootstrap_servers))


def tool(sandbox):
    return Wire(client_properties(command_config=sandbox.client_properties("tool")))


class Allowed:
    """`User:tool` may do `operation` on a resource, inside the with block."""

    def __init__(self, sandbox, kind, name, operation):
        self._admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
        self._acl = (kind, name, ResourcePatternType.LITERAL, "User:tool", "*", operation, AclPermissionType.ALLOW)

    def __enter__(self):
        for future in self._admin.create_acls([AclBinding(*self._acl)]).values():
            future.result(30)

    def __exit__(self, *_):
        for future in self._admin.delete_acls([AclBindingFilter(*self._acl)]).values():
            future.result(30)


def eventually(read, wanted):
    """The value of `read()` once `wanted(value)`: brokers learn of ACLs a moment after the controller."""
    deadline = time.monotonic() + 20
    while not wanted(value := read()):
        assert time.monotonic() < deadline, value
        time.sleep(0.05)
    return value


@pytest.fixture(scope="module")
def own(kafka_version):
    """A broker whose transactional IDs belong to one test, with its own limit of transaction timeouts."""
    with Sandbox(spec_of(kafka_version, broker_config={"transaction.max.timeout.ms": "123000"})) as started:
        yield started


def test_transactions_are_described_on_every_kafka_version(own):
    create_topic(own.bootstrap_servers, "t", 2)
    topic = MixedTopic(own.bootstrap_servers, "t")
    ongoing = topic.producer(transactional_id="ongoing")
    topic.write(ongoing)
    empty = Producer({"bootstrap.servers": own.bootstrap_servers, "transactional.id": "empty"})
    empty.init_transactions(30)
    done = topic.producer(transactional_id="done")
    topic.write(done)
    done.commit_transaction(30)
    with super_user(own) as wire:
        described = eventually(
            lambda: describe_transactional_ids(wire, ["ongoing", "nobody", "empty", "done"]),
            lambda found: found["done"].state is TransactionState.COMPLETE_COMMIT,
        )
        assert list(described) == ["ongoing", "nobody", "empty", "done"]
        assert described["nobody"] is None
        assert described["ongoing"].state is TransactionState.ONGOING
        assert described["ongoing"].partitions == (TopicPartition("t", 0),)
        assert described["ongoing"].start_ms > 1_600_000_000_000
        assert described["ongoing"].coordinator == 1
        assert (described["empty"].state, described["empty"].start_ms) == (TransactionState.EMPTY, None)
        assert (described["done"].start_ms, described["done"].partitions) == (None, ())
        before = wire.requests.total
        assert describe_transactional_ids(wire, described, dict.fromkeys(described, 1)) == described
        assert wire.requests.total == before + 1, "who listed an ID is asked at once"
        assert describe_transactional_ids(wire, described, dict.fromkeys(described, 9)) == described, "9 has left"
        listed = list_transactional_ids(wire)
        assert [entry.transactional_id for entry in listed.transactions] == ["done", "empty", "ongoing"]
        assert listed.unanswered == {}
        only = list_transactional_ids(wire, states=[TransactionState.ONGOING])
        assert [(entry.transactional_id, entry.producer_id) for entry in only.transactions] == [
            ("ongoing", described["ongoing"].producer.producer_id)
        ]
        by_producer = list_transactional_ids(wire, producer_ids=[described["empty"].producer.producer_id])
        assert [entry.transactional_id for entry in by_producer.transactions] == ["empty"]


def test_the_holders_of_producer_ids_are_found_a_part_of_the_log_at_a_time(own):
    names = [f"held-{number}" for number in range(5)]
    for name in (*names, "other"):
        Producer({"bootstrap.servers": own.bootstrap_servers, "transactional.id": name}).init_transactions(30)
    with super_user(own) as wire:
        ids = {name: each.producer.producer_id for name, each in describe_transactional_ids(wire, names).items()}
        epochs, wanted = leader_epochs(wire), LoggedHolders(frozenset(ids.values()))
        whole = find_holders(wire, epochs, wanted)
        assert whole.holders == {TransactionalIdHolder(held, name) for name, held in ids.items()}
        assert (whole.left, whole.unread) == (0, {})
        parts = [find_holders(wire, epochs, wanted, 1)]
        while parts[-1].left:
            parts.append(find_holders(wire, epochs, parts[-1], 1))
        assert (parts[-1].holders, sum(each.read_bytes for each in parts)) == (whole.holders, whole.read_bytes)
        assert all(now.left < before.left for before, now in pairwise(parts)), "each begins at the end of the last one"
        assert find_holders(wire, epochs, whole).read_bytes == 0
        assert whole.continued({ids["held-0"]}) is whole
        elected = {partition: epoch + 1 for partition, epoch in epochs.items()}
        assert find_holders(wire, elected, whole).read_bytes == whole.read_bytes, "it may have been truncated"
        with pytest.raises(
            Refused, match=r"1 byte of __transaction_state may be read, and __transaction_state-[0-9]+ has more"
        ):
            list(read_transaction_log(wire, transaction_log_offsets(wire, epochs).offsets, most_bytes=1))


def test_a_broker_that_starts_lists_all_ids_or_says_why_some_are_missing(own):
    """Until it loads its partitions of the transaction log it lists no ID, and says so by no error."""
    for number in range(5):
        settings = {"bootstrap.servers": own.bootstrap_servers, "transactional.id": f"loaded-{number}"}
        Producer(settings).init_transactions(30)
    with super_user(own) as wire:
        whole = list_transactional_ids(wire)
        assert (len(whole.transactions) >= 5, whole.unlisted) == (True, ())
    own.stop_broker(1)
    answers = []
    with ThreadPoolExecutor() as threads:
        started = threads.submit(own.start_broker, 1)
        deadline = time.monotonic() + 60
        while not (answers and started.done()):
            assert time.monotonic() < deadline
            with suppress(Unreachable), super_user(own) as wire:
                answers.append(list_transactional_ids(wire))
            time.sleep(0.003)
        started.result()
    assert {each.transactions for each in answers if not each.unlisted} == {whole.transactions}
    short = [each.unlisted for each in answers if each.transactions != whole.transactions]
    assert all("its transactional IDs" in " ".join(why) or "their transactional IDs" in " ".join(why) for why in short)


def test_a_list_is_taken_as_it_is_where_no_id_may_be_described(own):
    with (
        Allowed(own, ResourceType.TOPIC, TRANSACTION_LOG, AclOperation.DESCRIBE),
        tool(own) as wire,
    ):
        eventually(lambda: list_transactional_ids(wire).leaderless, lambda lost: lost == ())
        began = time.monotonic()
        assert list_transactional_ids(wire) == TransactionListings((), {})
        assert time.monotonic() - began < wire.timeout_s


def test_a_state_that_no_broker_knows_is_refused(sandbox):
    with super_user(sandbox) as wire, pytest.raises(UsageError, match="does not know the state Unknown"):
        list_transactional_ids(wire, states=[TransactionState.UNKNOWN])


def test_thousands_of_ids_over_three_brokers_are_all_answered(cluster3):
    with super_user(cluster3) as wire:
        described = describe_transactional_ids(wire, [f"none-{number}" for number in range(3000)])
    assert len(described) == 3000
    assert set(described.values()) == {None}


def test_an_id_without_an_acl_is_distinct_from_one_of_an_unknown_name(sandbox, fresh_name):
    allowed, denied = fresh_name("allowed"), fresh_name("denied")
    with Allowed(sandbox, ResourceType.TRANSACTIONAL_ID, allowed, AclOperation.DESCRIBE), tool(sandbox) as wire:
        described = eventually(
            lambda: describe_transactional_ids(wire, [allowed, denied]), lambda found: found[allowed] is None
        )
    error = described[denied]
    assert isinstance(error, NotAuthorized)
    assert str(error) == f"User:tool lacks Describe on transactional ID {denied}"


def test_reading_with_describe_only_names_the_missing_read(sandbox, fresh_name):
    name = fresh_name("described")
    create_topic(sandbox.bootstrap_servers, name)
    topic = MixedTopic(sandbox.bootstrap_servers, name)
    topic.write(topic.producer())
    message = f"User:tool lacks Read on topic {name}"

    def refusal(wire):
        with pytest.raises(NotAuthorized) as caught:
            list(read_log(wire, TopicPartition(name, 0)))
        return str(caught.value)

    with Allowed(sandbox, ResourceType.TOPIC, name, AclOperation.DESCRIBE), tool(sandbox) as wire:
        assert eventually(lambda: refusal(wire), lambda said: said == message) == message


def test_topics_are_described_and_a_missing_one_is_absent(sandbox, fresh_name):
    name, missing = fresh_name("facts"), fresh_name("missing")
    create_topic(sandbox.bootstrap_servers, name, 3, cleanup_policy="compact")
    with super_user(sandbox) as wire:
        facts = topic_facts(wire, [name, missing])
        assert facts[missing] is None
        assert (facts[name].partitions, facts[name].replication_factor) == (3, 1)
        assert name in topic_facts(wire)
        assert topic_settings(wire, name, ["cleanup.policy"]) == {"cleanup.policy": "compact"}
        assert "retention.ms" in topic_settings(wire, name)


def test_the_transaction_timeout_limit_is_the_brokers(own):
    with super_user(own) as wire:
        assert max_transaction_timeout_ms(wire) == 123000
        assert broker_settings(wire, 1, ["transaction.max.timeout.ms"]) == {"transaction.max.timeout.ms": "123000"}


def test_configs_that_may_not_be_read_are_skipped_with_the_reason(sandbox, fresh_name):
    name = fresh_name("hidden")
    create_topic(sandbox.bootstrap_servers, name)
    with tool(sandbox) as wire:
        assert topic_settings(wire, name) == Skipped(f"User:tool lacks DescribeConfigs on topic {name}")
        assert max_transaction_timeout_ms(wire) == Skipped("User:tool lacks DescribeConfigs on cluster kafka-cluster")
