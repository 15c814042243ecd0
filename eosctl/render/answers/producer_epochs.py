"""`transactions history` and `churn`: the producers that had a transactional ID, and how IDs come and go."""

from collections.abc import Iterator
from typing import Annotated, TypedDict

from msgspec import Struct

from eosctl.model.producer_epochs import EpochEnd, EpochHistory, IdChurn, ProducerEpochs
from eosctl.model.producer_state import STATE_BYTES, ProducerStates
from eosctl.model.skipped import Skipped
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.findings import ShownFindings, findings_of
from eosctl.render.answers.transactions import OwnerRow, owner_fields
from eosctl.render.document import MOST, Document, Findings, Table, Tone, col, columns, row_of

TONES = {"fenced": Tone.WARN, "timed-out": Tone.WARN, "unknown": Tone.WARN, "expired": Tone.FAINT}

_Times = TypedDict(
    "_Times",
    {
        "from": Annotated[str | None, "when it initialized the ID, UTC; - where the log no longer has it"],
        "to": Annotated[str | None, "when its last epoch ended, UTC; - while it has the ID"],
    },
)


class EpochRow(_Times):
    """A producer that had the ID: its epochs from producer_epoch to last_epoch, and what ended the last one.

    was_open: whether a transaction was open then, null where the log does not show it. certain is false where the log
    would look the same in another case, which `by` names.
    """

    transactional_id: Annotated[str, "the ID"]
    producer_id: Annotated[int, "the producer that had the ID"]
    producer_epoch: Annotated[int, col("its first epoch", "EPOCH")]
    last_epoch: Annotated[int, "its last epoch: with transaction.version 2 each transaction takes one"]
    committed: Annotated[int, "its transactions that were committed"]
    aborted: Annotated[int, "its transactions that were aborted"]
    ended_by: Annotated[EpochEnd | None, col("what ended its epochs; - while it has the ID", tones=TONES)]
    by: Annotated[str | None, "who ended them"]
    certain: bool
    was_open: bool | None
    last_update: str
    timeout_ms: Annotated[int, "its transaction.timeout.ms"]
    client_transaction_version: Annotated[
        int | None, col("the transaction.version that it used; - where no record says it", "VERSION")
    ]
    log_partition: int
    offset: int
    owner: str
    owners: list[OwnerRow]
    shapes: list[str]


class EpochHistoryData(ShownFindings, frozen=True):
    """Producers of each ID in their order; left_out are older ones."""

    epochs: list[EpochRow]
    left_out: int


EPOCHS = Table(
    "epochs",
    columns(
        EpochRow,
        "transactional_id producer_id producer_epoch last_epoch from to committed aborted ended_by by "
        "client_transaction_version timeout_ms",
    ),
    empty="no producers",
)


def view_epoch_history(found: EpochHistory) -> Document:
    data = EpochHistoryData(
        epochs=[_row(each, found) for each in found.epochs], left_out=found.left_out, **findings_of(found)
    )
    ids = len({each.transactional_id for each in found.epochs})
    older = f"{pluralize(found.left_out, 'older producer is', 'older producers are')} left out"
    return Document(
        kind="transactions.history",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(EPOCHS, Findings(most=MOST)),
        prose=(f"{pluralize(len(found.epochs), 'producer')} of {pluralize(ids, 'transactional ID')}.",),
        notes=(*((older,) if found.left_out else ()), *found.all_notes),
    )


def _row(each: ProducerEpochs, found: EpochHistory) -> EpochRow:
    owned = owner_fields(found.owners[each.transactional_id])
    return {
        "transactional_id": each.transactional_id,
        "producer_id": each.producer.producer_id,
        "producer_epoch": each.producer.producer_epoch,
        "last_epoch": each.last_epoch,
        "from": None if each.begun_ms is None else rfc3339(each.begun_ms),
        "to": None if each.ended_ms is None else rfc3339(each.ended_ms),
        "committed": each.committed,
        "aborted": each.aborted,
        "ended_by": each.ended_by,
        "by": each.by,
        "certain": each.certain,
        "was_open": each.was_open,
        "last_update": rfc3339(each.last_ms),
        "timeout_ms": each.timeout_ms,
        "client_transaction_version": each.client_version,
        "log_partition": each.partition,
        "offset": each.offset,
        "owner": owned["owner"],
        "owners": owned["owners"],
        "shapes": owned["shapes"],
    }


class PrefixRow(Struct, frozen=True):
    """The IDs of a prefix, by the transaction log; the prefix is an ID without numbers, UUIDs and names of pods."""

    prefix: Annotated[str, "the IDs without the numbers, UUIDs, hashes and pod names at their end"]
    ids: Annotated[int, "IDs that their coordinators keep"]
    open: Annotated[int, "with a transaction in progress"]
    new: Annotated[
        int, col("first initialized within a day, or earlier if compaction removed its first records", "NEW-24H")
    ]
    idle: Annotated[int, col("not used for a day", "IDLE-24H")]
    idle_per_day: Annotated[float, col("IDLE-24H, averaged over the days in which they became idle", "IDLE-PER-DAY")]
    used_once: Annotated[int, "idle ones with one producer and at most one transaction"]
    used_again: Annotated[int, "idle ones with more; compaction left too few records of the others"]
    expiring: Annotated[
        int | None,
        "in the last seventh of transactional.id.expiration.ms, and used again (or it is not known, and none is new)",
    ]
    expiring_unknown: int
    first_expiry: Annotated[str | None, "when the first of them is forgotten, UTC"]
    first_expiring_id: str | None


class BrokerStatesRow(Struct, frozen=True):
    """The producers that a broker keeps in memory. heap_bytes is an estimate."""

    broker: Annotated[int, "its node ID"]
    partitions: Annotated[int, "partitions that it leads, as far as they could be read"]
    producers: Annotated[int, col("producer states of these partitions: one for each producer ID", "AS-LEADER")]
    held: Annotated[int | None, "producer states of all partitions of which it has a replica"]
    transactional: Annotated[int, "of AS-LEADER, with a transaction that is open or has ended"]
    idle: Annotated[int, col("of AS-LEADER, without a write for a day", "IDLE-24H")]
    heap_bytes: Annotated[int, "about as much memory of the broker, at 400 bytes a state"]
    expiration_ms: Annotated[
        int | Skipped, "producer.id.expiration.ms: the broker removes a state that was not used for this long"
    ]


class PartitionStatesRow(Struct, frozen=True):
    """The producers that the leader of a partition keeps in memory."""

    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "its partition"]
    leader: Annotated[int, "the broker that leads it"]
    producers: Annotated[int, "producer states in it: one for each producer ID"]
    transactional: Annotated[int, "of these, with a transaction that is open or has ended; the others have no ID"]
    unlogged: Annotated[int | None, "of TRANSACTIONAL, no longer of an ID in the transaction log"]
    open: Annotated[int, "of TRANSACTIONAL, with an open transaction: these do not expire"]
    idle: Annotated[int, col("of PRODUCERS, without a write for a day", "IDLE-24H")]
    expires: Annotated[str | None, "when the last one expires if none of them writes again, UTC"]


class ProducerStatesData(Struct, frozen=True):
    """Brokers, and the partitions with the most producer states; other_partitions are the further ones, unread those
    that could not be counted.
    """

    brokers: list[BrokerStatesRow]
    partitions: list[PartitionStatesRow]
    other_partitions: int
    unread_partitions: int


class ChurnData(ShownFindings, frozen=True):
    """Prefixes, those with most idle IDs first; other_ids are the IDs of further prefixes."""

    prefixes: list[PrefixRow]
    other_ids: int
    expiration_ms: int | Skipped
    producer_states: ProducerStatesData | Skipped


CHURN = Table(
    "prefixes",
    columns(PrefixRow, "prefix ids open new idle idle_per_day used_once used_again expiring first_expiry"),
    empty="no transactional IDs",
    most=MOST,
)


BROKER_STATES = Table(
    "producer_states.brokers",
    columns(BrokerStatesRow, "broker partitions producers held transactional idle heap_bytes expiration_ms"),
    title="Producers in memory, by broker",
)
PARTITION_STATES = Table(
    "producer_states.partitions",
    columns(PartitionStatesRow, "topic partition leader producers transactional unlogged open idle expires"),
    title="Partitions with the most of them",
    empty="no producers",
    most=MOST,
)
STATES = (BROKER_STATES, PARTITION_STATES)


def view_churn(found: IdChurn) -> Document:
    """`transactions churn`: the prefixes, those with most idle IDs first, and findings about them."""
    rows = [
        row_of(
            PrefixRow,
            each,
            first_expiry=None if each.first_expiry_ms is None else rfc3339(each.first_expiry_ms),
            first_expiring_id=each.an_id or None,
        )
        for each in found.prefixes
    ]
    ids = sum(each.ids for each in found.prefixes) + found.other_ids
    others = f"{pluralize(found.other_ids, 'ID')} of further prefixes are not shown"
    unknown = found.expiration_ms
    return Document(
        kind="transactions.churn",
        as_of=rfc3339(found.as_of),
        cluster_id=found.cluster_id,
        data=ChurnData(
            prefixes=rows,
            other_ids=found.other_ids,
            expiration_ms=found.expiration_ms,
            producer_states=found.states if isinstance(found.states, Skipped) else _states(found.states),
            **findings_of(found),
        ),
        blocks=(CHURN, *(() if isinstance(found.states, Skipped) else STATES), Findings(most=MOST)),
        prose=(f"{pluralize(ids, 'transactional ID')} under {pluralize(len(rows), 'prefix', 'prefixes')}.",),
        notes=(
            *((others,) if found.other_ids else ()),
            *(() if isinstance(found.states, Skipped) else _state_notes(found.states)),
            *((f"expiry is not known: {unknown.reason}",) if isinstance(unknown, Skipped) else ()),
            *found.all_notes,
        ),
    )


def _states(found: ProducerStates) -> ProducerStatesData:
    return ProducerStatesData(
        brokers=[row_of(BrokerStatesRow, each, heap_bytes=each.most * STATE_BYTES) for each in found.brokers],
        partitions=[
            row_of(
                PartitionStatesRow,
                each,
                topic=each.topic_partition.topic,
                partition=each.topic_partition.partition,
                expires=None if each.expires_ms is None else rfc3339(each.expires_ms),
            )
            for each in found.partitions
        ],
        other_partitions=found.other_partitions,
        unread_partitions=found.unread,
    )


def _state_notes(found: ProducerStates) -> Iterator[str]:
    if found.other_partitions:
        yield f"{pluralize(found.other_partitions, 'further partition')} with fewer producers, or none"
    if found.unread:
        yield f"{pluralize(found.unread, 'partition')} could not be counted: the numbers of brokers are too low"
