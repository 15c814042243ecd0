"""How two sets of offsets differ."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from eosctl.analysis.positions.index import compare_positions, explain_position, meaning_of_rewind, position_reader
from eosctl.analysis.positions.postgresql import POSTGRESQL
from eosctl.analysis.positions.replication_slots import at_source
from eosctl.model.exported_offsets import Change, OffsetChange, OffsetId, OffsetsById, OffsetsDifference
from eosctl.model.offsets import SourceOffset, SourcePartition
from eosctl.model.positions import AtSource
from eosctl.model.replication_slots import SourceRead
from eosctl.model.skipped import Skipped

Side = SourceOffset | Skipped | None


def compare_offsets(name_a: str, a: OffsetsById, name_b: str, b: OffsetsById) -> OffsetsDifference:
    """Every offset that is not the same in A and B, by connector and source partition."""
    changes = []
    same = 0
    for identity in sorted({*a, *b}):
        change = _change(identity, a.get(identity), b.get(identity))
        if change is not None:
            changes.append(change)
        elif a.get(identity) is not None:
            same += 1
    return OffsetsDifference(name_a, name_b, tuple(changes), same)


def as_renamed(a: OffsetsById, b: OffsetsById, names: Mapping[str, str]) -> tuple[OffsetsById, OffsetsById]:
    """A with its connectors under the names that they have in B, and B without what it keeps under the old names.

    The offsets of a connector that was renamed stay in the topic: nobody deletes them.
    """
    left = names.keys() - set(names.values())
    return (
        {OffsetId(names.get(each.connector, each.connector), each.partition): value for each, value in a.items()},
        {each: value for each, value in b.items() if each.connector not in left},
    )


def with_source(difference: OffsetsDifference, source_of: Callable[[str], SourceRead]) -> OffsetsDifference:
    """The same with what the source of each connector says of both positions, where Debezium reads a PostgreSQL."""
    changes = []
    for each in difference.changes:
        source = source_of(each.id.connector)
        partition = json.loads(each.id.partition)
        asked = (_at_source(partition, offset, source) for offset in (each.a, each.b))
        changes.append(replace(each, source_a=next(asked), source_b=next(asked)))
    return replace(difference, changes=tuple(changes))


def _at_source(partition: SourcePartition | None, offset: Side, source: SourceRead) -> AtSource | Skipped | None:
    if offset is None or isinstance(offset, Skipped) or position_reader(partition, offset) is not POSTGRESQL:
        return None
    if isinstance(source.server, Skipped):
        return source.server
    return source.slot if isinstance(source.slot, Skipped) else at_source(offset, source.slot, source.server)


def _change(identity: OffsetId, a: Side, b: Side) -> OffsetChange | None:
    if isinstance(a, Skipped) or isinstance(b, Skipped):
        return OffsetChange(identity, Change.UNKNOWN, a, b)
    if _typed(a) == _typed(b):
        return None
    kind = Change.ONLY_IN_B if a is None else Change.ONLY_IN_A if b is None else Change.DIFFERENT
    partition = json.loads(identity.partition)
    return OffsetChange(
        identity,
        kind,
        a,
        b,
        position_a=None if a is None else explain_position(partition, a),
        position_b=None if b is None else explain_position(partition, b),
        order=None if a is None or b is None else compare_positions(partition, a, b),
        rewind=None if a is None or b is None else meaning_of_rewind(partition, a),
    )


def _typed(offset: SourceOffset | None) -> object:
    """With the type of each value: 1, 1.0 and true are three values in Java."""
    return None if offset is None else {name: (type(value), value) for name, value in offset.items()}
