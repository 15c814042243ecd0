"""The decisions of fence on its facts: whether IDs may be missed, and whether the plan is still the agreed one."""

from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from eosctl.errors import NotAuthorized, Refused, Undecodable, Unreachable, UsageError
from eosctl.model.config_topic import ConfigTopicLog, Origin, TaskCountRecord
from eosctl.model.fencing import FencingRequest
from eosctl.model.hanging import FirstBatch
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.profile import Profile
from eosctl.model.report import exit_code
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.topics import ClusterFacts
from eosctl.model.transactions import (
    ActiveProducer,
    AnsweredProducers,
    ListedTransactions,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from eosctl.operations.fencing import fence, read_and_plan
from tests.fake_cluster import FakeCluster
from tests.operations.conversation import Conversation, session_on
from tests.operations.test_offsets import config_topic

PLACE = TopicPartition("orders", 0)


def described(name: str) -> TransactionDescription:
    return TransactionDescription(
        name, TransactionState.ONGOING, ProducerIdAndEpoch(9, 1), 60_000, 1, frozenset({PLACE}), 1
    )


def listed(*names: str, unlisted: tuple[str, ...] = ()) -> ListedTransactions:
    listings = tuple(TransactionListing(name, 9, TransactionState.ONGOING, 1) for name in names)
    return ListedTransactions(listings, {}, unlisted)


def cluster(**facts: object) -> FakeCluster:
    def describe(names: Iterable[str]) -> dict[str, TransactionDescription]:
        return {name: described(name) for name in names}

    usual: dict[str, object] = {
        "cluster": ClusterFacts("fake", {1: "b:9092"}, 30_000),
        "describe": describe,
        "transactional_ids": listed("a-0", "a-1", "b-0"),
        "leaderless": frozenset(),
        "partitions": {},
        "producers": AnsweredProducers((), ()),
        "config_topic": ConfigTopicLog("connect-configs", Skipped("no"), Skipped("no"), ()),
    }
    return FakeCluster(as_of=7, **(usual | facts))


def test_a_prefix_stands_for_the_ids_that_coordinators_list() -> None:
    planned = read_and_plan(session_on(cluster(), Conversation()), FencingRequest(prefixes=("a-",)), "connect-configs")
    assert planned.transactional_ids == {"a-0", "a-1"}
    assert (planned.as_of, planned.cluster_id, planned.plan.transaction_timeout_ms) == (7, "fake", 30_000)


def test_a_prefix_is_refused_where_a_coordinator_does_not_list_its_ids() -> None:
    silent = cluster(transactional_ids=listed("a-0", unlisted=("broker 2 did not answer",)))
    with pytest.raises(Unreachable, match=r"^broker 2 did not answer$"):
        read_and_plan(session_on(silent, Conversation()), FencingRequest(prefixes=("a-",)), "connect-configs")


@pytest.mark.parametrize(("prefix", "hint"), [("aa-", "did you mean a-?"), ("nosuch-", "may Describe")])
def test_a_prefix_with_which_no_listed_id_begins_is_refused(prefix: str, hint: str) -> None:
    request = FencingRequest(prefixes=("a-", prefix))
    with pytest.raises(Refused, match=f"list no transactional ID that begins with {prefix}$") as refused:
        read_and_plan(session_on(cluster(), Conversation()), request, "connect-configs")
    assert hint in str(refused.value.hint)


def test_whether_partitions_have_leaders_must_be_known() -> None:
    unknown = cluster(leaderless=Skipped("denied"))
    with pytest.raises(Unreachable, match="is unknown: denied"):
        read_and_plan(session_on(unknown, Conversation()), FencingRequest(("a-0",)), "connect-configs")


def test_an_open_transaction_without_a_leader_objects_to_the_plan() -> None:
    headless = cluster(leaderless=frozenset({PLACE}))
    planned = read_and_plan(session_on(headless, Conversation()), FencingRequest(("a-0",)), "connect-configs")
    assert isinstance(planned.failure, Refused)
    assert "orders-0" in planned.failure.message


def writing(**facts: object) -> FakeCluster:
    """a-0 has a transaction in progress in the partition since offset 5."""
    active = ActiveProducer(PLACE, ProducerIdAndEpoch(9, 1), 0, 7, None, 5)
    return cluster(**({"partitions": {PLACE: 1}, "producers": AnsweredProducers((active,), ())} | facts))


READ = {(PLACE, 5): FirstBatch(1, 8)}
DENIED = NotAuthorized(principal="User:a", operation="Read", resource="Topic orders")


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"producers": DENIED}, "User:a lacks Read on topic orders"),
        ({"producers": AnsweredProducers((), (PLACE,)), "first_batches": {}}, "no leader answered for orders-0"),
        ({"first_batches": DENIED}, "User:a lacks Read on topic orders"),
        ({"first_batches": Skipped("they are not saved")}, "they are not saved"),
        ({"first_batches": {}}, "the first batches of 1 transaction were not read: orders-0 at 5"),
        ({"first_batches": READ}, None),
    ],
)
def test_a_plan_says_where_it_was_not_looked_for_overtaken_transactions(
    facts: dict[str, object], reason: str | None
) -> None:
    session = session_on(writing(**facts), Conversation())
    planned = read_and_plan(session, FencingRequest(("a-0",)), "connect-configs")
    warned = [each for each in planned.plan.warnings if "that was not looked for" in each]
    assert [each.partition("looked for: ")[2] for each in warned] == ([] if reason is None else [reason])
    assert planned.failure is None


def test_owners_stay_unknown_where_the_config_topic_cannot_be_read() -> None:
    said = Conversation()
    silent = cluster(config_topic=Unreachable("no leader"))
    planned = read_and_plan(session_on(silent, said, group_id="g"), FencingRequest(("a-0",)), "connect-configs")
    assert said.said == ["owners stay unknown: no leader"]
    assert [(each.what, each.reason) for each in planned.coverage.gaps] == [("config_topic", "no leader")]


def test_connectors_cannot_be_fenced_where_the_config_topic_cannot_be_read() -> None:
    silent = cluster(config_topic=Unreachable("no leader"))
    session = session_on(silent, Conversation(), group_id="g")
    with pytest.raises(Unreachable, match="no leader"):
        read_and_plan(session, FencingRequest(connectors=("orders",)), "connect-configs")


def test_a_connector_that_the_config_topic_does_not_mention_leads_to_the_one_like_it() -> None:
    known = cluster(config_topic=config_topic(orders={}))
    with pytest.raises(UsageError) as caught:
        read_and_plan(session_on(known, Conversation(), group_id="g"), FencingRequest(connectors=("ordrs",)), "configs")
    assert (caught.value.message, caught.value.hint) == (
        "the config topic does not mention connector ordrs",
        "did you mean orders?",
    )


def with_tasks(**counts: int) -> ConfigTopicLog:
    """Connectors with these task count records."""
    log = config_topic(**{name: {} for name in counts})
    records = [TaskCountRecord(Origin(10 + at, 1), *each) for at, each in enumerate(counts.items())]
    return replace(log, records=[*log.records, *records])


def test_a_connector_of_impossibly_many_tasks_keeps_no_other_from_being_fenced() -> None:
    known = cluster(
        config_topic=with_tasks(orders=2, odd=100_001),
        transactional_ids=listed("g-odd-7"),
        connect_groups={},
        connect=Skipped("no worker is asked"),
    )
    session = session_on(known, Conversation(), group_id="g")
    planned = read_and_plan(session, FencingRequest(all_connectors=True), "configs")
    assert planned.transactional_ids == {"g-orders-0", "g-orders-1", "g-odd-7"}
    assert [(each.what, each.cause) for each in planned.coverage.gaps if "odd" in each.what] == [
        ("number of tasks of connector odd", Cause.UNDECODABLE)
    ]
    assert exit_code(planned) == 3


def test_one_that_was_named_is_refused() -> None:
    known = cluster(config_topic=with_tasks(odd=100_001), connect_groups={}, connect=Skipped("no worker is asked"))
    session = session_on(known, Conversation(), group_id="g")
    with pytest.raises(Undecodable, match="odd has 100001 tasks"):
        read_and_plan(session, FencingRequest(connectors=("odd",)), "configs")


def growing(*answers: ListedTransactions) -> Callable[..., ListedTransactions]:
    remaining = iter(answers)
    return lambda **_: next(remaining)


def test_a_plan_that_changed_while_a_person_was_asked_is_not_carried_out() -> None:
    said = Conversation()
    session = session_on(cluster(transactional_ids=growing(listed("a-0"), listed("a-0", "a-1"))), said)
    with pytest.raises(Refused, match="the plan changed before you confirmed"):
        fence(session, FencingRequest(prefixes=("a-",)), None, "connect-configs", said.show)
    assert said.said == ["Fence 1 transactional ID (cluster fake)?"]
    assert [each.transactional_ids for each in said.shown] == [{"a-0"}]


def test_the_question_names_cluster_and_profile() -> None:
    said = Conversation(agrees=False)
    session = session_on(cluster(), said, profile=Profile("production", "config.yaml"))
    with pytest.raises(Refused, match="not confirmed"):
        fence(session, FencingRequest(prefixes=("a-",)), None, "connect-configs", said.show)
    assert said.said == ["Fence 2 transactional IDs (cluster fake, profile production)?"]


def test_nothing_named_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="nothing to fence was named"):
        read_and_plan(session_on(cluster(), Conversation()), FencingRequest(), "connect-configs")
