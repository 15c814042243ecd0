"""What the source has of the positions that a plan gives a connector.

1. With what was read of a Debezium PostgreSQL's server, each position is held against its slot. What could not be read
   speaks against the plan: the user asked for it.
2. Of other kinds of sources, and without that, the plan says what to look at, once for each kind.
"""

import json
from collections.abc import Iterable, Iterator

from eosctl.analysis.catalogue.migration import POSITION_AT_SOURCE
from eosctl.analysis.positions.index import explain_position, meaning_of_rewind, position_reader
from eosctl.analysis.positions.postgresql import POSTGRESQL
from eosctl.analysis.positions.replication_slots import at_source
from eosctl.model.exported_offsets import ConnectorOffset
from eosctl.model.positions import Served
from eosctl.model.replication_slots import SourceRead
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped


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
            yield POSITION_AT_SOURCE.finding(connector, message, severity=Severity.INFO)


def _held_against(connector: str, each: ConnectorOffset, source: SourceRead) -> Iterator[Finding]:
    if isinstance(source.server, Skipped) or isinstance(source.slot, Skipped):
        return
    found = at_source(each.offset, source.slot, source.server)
    position = None if each.offset is None else explain_position(each.partition, each.offset)
    partition = json.dumps(dict(each.partition), ensure_ascii=False)
    message = f"{partition}: {position}; {found.words}" if position else f"{partition}: {found.words}"
    severity = Severity.INFO if found.served is Served.SERVED else Severity.WARNING
    yield POSITION_AT_SOURCE.finding(connector, message, severity=severity)


def unknown_source(source: SourceRead | None) -> Iterator[tuple[str, str]]:
    """Why that is not known, with what to do."""
    reason = None if source is None else source.unknown
    if reason is not None:
        yield (
            f"whether the source still has these positions is not known: {reason.reason}",
            "without --source-dsn the plan is made without asking it",
        )
