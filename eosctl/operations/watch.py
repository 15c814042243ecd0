"""One cycle of `watch`: the commands' requests, and their answers as metrics.

Each cycle is a separate session, like a command's: its brokers, connections and certificates are forgotten afterwards.
Requests shared by several commands are sent once in a cycle, by `doctor`, the first of them.
"""

import gc
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Final, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from eosctl.analysis.metrics.catalogue import ALERTS, CYCLE_AS_OF, METRICS, ROWS
from eosctl.analysis.metrics.samples import cycle_samples, stale_samples
from eosctl.codecs.secrets import mask_text
from eosctl.errors import EosctlError, UsageError
from eosctl.exporter.exporter import Board, Exporter, Exposition, MetricsServer, address_of
from eosctl.exporter.otlp import OtlpPush
from eosctl.model.producer_epochs import IdChurn
from eosctl.model.report import Severity
from eosctl.model.rules import Diagnosis
from eosctl.model.skipped import Coverage, Skipped, not_asked
from eosctl.model.text import first_few
from eosctl.model.transaction_log import LogReading
from eosctl.model.transactions import Selection
from eosctl.model.watch import Answers, Cycle, Emitted, Observation, WatchFile
from eosctl.operations.audit_history import read_last_runs
from eosctl.operations.diagnosis import diagnose_cluster
from eosctl.operations.evidence import EvidenceRequest
from eosctl.operations.hanging import HangingRequest, StabilityRequest, find_hanging, last_stable_offsets
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.operations.offsets import show_offsets
from eosctl.operations.profiles import chosen_profile, triage_under, worker_settings_in
from eosctl.operations.session import Session
from eosctl.operations.session_options import Advance, Reporter, SessionOptions
from eosctl.operations.transaction_log import LogRequest, read_churn
from eosctl.operations.transactions import list_transactions
from eosctl.sources.cluster_reader import KeptFacts
from eosctl.sources.group_belongings import SAMPLE_TOPICS
from eosctl.version import __version__

T = TypeVar("T")
LONGEST_TRANSACTION_MS: Final = 15 * 60_000
"""The default of transaction.max.timeout.ms, and of `transactions hanging`."""

CHURN_EVERY_MS: Final = 3_600_000
MOST_LOG_BYTES: Final = 128 << 20
"""The most that a cycle reads of the transaction log about hanging transactions. A search for IDs continues in the
next."""


class Watched(Struct, frozen=True):
    """One watched cluster: how it is reached, and the inputs of `doctor` for it.

    kept are the facts that the commands of a cycle share, and those of earlier cycles; without it, each reads its own.
    with_churn: the whole transaction log is read once an hour; churn is what was found then.
    """

    options: SessionOptions
    evidence: EvidenceRequest
    store: str | None = None
    kept: KeptFacts | None = field(default_factory=KeptFacts)
    with_churn: bool = False
    churn: IdChurn | None = None

    @property
    def profile(self) -> str:
        return "" if self.options.profile is None else self.options.profile.name

    @property
    def config_topic(self) -> str:
        return self.evidence.topics.get("config") or "connect-configs"

    def continuing(self, log: LogReading, churn: IdChurn | None = None) -> "Watched":
        """The same after a cycle: the next one continues these readings of the transaction log."""
        if self.kept is not None:
            self.kept.next_session()
        return replace(self, evidence=replace(self.evidence, log=log), churn=churn)

    def session(self, console: Reporter) -> Session:
        """A session of one cycle. Raises errors of the profile, or UsageError where it names no brokers."""
        triage = triage_under(self.options.profile, Severity.INFO, None)
        session = Session(replace(self.options, console=console, triage=triage))
        session.kept = self.kept
        if not session.client_properties.bootstrap_servers:
            self.options.need_bootstrap_servers()
        return session


def watched_profiles(
    names: Iterable[str], options: SessionOptions, evidence: EvidenceRequest, *, with_churn: bool = False
) -> tuple[Watched, ...]:
    """The clusters of these profiles, with their worker files; of the options only those that name no cluster apply.

    Raises UsageError if a flag names a cluster too, ConfigError if a profile does not exist.
    """
    flags = [each for each in options.sources.values() if each.startswith("--") and each != "--timeout"]
    if flags:
        raise UsageError(f"profiles are named, and {flags[0]} names a cluster too", hint="give one or the other")
    found = (_of_profile(name, options, evidence) for name in dict.fromkeys(names))
    return tuple(replace(each, with_churn=with_churn) for each in found)


def _of_profile(name: str, options: SessionOptions, evidence: EvidenceRequest) -> Watched:
    profile = chosen_profile(name).profile
    if profile is None:
        raise UsageError("an empty name names no profile")
    files = tuple(map(Path, profile.worker_configs))
    settings = worker_settings_in(files[0]) if files else {}
    timed = options.sources.get("timeout", "").startswith(("--", "EOSCTL_"))
    own = SessionOptions(
        console=options.console,
        profile=profile,
        connect_urls=profile.connect_urls,
        group_id=profile.group_id or settings.get("group.id"),
        timeout_s=options.timeout_s if timed or profile.timeout_s is None else profile.timeout_s,
        max_answer_bytes=options.max_answer_bytes,
        worker_configs=files,
    )
    topics = {role: settings.get(f"{'offset' if role == 'offsets' else role}.storage.topic") for role in SAMPLE_TOPICS}
    return Watched(own, replace(evidence, topics=topics, worker_files=files), profile.audit_store)


def observe(watched: Watched, session: Session, last_success: int | None = None) -> Observation:
    """One cycle with this session, which it closes. A command that cannot answer is Skipped."""
    began = monotonic()
    with session:
        answers = _answers(session, watched)
        duration_ms = int(1000 * (monotonic() - began))
        return observation(watched, answers, Cycle(session.now(), duration_ms, session.requests, last_success))


def observation(watched: Watched, answers: Answers, cycle: Cycle) -> Observation:
    """The answers of this cycle as samples; a success if they lack nothing."""
    unread = tuple(replace(each, what=f"{command}: {each.what}") for command, each in answers.unread)
    cycle = cycle if unread else replace(cycle, last_success=cycle.as_of)
    known = answers.transactions
    return Observation(
        profile=watched.profile,
        cycle=cycle,
        cluster_id=None if isinstance(known, Skipped) else known.cluster_id,
        samples=cycle_samples(answers, cycle),
        when_stale=stale_samples(cycle),
        coverage=Coverage((), unread),
        log=_log(watched.evidence.log, answers.diagnosis),
        churn=watched.churn if isinstance(answers.churn, Skipped) else answers.churn,
    )


def _log(earlier: LogReading, diagnosis: Diagnosis | Skipped) -> LogReading:
    """The transaction log after this cycle; the earlier reading where this cycle could not read it."""
    found = None if isinstance(diagnosis, Skipped) else diagnosis.evidence.log_reading
    return earlier if found is None else found


def _answers(session: Session, watched: Watched) -> Answers:
    """The commands' answers; asks a silent cluster only once."""
    options, topic, topics = session.options, watched.config_topic, watched.evidence.topics

    def answered(ask: Callable[[], T]) -> T | Skipped:
        try:
            return ask()
        except EosctlError as error:
            return Skipped.of(error)
        finally:
            session.ask_again()  # each command has a coverage of its own

    store = watched.store
    audits = not_asked("no --store was given") if store is None else answered(lambda: read_last_runs(session, store))
    cluster = answered(session.reader.cluster)
    if isinstance(cluster, Skipped):
        return replace(Answers.none(cluster), audits=audits)
    has_connect = bool(options.connect_urls) or answered(lambda: session.reader.group_id) is not None
    hanging = HangingRequest((), None, LONGEST_TRANSACTION_MS, topic, topics.get("offsets"), MOST_LOG_BYTES)
    offsets = OffsetsRequest(
        config_topic=topic,
        worker_offsets_topic=topics.get("offsets"),
        worker_config=next(iter(watched.evidence.worker_files), None),
    )
    return Answers(
        diagnosis=answered(lambda: diagnose_cluster(session, watched.evidence)),
        transactions=answered(lambda: list_transactions(session.reader, Selection(), topic)),
        hanging=answered(lambda: find_hanging(session.reader, hanging)),
        last_stable=answered(lambda: last_stable_offsets(session.reader, StabilityRequest((), topic))),
        offsets=answered(lambda: show_offsets(session, offsets))
        if has_connect
        else not_asked("give --group-id or --connect-url"),
        audits=audits,
        churn=answered(lambda: _churn(session, watched)),
    )


def _churn(session: Session, watched: Watched) -> IdChurn | Skipped:
    """The last answer while it is not an hour old."""
    if not watched.with_churn:
        return not_asked("--churn was not given")
    if watched.churn is not None and session.reader.now() - watched.churn.as_of < CHURN_EVERY_MS:
        return watched.churn
    return read_churn(session, LogRequest(frozenset(), (), None, None, watched.config_topic, ""))


# `watch` as a service: cycle after cycle of each cluster, and the answers of the last one on each of its faces.  The
# faces are pages over HTTP, pushes by OTLP, and a terminal; all show the results of the same cycles. Each cluster has
# its own thread, so one that does not answer delays no other; each face has others, so none delays a cycle.


CYCLES_SHOWN: Final = 3
"""For how many cycles, with their pauses, samples are shown that no other cycle has replaced."""


class Voice(Protocol):
    """Takes narration and warnings."""

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        """Shows a message."""

    def warn(self, text: str) -> None:
        """Warn the user although the command continues."""


class Screen(Voice, Protocol):
    """A terminal that shows the cycles' results."""

    def show(self, profiles: Sequence[str], latest: Callable[[], Mapping[str, Observation]]) -> None:
        """Draws the last observation of each profile until the user ends it."""


class Listening(Struct, frozen=True):
    """Address of the metrics, and the seconds from the beginning of one cycle to the next."""

    address: str
    allow_remote: bool
    every_s: float


class Faces(Struct, frozen=True):
    """Destinations of the answers: pages, a collector, a terminal, each if requested."""

    serves: bool = True
    otlp: str | None = None
    screen: Screen | None = None


def watch_clusters(clusters: Sequence[Watched], listening: Listening, console: Reporter, faces: Faces) -> None:
    """Watches until it is interrupted, or ended by SIGTERM or on its terminal, which are ordinary ends.

    Raises errors of command line, profile or address at once.
    """
    board, ended = Board(), Event()
    exporter = Exporter(board, Exposition(METRICS)) if faces.serves else None
    address = address_of(listening.address, allow_remote=listening.allow_remote)
    pushes = None if faces.otlp is None else OtlpPush(faces.otlp, METRICS)
    voice: Voice = faces.screen or console
    watches = [_Watch(each, _Once(console, voice), board, listening.every_s) for each in clusters]
    for each in watches:
        each.require()
    with _ended_by_sigterm(), ExitStack() as stack:
        server = None if exporter is None else stack.enter_context(MetricsServer(address, exporter.page))
        stack.callback(ended.set)
        if server is not None:
            place = f"http://{address.text.rpartition(':')[0]}:{server.port}/metrics"
            voice.narrate(f"metrics at {place}, every {listening.every_s:g} s; Ctrl-C ends it")
        for each in watches:
            Thread(target=each.run, args=(ended,), daemon=True).start()
        if pushes is not None:
            where = mask_text(str(faces.otlp))
            voice.narrate(f"metrics are pushed to {where}, every {listening.every_s:g} s; Ctrl-C ends it")
            pushing = _Pushing(pushes, where, board, voice)
            Thread(target=pushing.run, args=(ended, listening.every_s), daemon=True).start()
        if faces.screen is not None:
            if server is not None:
                Thread(target=server.serve_forever, daemon=True).start()
                stack.callback(server.shutdown)
            faces.screen.show([each.profile for each in clusters], board.latest)
        elif server is not None:
            server.serve_forever()
        else:
            ended.wait()


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Ends the block in order at SIGTERM, which the first process of a container would otherwise ignore."""

    def end(*_: object) -> None:
        raise SystemExit

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except SystemExit:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


class _Pushing(Struct, frozen=True):
    """Pushes after each cycle, and as often while its samples are too old."""

    pushes: OtlpPush
    where: str
    board: Board
    voice: Voice

    def run(self, ended: Event, every_s: float) -> None:
        """Runs until it is ended. Reports a failed push once, and the first success after it."""
        seen, failed = 0, False
        while not ended.is_set():
            seen = self.board.wait(seen, every_s)
            latest = self.board.latest()
            why = self.pushes.push(latest) if latest else None
            if why is not None and not failed:
                self.voice.warn(f"metrics were not pushed to {self.where}: {mask_text(why)}")
            elif why is None and failed:
                self.voice.narrate(f"metrics are pushed to {self.where} again")
            failed = why is not None


class _Watch:
    """The cycles of one cluster."""

    def __init__(self, watched: Watched, once: "_Once", board: Board, every_s: float) -> None:
        self._watched, self._once, self._board, self._every_s = watched, once, board, every_s

    def require(self) -> None:
        """Raises errors that keep every cycle from beginning."""
        self._watched.session(self._once)

    def run(self, ended: Event) -> None:
        """One cycle after the other; a long one is followed by an equally long pause, up to the interval."""
        last_success, unread_before = None, frozenset[str]()
        while not ended.is_set():
            began = monotonic()
            found = self._cycle(last_success)
            if ended.is_set():
                return
            took, last_success = monotonic() - began, found.cycle.last_success
            self._watched = self._watched.continuing(found.log, found.churn)
            self._board.publish(found, CYCLES_SHOWN * (self._every_s + took))
            unread_before = self._report(found, unread_before)
            del found
            gc.collect()  # the thresholds of a command would let a service keep what many cycles read
            ended.wait(max(self._every_s - took, min(took, self._every_s)))

    def _cycle(self, last_success: int | None) -> Observation:
        try:
            return observe(self._watched, self._watched.session(self._once), last_success)
        except EosctlError as error:
            reason = Skipped.of(error)
        except Exception as error:  # noqa: BLE001  # a bug in one cycle must not end the watch, and is reported
            reason = Skipped(f"this is a bug: {type(error).__name__}: {mask_text(str(error))}")
        return observation(self._watched, Answers.none(reason), Cycle(Session.now(), 0, {}, last_success))

    def _report(self, found: Observation, unread_before: frozenset[str]) -> frozenset[str]:
        """Warns of facts that the last cycle had and that are missing in this one; returns the missing facts."""
        name = self._watched.profile
        by_reason: dict[str, list[str]] = {}
        for each in found.coverage.gaps:
            by_reason.setdefault(each.reason, []).append(each.what)
        unread = {f"{name and f'{name}: '}not read: {first_few(what)}: {why}" for why, what in by_reason.items()}
        for line in sorted(unread - unread_before):
            self._once.voice.warn(line)
        if unread_before and not unread:
            self._once.voice.narrate(f"{name and f'{name}: '}all was read again")
        return frozenset(unread)


class _Once:
    """A reporter for the sessions of cycles: no progress, no repetition."""

    def __init__(self, console: Reporter, voice: Voice) -> None:
        self._console, self.voice, self._said = console, voice, set[str]()

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        """Narrates each text once; a text of -v each time."""
        if verbosity:
            self.voice.narrate(text, verbosity=verbosity)
        elif text not in self._said:
            self._said.add(text)
            self.voice.narrate(text)

    def waiting(self, text: str) -> None:
        """Does nothing: the length of a cycle is one of its metrics."""

    def warn(self, text: str) -> None:
        """Warns of each text once."""
        if text not in self._said:
            self._said.add(text)
            self.voice.warn(text)

    def confirm(self, question: str, *, yes: bool, name: str | None = None) -> None:
        """Returns at once: cycles do not ask."""
        self._console.confirm(question, yes=yes, name=name)

    @contextmanager
    def progress(self, label: str, total: int | None = None, *, unit: str = "") -> Iterator[Advance]:
        """Shows no progress."""
        yield lambda _: None

    def results(self, label: str, total: int, *, unit: str = "") -> AbstractContextManager[Callable[[str], None]]:
        """As the console."""
        return self._console.results(label, total, unit=unit)


INSTALLED: Final = "/usr/local/bin/eosctl"
"""The assumed path if the PATH does not show it."""


def watch_file(kind: Emitted, profiles: Sequence[str], listening: Listening, runbooks: str) -> WatchFile:
    """The contents of the file; runbooks is where the page of alerts is.

    UsageError without a profile, which holds addresses and secrets.
    """
    if kind.names_profiles and not profiles:
        raise UsageError(
            f"--emit {kind} needs the profiles to watch", hint="name them; `eosctl profile list` shows all profiles"
        )
    program = shutil.which("eosctl") or INSTALLED
    return WatchFile(
        kind=kind,
        alerts=ALERTS,
        rows=ROWS,
        each_cluster=CYCLE_AS_OF,
        profiles=tuple(profiles),
        address=listening.address,
        every_s=listening.every_s,
        program=program,
        version=__version__,
        runbooks=runbooks,
    )
