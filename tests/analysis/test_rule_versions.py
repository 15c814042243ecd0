"""Which versions of workers and brokers a rule concerns, and which releases have which bugs."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.rules.workers import FIXED_BUGS
from eosctl.model.versions import KafkaVersion, Release
from tests.analysis.evidence import BROKER, A, answer, but, worker

OFF = but(brokers={0: BROKER | {"transaction.partition.verification.enable": "false"}})


@pytest.mark.parametrize("worker_version", ["3.3.2", "4.3.1"])
def test_a_rule_about_brokers_is_asked_whatever_version_the_workers_have(worker_version: str) -> None:
    old = replace(OFF, workers={A: worker(A, worker_version)}, broker_releases={0: Release(KafkaVersion(3, 8), None)})
    assert answer("EOS043", old).outcome == "found"


def test_a_broker_of_before_the_setting_says_nothing_of_it_and_is_not_asked() -> None:
    unknowing = {key: value for key, value in BROKER.items() if "verification" not in key}
    before = {0: Release(KafkaVersion(3, 0), KafkaVersion(3, 6))}
    assert answer("EOS043", replace(OFF, broker_releases=before)).outcome == "fine"
    assert answer("EOS043", but(brokers={0: unknowing})).outcome == "fine"


def test_a_bug_of_brokers_is_judged_by_their_release_and_its_fix_upgrades_them() -> None:
    releases = {0: Release(KafkaVersion(3, 0), KafkaVersion(3, 8)), 1: Release(KafkaVersion(3, 8), None)}
    [found] = answer("EOS003", but(broker_releases=releases)).findings
    assert (found.subject, found.evidence["brokers"]) == ("brokers", [0])
    assert found.cure == "upgrade the brokers to Kafka 3.8.0 or newer"
    assert answer("EOS003", but(broker_releases={0: Release(KafkaVersion(3, 8), None)})).outcome == "fine"


@pytest.mark.parametrize(
    ("version", "needed"), [("3.3.2", "3.8.0"), ("3.6.2", "3.8.0"), ("3.7.0", "3.8.0"), ("3.7.2", "3.8.0")]
)
def test_the_fix_of_workers_bugs_is_a_release_that_exists_and_has_all_fixes(version: str, needed: str) -> None:
    [found] = answer("EOS003", but(workers={A: worker(A, version)})).findings
    assert found.cure.startswith(f"upgrade the workers to Kafka {needed} or newer")


@pytest.mark.parametrize(
    ("version", "issue", "has_it"),
    [("3.7.0", "KAFKA-16047", True), ("3.7.1", "KAFKA-16047", False), ("3.6.9", "KAFKA-16047", True),
     ("4.3.1", "KAFKA-16047", False), ("3.6.0", "KAFKA-15800", True), ("3.6.1", "KAFKA-15800", False),
     ("3.5.2", "KAFKA-15800", False), ("3.4.1", "KAFKA-14727", False), ("3.4.0", "KAFKA-14727", True)],
)  # fmt: skip
def test_a_bug_concerns_the_versions_of_each_branch_before_its_fix(version: str, issue: str, has_it: bool) -> None:
    [bug] = [bug for bug in FIXED_BUGS if bug.issue == issue]
    assert bug.concerns(KafkaVersion.parse(version)) is has_it
