"""Real batches compared in runs and in pieces: answer and figures are those of one comparison of everything."""

import dataclasses

import pytest
from msgspec.structs import replace

from eosctl.codecs.ledger import decode_audit_state, encode_audit_state
from eosctl.engines import mirroring
from eosctl.engines.mirroring import BothSides, PairJob, compare_pair, compare_pairs, compare_piece, cut_pair
from eosctl.model.audit import AuditedTopic, TopicRole
from eosctl.model.groups import Checkpoint
from eosctl.model.mirror import Alignment, Compared, ComparedPair, MirrorProgress
from tests.engines.mirror_logs import Log, Written, batch, pair

WINDOW = 40
RECORDS = [Written(number, b"k%d" % (number % 7), b"record %d" % number) for number in range(3000)]


def log(numbers: list[int], size: int, aborted: frozenset[int] = frozenset()) -> Log:
    """These records in batches of this size; each offset is the place of its record."""
    cuts = range(0, len(numbers), size)
    parts = [[RECORDS[each] for each in numbers[at : at + size]] for at in cuts]
    return Log(tuple(batch(part, range(len(part)), at) for part, at in zip(parts, cuts, strict=True)), aborted)


def until(job: PairJob, source_end: int, target_end: int) -> PairJob:
    """The same pair, when its logs ended there."""
    ends = [
        bounds._replace(last_stable_offset=end, high_watermark=end)
        for bounds, end in ((job.pair.source, source_end), (job.pair.target, target_end))
    ]
    return job._replace(pair=replace(job.pair, source=ends[0], target=ends[1]))


def opened(source: Log, target: Log) -> tuple[BothSides, PairJob]:
    sides, job = pair(source, target)
    return sides._replace(window=WINDOW), job


def kept(found: ComparedPair) -> MirrorProgress:
    """The state that the run leaves to a ledger."""
    assert found.progress is not None
    return decode_audit_state(encode_audit_state(found.progress), MirrorProgress)


def answer(found: ComparedPair) -> Alignment:
    return replace(found.alignment, continued=None)


COPIES = {
    "whole": list(range(3000)),
    "gap": [*range(900), *range(950, 3000)],
    "gap beyond the window": [*range(900), *range(1500, 3000)],
    "repeat": [*range(1300), *range(1200, 3000)],
    "late": [*range(500), *range(520, 1000), *range(500, 520), *range(1000, 3000)],
    "began late": list(range(700, 3000)),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("end", [1200, 1777, 2200])
def test_two_runs_give_the_report_of_one(copied: list[int], end: int):
    sides, job = opened(log(list(range(3000)), 13, frozenset({5, 60})), log(copied, 29, frozenset({50})))
    whole = compare_pair(sides, job)
    first = compare_pair(sides, until(job, max(copied[:end]) + 5, end))
    second = compare_pair(sides, job._replace(earlier=kept(first)))
    assert second.alignment.continued is not None
    assert answer(second) == answer(whole)


def test_a_run_that_saw_too_little_to_decide_anything_leaves_nothing_to_continue_from():
    sides, job = opened(log(list(range(3000)), 13), log(COPIES["began late"], 29))
    assert compare_pair(sides, until(job, 1000, 200)).progress is None


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("processes", [2, 5])
def test_pieces_give_the_result_of_one_comparison(monkeypatch, copied: list[int], processes: int):
    monkeypatch.setattr(mirroring, "SMALLEST_PIECE", 500)
    sides, job = opened(log(list(range(3000)), 13, frozenset({5, 60})), log(copied, 29, frozenset({50})))
    cuts = cut_pair(sides, job.pair, None, processes)
    pieces = tuple(filter(None, (compare_piece(sides, each) for each in cuts)))
    assert len(cuts) >= processes - 1
    assert sum(each.run.records for each in pieces) > 100 * processes
    found, whole = compare_pair(sides, job._replace(pieces=pieces)), compare_pair(sides, job)
    assert found.alignment == whole.alignment
    again = [compare_pair(sides, job._replace(earlier=kept(each))) for each in (found, whole)]
    assert again[0].alignment == again[1].alignment


def test_processes_give_the_result_of_one_process_on_a_large_and_a_small_pair(monkeypatch):
    monkeypatch.setattr(mirroring, "SMALLEST_PIECE", 500)
    monkeypatch.setattr(mirroring, "SMALL", 1000)
    sides, large = opened(log(list(range(3000)), 13), log(COPIES["late"], 29))
    jobs, passed = [until(large, 300, 290), large], list[int]()
    found = compare_pairs(sides, jobs, 2, passed.append)
    assert [each.alignment for each in found] == [compare_pair(sides, each).alignment for each in jobs]
    assert sorted(passed) == [590, 6000]


def with_ids(sides: BothSides, source: str | None, target: str | None) -> BothSides:
    """The same logs as those of topics with other IDs."""
    topics = (AuditedTopic("a", TopicRole.OUTPUT, source), AuditedTopic("b", TopicRole.OUTPUT, target))
    plan = replace(sides.source, topics=topics)
    return sides._replace(source=plan, target=plan)


def begun(job: PairJob, source: int, target: int) -> PairJob:
    """The same pair, with its logs deleted up to there."""
    starts = [
        bounds._replace(log_start_offset=start, audited_from=start)
        for bounds, start in ((job.pair.source, source), (job.pair.target, target))
    ]
    return job._replace(pair=replace(job.pair, source=starts[0], target=starts[1]))


CHANGES = {
    "the topic of the source was created again": lambda sides, job: (with_ids(sides, "X", "B"), job),
    "the topic of the target was created again": lambda sides, job: (with_ids(sides, "A", "X"), job),
    "the source reports no topic ID": lambda sides, job: (with_ids(sides, None, "B"), job),
    "the source was deleted up to 2001, and the last run had come to 2000": lambda sides, job: (
        sides,
        begun(job, 2001, 0),
    ),
    "the target was deleted up to 2100": lambda sides, job: (sides, begun(job, 0, 2100)),
    "the source ends at 1000": lambda sides, job: (sides, until(job, 1000, 3000)),
    "the target ends at 1500": lambda sides, job: (sides, until(job, 3000, 1500)),
    "checkpoints are held": lambda sides, job: (
        sides,
        job._replace(pair=replace(job.pair, checkpoints=(Checkpoint("group", "b", 0, 2500, 2500),))),
    ),
}


@pytest.mark.parametrize("reason", CHANGES)
def test_changes_below_the_last_run_lead_to_a_full_comparison_with_its_reason(reason: str):
    sides, job = opened(log(list(range(3000)), 20), log(list(range(3000)), 25))
    earlier = kept(compare_pair(sides, until(job, 2000, 2000)))
    changed, now = CHANGES[reason](sides, job)
    found = compare_pair(changed, now._replace(earlier=earlier))
    assert found.again is not None
    assert found.again.why.startswith(reason)
    assert found.again.hides == (" no topic ID" not in reason and "checkpoints" not in reason)
    assert found._replace(again=None) == compare_pair(changed, now)


@pytest.mark.parametrize("side", [0, 1])
def test_other_records_where_the_last_run_ended_lead_to_a_comparison_of_everything(side: int):
    numbers = list(range(3000))
    sides, job = opened(log(numbers, 13), log(numbers, 29))
    earlier = kept(compare_pair(sides, until(job, 2000, 2000)))
    other = log([*range(1000), *range(1, 2001)], 13)
    changed = sides._replace(open_source=other) if side == 0 else sides._replace(open_target=other)
    found = compare_pair(changed, job._replace(earlier=earlier))
    assert found.again == ("the records where the last run ended are no longer the same on both sides", False)
    assert found._replace(again=None) == compare_pair(changed, job)


@pytest.mark.parametrize("starts", [(1500, 1800), (1970, 2000), (2000, 0), (2000, 2000)])
def test_the_comparison_continues_after_compared_records_were_deleted(starts: tuple[int, int]):
    sides, job = opened(log(list(range(3000)), 20), log(list(range(3000)), 25))
    earlier = kept(compare_pair(sides, until(job, 2000, 2000)))
    found = compare_pair(sides, begun(job, *starts)._replace(earlier=earlier))
    assert (found.again, found.alignment.first, found.alignment.matched) == (None, (0, 0), 3000)


def test_missing_records_that_were_deleted_since_are_a_gap_and_their_repetitions_are_unknown():
    copied = [*range(900), *range(910, 3000), *range(905, 915)]
    sides, job = opened(log(list(range(3000)), 20), log(copied, 25))
    sides = sides._replace(window=1000)
    earlier = kept(compare_pair(sides, until(job, 1960, 1950)))
    assert [each.stretch.records for each in earlier.kept.missing] == [10]
    found = compare_pair(sides, begun(job, 1000, 0)._replace(earlier=earlier)).alignment
    assert [each[:2] for each in found.gaps] == [(900, 910)]
    assert sum(each.records for each in found.unknown) == 10


def test_some_records_that_are_equal_by_chance_but_for_their_timestamps_decide_nothing():
    def stamped(numbers: range) -> Log:
        return Log((batch([Written(each, b"k", None if each % 5 == 4 else b"%d" % each) for each in numbers],
                          range(len(numbers)), 0),))  # fmt: skip

    sides, job = opened(stamped(range(50, 100)), stamped(range(30)))
    found = compare_pair(sides, job).alignment
    assert (found.compared, found.matched, found.first) == (Compared.WHOLE, 0, None)


def test_damage_is_not_gone_on_with():
    broken = log(list(range(1000)), 10)
    batches = list(broken.batches)
    batches[50] = batches[50][:-1] + bytes([batches[50][-1] ^ 1])
    sides, job = opened(dataclasses.replace(broken, batches=tuple(batches)), log(list(range(1000)), 10))
    found = compare_pair(sides, job)
    assert found.alignment.damages
    assert found.progress is None
