"""What `transactions list`, `hanging` and `lso` answer, as samples."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.model.hanging import HangingTransactions, OpenTransaction
from eosctl.model.last_stable import LastStableOffsets
from eosctl.model.metrics import Metric, Sample
from eosctl.model.report import Answer
from eosctl.model.transactions import NO_OWNER, Ownership, TaskOwner, TransactionList, TransactionState

NEAR_EXHAUSTION: Final = 32_000
"""Of the 32,767 epochs that a producer ID has (TransactionMetadata.isProducerEpochExhausted)."""


def counted(answer: Answer, metric: Metric, labels: tuple[str, ...], count: int) -> Iterator[Sample]:
    """The count; none where it is 0 and something that it needs was not read."""
    if count or (answer.complete and answer.failure is None):
        yield Sample(metric, labels, count)


def transaction_samples(listed: TransactionList) -> Iterator[Sample]:
    """The IDs by state, the oldest open transactions, and epochs near their end."""
    states = Counter(each.state for each in listed.transactions)
    for state in TransactionState:
        yield from counted(listed, metrics.TRANSACTIONAL_IDS, (state.value,), states[state])
    opened = [each for each in listed.transactions if each.state.is_open]
    yield from counted(listed, metrics.OPEN_TRANSACTIONS, (), len(opened))
    for each in opened:
        if each.running_ms is not None:
            labels = (*_owner(each.transactional_id, each.ownership), each.state.value)
            yield Sample(metrics.OPEN_AGE, labels, each.running_ms / 1000)
    epochs = [each.description.producer.producer_epoch for each in listed.transactions if each.description is not None]
    near = sum(epoch >= NEAR_EXHAUSTION for epoch in epochs)
    if near or len(epochs) == len(listed.transactions):
        yield from counted(listed, metrics.EPOCHS_NEAR_END, (), near)


def hanging_samples(found: HangingTransactions) -> Iterator[Sample]:
    """What hangs, and what may hang."""
    hanging = [each for each in found.verdicts if each.hangs]
    yield from counted(found, metrics.HANGING, (), len(hanging))
    undecided = len(found.undecided) + len(found.undated)
    yield from counted(found, metrics.HANGING_UNDECIDED, (), undecided)
    for each in sorted(hanging, key=lambda each: each.transaction.active.last_timestamp or 0):
        last = each.transaction.active.last_timestamp
        if last is not None:
            labels = (*_place(each.transaction), *_held_by(each.transaction, found.owners), each.advice.value)
            yield Sample(metrics.HANGING_AGE, labels, max(0, found.as_of - last) / 1000)


def stability_samples(found: LastStableOffsets) -> Iterator[Sample]:
    """How far last stable offsets are behind, for how long, and who holds them back."""
    held = [each for each in found.partitions if each.offsets.held_back > 0]
    yield from counted(found, metrics.LSO_HELD_PARTITIONS, (), len(held))
    for each in held:
        place = (each.offsets.topic_partition.topic, str(each.offsets.topic_partition.partition))
        yield Sample(metrics.LSO_LAG, place, each.offsets.held_back)
        if each.since_ms is not None:
            by = _held_by(each.holders[0], found.owners) if each.holders else ("", "", "")
            yield Sample(metrics.LSO_HELD, (*place, *by), max(0, found.as_of - each.since_ms) / 1000)


def _place(transaction: OpenTransaction) -> tuple[str, str, str]:
    place = transaction.topic_partition
    return place.topic, str(place.partition), str(transaction.producer.producer_id)


def _held_by(transaction: OpenTransaction, owners: Mapping[str, Ownership]) -> tuple[str, str, str]:
    name = transaction.transactional_id
    return ("", "", "") if name is None else _owner(name, owners.get(name, NO_OWNER))


def _owner(transactional_id: str, ownership: Ownership) -> tuple[str, str, str]:
    """The labels of an owner: connector and task are empty where no task, or none for certain, has the ID."""
    match ownership.owners:
        case (TaskOwner(task=task),):
            return transactional_id, task.connector, str(task.task)
    return transactional_id, "", ""
