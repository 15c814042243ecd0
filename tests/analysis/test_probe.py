"""A probe's observations, judged: evidence made by hand, as clusters other than Kafka might give it."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.probe import SLOW_MS, judge, probed_apis
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


# Each decision at its limit.

OTHER = Refusal("Any", 58, "OTHER_ERROR")
SECOND = TopicPartition("probe", 1)


@pytest.mark.parametrize(
    ("name", "seen", "expected"),
    [
        ("init-producer-id-time", {"repeats": (SLOW_MS,)}, YES),
        ("init-producer-id-time", {"repeats": (SLOW_MS + 0.1,)}, NO),
        ("init-producer-id-time", {"repeats": (SLOW_MS, SLOW_MS + 0.2)}, NO),
        ("init-producer-id-time", {"repeats": ()}, UNKNOWN),
        ("init-producer-id-time", {"first": LATE}, YES),
        ("lso-held", {"open": Look(5, 5, 6, Shown.NOT_RETURNED, None)}, YES),
        ("lso-held", {"open": Look(5, 6, 6, Shown.NOT_RETURNED, None)}, NO),
        ("committed-shown", {"committed": Look(0, 1, 2, Shown.RETURNED, None)}, YES),
        ("committed-shown", {"committed": Look(0, 1, 2, Shown.NAMED_ABORTED, "COMMIT")}, NO),
        ("aborted-hidden", {"aborted": Look(2, 2, 4, Shown.NAMED_ABORTED, "ABORT")}, NO),
        ("aborted-hidden", {"aborted": Look(2, 3, 4, Shown.NAMED_ABORTED, "ABORT")}, YES),
        ("markers-in-log", {"committed": LATE}, UNKNOWN),
        ("markers-in-log", {"aborted": LATE}, UNKNOWN),
        ("markers-in-log", {"committed": Look(0, 2, 2, Shown.RETURNED, None)}, NO),
        ("markers-in-log", {"committed": Look(0, 2, 2, Shown.RETURNED, "ABORT")}, DIFFERENT),
        ("fencing-epoch", {"fencing": Raised(NEW, OLD)}, NO),
        *((f"zombie-{what}-refused", {f"zombie_{what}": None}, NO) for what in ("commit", "add", "write")),
        *((f"zombie-{what}-refused", {f"zombie_{what}": OTHER}, DIFFERENT) for what in ("commit", "add", "write")),
        *(("zombie-add-refused", {"zombie_add": Refusal("A", code, "X")}, YES) for code in (47, 49, 90)),
        ("zombie-add-refused", {"zombie_add": Refusal("A", 48, "X")}, DIFFERENT),
        *(("partition-verified", {"unadded": Refusal("P", code, "X")}, YES) for code in (47, 48, 120)),
        ("partition-verified", {"unadded": Refusal("P", 49, "X")}, DIFFERENT),
        ("describe-unknown-id", {"unused": OTHER}, DIFFERENT),
        ("describe-transactions", {"described": description(TransactionState.ONGOING)}, DIFFERENT),
        ("describe-transactions", {"described": description(TransactionState.ONGOING, PLACE, SECOND)}, DIFFERENT),
        ("describe-transactions", {"described": description(TransactionState.PREPARE_COMMIT, PLACE)}, DIFFERENT),
        ("describe-transactions", {"described": OTHER}, NO),
        ("list-transactions", {"listed": None, "described": OTHER}, UNKNOWN),
        ("list-transactions", {"listed": TransactionState.ONGOING, "described": LATE}, YES),
        ("list-transactions", {"listed": OTHER}, NO),
        ("describe-producers", {"producers": (producer(None),)}, NO),
        ("describe-producers", {"producers": (producer(None), producer(0))}, YES),
        ("describe-producers", {"producers": (producer(9), producer(0))}, YES),
        ("describe-producers", {"producers": OTHER}, NO),
        ("describe-producers", {"opened": LATE}, UNKNOWN),
        ("describe-producers", {"opened": OTHER}, UNKNOWN),
        ("describe-producers", {"opened": OTHER, "producers": (producer(0),)}, UNKNOWN),
        ("describe-producers", {"opened": LATE, "producers": OTHER}, NO),
        ("transaction-version", {"features": {"transaction.version": 1}}, NO),
        ("transaction-version", {"features": {"transaction.version": 3}}, YES),
        ("transaction-version", {"features": {"metadata.version": 25}}, NO),
        ("epoch-per-transaction", {"features": {}}, NO),
        ("epoch-per-transaction", {"features": {}, "bumped": LATE}, NO),
        ("epoch-per-transaction", {"features": LATE}, UNKNOWN),
        ("epoch-per-transaction", {"features": {"transaction.version": 3}}, YES),
        ("epoch-per-transaction", {"bumped": Raised(NEW, NEW)}, NO),
        ("epoch-per-transaction", {"bumped": OTHER}, NO),
        ("abort-marker-written", {"marker": OTHER}, NO),
        ("abort-marker-written", {"marker": LATE}, UNKNOWN),
        ("abort-marker-written", {"marker": Skipped("not there", Cause.UNSUPPORTED)}, NO),
        ("abort-marker-written", {"marker": None, "marked": LATE}, UNKNOWN),
        ("marker-right-needed", {"marker": Skipped("not there", Cause.UNSUPPORTED)}, YES),
        ("marker-right-needed", {"marker": OTHER}, DIFFERENT),
        ("marker-right-needed", {"marker": LATE}, UNKNOWN),
        ("marker-right-needed", {"marker": DENIED, "rights": LATE}, YES),
        ("marker-right-needed", {"marker": None, "rights": frozenset({Operation.CLUSTER_ACTION})}, UNKNOWN),
        ("marker-right-needed", {"marker": None, "rights": frozenset()}, NO),
    ],
)
def test_each_answer_at_the_limit_of_its_verdict(name: str, seen: dict[str, object], expected: Verdict):
    assert verdict(name, **seen) is expected


@pytest.mark.parametrize(
    ("name", "seen", "words", "cause"),
    [
        ("init-producer-id-time", {"first": LATE}, "3.0 ms (median of 3)", None),
        ("init-producer-id-time", {"first": OTHER}, "3.0 ms (median of 3)", None),
        ("init-producer-id-time", {}, "3.0 ms (median of 3), the first 70 ms", None),
        ("init-producer-id-time", {"repeats": (), "stopped": "it went away"}, "not tried: it went away", Cause.UNKNOWN),
        ("describe-producers", {}, "open from 0", None),
        ("describe-producers", {"producers": (producer(9), producer(8))}, "open from 9, not from 0", None),
        ("describe-producers", {"producers": (producer(None),)}, "1 producer, none with an open transaction", None),
        ("markers-in-log", {"aborted": Look(2, 4, 4, Shown.RETURNED, None)}, "COMMIT, no marker", None),
        ("describe-transactions", {"described": description(TransactionState.ONGOING)},
         "Ongoing, producer 7/3, no partition", None),
        ("list-transactions", {"listed": None}, "no broker lists it", None),
        ("list-transactions", {"listed": None, "described": LATE},
         "no broker lists it, and whether it may be described is not known", Cause.UNKNOWN),
        ("transaction-version", {"features": {"transaction.version": 1}}, "level 1", None),
        ("epoch-per-transaction", {"features": {}}, "transaction.version is below 2", None),
        ("epoch-per-transaction", {"features": LATE}, "no answer in time", Cause.UNREACHABLE),
        ("abort-marker-written", {}, "User:tool: WriteTxnMarkers is refused with CLUSTER_AUTHORIZATION_FAILED (31); it "
         "needs Alter on the cluster (brokers before 3.8: ClusterAction)", Cause.DENIED),
        ("marker-right-needed", {"marker": None, "rights": LATE},
         "accepted; what User:tool may is unknown: no answer in time", Cause.UNREACHABLE),
        ("marker-right-needed", {"marker": None, "rights": frozenset(Operation)},
         "accepted: User:tool has Alter, ClusterAction on the cluster; probe as one who has not", Cause.NOT_ASKED),
        ("marker-right-needed", {"marker": None}, "accepted, though User:tool has no such right", None),
    ],
)  # fmt: skip
def test_an_answer_says_what_was_seen_and_why_it_is_unknown(name, seen, words, cause):
    found = answers(replace(KAFKA, **seen))[name]
    assert (found.seen, found.cause) == (words, cause)


@pytest.mark.parametrize(
    ("second", "common", "verdict_"),
    [
        ({22: VersionRange(0, 0)}, VersionRange(0, 0), YES),
        ({22: VersionRange(5, 9)}, VersionRange(5, 5), YES),
        ({22: VersionRange(6, 9)}, None, NO),
        ({22: None}, None, NO),
        (LATE, Skipped("broker 2: no answer in time", Cause.UNREACHABLE), UNKNOWN),
    ],
)
def test_the_versions_of_an_api_are_those_that_every_broker_answers(second, common, verdict_):
    merged = second if isinstance(second, Skipped) else {**OFFERED, **second}
    other = merged if isinstance(merged, Skipped) else {key: each for key, each in merged.items() if each is not None}
    seen = replace(KAFKA, versions={1: OFFERED, 2: other})
    [found] = [each.versions for each in probed_apis(seen) if each.name == "InitProducerId"]
    assert (found, answers(seen)["producer-apis"].verdict) == (common, verdict_)
    assert {each.versions for each in probed_apis(replace(KAFKA, versions=LATE))} == {LATE}


@pytest.mark.parametrize(("highest", "there"), [(3, False), (4, True), (5, True)])
def test_an_api_is_there_from_the_version_on_that_is_needed(highest: int, there: bool):
    seen = replace(KAFKA, versions={1: {**OFFERED, 10: VersionRange(0, highest)}})
    assert answers(seen)["tool-apis"].verdict is (YES if there else NO)
    assert answers(seen)["producer-apis"].verdict is YES


def test_an_api_that_one_broker_lacks_is_missing_although_another_broker_is_silent():
    lacking = {key: versions for key, versions in OFFERED.items() if key != 61}
    found = answers(replace(KAFKA, versions={1: lacking, 2: LATE}))
    assert (found["tool-apis"].verdict, found["tool-apis"].seen) == (NO, "missing: DescribeProducers (version 0)")
    assert (found["producer-apis"].verdict, found["producer-apis"].cause) == (UNKNOWN, Cause.UNREACHABLE)
