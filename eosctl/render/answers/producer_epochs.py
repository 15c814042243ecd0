"""`transactions history`: the producers that had a transactional ID."""

from typing import Annotated, TypedDict

from eosctl.model.producer_epochs import EpochEnd, EpochHistory, ProducerEpochs
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.findings import ShownFindings, findings_of
from eosctl.render.answers.transactions import OwnerRow, owner_fields
from eosctl.render.document import MOST, Document, Findings, Table, Tone, col, columns

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
