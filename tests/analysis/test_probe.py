"""A probe's observations, judged: evidence made by hand, as clusters other than Kafka might give it."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.probe import judge, probed_apis
from eosctl.model.acls import Operation
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.probe import (
    Initialised,
    Look,
    Observations,
    ProbeAnswer,
    Raised,
    Refusal,
    Shown,
    Verdict,
    VersionRange,
)
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transactions import ActiveProducer, TransactionDescription, TransactionState

YES, NO, DIFFERENT, UNKNOWN = Verdict
PLACE = TopicPartition("probe", 0)
OLD, NEW = ProducerIdAndEpoch(7, 3), ProducerIdAndEpoch(7, 5)
APIS = {0: (0, 13), 1: (4, 18), 2: (1, 11), 10: (0, 6), 22: (0, 5), 24: (0, 5), 26: (0, 5), 27: (1, 2)}
APIS |= {61: (0, 0), 65: (0, 0), 66: (0, 2)}
OFFERED = {key: VersionRange(*versions) for key, versions in APIS.items()}
FENCED, UNADDED = Refusal("EndTxn", 90, "PRODUCER_FENCED"), Refusal("Produce", 120, "TRANSACTION_ABORTABLE")
DENIED = Refusal("WriteTxnMarkers", 31, "CLUSTER_AUTHORIZATION_FAILED")
LATE = Skipped("no answer in time", Cause.UNREACHABLE)
ABORTED = Look(2, 4, 4, Shown.NAMED_ABORTED, "ABORT")


def description(state: TransactionState, *places: TopicPartition) -> TransactionDescription:
    return TransactionDescription("probe", state, OLD, 60_000, 0, places, 1)


def producer(start: int | None) -> ActiveProducer:
    return ActiveProducer(PLACE, OLD, 0, 0, None, start)


KAFKA = Observations(
    principal="User:tool",
    versions={1: OFFERED, 2: OFFERED},
    features={"transaction.version": 2},
    rights=frozenset({Operation.DESCRIBE}),
    unused=Refusal("DescribeTransactions", 105, "TRANSACTIONAL_ID_NOT_FOUND"),
    first=Initialised(OLD, 70.0),
    long_timeout=Initialised(OLD, 2.0),
    repeats=(2.0, 3.0, 900.0),
    opened=0,
    described=description(TransactionState.ONGOING, PLACE),
    listed=TransactionState.ONGOING,
    producers=(producer(0),),
    open=Look(0, 0, 1, Shown.NOT_RETURNED, None),
    committed=Look(0, 2, 2, Shown.RETURNED, "COMMIT"),
    aborted=ABORTED,
    fencing=Raised(OLD, NEW),
    fenced=ABORTED,
    zombie_commit=FENCED,
    zombie_add=FENCED,
    zombie_write=FENCED,
    unadded=UNADDED,
    bumped=Raised(NEW, ProducerIdAndEpoch(7, 6)),
    marker=DENIED,
)
"""Kafka 4 as a user sees it who may not write markers."""


def answers(seen: Observations) -> dict[str, ProbeAnswer]:
    return {each.check.id: each for each in judge(seen)}


def verdict(name: str, **seen: object) -> Verdict:
    return answers(replace(KAFKA, **seen))[name].verdict


def test_kafka_does_as_kafka():
    others = {name: each.verdict for name, each in answers(KAFKA).items() if each.verdict is not YES}
    assert others == {"abort-marker-written": UNKNOWN}
    assert "needs Alter on the cluster" in answers(KAFKA)["abort-marker-written"].seen


def test_every_question_has_a_name_of_its_own_and_both_meanings():
    found = judge(KAFKA)
    assert len({each.check.id for each in found}) == len(found) == 25
    assert [each.check.id for each in found if not all((*each.check.yes, *each.check.otherwise))] == []


def test_a_missing_answer_is_never_no():
    nothing = answers(Observations(stopped="the broker went away"))
    assert {each.verdict for each in nothing.values()} == {UNKNOWN}
    assert nothing["lso-held"].seen == "not tried: the broker went away"
    late = dict.fromkeys(
        ("versions", "features", "unused", "first", "long_timeout", "opened", "described", "listed", "producers",
         "open", "committed", "aborted", "fencing", "fenced", "zombie_commit", "zombie_add", "zombie_write", "unadded",
         "bumped", "marker"), LATE,
    )  # fmt: skip
    found = answers(replace(KAFKA, repeats=(), **late))
    assert {each.verdict for each in found.values()} == {UNKNOWN}
    assert found["zombie-commit-refused"].seen == "no answer in time"
    assert {each.cause for name, each in found.items() if name != "init-producer-id-time"} == {Cause.UNREACHABLE}


def test_an_api_that_brokers_do_not_offer_is_no():
    missing = Skipped("the broker does not know ListTransactions", Cause.UNSUPPORTED)
    assert verdict("list-transactions", listed=missing) is NO


def test_an_undecodable_answer_is_different():
    assert verdict("lso-held", open=Skipped("a batch of another format", Cause.UNDECODABLE)) is DIFFERENT


@pytest.mark.parametrize(
    ("name", "seen", "expected"),
    [
        ("init-producer-id", {"first": Refusal("InitProducerId", 42, "INVALID_REQUEST")}, NO),
        ("init-producer-id-time", {"repeats": (900.0, 1200.0, 1300.0)}, NO),
        ("fencing-timeout", {"long_timeout": Refusal("InitProducerId", 50, "INVALID_TRANSACTION_TIMEOUT")}, NO),
        ("transaction-opened", {"opened": Refusal("AddPartitionsToTxn", 48, "INVALID_TXN_STATE")}, NO),
        ("lso-held", {"open": Look(0, 1, 1, Shown.NOT_RETURNED, None)}, NO),
        ("open-hidden", {"open": Look(0, 0, 1, Shown.RETURNED, None)}, NO),
        ("open-hidden", {"open": Look(0, 0, 1, Shown.NAMED_ABORTED, None)}, DIFFERENT),
        ("committed-shown", {"committed": Look(0, 2, 2, Shown.NOT_RETURNED, "COMMIT")}, NO),
        ("committed-shown", {"committed": Look(0, 0, 1, Shown.RETURNED, "COMMIT")}, DIFFERENT),
        ("aborted-hidden", {"aborted": Look(2, 4, 4, Shown.RETURNED, "ABORT")}, NO),
        ("aborted-hidden", {"aborted": Look(2, 4, 4, Shown.NOT_RETURNED, None)}, YES),
        ("markers-in-log", {"aborted": Look(2, 4, 4, Shown.NAMED_ABORTED, None)}, NO),
        ("markers-in-log", {"aborted": Look(2, 4, 4, Shown.NAMED_ABORTED, "COMMIT")}, DIFFERENT),
        ("markers-in-log", {"committed": Refusal("EndTxn", 48, "INVALID_TXN_STATE")}, NO),
        ("fencing-epoch", {"fencing": Raised(OLD, OLD)}, NO),
        ("fencing-epoch", {"fencing": Raised(OLD, ProducerIdAndEpoch(8, 0))}, YES),
        ("fencing-aborts", {"fenced": Look(4, 4, 5, Shown.NOT_RETURNED, None)}, NO),
        ("zombie-commit-refused", {"zombie_commit": None}, NO),
        ("zombie-write-refused", {"zombie_write": Refusal("Produce", 87, "INVALID_RECORD")}, DIFFERENT),
        ("describe-unknown-id", {"unused": description(TransactionState.EMPTY)}, NO),
        ("describe-transactions", {"described": description(TransactionState.EMPTY)}, DIFFERENT),
        ("list-transactions", {"listed": None}, NO),
        ("list-transactions", {"listed": None, "described": LATE}, UNKNOWN),
        ("list-transactions", {"listed": TransactionState.EMPTY}, DIFFERENT),
        ("describe-producers", {"producers": ()}, NO),
        ("describe-producers", {"producers": (producer(9),)}, DIFFERENT),
        ("partition-verified", {"unadded": None}, NO),
        ("transaction-version", {"features": {}}, NO),
        ("epoch-per-transaction", {"features": {"transaction.version": 1}}, NO),
        ("abort-marker-written", {"marker": None, "marked": ABORTED}, YES),
        ("abort-marker-written", {"marker": None, "marked": Look(8, 8, 9, Shown.NOT_RETURNED, None)}, NO),
        ("marker-right-needed", {"marker": None}, NO),
        ("marker-right-needed", {"marker": None, "rights": LATE}, UNKNOWN),
        ("marker-right-needed", {"marker": None, "rights": frozenset({Operation.DESCRIBE, Operation.ALTER})}, UNKNOWN),
    ],
)
def test_each_difference_from_kafka_has_its_verdict(name: str, seen: dict[str, object], expected: Verdict):
    assert verdict(name, **seen) is expected


def test_one_broker_without_an_api_is_enough():
    lacking = {key: versions for key, versions in OFFERED.items() if key != 61}
    seen = replace(KAFKA, versions={1: OFFERED, 2: lacking})
    assert answers(seen)["tool-apis"].seen == "missing: DescribeProducers (version 0)"
    assert [each.name for each in probed_apis(seen) if not each.is_there] == ["DescribeProducers"]
    half = replace(KAFKA, versions={1: OFFERED, 2: LATE})
    assert (answers(half)["tool-apis"].verdict, answers(half)["producer-apis"].verdict) == (UNKNOWN, UNKNOWN)
    assert {each.is_there for each in probed_apis(half)} == {None}


def test_features_of_newer_releases_do_not_fail():
    older = answers(replace(KAFKA, features={}, unadded=None))
    assert {name for name, each in older.items() if each.verdict is NO} == {
        "transaction-version",
        "epoch-per-transaction",
        "partition-verified",
    }
    assert not any(each.fails for each in older.values())
    assert answers(replace(KAFKA, zombie_commit=None))["zombie-commit-refused"].fails
