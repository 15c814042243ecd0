"""Writes of one key that lie in another partition than the connector's own (V12: a producer that does not use murmur2).

The partition of the task is the one with the key's first write in a transaction, or the most of them. Elsewhere, in
the same topic and under the same raw key:

1. A plain write after the task's first transactional one is outside any transaction like one beside it.
2. A first write is a setback if the task's last transactional one before it was higher. What came first follows from
   the timestamps, which producers give. Where the task wrote on since, only its first and last writes are known: a
   value below the first one is a setback, too.
"""

from collections.abc import Iterator, Sequence

from eosctl.analysis.audit.advance import is_back
from eosctl.analysis.audit.batches import Decode
from eosctl.analysis.audit.key_anomalies import KeyAnomalyKind, Placed, shown, trouble_at
from eosctl.model.audit_states import Change, KeyState, ReadKey, Write
from eosctl.model.audit_summaries import KeyAnomaly


def judge_strays(key: ReadKey, placed: Sequence[Placed], decode: Decode) -> Iterator[KeyAnomaly]:
    """What writes in other partitions show."""
    for home in _homes(placed):
        for stray in placed:
            beside = stray.place.topic == home.place.topic and stray.state.key == home.state.key
            if beside and stray.place != home.place:
                yield from _of_stray(key, home, stray, decode)


def _homes(placed: Sequence[Placed]) -> Iterator[Placed]:
    """Of each topic and raw key the partition that the connector's task writes to, where there are others."""
    groups: dict[tuple[str, bytes | None], list[Placed]] = {}
    for each in placed:
        groups.setdefault((each.place.topic, each.state.key), []).append(each)
    for group in groups.values():
        written = [each for each in group if each.state.first_transactional is not None]
        if len(group) > 1 and written:
            yield max(written, key=_weight)


def _weight(each: Placed) -> tuple[int, int]:
    begun = each.state.first_transactional
    return each.state.records - each.state.plain_records, 0 if begun is None else -begun.timestamp


def _of_stray(key: ReadKey, home: Placed, stray: Placed, decode: Decode) -> Iterator[KeyAnomaly]:
    began = home.state.first_transactional
    plain = _plain_after(stray.state, began)
    if began is not None and plain is not None:
        before, after = shown(home.place, began), shown(stray.place, plain)
        yield trouble_at(KeyAnomalyKind.PLAIN_WRITE, key, stray.place, plain, before, after)
    last, first = _before(home.state, stray.state.first), stray.state.first
    if last is not None and is_back(Change(last, first), stray.state.key, decode):
        before, after = shown(home.place, last), shown(stray.place, first)
        yield trouble_at(KeyAnomalyKind.SET_BACK, key, stray.place, first, before, after)


def _plain_after(state: KeyState, began: Write | None) -> Write | None:
    if began is None or state.first_transactional is not None:
        return None
    plain = (each for each in (state.first_plain, state.last_plain) if each is not None)
    return next((each for each in plain if each.timestamp > began.timestamp), None)


def _before(state: KeyState, write: Write) -> Write | None:
    """The last known transactional write that was before another one."""
    known = (state.last_transactional, state.first_transactional)
    return next((each for each in known if each is not None and each.timestamp < write.timestamp), None)
