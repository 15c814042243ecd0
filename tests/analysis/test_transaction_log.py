"""The transaction log folded, its history told, and what it foretells."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.transaction_log import fold_transaction_log, history, last_records, log_findings
from eosctl.analysis.transactions import KnownNames, ownership
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition, coordinator_partition
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import NewerLogRecord, TransactionLogRecord, TransactionLogValue
from eosctl.model.transactions import TransactionState as State

WEEK, HOUR = 604_800_000, 3_600_000
NOW = 1_790_000_000_000
NAME = "connect-cluster-orders-0"
HOME = coordinator_partition(NAME, 50)
NAMES = KnownNames.of({"connect-cluster": ["orders"]})


def value(
    state=State.EMPTY, epoch=0, producer_id=7, partitions=None, at=NOW, start=-1, client=0
) -> TransactionLogValue:
    places = None if partitions is None else tuple(TopicPartition("t", each) for each in range(partitions))
    producer = ProducerIdAndEpoch(producer_id, epoch)
    return TransactionLogValue(1, producer, 60_000, state, places, at, start, client_transaction_version=client)


def log(*values, name=NAME, partition=HOME) -> list[TransactionLogRecord]:
    return [TransactionLogRecord(partition, offset, NOW, name, each) for offset, each in enumerate(values)]


def findings(records, as_of=NOW, expiration_ms=WEEK, partitions=50):
    folded = fold_transaction_log(records)
    owners = {name: ownership(name, NAMES) for name in folded.ids}
    return [(each.name, each.severity.value) for each in log_findings(folded, owners, as_of, expiration_ms, partitions)]


def test_the_last_record_of_an_id_is_its_state_and_a_tombstone_ends_it():
    folded = fold_transaction_log([*log(value(), value(State.ONGOING), None), *log(value(), name="other")])
    assert folded.ids[NAME].value is None
    assert folded.ids[NAME].records == 3
    assert folded.ids["other"].value.state is State.EMPTY
    assert folded.records == 4


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([value()], "initialised, epoch 0"),
        ([value(), value(epoch=1)], "initialised, epoch 0 to 1: the producer before it is fenced"),
        ([value(epoch=32766), value(producer_id=8)],
         "initialised with another producer ID: the epochs of 7 are used up"),
        ([None, value()], "initialised again, after it was forgotten, epoch 0"),
        ([value(), value(State.ONGOING, partitions=2)], "transaction in progress in 2 partitions"),
        ([value(State.ONGOING, partitions=2), value(State.ONGOING, partitions=5)], "3 partitions added"),
        ([value(State.ONGOING), value(State.PREPARE_COMMIT)], "commit decided; markers are being written"),
        ([value(State.ONGOING), value(State.PREPARE_ABORT)], "abort decided; markers are being written"),
        ([value(State.ONGOING), value(State.PREPARE_ABORT, epoch=1)],
         "abort decided by its coordinator (timeout or fencing); markers are being written"),
        ([value(State.ONGOING), value(State.PREPARE_ABORT, epoch=1, client=2)],
         "abort decided; markers are being written"),
        ([value(State.COMPLETE_COMMIT, at=NOW - 60, start=NOW - 70)], "committed after 70 ms"),
        ([value(State.COMPLETE_ABORT)], "aborted"),
        ([value(), None], "forgotten: idle for transactional.id.expiration.ms"),
    ],
)  # fmt: skip
def test_each_record_is_told_by_the_one_before_it(values, words):
    assert [each.words for each in history(log(*values))][-1] == words


def test_histories_of_two_ids_do_not_mix():
    mixed = [*log(value(epoch=3)), *log(value(), name="other"), *log(value(epoch=4))]
    assert [each.words for each in history(mixed)] == [
        "initialised, epoch 3",
        "initialised, epoch 0",
        "initialised, epoch 3 to 4: the producer before it is fenced",
    ]


def test_an_idle_id_is_found_in_the_last_seventh_of_its_time():
    def idle(hours, state=State.COMPLETE_COMMIT, name=NAME):
        return findings(log(value(state, at=NOW - hours * HOUR), name=name, partition=coordinator_partition(name, 50)))

    assert idle(100) == []
    assert idle(150) == [("transactional-id-near-expiry", "warning")]
    assert idle(200) == [("transactional-id-near-expiry", "warning")]
    assert idle(150, name="somebody") == [("transactional-id-near-expiry", "info")]
    assert idle(150, State.ONGOING) == [], "an open transaction is not forgotten"


def test_an_id_in_a_partition_that_its_coordinator_does_not_lead_is_lost_to_it():
    assert findings(log(value(), partition=HOME + 1)) == [("transactional-id-misplaced", "error")]
    assert findings(log(value()), partitions=7) == [("transactional-id-misplaced", "error")]
    assert findings(log(None, partition=HOME + 1)) == []


def test_epochs_that_come_to_an_end_are_told():
    assert findings(log(value(epoch=31_700))) == []
    assert findings(log(value(epoch=31_800))) == [("producer-epochs-near-end", "info")]


def test_a_record_of_a_newer_kafka_is_never_passed_over_in_silence():
    assert findings([NewerLogRecord(3, 9, 1)]) == [("newer-log-record", "warning")]


def test_what_was_not_read_is_not_judged():
    lost = replace(log(value(at=0))[0], partition=HOME + 1)
    assert findings([lost], expiration_ms=Skipped("denied"), partitions=Skipped("unknown")) == []


def test_of_each_id_the_last_records_are_kept_in_their_order():
    first, other = log(*map(value, [State.EMPTY] * 5)), log(value(), None, name="other", partition=3)
    mixed = [*first[:3], *other, *first[3:], NewerLogRecord(3, 9, 1)]
    count, kept = last_records(mixed, keep=2)
    assert count == 8
    assert kept == (*other, *first[3:], NewerLogRecord(3, 9, 1))
    assert fold_transaction_log(kept).ids[NAME].last == first[-1]
