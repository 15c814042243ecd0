"""Judges a probe's observations: does the cluster behave like Kafka, and what follows if not?

1. A missing answer is unknown, with the reason. It is never no.
2. An API that ApiVersions does not offer, or a request that is refused where Kafka accepts it, is no.
3. An answer that is neither Kafka's nor the opposite is different.
"""

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Final, NamedTuple, TypeVar

from eosctl.model.acls import Operation
from eosctl.model.probe import (
    NOT_TRIED,
    Check,
    Look,
    Meaning,
    Observations,
    ProbeAnswer,
    ProbedApi,
    Refusal,
    Seen,
    Verdict,
    VersionRange,
)
from eosctl.model.records import Shown
from eosctl.model.report import Severity
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.text import pluralize
from eosctl.model.transactions import TransactionDescription, TransactionState

PRODUCER_APIS: Final = Check(
    "producer-apis",
    "Do all brokers answer the requests of transactional producers and their consumers?",
    Severity.ERROR,
    Meaning("tasks with exactly-once can start", "`fence`, `migrate-offsets`, `audit` can ask"),
    Meaning("tasks with exactly-once fail when they start", "`fence`, `migrate-offsets` and `audit` fail (6)"),
)
TOOL_APIS: Final = Check(
    "tool-apis",
    "Do all brokers answer the requests of KIP-664 and KIP-699, which tools need?",
    Severity.WARNING,
    Meaning("not needed", "the `transactions` commands can ask"),
    Meaning("not needed", "commands of the missing APIs (below) fail (6); `doctor` cannot judge transactions"),
)
INIT: Final = Check(
    "init-producer-id",
    "Does InitProducerId give a transactional ID its producer?",
    Severity.ERROR,
    Meaning("workers and tasks with exactly-once can start", "`fence` and `migrate-offsets` can begin"),
    Meaning(
        "no worker can be `preparing` or `enabled`: there are no transactions",
        "`fence`, `migrate-offsets` and `offsets restore` fail",
    ),
)
INIT_TIME: Final = Check(
    "init-producer-id-time",
    "Is InitProducerId answered within a second?",
    Severity.WARNING,
    Meaning("a round of fencing is held up by the worker's admin client only", "`fence` takes some ms for each ID"),
    Meaning(
        "a round of fencing has 90 s for all tasks of a connector: with many tasks it times out and they are FAILED",
        "`fence` of many IDs takes long: raise --timeout",
    ),
)
FENCING_TIMEOUT: Final = Check(
    "fencing-timeout",
    "Is a transaction timeout of 90,000 ms allowed, which workers from 3.7.1 on ask for when they fence?",
    Severity.ERROR,
    Meaning("rounds of fencing are not refused", "nothing: `fence` never requests more than brokers allow"),
    Meaning(
        "every round of fencing of workers from 3.7.1 on fails, and all tasks of the connector are FAILED",
        "`doctor` reports it as EOS031 where it can read transaction.max.timeout.ms",
    ),
)
OPENED: Final = Check(
    "transaction-opened",
    "Are a partition and a record taken into a transaction?",
    Severity.ERROR,
    Meaning("tasks can write", "`migrate-offsets` and `offsets restore` can write"),
    Meaning("tasks with exactly-once write nothing", "`migrate-offsets` and `offsets restore` fail"),
)
OPEN_HELD: Final = Check(
    "lso-held",
    "Does an open transaction hold the last stable offset back?",
    Severity.ERROR,
    Meaning("read_committed consumers wait for its end", "`transactions lso` shows the records that wait"),
    Meaning(
        "consumers that trust ListOffsets read beyond open transactions; workers may start before their config topic "
        "and offsets are decided",
        "`transactions lso` and `doctor` report nothing held back; `audit` and `offsets show` take undecided records "
        "for decided",
    ),
)
OPEN_HIDDEN: Final = Check(
    "open-hidden",
    "Does a read_committed Fetch withhold the records of an open transaction?",
    Severity.ERROR,
    Meaning("no consumer sees what may be aborted yet", "records read as committed are committed"),
    Meaning(
        "read_committed consumers get records that are aborted later: exactly-once is broken",
        "`audit`, `offsets show` and `inspect-config` take undecided records for committed",
    ),
)
COMMITTED_SHOWN: Final = Check(
    "committed-shown",
    "Do read_committed consumers get the record once its transaction is committed?",
    Severity.ERROR,
    Meaning("what tasks commit arrives", "`migrate-offsets` can verify what it wrote"),
    Meaning("what tasks commit does not arrive, or late", "`migrate-offsets` ends without its verification"),
)
ABORTED_HIDDEN: Final = Check(
    "aborted-hidden",
    "Is the record of an aborted transaction hidden from read_committed consumers?",
    Severity.ERROR,
    Meaning("records of a failed task are never read", "aborted records are distinguished"),
    Meaning(
        "consumers read a failed task's records, and the same records again after its restart: exactly-once is broken",
        "`audit`, `offsets show` and `inspect-config` take aborted records for committed",
    ),
)
MARKERS: Final = Check(
    "markers-in-log",
    "Does the log show commit and abort markers?",
    Severity.WARNING,
    Meaning("not needed", "`audit` joins transactions by their markers"),
    Meaning(
        "not needed",
        "`audit` cannot tell of transactions (EOS211); `inspect-config` takes decided transactions for open",
    ),
)
DESCRIBED: Final = Check(
    "describe-transactions",
    "Does DescribeTransactions show the open transaction with its partition?",
    Severity.WARNING,
    Meaning("not needed", "`transactions describe`, and the plan and proof of `fence`, are right"),
    Meaning("not needed", "`fence` shows no plan and no proof that holds; `transactions hanging` cannot judge"),
)
UNUSED: Final = Check(
    "describe-unknown-id",
    "Is an unused transactional ID not found (TRANSACTIONAL_ID_NOT_FOUND)?",
    Severity.WARNING,
    Meaning("not needed", "`fence` creates no ID by mistake"),
    Meaning("not needed", "`fence` takes IDs for existing that are not, and creates them"),
)
LISTED: Final = Check(
    "list-transactions",
    "Does ListTransactions list it as Ongoing?",
    Severity.WARNING,
    Meaning("not needed", "`transactions list`, `hanging` and `fence --prefix` see all IDs that may be described"),
    Meaning(
        "not needed", "`transactions list` and `fence --prefix` miss IDs; `hanging` cannot judge open transactions"
    ),
)
PRODUCERS: Final = Check(
    "describe-producers",
    "Does DescribeProducers show where the open transaction begins?",
    Severity.WARNING,
    Meaning("not needed", "`transactions producers`, `hanging` and `abort` see open transactions"),
    Meaning("not needed", "`transactions hanging` finds nothing, `abort` refuses; what holds readers back has no name"),
)
FENCING_EPOCH: Final = Check(
    "fencing-epoch",
    "Does a second InitProducerId raise the producer epoch?",
    Severity.ERROR,
    Meaning("a task that starts overtakes the former one", "`fence` overtakes the producer"),
    Meaning(
        "zombies of a task continue: its records are written twice", "`fence` fences no producer, and its proof fails"
    ),
)
FENCING_ABORTS: Final = Check(
    "fencing-aborts",
    "Does it abort the open transaction of the first producer?",
    Severity.ERROR,
    Meaning("a zombie's open transaction is aborted before a task starts", "`fence` unblocks read_committed consumers"),
    Meaning(
        "a task starts while the transaction of its predecessor is undecided: its records may come twice",
        "`fence` does not unblock consumers; wait for the transaction timeout",
    ),
)
ZOMBIE_COMMIT: Final = Check(
    "zombie-commit-refused",
    "Does the coordinator refuse the commit of a fenced producer?",
    Severity.ERROR,
    Meaning("a zombie cannot commit", "the proof of `fence` holds"),
    Meaning("a zombie commits what its successor writes again: exactly-once is broken", "the proof of `fence` fails"),
)
ZOMBIE_ADD: Final = Check(
    "zombie-add-refused",
    "Does the coordinator refuse to begin a transaction for a fenced producer?",
    Severity.ERROR,
    Meaning("a zombie cannot begin again", "a fenced ID stays fenced"),
    Meaning("a zombie begins new transactions beside its successor: exactly-once is broken", "`fence` does not last"),
)
ZOMBIE_WRITE: Final = Check(
    "zombie-write-refused",
    "Does the partition refuse the records of a fenced producer?",
    Severity.ERROR,
    Meaning("a zombie cannot write after its abort marker", "aborted records stay aborted"),
    Meaning(
        "records of a zombie get into the log after its abort marker, and may be committed or hang there",
        "look with `transactions hanging` after every `fence`",
    ),
)
VERIFIED: Final = Check(
    "partition-verified",
    "Is a batch refused whose partition is not in the transaction (KIP-890, Kafka 3.6)?",
    Severity.INFO,
    Meaning("a late batch cannot hang", "`transactions hanging` should find nothing"),
    Meaning(
        "a late batch hangs forever, and stops read_committed consumers, including workers",
        "watch `transactions hanging`",
    ),
)
VERSION: Final = Check(
    "transaction-version",
    "Is transaction.version 2 finalized (KIP-890, Kafka 4.0)?",
    Severity.INFO,
    Meaning("clients from 4.0 on use it by themselves", "`audit` joins transactions by epochs alone"),
    Meaning("as in Kafka before 4.0", "`audit` joins the parts of a transaction by the time of their markers"),
)
BUMPED: Final = Check(
    "epoch-per-transaction",
    "Does every transaction raise the epoch (EndTxn version 5)?",
    Severity.INFO,
    Meaning("a late message of an earlier transaction is refused", "epochs count transactions, not restarts"),
    Meaning("as in Kafka before 4.0", "an epoch spans many transactions"),
)
MARKER_WRITTEN: Final = Check(
    "abort-marker-written",
    "Does WriteTxnMarkers end an open transaction, past its coordinator?",
    Severity.WARNING,
    Meaning("not needed", "`transactions abort` works"),
    Meaning(
        "a transaction that hangs stops workers and consumers until the provider ends it",
        "`transactions abort` fails",
    ),
)
MARKER_REFUSED: Final = Check(
    "marker-right-needed",
    "Is WriteTxnMarkers refused to who has no right to it?",
    Severity.ERROR,
    Meaning("no client aborts parts of transactions unseen", "`transactions abort` needs Alter on the cluster"),
    Meaning(
        "every client may abort parts of other producers' transactions: nothing proves that a commit was whole",
        "`transactions abort` needs no permission; a clean `audit` proves less",
    ),
)


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
    yield _apis(PRODUCER_APIS, seen, _PRODUCERS)
    yield _apis(TOOL_APIS, seen, _TOOLS)
    ask = _Asker(seen.stopped)
    yield ask(INIT, seen.first, lambda first: (YES, f"producer {first.producer}"))
    yield _init_time(seen)
    yield ask(FENCING_TIMEOUT, seen.long_timeout, lambda _: (YES, "accepted"))
    yield ask(OPENED, seen.opened, lambda offset: (YES, f"offset {offset}"))
    yield ask(OPEN_HELD, seen.open, _held)
    yield ask(OPEN_HIDDEN, seen.open, _withheld)
    yield ask(COMMITTED_SHOWN, seen.committed, _delivered)
    yield ask(ABORTED_HIDDEN, seen.aborted, _hidden)
    yield _markers(ask, seen)
    yield ask(FENCING_EPOCH, seen.fencing, lambda raised: (YES if raised.fences else NO, str(raised)))
    yield ask(FENCING_ABORTS, seen.fenced, _hidden)
    yield ask(ZOMBIE_COMMIT, seen.zombie_commit, _accepted, FENCED)
    yield ask(ZOMBIE_ADD, seen.zombie_add, _accepted, FENCED)
    yield ask(ZOMBIE_WRITE, seen.zombie_write, _accepted, FENCED)
    yield ask(UNUSED, seen.unused, lambda found: (NO, f"it is described as {found.state}"), {NOT_FOUND})
    yield ask(DESCRIBED, seen.described, lambda found: _described(found, seen))
    yield _listed(ask, seen)
    yield _producers(ask, seen)
    yield ask(VERIFIED, seen.unadded, _accepted, UNVERIFIED)
    yield _version(ask, seen)
    yield _bumped(ask, seen)
    yield _marker_written(ask, seen)
    yield _marker_refused(ask, seen)


class _Asker:
    """Answers one question from one observation, with the reason if it was not tried."""

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
        """Unknown, with the reason. But brokers list the APIs they lack, and an unreadable answer is an answer."""
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
    check = INIT_TIME
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
        return ask(MARKERS, committed, lambda _: (NO, ""))
    return ask(MARKERS, seen.aborted, lambda aborted: _both(committed, aborted))


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
    """Brokers omit IDs that the principal may not describe; only a visible description proves a complete list."""
    if seen.listed is None and not isinstance(seen.described, TransactionDescription):
        reason = "no broker lists it, and whether it may be described is not known"
        return ProbeAnswer(LISTED, Verdict.UNKNOWN, reason, Cause.UNKNOWN)

    def judged(state: TransactionState | None) -> Judged:
        if state is None:
            return NO, "no broker lists it"
        return (YES if state is TransactionState.ONGOING else DIFFERENT), state.value

    return ask(LISTED, seen.listed, judged)


def _producers(ask: _Asker, seen: Observations) -> ProbeAnswer:
    if isinstance(seen.producers, Refusal | Skipped):
        return ask(PRODUCERS, seen.producers, lambda _: (NO, ""))
    if not isinstance(seen.opened, int):
        return ProbeAnswer(PRODUCERS, Verdict.UNKNOWN, "whether a transaction is open is not known", Cause.UNKNOWN)
    starts = [each.transaction_start_offset for each in seen.producers if each.transaction_start_offset is not None]
    if seen.opened in starts:
        return ProbeAnswer(PRODUCERS, YES, f"open from {seen.opened}")
    if starts:
        return ProbeAnswer(PRODUCERS, DIFFERENT, f"open from {starts[0]}, not from {seen.opened}")
    return ProbeAnswer(PRODUCERS, NO, f"{pluralize(len(seen.producers), 'producer')}, none with an open transaction")


def _version(ask: _Asker, seen: Observations) -> ProbeAnswer:
    def judged(features: Mapping[str, int]) -> Judged:
        if FEATURE not in features:
            return NO, "the brokers have not finalized it"
        return (YES if features[FEATURE] >= BUMPING else NO), f"level {features[FEATURE]}"

    return ask(VERSION, seen.features, judged)


def _bumped(ask: _Asker, seen: Observations) -> ProbeAnswer:
    """Clients bump the epoch only where transaction.version requires it."""
    features = seen.features
    if not isinstance(features, Skipped | Refusal) and features.get(FEATURE, 0) < BUMPING:
        return ProbeAnswer(BUMPED, NO, f"{FEATURE} is below {BUMPING}")
    if isinstance(features, Skipped):
        return ask.unknown(BUMPED, features)
    return ask(BUMPED, seen.bumped, lambda raised: (YES if raised.fences else NO, str(raised)))


def _marker_written(ask: _Asker, seen: Observations) -> ProbeAnswer:
    if isinstance(seen.marker, Refusal) and seen.marker.code == CLUSTER_DENIED:
        reason = f"{seen.principal}: {seen.marker}; it {NO_RIGHT}"
        return ProbeAnswer(MARKER_WRITTEN, Verdict.UNKNOWN, reason, Cause.DENIED)
    if seen.marker is not None:
        return ask(MARKER_WRITTEN, seen.marker, lambda _: (NO, ""))
    return ask(MARKER_WRITTEN, seen.marked, _hidden)


def _marker_refused(ask: _Asker, seen: Observations) -> ProbeAnswer:
    check, rights = MARKER_REFUSED, seen.rights
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
