"""What differences mean: verdict, findings, and what cannot be told."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.mirror.verdict import Circumstances, judge_pair
from eosctl.model.audit import AuditedTopic, PartitionBounds, TopicRole
from eosctl.model.mirror import Again, Alignment, Compared, Damage, MirroredTopic, PartitionPair, Stretch, TopicPair
from eosctl.model.plan import Side
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped, not_asked

HOUR = 3_600_000
NOW = 1_000 * HOUR
TOPICS = TopicPair("orders", "eu.orders")
TOPIC = MirroredTopic(
    TOPICS,
    AuditedTopic("orders", TopicRole.OUTPUT, cleanup_policy="delete", retention_ms=10 * HOUR),
    AuditedTopic("eu.orders", TopicRole.OUTPUT, cleanup_policy="delete", retention_ms=10 * HOUR),
)
PAIR = PartitionPair(
    TOPICS,
    0,
    PartitionBounds("orders", 0, 0, 100, 100, 0),
    PartitionBounds("eu.orders", 0, 0, 100, 100, 0),
    99,
)
WHOLE = Alignment(matched=100, first=(0, 0), last=(99, 99), source_records=100, target_records=100)
CIRCUMSTANCES = Circumstances(NOW, TOPIC, not_asked("not asked"), 99)
PIECE = Stretch(10, 15, 10, 10, 5, NOW)


def judged(
    found: Alignment, pair: PartitionPair = PAIR, circumstances: Circumstances = CIRCUMSTANCES
) -> tuple[str, dict[str, str]]:
    """The verdict, and each finding's name with its severity."""
    verdict, findings = judge_pair(pair, found, circumstances)
    assert verdict.reasons
    return verdict.verdict.value, {each.name: each.severity.value for each in findings}


def source(log_start: int, end: int, position: int | None) -> PartitionPair:
    """The pair with another source, and another offset of the mirror."""
    return replace(PAIR, source=PartitionBounds("orders", 0, log_start, end, end, log_start), position=position)


def at(position: int | Skipped | None) -> Circumstances:
    """The mirror's offset when all had been read."""
    return replace(CIRCUMSTANCES, position_after=position)


def test_a_whole_copy_is_held():
    assert judged(WHOLE) == ("held", {})


@pytest.mark.parametrize(
    ("kind", "name"), [("gaps", "mirror-gap"), ("repeats", "mirror-repeat"), ("late", "mirror-disorder")]
)
def test_what_is_missing_repeated_or_out_of_order_breaks_it(kind: str, name: str):
    assert judged(replace(WHOLE, **{kind: (PIECE,)})) == ("broken", {name: "error"})


def test_aborted_records_break_it_unless_the_mirror_is_set_to_read_uncommitted():
    found = replace(WHOLE, aborted=(PIECE,))
    assert judged(found) == ("broken", {"aborted-mirrored": "error"})
    uncommitted = replace(CIRCUMSTANCES, isolation=IsolationLevel.READ_UNCOMMITTED)
    assert judged(found, circumstances=uncommitted) == ("held", {"aborted-mirrored": "warning"})


def test_records_of_open_source_transactions_leave_it_open():
    pair = replace(PAIR, source=PAIR.source._replace(last_stable_offset=10))
    assert judged(replace(WHOLE, aborted=(PIECE,)), pair) == ("cannot-tell", {"aborted-mirrored": "warning"})


def test_a_target_with_nothing_but_aborted_records_holds_what_was_committed_which_is_nothing():
    found = Alignment(aborted=(PIECE,), target_records=5)
    uncommitted = replace(CIRCUMSTANCES, isolation=IsolationLevel.READ_UNCOMMITTED)
    assert judged(found) == ("broken", {"aborted-mirrored": "error"})
    assert judged(found, circumstances=uncommitted) == ("held", {"aborted-mirrored": "warning"})
    assert judged(replace(found, source_records=9), circumstances=uncommitted)[0] == "cannot-tell"
    assert judged(replace(found, target_records=6), circumstances=uncommitted)[0] == "cannot-tell"


def test_missing_and_unknown_records_at_one_place_may_be_the_same():
    found = replace(WHOLE, gaps=(PIECE,), unknown=(Stretch(10, 10, 10, 15, 5, NOW),))
    assert judged(found) == ("cannot-tell", {"mirror-unknown": "warning"})


def test_records_missing_from_a_compacted_target_may_have_been_replaced():
    compacted = MirroredTopic(TOPICS, TOPIC.source, replace(TOPIC.target, cleanup_policy="compact,delete"))
    found = replace(WHOLE, gaps=(PIECE,))
    assert judged(found, circumstances=replace(CIRCUMSTANCES, topic=compacted)) == (
        "cannot-tell",
        {"mirror-gap": "warning"},
    )


def test_records_missing_where_the_target_could_not_be_read_are_no_gap():
    found = replace(WHOLE, gaps=(PIECE,), damages=(Damage(Side.TARGET, 8, 12, "CRC does not match"),))
    assert judged(found) == ("cannot-tell", {"mirror-gap": "warning"})
    elsewhere = replace(found, damages=(Damage(Side.TARGET, 50, 52, "CRC does not match"),))
    assert judged(elsewhere) == ("broken", {"mirror-gap": "error"})


def test_damage_alone_leaves_it_open():
    assert judged(replace(WHOLE, damages=(Damage(Side.SOURCE, 8, 12, "gone"),))) == ("cannot-tell", {})


def test_a_source_that_was_cut_behind_the_mirrors_offset_lost_records_or_aborted_ones():
    pair = source(60, 100, 39)
    found = replace(WHOLE, lag=Stretch(60, 100, 40, 40, 40, NOW))
    assert judged(found, pair, at(39)) == ("cannot-tell", {"source-purged": "error"})
    assert judged(found, pair, at(59)) == ("held", {})


def test_a_mirror_behind_the_end_of_its_source_has_another_source():
    assert judged(WHOLE, source(0, 50, 99)) == ("cannot-tell", {"source-recreated": "error"})


def test_earlier_records_of_the_target_are_of_a_source_that_is_gone():
    lead = Stretch(0, 0, 0, 30, 30, NOW)
    assert judged(replace(WHOLE, lead=lead), source(30, 100, 99)) == ("cannot-tell", {})
    assert judged(replace(WHOLE, lead=lead)) == ("cannot-tell", {"source-recreated": "warning"})
    head = Stretch(0, 10, 30, 30, 10, NOW)
    both = replace(WHOLE, lead=lead, head=head)
    assert judged(both) == ("broken", {"source-recreated": "warning", "mirror-gap": "error"})
    assert judged(replace(WHOLE, head=head)) == ("held", {"mirror-began": "info"})


def test_records_that_the_source_will_delete_before_they_are_mirrored_are_reported_while_there_is_time():
    lag = Stretch(90, 100, 90, 90, 10, NOW - 6 * HOUR)
    assert judged(replace(WHOLE, lag=lag)) == ("held", {"mirror-retention": "warning"})
    assert judged(replace(WHOLE, lag=lag._replace(timestamp=NOW - 4 * HOUR))) == ("held", {})


def test_nothing_in_common_is_never_held():
    nothing = Alignment(source_records=10, target_records=10)
    assert judged(nothing)[0] == "cannot-tell"
    assert judged(Alignment(target_records=10))[0] == "cannot-tell"
    empty = replace(PAIR, target=PartitionBounds("eu.orders", 0, 0, 0, 0, 0), position=None)
    assert judged(Alignment(source_records=10), empty)[0] == "cannot-tell"
    assert judged(Alignment(source_records=10), replace(empty, position=9)) == ("broken", {"mirror-gap": "error"})


def test_what_was_changed_in_every_record_is_said():
    found = replace(WHOLE, compared=Compared.KEY_AND_VALUE)
    assert judged(found) == ("held", {"mirror-changed": "warning"})


@pytest.mark.parametrize(("hides", "verdict"), [(True, "cannot-tell"), (False, "held")])
def test_a_copy_that_is_whole_now_is_not_held_where_a_log_was_cut_since_the_last_run(hides: bool, verdict: str):
    circumstances = replace(CIRCUMSTANCES, again=Again("the topic of the target was created again", hides))
    assert judged(WHOLE, PAIR, circumstances) == (verdict, {})
