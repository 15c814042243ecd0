"""One cycle of `watch`: what the commands ask, and their answers as metrics.

Each cycle is a session of its own, as that of a command: nothing that it learned of brokers, connections or
certificates outlives it. What several commands ask alike is asked once in a cycle, by `doctor`, the first of them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Final, TypeVar

from eosctl.analysis.metrics.cycle import cycle_samples, stale_samples
from eosctl.errors import EosctlError, UsageError
from eosctl.model.coverage import Coverage
from eosctl.model.report import Severity
from eosctl.model.rules import Diagnosis
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.transaction_log import LogReading
from eosctl.model.transactions import Selection
from eosctl.model.watch import Answers, Cycle, Observation
from eosctl.operations.audit.history import read_last_runs
from eosctl.operations.diagnosis import diagnose_cluster
from eosctl.operations.evidence.request import ROLES, EvidenceRequest
from eosctl.operations.hanging import HangingRequest, find_hanging
from eosctl.operations.last_stable import StabilityRequest, last_stable_offsets
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.operations.offsets import show_offsets
from eosctl.operations.profiles import chosen_profile, triage_under, worker_settings_in
from eosctl.operations.reporter import Reporter
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.transactions import list_transactions
from eosctl.sources.coverage_log import KeptFacts

T = TypeVar("T")
LONGEST_TRANSACTION_MS: Final = 15 * 60_000
"""The default of transaction.max.timeout.ms, and of `transactions hanging`."""


@dataclass(frozen=True, slots=True)
class Watched:
    """One cluster that is watched: how it is reached, and what `doctor` is given for it.

    kept are the facts that the commands of a cycle share, and those of earlier cycles; without it, each reads its own.
    """

    options: SessionOptions
    evidence: EvidenceRequest
    store: str | None = None
    kept: KeptFacts | None = field(default_factory=KeptFacts, compare=False)

    @property
    def profile(self) -> str:
        """The name of its profile, empty where it has none."""
        return "" if self.options.profile is None else self.options.profile.name

    @property
    def config_topic(self) -> str:
        """The workers' config topic."""
        return self.evidence.topics.get("config") or "connect-configs"

    def continuing(self, log: LogReading) -> "Watched":
        """The same after a cycle: the next one continues this reading of the transaction log."""
        if self.kept is not None:
            self.kept.next_session()
        return replace(self, evidence=replace(self.evidence, log=log))

    def session(self, console: Reporter) -> Session:
        """A session of one cycle. Raises what is wrong with the profile, or UsageError where no brokers are named."""
        triage = triage_under(self.options.profile, Severity.INFO, None)
        session = Session(replace(self.options, console=console, triage=triage))
        session.kept = self.kept
        if not session.client_properties.bootstrap_servers:
            self.options.need_bootstrap_servers()
        return session


def watched_profiles(names: Iterable[str], options: SessionOptions, evidence: EvidenceRequest) -> tuple[Watched, ...]:
    """The clusters of these profiles, with what their worker files say; of the options only those of no cluster hold.

    Raises UsageError where a flag names a cluster too, ConfigError where a profile does not exist.
    """
    flags = [each for each in options.sources.values() if each.startswith("--") and each != "--timeout"]
    if flags:
        raise UsageError(f"profiles are named, and {flags[0]} names a cluster too", hint="give one or the other")
    return tuple(_of_profile(name, options, evidence) for name in dict.fromkeys(names))


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
    topics = {role: settings.get(f"{'offset' if role == 'offsets' else role}.storage.topic") for role in ROLES}
    return Watched(own, replace(evidence, topics=topics, worker_files=files), profile.audit_store)


def observe(watched: Watched, session: Session, last_success: int | None = None) -> Observation:
    """One cycle with this session, which is closed at its end. A command that cannot answer is Skipped."""
    began = monotonic()
    with session:
        answers = _answers(session, watched)
        duration_ms = int(1000 * (monotonic() - began))
        return observation(watched, answers, Cycle(session.now(), duration_ms, session.requests, last_success))


def observation(watched: Watched, answers: Answers, cycle: Cycle) -> Observation:
    """What the answers of this cycle are as samples; it was a success where they lack nothing."""
    lacks = tuple(replace(each, what=f"{command}: {each.what}") for command, each in answers.unread)
    cycle = cycle if lacks else replace(cycle, last_success=cycle.as_of)
    known = answers.transactions
    return Observation(
        profile=watched.profile,
        cycle=cycle,
        cluster_id=None if isinstance(known, Skipped) else known.cluster_id,
        samples=cycle_samples(answers, cycle),
        when_stale=stale_samples(cycle),
        coverage=Coverage((), lacks),
        log=_log(watched.evidence.log, answers.diagnosis),
    )


def _log(earlier: LogReading, diagnosis: Diagnosis | Skipped) -> LogReading:
    """The reading of the transaction log after this cycle: the earlier one stays where this cycle could not read it."""
    found = None if isinstance(diagnosis, Skipped) else diagnosis.evidence.log_reading
    return earlier if found is None else found


def _answers(session: Session, watched: Watched) -> Answers:
    """A cluster that does not answer at all is asked once."""
    options, topic, topics = session.options, watched.config_topic, watched.evidence.topics

    def asked(ask: Callable[[], T]) -> T | Skipped:
        try:
            return ask()
        except EosctlError as error:
            return Skipped.of(error)
        finally:
            session.ask_again()  # each command has a coverage of its own

    store = watched.store
    audits = not_asked("no --store was given") if store is None else asked(lambda: read_last_runs(session, store))
    cluster = asked(session.reader.cluster)
    if isinstance(cluster, Skipped):
        return replace(Answers.none(cluster), audits=audits)
    has_connect = bool(options.connect_urls) or asked(lambda: session.reader.group_id) is not None
    hanging = HangingRequest((), None, LONGEST_TRANSACTION_MS, topic, topics.get("offsets"))
    offsets = OffsetsRequest(
        config_topic=topic,
        worker_offsets_topic=topics.get("offsets"),
        worker_config=next(iter(watched.evidence.worker_files), None),
    )
    return Answers(
        diagnosis=asked(lambda: diagnose_cluster(session, watched.evidence)),
        transactions=asked(lambda: list_transactions(session.reader, Selection(), topic)),
        hanging=asked(lambda: find_hanging(session.reader, hanging)),
        last_stable=asked(lambda: last_stable_offsets(session.reader, StabilityRequest((), topic))),
        offsets=asked(lambda: show_offsets(session, offsets))
        if has_connect
        else not_asked("neither --group-id nor --connect-url was given"),
        audits=audits,
    )
