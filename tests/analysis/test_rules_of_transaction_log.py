"""Which producers speak the protocol before KIP-890, by what coordinators logged, on evidence made by hand."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.transaction_log import fold_transaction_log, last_values, log_findings
from eosctl.model.evidence import Evidence
from eosctl.model.skipped import Skipped
from eosctl.model.transaction_log import TransactionLogRecord
from eosctl.model.transactions import TransactionState
from eosctl.model.versions import KafkaVersion, Release
from tests.analysis.evidence import HEALTHY, NOW, A, B, answer, but, logged, worker

OLD = HEALTHY.logged | {"g-x-0": logged(client=0), "g-x-1": logged(client=0)}
BEFORE_4 = Release(KafkaVersion(3, 8), KafkaVersion(4, 0))


@pytest.mark.parametrize("state", [each for each in TransactionState if each.is_open])
def test_tasks_of_the_old_protocol_are_restarted_one_by_one(state: TransactionState) -> None:
    [found] = answer("EOS303", but(logged=HEALTHY.logged | {"g-x-1": logged(state, client=0)})).findings
    assert (found.subject, found.evidence) == ("x", {"transactional_ids": ["g-x-1"]})
    assert found.cure == "POST /connectors/x/tasks/1/restart"


@pytest.mark.parametrize(
    "evidence",
    [
        pytest.param(but(logged=OLD | {"g-x-0": logged(TransactionState.EMPTY, client=0), "g-x-1": logged()}),
                     id="claimed, and no transaction since"),
        pytest.param(but(logged=OLD, finalized_features={"transaction.version": 1}), id="EOS046 reports it"),
        pytest.param(but(logged=OLD, broker_releases=dict.fromkeys(range(3), BEFORE_4)), id="brokers before 4.0"),
        pytest.param(but(logged=dict.fromkeys(HEALTHY.logged, logged(client=0, version=0))), id="not in the record"),
        pytest.param(but(logged={"g-gone-0": logged(client=0)}), id="an ID of no task"),
        pytest.param(but(workers={A: worker(A, "3.9.2", enabled=False), B: worker(B)}), id="without exactly-once"),
    ],
)  # fmt: skip
def test_what_has_no_old_producer_is_fine(evidence: Evidence) -> None:
    assert answer("EOS303", evidence).outcome == "fine"


def test_old_workers_are_found_although_the_log_may_not_be_read() -> None:
    said = answer("EOS303", but(workers={A: worker(A, "3.9.2"), B: worker(B)}, logged=Skipped("denied")))
    [found] = said.findings
    assert (found.subject, found.cure) == (A, "upgrade the worker to Kafka 4.0.0 or newer")


def test_the_last_state_of_each_id_counts_and_a_tombstone_is_none() -> None:
    def record(offset: int, name: str, value: object) -> TransactionLogRecord:
        return TransactionLogRecord(0, offset, NOW, name, value)

    first, last = logged(client=0), logged()
    folded = fold_transaction_log([record(0, "a", first), record(1, "a", last), record(2, "b", None)])
    assert last_values(folded, ["a", "b", "c"], 1, {}) == {"a": last}
    assert last_values(folded, ["a"], 1, {0: Skipped("no leader")}) == {"a": Skipped("no leader")}


@pytest.mark.parametrize(
    ("state", "severity"), [(TransactionState.ONGOING, "warning"), (TransactionState.COMPLETE_COMMIT, "info")]
)
def test_two_phase_commit_is_found_in_the_transaction_log(state: TransactionState, severity: str) -> None:
    value = replace(logged(state), timeout_ms=2**31 - 1)
    folded = fold_transaction_log([TransactionLogRecord(0, 0, NOW, "a", value)])
    [found] = log_findings(folded, {}, NOW, 1_000_000, 1)
    assert (found.id, found.severity.value, found.evidence["state"]) == ("EOS304", severity, state.value)
