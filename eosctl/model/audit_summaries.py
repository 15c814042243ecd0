"""What an audit concludes from states, bucket by bucket, before all of it is put together: small, and it adds up."""

from typing import NamedTuple

from eosctl.model.audit_report import RecordCount, Stall


class OffsetsWrite(NamedTuple):
    """The place of a source offset that was committed in a transaction."""

    topic: str
    partition: int
    offset: int
    producer_id: int


class OutputPart(NamedTuple):
    """Records, from offset first to last of a partition, that a transaction wrote beside its source offsets."""

    topic: str
    partition: int
    first: int
    last: int
    records: int


class CommittedData(NamedTuple):
    """What the transaction of a source offset wrote beside it: nothing where data is empty."""

    write: OffsetsWrite
    data: tuple[OutputPart, ...]


class Anomaly(NamedTuple):
    """Something wrong with one transaction: its data, or its open part, lies from first to last in the partition."""

    kind: str
    connectors: tuple[str, ...]
    topic: str
    partition: int
    first: int
    last: int
    producer_id: int
    producer_epoch: int
    timestamp: int
    records: int


class Tally(NamedTuple):
    """How many anomalies of a kind concern these connectors in that topic, and how many records."""

    kind: str
    connectors: tuple[str, ...]
    topic: str
    transactions: int
    records: int


class OwnerFigures(NamedTuple):
    """Transactions of one connector (None: of no known task): see model.audit_report.TransactionStatistics."""

    connector: str | None
    committed: int
    aborted: int
    records: int
    size_bytes: int
    aborted_records: int
    aborted_bytes: int
    sizes: tuple[tuple[int, int], ...]
    durations: tuple[tuple[int, int], ...]


class TransactionSummary(NamedTuple):
    """What was concluded from the transactions of some producer IDs; two of them add up.

    committed is what the transactions of some source offsets wrote beside them.
    """

    figures: tuple[OwnerFigures, ...] = ()
    tallies: tuple[Tally, ...] = ()
    anomalies: tuple[Anomaly, ...] = ()
    stalls: tuple[Stall, ...] = ()
    committed: tuple[CommittedData, ...] = ()


class ClosedTransactions(NamedTuple):
    """What was concluded from transactions that nothing can be added to, by producer ID: no connector is named.

    stalls and committed are those of all of them.
    """

    producers: tuple[tuple[int, TransactionSummary], ...] = ()
    stalls: tuple[Stall, ...] = ()
    committed: tuple[CommittedData, ...] = ()


class KeyAnomaly(NamedTuple):
    """Something wrong with a key of an offsets topic, at an offset; key is its JSON text.

    before and after are the places and values concerned, in words that name topic, partition and offset; was and now
    are where these were written, if that was in a transaction.
    """

    kind: str
    connector: str | None
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: str
    before: str
    after: str
    was: OffsetsWrite | None = None
    now: OffsetsWrite | None = None


class OffsetsChange(NamedTuple):
    """What came of source offsets that were changed during one stop of a connector.

    places are the first of the changed offsets, offsets is how many there are. before is the data that records of were
    written again, again is where they are, by partition. open: the connector has not come as far again as it was.
    """

    connector: str
    timestamp: int
    places: tuple[KeyAnomaly, ...]
    offsets: int
    repeated: RecordCount
    left_out: RecordCount
    before: tuple[OutputPart, ...] = ()
    again: tuple[OutputPart, ...] = ()
    open: bool = False

    @property
    def is_harmless(self) -> bool:
        """Whether no record is there twice or left out because of it."""
        return self.repeated.is_none and self.left_out.is_none


class ConnectorKeys(NamedTuple):
    """The keys of one connector (None: malformed ones): how many, and which producer IDs wrote them.

    first_transactional, upgraded and last_write are timestamps; first_transactional None: it never committed in a
    transaction. upgraded is that of the last key's first write in a transaction that was written plainly before.
    """

    connector: str | None
    keys: int
    records: int
    tombstones: int
    producers: tuple[int, ...]
    first_transactional: int | None
    upgraded: int | None
    last_write: int


class KeySummary(NamedTuple):
    """What was concluded from some keys: anomalies are the earliest of each kind and connector, all are counted.

    suspicions are anomalies that count or not by the data of their transactions. latest are the last writes of keys: a
    later audit may ask what was committed with them.
    """

    connectors: tuple[ConnectorKeys, ...] = ()
    counts: tuple[tuple[str, str, int], ...] = ()
    anomalies: tuple[KeyAnomaly, ...] = ()
    suspicions: tuple[KeyAnomaly, ...] = ()
    latest: tuple[OffsetsWrite, ...] = ()


class ConfigAnomaly(NamedTuple):
    """Something wrong in the history of the config topic, at an offset; connector None: it concerns the leader."""

    kind: str
    connector: str | None
    offset: int
    timestamp: int
    words: str


class ConnectorHistory(NamedTuple):
    """What the config topic says of one connector over time.

    starts are its commits and task-count records as (timestamp, offset, kind, tasks), kind "commit" or "fencing".
    """

    connector: str
    known: bool
    fenced_ever: bool
    starts: tuple[tuple[int, int, str, int], ...]


class ConfigSummary(NamedTuple):
    """The config topic's history: connectors by name, and what is wrong."""

    connectors: tuple[ConnectorHistory, ...] = ()
    anomalies: tuple[ConfigAnomaly, ...] = ()
