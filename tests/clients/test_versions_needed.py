"""Brokers that are too old for a request: which Kafka has it."""

from types import SimpleNamespace

import pytest

from eosctl.clients.channel import Callbacks, Channel
from eosctl.clients.errors import Peer
from eosctl.clients.messages import describe_producers, describe_transactions, list_transactions, write_abort_marker
from eosctl.clients.request_log import RequestLog
from eosctl.errors import Unsupported
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition

PLACE = TopicPartition("t", 0)


def channel(**versions: tuple[int, int]) -> Channel:
    """A channel to a broker that answers these APIs only, by key."""
    known = SimpleNamespace(api_versions={int(key[1:]): pair for key, pair in versions.items()})
    return Channel(
        SimpleNamespace(broker_version_data=known), Peer("old:9092", "User:tool", None), RequestLog(), Callbacks()
    )


@pytest.mark.parametrize(
    ("request_", "since"),
    [
        (list_transactions(), "3.0"),
        (describe_transactions(["id"]), "3.0"),
        (describe_producers([PLACE]), "2.8"),
        (write_abort_marker(PLACE, ProducerIdAndEpoch(1, 0), 0), "2.8"),
    ],
)
def test_a_broker_without_the_api_ends_with_6_and_the_version_that_has_it(request_, since):
    with pytest.raises(Unsupported, match="old:9092 does not know") as caught:
        channel().version(request_)
    assert caught.value.exit_code == 6
    assert caught.value.hint == f"brokers answer it from Kafka {since} on"


@pytest.mark.parametrize(
    ("request_", "since"), [(list_transactions(longer_than_ms=1), "3.8"), (list_transactions(pattern="a.*"), "4.1")]
)
def test_a_filter_that_the_broker_lacks_says_so_too(request_, since):
    with pytest.raises(Unsupported, match="ListTransactions needs version") as caught:
        channel(k66=(0, 0)).version(request_)
    assert caught.value.hint == f"brokers answer it from Kafka {since} on"


def test_a_marker_goes_out_in_the_version_that_leaves_the_epoch_alone():
    request = write_abort_marker(PLACE, ProducerIdAndEpoch(1, 0), 0)
    assert channel(k27=(1, 2)).version(request) == 1
    assert channel(k27=(0, 1)).version(request) == 1
    with pytest.raises(Unsupported, match="WriteTxnMarkers needs version 1 to 1"):
        channel(k27=(0, 0)).version(request)
