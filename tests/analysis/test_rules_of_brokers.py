"""Rules about brokers and the features that they have finalized, on evidence made by hand."""

import pytest

from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion, Release
from tests.analysis.evidence import answer, but

OLDER = Release(KafkaVersion(3, 8), KafkaVersion(4, 0))
NEW = Release(KafkaVersion(4, 1), None)


@pytest.mark.parametrize(("features", "level"), [({"transaction.version": 1}, 1), ({"metadata.version": 25}, 0)])
def test_a_transaction_version_below_two_is_found_and_a_level_of_zero_is_named_by_nobody(
    features: dict[str, int], level: int
) -> None:
    [found] = answer("EOS046", but(finalized_features=features)).findings
    assert (found.severity, found.evidence["transaction_version"]) == (Severity.WARNING, level)
    assert found.message.startswith(f"transaction.version is finalized at {level}: ")
    assert "kafka-features.sh --bootstrap-server <broker> upgrade --feature transaction.version=2" in found.cure


@pytest.mark.parametrize("releases", [{0: OLDER, 1: OLDER}, {0: NEW, 1: OLDER}], ids=["before 4.0", "rolling"])
def test_brokers_that_cannot_have_it_yet_are_told_nothing_of_it(releases: dict[int, Release]) -> None:
    old = but(finalized_features={"metadata.version": 20}, broker_releases=releases)
    assert answer("EOS046", old).outcome == "fine"


def test_features_that_were_not_read_are_not_fine() -> None:
    said = answer("EOS046", but(finalized_features=Skipped("no answer")))
    assert (said.outcome, said.cannot_tell) == ("cannot tell", ("finalized features: no answer",))
