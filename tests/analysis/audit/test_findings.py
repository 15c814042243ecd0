"""Findings and verdicts of summaries made by hand: each condition at its limit, and false alone."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.analysis.audit.conclusion import concerns, conclude
from eosctl.analysis.audit.findings import (
    REPEATED,
    SLACK_MS,
    altered_offsets,
    change_findings,
    change_words,
    config_findings,
    key_findings,
    log_findings,
    orphan_findings,
    removed_findings,
    transaction_findings,
    unfenced_findings,
)
from eosctl.analysis.audit.history import ConfigAnomalyKind
from eosctl.analysis.audit.key_judgement import (
    SKEW_MS,
    KeyAnomalyKind,
)
from eosctl.analysis.audit.owners import AnomalyKind
from eosctl.analysis.audit.scan import GapKind
from eosctl.model.audit import (
    Anomaly,
    AuditedTopic,
    AuditVerdict,
    CommittedData,
    ConfigAnomaly,
    ConfigSummary,
    Gap,
    KeyAnomaly,
    KeySummary,
    OffsetsChange,
    OpenAtPlan,
    RecordCount,
    Tally,
    TopicRole,
    TransactionSummary,
)
from eosctl.model.audit_states import Damage, GrowthPoint, ProducerState, SessionStart
from eosctl.model.report import Severity
from tests.analysis.audit.summaries import (
    AS_OF,
    NONE,
    NOW,
    OFFSETS,
    OTHER,
    OUT,
    STOPPED,
    UNKNOWN,
    UNREAD,
    WAS,
    anomaly,
    bounds,
    history,
    keys,
    log,
    part,
    producer,
    state,
    summaries,
)

# The connectors that are judged, and what their verdict needs


@pytest.mark.parametrize(
    ("more", "judged"),
    [
        ({}, ("c",)),
        ({"keys": KeySummary((keys("e"), keys(None)))}, ("c", "e")),
        ({"config": ConfigSummary((history(name="f"),))}, ("c", "f")),
        ({"config": ConfigSummary((history(name="f", known=False),))}, ("c",)),
        ({"config": ConfigSummary((history(name="f", fenced=False),))}, ("c",)),
        ({"selected": ("z",)}, ("z",)),
        ({"named": ("out",), "keys": KeySummary((keys("e"),))}, ("c",)),
        ({"named": ("offsets",), "keys": KeySummary((keys("e"),))}, ("c", "e")),
        ({"named": ("gone",), "keys": KeySummary((keys("e"),))}, ("c", "e")),
    ],
)
def test_a_connector_is_judged_that_has_offsets_or_writes_to_an_audited_topic(more, judged):
    assert summaries(**more).connectors() == judged


@pytest.mark.parametrize(
    ("more", "known"),
    [
        ({}, {"c"}),
        ({"connectors": UNREAD}, {"c"}),
        ({"connectors": UNREAD, "config": ConfigSummary((history(known=False),))}, set()),
        ({"connectors": UNREAD, "topics": (OUT, OFFSETS)}, None),
    ],
)
def test_connectors_exist_by_the_workers_or_else_by_the_config_topic(more, known):
    assert summaries(**more).known == known


OWN = AuditedTopic("own", TopicRole.OFFSETS, connectors=("d",), own=True)


def test_evidence_about_a_connector_is_in_shared_topics_and_its_own():
    found = summaries(topics=(OUT, OTHER, OFFSETS, OWN))
    assert (found.outputs("c"), found.used_topics("c"), found.used_topics("d")) == (
        ("out",),
        ("out", "offsets"),
        ("other", "offsets", "own"),
    )


@pytest.mark.parametrize(
    ("more", "missing"),
    [
        ({}, []),
        ({"topics": (OUT,)}, ["no offsets topic was audited"]),
        ({"keys": KeySummary()}, ["the connector has no source offsets in the audited topics"]),
        ({"keys": KeySummary(), "unread": {"topic offsets": UNREAD}}, ["topic offsets: denied"]),
        ({"keys": KeySummary((keys(first=None),))}, ["it never committed its offsets in a transaction: exactly-once"]),
        ({"topics": (OTHER, OFFSETS)}, ["no topic that it writes to was audited"]),
        ({"unread": {"out": UNREAD}}, ["out: denied"]),
        ({"unread": {"out": UNREAD}, "users": {"out": ("c", "d")}}, ["out: denied"]),
        ({"unread": {"out": UNREAD}, "users": {"out": ("d",)}}, []),
    ],
)
def test_a_verdict_of_held_needs_each_of_these_facts(more, missing):
    found = list(summaries(**more).missing("c"))
    assert len(found) == len(missing)
    assert all(each.startswith(said) for each, said in zip(found, missing, strict=True))


def offsets_of(*times: int, epoch: int = 0) -> ProducerState:
    starts = tuple(SessionStart(10 + number, time, epoch + number + 1) for number, time in enumerate(times[1:]))
    return producer(first_timestamp=times[0], first_epoch=epoch, starts=starts)


@pytest.mark.parametrize(
    ("starts", "times", "went_back"),
    [
        (((AS_OF, 1, "commit", 0),), (AS_OF, AS_OF - SKEW_MS - 1), True),
        (((AS_OF, 1, "commit", 0),), (AS_OF, AS_OF - SKEW_MS), False),
        (((AS_OF, 1, "commit", 1),), (AS_OF, AS_OF - SKEW_MS - 1), False),
        (((AS_OF, 1, "fencing", 0),), (AS_OF, AS_OF - SKEW_MS - 1), False),
        (((AS_OF, 1, "commit", 0), (AS_OF - SKEW_MS - 1, 2, "commit", 1)), (AS_OF,), True),
        (((AS_OF, 1, "commit", 0), (AS_OF - SKEW_MS, 2, "commit", 1)), (AS_OF,), False),
    ],
)
def test_clocks_that_went_back_hide_whether_offsets_were_changed_while_it_was_stopped(starts, times, went_back):
    found = summaries(log("offsets", state(offsets_of(*times))), config=ConfigSummary((history(*starts),)))
    assert any("clocks went back by 5 s" in each for each in found.missing("c")) is went_back


def test_times_of_output_topics_and_of_other_connectors_say_nothing_of_the_clocks():
    back, config = offsets_of(AS_OF, AS_OF - SKEW_MS - 1), ConfigSummary((history((AS_OF, 1, "commit", 0)),))
    for logs, owners in ((log("out", state(back)), {7: ("c",)}), (log("offsets", state(back)), {7: ("d",)})):
        assert list(summaries(logs, config=config, owners=owners).missing("c")) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, 0),
        ({"whole_since": -1}, 0),
        ({"whole_since": 0}, 1),
        ({"left_out": {"c": ("more",)}}, 1),
        ({"left_out": {"d": ("more",)}}, 0),
    ],
)
def test_a_verdict_says_which_time_and_topics_it_covers(more, said):
    assert len(list(summaries(**more).coverage("c"))) == said


def test_a_session_begins_where_an_offsets_topic_shows_it_first():
    early, late = producer(first_timestamp=AS_OF - 9), producer(first_timestamp=AS_OF)
    found = summaries(log("out", state(early)), log("offsets", state(late)))
    assert [(each.topic, each.timestamp) for each in found.sessions] == [("offsets", AS_OF)]
    assert len(found.appearances) == 2
    assert summaries(log("out", state(early)), owners={7: ("c", "d")}).sessions == ()
    assert summaries(log("out", None, state(early))).sessions == ()


def key_summary(*suspicions: KeyAnomaly, anomalies: tuple[KeyAnomaly, ...] = (), counts: Any = ()) -> KeySummary:
    return KeySummary((keys(),), counts, anomalies, suspicions)


def test_anomalies_of_keys_are_counted_and_suspicions_that_stay_are_added():
    found = summaries(
        keys=key_summary(
            anomaly(KeyAnomalyKind.SET_BACK, offset=9),
            anomaly(KeyAnomalyKind.REPEATED),
            anomalies=(anomaly(KeyAnomalyKind.SET_BACK), anomaly(KeyAnomalyKind.MALFORMED_KEY, None)),
            counts=(("offset-set-back", "c", 12), ("malformed-offsets-key", "", 1)),
        )
    )
    [malformed, back] = key_findings(found)
    assert (malformed.subject, malformed.evidence["connectors"], malformed.evidence["count"]) == ("offsets", [], 1)
    assert malformed.message.startswith("1 key of no source partition")
    assert (back.subject, back.evidence["connectors"], back.evidence["count"]) == ("c", ["c"], 13)
    assert back.message.startswith("13 source offsets went back")
    assert ([each["offset"] for each in back.evidence["places"]], "data" in back.evidence) == ([2, 9], False)


def test_data_committed_with_both_offsets_is_evidence_of_a_setback_and_an_altered_one_is_no_finding_of_keys():
    committed = (CommittedData(WAS, (part(first=1),)), CommittedData(NOW, (part(first=5),)))
    found = summaries(
        keys=key_summary(anomaly(KeyAnomalyKind.SET_BACK)), transactions=TransactionSummary(committed=committed)
    )
    [back] = key_findings(found)
    assert [(each["committed_with"], each["first_offset"]) for each in back.evidence["data"]] == [
        ("before", 1),
        ("after", 5),
    ]
    altered = summaries(
        keys=key_summary(anomaly(KeyAnomalyKind.SET_BACK)),
        transactions=TransactionSummary(committed=(CommittedData(NOW, ()),)),
        config=ConfigSummary((STOPPED,)),
    )
    assert list(key_findings(altered)) == []
    assert [(each.offsets, each.repeated, each.left_out) for each in altered_offsets(altered)] == [
        (1, UNKNOWN, UNKNOWN)
    ]
    [change] = change_findings(altered)
    assert (change.severity, change.subject) == (Severity.WARNING, "c")


def change(repeated: RecordCount = NONE, left_out: RecordCount = NONE, **more: Any) -> OffsetsChange:
    return OffsetsChange(**{"connector": "c", "timestamp": AS_OF, "places": (), "offsets": 1, "repeated": repeated,
                            "left_out": left_out, **more})  # fmt: skip


def test_a_change_that_was_counted_is_not_suspected_once_more():
    again = summaries(
        keys=key_summary(anomaly(KeyAnomalyKind.SET_BACK)),
        transactions=TransactionSummary(committed=(CommittedData(NOW, ()),)),
        config=ConfigSummary((STOPPED,)),
        changes=(change(),),
    )
    assert altered_offsets(again) == (change(),)
    without_output = summaries(topics=(OTHER, OFFSETS), changes=(change(),))
    assert [(each.repeated, each.left_out) for each in altered_offsets(without_output)] == [(UNKNOWN, UNKNOWN)]


TWO = RecordCount(2, 2)


@pytest.mark.parametrize(
    ("repeated", "left_out", "severity", "informs"),
    [
        (NONE, NONE, Severity.INFO, False),
        (TWO, NONE, Severity.WARNING, True),
        (NONE, TWO, Severity.WARNING, False),
        (TWO, TWO, Severity.WARNING, False),
    ],
)
def test_a_change_of_offsets_is_a_warning_where_records_are_twice_or_missing(repeated, left_out, severity, informs):
    [found] = change_findings(summaries(changes=(change(repeated, left_out),)))
    assert (found.severity, found.cure == REPEATED) == (severity, informs)
    assert found.evidence["repeated"] == repeated._asdict()
    assert "data" not in found.evidence
    [shown] = change_findings(summaries(changes=(change(before=(part(),), again=(part(first=9),)),)))
    assert [(each["committed_with"], each["first_offset"]) for each in shown.evidence["data"]] == [
        ("before", 5),
        ("after", 9),
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([change()], "1 source offset was altered"),
        ([change(offsets=2)], "2 source offsets were altered"),
        ([change()] * 3, "3 source offsets were altered"),
        ([change()], "no record was written again or skipped"),
        ([change(open=True)], "Z): the connector has not reached its earlier position again"),
        ([change(TWO, TWO)], "2 records were written to its topics again, and 2 records were left out"),
    ],
)
def test_a_change_of_offsets_says_its_effect(changes, words):
    assert words in change_words(changes)
    assert " and later)" not in change_words(changes)


def test_three_changes_are_named_by_their_time():
    assert " and later)" in change_words([change()] * 4)
    assert change_words([change()] * 4).count("2026-") == 3


# Transactions and the config topic


def tally(kind: AnomalyKind, count: int = 1, connectors: tuple[str, ...] = ("c",)) -> TransactionSummary:
    place = Anomaly(kind, connectors, "out", 0, 1, 2, 7, 0, AS_OF, 2)
    return TransactionSummary(tallies=(Tally(kind, connectors, "out", count, 2),), anomalies=(place,))


@pytest.mark.parametrize(
    ("summary", "more", "subjects"),
    [
        (tally(AnomalyKind.DATA_WITHOUT_OFFSETS), {}, ["c"]),
        (tally(AnomalyKind.OTHER_WRITER, 2, ()), {}, ["out"]),
        (tally(AnomalyKind.OFFSETS_WITHOUT_DATA), {}, ["c"]),
        (tally(AnomalyKind.OFFSETS_WITHOUT_DATA), {"named": ("out",)}, []),
        (tally(AnomalyKind.DATA_WITHOUT_OFFSETS), {"named": ("out",)}, ["c"]),
    ],
)
def test_a_transaction_that_does_not_fit_is_a_finding_of_its_connectors_or_topic(summary, more, subjects):
    found = list(transaction_findings(summaries(transactions=summary, **more)))
    assert [each.subject for each in found] == subjects
    assert all(len(each.evidence["places"]) == 1 for each in found)


def test_two_leaders_concern_all_connectors_that_exist_and_other_anomalies_their_own():
    kinds = (ConfigAnomalyKind.INTERLEAVED_LEADERS, ConfigAnomalyKind.PLAIN_LEADER)
    summary = ConfigSummary(
        (history(), history(name="d"), history(name="gone", known=False)),
        tuple(ConfigAnomaly(kind, each, 5, AS_OF, "w") for kind in kinds for each in ("c", None)),
    )
    found = {each.name: each for each in config_findings(summaries(config=summary))}
    assert found["interleaved-leaders"].evidence["connectors"] == ["c", "d"]
    [plain] = [each for name, each in found.items() if name != "interleaved-leaders"]
    assert (plain.evidence["connectors"], plain.evidence["count"], plain.subject) == (["c"], 2, "configs")


T = AS_OF - 60_000


@pytest.mark.parametrize(
    ("starts", "last", "found"),
    [
        ([(T, 1, "commit", 1)], 0, True),
        ([], 0, False),
        ([(T, 1, "commit", 0)], 0, False),
        ([(T, 1, "commit", 1), (T + 1, 2, "fencing", 1)], 0, False),
        ([(T, 2, "commit", 1), (T - 1, 1, "fencing", 1)], 0, True),
        ([(T, 2, "fencing", 1)], 0, False),
        ([(AS_OF - SLACK_MS, 1, "commit", 1)], 0, False),
        ([(AS_OF - SLACK_MS - 1, 1, "commit", 1)], 0, True),
        ([(T, 1, "commit", 1), (AS_OF + SLACK_MS, 2, "fencing", 1)], 99_000, False),
        ([(T, 1, "commit", 1), (AS_OF + SLACK_MS + 1, 2, "fencing", 1)], 99_000, True),
        ([(T, 1, "commit", 1), (AS_OF + 9_000, 2, "fencing", 1)], 9_000 + SLACK_MS, False),
        ([(T, 1, "commit", 1), (AS_OF + 9_000, 2, "fencing", 1)], 9_000 + SLACK_MS + 1, True),
        ([(T, 1, "commit", 1), (AS_OF + 9_000, 2, "fencing", 1), (AS_OF + 1, 3, "fencing", 1)], 99_000, False),
    ],
)
def test_a_producer_began_without_a_round_of_fencing_unless_one_kept_earlier_ones_out(starts, last, found):
    one = producer(last_timestamp=AS_OF + last)
    evidence = summaries(log("offsets", state(one)), config=ConfigSummary((history(*starts),)))
    assert [each.subject for each in unfenced_findings(evidence)] == ["c"] * found


def test_only_producers_of_offsets_topics_and_of_connectors_with_rounds_are_held_against_them():
    starts = (T, 1, "commit", 1)
    for evidence in (
        summaries(log("out", state(producer())), config=ConfigSummary((history(starts),))),
        summaries(log("offsets", state(producer())), config=ConfigSummary((history(starts, fenced=False),))),
        summaries(log("offsets", state(producer())), config=ConfigSummary((history(starts),)), owners={}),
    ):
        assert list(unfenced_findings(evidence)) == []


@pytest.mark.parametrize(("connector", "tombstones", "found"), [("c", 1, ["c"]), ("c", 0, []), (None, 1, [])])
def test_removed_offsets_are_of_a_connector(connector, tombstones, found):
    evidence = summaries(keys=KeySummary((keys(connector, tombstones=tombstones),)))
    assert [each.subject for each in removed_findings(evidence)] == found


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, ["gone"]),
        ({"connectors": ("c", "gone")}, []),
        ({"connectors": UNREAD, "topics": (OUT, OFFSETS)}, []),
        ({"selected": ("c",)}, []),
        ({"selected": ("gone",)}, ["gone"]),
        ({"named": ("out",)}, []),
    ],
)
def test_offsets_of_a_connector_that_does_not_exist_are_orphans_where_it_is_judged(more, found):
    evidence = summaries(keys=KeySummary((keys(), keys("gone"), keys(None))), **more)
    assert [each.subject for each in orphan_findings(evidence)] == found


# Partitions


@pytest.mark.parametrize(
    ("kind", "name", "severity"),
    [
        (GapKind.LOST, "lost-range", Severity.ERROR),
        (GapKind.UNCLEAR, "lost-range", Severity.WARNING),
        (GapKind.EXPIRED, "expired-range", None),
        (GapKind.COMPACTED, None, None),
    ],
)
@pytest.mark.parametrize("where", ["settled", "tail"])
def test_offsets_without_a_batch_are_a_finding_by_their_reason(kind, name, severity, where):
    with_gap = state(gaps=(Gap(5, 8, kind),))
    one = log("offsets", with_gap) if where == "settled" else log("offsets", None, with_gap)
    found = [each for each in log_findings(summaries(one, open=UNREAD)) if each.name != "open-transaction"]
    assert [each.name for each in found] == ([] if name is None else [name])
    if name is not None:
        assert found[0].message.startswith("offsets 5 to 7 ")
        assert severity in {None, found[0].severity}
        assert found[0].evidence["connectors"] == ["c"]


def test_damage_is_a_finding_with_its_reason():
    [found] = log_findings(summaries(log("out", state(damages=(Damage(5, 8, "CRC"),)))))
    assert (found.message, found.evidence["reason"]) == ("offsets 5 to 7 could not be read: CRC", "CRC")


def lost(
    timestamp: int, connectors: tuple[str, ...] = ("c",), kind: AnomalyKind = AnomalyKind.OFFSETS_WITHOUT_DATA
) -> Any:
    return TransactionSummary(anomalies=(Anomaly(kind, connectors, "offsets", 0, 1, 2, 7, 0, timestamp, 2),))


KEPT = AuditedTopic("out", TopicRole.OUTPUT, connectors=("c",), retention_ms=1_000_000)


@pytest.mark.parametrize(
    ("topic", "summary", "first", "is_deleted"),
    [
        (KEPT, TransactionSummary(), {}, False),
        (KEPT, lost(AS_OF - 999_999), {}, True),
        (KEPT, lost(AS_OF - 1_000_000), {}, False),
        (KEPT, lost(AS_OF - 9), {"first_batch": AS_OF - 9}, False),
        (KEPT, lost(AS_OF - 9), {"first_batch": AS_OF - 8}, True),
        (KEPT, lost(AS_OF - 9), {"first_batch": None}, True),
        (KEPT, lost(AS_OF - 9, ("d",)), {}, False),
        (KEPT, lost(AS_OF - 9, kind=AnomalyKind.UNCLEAR), {}, False),
        (OUT, lost(AS_OF - 9), {}, False),
        (AuditedTopic("out", TopicRole.OUTPUT, connectors=("c",), retention_ms=-1), lost(0), {}, True),
        (AuditedTopic("out", TopicRole.OUTPUT, connectors=("c",), retention_ms=0), lost(AS_OF - 9), {}, False),
        (KEPT, TransactionSummary(), {"first_base": 9}, True),
        (KEPT, TransactionSummary(), {"first_base": 10}, False),
        (KEPT, TransactionSummary(), {"first_base": None}, False),
    ],
)
def test_an_output_topic_s_start_is_its_retention_s_unless_younger_data_is_gone_or_a_batch_was_cut(
    topic, summary, first, is_deleted
):
    given = {"first_base": 10, **first}
    evidence = summaries(
        log("out", state(**given)), topics=(topic, OFFSETS), bounds=(bounds(audited_from=10),), transactions=summary
    )
    [found] = log_findings(evidence)
    assert (found.severity is not Severity.INFO, "DeleteRecords" in found.message) == (is_deleted, is_deleted)
    assert found.evidence["connectors"] == ["c"]
    by_a_setting = is_deleted and given["first_base"] != 9
    assert ("shorter retention" in found.message, "lowered the retention" in found.cure) == (by_a_setting, by_a_setting)


def test_an_expired_output_names_the_judged_users_whose_data_is_gone():
    both = AuditedTopic("out", TopicRole.OUTPUT, connectors=("c", "d"), retention_ms=1_000_000)
    found = summaries(
        log("out"), topics=(both, OFFSETS), bounds=(bounds(audited_from=10),), transactions=lost(AS_OF - 9, ("c", "z"))
    )
    assert [each.evidence["connectors"] for each in log_findings(found)] == [["c"]]
    cut = summaries(
        log("out", state(first_base=9)),
        topics=(both, OFFSETS),
        bounds=(bounds(audited_from=10),),
        transactions=lost(AS_OF - 9),
        connectors=("c", "d"),
    )
    assert [each.evidence["connectors"] for each in log_findings(cut)] == [["c", "d"]]


@pytest.mark.parametrize(("audited_from", "count"), [(0, 0), (1, 1)])
@pytest.mark.parametrize("topic", ["out", "offsets"])
def test_a_log_that_begins_behind_its_first_offset_is_reported(topic, audited_from, count):
    evidence = summaries(log(topic, state()), bounds=(bounds("none", 7), bounds(topic, audited_from)))
    assert [each.name for each in log_findings(evidence)] == ["expired-range"] * count
    assert list(log_findings(summaries(log(topic, state()), bounds=()))) == []


def plain(at: int, offset: int = 8, **more: Any) -> ProducerState:
    given = {"plain_records": 5, "first_plain": offset, "last_plain": offset, "last_plain_timestamp": at, **more}
    return producer(-1, **given)


@pytest.mark.parametrize(
    ("writer", "of_keys", "others", "found"),
    [
        (plain(AS_OF), keys(first=AS_OF), (), True),
        (plain(AS_OF - 1), keys(first=AS_OF), (), False),
        (plain(AS_OF), keys(first=None), (), False),
        (plain(AS_OF), keys("d", AS_OF), (), False),
        (plain(AS_OF - 1, 6), keys(first=AS_OF), (producer(first_offset=5),), True),
        (plain(AS_OF, 5), keys(first=AS_OF), (producer(first_offset=5),), False),
        (plain(AS_OF, 6), keys(first=AS_OF), (producer(first_offset=5, plain_records=5),), True),
        (plain(AS_OF), keys(first=0, upgraded=AS_OF), (), True),
        (plain(AS_OF), keys(first=0, upgraded=AS_OF + 1), (), False),
        (plain(AS_OF, plain_records=0), keys(first=0), (), False),
        (plain(AS_OF), keys(first=0), (), True),
    ],
)
def test_data_outside_transactions_counts_since_the_connector_commits_in_transactions(writer, of_keys, others, found):
    evidence = summaries(log("out", state(writer, *others)), keys=KeySummary((of_keys,)))
    assert [each.name for each in log_findings(evidence)] == ["data-outside-transaction"] * found
    assert list(log_findings(summaries(log("offsets", state(writer)), keys=KeySummary((of_keys,))))) == []


def opened(
    hangs: bool = True, topic: str = "out", number: int = 7, transactional_id: str | None = "g-c-0"
) -> OpenAtPlan:
    return OpenAtPlan(topic, 0, 40, number, 0, transactional_id, hangs, "no coordinator has it")


MISSING = TransactionSummary(anomalies=(Anomaly(AnomalyKind.MISSING_MARKER, ("c",), "out", 0, 1, 2, 7, 0, AS_OF, 2),))


@pytest.mark.parametrize(
    ("known", "summary", "found"),
    [
        ((), TransactionSummary(), ["open-transaction"]),
        (UNREAD, TransactionSummary(), ["open-transaction"]),
        ((opened(False),), TransactionSummary(), ["open-transaction"]),
        ((opened(),), TransactionSummary(), ["hanging-transaction"]),
        ((opened(), opened(False)), TransactionSummary(), ["hanging-transaction"]),
        ((opened(),), MISSING, []),
        ((opened(number=8),), MISSING, ["hanging-transaction"]),
        ((opened(topic="offsets"),), TransactionSummary(), ["open-transaction", "hanging-transaction"]),
        ((opened(False, "offsets"),), TransactionSummary(), ["open-transaction"]),
    ],
)
def test_an_open_transaction_hangs_where_no_coordinator_will_end_it(known, summary, found):
    evidence = summaries(log("out", state(), state(producer())), open=known, transactions=summary)
    assert [each.name for each in log_findings(evidence)] == found
    settled = summaries(log("out", state()), open=known, transactions=summary)
    hanging_elsewhere = [each for each in found if each == "hanging-transaction" and known[0].topic == "offsets"]
    assert [each.name for each in log_findings(settled)] == hanging_elsewhere


def test_an_open_transaction_says_who_holds_how_many_offsets():
    evidence = summaries(log("out", state(), state(producer())), bounds=(bounds(stable=109),))
    [found] = log_findings(evidence)
    assert found.message == "a transaction is open from offset 109: 1 offset waits for it"
    assert (found.evidence["producers"], found.evidence["transactional_ids"]) == ([7], [])


@pytest.mark.parametrize(
    ("topics", "each", "owners", "users", "words"),
    [
        ((OUT, OFFSETS), opened(), {7: ("c",)}, ["c"], "transactional ID g-c-0, connector c"),
        ((OUT, OFFSETS), opened(), {}, ["c"], "transactional ID g-c-0, of no task of group g"),
        ((OUT, OFFSETS), opened(transactional_id=None), {}, ["c"], "(no transactional ID)"),
        ((OUT, OTHER, OFFSETS), opened(topic="offsets"), {}, ["c", "d"], "of no task of group g"),
        ((OUT, OTHER, OFFSETS), opened(topic="other"), {7: ("c",)}, ["c"], "connector c"),
        ((OUT, AuditedTopic("own", TopicRole.OFFSETS, connectors=("z",))), opened(topic="own"), {}, ["z"], "no task"),
    ],
)
def test_a_hanging_transaction_concerns_its_producer_s_connectors_or_the_topic_s_users(
    topics, each, owners, users, words
):
    [found] = log_findings(summaries(open=(each,), topics=topics, owners=owners))
    assert (found.evidence["connectors"], found.evidence["owners"]) == (users, list(owners.get(7, ())))
    assert words in found.message


def test_a_hanging_transaction_concerns_a_topic_s_users_although_they_are_not_judged():
    [found] = log_findings(
        summaries(open=(opened(topic="other"),), topics=(OUT, OTHER, OFFSETS), owners={}, selected=("c",))
    )
    assert found.evidence["connectors"] == ["d"]


def test_a_hanging_transaction_of_no_known_group_is_named_by_its_shape():
    [found] = log_findings(
        summaries(open=(opened(transactional_id="a-mm2-MirrorSourceConnector-0"),), owners={}, group_id=None)
    )
    assert "of no group that is known; it looks like a MirrorMaker 2 MirrorSourceConnector task 0" in found.message


# Verdicts


def verdicts(**more: Any) -> dict[str, AuditVerdict]:
    return {each.name: each.verdict for each in conclude(summaries(**more)).connectors}


BACK = key_summary(anomalies=(anomaly(KeyAnomalyKind.SET_BACK),), counts=(("offset-set-back", "c", 1),))
UNCLEAR = tally(AnomalyKind.UNCLEAR)


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ({}, AuditVerdict.HELD),
        ({"keys": BACK}, AuditVerdict.BROKEN),
        ({"keys": BACK, "transactions": UNCLEAR}, AuditVerdict.BROKEN),
        ({"keys": BACK, "changes": (change(TWO),)}, AuditVerdict.BROKEN),
        ({"transactions": UNCLEAR}, AuditVerdict.CANNOT_TELL),
        ({"transactions": UNCLEAR, "changes": (change(TWO),)}, AuditVerdict.CANNOT_TELL),
        ({"unread": {"out": UNREAD}}, AuditVerdict.CANNOT_TELL),
        ({"changes": (change(TWO),)}, AuditVerdict.ALTERED),
        ({"changes": (change(),)}, AuditVerdict.HELD),
        ({"transactions": tally(AnomalyKind.OTHER_WRITER)}, AuditVerdict.HELD),
        ({"transactions": tally(AnomalyKind.DATA_WITHOUT_OFFSETS)}, AuditVerdict.BROKEN),
        ({"transactions": tally(AnomalyKind.DATA_WITHOUT_OFFSETS, 1, ("d",))}, AuditVerdict.HELD),
        ({"open": (opened(),)}, AuditVerdict.BROKEN),
        ({"open": (opened(),), "owners": {}}, AuditVerdict.CANNOT_TELL),
    ],
)
def test_a_verdict_is_the_worst_that_the_findings_on_the_connector_allow(more, verdict):
    assert verdicts(**more)["c"] is verdict


@pytest.mark.parametrize(
    ("more", "judged"),
    [
        ({}, {"c"}),
        ({"unread": {"out": UNREAD}}, {"c"}),
        ({"connectors": ()}, {"c"}),
        ({"connectors": (), "unread": {"out": UNREAD}}, set()),
        ({"connectors": (), "unread": {"out": UNREAD}, "selected": ("c",)}, {"c"}),
        ({"connectors": UNREAD, "topics": (OUT, OFFSETS), "unread": {"out": UNREAD}}, {"c"}),
    ],
)
def test_a_connector_that_is_gone_has_a_verdict_only_where_it_can_be_told(more, judged):
    assert set(verdicts(**more)) == judged


def test_findings_of_a_part_are_those_of_judged_connectors_and_of_none():
    both = KeySummary(
        (keys(), keys("d")),
        (("offset-set-back", "c", 1), ("offset-set-back", "d", 1), ("malformed-offsets-key", "", 1)),
        (
            anomaly(KeyAnomalyKind.SET_BACK),
            anomaly(KeyAnomalyKind.SET_BACK, "d"),
            anomaly(KeyAnomalyKind.MALFORMED_KEY, None),
        ),
    )

    def subjects(*outputs: AuditedTopic, **more: Any) -> list[str]:
        topics = (*(outputs or (OUT, OTHER)), OFFSETS)
        found = conclude(summaries(keys=both, topics=topics, connectors=("c", "d"), **more))
        return sorted(each.subject for each in found.findings)

    assert subjects() == ["c", "d", "offsets"]
    assert subjects(selected=("c",)) == ["c", "offsets"]
    assert subjects(OTHER, named=("other",)) == ["d", "offsets"]


@pytest.mark.parametrize(
    ("one", "connectors", "sinks"),
    [
        (history(name="s", fenced=False), ("c",), ("s",)),
        (history(name="s", fenced=True), ("c",), ()),
        (history(name="s", fenced=False, known=False), ("c",), ()),
        (history(name="s", fenced=False), ("s",), ()),
        (history(name="s", fenced=False), UNREAD, ()),
    ],
)
def test_a_sink_is_a_connector_that_exists_and_is_no_source(one, connectors, sinks):
    assert conclude(summaries(config=ConfigSummary((one,)), connectors=connectors)).sinks == sinks


@pytest.mark.parametrize(
    ("named", "is_concerned"),
    [(["c", "d"], True), (("c",), True), (["d"], False), ([], False), ("c", False), ({"c": 1}, False), (None, False)],
)
def test_a_finding_concerns_the_connectors_that_it_names(named, is_concerned):
    [finding] = conclude(summaries(keys=BACK)).findings
    assert concerns(replace(finding, evidence={} if named is None else {"connectors": named}), "c") is is_concerned


def test_a_partition_without_settled_records_has_no_range_and_no_growth():
    grown = state(growth=(GrowthPoint(5, 3, 1),))
    report = conclude(summaries(log("out", None, state()), log("offsets", grown)))
    assert [each.topic for each in report.ranges] == ["offsets"]
    assert [(each.topic, each.hour, each.records) for each in report.growth] == [("offsets", 5, 3)]


def test_findings_are_in_order_of_severity():
    report = conclude(summaries(keys=BACK, transactions=UNCLEAR, changes=(change(TWO),)))
    severities = [each.severity for each in report.findings]
    assert severities == sorted(severities, key=list(Severity).index)
    assert len(set(severities)) > 1
