"""Small runs for tests of the ledger."""

import itertools

import pytest

from eosctl.errors import EosctlError
from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.model.audit import StateKind, StateRow
from eosctl.model.ledger import Advance, CarriedBucket, Cursor, JobState, LedgerRange, LedgerRun
from eosctl.sources.config_providers import look_up

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
_RUN_IDS = (f"run-{number}" for number in itertools.count(1))


def advanced(state: JobState, topic: str, partition: int, end: int, *, topic_id: str = "A") -> Advance:
    """[where the cursor stands, end) was read."""
    before = next((each for place, each in state.cursors.items() if str(place) == f"{topic}-{partition}"), None)
    start = 0 if before is None else before.offset
    read = (LedgerRange(topic, partition, topic_id, start, end, records=end - start),) if end > start else ()
    return Advance(before, Cursor(topic, partition, topic_id, end), read)


def row(payload: bytes, *, bucket: int = 0, topic: str = "t", partition: int = 0, start: int = 0) -> StateRow:
    """A carried row of kind LOG."""
    return StateRow(StateKind.LOG, bucket, topic, partition, start, True, payload)


def run_of(
    state: JobState, *advances: Advance, rows: tuple[StateRow, ...] = (), report: str = "{}", run_id: str | None = None
) -> LedgerRun:
    """A run planned from `state`; its rows take the places of their buckets."""
    buckets = sorted({each.bucket for each in rows})
    carried = tuple(CarriedBucket(StateKind.LOG, b, tuple(each for each in rows if each.bucket == b)) for b in buckets)
    return LedgerRun(run_id or next(_RUN_IDS), state, 1_790_000_000_000, "held", 0, report, "0.1.0", advances, carried)


def read_up_to(ledger: Ledger, job: str, end: int, *, rows: tuple[StateRow, ...] = ()) -> LedgerRun:
    """Commits a run that read t-0 up to `end`, and gives it."""
    state = ledger.state(job, CLUSTER)
    run = run_of(state, advanced(state, "t", 0, end), rows=rows)
    ledger.commit(run)
    return run


def failure(url: str, **more: bool) -> EosctlError:
    with pytest.raises(EosctlError) as raised:
        open_ledger(url, look_up, **more)
    return raised.value


def carried(ledger: Ledger, job: str = "job") -> list[bytes]:
    return [each.payload for each in ledger.carried(ledger.state(job, CLUSTER), StateKind.LOG)]
