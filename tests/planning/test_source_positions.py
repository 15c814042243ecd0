"""What a plan says of the positions that it gives a connector: what the source has of them, or what to look at."""

import pytest
from msgspec.structs import replace

from eosctl.model.migration import ReplicationSlot, SourceRead, SourceServer
from eosctl.model.offsets import ConnectorOffset
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.planning.restore import find_differences, find_positions, plan_restore
from tests.planning.test_created_connectors import FACTS, WISH

SERVER = SourceServer(0x300, {"shop": ReplicationSlot(False, 0x100, 0x200)})
READ = SourceRead(SERVER, "shop")
SHOP = {"server": "shop"}
MYSQL = ConnectorOffset({"server": "shop"}, {"file": "binlog.000003", "pos": 4})


def test_each_position_is_held_against_the_slot():
    offsets = [ConnectorOffset(SHOP, {"lsn": 0x210}), ConnectorOffset({"server": "b"}, {"lsn": 0x1FF})]
    served, left = find_positions("shop", offsets, READ)
    assert (served.severity, left.severity) == (Severity.INFO, Severity.WARNING)
    assert served.message.startswith(
        '{"server": "shop"}: Debezium PostgreSQL: streaming at 0/210; slot shop (not in use'
    )
    assert "is 1 byte further: Debezium streams from confirmed_flush_lsn whatever the offset says" in left.message


def test_a_reset_says_that_a_snapshot_follows():
    [reset] = find_positions("shop", [ConnectorOffset(SHOP, None)], READ)
    assert reset.message.startswith('{"server": "shop"}: without an offset it takes a snapshot by its snapshot.mode')


def test_what_to_look_at_is_said_once_for_each_kind_of_source_that_was_not_asked():
    lines = ConnectorOffset({"filename": "a"}, {"position": 3})
    found = [each.message for each in find_positions("shop", [MYSQL, MYSQL, lines], None)]
    asked = "whether the source still has what follows was not asked"
    assert [each.partition(": ")[0] for each in found] == [
        f"{asked}. Debezium MySQL or MariaDB",
        f"{asked}. FileStreamSource",
    ]
    assert "look at SHOW BINARY LOGS" in found[0]


def test_only_a_postgresql_is_said_to_be_asked_by_source_dsn():
    lines = ConnectorOffset({"filename": "a"}, {"position": 3})
    rows = ConnectorOffset(SHOP, {"lsn": 0x1FF})
    file, mysql, slot = find_positions("shop", [lines, MYSQL, rows], None)
    assert ["--source-dsn" in each.cure for each in (file, mysql, slot)] == [False, False, True]
    [asked] = find_positions("shop", [rows], READ)
    assert "--source-dsn" not in asked.cure


def test_an_unknown_kind_of_source_is_not_spoken_of():
    assert list(find_positions("shop", [ConnectorOffset({"a": 1}, {"b": 2})], READ)) == []


@pytest.mark.parametrize(
    "source", [replace(READ, server=Skipped("it is away")), replace(READ, slot=Skipped("it is away"))]
)
def test_a_source_that_was_to_be_asked_and_did_not_answer_speaks_against_the_plan(source: SourceRead):
    planned = plan_restore(WISH, replace(FACTS, source=source))
    assert planned.objections == ("whether the source still has these positions is not known: it is away",)
    assert planned.hint == "without --source-dsn the plan is made without asking it"


def test_a_position_that_the_slot_has_left_is_a_warning_and_stands_in_nobodys_way():
    planned = plan_restore(WISH, replace(FACTS, source=READ))
    assert planned.objections == ()
    assert [(each.id, each.severity) for each in planned.findings] == [("EOS411", Severity.WARNING)]


LSN, FILE = {"server": "db"}, {"filename": "f"}
STREAMED = {"lsn": 9, "lsn_proc": 9, "txId": 3, "ts_usec": 1}


@pytest.mark.parametrize(
    ("partition", "before", "after", "found"),
    [
        (FILE, {"position": 9}, {"position": 5}, None),
        (FILE, {"position": 9}, {"position": 9}, None),
        (FILE, {"position": 9}, {"position": 10}, ("EOS413", "error")),
        (FILE, {"position": 9}, {"positon": 5}, ("EOS412", "error")),
        (FILE, {"position": 9}, {"position": "5"}, ("EOS412", "error")),
        (FILE, {"position": 9}, {"position": 5.0}, ("EOS412", "error")),
        (FILE, {"position": 9}, {"position": -1}, ("EOS412", "error")),
        (FILE, {"position": 9}, {"position": 5, "more": 1}, ("EOS412", "warning")),
        (LSN, STREAMED, {**STREAMED, "lsn": 5, "snapshot": True}, ("EOS412", "warning")),
        (LSN, STREAMED, {"snapshot": True}, ("EOS412", "error")),
        ({"f": 1}, {"p": 9}, {"p": 10}, None),
        ({"f": 1}, {"p": 9}, {"q": 9}, ("EOS412", "error")),
        ({"f": 1}, {"p": 9}, {"p": None}, None),
    ],
)
def test_an_offset_is_held_against_the_one_that_it_replaces(partition, before, after, found):
    told = [(each.id, each.severity) for each in find_differences("c", partition, before, after, force=False)]
    assert told == ([] if found is None else [found])
    forced = find_differences("c", partition, before, after, force=True)
    assert [(each.id, each.severity) for each in forced] == ([] if found is None else [(found[0], "warning")])
