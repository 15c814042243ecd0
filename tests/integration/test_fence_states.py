"""`eosctl fence` on IDs in each state that a coordinator knows, on every version of Kafka."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eosctl.model.versions import KafkaVersion
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import LAST_EPOCH, describe, raise_epoch, state_of
from tests.integration.every_state import EveryState
from tests.integration.producers import create_topic, open_transaction, refused_as_fenced

pytestmark = [pytest.mark.kafka, pytest.mark.matrix]

Eosctl = Callable[..., Ran]
FreshName = Callable[[str], str]


@pytest.fixture
def topic(broker: Sandbox, fresh_name: FreshName) -> str:
    name = fresh_name("states")
    create_topic(broker.bootstrap_servers, name)
    return name


@pytest.fixture
def fence(broker: Sandbox, eosctl: Eosctl) -> Callable[..., dict[str, Any]]:
    def fenced(name: str, *flags: str) -> dict[str, Any]:
        ran = eosctl("fence", "-b", broker.bootstrap_servers, "--transactional-id", name, "--yes", "-o", "json", *flags)
        assert ran.exit_code == 0, ran.stderr
        (result,) = json.loads(ran.stdout)["data"]["results"]
        return dict(result)

    return fenced


def test_each_state_is_fenced_and_its_producer_refused(
    broker: Sandbox, eosctl: Eosctl, fresh_name: FreshName, topic: str, tmp_path: Path
) -> None:
    states = EveryState(broker.bootstrap_servers, fresh_name, topic)
    states.check_fenced_by(eosctl, tmp_path)
    states.check_producers_refused()


@pytest.mark.variation
def test_an_exhausted_epoch_gives_way_to_a_new_producer_id(
    broker: Sandbox, fence: Callable[..., dict[str, Any]], fresh_name: FreshName
) -> None:
    name = fresh_name("exhausted")
    last = raise_epoch(broker.bootstrap_servers, name, LAST_EPOCH)
    result = fence(name)
    assert (result["before"]["producer_id"], result["before"]["producer_epoch"]) == (last.producer_id, LAST_EPOCH)
    assert result["after"]["producer_id"] != last.producer_id
    assert result["after"]["producer_epoch"] == 0
    assert result["proof"]["verdict"] == "proved"
    assert result["proof"]["old_producer"] == "INVALID_PRODUCER_ID_MAPPING"


@pytest.mark.variation
def test_an_open_transaction_of_the_last_epoch_is_aborted_and_its_producer_refused(
    broker: Sandbox, eosctl: Eosctl, fence: Callable[..., dict[str, Any]], fresh_name: FreshName, topic: str
) -> None:
    servers, name = broker.bootstrap_servers, fresh_name("last-epoch")
    raise_epoch(servers, name, LAST_EPOCH - 1)
    producer = open_transaction(servers, name, topic)
    before = describe(servers, [name])[name]
    assert before is not None
    assert (before.state, before.producer.producer_epoch) == ("Ongoing", LAST_EPOCH)
    if KafkaVersion(4, 0) <= broker.spec.version < KafkaVersion(4, 1):
        ran = eosctl("fence", "-b", servers, "--transactional-id", name, "--yes")
        assert (ran.exit_code, "whether the old producer is fenced is not known" in ran.stderr) == (9, True)
        assert f"`eosctl transactions describe {name}` shows its state and epoch; the log of broker 1" in ran.stderr
        with refused_as_fenced():
            producer.commit_transaction(30)
        assert state_of(servers, name) == "Ongoing"
        return
    result = fence(name)
    assert result["after"]["producer_id"] != before.producer.producer_id
    # 4.3.1 moves on to the new producer ID by the abort, and fencing raises its epoch; up to 4.2.0 it begins with 0.
    assert result["after"]["producer_epoch"] == (1 if broker.spec.version >= KafkaVersion(4, 3) else 0)
    assert result["proof"]["verdict"] == "proved"
    with refused_as_fenced():
        producer.commit_transaction(30)
    assert state_of(servers, name) == "Empty"
