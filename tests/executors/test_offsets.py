"""Offsets are written in one transaction, or not at all, and only over those of the plan."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.clients.librdkafka import PartitionRecord
from eosctl.errors import Interrupted, Refused, Unreachable
from eosctl.executors import offsets
from eosctl.executors.offsets import verify_offsets, write_offsets
from eosctl.model.names import Side
from eosctl.model.plan import OffsetsWrite, VerifyOffsets, WriteOffsets
from eosctl.model.preconditions import OffsetsNow
from tests.fake_cluster import InTurn

S = Side.SOURCE
RECORDS = tuple(OffsetsWrite(0, key, b"v", None) for key in (b"a", b"b", b"c"))
STEP = WriteOffsets(S, "offsets", "orders", "g-orders-0", 60_000, RECORDS, "read", "old", "new")
AGAIN = replace(STEP, after="old")
"""An undo that restores the same values: only the places of records distinguish before from after."""
BEFORE, AFTER, OTHER = OffsetsNow("read", "old"), OffsetsNow("written", "new"), OffsetsNow("x", "y")


class Topic:
    """The offsets topic and the one producer that may write to it: each reading is the next of these, then the last."""

    def __init__(self, *found: OffsetsNow) -> None:
        self.done: list[str] = []
        self.open = False
        self.trouble: str | None = None
        self.interrupted_at = ""
        self._found = InTurn(*found)

    def read(self, *_: object) -> OffsetsNow:
        self.do("read")
        now: OffsetsNow = self._found()
        return now

    def do(self, what: str) -> None:
        self.done.append(what)
        if what == self.interrupted_at:
            raise KeyboardInterrupt

    def __enter__(self) -> "Topic":
        return self

    def __exit__(self, *_: object) -> None: ...

    def initialise(self) -> None:
        self.do("initialise")

    def begin(self) -> None:
        self.open = True
        self.do("begin")

    def write(self, _: str, records: Sequence[PartitionRecord]) -> None:
        self.do(f"write {len(records)}")

    def flush(self, _: str) -> None:
        self.do("flush")

    def commit(self, _: str) -> None:
        self.open = False
        self.do("commit")

    def abort(self) -> str | None:
        self.do("abort")
        return self.trouble


TRANSACTION = ["begin", "write 1", "flush", "write 2", "flush", "commit"]


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Performs the step on a topic; the markers of its transaction are written at once, unless `decided` says so."""

    def carry_out(topic: Topic, step: WriteOffsets = STEP, decided: Sequence[bool | BaseException] = (True,)) -> str:
        monkeypatch.setattr(offsets, "TransactionalProducer", lambda *_, **__: topic)
        answers = InTurn(*decided)

        def is_decided(_: str) -> bool:
            topic.do("decided?")
            return bool(answers())

        properties: Any = None
        return write_offsets(
            step,
            lambda: topic.do("recheck"),
            properties=properties,
            read_offsets=topic.read,
            is_decided=is_decided,
            timeout_s=5,
        )

    return carry_out


def test_the_earlier_transaction_is_fenced_before_any_fact_is_read_again(write) -> None:
    """Otherwise the former holder of the ID could commit between the look and the write."""
    topic = Topic(BEFORE)
    assert write(topic) == "3 offsets in one transaction as g-orders-0"
    assert topic.done == ["initialise", "recheck", "read", *TRANSACTION, "decided?"]


@pytest.mark.parametrize(
    ("step", "now", "outcome"),
    [
        (STEP, BEFORE, "written"),
        (STEP, OffsetsNow("x", "read"), "written"),
        (STEP, OffsetsNow("read", "y"), "written"),
        (STEP, AFTER, "already"),
        (STEP, OTHER, "refused"),
        (STEP, OffsetsNow("x", "old"), "refused"),
        (AGAIN, BEFORE, "written"),
        (AGAIN, OffsetsNow("written", "old"), "already"),
        (AGAIN, OTHER, "refused"),
        (replace(STEP, records=()), BEFORE, "held"),
        (replace(STEP, records=()), AFTER, "held"),
        (replace(STEP, records=()), OffsetsNow("new", "y"), "held"),
        (replace(STEP, records=()), OTHER, "refused"),
    ],
)
def test_offsets_are_written_over_those_of_the_plan_and_over_no_others(write, step, now: OffsetsNow, outcome: str):
    """An earlier run wrote the plan's result; a task wrote any other records meanwhile."""
    topic = Topic(now)
    if outcome == "refused":
        with pytest.raises(Refused, match="the offsets of connector orders in topic offsets changed"):
            write(topic, step)
    else:
        words = {
            "written": "in one transaction",
            "already": "were in topic offsets already",
            "held": "held the offsets",
        }
        assert words[outcome] in write(topic, step)
    assert ("commit" in topic.done) is (outcome == "written")
    assert ("initialise" in topic.done) is bool(step.records), "without a record to write no producer is fenced"
    assert "recheck" in topic.done


def test_deletions_are_counted_apart(write) -> None:
    deleted = replace(STEP, records=(*RECORDS[:1], replace_value(RECORDS[1], None)))
    assert write(Topic(BEFORE), deleted) == "1 offset and 1 deletion in one transaction as g-orders-0"


def replace_value(record: OffsetsWrite, value: bytes | None) -> OffsetsWrite:
    return OffsetsWrite(record.partition, record.key, value, record.value)


@pytest.mark.parametrize("place", ["begin", "write 1", "flush", "write 2"])
@pytest.mark.parametrize("trouble", [None, "no answer"])
def test_an_interrupted_transaction_is_aborted_and_no_offset_is_changed(write, place: str, trouble) -> None:
    topic = Topic(BEFORE)
    topic.interrupted_at, topic.trouble = place, trouble
    with pytest.raises(Interrupted) as interrupted:
        write(topic)
    fate = "was aborted" if trouble is None else "will be aborted by its coordinator (no answer)"
    assert interrupted.value.message == f"interrupted; the open transaction {fate}, no offset was changed"
    assert topic.done[-1] == "abort"


@pytest.mark.parametrize("place", ["commit", "decided?"])
def test_a_write_that_is_interrupted_after_its_commit_is_committed_and_not_aborted(write, place: str) -> None:
    topic = Topic(BEFORE)
    topic.interrupted_at = place
    with pytest.raises(Interrupted, match="interrupted; the transaction was committed before"):
        write(topic)
    assert "abort" not in topic.done


def test_who_reads_next_finds_the_markers_written(write) -> None:
    topic = Topic(BEFORE)
    write(topic, decided=(False, False, True))
    assert topic.done.count("decided?") == 3


def test_a_coordinator_that_does_not_answer_after_the_commit_changes_nothing_of_it(write) -> None:
    topic = Topic(BEFORE)
    assert "in one transaction" in write(topic, decided=(Unreachable("the coordinator does not answer"),))


PENDING = OffsetsNow("written", "old", ("7/1",))


class Access:
    """How long an answer may take."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s


def verified(topic: Topic, timeout_s: float = 5) -> str:
    access: Any = Access(timeout_s)
    step = VerifyOffsets(S, "offsets", "orders", "new")
    return verify_offsets(step, lambda: None, access=access, read_offsets=topic.read)


def test_offsets_that_are_undecided_for_a_moment_are_waited_for() -> None:
    topic = Topic(PENDING, PENDING, AFTER)
    assert verified(topic) == "topic offsets holds the offsets as planned"
    assert topic.done == ["read"] * 3


@pytest.mark.parametrize("now", [BEFORE, OTHER, PENDING, OffsetsNow("written", "new", ("7/1",))])
def test_a_topic_that_does_not_hold_what_was_written_is_refused_and_so_is_one_of_which_that_is_open(now) -> None:
    """The connector is not to be started: an open transaction may still change its offsets."""
    with pytest.raises(Refused, match="does not hold the offsets of connector orders that were written") as refused:
        verified(Topic(now), timeout_s=0.05)
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("do not start the connector; `eosctl offsets show --connector orders`")


def test_markers_that_are_not_written_in_time_are_not_waited_for_any_longer(monkeypatch) -> None:
    """The transaction is committed: what reads the topic next waits for its markers itself."""
    monkeypatch.setattr(offsets, "POLL_S", 0.0)
    asked: list[str] = []

    def never(name: str) -> bool:
        asked.append(name)
        assert len(asked) < 10_000
        return False

    offsets._await_markers(STEP, never, 0.0)
    assert asked == ["g-orders-0"]
