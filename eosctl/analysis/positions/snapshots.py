"""What Debezium's offsets say of its snapshots of a database.

1. It commits offsets with `snapshot` (true before Debezium 3, or the kind of snapshot) while it copies tables, and with
   `snapshot_completed` or `last_snapshot_record` false. `false` and `last` are ordinary ones. Incremental snapshots go
   on where they were, beside the changes that are streamed, and are none of these.
"""

from typing import Final

from eosctl.model.offsets import SourceOffset

_STREAMING: Final = frozenset({"false", "incremental"})


def is_snapshot(offset: SourceOffset) -> bool:
    """Whether a snapshot wrote it, ended or not."""
    kind = offset.get("snapshot")
    return kind is not None and str(kind).lower() not in _STREAMING


def is_unfinished_snapshot(offset: SourceOffset) -> bool:
    """Whether it is that of a snapshot that has not ended."""
    if offset.get("snapshot_completed") is True or offset.get("last_snapshot_record") is True:
        return False
    kind = offset.get("snapshot")
    if kind is None or kind is False:
        return offset.get("snapshot_completed") is False
    return is_snapshot(offset) and str(kind).lower() != "last"
