"""Debezium's source connectors with provide.transaction.metadata: how many records a transaction of the database has.

1. The topic of transactions has a record of `status` BEGIN and one of END for each transaction; that of END says its
   `event_count`. Each change has the transaction's `id` and its place in it, `total_order`, in `transaction`.
2. PostgreSQL's `id` is the transaction's ID and an LSN, which is another one in each record: only the ID names it.
3. A PostgreSQL or MariaDB connector that begins again within a transaction writes its BEGIN again, and counts from 1
   again; END has the count from there. So the counts do not show records that were lost by the restart itself. The
   offset of MariaDB's BEGIN has no `event` and `row`: it goes back to the transaction's start (`key_judgement`, 12).
4. Snapshots and tombstones are not counted. A transformation that drops or renames records hides them: then nothing is
   judged. So do several tasks, which count each for itself.
"""

from typing import Final

from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from eosctl.analysis.grammars.debezium import DEBEZIUM
from eosctl.analysis.grammars.grammar import RecordWithHeaders
from eosctl.analysis.output_topics import is_debezium_source
from eosctl.late_pattern import late_pattern
from eosctl.model.client_properties import split_list
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.events import TransactionPart, TransactionRole

KEEPING: Final = frozenset(
    {"Cast", "MaskField", "InsertField", "InsertHeader", "DropHeaders", "HeaderFrom", "SetSchemaMetadata",
     "TimestampConverter", "TimezoneConverter"}
)  # fmt: skip
"""Transformations of Kafka's and Debezium's that leave each record in its topic, and its `transaction` in it."""


class _Place(Struct):
    id: str
    total_order: int


class _Fields(Struct):
    transaction: _Place | None = None
    status: str | None = None
    id: str | None = None
    event_count: int | None = None


class _Value(_Fields):
    payload: _Fields | None = None


_VALUE: Final = Decoder(_Value)
_WITH_LSN: Final = late_pattern(r"(\d+):\d+")


def _name(identity: str) -> str:
    found = _WITH_LSN.fullmatch(identity)
    return identity if found is None else found[1]


def _counted(record: RecordWithHeaders) -> TransactionPart | None:
    if record.value is None:
        return None
    try:
        found: _Fields = _VALUE.decode(record.value)
    except (DecodeError, RecursionError):
        return None
    found = getattr(found, "payload", None) or found
    if found.transaction is not None:
        return TransactionPart(TransactionRole.COUNTED, _name(found.transaction.id), found.transaction.total_order)
    if found.id is not None and found.status == "BEGIN":
        return TransactionPart(TransactionRole.BEGINS, _name(found.id), 0)
    if found.id is not None and found.status == "END" and found.event_count is not None:
        return TransactionPart(TransactionRole.ENDS, _name(found.id), found.event_count)
    return None


def _is_of(connector: ConnectorConfig) -> bool:
    kinds = {
        connector.get(f"transforms.{alias}.type").rpartition(".")[2].partition("$")[0]
        for alias in split_list(connector.get("transforms"))
    }
    is_provided = connector.get("provide.transaction.metadata").strip().lower() == "true"
    return (
        is_debezium_source(connector)
        and is_provided
        and connector.get("tasks.max", "1").strip() == "1"
        and kinds <= KEEPING
    )


DEBEZIUM_TRANSACTIONS: Final = replace(
    DEBEZIUM,
    name="debezium-transactions",
    source="TransactionMonitor.transactionEvent, TransactionMonitor.endTransaction",
    is_of=_is_of,
    words=(*DEBEZIUM.words, b'"transaction":{', b'"event_count":'),
    counted=_counted,
    covers=f"{DEBEZIUM.covers}; in JSON the records of each database transaction, by its event_count",
)
