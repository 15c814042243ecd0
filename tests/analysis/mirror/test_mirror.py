"""A mirrored partition against its source: alignment, verdict, and how a run goes on from another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.mirror import aligner, blocks
from eosctl.analysis.mirror.aligner import AbortedRecords, Aligner, Changed
from eosctl.analysis.mirror.blocks import Block, Buffer, Log, Piece, Runs, cut, equal_from, joined
from eosctl.analysis.mirror.verdict import Circumstances, counts_at, judge_pair, why_again
from eosctl.codecs.ledger import decode_audit_state, encode_audit_state
from eosctl.model.audit import AuditedTopic, PartitionBounds, TopicRole
from eosctl.model.groups import Checkpoint
from eosctl.model.mirror import (
    Again,
    Alignment,
    Compared,
    Counts,
    Damage,
    EqualPiece,
    EqualRun,
    Kept,
    MirroredTopic,
    MirrorProgress,
    PartitionPair,
    Stretch,
    TopicPair,
    Translated,
)
from eosctl.model.names import Side
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Skipped, not_asked

BLOCK = 7


@dataclass(frozen=True)
class Source:
    """Records with distinct numbers; an offset is three times its number. The records of `optional` were aborted."""

    count: int
    optional: frozenset[int] = field(default_factory=frozenset)

    def blocks(self, start: int) -> Iterator[Block]:
        """From this offset on, in batches that are aborted or not as a whole."""
        batch: list[int] = []
        for number in range(self.count):
            batch.append(number)
            full = len(batch) == BLOCK or number + 1 == self.count
            if full or (number in self.optional) != (number + 1 in self.optional):
                taken = [each for each in batch if 3 * each >= start]
                if taken:
                    times = [batch[0]] * len(taken)
                    yield Block([3 * each for each in taken], taken, times, optional=number in self.optional)
                batch = []


def copy(numbers: Sequence[int]) -> Log:
    """A copy with these records, its offsets without gaps."""

    def blocks(start: int) -> Iterator[Block]:
        for base in range(start - start % BLOCK, len(numbers), BLOCK):
            at, end = max(base, start), min(base + BLOCK, len(numbers))
            yield Block(range(at, end), numbers[at:end], [numbers[base]] * (end - at))

    return Log(blocks)


def align(source: Source, copied: Sequence[int], *, window: int = 1000, position: int | None = None) -> Alignment:
    """The aligner's result for them."""
    return Aligner(Log(source.blocks), copy(copied), position, window).align()


def assert_same(found: Alignment, whole: Alignment, *, aborted_in_reach: bool) -> None:
    """Both results are the same, record by record.

    A mirror that went back farther than the window copied aborted records again that a continued run no longer knows.
    The records that it repeated beside them break it in any case.
    """
    if aborted_in_reach:
        assert found == whole
    else:
        assert verdict(found) == verdict(whole)
        assert found.matched == whole.matched


def verdict(found: Alignment) -> str:
    """The verdict on a pair with these differences."""
    topics = TopicPair("a", "b")
    bounds = (PartitionBounds(name, 0, 0, 1000, 1000, 0) for name in topics)
    topic = MirroredTopic(topics, *(AuditedTopic(name, TopicRole.OUTPUT, cleanup_policy="delete") for name in topics))
    circumstances = Circumstances(0, topic, not_asked("not asked"), None)
    return judge_pair(PartitionPair(topics, 0, *bounds), found, circumstances)[0].verdict.value


@dataclass(frozen=True)
class Counted:
    """The number of records of each kind."""

    matched: int = 0
    head: int = 0
    lead: int = 0
    lag: int = 0
    gaps: int = 0
    late: int = 0
    repeats: int = 0
    aborted: int = 0
    unknown: int = 0


def counted(found: Alignment) -> Counted:
    """The same counts from the aligner's result."""

    def of(stretches: Sequence[Stretch | None]) -> int:
        return sum(each.records for each in stretches if each is not None)

    return Counted(
        found.matched,
        of([found.head]),
        of([found.lead]),
        of([found.lag]),
        *map(of, (found.gaps, found.late, found.repeats, found.aborted, found.unknown)),
    )


def truth(source: Source, copied: Sequence[int]) -> Counted:
    """Counted record by record, with all of them in memory."""
    required = [each for each in range(source.count) if each not in source.optional]
    seen: set[int] = set()
    first, late, repeats, aborted, unknown, lead = None, 0, 0, 0, 0, 0
    for number in copied:
        if number in source.optional and 0 <= number < source.count:
            aborted += 1
        elif not 0 <= number < source.count:
            unknown, lead = unknown + (first is not None), lead + (first is None)
        elif number in seen:
            repeats += 1
        else:
            first = number if first is None else first
            late += any(each > number for each in seen.intersection(required))
        seen.add(number)
    matched = seen & set(required)
    missing = [each for each in required if each not in matched]
    last = max(matched, default=-1)
    return Counted(
        matched=len(matched),
        head=sum(each < (first or 0) for each in missing) if first is not None else 0,
        lead=lead,
        lag=sum(each > last for each in missing),
        gaps=sum((first or 0) < each < last for each in missing),
        late=late,
        repeats=repeats,
        aborted=aborted,
        unknown=unknown,
    )


TEN = Source(10)


def test_a_whole_copy_is_equal_from_the_first_record_to_the_last():
    found = align(TEN, range(10))
    assert counted(found) == Counted(matched=10)
    assert (found.first, found.last) == ((0, 0), (27, 9))


def test_a_record_that_is_missing_is_a_gap_with_its_offset_and_its_place_in_the_target():
    found = align(TEN, [0, 1, 2, 4, 5, 6, 7, 8, 9])
    assert found.gaps == (Stretch(9, 10, 3, 3, 1, 0),)
    assert counted(found) == Counted(matched=9, gaps=1)


def test_a_mirror_that_goes_back_repeats_records():
    found = align(TEN, [0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7, 8, 9])
    assert found.repeats == (Stretch(6, 13, 5, 8, 3, 0),)
    assert counted(found) == Counted(matched=10, repeats=3)


def test_a_record_behind_its_follower_is_late():
    found = align(TEN, [0, 1, 3, 2, 4, 5, 6, 7, 8, 9])
    assert found.late == (Stretch(6, 7, 3, 4, 1, 0),)
    assert counted(found) == Counted(matched=10, late=1)


def test_aborted_records_may_be_there_and_need_not():
    source = Source(10, frozenset({3, 4}))
    assert counted(align(source, [0, 1, 2, 5, 6, 7, 8, 9])) == Counted(matched=8)
    assert counted(align(source, range(10))) == Counted(matched=8, aborted=2)


def test_aborted_records_that_are_copied_again_are_aborted_ones_again():
    source = Source(10, frozenset({3, 4}))
    found = align(source, [*range(6), *range(2, 10)])
    assert counted(found) == Counted(matched=8, repeats=2, aborted=4)
    assert [(each.source_start, each.target_start) for each in found.aborted] == [(9, 3), (9, 7)]


def test_records_before_the_first_equal_one_and_behind_the_last_are_no_gaps():
    assert counted(align(TEN, [70, 71, 3, 4, 5])) == Counted(matched=3, head=3, lead=2, lag=4)


def test_offsets_that_the_mirror_committed_without_copies_are_a_gap():
    found = align(TEN, [0, 1, 2, 3, 4], position=3 * 6)
    assert found.gaps == (Stretch(15, 19, 5, 5, 2, 0),)
    assert found.lag == Stretch(21, 28, 5, 5, 3, 7)


class Texts(Source):
    """Records with these digests; some may be equal."""

    def __init__(self, *digests: int, optional: frozenset[int] = frozenset()) -> None:
        super().__init__(len(digests), optional)
        object.__setattr__(self, "digests", digests)

    def blocks(self, start: int) -> Iterator[Block]:
        texts: tuple[int, ...] = vars(self)["digests"]
        return (each._replace(digests=[texts[at] for at in each.digests]) for each in super().blocks(start))


def test_of_equal_records_that_one_counts_that_is_followed_by_the_same():
    source = Texts(1, 2, 1, 3, 1, 2, 1, 4)
    assert counted(align(source, [1, 2, 1, 3, 2, 1, 4])) == Counted(matched=7, gaps=1)
    assert counted(align(source, [1, 2, 1, 3, 1, 2, 1, 3, 1, 2, 1, 4])) == Counted(matched=8, repeats=4)


def test_a_gap_and_a_repeat_larger_than_the_window_are_found_in_the_whole_source():
    source = Source(3000)
    gap = align(source, [*range(100), *range(2900, 3000)], window=50)
    assert gap.gaps == (Stretch(300, 8700, 100, 100, 2800, 98),)
    again = align(source, [*range(2900), *range(3000)], window=50)
    assert again.repeats == (Stretch(0, 8698, 2900, 5800, 2900, 0),)
    assert counted(again) == Counted(matched=3000, repeats=2900)


def test_records_late_by_more_than_the_window_are_no_gap():
    found = align(Source(3000), [*range(100), *range(2000, 3000), *range(100, 2000)], window=50)
    assert counted(found) == Counted(matched=3000, late=1900)


def test_a_late_record_is_preferred_to_a_gap_before_an_equal_record_ahead():
    """No record need be lost: the missing one came late, and the others are still to come."""
    found = align(Texts(9, 5, 6, 7, 5, 8), [9, 6, 5])
    assert counted(found) == Counted(matched=3, late=1, lag=3)


KINDS = ["go on", "back", "skip", "foreign", "end"]
STEPS = st.lists(st.tuples(st.integers(1, 15), st.sampled_from(KINDS), st.integers(0, 12)), max_size=8)


def mirrored(source: Source, begin: int, committed: bool, steps: list[tuple[int, str, int]]) -> list[int]:
    """The copy of a mirror that goes back, skips, and has another writer beside it."""
    copied, at = list[int](), begin
    for length, kind, by in steps:
        upto = min(source.count, at + length)
        copied += [each for each in range(at, upto) if not committed or each not in source.optional]
        copied += [1000 + len(copied)] if kind == "foreign" else []
        at = max(0, upto + {"back": -by, "skip": by}.get(kind, 0))
        if kind == "end":
            break
    return copied


COPIES = st.builds(
    lambda source, *rest: (source, mirrored(source, *rest)),
    st.builds(Source, st.integers(1, 60), st.frozensets(st.integers(0, 60), max_size=12)),
    st.integers(0, 5),
    st.booleans(),
    STEPS,
)


@given(COPIES)
@example((Source(6, frozenset({2})), [0, 1, 2, 3, 0, 1, 2, 3, 4]))
def test_every_record_is_counted_as_if_all_were_in_memory(made: tuple[Source, list[int]]):
    source, copied = made
    assert counted(align(source, copied)) == truth(source, copied)


@given(COPIES, st.integers(1, 12))
@example((Source(2, frozenset({1})), [1]), 1)
def test_a_small_window_never_calls_a_copy_whole_that_is_not(made: tuple[Source, list[int]], window: int):
    source, copied = made
    expected, found = truth(source, copied), counted(align(source, copied, window=window))
    fault, seen = (
        any((each.gaps, each.late, each.repeats, each.unknown, each.aborted, each.lead)) for each in (expected, found)
    )
    assert seen == fault
    assert found.matched <= expected.matched


@given(st.integers(8, 60), st.integers(0, 4), st.integers(0, 3), st.integers(0, 200), st.integers(0, 70))
def test_a_checkpoint_is_behind_by_the_records_between_both_offsets(
    count: int, head: int, lag: int, upstream: int, downstream: int
):
    copied = range(head, count - lag)
    checkpoint = Checkpoint("group", "topic", 0, upstream, downstream)
    [found] = Aligner(Log(Source(count).blocks), copy(copied), checkpoints=[checkpoint]).align().translated
    goes_on_at = copied[downstream] if downstream < len(copied) else copied[-1] + 1
    first_unread = min(count, -(-upstream // 3))
    assert found.behind == first_unread - goes_on_at


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
def test_missing_repeated_or_reordered_records_break_the_verdict(kind: str, name: str):
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


def test_one_gap_where_the_target_could_not_be_read_excuses_no_other():
    gaps = (PIECE, PIECE._replace(target_start=50, target_end=50))
    found = replace(WHOLE, gaps=gaps, damages=(Damage(Side.TARGET, 8, 12, "CRC does not match"),))
    assert judged(found) == ("broken", {"mirror-gap": "error"})


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


def test_a_change_in_every_record_is_reported():
    found = replace(WHOLE, compared=Compared.KEY_AND_VALUE)
    assert judged(found) == ("held", {"mirror-changed": "warning"})


@pytest.mark.parametrize(("hides", "verdict"), [(True, "cannot-tell"), (False, "held")])
def test_a_copy_that_is_whole_now_is_not_held_where_a_log_was_cut_since_the_last_run(hides: bool, verdict: str):
    circumstances = replace(CIRCUMSTANCES, again=Again("the topic of the target was created again", hides))
    assert judged(WHOLE, PAIR, circumstances) == (verdict, {})


def reasons(found: Alignment, pair: PartitionPair = PAIR, circumstances: Circumstances = CIRCUMSTANCES) -> list[str]:
    """A finding's name and message without the pair, and each reason of the verdict."""
    verdict, findings = judge_pair(pair, found, circumstances)
    return [*(f"{each.name}: {each.message.removeprefix(f'{pair}: ')}" for each in findings), *verdict.reasons]


def stable_at(offset: int) -> PartitionPair:
    return replace(PAIR, source=PAIR.source._replace(last_stable_offset=offset))


def hole(start: int, end: int, side: Side = Side.TARGET) -> Damage:
    return Damage(side, start, end, "CRC does not match")


LAG = Stretch(90, 100, 90, 90, 10, NOW - 5 * HOUR)
LEAD = Stretch(0, 0, 0, 30, 30, NOW)
RETAINED = {"source": replace(TOPIC.source, retention_ms=None), "target": TOPIC.target}


@pytest.mark.parametrize(
    ("found", "pair", "circumstances", "expected"),
    [
        ({"aborted": (PIECE,)}, stable_at(11), CIRCUMSTANCES, ("broken", {"aborted-mirrored": "error"})),
        ({"aborted": (PIECE,)}, stable_at(10), CIRCUMSTANCES, ("cannot-tell", {"aborted-mirrored": "warning"})),
        (
            {"gaps": (PIECE,), "damages": (hole(10, 12),)},
            PAIR,
            CIRCUMSTANCES,
            ("cannot-tell", {"mirror-gap": "warning"}),
        ),
        (
            {"gaps": (PIECE,), "damages": (hole(8, 10),)},
            PAIR,
            CIRCUMSTANCES,
            ("cannot-tell", {"mirror-gap": "warning"}),
        ),
        ({"gaps": (PIECE,), "damages": (hole(11, 12),)}, PAIR, CIRCUMSTANCES, ("broken", {"mirror-gap": "error"})),
        ({"gaps": (PIECE,), "damages": (hole(8, 9),)}, PAIR, CIRCUMSTANCES, ("broken", {"mirror-gap": "error"})),
        (
            {"gaps": (PIECE,), "damages": (hole(8, 12, Side.SOURCE),)},
            PAIR,
            CIRCUMSTANCES,
            ("broken", {"mirror-gap": "error"}),
        ),
        ({"lag": LAG}, PAIR, CIRCUMSTANCES, ("held", {"mirror-retention": "warning"})),
        ({"lag": LAG._replace(timestamp=LAG.timestamp + 1)}, PAIR, CIRCUMSTANCES, ("held", {})),
        ({"lag": LAG._replace(timestamp=-1)}, PAIR, CIRCUMSTANCES, ("held", {})),
        ({"lag": LAG}, PAIR, replace(CIRCUMSTANCES, topic=MirroredTopic(TOPICS, **RETAINED)), ("held", {})),
        (
            {"lag": LAG},
            PAIR,
            replace(CIRCUMSTANCES, topic=MirroredTopic(TOPICS, replace(TOPIC.source, retention_ms=0), TOPIC.target)),
            ("held", {}),
        ),
        ({}, source(0, 100, 99), CIRCUMSTANCES, ("held", {})),
        ({}, source(0, 99, 99), CIRCUMSTANCES, ("cannot-tell", {"source-recreated": "error"})),
        ({}, source(0, 100, None), at(None), ("held", {})),
        ({}, replace(PAIR, position=Skipped("unread")), at(Skipped("unread")), ("held", {})),
        ({}, source(40, 100, 38), at(39), ("held", {})),
        ({}, source(41, 100, 38), at(39), ("cannot-tell", {"source-purged": "error"})),
        ({"lead": LEAD}, source(1, 100, 99), CIRCUMSTANCES, ("cannot-tell", {})),
        ({"lead": LEAD, "damages": (hole(8, 9, Side.SOURCE),)}, PAIR, CIRCUMSTANCES, ("cannot-tell", {})),
        (
            {"lead": LEAD, "damages": (hole(8, 9),)},
            PAIR,
            CIRCUMSTANCES,
            ("cannot-tell", {"source-recreated": "warning"}),
        ),
        ({"more": 1}, PAIR, CIRCUMSTANCES, ("cannot-tell", {})),
        (
            {"lead": LEAD, "head": LEAD, "first": None, "last": None, "source_records": 0, "target_records": 0},
            source(1, 100, 99),
            CIRCUMSTANCES,
            ("cannot-tell", {}),
        ),
        (
            {"head": LEAD, "first": None, "last": None, "source_records": 0, "target_records": 0},
            PAIR,
            CIRCUMSTANCES,
            ("held", {}),
        ),
    ],
)
def test_each_limit_of_the_verdict_on_a_pair_is_at_its_documented_value(found, pair, circumstances, expected):
    assert judged(replace(WHOLE, **found), pair, circumstances) == expected


@pytest.mark.parametrize("behind", [-1, 0, 1])
def test_a_group_whose_checkpoint_skips_records_is_named_and_decides_nothing(behind: int):
    found = replace(WHOLE, translated=(Translated(Checkpoint("g", "eu.orders", 0, 20, 21), behind),))
    expected = "checkpoint-ahead: group g at source offset 20 would resume at target offset 21 and skip 1 record"
    assert judged(found)[0] == "held"
    assert [each for each in reasons(found) if each.startswith("checkpoint")] == ([expected] if behind < 0 else [])


@pytest.mark.parametrize(
    ("compared", "left"),
    [
        (Compared.WHOLE, None),
        (Compared.WITHOUT_HEADERS, "headers differ; records are compared by key, value and timestamp"),
        (Compared.WITHOUT_TIMESTAMP, "timestamps differ; records are compared by key, value and headers"),
        (Compared.KEY_AND_VALUE, "timestamps and headers differ; records are compared by key and value"),
    ],
)
def test_the_omitted_parts_of_a_record_are_named(compared: Compared, left: str | None):
    found = [each for each in reasons(replace(WHOLE, compared=compared)) if each.startswith("mirror-changed")]
    assert found == ([] if left is None else [f"mirror-changed: {left}"])


@pytest.mark.parametrize(
    ("found", "pair", "circumstances", "words"),
    [
        (WHOLE, PAIR, CIRCUMSTANCES, "source offsets 0 to 99 are there once and in order, by digests of key"),
        (Alignment(), PAIR, CIRCUMSTANCES, "neither side holds a committed record"),
        (
            replace(WHOLE, continued=(50, 40)),
            PAIR,
            CIRCUMSTANCES,
            "source offsets before 50 and target offsets before 40",
        ),
        (WHOLE, PAIR, replace(CIRCUMSTANCES, again=Again("why")), "everything was compared again: why"),
        (replace(WHOLE, more=2), PAIR, CIRCUMSTANCES, "2 differences more are not listed"),
        (
            replace(WHOLE, aborted=(PIECE,)),
            stable_at(10),
            CIRCUMSTANCES,
            "5 records of undecided source transactions: audit again when these have ended",
        ),
        (
            replace(WHOLE, damages=(hole(8, 12),)),
            PAIR,
            CIRCUMSTANCES,
            "target offsets 8 to 11 of eu.orders-0 were not read",
        ),
        (replace(WHOLE, gaps=(PIECE,)), PAIR, CIRCUMSTANCES, "5 records missing"),
        (
            replace(WHOLE, gaps=(PIECE,), unknown=(PIECE._replace(records=4),)),
            PAIR,
            CIRCUMSTANCES,
            "4 records of the target equal no record of the source, instead of 5 records of the source",
        ),
        (
            replace(WHOLE, gaps=(PIECE,), unknown=(PIECE._replace(source_start=11, records=4),)),
            PAIR,
            CIRCUMSTANCES,
            "4 records of the target equal no record of the source",
        ),
        (
            Alignment(source_records=9, target_records=5, aborted=(PIECE,)),
            PAIR,
            replace(CIRCUMSTANCES, isolation=IsolationLevel.READ_UNCOMMITTED),
            "only records of aborted transactions were mirrored: audit again when the mirror runs",
        ),
        (Alignment(source_records=9, target_records=9), PAIR, CIRCUMSTANCES, "no record of the target equals a record"),
        (Alignment(target_records=9), PAIR, CIRCUMSTANCES, "the source holds no committed record for a comparison"),
        (Alignment(source_records=9), PAIR, CIRCUMSTANCES, "target offsets 0 to 99 of eu.orders-0 hold no record"),
        (
            Alignment(source_records=9),
            replace(PAIR, target=PartitionBounds("eu.orders", 0, 7, 7, 7, 0)),
            CIRCUMSTANCES,
            "the target no longer holds a record: audit more often than it deletes",
        ),
        (
            Alignment(source_records=9),
            replace(PAIR, target=PartitionBounds("eu.orders", 0, 0, 0, 0, 0), position=None),
            CIRCUMSTANCES,
            "nothing has been mirrored yet: audit again when the mirror runs",
        ),
        (
            Alignment(source_records=9, lag=LAG),
            replace(PAIR, target=PartitionBounds("eu.orders", 0, 0, 0, 0, 0), position=5),
            CIRCUMSTANCES,
            "the mirror is at source offset 5, and the target never held a record",
        ),
    ],
)
def test_a_verdict_on_a_pair_gives_its_reason(found, pair, circumstances, words):
    assert [each for each in reasons(found, pair, circumstances) if each.startswith(words)]


def test_aborted_records_that_were_mirrored_are_not_asked_for_again():
    assert reasons(replace(WHOLE, aborted=(PIECE,)))[1:] == ["5 records of aborted source transactions"]


def test_a_gap_elsewhere_is_not_what_unknown_records_stand_instead_of():
    elsewhere = replace(WHOLE, gaps=(PIECE,), unknown=(PIECE._replace(source_start=11, records=4),))
    assert "4 records of the target equal no record of the source" in reasons(elsewhere)


def test_a_gap_in_a_target_that_never_held_a_record_counts_the_records_that_wait():
    pair = replace(PAIR, target=PartitionBounds("eu.orders", 0, 0, 0, 0, 0), position=5)
    for lag, records in ((LAG, 10), (None, 0)):
        _, [found, *_] = judge_pair(pair, Alignment(source_records=9, lag=lag), CIRCUMSTANCES)
        assert (found.name, found.evidence["records"]) == ("mirror-gap", records)


SOON = {"SEARCHED_FOR": 4, "LOOKED_AT": 2}
"""Fewer records than in earnest decide between places, so that small logs decide something."""
WINDOWS = st.integers(5, 60)
"""Larger than the searched part, as in production."""


def in_parts(
    source: Source, copied: Sequence[int], ends: Sequence[int], window: int, lag: int, undecided: tuple[int, int]
) -> Alignment:
    """Run by run: each sees a part of the copy, and of the source the copied part and `lag` more records.

    From this many records before these on, every second or third one is in an open transaction.
    """
    kept: Kept | None = None
    for end in [*sorted(ends), len(copied)]:
        there = max((each + 1 for each in copied[:end] if each < source.count), default=0)
        whole = end == len(copied)
        count = source.count if whole else min(source.count, there + lag)
        settled = count if whole else max(0, there - undecided[0])
        now = Source(count, source.optional | frozenset(range(settled, count, undecided[1])))
        run = Aligner(Log(now.blocks, 0, 3 * settled), copy(copied[:end]), None, window, earlier=kept)
        found = run.align()
        kept = None if run.kept is None else decode_audit_state(encode_audit_state(run.kept), Kept)
    return found


FARTHEST = 30
"""How far a mirror goes back."""
LONG_STEPS = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from(["go on", "back", "skip", "foreign"]), st.integers(0, FARTHEST)),
    max_size=8,
)
LONG_COPIES = st.builds(
    lambda source, *rest: (source, mirrored(source, *rest)),
    st.builds(Source, st.integers(1, 200), st.frozensets(st.integers(0, 200), max_size=12)),
    st.integers(0, 5),
    st.booleans(),
    LONG_STEPS,
)


ENDS = st.lists(st.integers(0, 300), max_size=3)


@given(LONG_COPIES, ENDS, WINDOWS, st.integers(0, 20), st.tuples(st.integers(0, 30), st.integers(1, 3)))
def test_parts_give_the_answer_of_the_whole(
    made: tuple[Source, list[int]], ends: list[int], window: int, lag: int, undecided: tuple[int, int]
):
    source, copied = made
    with patch.multiple(aligner, **SOON):
        whole = align(source, copied, window=window)
        parts = in_parts(source, copied, [min(each, len(copied)) for each in ends], window, lag, undecided)
    assert_same(parts, whole, aborted_in_reach=window > FARTHEST or not source.optional)


def test_an_aborted_record_that_was_copied_before_is_not_copied_for_the_first_time_again():
    """A task that fails writes its records again: they are equal to those of the transaction that was aborted."""

    class Retried(Source):
        def blocks(self, start: int):
            found = super().blocks(start)
            return (each._replace(digests=[at - 10 if 20 <= at < 30 else at for at in each.digests]) for each in found)

    source = Retried(60, frozenset(range(10, 20)))
    copied = [*range(20), *range(10, 20), *range(30, 45), *range(10, 20), *range(45, 60)]
    with patch.multiple(aligner, **SOON):
        whole = align(source, copied, window=25)
        first = Aligner(Log(source.blocks), copy(copied[:45]), None, 25)
        first.align()
        found = Aligner(Log(source.blocks), copy(copied), None, 25, earlier=first.kept).align()
    assert (found, counted(found).aborted, counted(found).repeats) == (whole, 10, 10)
    assert first.kept is not None
    assert len(first.kept.aborted_taken) == 10


def test_records_of_an_open_transaction_are_decided_by_the_run_that_comes_when_it_has_ended():
    source, whole, skipping = Source(60), list(range(60)), [*range(30), *range(40, 60)]
    late = [*range(36), *range(37, 55, 2), *range(36, 54, 2), *range(54, 60)]
    with patch.multiple(aligner, **SOON):
        for copied in (whole, skipping, late):
            assert in_parts(source, copied, [45], 10, 5, (18, 2)) == align(source, copied, window=10)


def test_a_run_continues_at_the_end_of_the_last_and_reads_no_more_than_the_window_before_it():
    kept = Aligner(Log(Source(5000).blocks), copy(range(4000)), None, 100)
    kept.align()
    opened = list[int]()
    source = Source(9000)

    def blocks(start: int):
        opened.append(start)
        return source.blocks(start)

    run = Aligner(Log(blocks), copy(range(8000)), None, 100, earlier=kept.kept)
    assert counted(run.align()) == counted(align(source, range(8000)))
    assert min(opened) >= 3 * (4000 - 2 * 100)


def test_a_source_without_records_before_the_end_of_the_last_run_is_not_continued():
    kept = Aligner(Log(Source(500).blocks), copy(range(500)), None, 100)
    kept.align()
    compacted = Source(600, frozenset({480}))
    with pytest.raises(Changed):
        Aligner(Log(compacted.blocks), copy(range(600)), None, 100, earlier=kept.kept)


def pieces_of(source: Source, copied: Sequence[int], cuts: Sequence[Piece], window: int) -> list[EqualPiece]:
    """The equal length of each piece; pieces that differ from the beginning are left out."""
    found = ((each, equal_from(Log(source.blocks), copy(copied), each, window)) for each in cuts)
    return [
        EqualPiece(each[:2], each[2:], run[0], run[1], Counts(), Counts()) for each, run in found if run is not None
    ]


def in_pieces(source: Source, copied: Sequence[int], cuts: Sequence[Piece], window: int) -> Alignment:
    runs = list(joined(pieces_of(source, copied, cuts, window), window))
    return Aligner(Log(source.blocks), copy(copied), None, window, equal=runs).align()


def between(places: list[tuple[int, int]]) -> list[Piece]:
    ordered = sorted(places)
    return [Piece(*one, *other) for one, other in pairwise(ordered) if one[0] < other[0] and one[1] < other[1]]


@given(LONG_COPIES, st.lists(st.integers(0, 300), max_size=4), st.lists(st.integers(0, 300), max_size=2), WINDOWS)
def test_pieces_give_the_answer_of_one_comparison_for_every_cut(
    made: tuple[Source, list[int]], places: list[int], wrong: list[int], window: int
):
    source, copied = made
    ends = (3 * source.count, len(copied))
    cuts = [(3 * copied[each], each) for each in places if each < len(copied) and copied[each] < source.count]
    arbitrary = [(3 * (each % (source.count + 1)), each // 2) for each in wrong if each // 2 < len(copied)]
    with patch.multiple(aligner, **SOON):
        found = in_pieces(source, copied, between([(0, 0), *cuts, *arbitrary, ends]), window)
        whole = align(source, copied, window=window)
    assert_same(found, whole, aborted_in_reach=window > FARTHEST or not source.optional)


def test_a_whole_copy_is_one_run_wherever_it_is_cut():
    cuts = between([(0, 0), (3 * 400, 400), (3 * 700, 700), (3 * 1000, 1000)])
    pieces = pieces_of(Source(1000), range(1000), cuts, 50)
    assert [each.whole for each in pieces] == [True, True, True]
    assert list(joined(pieces, 50)) == [EqualRun(0, 0, 3 * 999, 999, 1000, 3 * 949 + 1)]


def test_a_run_that_is_smaller_than_the_window_is_not_joined_because_it_holds_no_whole_context():
    cuts = between([(0, 0), (3 * 970, 970), (3 * 1000, 1000)])
    found = joined(pieces_of(Source(1000), range(1000), cuts, 50), 50)
    assert [(each.source_start, each.records) for each in found] == [(0, 970), (3 * 970, 30)]


def test_an_equal_run_that_is_smaller_than_the_window_is_compared_record_by_record():
    """It holds fewer records than a mirror may go back within the window: passed over, a repeat would be unknown."""
    source, copied = Source(200), [*range(112), *range(80, 200)]
    small = EqualRun(300, 100, 327, 109, 10, 300)
    found = Aligner(Log(source.blocks), copy(copied), None, 50, equal=[small]).align()
    assert counted(found) == Counted(matched=200, repeats=32)


@pytest.mark.parametrize("settled", [59, 60, 61])
def test_an_equal_run_that_ends_behind_the_last_stable_offset_is_not_passed_over(settled: int):
    """A run after its transactions have ended resumes before them: some may have been aborted by then."""
    source, run = Source(100), EqualRun(0, 0, 3 * 59, 59, 60, 3 * 10)
    first = Aligner(Log(source.blocks, 0, 3 * settled), copy(range(100)), None, 50, equal=[run])
    first.align()
    assert first.kept is not None
    assert (first.kept.source_next, first.kept.target_next) == (3 * settled, settled)
    aborted = Source(100, frozenset(range(settled, 100)))
    found = Aligner(Log(aborted.blocks), copy(range(100)), None, 50, earlier=first.kept).align()
    assert counted(found) == Counted(matched=settled, aborted=100 - settled)


def test_aborted_records_of_a_source_that_is_read_again_are_kept_once():
    """A run that is passed over has the source read again from its context: an aborted record was still there once."""
    source = Source(10, frozenset({3, 4}))
    records = AbortedRecords(100)
    target = Buffer(copy([3, 4, 3, 4]).open(0))
    for start in (0, 6):
        assert [at for block in records.committed(source.blocks(start)) for at in block.offsets]
    target.load(4)
    assert records.run(target, again=False) == 4
    records.pass_run(target, 2, Runs(9))
    assert (records.run(target, again=False), records.run(target, again=True)) == (0, 2)


def test_a_piece_is_equal_up_to_its_first_difference():
    [piece] = pieces_of(Source(1000), [*range(600), *range(601, 1000)], [Piece(0, 0, 3000, 999)], 50)
    assert (piece.run, piece.whole) == (EqualRun(0, 0, 3 * 599, 599, 600, 3 * 549 + 1), False)


def test_cuts_are_found_though_the_copy_began_late_and_misses_records():
    source, copied = Source(6000), [*range(900, 2500), *range(2600, 5000)]
    with patch.multiple(blocks, NEAR=300, LOOKED_FOR=32):
        found = cut(Log(source.blocks), copy(copied), (18_000, len(copied)), 4)
    assert [(each.source_start, each.target_start) for each in found] == [
        (0, 0), (3 * 1900, 1000), (3 * 3000, 2000), (3 * 4000, 3000)
    ]  # fmt: skip


KEPT = Kept(
    source_next=50,
    source_place=50,
    context=0,
    context_records=0,
    target_next=40,
    target_place=40,
    waiting=0,
    first=None,
    first_place=0,
    last=None,
    matched=0,
    runs={},
)
NAMES = TopicPair("a", "b")
PROGRESS = MirrorProgress(NAMES, 0, "A", "B", KEPT, Counts(50), Counts(40))


def limits(name: str, start: int, end: int) -> PartitionBounds:
    return PartitionBounds(name, 0, start, end, end + 9, 0)


@pytest.mark.parametrize(
    ("ids", "source", "target", "hides", "words"),
    [
        (("A", "B"), (50, 50), (40, 40), None, ""),
        (("A", "B"), (0, 51), (0, 41), None, ""),
        ((None, "B"), (0, 50), (0, 40), False, "the source reports no topic ID"),
        (("A", None), (0, 50), (0, 40), False, "the target reports no topic ID"),
        (("C", "B"), (0, 50), (0, 40), True, "topic of the source was created again"),
        (("A", "C"), (0, 50), (0, 40), True, "topic of the target was created again"),
        (("A", "B"), (51, 60), (0, 40), True, "the source was deleted up to 51, and the last run had come to 50"),
        (("A", "B"), (0, 50), (41, 60), True, "the target was deleted up to 41, and the last run had come to 40"),
        (("A", "B"), (0, 49), (0, 40), True, "the source ends at 49, and the last run had come to 50"),
        (("A", "B"), (0, 50), (0, 39), True, "the target ends at 39, and the last run had come to 40"),
    ],
)
def test_a_run_continues_only_where_both_topics_still_hold_the_place_it_had_come_to(ids, source, target, hides, words):
    again = why_again(PartitionPair(NAMES, 0, limits("a", *source), limits("b", *target)), ids, PROGRESS)
    assert (None if again is None else again.hides) == hides
    assert words in ("" if again is None else again.why)


def test_checkpoints_are_held_against_every_record() -> None:
    pair = PartitionPair(NAMES, 0, limits("a", 0, 50), limits("b", 0, 40), checkpoints=(Checkpoint("g", "a", 0, 1, 1),))
    assert why_again(pair, ("A", "B"), PROGRESS) == Again("checkpoints are held against every record")


@pytest.mark.parametrize(
    ("last", "begins", "until"),
    [
        (49, (0, 0), (90, 80)),
        (50, (50, 40), (50, 40)),
        (50, (49, 40), None),
        (50, (50, 39), None),
        (70, (60, 45), (60, 45)),
    ],
)
def test_counts_reach_to_the_place_where_a_run_resumes_unless_a_piece_lies_on_both_sides(last, begins, until):
    run = EqualRun(begins[0], begins[1], last, last, 1, 0)
    piece = EqualPiece(begins, (last + 1, last + 1), run, True, Counts(90, 5, 500, 1), Counts(80, 4, 400, 0))
    own = Counts(70, 1, 10), Counts(60, 2, 20)
    found = counts_at(own, KEPT, [piece])
    assert (None if found is None else tuple(each.until for each in found)) == until
    if found is not None:
        passed = last < 50
        assert [each.records for each in found] == ([6, 6] if passed else [1, 2])
        assert found[0].aborted == passed
