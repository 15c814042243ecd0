"""The states of one key from two neighbouring ranges of one partition, as one.

Merging is associative: any split of a partition into ranges gives the same state in the end. Sessions of the whole
partition are known by then, so that no return and no repeat is kept that a new session explains.
"""

from collections.abc import Callable, Mapping

from eosctl.analysis.audit.advance import Advance, compare_offsets
from eosctl.analysis.audit.batches import Decode
from eosctl.model.audit_states import KEPT_PLACES, Change, KeyState, KeyWriter, Return

Began = Callable[[int, int, int], bool]
"""Whether a producer ID began a session at an offset in (after, until] of this partition."""


def merge_keys(left: KeyState, right: KeyState, began: Began, decode: Decode) -> KeyState:
    """The state of both ranges together, `right` being the later one."""
    change = Change(left.last, right.first)
    set_back = _sets_back(change, decode)
    writers, returns = _merge_writers(left, right, began)
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
        setbacks=left.setbacks + set_back + right.setbacks,
        setback_places=(left.setback_places + ((change,) if set_back else ()) + right.setback_places)[:KEPT_PLACES],
        repeats=(left.repeats + ((change,) if _repeats(change, began) else ()) + right.repeats)[:KEPT_PLACES],
        writers=writers,
        returns=returns,
    )


def _sets_back(change: Change, decode: Decode) -> bool:
    before, after = change.before.value, change.after.value
    if before is None or after is None or before == after:
        return False
    try:
        return compare_offsets(decode(before), decode(after)) is Advance.BACK
    except ValueError:
        return False


def _repeats(change: Change, began: Began) -> bool:
    before, after = change
    if after.value is None or before.value != after.value:
        return False
    return before.producer_id != after.producer_id or began(after.producer_id, before.offset, after.offset)


def _merge_writers(left: KeyState, right: KeyState, began: Began) -> tuple[tuple[KeyWriter, ...], tuple[Return, ...]]:
    writers: dict[int, KeyWriter] = {writer.producer_id: writer for writer in left.writers}
    returns = [*left.returns, *right.returns]
    for writer in right.writers:
        before = writer.before or (left.last.producer_id, left.last.offset)
        known = writers.get(writer.producer_id)
        if known is None:
            writers[writer.producer_id] = writer._replace(before=before)
            continue
        writers[writer.producer_id] = known._replace(last=writer.last)
        if _is_return(known, before, writer, began):
            returns.append(Return(writer.producer_id, known.last, *before, writer.first))
    returns.sort(key=lambda each: each.offset)
    return tuple(writers.values()), tuple(returns[:KEPT_PLACES])


def _is_return(known: KeyWriter, before: tuple[int, int], writer: KeyWriter, began: Began) -> bool:
    if writer.producer_id < 0 or before[0] == writer.producer_id:
        return False
    return not began(writer.producer_id, known.last, writer.first)


def merge_all(
    into: dict[bytes | None, KeyState], states: Mapping[bytes | None, KeyState], began: Began, decode: Decode
) -> None:
    """Put the states of a later range into those of the ranges before it."""
    for key, state in states.items():
        known = into.get(key)
        into[key] = state if known is None else merge_keys(known, state, began, decode)
