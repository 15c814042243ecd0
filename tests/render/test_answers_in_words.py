"""What answers say in words, in which order, and what they leave out."""

import json
from types import SimpleNamespace as Answer
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.model.acls import AclBinding, Operation, topic, transactional_id
from eosctl.model.audit import AuditVerdict, ConnectorVerdict
from eosctl.model.connector_description import ListedConnectors
from eosctl.model.groups import ListedGroup
from eosctl.model.hanging import NO_LEADER, GroupReading
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.report import Explained, FindingKind, Severity
from eosctl.model.rules import Diagnosis, Rule, RuleAnswer, Versions, Whose
from eosctl.model.sandbox import SandboxEnvironment, SandboxStatus, StartedSandbox, StoppedSandbox
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread
from eosctl.model.source_audit import RowDifference
from eosctl.model.tracing import Absence, NoRecord
from eosctl.model.transactions import ActiveProducer, ProducerList
from eosctl.model.versions import KafkaVersion
from eosctl.render.answers import (
    acls,
    audit,
    connector_description,
    explanations,
    files,
    source_audit,
    timeline,
    tracing,
)
from eosctl.render.answers.connector_description import view_connector
from eosctl.render.answers.explanations import SHOWN, findings_page, view_explanations
from eosctl.render.answers.sandbox import (
    shell_lines,
    view_environment,
    view_started,
    view_status,
    view_stopped,
)
from eosctl.render.answers.transactions import view_producers
from tests.analysis.evidence import but
from tests.analysis.test_connector_description import show
from tests.render.test_connector_views import outputs, stability

GAP = Coverage(("a fact",), (Unread("a fact", "no answer", Cause.UNREACHABLE, needed=True),))
SHOWN_WHOLE = replace(show(but()), coverage=Coverage(), state="RUNNING", target_state=None, written_ms=None)
WHOLE = replace(SHOWN_WHOLE, diagnosis=Diagnosis(SHOWN_WHOLE.diagnosis.evidence, ()))
UNREAD = Skipped("no answer")
KIND = FindingKind("EOS999", "a-name", "a title", Severity.ERROR, "a cause", "do this", "a class")
RULE = Rule(KIND, "is it so?", ("broker_settings",), lambda _: ())


@pytest.mark.parametrize(
    ("found", "complete"),
    [
        (WHOLE, True),
        (replace(WHOLE, state=None), True),
        (replace(WHOLE, state=UNREAD), False),
        (replace(WHOLE, target_state=UNREAD), False),
        (replace(WHOLE, written_ms=1), False),
        (replace(WHOLE, coverage=GAP), False),
        (replace(WHOLE, diagnosis=Diagnosis(WHOLE.diagnosis.evidence, (RuleAnswer(RULE),))), True),
        (replace(WHOLE, diagnosis=Diagnosis(WHOLE.diagnosis.evidence, (RuleAnswer(RULE, complete=False),))), False),
    ],
)
def test_a_connector_is_shown_completely_where_workers_and_rules_answered(found, complete: bool) -> None:
    assert found.complete is complete


def test_a_list_of_connectors_is_complete_where_workers_answered_and_nothing_was_unread() -> None:
    listed = ListedConnectors(as_of=1, cluster_id="k", group_id="g", connectors=())
    assert listed.complete
    assert not replace(listed, unanswered=UNREAD).complete
    assert not replace(listed, coverage=GAP).complete


@pytest.mark.parametrize(
    ("committed", "words"),
    [
        ({TopicPartition("a", 0): 4, TopicPartition("a", 1): 12}, "group g reads a (2 partitions): lag 6"),
        ({TopicPartition("a", 0): 4}, "group g reads a (2 partitions): lag 16"),
        ({}, "group g reads a (2 partitions): lag 20"),
    ],
)
def test_a_sinks_lag_is_what_lies_before_the_last_stable_offsets(committed, words: str) -> None:
    group = GroupReading(ListedGroup("g", "consumer", "Stable"), committed)
    found = replace(outputs(stability("a", 0), stability("a", 1)), group=group)
    assert view_connector(replace(WHOLE, outputs=found)).data["connector"]["output_words"] == words
    nothing = replace(outputs(), group=group)
    said = view_connector(replace(WHOLE, outputs=nothing)).data["connector"]["output_words"]
    assert said == "group g reads nothing yet: lag 0"


@pytest.mark.parametrize(
    ("cause", "brief"),
    [
        ("FAILED: org.apache.kafka.common.errors.TimeoutException: late", "TimeoutException"),
        ("FAILED: plain", "plain"),
        ("FAILED", "-"),
    ],
)
def test_beside_failed_tasks_a_cause_is_the_name_of_its_exception(cause: str, brief: str) -> None:
    assert connector_description._brief_cause({"cause": cause}) == brief


@pytest.mark.parametrize(("length", "end"), [(SHOWN, "x."), (SHOWN + 1, "x….")])
def test_a_text_without_an_entry_is_repeated_up_to_a_length(length: int, end: str) -> None:
    [said] = view_explanations(Explained(text="x" * length, explanations=())).prose
    assert said == f"No entry matches: {'x' * SHOWN}{end[1:]} `eosctl explain --list` lists all entries."


@pytest.mark.parametrize(
    ("rule", "proofs", "heading", "small"),
    [
        (None, {}, "*error.*", "Reported by: `audit`. Source: a class."),
        (
            RULE,
            {"EOS999": "a test"},
            "*error.* is it so?",
            "Needs: broker settings. Reported by: `audit`. Source: a class.",
        ),
        (
            replace(RULE, needs=(), blocks=frozenset({"enabled", "disabled"}), unproven="it takes a year"),
            {},
            "*error.* is it so?",
            "Needs: any evidence. Blocks: disabled, enabled. Reported by: `audit`. Source: a class. "
            "Not tested on a real cluster: it takes a year.",
        ),
        (
            replace(RULE, versions=Versions(Whose.WORKERS, KafkaVersion(3, 7))),
            {"EOS999": "a test"},
            f"*error, {Versions(Whose.WORKERS, KafkaVersion(3, 7))}.* is it so?",
            "Needs: broker settings.",
        ),
    ],
)
def test_the_page_of_findings_has_what_each_rule_needs_and_blocks(rule, proofs, heading: str, small: str) -> None:
    kind = replace(KIND, fix="is it meant?")
    page = findings_page({"theme": [(kind, rule, ["audit"])]}, {"theme": range(900, 1000)}, proofs)
    assert f"### EOS999: a title\n\n`a-name`, {heading}\n\na cause\n\nFix: is it meant?\n\n{small}" in page
    assert "| EOS900 to EOS999 | theme |" in page
    assert "Fix: Do this.\n" in findings_page({"t": [(replace(KIND, fix="Do this."), None, [])]}, {}, {})


STATE: dict[str, Any] = {
    "bootstrap_servers": "a:9092",
    "connect_urls": ["http://a:8083", "http://b:8083"],
    "group_id": "g",
    "users": {"me": "secret"},
    "classpath": "x.jar",
    "java": "java",
    "postgresql_url": None,
    "cluster_id": "k",
    "processes": [{"name": "broker"}],
}


def table(**given: Any) -> Answer:
    return Answer(**{"rows": 0, "counts": {}, "sample_of": None, "unseen_at_most": None} | given)


def test_a_shell_gets_the_sandboxs_addresses_and_loses_those_of_another() -> None:
    assert shell_lines(SandboxEnvironment(STATE)).splitlines() == [
        "export EOSCTL_BOOTSTRAP_SERVER=a:9092",
        "export EOSCTL_CONNECT_URL='http://a:8083 http://b:8083'",
        "export EOSCTL_GROUP_ID=g",
    ]
    alone = shell_lines(SandboxEnvironment(STATE | {"connect_urls": []})).splitlines()
    assert alone[1:] == ["unset EOSCTL_CONNECT_URL", "unset EOSCTL_GROUP_ID"]


def test_an_environment_has_the_postgresql_only_where_there_is_one() -> None:
    assert "processes" not in view_environment(SandboxEnvironment(STATE)).data
    without, beside = (
        [each.path for each in view_environment(SandboxEnvironment(STATE | {"postgresql_url": url})).blocks[0].columns]
        for url in (None, "postgresql://")
    )
    assert beside[: len(without)] == without
    assert len(beside) > len(without)


@pytest.mark.parametrize(
    ("already_up", "silent", "other", "words"),
    [
        (False, (), (), ("The sandbox is up.",)),
        (True, (), (), ("The sandbox is already up.",)),
        (
            True,
            ("broker", "worker"),
            ("--connect 2",),
            (
                "The sandbox is already up.",
                "These do not answer: broker, worker. Take it down, and up again.",
                "It was started with other options: --connect 2. Take it down to change that.",
            ),
        ),
    ],
)
def test_a_sandbox_that_was_up_is_told_from_one_that_was_started(already_up, silent, other, words) -> None:
    shown = view_started(StartedSandbox(STATE, already_up, other_options=other, silent=silent))
    assert shown.prose == words
    assert not {"users", "classpath", "java", "postgresql_url"} & shown.data.keys()


@pytest.mark.parametrize(
    ("was_up", "removed", "words"),
    [
        (True, False, "The sandbox in /s is down; its data and logs remain."),
        (True, True, "The sandbox in /s is down; its data is removed."),
        (False, False, "No sandbox was up in /s; nothing changed."),
    ],
)
def test_a_sandbox_that_is_down_keeps_its_data_unless_it_was_removed(was_up: bool, removed: bool, words: str) -> None:
    assert view_stopped(StoppedSandbox("/s", was_up, removed)).prose == (words,)


@pytest.mark.parametrize(
    ("bound", "words"),
    [(0, "0"), (1, "1"), (2, "≤2"), (511, "≤511"), (None, "-"), (Skipped("no answer"), "unknown")],
)
def test_the_end_of_a_bucket_is_exact_where_it_holds_one_figure(bound, words: str) -> None:
    told = audit.at_most_words({"skipped": bound.reason} if isinstance(bound, Skipped) else bound)
    assert told == words


@pytest.mark.parametrize(
    ("unread", "words"),
    [
        ({}, "5 records, of which 2 are here"),
        ({0: UNREAD}, "5 records, of which 2 are here; 1 partition could not be read"),
    ],
)
def test_a_kept_log_is_counted_with_the_partitions_that_were_not_read(unread, words: str) -> None:
    assert files._log(Answer(read=5, records=(1, 2), unread=unread)) == words  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("leaders", "words"),
    [((3, 0), "2 in 2 partitions"), ((3, NO_LEADER), "2 in 2 partitions; 1 partitions had no leader that answered")],
)
def test_kept_producers_are_counted_with_the_partitions_that_had_no_leader(leaders, words: str) -> None:
    partitions = {at: Answer(producers=(at,), leader=each) for at, each in enumerate(leaders)}
    assert files._producers(Answer(partitions=partitions)) == words  # type: ignore[arg-type]


@pytest.mark.parametrize(("reasons", "words"), [((), None), (("a",), "a"), (("a", "b"), "a; b")])
def test_the_reasons_of_a_verdict_are_one_cell_or_none(reasons: tuple[str, ...], words: str | None) -> None:
    verdict = ConnectorVerdict("c", AuditVerdict.CANNOT_TELL, reasons=reasons)
    assert audit._connector_row(verdict).words == words


@pytest.mark.parametrize(("starts", "words"), [((), "0 producers, 0"), ((None, 0, 7), "3 producers, 2")])
def test_producers_with_an_open_transaction_are_counted(starts: tuple[int | None, ...], words: str) -> None:
    place = TopicPartition("t", 0)
    producers = tuple(ActiveProducer(place, ProducerIdAndEpoch(9, 1), 0, 0, 4, start) for start in starts)
    found = ProducerList(
        as_of=0, cluster_id="k", producers=producers, transactional_ids={}, owners={}, not_searched=(), notes=()
    )
    document = view_producers(found)
    assert document.prose == (f"{words} with a transaction open in the partition.",)
    assert [each["last_time"] for each in document.data["producers"]] == ["1970-01-01T00:00:00.000Z"] * len(starts)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ((), "cannot-tell: 0 rows of 0 tables compared with the last record of each key; 0 keys differ."),
        (
            (table(rows=3, counts={RowDifference.MISSING: 1}), table(rows=1_000, counts={RowDifference.EXTRA: 2})),
            "cannot-tell: 1,003 rows of 2 tables compared with the last record of each key; 3 keys differ.",
        ),
        (
            (table(rows=3, sample_of=1_500, unseen_at_most=4), table(rows=2), table(rows=1, sample_of=10)),
            "cannot-tell: 6 rows of 3 tables, a sample of 1,510 compared with the last record of each key; 0 keys "
            "differ. At most 4 rows may be missing or differ unseen (95 %).",
        ),
        ((table(rows=3, sample_of=9),), "cannot-tell: 3 rows of 1 table, a sample of 9 compared with the last record"),
    ],
)
def test_an_audit_against_the_source_is_summed_up(tables, words: str) -> None:
    report = Answer(tables=tables, verdict=AuditVerdict.CANNOT_TELL)
    assert source_audit.summary(report).startswith(words)  # type: ignore[arg-type]


def test_the_status_of_a_sandbox_has_no_password() -> None:
    shown = view_status(SandboxStatus(1, "/s", STATE, {"broker": True})).data
    assert shown["processes"] == [{"name": "broker", "ready": True}]
    assert not {"users", "classpath", "java", "postgresql_url"} & shown.keys()
    assert shown["bootstrap_servers"] == "a:9092"
    gone = view_status(SandboxStatus(1, "/s", None, {}))
    assert (gone.data["up"], gone.prose) == (False, ("No sandbox is up in /s.",))


@pytest.mark.parametrize(
    ("row", "who"),
    [
        ({"worker": "w", "transactional_id": "id", "who": "x"}, "w"),
        ({"worker": None, "transactional_id": "id", "who": "x"}, "id"),
        ({"worker": None, "transactional_id": None, "who": "x"}, "x"),
        ({"worker": None, "transactional_id": None, "who": None}, "-"),
    ],
)
def test_an_event_is_of_its_worker_before_its_id(row, who: str) -> None:
    assert timeline._brief_who(row) == who


def test_events_of_one_connector_do_not_repeat_its_name() -> None:
    pairs = zip(timeline.EVENTS.columns, timeline.OF_ONE_CONNECTOR.columns, strict=True)
    changed = [now for before, now in pairs if before != now]
    assert [each.path for each in changed] == ["connector"]
    assert changed[0].brief is not None
    assert changed[0].brief({"connector": "orders"}) == "-"


@pytest.mark.parametrize(("offset", "said"), [(0, "t-0@0 is no record: it is gone."), (-1, "it is gone.")])
def test_an_offset_without_a_record_is_named_where_it_is_known(offset: int, said: str) -> None:
    nothing = NoRecord(TopicPartition("t", 0), offset, next(iter(Absence)), "it is gone")
    traced: Any = Answer(record=nothing, extents=())
    assert tracing._prose(traced) == [said]


@pytest.mark.parametrize(("count", "named"), [(5, "n0, n1, n2, n3, n4"), (6, "n0, n1, n2, n3, n4 and 1 more")])
def test_connectors_that_a_verdict_covers_are_named_up_to_five(count: int, named: str) -> None:
    judged = [Answer(name=f"n{number}", covers=("order",), not_covered=("keys",)) for number in range(count)]
    report: Any = Answer(connectors=[*judged, Answer(name="other", covers=(), not_covered=("keys",))])
    assert audit.coverage_notes(report) == (f"covered: order ({named})", "not covered: keys")


@pytest.mark.parametrize(
    ("operation", "pattern", "granted"),
    [
        (Operation.WRITE, transactional_id("x"), True),
        (Operation.DESCRIBE, transactional_id("x"), False),
        (Operation.WRITE, topic("x"), False),
    ],
)
def test_only_writing_under_a_transactional_id_writes_idempotently_on_msk(operation, pattern, granted: bool) -> None:
    around: Any = Answer(msk_cluster="arn:aws:kafka:eu-central-1:1:cluster/c/1")
    text = acls.msk_policies([AclBinding("User:a", operation, pattern)], around)
    actions = [each for statement in json.loads(text)["User:a"]["Statement"] for each in statement["Action"]]
    assert ("kafka-cluster:WriteDataIdempotently" in actions) is granted


@pytest.mark.parametrize(("fix", "sentence"), [("do", "do."), ("do.", "do."), ("do...", "do."), ("do?", "do?")])
def test_a_fix_is_a_sentence(fix: str, sentence: str) -> None:
    assert explanations._sentence(fix) == sentence
