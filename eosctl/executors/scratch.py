"""The scratch topic and the scratch transactional ID of a probe, request by request.

Each method sends one kind of request and returns what was answered, or the Refusal that it was answered with.

1. A coordinator that loads or ends a transaction (14, 51) is asked again; one that moved (15, 16) is looked up again.
   So is a partition's leader.
2. A missing ACL is NotAuthorized, an API that the broker does not offer Unsupported, no answer Unreachable.
"""

from collections.abc import Callable
from time import monotonic
from typing import Final

from eosctl.clients import codes
from eosctl.clients.codes import UNKNOWN_TOPIC_OR_PARTITION, code_name
from eosctl.clients.deadline import Deadline
from eosctl.clients.leaders import LEADER_NOT_AVAILABLE, MOVED, NO_LEADER, partition_leaders
from eosctl.clients.messages import (
    LATEST,
    Request,
    Response,
    describe_transactions,
    fetch,
    find_coordinator,
    init_producer_id,
    list_offsets,
    list_transactions,
)
from eosctl.clients.producer_messages import describe_producers, write_abort_marker
from eosctl.clients.transaction_messages import add_partition, end_transaction, produce
from eosctl.clients.wire import Wire
from eosctl.codecs.shown_record import decode_ending, decode_shown
from eosctl.codecs.transactional_batch import encode_transactional_batch
from eosctl.errors import EosctlError, NotAuthorized, Undecodable, Unreachable, UsageError
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.probe import ProbePlan
from eosctl.model.probe_observations import Initialised, Look, Refusal
from eosctl.model.producers import ActiveProducer
from eosctl.model.records import IsolationLevel
from eosctl.model.transactions import TransactionDescription, TransactionState

PAUSE_S: Final = 0.02
SETTLE_S: Final = 5.0
"""How long a transaction that was ended may take to be so in its partition: markers are written in the background."""
FETCH_BYTES: Final = 1 << 20
TOPIC_DENIED: Final = 29
FIND_AGAIN: Final = frozenset({codes.COORDINATOR_NOT_AVAILABLE, codes.NOT_COORDINATOR})
ASK_AGAIN: Final = frozenset({codes.COORDINATOR_LOAD_IN_PROGRESS, codes.CONCURRENT_TRANSACTIONS})
LEADER_AGAIN: Final = MOVED | {UNKNOWN_TOPIC_OR_PARTITION}


Code = Callable[[Response], int]
"""Where an answer has its error code."""


class Scratch:
    """The topic's only partition and the transactional ID of one plan; every call is bounded by `timeout_s`."""

    def __init__(self, wire: Wire, plan: ProbePlan, timeout_s: float) -> None:
        self._wire = wire
        self._plan = plan
        self._timeout_s = timeout_s
        self._coordinator: int | None = None
        self._leader: int | None = None
        self._sequences: dict[ProducerIdAndEpoch, int] = {}

    @property
    def place(self) -> TopicPartition:
        """The partition."""
        return self._plan.place

    @property
    def _name(self) -> str:
        return self._plan.name

    # -- its coordinator ----------------------------------------------------------------------------------------------

    def initialise(self, timeout_ms: int) -> Initialised | Refusal:
        """InitProducerId that fences whoever holds the ID."""
        began = monotonic()
        answer = self._of_coordinator(init_producer_id(self._name, timeout_ms), "Write")
        if isinstance(answer, Refusal):
            return answer
        producer = ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)
        return Initialised(producer, (monotonic() - began) * 1000)

    def describe(self) -> TransactionDescription | Refusal:
        """DescribeTransactions of the ID."""
        request = describe_transactions([self._name])
        answer = self._of_coordinator(request, "Describe", lambda each: int(each.transaction_states[0].error_code))
        if isinstance(answer, Refusal):
            return answer
        state = answer.transaction_states[0]
        places = (TopicPartition(topic.topic, each) for topic in state.topics for each in topic.partitions)
        assert self._coordinator is not None
        return TransactionDescription(
            self._name,
            _state(state.transaction_state),
            ProducerIdAndEpoch(state.producer_id, state.producer_epoch),
            state.transaction_timeout_ms,
            state.transaction_start_time_ms,
            tuple(sorted(places)),
            self._coordinator,
        )

    def listed(self) -> TransactionState | Refusal | None:
        """ListTransactions of every broker: the state of the ID, None where none lists it; raises if one is silent."""
        refused, silent = None, None
        for broker in self._wire.brokers():
            try:
                answer = self._wire.request(broker.node_id, list_transactions())
            except EosctlError as error:
                silent = error
                continue
            if answer.error_code:
                refused = _refusal(list_transactions(), answer.error_code)
            for each in answer.transaction_states or ():
                if each.transactional_id == self._name:
                    return _state(each.transaction_state)
        if silent is not None:
            raise silent
        return refused

    def add_partition(self, producer: ProducerIdAndEpoch) -> Refusal | None:
        """AddPartitionsToTxn of the partition."""
        request = add_partition(self._name, producer, self.place)
        answer = self._of_coordinator(
            request,
            "Write",
            lambda each: int(each.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code),
        )
        return answer if isinstance(answer, Refusal) else None

    def end(
        self, producer: ProducerIdAndEpoch, *, commit: bool, raises_epoch: bool = False
    ) -> ProducerIdAndEpoch | Refusal:
        """EndTxn: the producer to go on with, which is another one where the request raises the epoch."""
        request = end_transaction(self._name, producer, commit=commit, raises_epoch=raises_epoch)
        answer = self._of_coordinator(request, "Write")
        if isinstance(answer, Refusal):
            return answer
        return ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch) if raises_epoch else producer

    # -- the partition ------------------------------------------------------------------------------------------------

    def write(self, producer: ProducerIdAndEpoch, *, adds: bool = False) -> int | Refusal:
        """Produce of one record in a transaction: its offset. adds: the broker adds the partition to it (KIP-890)."""
        sequence = self._sequences.get(producer, 0)
        batch = encode_transactional_batch(producer, sequence, self._plan.as_of, b"eosctl", b"probe")
        request = produce(self._name, self.place, batch, adds=adds, timeout_ms=int(1000 * self._timeout_s))
        answer = self._of_leader(
            request, "Write", lambda each: int(each.responses[0].partition_responses[0].error_code)
        )
        if isinstance(answer, Refusal):
            return answer
        self._sequences[producer] = sequence + 1
        return int(answer.responses[0].partition_responses[0].base_offset)

    def producers(self) -> tuple[ActiveProducer, ...] | Refusal:
        """DescribeProducers of the partition."""
        request = describe_producers([self.place])
        answer = self._of_leader(request, "Read", lambda each: int(each.topics[0].partitions[0].error_code))
        if isinstance(answer, Refusal):
            return answer
        return tuple(
            ActiveProducer(
                self.place,
                ProducerIdAndEpoch(each.producer_id, each.producer_epoch),
                each.last_sequence,
                each.last_timestamp,
                None if each.coordinator_epoch < 0 else each.coordinator_epoch,
                None if each.current_txn_start_offset < 0 else each.current_txn_start_offset,
            )
            for each in answer.topics[0].partitions[0].active_producers
        )

    def write_marker(self, producer: ProducerIdAndEpoch, coordinator_epoch: int) -> Refusal | None:
        """WriteTxnMarkers with an abort marker for `producer`, past its coordinator."""
        request = write_abort_marker(self.place, producer, coordinator_epoch)
        answer = self._of_leader(request, "Write", lambda each: int(each.markers[0].topics[0].partitions[0].error_code))
        return answer if isinstance(answer, Refusal) else None

    def look(self, offset: int, producer: ProducerIdAndEpoch) -> Look | Refusal:
        """The record of `producer` at `offset`, now."""
        bounds = [self._offset(each) for each in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED)]
        whole = self._fetch(offset, IsolationLevel.READ_UNCOMMITTED)
        committed = self._fetch(offset, IsolationLevel.READ_COMMITTED)
        for each in (*bounds, committed, whole):
            if isinstance(each, Refusal):
                return each
        stable, high = (each for each in bounds if not isinstance(each, Refusal))
        assert not isinstance(committed, Refusal)
        assert not isinstance(whole, Refusal)
        aborted = [(each.producer_id, each.first_offset) for each in committed.aborted_transactions or ()]
        shown = decode_shown(committed.records, aborted, offset, producer)
        return Look(offset, stable, high, shown, decode_ending(whole.records, offset, producer))

    def settled(self, offset: int, producer: ProducerIdAndEpoch) -> Look | Refusal:
        """The same, once all of it shows the end of the transaction, SETTLE_S later at the latest."""
        deadline = Deadline(min(SETTLE_S, self._timeout_s))
        while True:
            now = self.look(offset, producer)
            if isinstance(now, Refusal) or now.is_ended or not deadline.pause(PAUSE_S):
                return now

    # -- requests -----------------------------------------------------------------------------------------------------

    def _offset(self, isolation: IsolationLevel) -> int | Refusal:
        request = list_offsets([self.place], LATEST, isolation)
        answer = self._of_leader(request, "Describe", lambda each: int(each.topics[0].partitions[0].error_code))
        return answer if isinstance(answer, Refusal) else int(answer.topics[0].partitions[0].offset)

    def _fetch(self, offset: int, isolation: IsolationLevel) -> Response | Refusal:
        request = fetch(self.place, offset, FETCH_BYTES, isolation)
        answer = self._of_leader(request, "Read", lambda each: int(each.responses[0].partitions[0].error_code))
        return answer if isinstance(answer, Refusal) else answer.responses[0].partitions[0]

    def _of_coordinator(
        self, request: Request, operation: str, code_of: Code = lambda each: int(each.error_code)
    ) -> Response | Refusal:
        deadline = Deadline(self._timeout_s)
        while True:
            if self._coordinator is None:
                self._coordinator = self._find_coordinator(deadline)
            answer = self._wire.request(self._coordinator, request)
            code = _code(request, code_of, answer)
            if code in FIND_AGAIN:
                self._coordinator = None
            elif code not in ASK_AGAIN | {UNKNOWN_TOPIC_OR_PARTITION}:
                return self._checked(request, operation, code, answer)
            deadline.pause_or_raise(PAUSE_S, f"{request.name} is answered with {code_name(code)}")

    def _find_coordinator(self, deadline: Deadline) -> int:
        request = find_coordinator(self._name)
        while True:
            answer = self._wire.request_any(request)
            if answer.error_code not in FIND_AGAIN | ASK_AGAIN:
                found = self._checked(request, "Describe", answer.error_code, answer)
                if isinstance(found, Refusal):
                    raise Unreachable(str(found))
                return int(answer.node_id)
            deadline.pause_or_raise(PAUSE_S, f"FindCoordinator is answered with {code_name(answer.error_code)}")

    def _of_leader(self, request: Request, operation: str, code_of: Code) -> Response | Refusal:
        deadline = Deadline(self._timeout_s)
        while True:
            if self._leader is None:
                self._leader = self._find_leader()
            code = LEADER_NOT_AVAILABLE
            if self._leader is not None:
                answer = self._wire.request(self._leader, request)
                code = _code(request, code_of, answer)
                if code not in LEADER_AGAIN:
                    return self._checked(request, operation, code, answer)
                self._leader = None
            deadline.pause_or_raise(PAUSE_S, f"{request.name} of {self.place} is answered with {code_name(code)}")

    def _find_leader(self) -> int | None:
        try:
            leader = partition_leaders(self._wire, [self._name]).get(self.place, NO_LEADER)
        except UsageError:  # not every broker knows yet that it was created
            return None
        return None if leader == NO_LEADER else leader

    def _checked(self, request: Request, operation: str, code: int, answer: Response) -> Response | Refusal:
        if code in {TOPIC_DENIED, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}:
            kind = "Topic" if code == TOPIC_DENIED else "TransactionalId"
            raise NotAuthorized(principal=self._wire.principal, operation=operation, resource=f"{kind} {self._name}")
        return answer if code == 0 else _refusal(request, code)


def _code(request: Request, code_of: Code, answer: Response) -> int:
    try:
        return code_of(answer)
    except (IndexError, TypeError) as error:
        raise Undecodable(f"{request.name} is answered without what was asked for") from error


def _produced(answer: Response) -> Response:
    return answer.responses[0].partition_responses[0]


def _refusal(request: Request, code: int) -> Refusal:
    return Refusal(request.name, code, code_name(code))


def _state(name: str) -> TransactionState:
    return TransactionState(name) if name in set(TransactionState) else TransactionState.UNKNOWN
