"""A probe: what a cluster does with transactions, tried in a scratch topic under a scratch transactional ID.

1. Every question is asked for itself: one that gets no answer is Skipped with the reason, and the next one is asked.
   Where nothing more can be tried, `stopped` says why.
2. Whatever ends it, what is open is aborted and the topic is deleted, if this run has asked for its creation.
3. The zombie's requests come last of all that need its transaction: a cluster that does not fence accepts them.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from eosctl.clients.access import ClusterAccess
from eosctl.clients.deadline import Deadline
from eosctl.clients.leaders import partition_leaders
from eosctl.clients.topics import await_topic, create_topic, delete_topic
from eosctl.errors import EosctlError, Unreachable
from eosctl.executors.scratch import PAUSE_S, Scratch
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.probe import FENCING_TIMEOUT_MS, TIMEOUT_MS, ProbePlan
from eosctl.model.probe_observations import Initialised, Look, Observations, Raised, Refusal, Seen
from eosctl.model.skipped import Cause, Skipped

T = TypeVar("T")

REPEATS: Final = 5
"""How often InitProducerId is measured beside the first time."""
BUMPING: Final = 2
"""The level of transaction.version from which on every transaction raises the epoch (KIP-890)."""
GONE_S: Final = 5.0
"""How long brokers may go on naming a topic that was deleted."""
COORDINATOR_FENCED: Final = 52
"""TRANSACTION_COORDINATOR_FENCED: a marker of a lower epoch than the coordinator's."""
NO_COORDINATOR_EPOCH: Final = Skipped(
    "a marker needs the epoch of the coordinator, which DescribeProducers did not report", Cause.NOT_ASKED
)


class _StoppedError(Exception):
    """Nothing more can be tried; says why."""


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """What was seen, whether the user interrupted it, and why the topic may still be there (None: it is not).

    initialised: whether the transactional ID may be known to a coordinator now.
    """

    observations: Observations
    interrupted: bool
    undeleted: str | None
    initialised: bool


class ProbeRun:
    """One plan being carried out; `say` gets what is done next. `known` is what was read before."""

    def __init__(self, access: ClusterAccess, plan: ProbePlan, known: Observations, say: Callable[[str], None]) -> None:
        self._access = access
        self._plan = plan
        self._say = say
        self._scratch = Scratch(access.wire, plan, access.timeout_s)
        self._seen = known
        self._created = self._confirmed = False
        self._initialised = False

    def run(self) -> ProbeOutcome:
        """All of it; never raises for what the cluster answered."""
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
                self._say(f"topic {self._plan.name} may be left: {left}")
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
        self._seen = replace(self._seen, unused=_asked(scratch.describe))
        self._initialised = True
        first = _asked(lambda: scratch.initialise(TIMEOUT_MS))
        self._seen = replace(self._seen, first=first)
        denied = isinstance(first, Skipped) and first.cause in {Cause.DENIED, Cause.UNSUPPORTED}
        self._initialised = not (denied or isinstance(first, Refusal))
        producer = _needed(first).producer
        longer = _asked(lambda: scratch.initialise(FENCING_TIMEOUT_MS))
        self._seen = replace(self._seen, long_timeout=longer)
        times = []
        for _ in range(REPEATS):
            again = self._initialised_again()
            producer = again.producer
            times.append(again.elapsed_ms)
            self._seen = replace(self._seen, repeats=tuple(times))
        return producer

    def _initialised_again(self) -> Initialised:
        again = _asked(lambda: self._scratch.initialise(TIMEOUT_MS))
        if isinstance(again, Initialised):
            return again
        raise _StoppedError(f"the transactional ID could not be initialised again: {_why(again)}")

    def _create(self) -> str | None:
        """Why the topic is not there; None where it is."""
        self._created = True
        try:
            created = create_topic(
                self._access.properties,
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
        known = _asked(lambda: await_topic(self._access.wire, self._plan.name, timeout_s=self._access.timeout_s))
        return known.reason if isinstance(known, Skipped) else None

    def _begin(self, producer: ProducerIdAndEpoch) -> int | Refusal:
        """A record in an open transaction."""
        refused = self._scratch.add_partition(producer)
        return self._scratch.write(producer) if refused is None else refused

    def _leave_open(self, producer: ProducerIdAndEpoch) -> None:
        scratch = self._scratch
        opened = _asked(lambda: self._begin(producer))
        self._seen = replace(self._seen, opened=opened)
        offset = _needed(opened)
        self._seen = replace(
            self._seen,
            described=_asked(scratch.describe),
            listed=_asked(scratch.listed),
            producers=_asked(scratch.producers),
            open=_asked(lambda: scratch.look(offset, producer)),
        )
        self._seen = replace(self._seen, committed=self._ended(producer, offset, commit=True))

    def _end(self, producer: ProducerIdAndEpoch) -> None:
        offset = self._opened_again(producer)
        self._seen = replace(self._seen, aborted=self._ended(producer, offset, commit=False))

    def _opened_again(self, producer: ProducerIdAndEpoch) -> int:
        offset = _asked(lambda: self._begin(producer))
        if isinstance(offset, int):
            return offset
        raise _StoppedError(f"no further transaction could be opened: {_why(offset)}")

    def _ended(self, producer: ProducerIdAndEpoch, offset: int, *, commit: bool) -> Seen[Look]:
        def ask() -> Look | Refusal | Skipped:
            ended = self._scratch.end(producer, commit=commit)
            return ended if isinstance(ended, Refusal) else self._scratch.settled(offset, producer)

        return _asked(ask)

    def _fence_open(self, old: ProducerIdAndEpoch) -> ProducerIdAndEpoch:
        """Fences a producer with an open transaction, and lets it try to go on."""
        offset = self._opened_again(old)
        new = self._fence(old, lambda: self._scratch.settled(offset, old))
        self._seen = replace(
            self._seen,
            zombie_add=_asked(lambda: self._scratch.add_partition(old)),
            zombie_write=_asked(lambda: _accepted(self._scratch.write(old))),
        )
        return new

    def _fence(self, old: ProducerIdAndEpoch, look: Callable[[], Look | Refusal] | None = None) -> ProducerIdAndEpoch:
        new = self._initialised_again().producer
        fenced = self._seen.fenced if look is None else _asked(look)
        commit = _asked(lambda: _accepted(self._scratch.end(old, commit=True)))
        self._seen = replace(self._seen, fencing=Raised(old, new), fenced=fenced, zombie_commit=commit)
        return new

    def _write_unadded(self, producer: ProducerIdAndEpoch) -> None:
        """A batch of a transaction that its partition is no part of; what was accepted is aborted."""
        written = _asked(lambda: self._scratch.write(producer))
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

        self._seen = replace(self._seen, bumped=_asked(ask))

    def _mark(self) -> None:
        """An abort marker past the coordinator, for a transaction of this run."""
        scratch, producer = self._scratch, self._initialised_again().producer
        offset = self._opened_again(producer)
        active = _asked(scratch.producers)
        known = () if isinstance(active, Refusal | Skipped) else active
        epochs = [each.coordinator_epoch or 0 for each in known if each.producer.producer_id == producer.producer_id]
        marker = _asked(lambda: scratch.write_marker(producer, max(epochs, default=0)))
        if not epochs and isinstance(marker, Refusal) and marker.code == COORDINATOR_FENCED:
            marker = NO_COORDINATOR_EPOCH
        self._seen = replace(self._seen, marker=marker)
        if marker is None:
            self._seen = replace(self._seen, marked=_asked(lambda: scratch.settled(offset, producer)))
        with suppress(EosctlError):
            scratch.end(producer, commit=False)

    def _clean_up(self) -> str | None:
        """Why the topic may be left; None where it is gone or was never there."""
        if not self._created:
            return None
        self._say(f"deleting topic {self._plan.name}")
        with suppress(EosctlError):  # the coordinator aborts it in time
            self._scratch.initialise(TIMEOUT_MS)
        try:
            found = delete_topic(self._access.properties, self._plan.name, timeout_s=self._access.timeout_s)
        except EosctlError as error:
            return error.message
        if not found and not self._confirmed:
            return "its creation was not confirmed, and there is no such topic yet"
        return None if self._is_gone() else "it was deleted, and brokers name it all the same"

    def _is_gone(self) -> bool:
        """Whether brokers name it no longer; where none answers, the controller's word on its deletion counts."""
        deadline = Deadline(min(GONE_S, self._access.timeout_s))
        while True:
            try:
                partition_leaders(self._access.wire, [self._plan.name])
            except EosctlError:
                return True
            if not deadline.pause(PAUSE_S):
                return False


def _accepted(answer: Seen[object]) -> Seen[None]:
    """The same without what an accepted request answered."""
    return answer if isinstance(answer, Refusal | Skipped) else None


def _asked(ask: Callable[[], T]) -> T | Skipped:
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
