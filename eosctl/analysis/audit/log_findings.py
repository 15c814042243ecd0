"""What the logs themselves show: gaps, damages, data outside transactions, transactions open at the end."""

from collections.abc import Iterator, Sequence

from eosctl.analysis.audit.evidence import Evidence, PartitionLog
from eosctl.analysis.audit.log_scan import GapKind
from eosctl.analysis.audit.transaction_owners import AnomalyKind
from eosctl.analysis.catalogue import audit as kinds
from eosctl.analysis.id_shapes import shapes_of
from eosctl.model.audit import OpenAtPlan, TopicRole
from eosctl.model.counts import counted
from eosctl.model.report import Finding, Severity
from eosctl.model.skipped import Skipped


def log_findings(evidence: Evidence) -> Iterator[Finding]:
    """Findings about each partition by itself."""
    for log in evidence.logs:
        yield from _gaps(log, evidence)
        yield from _plain_data(log, evidence)
        yield from _open(log, evidence)
    yield from _hanging_unread(evidence)


def _gaps(log: PartitionLog, evidence: Evidence) -> Iterator[Finding]:
    place: dict[str, object] = {"topic": log.topic, "partition": log.partition}
    topic = evidence.topics[log.topic]
    named = [name for name in evidence.connectors() if log.topic in evidence.used_topics(name)]
    subject = f"{log.topic}-{log.partition}"
    # Of a partition that only earlier runs have read, this one knows no bounds.
    bounds = (each for each in evidence.plan.bounds if (each.topic, each.partition) == log[:2])
    start = next((each.audited_from for each in bounds), 0)
    if start > 0 and topic.role is TopicRole.OUTPUT:
        yield _expired_output(log, start, named, evidence)
    elif start > 0:
        message = f"offsets below {start} are gone from a topic that is never cut: records were deleted"
        cure = "find out when the topic had `delete` in its cleanup.policy: without it brokers refuse DeleteRecords"
        facts: dict[str, object] = {**place, "connectors": named, "start": 0, "end": start}
        yield kinds.EXPIRED_RANGE.finding(subject, message, facts, cure=cure)
    for state in (log.settled, log.tail):
        if state is None:
            continue
        for gap in state.gaps:
            if gap.kind == GapKind.LOST:
                message = f"offsets {gap.start} to {gap.end - 1} are missing in the middle of the log"
                facts = {**place, "connectors": named, "start": gap.start, "end": gap.end}
                yield kinds.LOST_RANGE.finding(subject, message, facts)
            elif gap.kind == GapKind.UNCLEAR:
                message = f"offsets {gap.start} to {gap.end - 1} are missing: compacted or lost, it is not known"
                facts = {**place, "connectors": named, "start": gap.start, "end": gap.end}
                cure = "let the audit read cleanup.policy: DescribeConfigs on the topic, and a broker"
                yield kinds.LOST_RANGE.finding(subject, message, facts, cure=cure, severity=Severity.WARNING)
            elif gap.kind == GapKind.EXPIRED:
                message = f"offsets {gap.start} to {gap.end - 1} were deleted before an audit read them"
                facts = {**place, "connectors": named, "start": gap.start, "end": gap.end}
                yield kinds.EXPIRED_RANGE.finding(subject, message, facts)
        for damage in state.damages:
            message = f"offsets {damage.offset} to {damage.next_offset - 1} could not be read: {damage.reason}"
            facts = {
                **place,
                "connectors": named,
                "offset": damage.offset,
                "end": damage.next_offset,
                "reason": damage.reason,
            }
            yield kinds.UNREADABLE_RANGE.finding(subject, message, facts)


def _expired_output(log: PartitionLog, start: int, named: list[str], evidence: Evidence) -> Finding:
    """Retention deletes whole segments, in time. DeleteRecords cuts inside a batch, too, or what is younger than that;
    the latter does a retention as well that was shorter for a while.

    Of what is gone and was committed with offsets, these show the time.
    """
    kept = evidence.topics[log.topic].retention_ms
    since = None if kept is None else -1 if kept < 0 else evidence.plan.as_of - kept
    first = None if log.settled is None else log.settled.first_batch
    lost = [
        anomaly
        for anomaly in evidence.transactions.anomalies
        if anomaly.kind == AnomalyKind.OFFSETS_WITHOUT_DATA
        and since is not None
        and anomaly.timestamp > since
        and (first is None or anomaly.timestamp < first)
        and set(anomaly.connectors) & set(named)
    ]
    subject = f"{log.topic}-{log.partition}"
    place: dict[str, object] = {"topic": log.topic, "partition": log.partition, "start": 0, "end": start}
    inside = log.settled is not None and log.settled.first_base is not None and log.settled.first_base < start
    if not lost and not inside:
        message = f"offsets below {start} are gone, as the topic's retention wants it: they were not judged"
        return kinds.EXPIRED_RANGE.finding(subject, message, {**place, "connectors": named}, severity=Severity.INFO)
    users = named if inside else sorted({name for each in lost for name in each.connectors if name in named})
    how = "" if inside else ", or by a shorter retention than the topic has now"
    message = f"offsets below {start} were deleted by DeleteRecords{how}: data of transactions is gone"
    places = [{"topic": each.topic, "partition": each.partition, "offset": each.first} for each in lost]
    cure = f"find out who called DeleteRecords{'' if inside else ', or lowered the retention for a while'}"
    return kinds.EXPIRED_RANGE.finding(subject, message, {**place, "connectors": users, "offsets": places}, cure=cure)


def _plain_data(log: PartitionLog, evidence: Evidence) -> Iterator[Finding]:
    topic = evidence.topics[log.topic]
    if log.settled is None or topic.role is not TopicRole.OUTPUT:
        return
    exact = {each.connector for each in evidence.keys.connectors if each.first_transactional is not None}
    named = [name for name in topic.connectors if name in exact]
    since = min(
        (each.first_transactional or 0 for each in evidence.keys.connectors if each.connector in named), default=0
    )
    # Offsets are more exact than timestamps, which may be the source's: from them on, where transactions were seen.
    begun = [each.first_offset for each in log.settled.producers if each.records > each.plain_records]
    upgraded = max((each.upgraded or -1 for each in evidence.keys.connectors if each.connector in named), default=-1)
    for producer in log.settled.producers if named else ():
        later = producer.last_plain > min(begun) if begun else producer.last_plain_timestamp >= since
        if producer.plain_records and later and producer.last_plain_timestamp >= upgraded:
            count = producer.plain_records
            message = (
                f"{counted(count, 'record')} in {log.topic}-{log.partition} outside any transaction "
                f"(producer ID {producer.producer_id}), the last at offset {producer.last_plain}"
            )
            facts: dict[str, object] = {
                "connectors": named,
                "topic": log.topic,
                "partition": log.partition,
                "first_offset": producer.first_plain,
                "last_offset": producer.last_plain,
                "producer_id": producer.producer_id,
                "records": count,
            }
            yield kinds.DATA_OUTSIDE_TRANSACTION.finding(", ".join(named), message, facts)


def _open(log: PartitionLog, evidence: Evidence) -> Iterator[Finding]:
    if log.tail is None:
        return
    bounds = next(each for each in evidence.plan.bounds if (each.topic, each.partition) == log[:2])
    known = () if isinstance(evidence.plan.open, Skipped) else evidence.plan.open
    holders = evidence.plan.transactional_ids
    mine = [each for each in known if (each.topic, each.partition) == log[:2]]
    lacking = {
        (anomaly.topic, anomaly.partition, anomaly.producer_id)
        for anomaly in evidence.transactions.anomalies
        if anomaly.kind == AnomalyKind.MISSING_MARKER
    }
    for each in mine:
        if each.hangs and (each.topic, each.partition, each.producer_id) not in lacking:
            yield _hanging(each, evidence)
    if not any(each.hangs for each in mine):
        held = bounds.high_watermark - bounds.last_stable_offset
        waiting = counted(held, "offset waits", "offsets wait")
        message = f"a transaction is open from offset {bounds.last_stable_offset}: {waiting} for it"
        subject = f"{log.topic}-{log.partition}"
        facts: dict[str, object] = {
            "connectors": [],
            "topic": log.topic,
            "partition": log.partition,
            "start": bounds.last_stable_offset,
            "end": bounds.high_watermark,
            "producers": [each.producer_id for each in log.tail.producers],
            "transactional_ids": [
                holders[each.producer_id] for each in log.tail.producers if each.producer_id in holders
            ],
        }
        yield kinds.OPEN_TRANSACTION.finding(subject, message, facts)


def _hanging_unread(evidence: Evidence) -> Iterator[Finding]:
    """Transactions that hang in partitions whose record batches were not read."""
    read = {log[:2] for log in evidence.logs}
    known = () if isinstance(evidence.plan.open, Skipped) else evidence.plan.open
    for each in known:
        if each.hangs and (each.topic, each.partition) not in read:
            yield _hanging(each, evidence)


def _hanging(each: OpenAtPlan, evidence: Evidence) -> Finding:
    """Owners are those of the producer; the connectors are those whose topic cannot be read further."""
    owners = evidence.owners.get(each.producer_id, ())
    users = owners or evidence.topics[each.topic].connectors
    users = users or tuple(name for name in evidence.connectors() if each.topic in evidence.used_topics(name))
    facts = {"connectors": list(users), "owners": list(owners), **each._asdict()}
    words = _hanging_words(each, owners, evidence.plan.group_id)
    return kinds.HANGING_TRANSACTION.finding(f"{each.topic}-{each.partition}", words, facts)


def _hanging_words(each: OpenAtPlan, owners: Sequence[str], group_id: str | None) -> str:
    whose = "no transactional ID" if each.transactional_id is None else f"transactional ID {each.transactional_id}"
    if owners:
        whose += f", connector {', '.join(owners)}"
    elif each.transactional_id is not None:
        group = "no group that is known" if group_id is None else f"no task of group {group_id}"
        shapes = "".join(f"; it looks like a {shape}" for shape in shapes_of(each.transactional_id)[:1])
        whose += f", of {group}{shapes}"
    return (
        f"the transaction of producer ID {each.producer_id} ({whose}) that is open from offset {each.start_offset} "
        f"will never end ({each.reason}): read_committed consumers are stalled there"
    )
