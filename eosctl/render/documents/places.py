"""Partitions, and who owns a transactional ID: the same shapes in several documents."""

from typing import TypedDict


class PartitionRow(TypedDict):
    """A partition of a topic."""

    topic: str
    partition: int


class OwnerRow(TypedDict):
    """Who uses a transactional ID: connect-leader or connect-task; connector and task are null for a leader."""

    kind: str
    group_id: str
    connector: str | None
    task: int | None


class OwnerFields(TypedDict):
    """owner in words, owners in parts; shapes are hints of where the form of the ID comes from."""

    owner: str
    owners: list[OwnerRow]
    shapes: list[str]
