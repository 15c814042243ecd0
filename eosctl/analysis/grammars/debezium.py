"""Debezium's source connectors for relational databases: changes of primary keys, and deletions.

1. A change of a row's primary key is written as a deletion of the old key, its tombstone (unless tombstones.on.delete
   is false), and a creation of the new key, one behind the other. The first two have the new key in the header
   `__debezium.newkey`, the last one the old key in `__debezium.oldkey`. All three have the same source offset: a
   connector that is stopped or killed between them goes on behind them (debezium#7945).
2. A deletion is written as a record whose `op` is `d`, and its tombstone.
3. ExtractNewRecordState keeps headers, and makes one record of the first two. Other transformations may drop them: then
   nothing is seen, and nothing judged.
4. Only JSON shows `op`. Avro and Protobuf values are not read; of changes of keys the headers and keys are enough.
"""

from typing import Final

from eosctl.analysis.grammars.grammar import Grammar, Readers, RecordWithHeaders, Unreadable
from eosctl.analysis.output_topics import is_debezium_source
from eosctl.model.client_properties import split_list
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.events import EventPart, EventRole

NEW_KEY: Final = "__debezium.newkey"
OLD_KEY: Final = "__debezium.oldkey"
DELETED: Final = b'"op":"d"'
SKIPPED: Final = "skipped.operations"


def _part(record: RecordWithHeaders, readers: Readers) -> EventPart | None:
    for name, value in record.headers:
        if name in {NEW_KEY, OLD_KEY}:
            keys = readers.keys(record.key, value)
            if keys is None:
                raise Unreadable
            if name == OLD_KEY:
                return EventPart(EventRole.CLOSES, keys.header, keys.key)
            role = EventRole.CONTINUES if record.value is None else EventRole.OPENS
            return EventPart(role, keys.key, keys.header)
    return None


def _is_deletion(record: RecordWithHeaders, readers: Readers) -> bool:
    """Rule 2, whether the value has its schema or not; a column may be called `op`, too."""
    if record.value is None or DELETED not in record.value:
        return False
    try:
        value = readers.json(record.value)
    except ValueError:
        return False
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        value = value["payload"]
    return isinstance(value, dict) and value.get("op") == "d"


def _kept_back(connector: ConnectorConfig) -> tuple[str, ...]:
    skipped = {"c", "d"} & set(split_list(connector.get(SKIPPED)))
    return (f"{SKIPPED} leaves out {' and '.join(sorted(skipped))}",) if skipped else ()


DEBEZIUM: Final = Grammar(
    name="debezium",
    source="RelationalChangeRecordEmitter.emitUpdateAsPrimaryKeyChangeRecord, EventDispatcher",
    is_of=is_debezium_source,
    words=(NEW_KEY.encode(), OLD_KEY.encode(), DELETED),
    part=_part,
    is_deletion=_is_deletion,
    kept_back=_kept_back,
    covers="changes of primary keys (delete, tombstone, create), and in JSON deletes with their tombstones",
    beyond="changes of keys whose headers a transformation dropped",
)
