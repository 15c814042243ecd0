"""Reading the evidence that the rules need: what workers answer, then what brokers do."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from eosctl.model.evidence import ClusterEvidence, Evidence, InternalTopic, Preflight, WorkerEvidence
from eosctl.model.groups import ListedGroup, ShareGroups
from eosctl.model.inspection import Inspection
from eosctl.model.merged_offsets import OffsetsReport
from eosctl.model.skipped import Cause, Skipped, not_asked, or_skipped
from eosctl.model.transactions import (
    Descriptions,
    ListedTransactions,
    TransactionDescription,
    TransactionState,
)
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import ConnectorStatus
from eosctl.operations.acl.principals import named_principals
from eosctl.operations.config_topic import settled
from eosctl.operations.evidence.acls import read_acl_differences
from eosctl.operations.evidence.connectors import read_active_topics, with_connectors
from eosctl.operations.evidence.mirrors import read_mirrors
from eosctl.operations.evidence.request import (
    EvidenceRequest,
    group_id_of,
    inspection_of,
    offsets_request,
    topics_of,
    without_brokers,
    worker_files_of,
)
from eosctl.operations.evidence.transactions import leaderless, with_transactions
from eosctl.operations.offsets import read_offsets, report_of
from eosctl.operations.session import Session
from eosctl.sources.cluster_reader import ClusterReader


class _Workers(NamedTuple):
    """What the workers answer."""

    workers: Mapping[str, WorkerEvidence | Skipped] | Skipped
    statuses: Mapping[str, ConnectorStatus] | Skipped
    preflight: Mapping[str, Preflight] | Skipped
    version: KafkaVersion | Skipped


def read_evidence(session: Session, request: EvidenceRequest) -> Evidence:
    """All that can be read. Raises where no broker or no worker answers, of those that were named."""
    reader, principals = session.reader, named_principals(request.principals)
    cluster = reader.cluster()  # an unreachable cluster ends the command at once
    answered = _read_workers(reader, request)  # the brokers name some of the workers
    files = worker_files_of(request, answered.workers)
    if reader.group_id is None and isinstance(group_id_of(None, files), Skipped):
        session.require_no_choice()
    known = Evidence(
        as_of=reader.now(),
        group_id=group_id_of(reader.group_id, files),
        workers=answered.workers,
        worker_files=files,
        statuses=answered.statuses,
        preflight=answered.preflight,
    )
    if isinstance(cluster, Skipped) and cluster.cause is Cause.NOT_ASKED:
        if isinstance(answered.workers, Skipped):
            session.options.need_bootstrap_servers()
        return without_brokers(known, cluster)
    cluster_id = cluster if isinstance(cluster, Skipped) else cluster.cluster_id
    known = replace(known, cluster_id=cluster_id, clock=reader.clock())
    topics = topics_of(request, known, reader.worker_offsets_topic())
    known = _with_brokers(reader, known, topics, answered.version)
    offsets = or_skipped(lambda: _offsets(reader, known, topics, answered.version))
    acls = or_skipped(lambda: read_acl_differences(session, request, principals, topics, answered.workers))
    known = replace(
        known,
        internal_topics=_taken_rightly(known, offsets),
        offset_findings=offsets if isinstance(offsets, Skipped) else offsets.findings,
        mirrors=read_mirrors(session, request, known, offsets),
        acl_differences=acls if isinstance(acls, Skipped) else acls.by_phase,
        acl_in_force=acls if isinstance(acls, Skipped) else acls.in_force,
    )
    known = with_connectors(reader, known, read_active_topics(reader, known))
    return with_transactions(reader, known, request.log)


def _read_workers(reader: ClusterReader, request: EvidenceRequest) -> _Workers:
    workers = reader.worker_evidence()
    preflight = reader.preflight() if request.preflight else not_asked("--no-preflight")
    return _Workers(workers, reader.connector_statuses(), preflight, or_skipped(reader.connect_version))


def _with_brokers(
    reader: ClusterReader, known: Evidence, topics: dict[str, str], version: KafkaVersion | Skipped
) -> Evidence:
    def look(evidence: Evidence) -> Inspection:
        return inspection_of(reader.config_topic(topics["config"]), evidence, version)

    def look_again() -> Inspection:
        return look(replace(known, statuses=reader.connector_statuses()))

    inspection = or_skipped(lambda: settled(reader, look(known), look_again))
    if not isinstance(inspection, Skipped):
        topics = {**topics, "config": inspection.topic}
    listed, groups = or_skipped(reader.transactional_ids), reader.groups()
    group_id = known.group_id
    return replace(
        known,
        group=group_id if isinstance(group_id, Skipped) else reader.connect_group(group_id),
        inspection=inspection,
        brokers=reader.broker_settings(),
        broker_releases=reader.broker_releases(),
        finalized_features=reader.finalized_features(),
        share_groups=_share_groups(reader, groups),
        internal_topics=tuple(reader.internal_topic(role, name) for role, name in topics.items()),
        transaction_log=reader.transaction_log_topic(),
        transactional_ids=listed
        if isinstance(listed, Skipped)
        else tuple(each.transactional_id for each in listed.transactions),
        unlisted=() if isinstance(listed, Skipped) else listed.unlisted,
        open_transactions=listed if isinstance(listed, Skipped) else or_skipped(lambda: _ongoing(reader, listed)),
        groups=_protocols(groups),
    )


def _ongoing(reader: ClusterReader, listed: ListedTransactions) -> tuple[TransactionDescription, ...]:
    """Those that were ongoing as they were listed; one whose coordinator does not answer is left out."""
    names = [each.transactional_id for each in listed.transactions if each.state is TransactionState.ONGOING]
    found = reader.describe(names).values() if names else ()
    return tuple(each for each in found if isinstance(each, TransactionDescription) and each.start_ms is not None)


def _taken_rightly(known: Evidence, offsets: OffsetsReport | Skipped) -> tuple[InternalTopic, ...] | Skipped:
    """The internal topics without those whose records show another topic: nothing else is said of these."""
    if isinstance(known.internal_topics, Skipped):
        return known.internal_topics
    wrong = set()
    if not isinstance(known.inspection, Skipped) and not known.inspection.census.is_config_topic:
        wrong.add("config")
    if not isinstance(offsets, Skipped) and not offsets.is_offsets_topic:
        wrong.add("offsets")
    return tuple(each for each in known.internal_topics if each.role not in wrong)


def _share_groups(reader: ClusterReader, groups: Mapping[str, ListedGroup] | Skipped) -> ShareGroups | Skipped:
    if isinstance(groups, Skipped):
        return groups
    names = [name for name, each in groups.items() if each.is_share]
    return reader.share_groups(names) if names else {}


def _protocols(groups: Mapping[str, ListedGroup] | Skipped) -> Mapping[str, str] | Skipped:
    return groups if isinstance(groups, Skipped) else {name: each.protocol_type for name, each in groups.items()}


def read_cluster_evidence(
    reader: ClusterReader, request: EvidenceRequest, transactions: Descriptions | Skipped
) -> ClusterEvidence:
    """What a snapshot keeps for the rules; `transactions` are those of the same snapshot."""
    workers = or_skipped(reader.worker_evidence)
    files = worker_files_of(request, workers)
    group_id = group_id_of(reader.group_id, files)
    known = Evidence(as_of=reader.now(), worker_files=files, group_id=group_id, statuses=reader.connector_statuses())
    topics = topics_of(request, known, None)
    version, groups = or_skipped(reader.connect_version), reader.groups()
    inspection = or_skipped(lambda: inspection_of(reader.config_topic(topics["config"]), known, version))
    known = replace(known, inspection=inspection, groups=_protocols(groups))
    active = read_active_topics(reader, known)
    known = with_connectors(reader, known, active)
    return ClusterEvidence(
        workers=workers,
        group=group_id if isinstance(group_id, Skipped) else reader.connect_group(group_id),
        brokers=reader.broker_settings(),
        broker_releases=reader.broker_releases(),
        finalized_features=reader.finalized_features(),
        share_groups=_share_groups(reader, groups),
        internal_topics=tuple(reader.internal_topic(role, name) for role, name in topics.items()),
        transaction_log=reader.transaction_log_topic(),
        leaderless=transactions if isinstance(transactions, Skipped) else leaderless(reader, transactions),
        active_topics=active,
        topics=known.topics,
        other_groups=known.other_groups,
        groups_elsewhere=known.groups_elsewhere,
    )


def _offsets(
    reader: ClusterReader, known: Evidence, topics: Mapping[str, str], version: KafkaVersion | Skipped
) -> OffsetsReport:
    """The answer of `offsets show`."""
    request = offsets_request(known, topics, version)
    return report_of(read_offsets(reader, request), request)
