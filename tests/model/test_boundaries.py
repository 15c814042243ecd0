"""Small nouns at their boundaries: one below, at and above, and what is unknown."""

from datetime import date
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from eosctl.errors import Undecodable, UsageError
from eosctl.model.acls import AclBinding, Operation, PatternType, ResourcePattern, topic
from eosctl.model.audit import MARKERS_MS, RecordCount, count_words, longest_transaction_ms
from eosctl.model.certification import FAULTS, FaultKind, Round, RoundResult, RoundVerdict, fault_kinds
from eosctl.model.client_properties import HIDDEN, MIRROR_CLIENT_KEYS, Property
from eosctl.model.client_roles import WorkerConfig, known_value
from eosctl.model.names import (
    ConnectorTaskId,
    ProducerIdAndEpoch,
    Side,
    TopicPartition,
    stem_and_task,
    task_transactional_id,
)
from eosctl.model.plan import (
    CreateAcls,
    DeleteAcls,
    DeleteConnector,
    FenceProducers,
    ManualStep,
    Plan,
    PlannedStep,
    PlanTarget,
    StopConnector,
    WriteOffsets,
    demanded_steps,
    groups_concerned,
    lacking,
)
from eosctl.model.preconditions import (
    NOTHING_OPEN,
    AclsPresent,
    ClusterIs,
    ConnectorStopped,
    OpenPart,
    TopicIsCompact,
    TransactionNow,
)
from eosctl.model.probe import LONGEST, plan_probe
from eosctl.model.records import first_time
from eosctl.model.report import FindingKind, OlderFix, Severity, Waiver
from eosctl.model.skipped import Cause, Skipped, Unread
from eosctl.model.source_audit import CapturedTable, ColumnKind, TableColumn
from eosctl.model.text import escaped_in_lines, first_few
from eosctl.model.times import ClusterClock, duration_ms, lasting
from eosctl.model.tracing import LoggedTransaction
from eosctl.model.transactions import (
    ActiveProducer,
    ListedTransaction,
    Ownership,
    Selection,
    TaskOwner,
    TransactionDescription,
    TransactionState,
    why_undescribed,
)
from eosctl.model.versions import KafkaVersion
from eosctl.model.whole_numbers import whole, whole_number
from eosctl.model.workers import WorkerFacts, host_port, is_loopback, oldest_version


@pytest.mark.parametrize(
    ("transactional_id", "found"),
    [
        ("g-c-0", ("g-c", 0)),
        ("g-c-10", ("g-c", 10)),
        ("-0", ("", 0)),
        ("0", None),
        ("g-c-", None),
        ("g-c-00", None),
        ("g-c-01", None),
        ("g-c-1x", None),
        ("g-c--1", ("g-c-", 1)),
        ("g-c-9999999999", ("g-c", 9_999_999_999)),
        ("g-c-10000000000", None),
        ("g-c-\u0663", ("g-c", 3)),
        ("g-c-\u0660\u0663", None),
    ],
)
def test_an_id_may_be_a_tasks_if_it_ends_with_a_number_as_java_writes_one(transactional_id: str, found):
    """An ID that is wrongly taken for no task's is fenced beside a live task; one wrongly taken for a task's is
    refused."""
    assert stem_and_task(transactional_id) == found


def test_the_id_of_a_task_is_read_back():
    assert stem_and_task(task_transactional_id("g", ConnectorTaskId("a-1", 7))) == ("g-a-1", 7)


@pytest.mark.parametrize(
    ("words", "subject", "covered"),
    [
        (("EOS080", "shadowed-offset"), "orders", True),
        (("eos080",), "orders", True),
        (("EOS081",), "orders", False),
        (("EOS080",), "bills", False),
        (("EOS080",), "Orders", False),
        ((), "orders", False),
    ],
)
def test_a_waiver_covers_its_finding_of_its_subject_and_nothing_else(words, subject: str, covered: bool):
    """An accepted finding is one that nobody looks at any more."""
    waiver = Waiver("EOS080", "ord*", "me", "known", date(2026, 1, 1))
    assert waiver.covers(words, subject) is covered


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("needed", [True, False])
def test_a_required_fact_that_should_be_readable_is_a_gap(cause: Cause, needed: bool):
    """Unknown is not fine: only facts that were not requested, are not in use, or differ, are no gap."""
    fine = cause in {Cause.NOT_ASKED, Cause.NOT_IN_USE, Cause.MIXED}
    assert cause.is_gap is not fine
    assert Unread("a fact", "why", cause, needed).is_gap is (needed and not fine)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://w:8083", "w:8083"),
        ("http://W:8083/", "w:8083"),
        ("https://user:secret@w:8443/connectors", "w:8443"),
        ("http://w", "w:80"),
        ("https://w", "w:443"),
        ("w", "w:80"),
        ("w:8083", "w:8083"),
        ("http://w:", "w::80"),
        ("http://8083", "8083:80"),
        ("http://[::1]:8083", "[::1]:8083"),
    ],
)
def test_two_spellings_of_a_workers_address_are_one_place(url: str, place: str):
    assert host_port(url) == place


@pytest.mark.parametrize(
    ("place", "loops"),
    [("localhost:1", True), ("[::1]:1", True), ("127.0.0.1:1", True), ("127.9:1", True), ("128.0.0.1:1", False),
     ("localhost.example:1", False), ("[::2]:1", False)],
)  # fmt: skip
def test_an_address_of_this_host_is_known_by_its_name(place: str, loops: bool):
    assert is_loopback(place) is loops


@pytest.mark.parametrize(("count", "more"), [(0, False), (1, False), (3, False), (40, True)])
def test_the_first_few_are_named_and_the_others_counted(count: int, more: bool):
    listing = first_few([f"n{number}" for number in range(count)])
    assert ("more" in listing) is more
    assert count == 0 or listing.startswith("n0")


NO_ANSWER = Skipped("no answer")


def worker(version: str) -> WorkerFacts:
    return WorkerFacts("http://w:8083", version, "k")


@pytest.mark.parametrize(
    ("workers", "oldest"),
    [
        ((worker("4.0.0"), worker("3.9.2"), worker("4.3.1")), "3.9.2"),
        ((NO_ANSWER, worker("4.0.0")), "4.0.0"),
        ((worker("unknown"), worker("4.0.0")), "4.0.0"),
        ((NO_ANSWER,), "no answer"),
        ((NO_ANSWER, worker("unknown")), "http://w:8083 names no version: 'unknown'"),
        ((), "no worker was asked for its version"),
    ],
)
def test_the_oldest_version_is_of_the_workers_that_name_one_and_unknown_without_any(workers, oldest: str):
    found = oldest_version(workers)
    assert (found.reason if isinstance(found, Skipped) else str(found)) == oldest
    assert isinstance(found, Skipped | KafkaVersion)


@pytest.mark.parametrize(
    ("prefix", "factor", "refused"),
    [
        ("a.B_9-", 1, False),
        ("a" * LONGEST, -1, False),
        ("_a", 3, False),
        ("", 1, True),
        ("__a", 1, True),
        ("a b", 1, True),
        ("a" * (LONGEST + 1), 1, True),
        ("a", 0, True),
        ("a", -2, True),
    ],
)
def test_a_probe_takes_only_a_prefix_of_a_topic_and_a_replication_factor_that_brokers_accept(prefix, factor, refused):
    if refused:
        with pytest.raises(UsageError):
            plan_probe(prefix, "1", factor, 5)
    else:
        assert plan_probe(prefix, "1", factor, 5).name == f"{prefix}1"


def written(connector: str, transactional_id: str, side: Side = Side.SOURCE) -> WriteOffsets:
    return WriteOffsets(side, "offsets", connector, transactional_id, 60_000, (), "", "", "")


def fenced(*ids: str, side: Side = Side.SOURCE) -> FenceProducers:
    return FenceProducers(side, ids, 60_000)


@pytest.mark.parametrize(
    ("steps", "groups"),
    [
        ([written("c", "g-c-0")], {Side.SOURCE: {"g"}}),
        ([written("c", "g-c-0", Side.TARGET), fenced("h-c-0", "h-c-1")], {Side.SOURCE: {"h"}, Side.TARGET: {"g"}}),
        ([written("b-c", "a-b-c-0"), written("c", "a-b-c-0")], {Side.SOURCE: {"a"}}),
        ([fenced("g-c-0")], {}),
        ([written("c", "g-d-0")], {}),
    ],
)
def test_a_plan_concerns_the_groups_whose_ids_it_fences_or_writes_as_by_the_longest_name_that_fits(steps, groups):
    found = groups_concerned(Plan("p", 0, tuple(map(PlannedStep, steps))))
    assert {side: set(each) for side, each in found.items()} == groups


HERE = ClusterIs(Side.SOURCE, "k")
STOPPED = ConnectorStopped(Side.SOURCE, "c")
COMPACT = TopicIsCompact(Side.SOURCE, "offsets", 25)


@pytest.mark.parametrize(
    ("step", "given", "missing"),
    [
        (written("c", "g-c-0"), (HERE, STOPPED, COMPACT), []),
        (written("c", "g-c-0"), (STOPPED, COMPACT), ["which cluster the source is"]),
        (written("c", "g-c-0"), (ClusterIs(Side.TARGET, "k"), STOPPED, COMPACT), ["which cluster the source is"]),
        (written("c", "g-c-0"), (HERE, COMPACT), ["that connector c is stopped"]),
        (written("c", "g-c-0"), (HERE, STOPPED), ["that topic offsets is compact"]),
        (
            written("c", "g-c-0"),
            (HERE, STOPPED, TopicIsCompact(Side.TARGET, "offsets", 25)),
            ["that topic offsets is compact"],
        ),
        (
            written("c", "g-c-0"),
            (HERE, STOPPED, TopicIsCompact(Side.SOURCE, "other", 25)),
            ["that topic offsets is compact"],
        ),
        (fenced("g-c-0", "g-c-11"), (HERE, STOPPED), []),
        (fenced("g-c-0", "g-d-0"), (HERE, STOPPED), ["that the connector of g-d-0 is stopped"]),
        (fenced("g-c-x"), (HERE, STOPPED), ["that the connector of g-c-x is stopped"]),
        (fenced("g-c-0"), (HERE,), ["that the connector of g-c-0 is stopped"]),
        (fenced(), (HERE,), ["that the connector of the IDs is stopped"]),
        (DeleteConnector(Side.SOURCE, "c", "c.json", "sha256:1"), (HERE,), ["that connector c is stopped"]),
        (ManualStep("look"), (), []),
    ],
)
def test_a_step_lacks_what_only_its_author_could_know(step, given, missing):
    found = lacking(Plan("p", 0, (PlannedStep(step, given),)))
    assert [each.partition(") lacks the precondition ")[2] for each in found] == missing


@pytest.mark.parametrize(
    ("side", "given", "places", "missing"),
    [
        (Side.TARGET, Side.SOURCE, (Side.SOURCE, Side.TARGET), []),
        (Side.TARGET, Side.SOURCE, (Side.SOURCE,), ["that connector d is stopped"]),
        (Side.TARGET, Side.SOURCE, (), ["that connector d is stopped"]),
        (Side.TARGET, Side.TARGET, (Side.SOURCE, Side.TARGET), ["that connector d is stopped"]),
        (Side.SOURCE, Side.SOURCE, (Side.SOURCE, Side.TARGET), ["that connector d is stopped"]),
    ],
)
def test_a_connector_of_a_connect_cluster_that_cannot_be_seen_need_not_be_stopped(side, given, places, missing):
    step = DeleteConnector(side, "d", "d.json", "sha256:1")
    preconditions = (ClusterIs(side, "k"), ConnectorStopped(given, "c"))
    targets = tuple(PlanTarget(each, ("b:1",)) for each in places)
    found = lacking(Plan("p", 0, (PlannedStep(step, preconditions),), places=targets))
    assert [each.partition(") lacks the precondition ")[2] for each in found] == missing


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        (1, "1 transactional ID is unknown: r0"),
        (3, "3 transactional IDs are unknown: r0; r1; r2"),
        (4, "4 transactional IDs are unknown: r0; r1; r2; and 1 more reasons"),
    ],
)
def test_three_reasons_why_ids_are_unknown_are_told(count: int, reason: str):
    found = why_undescribed({str(number): Skipped(f"r{number}") for number in range(count)})
    assert found is not None
    assert found.reason == reason
    assert why_undescribed({}) is None


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("5ms", 5), ("90s", 90_000), ("30m", 1_800_000), ("30min", 1_800_000), (" 2h ", 7_200_000), ("7d", 604_800_000),
        ("1w", 604_800_000), ("999999999ms", 999_999_999), ("1000000000ms", None), ("s", None), ("1", None),
        ("1 s", None), ("-1s", None), ("1y", None), ("", None),
    ],
)  # fmt: skip
def test_a_duration_is_a_count_and_a_unit(text: str, ms: int | None):
    assert duration_ms(text) == ms


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        (1999, "1999 ms"), (2000, "2.0 s"), (9999, "10.0 s"), (10_000, "10 s"), (119_999, "120 s"),
        (120_000, "2.0 min"), (7_199_999, "120 min"), (7_200_000, "2.0 h"), (172_800_000, "2.0 d"),
    ],
)  # fmt: skip
def test_a_duration_is_told_in_the_largest_unit_of_which_it_has_two(duration: int, words: str):
    assert lasting(duration) == words


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        (" 7 ", 7),
        ("+7", 7),
        ("-7", -7),
        ("9" * 19, int("9" * 19)),
        ("9" * 20, None),
        ("", None),
        ("7.0", None),
    ],
)
def test_a_whole_number_has_as_many_digits_as_a_java_long(text: str, number: int | None):
    assert whole(text) == number
    if number is None:
        with pytest.raises(Undecodable, match=r"^a setting is '.*', which is no whole number$"):
            whole_number(text, "a setting")
    else:
        assert whole_number(text, "a setting") == number


@pytest.mark.parametrize(("length", "shown"), [(19, "x" * 19), (20, "x" * 19 + "…")])
def test_a_long_text_that_is_no_number_is_cut(length: int, shown: str):
    with pytest.raises(Undecodable, match=f"is '{shown}', which"):
        whole_number("x" * length, "a setting")


@pytest.mark.parametrize(
    ("base", "latest", "first"), [(5, 9, 5), (5, 5, 5), (0, 9, 0), (-1, 9, 9), (10, 9, 9), (-1, -1, -1)]
)
def test_the_first_time_of_a_batch_is_its_latest_where_compaction_put_another_one_there(base, latest, first):
    assert first_time(BatchTimesAre(base, latest)) == first


class BatchTimesAre(NamedTuple):
    base_timestamp: int
    max_timestamp: int


@pytest.mark.parametrize(
    ("count", "words"),
    [
        ((0, 0), ()),
        ((0, None), ("an unknown number of records may have been lost",)),
        ((1, None), ("at least 1 record were lost",)),
        ((1, 1), ("1 record was lost",)),
        ((0, 1), ("0 to 1 record were lost",)),
        ((1, 2), ("1 to 2 records were lost",)),
        ((2, 2), ("2 records were lost",)),
    ],
)
def test_a_number_of_records_is_told_with_its_bounds(count: tuple[int, int | None], words: tuple[str, ...]):
    assert count_words(RecordCount(*count), "lost") == words


@pytest.mark.parametrize(
    ("settings", "longest"),
    [
        ([], 900_000 + 10_000),
        ([{}], 900_000 + 10_000),
        ([{"transaction.max.timeout.ms": "0"}], 10_000),
        ([{"transaction.max.timeout.ms": "60000"}, {"transaction.max.timeout.ms": "1000"}], 60_000 + 10_000),
        ([{"transaction.max.timeout.ms": "x"}], 900_000 + 10_000),
    ],
)
def test_the_longest_transaction_is_that_of_the_most_patient_broker(settings, longest):
    assert longest_transaction_ms(settings) == longest + MARKERS_MS


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_text_of_several_lines_keeps_its_line_feeds_and_tabs_and_nothing_else_that_is_unseen(kept: int):
    given, shown = [("a\tb\n", "a\tb\n"), ("a\x00b", "a\\u0000b"), ("a\U000e0001", "a\\U000e0001")][kept]
    assert escaped_in_lines(given) == shown


CREATED = (AclBinding("User:a", Operation.READ, topic("t")), AclBinding("User:a", Operation.READ, topic("u")))
FIRST, BOTH = AclsPresent(Side.SOURCE, CREATED[:1]), AclsPresent(Side.SOURCE, CREATED)


@pytest.mark.parametrize(
    ("created", "given", "wanted"),
    [
        (CreateAcls(Side.SOURCE, CREATED), (), (AclsPresent(Side.SOURCE, CREATED),)),
        (CreateAcls(Side.SOURCE, CREATED), (AclsPresent(Side.SOURCE, CREATED),), (AclsPresent(Side.SOURCE, CREATED),)),
        (
            CreateAcls(Side.SOURCE, CREATED[:1]),
            (AclsPresent(Side.SOURCE, CREATED),),
            (AclsPresent(Side.SOURCE, CREATED),),
        ),
        (
            CreateAcls(Side.SOURCE, CREATED),
            (AclsPresent(Side.SOURCE, CREATED[:1]),),
            (AclsPresent(Side.SOURCE, CREATED[:1]), AclsPresent(Side.SOURCE, CREATED)),
        ),
        (CreateAcls(Side.TARGET, CREATED), (), ()),
        (StopConnector(Side.SOURCE, "c"), (), ()),
    ],
    ids=["nothing given", "given", "given with more", "given in part", "of the other cluster", "another step"],
)
def test_acls_are_removed_only_while_those_are_there_that_the_plan_created_before(created, given, wanted):
    removed = PlannedStep(DeleteAcls(Side.SOURCE, (CREATED[0],)), given)
    steps = demanded_steps(Plan("p", 0, (PlannedStep(created), removed)))
    assert tuple(each for each in steps[1].preconditions if isinstance(each, AclsPresent)) == wanted


PLACE = TopicPartition("t", 0)
PRODUCER = ProducerIdAndEpoch(7, 1)


@pytest.mark.parametrize(
    ("active", "start"),
    [
        (ActiveProducer(PLACE, PRODUCER, 4, 1, 0, 9), 9),
        (ActiveProducer(PLACE, PRODUCER, 4, 1, 0, 0), 0),
        (ActiveProducer(PLACE, PRODUCER, 4, 1, 0, None), NOTHING_OPEN),
        (ActiveProducer(PLACE, ProducerIdAndEpoch(7, 2), 4, 1, 0, 9), NOTHING_OPEN),
        (ActiveProducer(TopicPartition("u", 0), PRODUCER, 4, 1, 0, 9), NOTHING_OPEN),
    ],
    ids=["open", "from the first offset", "ended", "of another epoch", "elsewhere"],
)
def test_a_part_of_a_transaction_begins_where_its_own_producer_has_it_open(active: ActiveProducer, start: int):
    described = TransactionDescription("x", TransactionState.ONGOING, PRODUCER, 60_000, 5, (PLACE,), 1)
    now = TransactionNow.ongoing(described, (active,), ())
    last = NOTHING_OPEN if start == NOTHING_OPEN else 4
    assert (now.parts, now.started_ms) == ({PLACE: OpenPart("t", 0, start, last)}, 5)
    unread = TransactionNow.ongoing(described, (active,), (PLACE,)).parts[PLACE]
    assert isinstance(unread, Skipped)


@pytest.mark.parametrize(
    ("properties", "known_by"),
    [
        (
            {"exactly.once.source.support": Property("enabled", "w.properties exactly.once.source.support")},
            "w.properties",
        ),
        ({"group.id": Property("g", "w.properties group.id")}, "w.properties, which does not set it"),
        ({}, ", which does not set it"),
    ],
)
def test_a_phase_is_known_by_the_file_that_sets_it_or_does_not(properties, known_by: str):
    assert WorkerConfig(properties).phase_known_by == known_by


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (Property(" a ", "f a"), "a"),
        (Property(HIDDEN, "f a"), "the value of f a is hidden"),
        (Property(HIDDEN, ""), "the value of key is hidden"),
        (Property("${env:A}", ""), "key is ${env:A}, a reference that only the worker resolves"),
    ],
)
def test_a_value_that_the_worker_alone_knows_is_not_known(found: Property, value: str):
    known = known_value("key", found)
    assert (known.reason if isinstance(known, Skipped) else known) == value


def test_a_mirror_maker_takes_tls_sasl_and_the_servers_of_a_whole_cluster_and_nothing_else():
    assert {"bootstrap.servers", "security.protocol", "ssl.protocol", "sasl.jaas.config"} <= MIRROR_CLIENT_KEYS
    assert not {"client.id", "acks", "max.poll.records", "security.providers"} & MIRROR_CLIENT_KEYS


def test_the_key_of_a_table_has_its_columns_in_the_order_of_the_key():
    columns = tuple(
        TableColumn(name, "int", ColumnKind.INTEGER, key=key) for name, key in (("a", 2), ("b", None), ("c", 1))
    )
    assert [each.name for each in CapturedTable("s", "t", "topic", columns).key] == ["c", "a"]


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        (topic("a"), "a", True),
        (topic("a"), "ab", False),
        (topic("*"), "a", True),
        (topic("*"), "*", True),
        (topic("*"), "*a", False),
        (topic("a", PatternType.PREFIXED), "ab", True),
        (topic("a", PatternType.PREFIXED), "b", False),
    ],
)
def test_a_pattern_matches_its_name_a_beginning_or_any_name(pattern: ResourcePattern, name: str, matches: bool):
    assert pattern.matches(name) is matches


@pytest.mark.parametrize(
    ("verdict", "aborted", "judged"),
    [
        (RoundVerdict.HELD, 0, True),
        (RoundVerdict.FAILED, 0, True),
        (RoundVerdict.CANNOT_TELL, 0, False),
        (RoundVerdict.CANNOT_TELL, 1, True),
    ],
)
def test_a_round_without_a_verdict_is_judged_only_where_the_connector_may_have_aborted(verdict, aborted, judged):
    assert RoundResult(round=Round(0, FAULTS[0].fault, ()), verdict=verdict, aborted=aborted).is_judged is judged


LATEST, OLDEST = KafkaVersion(99, 0), KafkaVersion(0, 1)


@pytest.mark.parametrize("kind", FAULTS, ids=lambda each: each.fault.value)
def test_a_fault_is_made_where_its_processes_version_and_state_are_there(kind: FaultKind):
    name, enough = kind.fault.value, (kind.brokers, kind.workers, kind.since)
    assert fault_kinds([name], *enough, has_state=kind.of_state) == (kind,)
    assert (kind in fault_kinds([], *enough, has_state=kind.of_state)) is kind.is_default
    lacking = {
        "more processes": [(kind.brokers - 1, *enough[1:]), (kind.brokers, kind.workers - 1, kind.since)],
        "cannot do that": [(*enough[:2], OLDEST)],
    }
    for words, given in lacking.items():
        for each in given:
            with pytest.raises(UsageError, match=words):
                fault_kinds([name], *each, has_state=True)
            assert kind not in fault_kinds([], *each, has_state=True)
    if kind.of_state:
        with pytest.raises(UsageError, match="needs the connector's state"):
            fault_kinds([name], *enough)
        assert kind not in fault_kinds([], *enough)


def test_a_fault_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(UsageError, match="--faults x: no such fault"):
        fault_kinds(["x"], 9, 9, LATEST)


OLDER = OlderFix(KafkaVersion(3, 7), "restart the worker")
KIND = FindingKind("EOS999", "a-name", "a title", Severity.ERROR, "a cause", "the fix", "a class", older=OLDER)


@pytest.mark.parametrize(
    ("older", "version", "fix"),
    [
        (OLDER, KafkaVersion(3, 6), "restart the worker"),
        (OLDER, KafkaVersion(3, 7), "the fix"),
        (OLDER, KafkaVersion(3, 8), "the fix"),
        (None, KafkaVersion(3, 6), "the fix"),
    ],
)
def test_workers_without_the_feature_have_the_older_fix(older: OlderFix | None, version: KafkaVersion, fix: str):
    assert replace(KIND, older=older).fix_for(version) == fix


@pytest.mark.parametrize(
    ("ahead", "within", "agrees"),
    [
        (59_000, 1_000, True),
        (59_001, 1_000, False),
        (-59_000, 1_000, True),
        (-59_001, 1_000, False),
        (0, 60_001, False),
    ],
)
def test_clocks_agree_up_to_a_minute_with_the_time_of_the_request(ahead: int, within: int, agrees: bool):
    assert ClusterClock(1, ahead, within).agrees is agrees


@pytest.mark.parametrize(("ahead", "words"), [(0, "0 s ahead of"), (90_000, "90 s ahead of"), (-90_000, "90 s behind")])
def test_a_clock_is_ahead_of_this_machines_or_behind(ahead: int, words: str):
    assert str(ClusterClock(3, ahead, 5)) == f"the clock of controller 3 is {words} this machine's"


@pytest.mark.parametrize(
    ("decided", "completed", "time", "spans"),
    [
        (None, None, 100, False),
        (100, None, 89, False),
        (100, None, 90, True),
        (100, None, 9_999, True),
        (100, 200, 210, True),
        (100, 200, 211, False),
    ],
)
def test_a_marker_is_of_a_transaction_from_its_decision_to_its_completion(decided, completed, time, spans):
    assert LoggedTransaction("x", (), 1, decided, completed).spans(time, 10) is spans


TASK = Ownership((TaskOwner("g", ConnectorTaskId("orders", 0)),), ("a Flink sink",))


@pytest.mark.parametrize(
    ("ownership", "longer", "running", "owner", "kept"),
    [
        (TASK, None, None, None, True),
        (TASK, 5, 5, None, False),
        (TASK, 5, 6, None, True),
        (TASK, 0, None, None, False),
        (TASK, None, None, "orders", True),
        (TASK, None, None, "g", True),
        (TASK, None, None, "flink", False),
        (TASK, None, None, "order", False),
        (Ownership((), ("a Flink sink",)), None, None, "flink", True),
        (Ownership((), ("a Flink sink",)), None, None, "orders", False),
        (TASK, 5, 5, "orders", False),
    ],
)
def test_an_id_is_listed_where_it_ran_longer_and_belongs_to_the_owner(ownership, longer, running, owner, kept):
    listing = ListedTransaction("x", TransactionState.ONGOING, 7, 1, None, ownership, running)
    assert Selection(longer_than_ms=longer, owner=owner).keeps(listing) is kept
