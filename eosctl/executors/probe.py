"""A probe: how a cluster handles transactions, tried in a scratch topic under a scratch transactional ID.

1. Every question is asked for itself: one that gets no answer is Skipped with the reason, and the next one is asked.
   Where nothing more can be tried, `stopped` says why.
2. However it ends, open transactions are aborted and the topic is deleted, if this run asked for its creation.
3. The zombie's requests come last of all that need its transaction: a cluster that does not fence accepts them.
"""

from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from eosctl.clients import errors
from eosctl.clients.access import ClusterAccess
from eosctl.clients.deadline import Deadline
from eosctl.clients.errors import UNKNOWN_TOPIC_OR_PARTITION, code_name
from eosctl.clients.leaders import LEADER_NOT_AVAILABLE, MOVED, NO_LEADER, partition_leaders
from eosctl.clients.librdkafka import await_topic, create_topic, delete_topic
from eosctl.clients.messages import (
    LATEST,
    Request,
    Response,
    add_partition,
    describe_producers,
    describe_transactions,
    end_transaction,
    fetch,
    find_coordinator,
    init_producer_id,
    list_offsets,
    list_transactions,
    produce,
    write_marker,
)
from eosctl.clients.wire import Wire
from eosctl.codecs.record_batches import decode_ending, decode_shown, encode_transactional_batch
from eosctl.errors import EosctlError, NotAuthorized, Undecodable, Unreachable, UsageError
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.probe import (
    FENCING_TIMEOUT_MS,
    TIMEOUT_MS,
    Initialised,
    Look,
    Observations,
    ProbePlan,
    Raised,
    Refusal,
    Seen,
)
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transactions import ActiveProducer, TransactionDescription, TransactionState

# The scratch topic and the scratch transactional ID of a probe, request by request.
#
# Each method sends one kind of request and returns the answer or the Refusal.
#
# 1. A coordinator that loads or ends a transaction (14, 51) is asked again; one that moved (15, 16) is looked up
#    again. So is a partition's leader.
# 2. A missing ACL is NotAuthorized, an API that the broker does not offer Unsupported, no answer Unreachable.


PAUSE_S: Final = 0.02
SETTLE_S: Final = 5.0
"""How long a transaction that was ended may take to be so in its partition: markers are written in the background."""
FETCH_BYTES: Final = 1 << 20
TOPIC_DENIED: Final = 29
FIND_AGAIN: Final = frozenset({errors.COORDINATOR_NOT_AVAILABLE, errors.NOT_COORDINATOR})
ASK_AGAIN: Final = frozenset({errors.COORDINATOR_LOAD_IN_PROGRESS, errors.CONCURRENT_TRANSACTIONS})
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
        return self._plan.place

    @property
    def _name(self) -> str:
        return self._plan.name

    # -- its coordinator ----------------------------------------------------------------------------------------------

    def initialise(self, timeout_ms: int) -> Initialised | Refusal:
        began = monotonic()
        answer = self._of_coordinator(init_producer_id(self._name, timeout_ms), "Write")
        if isinstance(answer, Refusal):
            return answer
        producer = ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)
        return Initialised(producer, (monotonic() - began) * 1000)

    def describe(self) -> TransactionDescription | Refusal:
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
        request = write_marker(self.place, producer, coordinator_epoch)
        answer = self._of_leader(request, "Write", lambda each: int(each.markers[0].topics[0].partitions[0].error_code))
        return answer if isinstance(answer, Refusal) else None

    def look(self, offset: int, producer: ProducerIdAndEpoch) -> Look | Refusal:
        stable, high = map(self._offset, (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED))
        whole = self._fetch(offset, IsolationLevel.READ_UNCOMMITTED)
        committed = self._fetch(offset, IsolationLevel.READ_COMMITTED)
        for each in (stable, high, committed, whole):
            if isinstance(each, Refusal):
                return each
        assert not isinstance(stable, Refusal)
        assert not isinstance(high, Refusal)
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
        if code in {TOPIC_DENIED, errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}:
            kind = "Topic" if code == TOPIC_DENIED else "TransactionalId"
            raise NotAuthorized(principal=self._wire.principal, operation=operation, resource=f"{kind} {self._name}")
        return answer if code == 0 else _refusal(request, code)


def _code(request: Request, code_of: Code, answer: Response) -> int:
    try:
        return code_of(answer)
    except (IndexError, TypeError) as error:
        raise Undecodable(f"{request.name} has an answer without the requested part") from error


def _refusal(request: Request, code: int) -> Refusal:
    return Refusal(request.name, code, code_name(code))


def _state(name: str) -> TransactionState:
    return TransactionState(name) if name in set(TransactionState) else TransactionState.UNKNOWN


T = TypeVar("T")

REPEATS: Final = 5
"""The number of measured InitProducerId requests besides the first."""
BUMPING: Final = 2
"""The level of transaction.version from which on every transaction raises the epoch (KIP-890)."""
GONE_S: Final = 5.0
"""How long brokers may continue to name a deleted topic."""
COORDINATOR_FENCED: Final = 52
"""TRANSACTION_COORDINATOR_FENCED: a marker of a lower epoch than the coordinator's."""
NO_COORDINATOR_EPOCH: Final = Skipped(
    "a marker needs the epoch of the coordinator, which DescribeProducers did not report", Cause.NOT_ASKED
)


class _StoppedError(Exception):
    """Nothing more can be tried; says why."""


class ProbeOutcome(Struct, frozen=True):
    """The observations, whether the user interrupted it, and why the topic may still be there (None: it is not).

    initialised: a coordinator may know the transactional ID now.
    """

    observations: Observations
    interrupted: bool
    undeleted: str | None
    initialised: bool


class ProbeRun:
    """One run of a plan; `say` gets the next action. `known` are facts read before."""

    def __init__(self, access: ClusterAccess, plan: ProbePlan, known: Observations, say: Callable[[str], None]) -> None:
        self._access = access
        self._plan = plan
        self._say = say
        self._scratch = Scratch(access.wire, plan, access.timeout_s)
        self._seen = known
        self._created = self._confirmed = False
        self._initialised = False

    def run(self) -> ProbeOutcome:
        """The whole probe; never raises for an answer of the cluster."""
        interrupted, undeleted = False, None
        try:
            self._try_all()
        except _StoppedError as stopped:
            self._seen = replace(self._seen, stopped=str(stopped))
        except KeyboardInterrupt:
            interrupted = True
            self._seen = replace(self._seen, stopped="the probe was interrupted")
        except Exception:
            if (left := self._clean_up()) is not None:
                self._say(f"topic {self._plan.name} may remain: {left}")
            raise
        try:
            undeleted = self._clean_up()
        except KeyboardInterrupt:
            interrupted, undeleted = True, "the probe was interrupted while it was deleted"
        return ProbeOutcome(self._seen, interrupted, undeleted, self._initialised)

    def _try_all(self) -> None:
        self._say("initialising producers")
        producer = self._initialise()
        self._say(f"creating topic {self._plan.name}")
        lacking = self._create()
        if lacking is not None:
            self._fence(producer)
            raise _StoppedError(f"topic {self._plan.name} could not be created: {lacking}")
        self._say("committing and aborting")
        self._leave_open(producer)
        self._end(producer)
        self._say("fencing")
        successor = self._fence_open(producer)
        self._say("looking at how transactions are verified")
        self._write_unadded(successor)
        self._bump(successor)
        self._mark()

    def _initialise(self) -> ProducerIdAndEpoch:
        scratch = self._scratch
        self._seen = replace(self._seen, unused=_ask_or_skip(scratch.describe))
        self._initialised = True
        first = _ask_or_skip(lambda: scratch.initialise(TIMEOUT_MS))
        self._seen = replace(self._seen, first=first)
        denied = isinstance(first, Skipped) and first.cause in {Cause.DENIED, Cause.UNSUPPORTED}
        self._initialised = not (denied or isinstance(first, Refusal))
        producer = _needed(first).producer
        longer = _ask_or_skip(lambda: scratch.initialise(FENCING_TIMEOUT_MS))
        self._seen = replace(self._seen, long_timeout=longer)
        times = []
        for _ in range(REPEATS):
            again = self._initialised_again()
            producer = again.producer
            times.append(again.elapsed_ms)
            self._seen = replace(self._seen, repeats=tuple(times))
        return producer

    def _initialised_again(self) -> Initialised:
        again = _ask_or_skip(lambda: self._scratch.initialise(TIMEOUT_MS))
        if isinstance(again, Initialised):
            return again
        raise _StoppedError(f"the transactional ID could not be initialised again: {_why(again)}")

    def _create(self) -> str | None:
        self._created = True
        try:
            created = create_topic(
                self._access.librdkafka_properties(),
                self._plan.name,
                partitions=1,
                replication_factor=self._plan.replication_factor,
                settings={},
                timeout_s=self._access.timeout_s,
            )
        except EosctlError as error:
            self._created = isinstance(error, Unreachable)
            return error.message
        self._created = self._confirmed = created
        if not created:
            return "there is one of that name, which is left alone"
        known = _ask_or_skip(lambda: await_topic(self._access.wire, self._plan.name, timeout_s=self._access.timeout_s))
        return known.reason if isinstance(known, Skipped) else None

    def _begin(self, producer: ProducerIdAndEpoch) -> int | Refusal:
        refused = self._scratch.add_partition(producer)
        return self._scratch.write(producer) if refused is None else refused

    def _leave_open(self, producer: ProducerIdAndEpoch) -> None:
        scratch = self._scratch
        opened = _ask_or_skip(lambda: self._begin(producer))
        self._seen = replace(self._seen, opened=opened)
        offset = _needed(opened)
        self._seen = replace(
            self._seen,
            described=_ask_or_skip(scratch.describe),
            listed=_ask_or_skip(scratch.listed),
            producers=_ask_or_skip(scratch.producers),
            open=_ask_or_skip(lambda: scratch.look(offset, producer)),
        )
        self._seen = replace(self._seen, committed=self._ended(producer, offset, commit=True))

    def _end(self, producer: ProducerIdAndEpoch) -> None:
        offset = self._opened_again(producer)
        self._seen = replace(self._seen, aborted=self._ended(producer, offset, commit=False))

    def _opened_again(self, producer: ProducerIdAndEpoch) -> int:
        offset = _ask_or_skip(lambda: self._begin(producer))
        if isinstance(offset, int):
            return offset
        raise _StoppedError(f"no further transaction could be opened: {_why(offset)}")

    def _ended(self, producer: ProducerIdAndEpoch, offset: int, *, commit: bool) -> Seen[Look]:
        def ask() -> Look | Refusal | Skipped:
            ended = self._scratch.end(producer, commit=commit)
            return ended if isinstance(ended, Refusal) else self._scratch.settled(offset, producer)

        return _ask_or_skip(ask)

    def _fence_open(self, old: ProducerIdAndEpoch) -> ProducerIdAndEpoch:
        """Fences a producer with an open transaction, and lets it try to go on."""
        offset = self._opened_again(old)
        new = self._fence(old, lambda: self._scratch.settled(offset, old))
        self._seen = replace(
            self._seen,
            zombie_add=_ask_or_skip(lambda: self._scratch.add_partition(old)),
            zombie_write=_ask_or_skip(lambda: _accepted(self._scratch.write(old))),
        )
        return new

    def _fence(self, old: ProducerIdAndEpoch, look: Callable[[], Look | Refusal] | None = None) -> ProducerIdAndEpoch:
        new = self._initialised_again().producer
        fenced = self._seen.fenced if look is None else _ask_or_skip(look)
        commit = _ask_or_skip(lambda: _accepted(self._scratch.end(old, commit=True)))
        self._seen = replace(self._seen, fencing=Raised(old, new), fenced=fenced, zombie_commit=commit)
        return new

    def _write_unadded(self, producer: ProducerIdAndEpoch) -> None:
        """A batch of a transaction that does not include its partition; an accepted one is aborted."""
        written = _ask_or_skip(lambda: self._scratch.write(producer))
        self._seen = replace(self._seen, unadded=_accepted(written))
        if isinstance(written, int):
            with suppress(EosctlError):
                self._scratch.add_partition(producer)
                self._scratch.end(producer, commit=False)

    def _bump(self, producer: ProducerIdAndEpoch) -> None:
        features = self._seen.features
        if isinstance(features, Skipped) or features.get("transaction.version", 0) < BUMPING:
            return

        def ask() -> Raised | Refusal:
            written = self._scratch.write(producer, adds=True)
            if isinstance(written, Refusal):
                return written
            after = self._scratch.end(producer, commit=True, raises_epoch=True)
            return after if isinstance(after, Refusal) else Raised(producer, after)

        self._seen = replace(self._seen, bumped=_ask_or_skip(ask))

    def _mark(self) -> None:
        scratch, producer = self._scratch, self._initialised_again().producer
        offset = self._opened_again(producer)
        active = _ask_or_skip(scratch.producers)
        known = () if isinstance(active, Refusal | Skipped) else active
        epochs = [each.coordinator_epoch or 0 for each in known if each.producer.producer_id == producer.producer_id]
        marker = _ask_or_skip(lambda: scratch.write_marker(producer, max(epochs, default=0)))
        if not epochs and isinstance(marker, Refusal) and marker.code == COORDINATOR_FENCED:
            marker = NO_COORDINATOR_EPOCH
        self._seen = replace(self._seen, marker=marker)
        if marker is None:
            self._seen = replace(self._seen, marked=_ask_or_skip(lambda: scratch.settled(offset, producer)))
        with suppress(EosctlError):
            scratch.end(producer, commit=False)

    def _clean_up(self) -> str | None:
        """Why the topic may be left; None if it was deleted or never existed."""
        if not self._created:
            return None
        self._say(f"deleting topic {self._plan.name}")
        with suppress(EosctlError):  # the coordinator aborts it in time
            self._scratch.initialise(TIMEOUT_MS)
        try:
            found = delete_topic(
                self._access.librdkafka_properties(), self._plan.name, timeout_s=self._access.timeout_s
            )
        except EosctlError as error:
            return error.message
        if not found and not self._confirmed:
            return "its creation was not confirmed, and there is no such topic yet"
        return None if self._is_gone() else "it was deleted, and brokers name it all the same"

    def _is_gone(self) -> bool:
        """True if brokers no longer name it; if none answers, the controller's answer to its deletion counts."""
        deadline = Deadline(min(GONE_S, self._access.timeout_s))
        while True:
            try:
                partition_leaders(self._access.wire, [self._plan.name])
            except EosctlError:
                return True
            if not deadline.pause(PAUSE_S):
                return False


def _accepted(answer: Seen[object]) -> Seen[None]:
    return answer if isinstance(answer, Refusal | Skipped) else None


def _ask_or_skip(ask: Callable[[], T]) -> T | Skipped:
    try:
        return ask()
    except EosctlError as error:
        return Skipped.of(error)


def _needed(seen: Seen[T]) -> T:
    """Nothing more can be tried without it."""
    if isinstance(seen, Refusal | Skipped):
        raise _StoppedError(_why(seen))
    return seen


def _why(seen: object) -> str:
    return seen.reason if isinstance(seen, Skipped) else str(seen)
