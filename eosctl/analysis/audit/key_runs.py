"""The runs of a key: what a connector with several offset stores wrote, divided where one of its tasks may have begun.

1. A run ends where another producer writes, or the same one otherwise (in transactions, outside any).
2. A new epoch may be a new session, or the next transaction of the same one (KIP-890). A task that begins has been
   stopped, fenced and started, which takes longer than RESTART_MS. `by_session` puts together what is one session.
3. Writes outside transactions have no epoch: a pause of PLAIN_PAUSE_MS divides them.
4. Where a key has more than MOST_RUNS, those with the shortest pauses between them are put together.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from eosctl.analysis.audit.sessions import Sessions
from eosctl.model.audit_states import KeyState, Run, Write

RESTART_MS: Final = 20
PLAIN_PAUSE_MS: Final = 200
MOST_RUNS: Final = 2_000

Runs = tuple[Run, ...]


def begins_run(before: Write, after: Write) -> bool:
    """Whether `after`, the next write of the key, begins a run (rules 1 to 3)."""
    return not _is_same_writer(before, after) or _pause_divides(before, after, RESTART_MS, PLAIN_PAUSE_MS)


def _is_same_writer(before: Write, after: Write) -> bool:
    return (before.producer_id, before.transactional) == (after.producer_id, after.transactional)


def _pause_divides(before: Write, after: Write, restart_ms: int, plain_ms: int) -> bool:
    pause = after.timestamp - before.timestamp
    if not after.transactional:
        return pause >= plain_ms
    return before.producer_epoch != after.producer_epoch and pause >= restart_ms


def runs_of(state: KeyState) -> Runs:
    """The runs of a state; where none were kept, what is known of all writes in transactions, and outside them."""
    if state.runs:
        return state.runs
    found = []
    if state.first_transactional is not None and state.last_transactional is not None:
        many = state.records - state.plain_records
        found.append(Run(state.first_transactional, state.last_transactional, many))
    if state.first_plain is not None and state.last_plain is not None:
        found.append(Run(state.first_plain, state.last_plain, state.plain_records))
    return tuple(sorted(found, key=lambda run: run.first.offset))


def join_runs(left: KeyState, right: KeyState) -> Runs:
    """The runs of two neighbouring ranges; none where neither range has kept any."""
    if not left.runs and not right.runs:
        return ()
    before, after = runs_of(left), runs_of(right)
    if before and after and not begins_run(before[-1].last, after[0].first):
        before, after = before[:-1], (_both(before[-1], after[0]), *after[1:])
    return thinned((*before, *after))


def _both(before: Run, after: Run) -> Run:
    return Run(before.first, after.last, before.records + after.records)


def thinned(runs: Sequence[Run], most: int = MOST_RUNS) -> Runs:
    """Rule 4."""
    pause = 1
    while len(runs) > most and pause < 1 << 20:
        pause *= 2
        runs = _joined(runs, restart_ms=pause * RESTART_MS, plain_ms=pause * PLAIN_PAUSE_MS)
    return tuple(runs)


def _joined(runs: Iterable[Run], *, restart_ms: int, plain_ms: int) -> list[Run]:
    joined: list[Run] = []
    for run in runs:
        last = joined[-1].last if joined else None
        same = last is not None and _is_same_writer(last, run.first)
        if last is not None and same and not _pause_divides(last, run.first, restart_ms, plain_ms):
            joined[-1] = _both(joined[-1], run)
        else:
            joined.append(run)
    return joined


def by_session(runs: Iterable[Run], sessions: Sessions) -> Runs:
    """The runs with those that follow each other in one session of a producer as one."""
    joined: list[Run] = []
    for run in runs:
        last = joined[-1].last if joined else None
        if last is not None and last.transactional and _is_same_writer(last, run.first):
            first = run.first
            if not sessions.began(first.producer_id, last.producer_epoch, first.producer_epoch):
                joined[-1] = _both(joined[-1], run)
                continue
        joined.append(run)
    return tuple(joined)
