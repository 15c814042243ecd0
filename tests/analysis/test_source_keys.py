"""Keys of rows at a path of the record's row, where the record's own key is another one."""

import json

import pytest

from eosctl.analysis.source_audit import RowReader, Unusable
from eosctl.model.source_audit import CapturedTable, ColumnKind, Handling, TableColumn

ID, PART = TableColumn("id", "int8", ColumnKind.INTEGER, key=1), TableColumn("part", "text", ColumnKind.TEXT, key=2)
NAME = TableColumn("name", "text", ColumnKind.TEXT)
ORDERS = CapturedTable("public", "orders", "events", (ID._replace(key=1), NAME))
PARTS = CapturedTable("public", "parts", "events", (ID, PART, NAME))
AT_DATA = Handling(key_path=(("data", "order"),))
MISSING = "the primary key is missing in key and value, or is not JSON"


def read(table: CapturedTable, handling: Handling, key: object, value: object) -> tuple[str, bytes | None] | str:
    """The key and image of a record; the reason, if it is not usable."""
    raw = None if value is None else json.dumps(value).encode()
    [found] = RowReader(table, handling).records([(json.dumps(key).encode(), raw)])
    return str(found) if isinstance(found, Unusable) else (found.key, found.image)


def row(table: CapturedTable, *values: str) -> tuple[str | None, bytes]:
    [found] = RowReader(table, Handling()).rows([values])
    return found[:2]


EVENT = {"type": "OrderPlaced", "data": {"order": 7, "name": "tea"}}


@pytest.mark.parametrize(
    "value",
    [EVENT, {"schema": {}, "payload": EVENT}, {"before": None, "after": EVENT, "op": "c", "source": {"lsn": 5}}],
)
def test_the_key_at_the_path_and_the_members_beside_it_are_the_row(value: object):
    """The record's key is a customer's, and would be a row's of the table, too."""
    assert read(ORDERS, AT_DATA, {"id": 1}, value) == row(ORDERS, "7", "tea")


def test_a_path_of_one_member_renames_the_key():
    assert read(ORDERS, Handling(key_path=(("order",),)), 1, EVENT["data"]) == row(ORDERS, "7", "tea")


def test_each_column_of_a_key_has_a_path_in_the_key_s_order():
    value = {"data": {"order": 7, "name": "tea"}, "place": {"warehouse": "b"}}
    handling = Handling(key_path=(("data", "order"), ("place", "warehouse")))
    assert read(PARTS, handling, 1, value) == row(PARTS, "7", "b", "tea")


def test_a_row_that_was_deleted_has_its_key_at_the_path_too():
    assert read(ORDERS, AT_DATA, 1, {**EVENT, "__deleted": "true"}) == ("7", None)
    deleted = {"before": EVENT, "after": None, "op": "d", "source": {"lsn": 5}}
    assert read(ORDERS, AT_DATA, 1, deleted) == ("7", None)


@pytest.mark.parametrize(
    "value",
    [None, {}, {"data": 7}, {"data": {"id": 7}}, {"data": {"order": None}}, {"data": {"order": "7"}}, {"order": 7},
     {"before": None, "after": None, "op": "d", "source": {"lsn": 5}}],
)  # fmt: skip
def test_a_record_without_the_key_at_the_path_is_not_usable(value: object):
    """Neither is its own key taken: a tombstone of customer 1 deletes no order 1."""
    assert read(ORDERS, AT_DATA, {"id": 1}, value) == MISSING
