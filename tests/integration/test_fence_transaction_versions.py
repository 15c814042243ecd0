"""`eosctl fence` under each level of transaction.version (KIP-890), the feature that decides when epochs are raised."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eosctl.clients.messages import Request
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import wire_to
from tests.integration.every_state import EveryState
from tests.integration.producers import create_topic

pytestmark = pytest.mark.kafka


@pytest.mark.variation
@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_each_state_is_fenced_under_every_transaction_version(
    level: str,
    make_sandbox: Callable[..., Sandbox],
    eosctl: Callable[..., Ran],
    fresh_name: Callable[[str], str],
    tmp_path: Path,
) -> None:
    servers = make_sandbox(features={"transaction.version": level}).bootstrap_servers
    assert _finalized_level(servers) == int(level)
    create_topic(servers, "states")
    states = EveryState(servers, fresh_name, "states")
    states.check_fenced_by(eosctl, tmp_path)
    states.check_producers_refused()


def _finalized_level(servers: str) -> int:
    """transaction.version as the broker answers it; a level of 0 is not among its features."""
    from kafka.protocol.metadata import ApiVersionsRequest

    fields = {"client_software_name": "test", "client_software_version": "1"}
    with wire_to(servers) as wire:
        answer = wire.request_any(Request(ApiVersionsRequest, fields, min_version=3))
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    return int(levels.get("transaction.version", 0))
