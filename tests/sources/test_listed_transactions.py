"""Which lists of transactional IDs are whole: moments of a coordinator that no broker can be made to stop at."""

from types import SimpleNamespace

from eosctl.clients.wire import Broker, Reply
from eosctl.model.names import coordinator_partition
from eosctl.sources.listed_transactions import list_transactional_ids, unused_ids

NOT_COORDINATOR, LOADING = 16, 14


class Moment:
    """What a broker answers about its two partitions of the transaction log: the epoch of its leadership, whether it
    holds the partitions, and how it lists two IDs."""

    def __init__(self, *, epoch=4, leader=1, held=(0, 1), code=0, listed=("a", "b")):
        self._epoch, self._leader, self._held, self._code, self._listed = epoch, leader, held, code, listed

    def answer(self, request):
        match request.name:
            case "Metadata":
                parts = [
                    SimpleNamespace(partition_index=each, leader_epoch=self._epoch, leader_id=self._leader)
                    for each in range(2)
                ]
                return SimpleNamespace(topics=[SimpleNamespace(name="log", error_code=0, partitions=parts)])
            case "DescribeTransactions":
                codes = {
                    name: 105 if coordinator_partition(name, 2) in self._held else NOT_COORDINATOR
                    for name in request.fields["transactional_ids"]
                }
                states = [SimpleNamespace(transactional_id=name, error_code=code) for name, code in codes.items()]
                return SimpleNamespace(transaction_states=states)
        states = [
            SimpleNamespace(transactional_id=name, producer_id=7, transaction_state="Empty") for name in self._listed
        ]
        return SimpleNamespace(error_code=self._code, unknown_state_filters=[], transaction_states=states)


class Moments:
    """A wire to one broker, which answers each request at the next of these moments, and then at the last one."""

    timeout_s = 30.0
    principal = "User:test"

    def __init__(self, *moments):
        self._moments = list(moments)
        self.asked = []

    def brokers(self):
        return (Broker(1, "localhost", 9092),)

    def refresh(self):
        self.asked.append("refresh")

    def window(self, timeout_s):
        return _Queue(self)

    def answer(self, request):
        self.asked.append(request.name)
        moment = self._moments.pop(0) if len(self._moments) > 1 else self._moments[0]
        return moment.answer(request)


class _Queue:
    def __init__(self, wire):
        self._wire, self._queue = wire, []

    def put(self, item, node_id, request):
        self._queue.append((item, node_id, request))

    def __iter__(self):
        while self._queue:
            item, node_id, request = self._queue.pop(0)
            yield Reply(item, node_id, self._wire.answer(request), None)


ROUND = ["Metadata", "DescribeTransactions", "ListTransactions", "DescribeTransactions", "Metadata"]
WHOLE = Moment()


def names(found):
    return [each.transactional_id for each in found.transactions]


def test_a_list_of_a_coordinator_that_holds_its_partitions_is_whole_at_once():
    wire = Moments(WHOLE)
    found = list_transactional_ids(wire)
    assert (names(found), found.unlisted, wire.asked) == (["a", "b"], (), ROUND)


def test_a_broker_that_has_not_begun_to_load_is_asked_again():
    wire = Moments(*[Moment(held=(), listed=())] * 5, *[Moment(held=(0,), listed=("a",))] * 5, WHOLE)
    found = list_transactional_ids(wire)
    assert (names(found), found.unlisted) == (["a", "b"], ())
    assert wire.asked == [*ROUND, "refresh", *ROUND, "refresh", *ROUND]


def test_a_list_between_two_elections_is_not_taken_for_whole():
    resigned = Moment(held=(), listed=())
    wire = Moments(WHOLE, WHOLE, resigned, Moment(epoch=6), Moment(epoch=6))
    found = list_transactional_ids(wire)
    assert (names(found), found.unlisted) == (["a", "b"], ())
    assert wire.asked == [*ROUND, "refresh", *ROUND], "before and after, it held its partitions"


def test_partitions_are_named_that_are_not_loaded_in_time():
    found = list_transactional_ids(Moments(Moment(held=(1,), listed=("b",))), timeout_s=0.05)
    assert names(found) == ["b"]
    assert found.unlisted == (
        "__transaction_state-0 is not loaded by its coordinator yet, so its transactional IDs are not listed",
    )


def test_a_broker_that_loads_until_the_end_did_not_list_its_ids():
    found = list_transactional_ids(Moments(Moment(held=(), code=LOADING)), timeout_s=0.05)
    assert names(found) == []
    assert found.unlisted == (
        "broker 1 did not list its transactional IDs: its coordinator is loading the transaction log",
    )


def test_partitions_without_a_leader_are_not_waited_for():
    wire = Moments(Moment(leader=-1, held=(), listed=()))
    found = list_transactional_ids(wire)
    assert (found.leaderless, found.unloaded, wire.asked) == ((0, 1), (), ["Metadata", "ListTransactions"])
    assert found.unlisted == (
        "__transaction_state-0, __transaction_state-1 have no leader, so their transactional IDs are not listed",
    )


def test_each_partition_of_the_transaction_log_has_an_unused_id():
    for partitions in (1, 3, 50):
        unused = unused_ids(partitions, "team-")
        assert sorted(unused) == list(range(partitions))
        assert all(coordinator_partition(name, partitions) == each for each, name in unused.items())
        assert all(name.startswith("team-") for name in unused.values())
