"""Whether a source offset is that of a snapshot that has not ended, and whether another one was begun instead.

1. Debezium commits offsets with `snapshot` (true, or the kind of snapshot) while it copies tables, and with
   `snapshot_completed` or `last_snapshot_record` false. `false` and `last` are ordinary ones. Incremental snapshots go
   on where they were, and are none of these.
2. It cannot go on with such a snapshot. A task that finds one begins another, at another position of the database.
3. The position is the same within one snapshot. What has none of the members in POSITIONS has a form that is not known.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from eosctl.analysis.audit.batches import Decode
from eosctl.model.audit_states import Change

POSITIONS: Final = frozenset(
    {
        "change_lsn", "commit_lsn", "commit_scn", "file", "gtids", "lsn", "lsn_commit", "lsn_proc", "ord", "pos",
        "resume_token", "scn", "sec", "snapshot_scn", "txId",
    }
)  # fmt: skip
_SIGN: Final = b'"snapshot'
_ENDED: Final = frozenset({"false", "last", "incremental"})


class SnapshotChange(Enum):
    """What two offsets, both of a snapshot that has not ended, are to each other."""

    SAME_POSITION = "same-position"
    OTHER_POSITION = "other-position"
    UNKNOWN_FORM = "unknown-form"


def is_unfinished_snapshot(offset: object) -> bool:
    """Whether a decoded source offset is that of a snapshot that has not ended (rule 1)."""
    if not isinstance(offset, Mapping):
        return False
    if offset.get("snapshot_completed") is True or offset.get("last_snapshot_record") is True:
        return False
    kind = offset.get("snapshot")
    if kind is None or kind is False:
        return offset.get("snapshot_completed") is False
    return str(kind).lower() not in _ENDED


def snapshot_change(change: Change, decode: Decode) -> SnapshotChange | None:
    """What a change from one offset of an unfinished snapshot to another one is; None for every other change."""
    before, after = change.before.value, change.after.value
    if before is None or after is None or before == after or _SIGN not in before or _SIGN not in after:
        return None
    try:
        was, now = decode(before), decode(after)
    except ValueError:
        return None
    if not is_unfinished_snapshot(was) or not is_unfinished_snapshot(now):
        return None
    assert isinstance(was, Mapping)
    assert isinstance(now, Mapping)
    common = POSITIONS & was.keys() & now.keys()
    if not common:
        return SnapshotChange.UNKNOWN_FORM
    differ = any(was[name] != now[name] for name in common)
    return SnapshotChange.OTHER_POSITION if differ else SnapshotChange.SAME_POSITION
