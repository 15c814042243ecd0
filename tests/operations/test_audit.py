"""An audit: bounds, topics, and what an earlier run left."""

import json
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from eosctl.analysis.catalogue import audit as kinds
from eosctl.engines.auditing import AuditResult
from eosctl.errors import EosctlError, NotAuthorized, Unreachable, UsageError
from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.model.audit import (
    AuditedTopic,
    AuditPlan,
    AuditReport,
    AuditVerdict,
    ConnectorVerdict,
    OpenAtPlan,
    PartitionBounds,
    TopicRole,
)
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Finding, Severity, exit_code
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.topics import PartitionOffsets, TopicDescription
from eosctl.model.transaction_log import (
    LoggedHolders,
    TransactionalIdHolder,
    TransactionLogHistory,
    TransactionLogRecords,
)
from eosctl.model.transactions import (
    ActiveProducer,
    AnsweredProducers,
    ListedTransactions,
    TransactionalIdAccess,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from eosctl.operations.audit import run_incrementally
from eosctl.operations.audit_request import AuditRequest
from eosctl.operations.audit_topics import AuditScope, FoundTopics, read_bounds, read_history
from eosctl.operations.decisions import MOST_LOG_BYTES
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.render.answers.audit import summary, view_audit
from eosctl.render.formats import json_of
from tests.fake_cluster import FakeCluster
from tests.operations.test_offsets import cluster, config_topic

ROWS = TopicPartition("rows", 0)
SETTINGS = {"cleanup.policy": "delete", "retention.ms": "1000", "retention.bytes": "-1"}
SCOPE = AuditScope((AuditedTopic("rows", TopicRole.OUTPUT, connectors=("orders",)),), ("orders",))
TASK = "connect-cluster-orders-0"
WRITER = ProducerIdAndEpoch(7, 0)


def bounded(**facts: Any) -> FakeCluster:
    """One topic, in which the transaction of a task is open from offset 4."""
    described = TransactionDescription(TASK, TransactionState.ONGOING, WRITER, 60_000, 1, (ROWS,), 1)
    known: dict[str, Any] = {
        "topics": {"rows": TopicDescription("rows", 1, "id-of-rows", SETTINGS)},
        "bounds": {ROWS: PartitionOffsets(ROWS, 2, 4, 9)},
        "record_batches": lambda: open,
        "transactional_ids": listed(TransactionListing(TASK, 7, TransactionState.ONGOING, 1)),
        "partitions": {ROWS: 1},
        "producers": AnsweredProducers((ActiveProducer(ROWS, WRITER, 0, 5, None, 4),), ()),
        "access": TransactionalIdAccess((), None),
        "describe": {TASK: described},
    }
    return FakeCluster(as_of=10, **known | facts)


def listed(*transactions: TransactionListing, unanswered: dict[int, str] | None = None) -> ListedTransactions:
    unanswered = unanswered or {}
    return ListedTransactions(transactions, unanswered, tuple(unanswered.values()))


def test_a_plan_has_what_the_cluster_answers():
    plan = read_bounds(bounded(), SCOPE)
    assert (plan.as_of, plan.cluster_id, plan.ranges) == (10, "fake", ())
    assert plan.bounds == (PartitionBounds("rows", 0, 2, 4, 9, 2),)
    assert plan.topics == (AuditedTopic("rows", TopicRole.OUTPUT, "id-of-rows", "delete", ("orders",), 1000),)
    assert plan.holders == (TransactionalIdHolder(7, TASK),)
    assert plan.open == (OpenAtPlan("rows", 0, 4, 7, 0, TASK, False, None),)
    assert (plan.unread, plan.gaps.unread) == ({}, ())


def test_a_transaction_that_no_coordinator_lists_hangs():
    plan = read_bounds(bounded(transactional_ids=listed(), describe={}), SCOPE)
    assert plan.open == (OpenAtPlan("rows", 0, 4, 7, 0, None, True, "no-transactional-id"),)


def test_a_transaction_that_has_ended_meanwhile_does_not_hang():
    writer = ActiveProducer(ROWS, WRITER, 0, 5, None, 4)
    answers = iter([AnsweredProducers((writer,), ()), AnsweredProducers((), ())])
    plan = read_bounds(
        bounded(transactional_ids=listed(), describe={}, producers=lambda *_, **__: next(answers)), SCOPE
    )
    assert plan.open == (OpenAtPlan("rows", 0, 4, 7, 0, None, False, None),)


def test_hidden_transactional_ids_leave_holders_and_open_transactions_unread():
    hidden = TransactionalIdAccess(("x…",), None)
    silent = listed(unanswered={2: "broker 2 did not answer"})
    plan = read_bounds(bounded(access=hidden, transactional_ids=silent), SCOPE)
    assert isinstance(plan.open, Skipped)
    assert (plan.open.cause, "transactional ID" in plan.open.reason) == (Cause.DENIED, True)
    assert plan.holders == Skipped("broker 2 did not answer")
    assert [(each.what, each.cause) for each in plan.gaps.unread] == [
        ("holders of producer IDs", Cause.UNREACHABLE),
        ("open transactions", Cause.DENIED),
    ]


def searching(found: LoggedHolders | EosctlError) -> tuple[FakeCluster, list[object]]:
    """A cluster whose transaction log has these former holders, and what it was asked for."""
    asked: list[object] = []

    def search(producer_ids: object, most_bytes: int) -> LoggedHolders:
        asked.append((producer_ids, most_bytes))
        if isinstance(found, EosctlError):
            raise found
        return found

    def read(names: object) -> TransactionLogRecords:
        asked.append(names)
        return TransactionLogRecords({}, Skipped("not asked"), ())

    return bounded(logged_holders=search, transaction_log=read), asked


HELD = LoggedHolders(holders=frozenset({TransactionalIdHolder(8, "former")}), left=5, read_bytes=1 << 20)


def test_the_history_of_a_producer_without_a_holder_is_read_by_the_ids_that_held_it():
    audited, asked = searching(HELD)
    assert read_history(audited, read_bounds(audited, SCOPE), frozenset({7, 8})) == TransactionLogHistory()
    assert asked == [({8}, MOST_LOG_BYTES), [TASK, "former"]]
    audited, asked = searching(LoggedHolders())
    assert read_history(audited, read_bounds(audited, SCOPE), frozenset({8})) == TransactionLogHistory()
    assert asked == [({8}, MOST_LOG_BYTES)], "no ID held it, and the whole log was searched"
    audited, asked = searching(LoggedHolders())
    read_history(audited, read_bounds(audited, SCOPE), frozenset({7}))
    assert asked == [[TASK]], "a coordinator knows the ID"


def test_the_history_is_unknown_where_the_log_was_not_searched_to_its_end():
    audited, asked = searching(HELD)
    assert read_history(audited, read_bounds(audited, SCOPE), frozenset({8, 9})) == Skipped(
        "1.0 MiB of the transaction log were searched for the ID of producer 9, and 5 records of it are left"
    )
    assert asked == [({8, 9}, MOST_LOG_BYTES)]
    denied = NotAuthorized(principal="User:a", operation="Read", resource="Topic __transaction_state")
    audited, _ = searching(denied)
    assert read_history(audited, read_bounds(audited, SCOPE), frozenset({8})) == Skipped.of(denied)


def test_an_error_of_the_coordinators_is_no_error_of_the_plan():
    denied = NotAuthorized(principal="User:a", operation="Describe", resource="TransactionalId *")
    plan = read_bounds(bounded(transactional_ids=denied), SCOPE)
    assert plan.holders == plan.open == Skipped(denied.message)


def test_open_transactions_of_a_leaderless_partition_are_unknown():
    plan = read_bounds(bounded(producers=AnsweredProducers((), (ROWS,))), SCOPE)
    assert plan.open == Skipped("no leader answered for rows-0")


def test_without_record_batches_topics_are_unread_and_nothing_bounds_them():
    plan = read_bounds(bounded(record_batches=Skipped("none is saved", Cause.NOT_SAVED)), SCOPE)
    assert (plan.bounds, plan.unread) == ((), {"topic rows": Skipped("none is saved")})
    assert plan.open == (OpenAtPlan("rows", 0, 4, 7, 0, TASK, False, None),)


def test_a_topic_that_does_not_exist_is_an_error():
    with pytest.raises(UsageError, match="topic rows does not exist"):
        read_bounds(bounded(topics={}, topic_names=frozenset()), SCOPE)


PLAN = AuditPlan(as_of=1_767_182_400_000, cluster_id="K", group_id="g", topics=(), bounds=(), ranges=())


def set_back(*offsets: int, connector: str = "orders", count: int | None = None, severity=Severity.ERROR) -> Finding:
    places = [{"topic": "connect-offsets", "partition": 4, "offset": each, "before": {"id": 9}} for each in offsets]
    evidence = {"count": count or len(offsets), "connectors": [connector], "places": places}
    return kinds.OFFSET_SET_BACK.finding(connector, f"{len(offsets)} went back", evidence, severity=severity)


def report(*findings: Finding, broken: tuple[str, ...] = ("orders",)) -> AuditReport:
    names = ("orders", "payments")
    verdicts = (AuditVerdict.BROKEN if name in broken else AuditVerdict.HELD for name in names)
    return AuditReport(PLAN, tuple(map(ConnectorVerdict, names, verdicts)), findings, ())


class Auditor:
    """Reads nothing and reports this."""

    processes = 1

    def __init__(self, answer: AuditReport) -> None:
        self._answer = answer

    def bounds(self) -> AuditPlan:
        return PLAN

    def run(self, plan, carried) -> AuditResult:
        return AuditResult(replace(self._answer, plan=plan), ())


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return open_ledger(f"sqlite:///{tmp_path}/ledger.db")


def as_json(answer: AuditReport) -> str:
    return json_of(view_audit(answer), answer)


def nightly(ledger: Ledger, answer: AuditReport) -> AuditReport:
    return run_incrementally(Auditor(answer), ledger, "nightly", as_json)


def codes(ledger: Ledger, *nights: AuditReport) -> list[int]:
    return [exit_code(nightly(ledger, each)) for each in nights]


def test_a_night_that_found_nothing_new_does_not_fail_again(ledger: Ledger):
    assert codes(ledger, report(set_back(1)), report(set_back(1)), report(set_back(1))) == [1, 0, 0]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param((set_back(1), set_back(7, connector="payments")), id="another connector"),
        pytest.param((set_back(1, 2),), id="another place"),
        pytest.param((set_back(1, count=30),), id="more places than are kept"),
        pytest.param((set_back(2),), id="one place gone and one come"),
        pytest.param(
            (set_back(1), kinds.ZOMBIE_WRITER.finding("orders", "a zombie", {"connectors": ["orders"]})),
            id="another kind",
        ),
    ],
)
def test_every_finding_that_is_new_since_the_night_before_fails(ledger: Ledger, more: tuple[Finding, ...]):
    assert codes(ledger, report(set_back(1)), report(*more), report(*more)) == [1, 1, 0]


def test_a_finding_that_became_worse_fails_and_one_that_became_less_does_not(ledger: Ledger):
    warning, error = report(set_back(1, 2, severity=Severity.WARNING)), report(set_back(1, 2))
    assert codes(ledger, warning, error, report(set_back(2))) == [1, 1, 0]


def test_a_finding_that_came_back_fails(ledger: Ledger):
    assert codes(ledger, report(set_back(1)), report(broken=()), report(set_back(1))) == [1, 0, 1]


def test_a_connector_that_is_broken_only_now_fails_by_findings_that_were_known(ledger: Ledger):
    found = (set_back(1),)
    assert codes(ledger, report(*found, broken=()), report(*found, broken=()), report(*found)) == [1, 0, 1]


def test_a_verdict_that_is_not_known_stays_incomplete_every_night(ledger: Ledger):
    lost = AuditReport(PLAN, (ConnectorVerdict("orders", AuditVerdict.CANNOT_TELL),), (), ())
    assert codes(ledger, lost, lost) == [3, 3]


class Written(NamedTuple):
    """A part of evidence as the audit has it, before it is JSON."""

    topic: str
    offsets: tuple[int, ...]


def test_evidence_of_every_form_is_known_again(ledger: Ledger):
    evidence = {
        "connectors": ("orders",),
        "writes": (Written("t", (1, 2)),),
        "value": MappingProxyType({"a": None, "b": 1.5}),
        "kinds": frozenset({"x", "y"}),
        "state": Severity.ERROR,
    }
    found = kinds.ZOMBIE_WRITER.finding("orders", "a zombie", evidence)
    assert codes(ledger, report(found), report(found)) == [1, 0]


def test_words_that_say_how_long_make_nothing_new(ledger: Ledger):
    nights = (
        kinds.HANGING_TRANSACTION.finding("t-0", words, {"topic": "t", "start_offset": 4, "reason": words})
        for words in ("open for 3 h", "open for 27 h")
    )
    assert codes(ledger, *(report(each, broken=()) for each in nights)) == [1, 0]


def test_jobs_do_not_know_of_each_other(ledger: Ledger):
    nightly(ledger, report(set_back(1)))
    assert exit_code(run_incrementally(Auditor(report(set_back(1))), ledger, "other", as_json)) == 1


def test_the_answer_names_new_findings_and_their_start(ledger: Ledger):
    nightly(ledger, report(set_back(1)))
    second = nightly(ledger, report(set_back(1), set_back(7, connector="payments")))
    data = view_audit(second).data
    assert data["compared_with"] == {"run_number": 1, "as_of": "2025-12-31T12:00:00.000Z"}
    assert {each["subject"]: each["new"] for each in data["findings"]} == {"orders": False, "payments": True}
    assert summary(second).endswith("New since run 1 (2025-12-31T12:00:00.000Z): 1 of 2 errors and warnings.")


def test_the_ledger_keeps_the_report_of_an_audit_of_everything(ledger: Ledger):
    for _ in range(2):
        nightly(ledger, report(set_back(1)))
    kept = json.loads(ledger.report("nightly"))["data"]
    assert (kept["compared_with"], [each["new"] for each in kept["findings"]]) == (None, [None])


def test_a_report_in_the_ledger_that_cannot_be_read_makes_nothing_known(ledger: Ledger):
    run_incrementally(Auditor(report(set_back(1))), ledger, "nightly", lambda _: '{"data": {"findings": 7}}')
    assert codes(ledger, report(set_back(1)), report(set_back(1))) == [1, 0]


OWN = {"offsets.storage.topic": "own"}


def site(**facts: Any) -> FakeCluster:
    """Connector orders runs; returns was deleted."""
    known: dict[str, Any] = {
        "config_topic": config_topic(orders=OWN, returns=None),
        "topic_names": frozenset({"configs", "global", "own", "rows"}),
        "active_topics": {"orders": ("rows",)},
        "first_keys": (),
    }
    return cluster(**known | facts)


def found(reader: FakeCluster, *connectors: str, topics: tuple[str, ...] = ()) -> FoundTopics:
    return FoundTopics(reader, AuditRequest(OffsetsRequest(connectors, config_topic="configs"), topics=topics))


def test_a_connector_that_never_was_is_refused_before_its_topics_are_asked_for():
    reader = site(topic_names=AssertionError)
    with pytest.raises(UsageError) as caught:
        found(reader, "ordrs")
    assert caught.value.message == "connector ordrs does not exist, and the config topic does not mention it"
    assert caught.value.hint == "did you mean orders?"


@pytest.mark.parametrize(("name", "more"), [("orders", {"own", "rows"}), ("returns", set())])
def test_connectors_that_exist_or_were_deleted_can_be_audited_by_their_topics_alone(name, more):
    assert {each.name for each in found(site(), name).topics} == {"configs", "global"} | more


def test_topics_of_a_connector_that_were_not_asked_for_are_named():
    both = site(
        active_topics={"orders": ("rows", "more")}, topic_names=frozenset({"configs", "global", "rows", "more"})
    )
    asked = found(both, topics=("rows",))
    assert {each.name for each in asked.topics} >= {"configs", "global", "rows"}
    assert asked.left_out == {"orders": ("more",)}


def test_unread_facts_of_connectors_outside_the_request_are_no_gap():
    configs = {"orders": OWN, "bills": {"offsets.storage.topic": "hidden"}}
    two = site(
        config_topic=config_topic(**configs),
        connector_configs=configs,
        active_topics={"orders": ("rows",), "bills": ("paid",)},
    )
    assert "topic hidden" in found(two).unread
    assert found(two, topics=("rows",)).unread == {}
    assert found(two, "orders").unread == {}


def test_no_name_is_refused_where_deleted_connectors_are_unknown():
    reader = site(config_topic=Unreachable("no leader"))
    assert found(reader, "returns").connectors == ("orders",)


def test_a_topic_that_does_not_exist_leads_to_the_one_like_it():
    with pytest.raises(UsageError, match="topic row does not exist") as caught:
        found(site(topics={}), topics=("row",))
    assert caught.value.hint == "did you mean rows?"


def test_a_topic_that_may_not_be_described_is_denied_and_not_missing():
    denied = NotAuthorized(principal="User:tool", operation="Describe", resource="Topic secret")
    with pytest.raises(NotAuthorized, match="User:tool lacks Describe on topic secret"):
        found(site(topics=denied), topics=("secret",))
