"""What the workers answer for a connector (`GET /connectors/C/offsets`, KIP-875) beside what a topic holds.

Settings can be misread: another offsets topic, another Connect cluster with a connector of the same name. The workers
answer from where they look, so their answer is compared with the topic before a move and before a connector is resumed.

1. Workers list the source partitions of all stores, and look each of them up under the key that they encode. They
   answer null where the first store has none (shadowed), and where the connector writes its key in other bytes:
   members in another order than a HashMap's.
2. A null source partition is not listed, nor one that was deleted. Doubles come back changed (-0.0 as 0.0), so source
   partitions with one are left out here; and nothing is compared where a value of the connector cannot be used.
3. A worker that reads uncommitted answers an offset whose transaction was aborted; any record of the key will do.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from eosctl.analysis.catalogue.migration import WORKERS_ANSWER_OTHERWISE
from eosctl.codecs.offsets_digest import entries_by_connector
from eosctl.codecs.offsets_topic import (
    canonical_partition,
    decode_offsets_value,
    encode_offsets_key,
    hash_map_order,
)
from eosctl.model.connectors import connector_path
from eosctl.model.counts import counted
from eosctl.model.exported_offsets import ConnectorOffset
from eosctl.model.migration import MigrationFacts, MigrationRequest, Move
from eosctl.model.offsets import Entry, MalformedValue, OffsetKey, SourceOffset, SourcePartition
from eosctl.model.report import Finding, Severity
from eosctl.model.sides import Side
from eosctl.model.skipped import Skipped

SHOWN = 200


@dataclass(frozen=True, slots=True)
class _Held:
    """Source partitions of a topic as canonical JSON: the offsets that were ever written, and which are live.

    found are live ones that workers find: they encode the same bytes.
    """

    seen: dict[str, set[str]]
    live: frozenset[str]
    found: frozenset[str]


def contradictions(request: MigrationRequest, facts: MigrationFacts) -> Iterator[Finding]:
    """Where the workers answer something else than the topic holds that a move reads, or fail. A null is the shadow."""
    for move in request.moves:
        answer = facts.answers.get(move.connector)
        held = facts.offsets.get((Side.SOURCE, move.source_topic))
        if answer is None or held is None:
            continue
        entries = entries_by_connector(held).get(move.connector, [])
        if not isinstance(answer, Skipped):
            different = contradiction(answer, entries)
            if different is not None:
                yield _finding(move, different)
        elif _held(entries) is not None:
            yield _unknown(move, answer)


def contradiction(answer: Sequence[ConnectorOffset], entries: Iterable[Entry], *, nulls: bool = True) -> str | None:
    """What the answer has otherwise than the topic, in words; None: nothing. nulls: a null answer is none.

    Without nulls every live offset that workers can find must be answered.
    """
    held = _held(entries)
    if held is None:
        return None
    answered = {canonical_partition(each.partition): each.offset for each in answer if _is_exact(each.partition)}
    others = [
        f"{partition} is {_plain(offset)}"
        for partition, offset in answered.items()
        if offset is not None and _plain(offset) not in held.seen.get(partition, ())
    ]
    unheard = sorted(held.live - answered.keys())
    begun = [] if nulls else sorted(partition for partition in held.found if answered.get(partition) is None)
    lost = unheard or begun
    wrong = counted(len(others), "offset that is not there", "offsets that are not there")
    for found, what in ((others, wrong), (lost, f"none for {counted(len(lost), 'source partition')}")):
        if found:
            example = found[0] if len(found[0]) <= SHOWN else found[0][:SHOWN] + "…"
            return f"{what} (the first: {example})"
    return None


def _held(entries: Iterable[Entry]) -> _Held | None:
    """None where a value cannot be used: then the workers' answer is an error."""
    seen: dict[str, set[str]] = {}
    live, found = set(), set()
    for key, records in entries:
        if key.partition is None or not _is_exact(key.partition):
            continue
        partition = canonical_partition(key.partition)
        for record in (records.committed, records.open, records.aborted):
            offset = None if record is None else decode_offsets_value(record.value)
            if isinstance(offset, MalformedValue):
                return None
            if offset is not None:
                seen.setdefault(partition, set()).add(_plain(offset))
                live |= {partition} if record is records.committed else set()
        found |= {partition} & live if _is_found(key) else set()
    return _Held(seen, frozenset(live), frozenset(found))


def _is_exact(partition: SourcePartition) -> bool:
    return not any(isinstance(value, float | dict | list) for value in partition.values())


def _is_found(key: OffsetKey) -> bool:
    partition = key.partition or {}
    return encode_offsets_key(key.connector, hash_map_order(partition)) == key.raw


def _finding(move: Move, different: str) -> Finding:
    """A topic that the user named is the user's request, even if the workers do not use it."""
    return WORKERS_ANSWER_OTHERWISE.finding(
        move.connector,
        f"of topic {move.source_topic} the workers of connector {move.connector} answer {different} (GET "
        f"{connector_path(move.connector)}/offsets): they keep its offsets somewhere else",
        severity=Severity.WARNING if move.named else Severity.ERROR,
    )


def _unknown(move: Move, answer: Skipped) -> Finding:
    return WORKERS_ANSWER_OTHERWISE.finding(
        move.connector,
        f"what the workers answer for connector {move.connector} (GET {connector_path(move.connector)}/offsets) could "
        f"not be compared with topic {move.source_topic}: {answer.reason}",
        severity=Severity.WARNING,
    )


def _plain(offset: SourceOffset) -> str:
    exact = {name: value + 0.0 if isinstance(value, float) else value for name, value in offset.items()}
    return json.dumps(exact, sort_keys=True, ensure_ascii=False)
