"""Whether a snapshot that has not ended was begun again.

1. Which offsets are those of such a snapshot, `analysis.positions.snapshots` says.
2. Debezium cannot go on with it. A task that finds one begins another, at another position of the database.
3. The position is the same within one snapshot. What has none of the members in POSITIONS has a form that is not known.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from eosctl.analysis.audit.batches import Decode
from eosctl.analysis.positions.snapshots import is_unfinished_snapshot
from eosctl.model.audit_states import Change

POSITIONS: Final = frozenset(
    {
        "change_lsn", "commit_lsn", "commit_scn", "file", "gtids", "lsn", "lsn_commit", "lsn_proc", "ord", "pos",
        "resume_token", "scn", "sec", "snapshot_scn", "txId",
    }
)  # fmt: skip
_SIGN: Final = b'"snapshot'


class SnapshotChange(Enum):
    """What two offsets, both of a snapshot that has not ended, are to each other."""

    SAME_POSITION = "same-position"
    OTHER_POSITION = "other-position"
    UNKNOWN_FORM = "unknown-form"


def snapshot_change(change: Change, decode: Decode) -> SnapshotChange | None:
    """What a change from one offset of an unfinished snapshot to another one is; None for every other change."""
    before, after = change.before.value, change.after.value
    if before is None or after is None or before == after or _SIGN not in before or _SIGN not in after:
        return None
    try:
        was, now = decode(before), decode(after)
    except ValueError:
        return None
    if not isinstance(was, Mapping) or not isinstance(now, Mapping):
        return None
    if not is_unfinished_snapshot(was) or not is_unfinished_snapshot(now):
        return None
    common = POSITIONS & was.keys() & now.keys()
    if not common:
        return SnapshotChange.UNKNOWN_FORM
    differ = any(was[name] != now[name] for name in common)
    return SnapshotChange.OTHER_POSITION if differ else SnapshotChange.SAME_POSITION
