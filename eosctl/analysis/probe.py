"""What a probe saw, judged: does the cluster do as Kafka does, and what does it mean.

1. What was not answered is unknown, with the reason. It is never no.
2. An API that ApiVersions does not offer, or a request that is refused where Kafka accepts it, is no.
3. What is answered, but neither as Kafka answers nor the opposite, is different.
"""

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Final, NamedTuple, TypeVar

from eosctl.analysis import probe_checks as checks
from eosctl.model.acls import Operation
from eosctl.model.counts import counted
from eosctl.model.probe import Check, ProbeAnswer, ProbedApi, Verdict
from eosctl.model.probe_observations import NOT_TRIED, Look, Observations, Refusal, Seen, Shown, VersionRange
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.transactions import TransactionDescription, TransactionState

T = TypeVar("T")
Judged = tuple[Verdict, str]
YES, NO, DIFFERENT = Verdict.YES, Verdict.NO, Verdict.DIFFERENT

SLOW_MS: Final = 1000.0
FENCED: Final = frozenset({47, 49, 90})
"""INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED."""
UNVERIFIED: Final = frozenset({47, 48, 120})
"""INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, TRANSACTION_ABORTABLE."""
NOT_FOUND: Final = 105
CLUSTER_DENIED: Final = 31
NO_RIGHT: Final = "needs Alter on the cluster (brokers before 3.8: ClusterAction)"
MAY_WRITE_MARKERS: Final = frozenset({Operation.ALTER, Operation.CLUSTER_ACTION})
FEATURE: Final = "transaction.version"
BUMPING: Final = 2


class _Need(NamedTuple):
    name: str
    key: int
    version: int
    by: str


_PRODUCERS: Final = (
    _Need("Produce", 0, 3, "Connect, `migrate-offsets`"),
    _Need("Fetch", 1, 4, "Connect, all commands that read topics"),
    _Need("ListOffsets", 2, 2, "Connect, all commands that read topics"),
    _Need("FindCoordinator", 10, 1, "Connect"),
    _Need("InitProducerId", 22, 0, "Connect, `fence`, `migrate-offsets`"),
    _Need("AddPartitionsToTxn", 24, 0, "Connect, `migrate-offsets`"),
    _Need("EndTxn", 26, 0, "Connect, `migrate-offsets`, `fence`"),
)
_TOOLS: Final = (
    _Need("FindCoordinator", 10, 4, "`fence`, `transactions`"),
    _Need("WriteTxnMarkers", 27, 1, "`transactions abort`"),
    _Need("DescribeProducers", 61, 0, "`transactions producers`, `hanging`, `lso`, `abort`"),
    _Need("DescribeTransactions", 65, 0, "`fence`, `transactions describe`, `hanging`"),
    _Need("ListTransactions", 66, 0, "`transactions list`, `hanging`, `fence --prefix`"),
)


def probed_apis(seen: Observations) -> tuple[ProbedApi, ...]:
    """Each API of transactions with the versions that all brokers answer."""
    needs = (*_PRODUCERS, *_TOOLS)
    return tuple(ProbedApi(each.name, each.key, _common(seen, each.key), each.version, each.by) for each in needs)


def _common(seen: Observations, key: int) -> VersionRange | Skipped | None:
    if isinstance(seen.versions, Skipped):
        return seen.versions
    ranges = []
    for node_id, versions in seen.versions.items():
        if isinstance(versions, Skipped):
            return Skipped(f"broker {node_id}: {versions.reason}", versions.cause)
        if key not in versions:
            return None
        ranges.append(versions[key])
    common = VersionRange(max(each.lowest for each in ranges), min(each.highest for each in ranges))
    return common if common.lowest <= common.highest else None


def judge(seen: Observations) -> tuple[ProbeAnswer, ...]:
    """The answer to every question, in the order in which they are shown."""
    return tuple(_answers(seen))


def _answers(seen: Observations) -> Iterator[ProbeAnswer]:
    yield _apis(checks.PRODUCER_APIS, seen, _PRODUCERS)
    yield _apis(checks.TOOL_APIS, seen, _TOOLS)
    ask = _Asker(seen.stopped)
    yield ask(checks.INIT, seen.first, lambda first: (YES, f"producer {first.producer}"))
    yield _init_time(seen)
    yield ask(checks.FENCING_TIMEOUT, seen.long_timeout, lambda _: (YES, "accepted"))
    yield ask(checks.OPENED, seen.opened, lambda offset: (YES, f"offset {offset}"))
    yield ask(checks.OPEN_HELD, seen.open, _held)
    yield ask(checks.OPEN_HIDDEN, seen.open, _withheld)
    yield ask(checks.COMMITTED_SHOWN, seen.committed, _delivered)
    yield ask(checks.ABORTED_HIDDEN, seen.aborted, _hidden)
    yield _markers(ask, seen)
    yield ask(checks.FENCING_EPOCH, seen.fencing, lambda raised: (YES if raised.fences else NO, str(raised)))
    yield ask(checks.FENCING_ABORTS, seen.fenced, _hidden)
    yield ask(checks.ZOMBIE_COMMIT, seen.zombie_commit, _accepted, FENCED)
    yield ask(checks.ZOMBIE_ADD, seen.zombie_add, _accepted, FENCED)
    yield ask(checks.ZOMBIE_WRITE, seen.zombie_write, _accepted, FENCED)
    yield ask(checks.UNUSED, seen.unused, lambda found: (NO, f"it is described as {found.state}"), {NOT_FOUND})
    yield ask(checks.DESCRIBED, seen.described, lambda found: _described(found, seen))
    yield _listed(ask, seen)
    yield _producers(ask, seen)
    yield ask(checks.VERIFIED, seen.unadded, _accepted, UNVERIFIED)
    yield _version(ask, seen)
    yield _bumped(ask, seen)
    yield _marker_written(ask, seen)
    yield _marker_refused(ask, seen)


class _Asker:
    """Answers one question from one observation; knows why what was not tried was not."""

    def __init__(self, stopped: str) -> None:
        self._stopped = stopped

    def __call__(
        self,
        check: Check,
        seen: Seen[T],
        judged: Callable[[T], Judged],
        wanted: frozenset[int] | set[int] | None = None,
    ) -> ProbeAnswer:
        """wanted are the error codes that Kafka refuses it with; None: Kafka accepts it."""
        if isinstance(seen, Skipped):
            return self.unknown(check, seen)
        if isinstance(seen, Refusal):
            if wanted is None:
                return ProbeAnswer(check, NO, str(seen))
            return ProbeAnswer(check, YES if seen.code in wanted else DIFFERENT, str(seen))
        return ProbeAnswer(check, *judged(seen))

    def unknown(self, check: Check, why: Skipped) -> ProbeAnswer:
        """Unknown, with the reason; but brokers say themselves which APIs they do not offer, and an answer that nobody
        can read is one."""
        if why is NOT_TRIED:
            return ProbeAnswer(check, Verdict.UNKNOWN, f"not tried: {self._stopped}", Cause.UNKNOWN)
        answered = {Cause.UNSUPPORTED: NO, Cause.UNDECODABLE: DIFFERENT}.get(why.cause)
        if answered is not None:
            return ProbeAnswer(check, answered, why.reason)
        return ProbeAnswer(check, Verdict.UNKNOWN, why.reason, why.cause)


def _apis(check: Check, seen: Observations, needs: tuple[_Need, ...]) -> ProbeAnswer:
    found = {each: _common(seen, each.key) for each in needs}
    unread = next((each for each in found.values() if isinstance(each, Skipped)), None)
    missing = [
        f"{each.name} (version {each.version})"
        for each, versions in found.items()
        if not isinstance(versions, Skipped) and (versions is None or versions.highest < each.version)
    ]
    if missing:
        return ProbeAnswer(check, NO, f"missing: {', '.join(missing)}")
    if unread is not None:
        return ProbeAnswer(check, Verdict.UNKNOWN, unread.reason, unread.cause)
    return ProbeAnswer(check, YES, f"all {len(needs)} APIs")


def _init_time(seen: Observations) -> ProbeAnswer:
    check = checks.INIT_TIME
    if not seen.repeats:
        return ProbeAnswer(check, Verdict.UNKNOWN, f"not tried: {seen.stopped}", Cause.UNKNOWN)
    typical = median(seen.repeats)
    first = "" if isinstance(seen.first, Refusal | Skipped) else f", the first {seen.first.elapsed_ms:,.0f} ms"
    words = f"{typical:,.1f} ms (median of {len(seen.repeats)}){first}"
    return ProbeAnswer(check, YES if typical <= SLOW_MS else NO, words)


def _held(look: Look) -> Judged:
    return (NO if look.is_stable else YES), f"open from {look.offset}, {look.bounds}"


def _withheld(look: Look) -> Judged:
    verdicts = {Shown.NOT_RETURNED: YES, Shown.RETURNED: NO, Shown.NAMED_ABORTED: DIFFERENT}
    return verdicts[look.shown], look.shown.value


def _delivered(look: Look) -> Judged:
    returned = YES if look.is_stable else DIFFERENT
    return (returned if look.shown is Shown.RETURNED else NO), f"{look.shown}; {look.bounds}"


def _hidden(look: Look) -> Judged:
    hidden = look.is_stable and look.shown is not Shown.RETURNED
    return (YES if hidden else NO), f"{look.shown}; {look.bounds}"


def _accepted(_: None) -> Judged:
    return NO, "accepted"


def _markers(ask: _Asker, seen: Observations) -> ProbeAnswer:
    committed = seen.committed
    if isinstance(committed, Refusal | Skipped):
        return ask(checks.MARKERS, committed, lambda _: (NO, ""))
    return ask(checks.MARKERS, seen.aborted, lambda aborted: _both(committed, aborted))


def _both(committed: Look, aborted: Look) -> Judged:
    found = committed.marker, aborted.marker
    words = ", ".join(each or "no marker" for each in found)
    if found == ("COMMIT", "ABORT"):
        return YES, words
    return (NO if None in found else DIFFERENT), words


def _described(found: TransactionDescription, seen: Observations) -> Judged:
    places = ", ".join(map(str, found.partitions)) or "no partition"
    as_kafka = found.state is TransactionState.ONGOING and len(found.partitions) == 1
    return (YES if as_kafka else DIFFERENT), f"{found.state}, producer {found.producer}, {places}"


def _listed(ask: _Asker, seen: Observations) -> ProbeAnswer:
    """Brokers leave out what may not be described: only who sees the description knows that nothing was left out."""
    if seen.listed is None and not isinstance(seen.described, TransactionDescription):
        reason = "no broker lists it, and whether it may be described is not known"
        return ProbeAnswer(checks.LISTED, Verdict.UNKNOWN, reason, Cause.UNKNOWN)

    def judged(state: TransactionState | None) -> Judged:
        if state is None:
            return NO, "no broker lists it"
        return (YES if state is TransactionState.ONGOING else DIFFERENT), state.value

    return ask(checks.LISTED, seen.listed, judged)


def _producers(ask: _Asker, seen: Observations) -> ProbeAnswer:
    if isinstance(seen.producers, Refusal | Skipped) or not isinstance(seen.opened, int):
        return ask(checks.PRODUCERS, seen.producers, lambda _: (NO, ""))
    starts = [each.transaction_start_offset for each in seen.producers if each.transaction_start_offset is not None]
    if seen.opened in starts:
        return ProbeAnswer(checks.PRODUCERS, YES, f"open from {seen.opened}")
    if starts:
        return ProbeAnswer(checks.PRODUCERS, DIFFERENT, f"open from {starts[0]}, not from {seen.opened}")
    return ProbeAnswer(
        checks.PRODUCERS, NO, f"{counted(len(seen.producers), 'producer')}, none with an open transaction"
    )


def _version(ask: _Asker, seen: Observations) -> ProbeAnswer:
    def judged(features: Mapping[str, int]) -> Judged:
        if FEATURE not in features:
            return NO, "the brokers have not finalized it"
        return (YES if features[FEATURE] >= BUMPING else NO), f"level {features[FEATURE]}"

    return ask(checks.VERSION, seen.features, judged)


def _bumped(ask: _Asker, seen: Observations) -> ProbeAnswer:
    """Clients use it where transaction.version says so, and only there."""
    features = seen.features
    if not isinstance(features, Skipped | Refusal) and features.get(FEATURE, 0) < BUMPING:
        return ProbeAnswer(checks.BUMPED, NO, f"{FEATURE} is below {BUMPING}")
    if isinstance(features, Skipped):
        return ask.unknown(checks.BUMPED, features)
    return ask(checks.BUMPED, seen.bumped, lambda raised: (YES if raised.fences else NO, str(raised)))


def _marker_written(ask: _Asker, seen: Observations) -> ProbeAnswer:
    if isinstance(seen.marker, Refusal) and seen.marker.code == CLUSTER_DENIED:
        reason = f"{seen.principal}: {seen.marker}; it {NO_RIGHT}"
        return ProbeAnswer(checks.MARKER_WRITTEN, Verdict.UNKNOWN, reason, Cause.DENIED)
    if seen.marker is not None:
        return ask(checks.MARKER_WRITTEN, seen.marker, lambda _: (NO, ""))
    return ask(checks.MARKER_WRITTEN, seen.marked, _hidden)


def _marker_refused(ask: _Asker, seen: Observations) -> ProbeAnswer:
    check, rights = checks.MARKER_REFUSED, seen.rights
    if isinstance(seen.marker, Skipped) and seen.marker.cause is Cause.UNSUPPORTED:
        return ProbeAnswer(check, YES, seen.marker.reason)
    if seen.marker is not None:
        return ask(check, seen.marker, _accepted, {CLUSTER_DENIED})
    if isinstance(rights, Skipped):
        return ProbeAnswer(
            check, Verdict.UNKNOWN, f"accepted; what {seen.principal} may is unknown: {rights.reason}", rights.cause
        )
    if granted := sorted(rights & MAY_WRITE_MARKERS):
        reason = f"accepted: {seen.principal} has {', '.join(granted)} on the cluster; probe as one who has not"
        return ProbeAnswer(check, Verdict.UNKNOWN, reason, Cause.NOT_ASKED)
    return ProbeAnswer(check, NO, f"accepted, though {seen.principal} has no such right")
