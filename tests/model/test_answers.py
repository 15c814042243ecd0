"""Answers of small commands: what counts as found, and what makes them incomplete."""

import re

import pytest
from msgspec.structs import replace

from eosctl.errors import NotAuthorized, Unreachable, UsageError
from eosctl.model.certification import selector_of
from eosctl.model.config_topic import ConfigTopicCensus, RecordKind
from eosctl.model.connectors import needs_history
from eosctl.model.hanging import OpenTransaction
from eosctl.model.ledger import JobState, JobStatus, JobSummary, LedgerStatus, RunSummary
from eosctl.model.leftovers import Leftover, LeftoverKind, Leftovers
from eosctl.model.mirror import MirroredTopic, MirrorPlan, TopicPair
from eosctl.model.names import ProducerIdAndEpoch, Side, TopicPartition
from eosctl.model.profile import CheckedStep, CheckOutcome, CheckStep, ConnectionCheck, Profile, Profiles
from eosctl.model.records import RecordState
from eosctl.model.sandbox import SandboxStatus, StartedSandbox
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread
from eosctl.model.strimzi import KAFKA_MIRROR_MAKER_2, USE_CONNECTOR_RESOURCES, StrimziResource
from eosctl.model.topics import CountedStretch, RecordTally
from eosctl.model.tracing import Absence, NoRecord, Trace, TracedRecord
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import (
    NO_TIMEOUT_MS,
    ActiveProducer,
    Selection,
    TransactionDescription,
    TransactionDescriptions,
    TransactionList,
    TransactionListing,
    TransactionState,
    no_leader_answers,
    require_described,
)
from eosctl.model.watch import Answers
from tests.analysis.mirror.test_mirror import PAIR, TOPIC, TOPICS
from tests.render.real_names import inspection

PLACE, PRODUCER = TopicPartition("t", 0), ProducerIdAndEpoch(7, 1)
ONGOING, EMPTY, PREPARED = TransactionState.ONGOING, TransactionState.EMPTY, TransactionState.PREPARE_COMMIT


@pytest.mark.parametrize(
    ("verdict", "found"), [("held", False), ("cannot-tell", False), ("broken", True), ("altered", True)]
)
def test_a_ledger_is_reported_where_the_last_run_of_a_job_is_broken_or_altered(verdict: str, found: bool):
    runs = (RunSummary("j", 1, "r", 0, 0, each, 0, "1", 0, 0, 0) for each in ("held", verdict))
    jobs = tuple(JobStatus(JobSummary("j", "k", 1, run), JobState("j", "k", 1, "r", {}), ()) for run in runs)
    assert LedgerStatus(as_of=0, store="s", jobs=jobs).found is found
    assert not LedgerStatus(as_of=0, store="s", jobs=()).found


@pytest.mark.parametrize(("other", "silent", "found"), [((), (), False), (("a",), (), True), ((), ("b",), True)])
def test_a_sandbox_that_is_other_than_wanted_or_silent_is_reported(other, silent, found: bool):
    assert StartedSandbox({}, True, other, silent).found is found


@pytest.mark.parametrize(
    ("state", "ready", "found"),
    [({}, {"b": True}, False), ({}, {"b": True, "w": False}, True), (None, {}, True), (None, {"b": True}, True)],
)
def test_a_sandbox_that_is_down_or_not_ready_is_reported(state, ready, found: bool):
    assert SandboxStatus(0, "d", state, ready).found is found


@pytest.mark.parametrize(("outcome", "found"), [(CheckOutcome.OK, False), (CheckOutcome.FAILED, True)])
def test_a_connection_that_failed_at_one_step_is_reported(outcome: CheckOutcome, found: bool):
    steps = (CheckOutcome.OK, outcome)
    check = ConnectionCheck(tuple(CheckedStep("wire", "b:1", CheckStep.TCP, each, "", None) for each in steps))
    assert check.found is found


@pytest.mark.parametrize(("server", "known"), [(None, {}), ("b:1", {"bootstrap.servers": "b:1"})])
def test_a_profile_gives_its_brokers_where_it_names_them(server: str | None, known):
    found = Profile("p", "f", bootstrap_server=server, properties={"acks": "all"}).client_properties
    assert {key: each.value for key, each in found.items()} == {"acks": "all", **known}
    assert {each.origin for each in found.values()} == {"profile p (f)"}


@pytest.mark.parametrize(("mine", "theirs", "current"), [("a", "b", "a"), (None, "b", "b"), ("a", None, "a")])
def test_the_nearer_profiles_win_and_so_does_their_choice(mine: str | None, theirs: str | None, current: str):
    near, far = Profile("p", "near"), Profile("p", "far")
    both = Profiles({"p": near}, mine).over(Profiles({"p": far, "q": far}, theirs))
    assert (both.profiles, both.current) == ({"p": near, "q": far}, current)
    assert both.unused == ("profile p (far) is not used: near has one of the name",)


RECORD = TracedRecord(PLACE, 3, 0, None, False, RecordState.COMMITTED, True)


@pytest.mark.parametrize(
    ("record", "found"),
    [(RECORD, False), *((NoRecord(PLACE, 3, each, "why"), each is not Absence.NOT_FOUND) for each in Absence)],
)
def test_a_trace_reports_a_record_that_is_certainly_not_there(record, found: bool):
    assert Trace(as_of=0, cluster_id="k", record=record).found is found


def described(state: TransactionState, *places: TopicPartition, timeout: int = 60_000) -> TransactionDescription:
    return TransactionDescription("x", state, PRODUCER, timeout, 5, places, 1)


@pytest.mark.parametrize(
    ("description", "is_hidden"),
    [
        (described(ONGOING), True),
        (described(ONGOING, PLACE), False),
        (described(EMPTY), False),
        (described(PREPARED), False),
        (described(PREPARED, PLACE), False),
    ],
)
def test_an_ongoing_transaction_without_a_partition_hides_its_partitions(description, is_hidden: bool):
    assert description.is_hidden is is_hidden


def test_the_first_error_of_a_description_ends_it_and_an_unknown_id_is_left_out():
    error = Unreachable("no coordinator")
    assert require_described({"x": described(EMPTY), "y": None}) == {"x": described(EMPTY)}
    with pytest.raises(Unreachable, match="no coordinator"):
        require_described({"x": described(EMPTY), "y": error})


def test_a_denial_is_told_before_the_other_errors_of_a_description():
    denied, silent = NotAuthorized(principal="u", operation="Describe", resource="x"), Unreachable("no coordinator")
    answer = TransactionDescriptions(as_of=0, cluster_id="k", transactions=(), errors=(silent, denied), notes=())
    assert answer.failure is denied


def test_the_first_partition_without_a_leader_is_named():
    assert no_leader_answers(()) is None
    error = no_leader_answers((PLACE, TopicPartition("u", 1)))
    assert error is not None
    assert error.message == "no leader answers for 2 partitions, t-0 first"


@pytest.mark.parametrize(
    ("left", "unread", "message"),
    [(0, False, None), (1, False, None), (1, True, None), (0, True, "was not read as a whole: no leader")],
)
def test_leftovers_are_no_answer_where_none_was_found_in_a_part_of_the_log(left: int, unread: bool, message):
    value = TransactionLogValue(1, PRODUCER, 60_000, ONGOING, (), 5, 5)
    found = Leftovers(
        as_of=9, cluster_id="c", prefix="sink", leftovers=(Leftover("x", LeftoverKind.OPEN, value),) * left, ids=1,
        owners={}, unread={0: Skipped("no leader")} if unread else {}, notes=(),
    )  # fmt: skip
    assert found.found is bool(left)
    assert (None if found.failure is None else found.failure.message.partition("log ")[2]) == message


@pytest.mark.parametrize(("name", "words"), [(None, "transactions log --history`"), ("a b", "log 'a b' --history`")])
def test_the_decisions_of_an_id_are_shown_by_its_name_where_it_has_one(name: str | None, words: str):
    opened = OpenTransaction(ActiveProducer(PLACE, PRODUCER, 0, 0, None, 4), 4, name, None)
    assert words in opened.decided_by


@pytest.mark.parametrize(
    ("kind", "annotation", "manages"),
    [
        (KAFKA_MIRROR_MAKER_2, None, True),
        ("KafkaConnect", None, False),
        ("KafkaConnect", "TRUE", True),
        ("KafkaConnect", "false", False),
    ],
)
def test_an_operator_manages_the_connectors_of_a_mirror_and_of_an_annotated_cluster(kind, annotation, manages):
    annotations = {} if annotation is None else {USE_CONNECTOR_RESOURCES: annotation}
    found = StrimziResource(kind=kind, name="c", api_version="v1", origin="f", annotations=annotations)
    assert found.manages_connectors is manages


INSPECTED = inspection()
SILENT, NOT_ASKED = Skipped("no answer", Cause.UNREACHABLE), Skipped("not asked", Cause.NOT_ASKED)
GAP = Coverage((), (Unread("a fact", "no answer", Cause.UNREACHABLE),))


@pytest.mark.parametrize(("records", "valid", "fails"), [(0, 0, False), (3, 1, False), (3, 3, False), (3, 0, True)])
def test_a_topic_of_other_records_is_no_config_topic(records: int, valid: int, fails: bool):
    census = ConfigTopicCensus(records, kinds={RecordKind.INVALID_KEY: records - valid})
    error = replace(INSPECTED, inspection=replace(INSPECTED.inspection, census=census)).failure
    assert isinstance(error, UsageError) is fails
    assert fails or error is None


@pytest.mark.parametrize(
    ("skipped", "coverage", "complete"),
    [
        ({}, Coverage(), True),
        ({"a": NOT_ASKED}, Coverage(), True),
        ({"a": SILENT}, Coverage(), False),
        ({}, GAP, False),
    ],
)
def test_an_inspection_is_complete_where_no_fact_was_left_unread(skipped, coverage, complete: bool):
    found = replace(INSPECTED, inspection=replace(INSPECTED.inspection, skipped=skipped))
    assert found.covering(coverage).complete is complete


@pytest.mark.parametrize(
    ("name", "mode", "needs"),
    [
        ("io.debezium.connector.mysql.MySqlConnector", None, True),
        ("io.debezium.connector.mysql.MySqlConnector", "initial", True),
        ("io.debezium.connector.mysql.MySqlConnector", "recovery", False),
        ("io.debezium.connector.postgresql.PostgresConnector", None, False),
        ("org.example.MySqlConnector", None, False),
    ],
)
def test_a_schema_history_is_needed_by_debeziums_classes_that_do_not_rebuild_it(name: str, mode, needs: bool):
    assert needs_history({"connector.class": name} | ({} if mode is None else {"snapshot.mode": mode})) is needs


@pytest.mark.parametrize(
    ("source", "target", "compacted"),
    [
        ("delete", "delete", ()),
        ("compact", "delete", (Side.SOURCE,)),
        ("delete", "compact,delete", (Side.TARGET,)),
        ("compact", "compact", (Side.SOURCE, Side.TARGET)),
        (SILENT, "compact", SILENT),
        ("compact", SILENT, SILENT),
    ],
)
def test_the_sides_of_a_mirror_that_are_compacted_are_known_where_both_policies_are(source, target, compacted):
    topics = (replace(TOPIC.source, cleanup_policy=source), replace(TOPIC.target, cleanup_policy=target))
    assert MirroredTopic(TOPICS, *topics).compacted == compacted


def test_a_pair_of_a_mirror_is_found_by_its_topics_and_named_by_both_places():
    other = TopicPair("bills", "eu.bills")
    plan = MirrorPlan(0, "a", "b", (replace(TOPIC, topics=other), TOPIC), (PAIR,), NOT_ASKED)
    assert (plan.topic(TOPICS), plan.topic(other).topics) == (TOPIC, other)
    assert str(PAIR) == "orders-0 -> eu.orders-0"


STRETCHES = (CountedStretch(0, 4, 2, 1, 1), CountedStretch(4, 9, 3, 0, 1), CountedStretch(12, 15, 3, 0, 0))


@pytest.mark.parametrize(
    ("start", "limit", "counts"),
    [
        (0, 9, (5, 1, 2, 1)),
        (0, 4, (2, 1, 1, 0)),
        (4, 9, (3, 0, 1, 1)),
        (0, 8, None),
        (0, 12, None),
        (1, 9, None),
        (12, 15, (3, 0, 0, 0)),
        (9, 15, None),
    ],
)
def test_the_content_between_two_offsets_is_known_where_stretches_join_them(start: int, limit: int, counts):
    assert RecordTally(STRETCHES).counts(start, limit) == counts


@pytest.mark.parametrize(("pattern", "named"), [(None, True), ("a.*", True), ("a", False), ("b", False)])
def test_an_id_is_named_by_a_pattern_for_the_whole_of_it(pattern: str | None, named: bool):
    selection = Selection(pattern=None if pattern is None else re.compile(pattern))
    assert selection.names(TransactionListing("ab", 7, EMPTY, 1)) is named


@pytest.mark.parametrize(
    ("text", "written"),
    [("value", "value"), ("json:a,b", "json:a,b"), ("header:h", "header:h"), ("partition", "partition")],
)
def test_a_selector_is_told_as_it_is_written(text: str, written: str):
    assert str(selector_of("--identity", text)) == written


@pytest.mark.parametrize(
    ("started", "state", "timeout", "at"),
    [
        (5, ONGOING, 60_000, 60_005),
        (None, ONGOING, 60_000, None),
        (5, PREPARED, 60_000, None),
        (5, ONGOING, NO_TIMEOUT_MS, None),
    ],
)
def test_a_coordinator_ends_an_ongoing_transaction_that_has_a_timeout(started: int | None, state, timeout, at):
    active = ActiveProducer(PLACE, PRODUCER, 0, 0, None, 4)
    description = replace(described(state, PLACE, timeout=timeout), start_ms=started)
    assert OpenTransaction(active, 4, "x", description).timeout_at_ms == at
    assert OpenTransaction(active, 4, None, None).timeout_at_ms is None


@pytest.mark.parametrize(
    ("missing", "coverage", "unread"),
    [
        ((), Coverage(), []),
        (("broker 1",), Coverage(), [("a part of the answer", "not every coordinator answers: broker 1")]),
        ((), GAP, [("a fact", "no answer")]),
        (("broker 1",), GAP, [("a fact", "no answer")]),
    ],
)
def test_an_answer_that_ends_with_an_error_is_unread_in_part(missing: tuple[str, ...], coverage, unread):
    answer = TransactionList(
        as_of=0, cluster_id="k", transactions=(), hidden=NOT_ASKED, unanswered={}, missing=missing, notes=()
    )
    answers = replace(Answers.none(NOT_ASKED), transactions=answer.covering(coverage))
    assert [(command, each.what, each.reason) for command, each in answers.unread] == [
        ("transactions list", *each) for each in unread
    ]
    silent = replace(Answers.none(NOT_ASKED), hanging=SILENT)
    assert [(command, each.what) for command, each in silent.unread] == [("transactions hanging", "the whole answer")]
