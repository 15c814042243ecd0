"""How long a round of fencing takes, by the settings of whom, and what rules say of that."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.rules.transactions import silence_s
from eosctl.model.report import Severity
from tests.analysis.evidence import BROKER, FILE, ONE_COORDINATOR, POLICY, A, B, answer, but, inspection, tasks, worker


@pytest.mark.parametrize(
    ("settings", "in_connector"),
    [({}, True), ({POLICY: "All"}, True), ({POLICY: "Principal"}, False), ({POLICY: "None"}, False),
     ({POLICY: "Allowlist"}, False),
     ({POLICY: "Allowlist", "connector.client.config.override.allowlist": "retry.backoff.ms,retry.backoff.max.ms"},
      True)],
)  # fmt: skip
def test_a_slow_round_is_fixed_where_the_override_policy_allows_it(settings: dict[str, str], in_connector: bool):
    slow = but(inspection=inspection(tasks(105)), transaction_log=ONE_COORDINATOR, worker_files={A: FILE | settings})
    [found] = answer("EOS030", slow).findings
    assert ("PUT /connectors/x/config" in found.cure) is in_connector
    assert "admin.retry.backoff.ms=5 and admin.retry.backoff.max.ms=5 on all workers" in found.cure


def test_before_3_7_1_a_low_transaction_maximum_does_not_disturb_fencing() -> None:
    low = but(brokers={0: BROKER | {"transaction.max.timeout.ms": "60000"}}, workers={A: worker(A, "3.7.0")})
    assert answer("EOS031", low).findings == ()


@pytest.mark.parametrize(("ids", "measured_s"), [(1, 0.003), (2, 0.12), (10, 6.6), (30, 25.7), (100, 92.5)])
def test_the_seconds_of_silence_are_those_that_were_measured(ids: int, measured_s: float) -> None:
    assert silence_s(ids, 100, 1000) == pytest.approx(measured_s, rel=0.06, abs=0.05)


def test_the_cure_takes_the_silence_away() -> None:
    assert silence_s(105, 5, 5) == pytest.approx(0.5, abs=0.05)
    cured = tasks(105, **{f"admin.override.retry.backoff.{key}": "5" for key in ("ms", "max.ms")})
    assert answer("EOS030", but(inspection=inspection(cured), transaction_log=ONE_COORDINATOR)).outcome == "fine"


def test_ids_are_spread_over_their_coordinators() -> None:
    [found] = answer("EOS030", but(inspection=inspection(tasks(105)))).findings
    assert found.evidence["at_one_coordinator"] < 50
    assert found.severity is Severity.WARNING


def test_older_clients_wait_the_same_time_between_all_ids() -> None:
    assert silence_s(101, 100, 1000, exponential=False) == 10.0


def test_workers_back_off_counts_where_the_connector_has_none_of_its_own() -> None:
    files = {A: FILE | {"admin.retry.backoff.ms": "5", "admin.retry.backoff.max.ms": "5"}}
    evidence = but(inspection=inspection(tasks(105)), transaction_log=ONE_COORDINATOR)
    assert answer("EOS030", replace(evidence, worker_files=files)).outcome == "fine"
    assert answer("EOS030", replace(evidence, worker_files=files | {B: FILE})).outcome == "found"
