"""The transactional IDs of a cluster as its coordinators list them (KIP-664), and why some may be missing."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from time import monotonic
from typing import Final

from msgspec import Struct

from eosctl.clients import errors
from eosctl.clients.errors import UNKNOWN_TOPIC_OR_PARTITION, protocol_error
from eosctl.clients.leaders import LEADER_NOT_AVAILABLE, NO_LEADER
from eosctl.clients.messages import Request, Response, describe_transactions, list_transactions, topics_metadata
from eosctl.clients.wire import Window, Wire
from eosctl.errors import EosctlError, TimedOut, Unreachable, UsageError
from eosctl.model.names import TRANSACTION_LOG, coordinator_partition
from eosctl.model.skipped import Skipped
from eosctl.model.text import first_few
from eosctl.model.transactions import STATES, ListedTransactions, TransactionListing, TransactionState
from eosctl.sources.kafka_transactions import FIRST_PAUSE_S, LONGEST_PAUSE_S, RETRIABLE

SHOWN: Final = 10


class TransactionListings(Struct, frozen=True):
    """The IDs that the brokers listed, by ID, and why others may be missing.

    unanswered are the brokers that did not answer, with the reason; leaderless the partitions of the transaction log
    without a leader; unloaded the ones that their leader's coordinator did not hold when it listed its IDs.

    Brokers drop IDs without Describe silently (KIP-664): absence from the list proves nothing without that ACL.
    """

    transactions: tuple[TransactionListing, ...]
    unanswered: Mapping[int, EosctlError]
    leaderless: tuple[int, ...] | Skipped = ()
    unloaded: tuple[int, ...] = ()

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Each reason why IDs may be missing."""
        silent = (
            f"broker {node_id} did not list its transactional IDs: {error.message}"
            for node_id, error in self.unanswered.items()
        )
        lost = () if isinstance(self.leaderless, Skipped) else self.leaderless
        parts = (
            (lost, "has no leader", "have no leader"),
            (self.unloaded, "is not loaded by its coordinator yet", "are not loaded by their coordinators yet"),
        )
        return (*silent, *(_unlisted(*each) for each in parts if each[0]))


def _unlisted(partitions: Sequence[int], one: str, several: str) -> str:
    names = first_few([f"{TRANSACTION_LOG}-{each}" for each in partitions], most=SHOWN)
    why = f"{one}, so its" if len(partitions) == 1 else f"{several}, so their"
    return f"{names} {why} transactional IDs are not listed"


def listed_transactions(
    wire: Wire, *, states: Iterable[TransactionState] = (), producer_ids: Iterable[int] = (), under: str = ""
) -> ListedTransactions:
    found = list_transactional_ids(wire, states=states, producer_ids=producer_ids, under=under)
    unanswered = {node_id: error.message for node_id, error in found.unanswered.items()}
    return ListedTransactions(found.transactions, unanswered, found.unlisted, found.leaderless)


def list_transactional_ids(
    wire: Wire,
    *,
    states: Iterable[TransactionState] = (),
    producer_ids: Iterable[int] = (),
    longer_than_ms: int | None = None,
    pattern: str | None = None,
    under: str = "",
    timeout_s: float | None = None,
) -> TransactionListings:
    """Every transactional ID that some coordinator knows and the filters keep (none given: all), all brokers at once.

    longer_than_ms drops only open transactions that are younger: other states have no running time, so give states
    with it. under is a prefix of IDs that the principal may Describe. Coordinators that load are waited for.
    Raises Unsupported where brokers are too old for a filter, UsageError for a state they do not know.
    """
    request = list_transactions(
        states=[state.value for state in states],
        producer_ids=producer_ids,
        longer_than_ms=longer_than_ms,
        pattern=pattern,
    )
    return _Listing(wire, request, under, wire.timeout_s if timeout_s is None else timeout_s).result()


class _Step(StrEnum):
    """The requests to a broker: BEGIN, HOLD and LIST, HOLD and END."""

    BEGIN = "begin"
    HOLD = "hold"
    LIST = "list"
    END = "end"


class _Listing:
    """Lists the IDs of coordinators that hold their partitions of the transaction log.

    A broker lists the IDs of the partitions that it has loaded, and says COORDINATOR_LOAD_IN_PROGRESS while it loads
    some. Between its election and the begin of the loading it says neither: a broker that starts, or was fenced, lists
    no IDs, without an error (seen at each start of 3.9.2 and 4.3.1; TransactionStateManager.listTransactionStates looks
    at loading partitions alone). DescribeTransactions says NOT_COORDINATOR for an ID of such a partition. So a broker
    is asked about an unused ID of each of its partitions before and after it lists, and for the epochs of its
    leadership before and after that: it has published an epoch before it resigns or loads. Without Describe on these
    IDs no broker says whether it holds the partition, and its list is taken as it is.
    """

    def __init__(self, wire: Wire, request: Request, under: str, timeout_s: float) -> None:
        self._wire = wire
        self._request = request
        self._prefix = under
        self._deadline = monotonic() + timeout_s
        self._unused: Mapping[int, str] = {}
        self._epochs: dict[int, tuple[int, int]] = {}
        self._denied: Skipped | None = None
        self._listed: list[TransactionListing] = []
        self._unanswered: dict[int, EosctlError] = {}
        self._loading: set[int] = set()
        self._held: set[int] = set()
        self._led: dict[int, Mapping[int, int]] = {}
        self._names: dict[int, set[str]] = {}

    def result(self) -> TransactionListings:
        pause_s = FIRST_PAUSE_S
        self._ask([broker.node_id for broker in self._wire.brokers()])
        is_once = True
        while (self._loading or self._unloaded()) and monotonic() + pause_s < self._deadline:
            time.sleep(pause_s)
            pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)
            self._wire.refresh()
            self._ask(self._loading | {self._epochs[partition][1] for partition in self._unloaded()})
            is_once = False
        if self._unanswered:
            with suppress(Unreachable):  # but not OtherCluster: a broker may be lost because it is another one now
                self._wire.refresh()
        for node_id in self._loading:
            self._unanswered[node_id] = TimedOut("its coordinator is loading the transaction log")
        lost = tuple(partition for partition, (_, leader) in sorted(self._epochs.items()) if leader == NO_LEADER)
        listed = self._listed if is_once else {each.transactional_id: each for each in self._listed}.values()
        return TransactionListings(tuple(sorted(listed)), self._unanswered, self._denied or lost, self._unloaded())

    def _unloaded(self) -> tuple[int, ...]:
        """The partitions with a leader that answers, and is not known to hold them."""
        others = self._unanswered.keys() | {NO_LEADER}
        led = (partition for partition, (_, leader) in self._epochs.items() if leader not in others)
        return tuple(sorted(partition for partition in led if partition not in self._held))

    def _ask(self, brokers: Collection[int]) -> None:
        window: Window[_Step] = self._wire.window(timeout_s=max(0.0, self._deadline - monotonic()))
        self._loading, self._led, self._names = set(), {}, {}
        for node_id in brokers:
            window.put(_Step.BEGIN, node_id, topics_metadata([TRANSACTION_LOG]))
        for step, node_id, response, error in window:
            if error is None:
                self._receive(step, node_id, response, window)
            elif isinstance(error, Unreachable):
                self._unanswered[node_id] = error
            else:
                raise error

    def _receive(self, step: _Step, node_id: int, response: Response, window: Window[_Step]) -> None:
        match step:
            case _Step.BEGIN:
                self._led[node_id] = self._leadership(response, node_id)
                self._names[node_id] = {self._unused[partition] for partition in self._led[node_id]}
                if self._led[node_id]:
                    window.put(_Step.HOLD, node_id, describe_transactions(self._names[node_id]))
                window.put(_Step.LIST, node_id, self._request)
            case _Step.LIST if self._takes(response, node_id) and self._led[node_id]:
                # Sent once the list is here: behind a long answer they would run out of time.
                window.put(_Step.HOLD, node_id, describe_transactions(self._names[node_id]))
                window.put(_Step.END, node_id, topics_metadata([TRANSACTION_LOG]))
            case _Step.HOLD:
                self._names[node_id] -= _not_held(response)
            case _Step.END if node_id not in self._unanswered:
                same = self._led[node_id].items() & self._leadership(response, node_id).items()
                self._held |= {partition for partition, _ in same if self._unused[partition] in self._names[node_id]}

    def _leadership(self, response: Response, node_id: int) -> Mapping[int, int]:
        """The partitions of the log that the broker says it leads, with the epochs of its leadership."""
        [topic] = response.topics
        if topic.error_code not in {0, UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE}:
            resource = f"Topic {topic.name}"
            self._denied = Skipped.of(
                protocol_error(
                    topic.error_code, principal=self._wire.principal, operation="Describe", resource=resource
                )
            )
        leaders = {each.partition_index: (each.leader_epoch, each.leader_id) for each in topic.partitions}
        for partition, known in leaders.items():
            self._epochs[partition] = max(known, self._epochs.get(partition, known))
        if len(self._unused) < len(leaders):
            self._unused = unused_ids(len(leaders), self._prefix)
        return {partition: epoch for partition, (epoch, leader) in leaders.items() if leader == node_id}

    def _takes(self, response: Response, node_id: int) -> bool:
        """False for an answer that is no list."""
        code = response.error_code
        if code == errors.COORDINATOR_LOAD_IN_PROGRESS:
            self._loading.add(node_id)
        elif code:
            place = f"broker {node_id}"
            self._unanswered[node_id] = protocol_error(
                code, principal=self._wire.principal, operation="ListTransactions", resource=place
            )
        else:
            self._listed += _listings(response, node_id)
        return not code


def _not_held(response: Response) -> set[str]:
    """The IDs whose coordinator is not there, or not yet."""
    return {each.transactional_id for each in response.transaction_states if each.error_code in RETRIABLE}


def unused_ids(partitions: int, prefix: str = "") -> Mapping[int, str]:
    """A transactional ID of each partition of a transaction log with so many."""
    found: dict[int, str] = {}
    number = 0
    while len(found) < partitions:
        name = f"{prefix}eosctl-{number}"
        found.setdefault(coordinator_partition(name, partitions), name)
        number += 1
    return found


def _listings(response: Response, node_id: int) -> Iterator[TransactionListing]:
    if response.unknown_state_filters:
        raise UsageError(f"broker {node_id} does not know the state {', '.join(response.unknown_state_filters)}")
    for entry in response.transaction_states:
        state = STATES.get(entry.transaction_state, TransactionState.UNKNOWN)
        yield TransactionListing(entry.transactional_id, entry.producer_id, state, node_id)
