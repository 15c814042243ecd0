"""What is said of a channel on which nothing was answered in time, whichever timer was first."""

from types import SimpleNamespace

import pytest
from kafka.errors import KafkaConnectionError, RequestTimedOutError
from kafka.future import Future

from eosctl.clients.channel import Callbacks, Channel
from eosctl.clients.errors import Peer
from eosctl.clients.request_log import RequestLog
from eosctl.errors import TimedOut, Unreachable


def channel(transport: object, failure: Exception | None) -> Channel:
    """With the transport that is left, and what the attempt to open it failed with."""
    attempt = Future()
    if failure is not None:
        attempt.failure(failure)
    connection = SimpleNamespace(transport=transport, init_future=attempt, _throttle_time=0)
    return Channel(connection, Peer("broker:9092", "User:tool", None), RequestLog(), Callbacks())


@pytest.mark.parametrize(
    ("transport", "failure", "kind", "says"),
    [
        (None, None, TimedOut, "broker:9092 accepted no connection (TCP, TLS) in time"),
        (object(), None, TimedOut, "broker:9092 accepted the connection but did not answer in time"),
        (None, RequestTimedOutError("after 8 s"), TimedOut, "broker:9092 accepted the connection but did not answer"),
        (None, KafkaConnectionError("Connection timed out"), Unreachable, "broker:9092 cannot be reached: Connection"),
    ],
)
def test_the_error_says_how_far_the_connection_came(transport, failure, kind, says):
    error = channel(transport, failure).timed_out()
    assert (type(error), str(error)[: len(says)]) == (kind, says)
