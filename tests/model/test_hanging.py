"""Open transactions joined with the answers of coordinators, and how a search for hanging ones ends."""

import pytest

from eosctl.errors import NotAuthorized, Unreachable
from eosctl.model.hanging import join_answers
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.transactions import (
    ActiveProducer,
    ListedTransactions,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from tests.analysis.test_metrics import hanging, verdict

PLACE = TopicPartition("t", 0)
ONGOING = TransactionState.ONGOING


def active(producer_id: int, start: int | None = 4) -> ActiveProducer:
    return ActiveProducer(PLACE, ProducerIdAndEpoch(producer_id, 1), 0, 0, None, start)


CANDIDATES = (active(9), active(7), active(8, None))
LISTED = ListedTransactions((TransactionListing("x", 7, ONGOING, 1),), {})
DESCRIBED = TransactionDescription("x", ONGOING, ProducerIdAndEpoch(7, 1), 60_000, 5, (PLACE,), 1)
SILENT = Unreachable("broker 1 does not answer")


@pytest.mark.parametrize(
    ("unlisted", "answer", "joined", "undecided", "reasons"),
    [
        ((), DESCRIBED, [(7, "x", DESCRIBED), (9, None, None)], [], ()),
        ((), None, [(7, "x", None), (9, None, None)], [], ()),
        ((), SILENT, [(9, None, None)], [7], ("broker 1 does not answer",)),
        (("broker 2",), DESCRIBED, [(7, "x", DESCRIBED)], [9], ("broker 2",)),
        (("broker 2",), SILENT, [], [7, 9], ("broker 2", "broker 1 does not answer")),
    ],
)
def test_a_producer_whose_coordinator_is_silent_is_undecided(unlisted, answer, joined, undecided, reasons):
    listed = ListedTransactions(LISTED.transactions, {}, unlisted)
    found = join_answers(CANDIDATES, listed, {"x": answer})
    shown = [(each.producer.producer_id, each.transactional_id, each.description) for each in found.transactions]
    assert shown == joined
    assert [each.producer.producer_id for each in found.undecided] == undecided
    assert found.reasons == reasons
    if undecided:
        with pytest.raises(Unreachable):
            found.require()
    else:
        found.require()


def test_an_id_that_may_not_be_described_ends_the_search():
    denied = NotAuthorized(principal="User:a", operation="Describe", resource="TransactionalId x")
    with pytest.raises(NotAuthorized):
        join_answers(CANDIDATES, LISTED, {"x": denied})


OPEN = verdict().transaction


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (hanging(), None),
        (hanging(verdict(hangs=False)), None),
        (hanging(undecided=(OPEN,), undecided_reasons=("why",)), "of 1 open transaction it is not known whether they"),
        (hanging(not_searched=(PLACE,)), "nothing hangs where it could be seen, but no leader answers for 1 partition"),
        (hanging(undecided=(OPEN,), undecided_reasons=("why",), not_searched=(PLACE,)), "of 1 open transaction it is"),
        (hanging(verdict(), undecided=(OPEN,), not_searched=(PLACE,)), None),
    ],
)
def test_a_search_that_finds_nothing_is_an_answer_only_where_all_was_seen(found, words: str | None):
    error = found.failure
    if words is None:
        assert error is None
    else:
        assert isinstance(error, Unreachable)
        assert error.message.startswith(words)
