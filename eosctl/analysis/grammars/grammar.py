"""The form of a grammar: the connectors that it describes, and the part of an event in each of their records."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct

from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.events import EventPart, TransactionPart
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
    """How bytes are read: keys returns None for a key that it cannot compare, json raises ValueError for bytes that
    are no JSON."""

    keys: Callable[[bytes | None, bytes | None], KeysRead | None]
    json: Callable[[bytes], object]


class Unreadable(Exception):  # a record's answer, not an error
    """The record is part of an event, and which one cannot be read."""


class Grammar(Struct, frozen=True):
    """Which records of some connectors belong together.

    source names the classes that decide it. is_of is true for a connector that writes so. Batches without any of
    `words` hold no parts of events and no deletions. part returns a record's event, None if the record is a whole
    event; it raises Unreadable. is_deletion is true if a tombstone should follow. kept_back gives the reasons why a
    connector's config leaves out parts of events. covers and beyond name the subjects that are judged and not judged.
    counted returns a record's part in a database transaction whose records are counted; None: they are not.
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
    counted: Callable[[RecordWithHeaders], TransactionPart | None] | None = None
