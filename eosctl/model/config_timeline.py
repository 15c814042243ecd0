"""The history of a config topic: what each record says, and what it did to a reader's state."""

from collections.abc import Iterable
from dataclasses import dataclass

from eosctl.model.config_topic import Effect, Origin, RecordKind
from eosctl.model.report import Answer


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One record: where it lies, what it says, and its effect; connector is None for records about none.

    pending_fencing and inconsistent are those of its connector after the record, None where there is no connector.
    """

    origin: Origin
    kind: RecordKind
    connector: str | None
    words: str
    effect: Effect
    pending_fencing: bool | None
    inconsistent: bool | None


@dataclass(frozen=True, slots=True)
class ConfigTopicHistory(Answer):
    """The answer of inspect-config --history; entries may be a stream that can be read once.

    as_of is in ms since the epoch, None where the records are from a file.
    """

    topic: str
    entries: Iterable[TimelineEntry]
    as_of: int | None
    cluster_id: str | None
    notes: tuple[str, ...] = ()
