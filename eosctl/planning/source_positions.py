"""What the source has of the positions that a plan gives a connector.

1. With what was read of a Debezium PostgreSQL's server, each position is held against its slot. What could not be read
   speaks against the plan: the user asked for it.
2. Of other kinds of sources, and without that, the plan says what to look at, once for each kind.
3. A position is held against the one that it replaces: a file is edited by hand, and misspelt.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Final

from eosctl.analysis.catalogue.migration import OFFSET_UNLIKE_BEFORE, POSITION_AT_SOURCE, RECORDS_SKIPPED
from eosctl.analysis.positions.index import (
    compare_positions,
    explain_position,
    meaning_of_rewind,
    position_reader,
)
from eosctl.analysis.positions.postgresql import POSTGRESQL
from eosctl.analysis.positions.replication_slots import at_source
from eosctl.model.exported_offsets import ConnectorOffset
from eosctl.model.offsets import SourceOffset, SourcePartition
from eosctl.model.positions import Order, Served
from eosctl.model.replication_slots import SourceRead
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped

LOOK_YOURSELF: Final = (
    "eosctl cannot ask this kind of source: look there whether it still has what follows the position"
)
SNAPSHOT: Final = "rows that the source no longer streams are sent again by a new snapshot"
NOTHING: Final = "nothing: the source has what follows"


def find_positions(connector: str, offsets: Iterable[ConnectorOffset], source: SourceRead | None) -> Iterator[Finding]:
    """What there is to say of each offset whose kind of source is known."""
    said: set[str] = set()
    for each in offsets:
        reader = None if each.offset is None else position_reader(each.partition, each.offset)
        if source is not None and (each.offset is None or reader is POSTGRESQL):
            yield from _held_against(connector, each, source)
        elif reader is not None and each.offset is not None and reader.source not in said:
            said.add(reader.source)
            meaning = meaning_of_rewind(each.partition, each.offset)
            message = f"whether the source still has what follows was not asked. {reader.source}: {meaning}"
            cure = None if reader is POSTGRESQL else LOOK_YOURSELF
            yield POSITION_AT_SOURCE.finding(connector, message, cure=cure, severity=Severity.INFO)


def _held_against(connector: str, each: ConnectorOffset, source: SourceRead) -> Iterator[Finding]:
    if isinstance(source.server, Skipped) or isinstance(source.slot, Skipped):
        return
    found = at_source(each.offset, source.slot, source.server)
    position = None if each.offset is None else explain_position(each.partition, each.offset)
    partition = json.dumps(dict(each.partition), ensure_ascii=False)
    message = f"{partition}: {position}; {found.words}" if position else f"{partition}: {found.words}"
    severity = Severity.INFO if found.served is Served.SERVED else Severity.WARNING
    cure = NOTHING if found.served is Served.SERVED else SNAPSHOT
    yield POSITION_AT_SOURCE.finding(connector, message, cure=cure, severity=severity)


def find_differences(
    connector: str, partition: SourcePartition, before: SourceOffset, after: SourceOffset, *, force: bool
) -> Iterator[Finding]:
    """What is odd about an offset that takes the place of another one of the same source partition.

    force: the user wants it as it is.
    """
    place = json.dumps(dict(partition), ensure_ascii=False)
    if (odd := _shape(partition, before, after)) is not None:
        words, is_needed = odd
        severity = Severity.ERROR if is_needed and not force else Severity.WARNING
        yield OFFSET_UNLIKE_BEFORE.finding(connector, f"{place}: {words}", severity=severity)
    elif compare_positions(partition, before, after) is Order.AFTER:
        then, now = (explain_position(partition, each) for each in (before, after))
        what = f"{place}: forward from {then} to {now}; records between them are never copied"
        severity = Severity.WARNING if force else Severity.ERROR
        yield RECORDS_SKIPPED.finding(connector, what, severity=severity)


def _shape(partition: SourcePartition, before: SourceOffset, after: SourceOffset) -> tuple[str, bool] | None:
    """What is unlike before, and whether the connector needs that; None where nothing is.

    Of an unknown kind of source all members are needed.
    """
    reader = position_reader(partition, before)
    needs = before.keys() if reader is None else reader.needs
    gone, more = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    if gone or more:
        counted = ((f"lacks {', '.join(gone)}", gone), (f"has {', '.join(more)} more", more))
        return f"the offset {' and '.join(what for what, names in counted if names)}", bool(needs & set(gone))
    both = ((name, before[name], after[name]) for name in before if None not in (before[name], after[name]))
    for name, was, now in both:
        if type(was) is not type(now):
            return f"{name} is {_typed(now)}, and {_typed(was)} now", name in needs
        if name in needs and isinstance(now, int) and isinstance(was, int) and now < 0 <= was:
            return f"{name} is {now}: no source has a negative one", True
    return None


def _typed(value: object) -> str:
    kinds = {str: "text", int: "a whole number", float: "a number with a point", bool: "true or false"}
    return f"{kinds.get(type(value), 'another type')} ({json.dumps(value, ensure_ascii=False)})"


def unknown_source(source: SourceRead | None) -> Iterator[tuple[str, str]]:
    """Why that is not known, with what to do."""
    reason = None if source is None else source.unknown
    if reason is not None:
        yield (
            f"whether the source still has these positions is not known: {reason.reason}",
            "without --source-dsn the plan is made without asking it",
        )
