"""The performers of a plan's steps, without a cluster."""

from types import SimpleNamespace
from typing import Any

import pytest

from eosctl.executors import performers as module
from eosctl.executors.performers import performers
from eosctl.model.names import ProducerIdAndEpoch, Side
from eosctl.model.plan import WriteOffsets
from eosctl.model.transactions import TransactionDescription, TransactionState

OPEN = {TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}


@pytest.mark.parametrize("state", [None, *TransactionState])
def test_a_written_transaction_is_decided_once_its_id_has_none_that_is_open(
    state: TransactionState | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(module, "write_offsets", lambda *_, **more: given.update(more) or "written")
    place: Any = SimpleNamespace(librdkafka_properties=dict, timeout_s=7)
    known = {} if state is None else {"id": _described(state)}
    nothing: Any = None
    table = performers(lambda _: place, lambda _, names: known, nothing, nothing, nothing)
    step: Any = SimpleNamespace(side=Side.TARGET)
    assert table[WriteOffsets](step, nothing) == "written"
    assert given["is_decided"]("id") is (state not in OPEN)
    assert given["timeout_s"] == 7


def _described(state: TransactionState) -> TransactionDescription:
    return TransactionDescription("id", state, ProducerIdAndEpoch(7, 1), 60_000, None, (), 1)
