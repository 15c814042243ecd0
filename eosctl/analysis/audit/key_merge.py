"""The states of one key from two neighbouring ranges of one partition, as one.

Merging is associative: any split of a partition into ranges gives the same state in the end.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from eosctl.analysis.audit.advance import is_back
from eosctl.analysis.audit.batches import Decode
from eosctl.analysis.audit.key_runs import begins_run, join_runs
from eosctl.analysis.audit.snapshots import SnapshotChange, snapshot_change
from eosctl.model.audit_states import KEPT_PLACES, Change, KeyState, KeyWriter, Return, Setbacks

KEPT_UNCERTAIN: Final = 30
"""Returns with another epoch that are kept: sessions may explain the first of them."""
KEPT_SNAPSHOTS: Final = 64
MOST_RETURNS: Final = 2 * (KEPT_PLACES + KEPT_UNCERTAIN)


def merge_keys(left: KeyState, right: KeyState, decode: Decode) -> KeyState:
    """The state of both ranges together, `right` being the later one."""
    change = Change(left.last, right.first)
    back = Setbacks(1, (change,)) if is_back(change, left.key, decode) else Setbacks()
    writers, returns = _merge_writers(left, right)
    transactional = left.first_transactional is not None
    return KeyState(
        key=left.key,
        records=left.records + right.records,
        tombstones=left.tombstones + right.tombstones,
        first=left.first,
        last=right.last,
        first_transactional=left.first_transactional or right.first_transactional,
        last_transactional=right.last_transactional or left.last_transactional,
        plain_records=left.plain_records + right.plain_records,
        plain_after=left.plain_after + (right.plain_records if transactional else right.plain_after),
        first_plain=left.first_plain or right.first_plain,
        first_plain_after=left.first_plain_after or (right.first_plain if transactional else right.first_plain_after),
        last_plain=right.last_plain or left.last_plain,
        setbacks=_joined(left.setbacks, back if left.last.transactional else Setbacks(), right.setbacks),
        plain_setbacks=_joined(
            left.plain_setbacks, Setbacks() if left.last.transactional else back, right.plain_setbacks
        ),
        repeats=(left.repeats + ((change,) if _repeats(change) else ()) + right.repeats)[:KEPT_PLACES],
        writers=writers,
        returns=returns,
        runs=join_runs(left, right),
        snapshots=_snapshots(left, right, change, decode),
    )


def _joined(*setbacks: Setbacks) -> Setbacks:
    places = tuple(change for each in setbacks for change in each.places)
    return Setbacks(sum(each.total for each in setbacks), places[:KEPT_PLACES])


def _snapshots(left: KeyState, right: KeyState, change: Change, decode: Decode) -> tuple[Change, ...]:
    between = (change,) if begins_run(*change) else ()
    return kept_snapshots((*left.snapshots, *between, *right.snapshots), decode)


def kept_snapshots(changes: Iterable[Change], decode: Decode) -> tuple[Change, ...]:
    """Those between unfinished snapshots: the first KEPT_SNAPSHOTS to another position, and as many of the others."""
    found = [(change, snapshot_change(change, decode)) for change in changes]
    moved = [change for change, kind in found if kind is SnapshotChange.OTHER_POSITION][:KEPT_SNAPSHOTS]
    same = [change for change, kind in found if kind not in {None, SnapshotChange.OTHER_POSITION}][:KEPT_SNAPSHOTS]
    return tuple(sorted((*moved, *same), key=lambda change: change.after.offset))


def _repeats(change: Change) -> bool:
    return change.after.value is not None and change.before.value == change.after.value


def _merge_writers(left: KeyState, right: KeyState) -> tuple[tuple[KeyWriter, ...], tuple[Return, ...]]:
    writers: dict[int, KeyWriter] = {writer.producer_id: writer for writer in left.writers}
    returns = [*left.returns, *right.returns]
    for writer in right.writers:
        before = writer.before or (left.last.producer_id, left.last.offset)
        known = writers.get(writer.producer_id)
        if known is None:
            writers[writer.producer_id] = writer._replace(before=before)
            continue
        writers[writer.producer_id] = known._replace(last=writer.last, last_epoch=writer.last_epoch)
        if writer.producer_id >= 0 and before[0] != writer.producer_id:
            place = writer.first, writer.first_timestamp, writer.first_epoch
            returns.append(Return(writer.producer_id, known.last, known.last_epoch, *before, *place))
    return tuple(writers.values()), first_returns(returns)


def first_returns(returns: Iterable[Return]) -> tuple[Return, ...]:
    """The first KEPT_PLACES with the same epoch, and the first KEPT_UNCERTAIN with another, by offset."""
    ordered = sorted(returns, key=lambda each: each.offset)
    same = [each for each in ordered if each.epoch == each.last_epoch][:KEPT_PLACES]
    other = [each for each in ordered if each.epoch != each.last_epoch][:KEPT_UNCERTAIN]
    return tuple(sorted((*same, *other), key=lambda each: each.offset))


def merge_all(into: dict[bytes | None, KeyState], states: Mapping[bytes | None, KeyState], decode: Decode) -> None:
    """Put the states of a later range into those of the ranges before it."""
    for key, state in states.items():
        known = into.get(key)
        into[key] = state if known is None else merge_keys(known, state, decode)
