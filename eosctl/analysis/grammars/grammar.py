"""The form of a grammar: which connectors it is of, and what one record of theirs says of its event."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.events import EventPart
from eosctl.model.records import Entry


class RecordWithHeaders(Entry, Protocol):
    """A record as the decoder of batches gives it."""

    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]:
        """Names and values, in order."""


class KeysRead(Protocol):
    """The key of a record and the one in its header, as texts that are the same for the same key."""

    @property
    def key(self) -> str:
        """That of the record."""

    @property
    def header(self) -> str:
        """That of its header."""


class Readers(NamedTuple):
    """How bytes are read: keys gives None for what it cannot compare, json raises ValueError for what is none."""

    keys: Callable[[bytes | None, bytes | None], KeysRead | None]
    json: Callable[[bytes], object]


class Unreadable(Exception):  # a record's answer, not an error
    """The record is part of an event, and which one cannot be read."""


class Grammar(Struct, frozen=True):
    """What the records of some connectors say belongs together.

    source names the classes that decide it. is_of says whether a connector writes so. Batches without any of `words`
    in their records hold no parts of events and no deletions. part gives what a record is part of, None: it is an event
    by itself; it raises Unreadable. is_deletion says whether a tombstone should follow. kept_back gives the reasons for
    which a connector's config leaves out parts of events. covers and beyond say what is judged, and what is not.
    """

    name: str
    source: str
    is_of: Callable[[ConnectorConfig], bool]
    words: tuple[bytes, ...]
    part: Callable[[RecordWithHeaders, Readers], EventPart | None]
    is_deletion: Callable[[RecordWithHeaders, Readers], bool]
    kept_back: Callable[[ConnectorConfig], tuple[str, ...]]
    covers: str
    beyond: str
