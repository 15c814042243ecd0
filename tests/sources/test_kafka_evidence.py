"""What brokers answer about themselves, as the rules are given it."""

from types import SimpleNamespace

import pytest

from eosctl.model.skipped import Skipped
from eosctl.model.versions import KafkaVersion
from eosctl.sources.kafka_evidence import read_broker_releases, read_finalized_features
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import wire_to

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


@pytest.mark.kafka
def test_the_api_versions_of_a_broker_show_between_which_releases_it_is(broker: Sandbox) -> None:
    with wire_to(broker.bootstrap_servers) as wire:
        [release] = read_broker_releases(wire).values()
    assert not isinstance(release, Skipped)
    newest = broker.spec.version >= KafkaVersion(4, 4)
    assert release.at_least <= broker.spec.version
    assert (release.before is None) is newest
    assert newest or release.before > broker.spec.version
