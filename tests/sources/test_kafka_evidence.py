"""What brokers answer about themselves, as the rules are given it."""

from types import SimpleNamespace

import pytest

from eosctl.model.skipped import Skipped
from eosctl.sources.kafka_evidence import read_finalized_features

LEVELS = [SimpleNamespace(name="metadata.version", max_version_level=25)]


@pytest.mark.parametrize(
    ("epoch", "levels", "found"),
    [
        (7, LEVELS, {"metadata.version": 25}),
        (7, None, {}),
        (-1, None, Skipped("the broker does not know the finalized features")),
    ],
)
def test_finalized_features_are_known_once_the_broker_knows_their_epoch(epoch, levels, found) -> None:
    """KIP-584: an epoch of -1 stands for features that a broker has not learnt."""
    answer = SimpleNamespace(finalized_features_epoch=epoch, finalized_features=levels)
    assert read_finalized_features(SimpleNamespace(request_any=lambda request: answer)) == found
