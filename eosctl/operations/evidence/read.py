"""Reading the evidence that the rules ask for: workers and brokers at the same time, or a snapshot."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

from eosctl.model.evidence import ClusterEvidence, Evidence, WorkerEvidence
from eosctl.model.report import Finding
from eosctl.model.skipped import Skipped, not_asked, or_skipped
from eosctl.model.transactions import TransactionDescription
from eosctl.model.workers import ConnectorStatus
from eosctl.operations.evidence.acls import read_acl_differences
from eosctl.operations.evidence.request import (
    EvidenceRequest,
    group_id_of,
    inspection_of,
    offsets_request,
    topics_of,
    without_brokers,
    worker_files_of,
)
from eosctl.operations.evidence.transactions import with_transactions
from eosctl.operations.offsets import read_offsets, report_of
from eosctl.operations.reading import (
    read_config_topic,
    read_leaderless,
    read_listed_ids,
)
from eosctl.operations.session import Session

NO_BROKERS = not_asked("no -b/--bootstrap-server was given")
NO_WORKERS = not_asked("no --connect-url was given")


class _Rest(NamedTuple):
    workers: Mapping[str, WorkerEvidence | Skipped] | Skipped
    statuses: Mapping[str, ConnectorStatus] | Skipped
    preflight: Mapping[str, tuple[str, ...] | Skipped] | Skipped


def read_evidence(session: Session, request: EvidenceRequest) -> Evidence:
    """Everything that can be read now. Raises where no broker or no worker answers, of those that were named."""
    if session.options.snapshot is not None:
        from eosctl.operations.evidence.saved import evidence_in
        from eosctl.sources.snapshot_file import read_snapshot_file

        return evidence_in(read_snapshot_file(session.options.snapshot), request)
    with ThreadPoolExecutor(max_workers=1) as pool:
        asked = pool.submit(_read_rest, session, request)
        if not _has_brokers(session):
            return _of_workers(session, request, asked.result())
        session.wire.brokers()  # an unreachable cluster is said at once
        return _of_brokers(session, request, asked.result())


def _has_brokers(session: Session) -> bool:
    has = bool(session.client_properties.bootstrap_servers)
    if not has and not session.options.connect_urls:
        session.options.need_bootstrap_servers()
    return has


def _read_rest(session: Session, request: EvidenceRequest) -> _Rest:
    from eosctl.sources.connect_evidence import read_preflight, read_worker_evidence
    from eosctl.sources.connect_rest import read_connectors

    urls, timeout_s = session.options.connect_urls, session.options.timeout_s
    if not urls:
        return _Rest(NO_WORKERS, NO_WORKERS, NO_WORKERS)
    workers = read_worker_evidence(urls, timeout_s)
    alive = [url for url, each in workers.items() if isinstance(each, WorkerEvidence)]
    preflight = (
        or_skipped(lambda: read_preflight(alive, timeout_s)) if request.preflight else not_asked("--no-preflight")
    )
    return _Rest(workers, or_skipped(lambda: read_connectors(alive[0], timeout_s)), preflight)


def _of_workers(session: Session, request: EvidenceRequest, rest: _Rest) -> Evidence:
    files = worker_files_of(request, rest.workers)
    empty = Evidence(as_of=session.now())
    known = replace(
        without_brokers(empty, NO_BROKERS),
        workers=rest.workers,
        statuses=rest.statuses,
        preflight=rest.preflight,
        worker_files=files,
    )
    return replace(known, group_id=group_id_of(session.options.group_id, files))


def _of_brokers(session: Session, request: EvidenceRequest, rest: _Rest) -> Evidence:
    from eosctl.sources.connect_group import read_connect_group, read_groups
    from eosctl.sources.kafka_evidence import read_broker_settings, read_internal_topic, read_transaction_log

    wire, known = session.wire, _of_workers(session, request, rest)
    topics = topics_of(request, known)
    group_id = known.group_id
    inspection = or_skipped(lambda: inspection_of(read_config_topic(session, topics["config"]), known))
    listed = or_skipped(lambda: read_listed_ids(session))
    known = replace(
        known,
        cluster_id=wire.cluster_id,
        group=group_id if isinstance(group_id, Skipped) else or_skipped(lambda: read_connect_group(wire, group_id)),
        inspection=inspection,
        brokers=read_broker_settings(wire),
        internal_topics=tuple(read_internal_topic(wire, role, name) for role, name in topics.items()),
        transaction_log=or_skipped(lambda: read_transaction_log(wire)),
        transactional_ids=listed if isinstance(listed, Skipped) else listed.transactional_ids,
        unlisted=() if isinstance(listed, Skipped) else listed.unlisted,
        offset_findings=or_skipped(lambda: _offset_findings(session, request, known, topics)),
        groups=or_skipped(lambda: read_groups(wire)),
        acl_differences=or_skipped(lambda: read_acl_differences(_quick(session, known), request, topics)),
    )
    return with_transactions(session, known)


def read_cluster_evidence(
    session: Session, request: EvidenceRequest, transactions: Mapping[str, TransactionDescription | Skipped] | Skipped
) -> ClusterEvidence:
    """What a snapshot keeps for the rules; `transactions` are those of the same snapshot."""
    from eosctl.sources.connect_evidence import read_worker_evidence
    from eosctl.sources.connect_group import read_connect_group
    from eosctl.sources.kafka_evidence import read_broker_settings, read_internal_topic, read_transaction_log

    wire, urls, timeout_s = session.wire, session.options.connect_urls, session.options.timeout_s
    workers = or_skipped(lambda: read_worker_evidence(urls, timeout_s)) if urls else NO_WORKERS
    files = worker_files_of(request, workers)
    group_id = group_id_of(session.options.group_id, files)
    topics = topics_of(request, Evidence(as_of=session.now(), worker_files=files))
    return ClusterEvidence(
        workers=workers,
        group=group_id if isinstance(group_id, Skipped) else or_skipped(lambda: read_connect_group(wire, group_id)),
        brokers=read_broker_settings(wire),
        internal_topics=tuple(read_internal_topic(wire, role, name) for role, name in topics.items()),
        transaction_log=or_skipped(lambda: read_transaction_log(wire)),
        leaderless=transactions
        if isinstance(transactions, Skipped)
        else or_skipped(lambda: read_leaderless(session, transactions.values())),
    )


def _offset_findings(
    session: Session, request: EvidenceRequest, known: Evidence, topics: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Those of `offsets show`."""
    asked = offsets_request(request, known, topics)
    return report_of(read_offsets(_quick(session, known).reader, asked), asked).findings


def _quick(session: Session, known: Evidence) -> Session:
    """The same cluster by the workers that answer: one that hangs is not waited for again."""
    group_id = None if isinstance(known.group_id, Skipped) else known.group_id
    urls = tuple(each.url for each in known.answering)
    quick = Session(replace(session.options, connect_urls=urls, group_id=group_id))
    quick.wire = session.wire
    return quick
