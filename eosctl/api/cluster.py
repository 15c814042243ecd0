"""A cluster, live or saved: the questions that the reading commands answer, and the plans that the writing ones make.

Each question reads again, over connections that are kept. An answer says what is missing from it: `answer.complete`,
`answer.coverage.unread`; `eosctl.require(answer)` raises then. An answer that `found` something
is no error. Narration and warnings go to the logger `eosctl`. A Cluster is for one thread at a time.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from eosctl.api.proposals import ProposedFencing, ProposedPlan, WriteAccess, kept_plan
from eosctl.errors import EosctlError, Refused
from eosctl.model.audit import AuditReport
from eosctl.model.config_topic import ConfigTopicHistory, InspectedConfigTopic
from eosctl.model.connector_description import DescribedConnector, ListedConnectors
from eosctl.model.evidence import SnapshotFile
from eosctl.model.fencing import FencingRequest
from eosctl.model.hanging import HangingTransactions, LastStableOffsets
from eosctl.model.names import ProducerIdAndEpoch, TopicPartition
from eosctl.model.offsets import OffsetsExport, OffsetsReport, Store
from eosctl.model.planned import Applied, Planned
from eosctl.model.records import IsolationLevel
from eosctl.model.report import Result, Severity
from eosctl.model.rules import Diagnosis, Phase, UpgradeCheck
from eosctl.model.timeline import Timeline
from eosctl.model.tracing import Trace
from eosctl.model.transaction_ends import AbortRequest, CommitRequest, MissingMarkerRequest
from eosctl.model.transaction_log import TransactionHistory, TransactionLogReport
from eosctl.model.transactions import (
    ProducerList,
    Selection,
    TransactionDescriptions,
    TransactionList,
    TransactionState,
)
from eosctl.operations import transaction_ends
from eosctl.operations.audit import ReportFormats, run_and_report
from eosctl.operations.audit_request import AuditRequest
from eosctl.operations.config_topic import ConfigTopicRequest, config_topic_history, inspect_config_topic
from eosctl.operations.connector_description import list_connectors, show_connector
from eosctl.operations.diagnosis import diagnose_cluster, wait_for_upgrade
from eosctl.operations.evidence import EvidenceRequest
from eosctl.operations.fencing import read_and_plan
from eosctl.operations.hanging import HangingRequest, StabilityRequest, find_hanging, last_stable_offsets
from eosctl.operations.migration import migrate
from eosctl.operations.migration_request import MigrationOptions
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.operations.offsets import export_offsets, show_offsets
from eosctl.operations.plan_files import read_plan
from eosctl.operations.profiles import chosen_profile, triage_under, worker_settings_in
from eosctl.operations.restore import RestoreOptions, restore_offsets
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.snapshot import SnapshotRequest, save_snapshot
from eosctl.operations.timeline import TimelineRequest, read_timeline
from eosctl.operations.tracing import TraceRequest, trace
from eosctl.operations.transaction_log import LogRequest, fold_log, log_history
from eosctl.operations.transactions import (
    DescribeRequest,
    ProducersRequest,
    describe_transactions,
    list_producers,
    list_transactions,
)
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions
from eosctl.render.answers.audit import view_audit
from eosctl.render.audit_page import render_audit_page
from eosctl.render.formats import json_of

LOGGER: Final = logging.getLogger("eosctl")
A = TypeVar("A", bound=Result)

NO_PROPERTIES: Final[Mapping[str, str]] = MappingProxyType({})


class Workers(Struct, frozen=True, kw_only=True):
    """The Connect workers, as far as you know them: what is None or empty is found out where that can be done.

    urls are addresses of their REST interface; the topics are config.storage.topic, offset.storage.topic and
    status.storage.topic; properties_files are workers' own files, of which the first gives what else is None.
    """

    group_id: str | None = None
    urls: tuple[str, ...] = ()
    config_topic: str | None = None
    offsets_topic: str | None = None
    status_topic: str | None = None
    properties_files: tuple[str | Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(map(Path, self.properties_files))

    @property
    def topics(self) -> dict[str, str | None]:
        """Each internal topic by its role."""
        return {"config": self.config_topic, "offsets": self.offsets_topic, "status": self.status_topic}

    def by_files(self) -> Self:
        """The same, with what the first of the files says of them."""
        if not self.properties_files:
            return self
        settings = worker_settings_in(self.files[0])
        return replace(
            self,
            group_id=self.group_id or settings.get("group.id"),
            config_topic=self.config_topic or settings.get("config.storage.topic"),
            offsets_topic=self.offsets_topic or settings.get("offset.storage.topic"),
            status_topic=self.status_topic or settings.get("status.storage.topic"),
        )


class _Logging:
    """The console of an operation for a program: its messages go to the log. It cannot ask."""

    def narrate(self, text: str, *, verbosity: int = 0) -> None:
        LOGGER.log(logging.DEBUG if verbosity else logging.INFO, "%s", text)

    def waiting(self, text: str) -> None:
        LOGGER.info("%s", text)

    def warn(self, text: str) -> None:
        LOGGER.warning("%s", text)

    def confirm(self, question: str, *, yes: bool, name: str | None = None) -> None:
        if not yes or name is not None:
            raise Refused(f"not confirmed: {question}", hint="name the cluster and its workers in the program")

    def progress(
        self, label: str, total: int | None = None, *, unit: str = ""
    ) -> AbstractContextManager[Callable[[int], None]]:
        return nullcontext(lambda _: None)

    def results(self, label: str, total: int, *, unit: str = "") -> AbstractContextManager[Callable[[str], None]]:
        return nullcontext(self.narrate)


def connect(
    bootstrap_servers: str | None = None,
    *,
    workers: Workers | None = None,
    properties: Mapping[str, str] = NO_PROPERTIES,
    command_config: str | Path | None = None,
    profile: str | None = None,
    timeout_s: float | None = None,
) -> "Cluster":
    """The cluster at these brokers, or of this profile; nothing is connected to before the first question.

    properties are a Java client's, as is the file command_config; timeout_s bounds each request (30 s by default).
    No profile is used that is not named. Raises ConfigError where the profile or a file is wrong.
    """
    chosen = chosen_profile(profile or "").profile
    known = workers or Workers()
    if chosen is not None:
        known = replace(
            known,
            group_id=known.group_id or chosen.group_id,
            urls=known.urls or chosen.connect_urls,
            properties_files=known.properties_files or chosen.worker_configs,
        )
        timeout_s = timeout_s or chosen.timeout_s
    known = known.by_files()
    options = SessionOptions(
        console=_Logging(),
        bootstrap_servers=bootstrap_servers,
        command_config=None if command_config is None else Path(command_config),
        properties=MappingProxyType(dict(properties)),
        connect_urls=known.urls,
        group_id=known.group_id,
        timeout_s=timeout_s or 30.0,
        profile=chosen,
        worker_configs=known.files,
        named_topics=frozenset(role for role, topic in known.topics.items() if topic is not None),
        triage=triage_under(chosen, Severity.INFO, None),
    )
    return Cluster(options, known)


def open_snapshot(path: str | Path) -> "Cluster":
    """A cluster as `snapshot save` wrote it: it answers the same questions, and makes no plan."""
    return Cluster(SessionOptions(console=_Logging(), snapshot=Path(path)), Workers())


class Cluster:
    """A Kafka cluster with its Connect cluster. Close it, or use it in `with`."""

    def __init__(self, options: SessionOptions, workers: Workers) -> None:
        self._options = options
        self._workers = workers
        self._config_topic = workers.config_topic or "connect-configs"
        self._session = Session(options)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self._session.__exit__(kind, error, traceback)

    def close(self) -> None:
        self.__exit__()

    @contextmanager
    def _asking(self) -> Iterator[Session]:
        """One question: facts are read again, and an error has the hint that its command gives."""
        self._session.ask_again()
        try:
            yield self._session
        except EosctlError as error:
            self._session.conclude(error)
            raise
        self._session.conclude()

    @property
    def cluster_id(self) -> str | None:
        """The Kafka cluster's ID; None where a snapshot has none."""
        with self._asking() as session:
            return session.reader.cluster_id

    # Connectors, and where they are.

    def connectors(self) -> ListedConnectors:
        """All connectors with the states of their tasks, as `eosctl connector list`."""
        with self._asking() as session:
            return self._triaged(list_connectors(session, self._evidence()))

    def connector(self, name: str) -> DescribedConnector:
        """All that concerns one connector, as `eosctl connector show`."""
        with self._asking() as session:
            return self._triaged(show_connector(session, name, self._evidence()))

    def inspect_config(
        self, *connectors: str, isolation: IsolationLevel = IsolationLevel.READ_COMMITTED
    ) -> InspectedConfigTopic:
        """The config topic as a worker reads it, as `eosctl inspect-config`."""
        request = ConfigTopicRequest(connectors, self._config_topic, isolation)
        with self._asking() as session:
            return self._triaged(inspect_config_topic(session, request))

    def config_history(self, *connectors: str) -> ConfigTopicHistory:
        """Every record of the config topic with its effect."""
        with self._asking() as session:
            return self._triaged(config_topic_history(session, ConfigTopicRequest(connectors, self._config_topic)))

    def offsets(self, *connectors: str) -> OffsetsReport:
        """Source offsets by store, and which one each task will begin at, as `eosctl offsets show`."""
        with self._asking() as session:
            return self._triaged(show_offsets(session, self._offsets_of(connectors)))

    def export_offsets(
        self, target: str | Path, *connectors: str, store: Store = Store.KAFKA_EFFECTIVE, overwrite: bool = False
    ) -> OffsetsExport:
        """Writes KIP-875's bodies: to the file target for one connector, otherwise into the directory target.

        UsageError for a file that exists, unless overwrite.
        """
        request, name = self._offsets_of(connectors), str(target)
        with self._asking() as session:
            return self._triaged(export_offsets(session, request, name, store, overwrite=overwrite))

    def timeline(self, *connectors: str, since: datetime | None = None, until: datetime | None = None) -> Timeline:
        """Events in order of time, as in `eosctl timeline`. Times without a zone are in this machine's time zone."""
        request = TimelineRequest(
            connectors,
            since=_ms(since),
            until=_ms(until),
            config_topic=self._config_topic,
            status_topic=self._workers.status_topic,
            worker_offsets_topic=self._workers.offsets_topic,
        )
        with self._asking() as session:
            return self._triaged(read_timeline(session, request))

    # Transactions and producers (KIP-664).

    def list_transactions(
        self,
        *,
        states: Iterable[TransactionState] = (),
        producer_ids: Iterable[int] = (),
        pattern: str | None = None,
        longer_than_s: float | None = None,
        owner: str | None = None,
    ) -> TransactionList:
        """Transactional IDs of all coordinators, described, with their owners.

        pattern is a regular expression for the whole ID; longer_than_s keeps transactions that are open for longer.
        """
        selection = Selection(
            tuple(states),
            tuple(producer_ids),
            None if pattern is None else re.compile(pattern),
            None if longer_than_s is None else int(1000 * longer_than_s),
            owner,
        )
        with self._asking() as session:
            return self._triaged(list_transactions(session.reader, selection, self._config_topic))

    def describe_transactions(self, *transactional_ids: str) -> TransactionDescriptions:
        """State, producer, timeout and partitions of each ID, as its coordinator has them."""
        with self._asking() as session:
            request = DescribeRequest(transactional_ids, self._config_topic)
            return self._triaged(describe_transactions(session.reader, request))

    def describe_producers(self, *partitions: str) -> ProducerList:
        """The producers that the leaders of these partitions know, with their transactional IDs.

        A partition is TOPIC, TOPIC:0 or TOPIC:0,1.
        """
        with self._asking() as session:
            return self._triaged(list_producers(session.reader, ProducersRequest(partitions, self._config_topic)))

    def hanging_transactions(
        self, *partitions: str, broker: int | None = None, max_timeout_s: float = 900.0
    ) -> HangingTransactions:
        """Open transactions that no coordinator will end, in these partitions or in all."""
        offsets = self._workers.offsets_topic
        request = HangingRequest(partitions, broker, int(1000 * max_timeout_s), self._config_topic, offsets)
        with self._asking() as session:
            return self._triaged(find_hanging(session.reader, request))

    def last_stable_offsets(self, *partitions: str, group: str | None = None) -> LastStableOffsets:
        """How far read_committed consumers get in these partitions, or where they are held back, and by whom."""
        request = StabilityRequest(partitions, self._config_topic, group=group)
        with self._asking() as session:
            return self._triaged(last_stable_offsets(session.reader, request))

    def transaction_log(self, *transactional_ids: str) -> TransactionLogReport:
        """The last state of each ID in __transaction_state, with findings."""
        with self._asking() as session:
            return self._triaged(fold_log(session, self._log_of(transactional_ids)))

    def transaction_history(self, *transactional_ids: str) -> TransactionHistory:
        """Every record that __transaction_state still has, with its effect."""
        with self._asking() as session:
            return self._triaged(log_history(session, self._log_of(transactional_ids)))

    def trace(self, place: str, *, key: str | None = None, at: datetime | None = None, within: int = 100_000) -> Trace:
        """The transaction of one record: TOPIC-PARTITION@OFFSET, or the last of a key, or the first at that time."""
        request = TraceRequest.of(place, key, _ms(at), within, (), self._config_topic)
        with self._asking() as session:
            return self._triaged(trace(session, request))

    # The whole cluster.

    def diagnose(self, *, preflight: bool = True) -> Diagnosis:
        """All rules, as `eosctl doctor`; preflight: workers validate each config as if it required exactly-once."""
        with self._asking() as session:
            return self._triaged(diagnose_cluster(session, replace(self._evidence(), preflight=preflight)))

    def check_upgrade(self, to: Phase, *, wait_s: float = 0.0) -> UpgradeCheck:
        """Whether the next rolling step may start, as `eosctl upgrade-check`."""
        with self._asking() as session:
            return self._triaged(wait_for_upgrade(session, replace(self._evidence(), preflight=False), to, wait_s))

    def audit(self, *topics: str, connectors: Sequence[str] = (), store: str | None = None) -> AuditReport:
        """Whether exactly-once held, by the record batches of these topics, or of all that are known.

        store is the URL of a ledger, in which the audit continues from its last run.
        """
        request = AuditRequest(self._offsets_of(connectors), topics, store=store)
        formats = ReportFormats(lambda found: json_of(view_audit(found), found), render_audit_page)
        with self._asking() as session:
            return self._triaged(run_and_report(session, request, formats))

    def save_snapshot(self, path: str | Path, *, overwrite: bool = False) -> SnapshotFile:
        """Writes the file that `open_snapshot` takes. It has no secrets. UsageError if it exists, unless overwrite."""
        files = self._workers.files
        request = SnapshotRequest(
            Path(path), self._config_topic, self._workers.offsets_topic, files[0] if files else None, overwrite
        )
        with self._asking() as session:
            return self._triaged(save_snapshot(session, request))

    # Plans. Each is made and returned; nothing is written before its `apply`.

    def plan_migration(self, request: MigrationOptions) -> ProposedPlan:
        """A move of connectors' offsets, as `eosctl migrate-offsets`; its plan_file is not used."""
        offsets_topic = self._workers.offsets_topic or request.worker_offsets_topic
        request = replace(request, plan_file=None, worker_offsets_topic=offsets_topic)
        return self._planned(lambda session, to: migrate(session, to, request, _show_nothing), request.target)

    def plan_restore(
        self,
        file: str | Path,
        connector: str,
        *,
        stop: bool = False,
        resume: bool = False,
        create_keys: bool = False,
        force: bool = False,
    ) -> ProposedPlan:
        """The offsets of an export, for this connector, as `eosctl offsets restore`."""
        topic = self._workers.offsets_topic or "connect-offsets"
        request = RestoreOptions(Path(file), connector, stop, resume, None, topic, None, create_keys, force)
        return self._planned(lambda session, to: restore_offsets(session, to, request, _show_nothing))

    def plan_abort(
        self,
        topic: str,
        partition: int,
        *,
        start_offset: int | None = None,
        producer_id: int | None = None,
        max_timeout_s: float = 900.0,
        force: bool = False,
    ) -> ProposedPlan:
        """The end of hanging transactions of a partition, as `eosctl transactions abort`."""
        place, age_ms = TopicPartition(topic, partition), int(1000 * max_timeout_s)
        request = AbortRequest(place, start_offset, producer_id, age_ms, force)
        return self._planned(lambda session, to: transaction_ends.abort(session, to, request, None, _show_nothing))

    def plan_commit(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        *,
        watch_s: float = 5.0,
        missing_markers: bool = False,
    ) -> ProposedPlan:
        """A commit for an owner that cannot commit, or the missing markers of one, as `eosctl transactions commit`."""
        if missing_markers:
            lacking = MissingMarkerRequest(transactional_id, ProducerIdAndEpoch(producer_id, producer_epoch))
            return self._planned(
                lambda session, to: transaction_ends.write_missing_markers(session, to, lacking, None, _show_nothing)
            )
        request = CommitRequest(transactional_id, ProducerIdAndEpoch(producer_id, producer_epoch), watch_s)
        return self._planned(
            lambda session, to: transaction_ends.commit(session, to, request, self._config_topic, None, _show_nothing)
        )

    def plan_fencing(self, request: FencingRequest) -> ProposedFencing:
        """Which producers would be fenced, as `eosctl fence`."""
        access = self._access()
        with Session(access.writing(dry_run=True)) as session:
            return ProposedFencing(read_and_plan(session, request, self._config_topic), request, access)

    def read_plan(self, path: str | Path, *, digest: str | None = None) -> ProposedPlan:
        """The plan in a file, checked against the cluster now; Refused where it has another digest."""
        return kept_plan(read_plan(Path(path), digest), self._access())

    def _planned(
        self,
        make: Callable[[Session, SourceAndTarget], Planned | Applied],
        target: TargetOptions = TargetOptions(),  # noqa: B008  # it is frozen
    ) -> ProposedPlan:
        access = self._access(target)
        with (
            Session(access.writing(dry_run=True)) as session,
            SourceAndTarget(session, self._config_topic, target) as clusters,
        ):
            planned = make(session, clusters)
        assert isinstance(planned, Planned)  # a dry run applies nothing
        return ProposedPlan(planned, access)

    def _access(self, target: TargetOptions = TargetOptions()) -> WriteAccess:  # noqa: B008  # it is frozen
        return WriteAccess(self._options, self._config_topic, target)

    def _evidence(self) -> EvidenceRequest:
        return EvidenceRequest(self._workers.topics, self._workers.files)

    def _offsets_of(self, connectors: Sequence[str]) -> OffsetsRequest:
        files = self._workers.files
        return OffsetsRequest(
            tuple(connectors),
            config_topic=self._config_topic,
            worker_offsets_topic=self._workers.offsets_topic,
            worker_config=files[0] if files else None,
        )

    def _log_of(self, transactional_ids: Iterable[str]) -> LogRequest:
        return LogRequest(frozenset(transactional_ids), (), None, None, self._config_topic)

    def _triaged(self, answer: A) -> A:
        """The answer with its findings treated as the profile says."""
        return answer.under(self._options.triage)


def _ms(time: datetime | None) -> int | None:
    return None if time is None else int(time.timestamp() * 1000)


def _show_nothing(_: Planned) -> None:
    """A program reads the plan where it is returned."""
