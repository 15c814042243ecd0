"""The note on transactions that a checkpoint of a Flink job may hold."""

import pytest

from eosctl.model.leftovers import Leftover, LeftoverKind, Leftovers
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch
from eosctl.model.transaction_log import TransactionLogValue
from eosctl.model.transactions import NO_OWNER, Ownership, TaskOwner, TransactionState
from eosctl.render.answers.leftovers import view_leftovers

TASK = Ownership((TaskOwner("g", ConnectorTaskId("sink-0", 42)),), ())


@pytest.mark.parametrize(
    ("name", "kind", "owner", "noted"),
    [
        ("sink-0-42", LeftoverKind.OPEN, NO_OWNER, True),
        ("sink-42", LeftoverKind.OPEN, NO_OWNER, False),
        ("sink-0-42", LeftoverKind.PREPARED, NO_OWNER, False),
        ("sink-0-42", LeftoverKind.OPEN, TASK, False),
    ],
)
def test_an_open_transaction_of_flink_s_shape_without_an_owner_is_noted(name, kind, owner, noted):
    value = TransactionLogValue(1, ProducerIdAndEpoch(7, 0), 60_000, TransactionState.ONGOING, (), 5, 5)
    left = (Leftover(name, kind, value),)
    found = Leftovers(
        as_of=9, cluster_id="c", prefix="sink", leftovers=left, ids=1, owners={name: owner}, unread={}, notes=()
    )
    assert any(f"a checkpoint of a Flink job may hold {name}" in each for each in view_leftovers(found).notes) is noted
