"""Short forms of offsets and owners for tables on a terminal; all other formats have them whole."""

from collections.abc import Callable, Mapping
from typing import Final

from eosctl.render.cells import cell
from eosctl.render.document import Tree, is_skipped, look_up

POSTGRESQL: Final = frozenset({"lsn_proc", "lsn_commit", "txId", "ts_usec"})
"""Members that Debezium for PostgreSQL writes beside `lsn`."""
POSITIONS: Final = (("file", "pos"), ("commit_lsn",), ("sec", "ord"))
"""Of Debezium's other connectors the members that give the position; the rest is about time and transactions."""
NO_SNAPSHOT: Final = (None, False, "false")


def brief_of(path: str, *others: str) -> Callable[[Tree], str]:
    """The short form of the object at `path` of a row: `position=3943`, `lsn=0/16F1C00`.

    All of its members are named where one at `others` is another object that would look the same.
    """

    def brief(row: Tree) -> str:
        value = look_up(row, path)
        text = _position(value)
        beside = (look_up(row, each) for each in others)
        alike = any(each != value and _position(each) == text for each in beside)
        return _members(value) if alike else text

    return brief


def brief_owner(row: Tree) -> str:
    """`orders/0` for a task of Connect, `leader` for a leader; in words where the owner is not known."""
    owners = look_up(row, "owners")
    if not isinstance(owners, list) or not owners:
        return cell(look_up(row, "owner"))
    return " or ".join(_owner(each) for each in owners)


def _owner(owner: Tree) -> str:
    connector, task = look_up(owner, "connector"), look_up(owner, "task")
    return "leader" if connector is None else f"{cell(connector)}/{task}"


def _position(value: Tree) -> str:
    if not isinstance(value, dict) or is_skipped(value):
        return cell(value)
    lsn = value.get("lsn")
    if type(lsn) is int and lsn >= 0 and not POSTGRESQL.isdisjoint(value):
        return f"lsn={lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}{_snapshot(value)}"
    known = next((names for names in POSITIONS if value.keys() >= {*names}), None)
    return _members(value) if known is None else _members({each: value[each] for each in known}) + _snapshot(value)


def _snapshot(value: Mapping[str, Tree]) -> str:
    return "" if value.get("snapshot") in NO_SNAPSHOT else ",snapshot"


def _members(value: Tree) -> str:
    if not isinstance(value, dict) or is_skipped(value):
        return cell(value)
    return ",".join(f"{cell(name)}={cell(each)}" for name, each in value.items()) or "{}"
