"""What the summaries of an audit say in words: one finding for each kind of anomaly and each subject."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from eosctl.analysis.audit.config_history import ConfigAnomalyKind
from eosctl.analysis.audit.evidence import Evidence, ProducerSession
from eosctl.analysis.audit.finding_words import (
    CONFIG_WORDS,
    KEY_WORDS,
    TRANSACTION_WORDS,
    UNFENCED_WORDS,
    Words,
    change_words,
)
from eosctl.analysis.audit.key_anomalies import KeyAnomalyKind
from eosctl.analysis.audit.key_resolution import Circumstances, circumstances, resolve
from eosctl.analysis.audit.sessions import NO_EPOCH
from eosctl.analysis.audit.transaction_owners import AnomalyKind
from eosctl.analysis.catalogue.audit import OFFSETS_ALTERED, OFFSETS_REMOVED
from eosctl.analysis.catalogue.offsets import ORPHAN_OFFSETS
from eosctl.model.audit import TopicRole
from eosctl.model.audit_report import RecordCount, total_records
from eosctl.model.audit_states import KEPT_PLACES
from eosctl.model.audit_summaries import Anomaly, KeyAnomaly, OffsetsChange, OutputPart, Tally
from eosctl.model.counts import counted
from eosctl.model.report import Finding, Severity

SLACK_MS: Final = 5_000


def _finding(words: Words, subject: str, count: int, evidence: dict[str, object]) -> Finding:
    one = count == 1
    message = words.message.format_map(
        {"n": count, "s": "" if one else "s", "is": "is" if one else "are", "was": "was" if one else "were"}
    )
    cure = words.cure or words.kind.fix.replace("<connector>", subject)
    return words.kind.finding(subject, message, {"count": count, **evidence}, cure=cure, severity=words.severity)


def key_findings(evidence: Evidence) -> Iterator[Finding]:
    """One for each kind of anomaly and connector; suspicions as what their transactions show them to be."""
    counts = Counter({(kind, connector): count for kind, connector, count in evidence.keys.counts})
    places: dict[tuple[str, str], list[KeyAnomaly]] = {}
    for anomaly in evidence.keys.anomalies:
        places.setdefault((anomaly.kind, anomaly.connector or ""), []).append(anomaly)
    known = circumstances(evidence.transactions.committed, evidence.owners, evidence.config.connectors)
    for anomaly in evidence.keys.suspicions:
        resolved = resolve(anomaly, known)
        if resolved is not None:
            place = resolved.value, anomaly.connector or ""
            places.setdefault(place, []).append(anomaly)
            counts[place] += 1
    for (kind, connector), anomalies in sorted(places.items()):
        if kind == KeyAnomalyKind.ALTERED:
            continue
        named = [connector] if connector else []
        kept = anomalies[:KEPT_PLACES]
        data = [place for each in kept for place in _data_places(each, known)]
        facts: dict[str, object] = {"connectors": named, "places": [_key_place(each) for each in kept]}
        facts |= {"data": data} if data else {}
        yield _finding(KEY_WORDS[kind], connector or anomalies[0].topic, counts[kind, connector], facts)


def change_findings(evidence: Evidence) -> Iterator[Finding]:
    """One for each connector whose source offsets somebody changed; of some changes nothing but that is known."""
    changes: dict[str, list[OffsetsChange]] = {}
    for each in altered_offsets(evidence):
        changes.setdefault(each.connector, []).append(each)
    for connector, mine in sorted(changes.items()):
        repeated, left_out = (
            total_records(each.repeated for each in mine),
            total_records(each.left_out for each in mine),
        )
        places = [_key_place(place) for each in mine for place in each.places][:KEPT_PLACES]
        facts: dict[str, object] = {
            "count": sum(each.offsets for each in mine),
            "connectors": [connector],
            "repeated": repeated._asdict(),
            "left_out": left_out._asdict(),
            "places": places,
        }
        data = [
            {"committed_with": name, **_data_place(part)}
            for each in mine
            for name, parts in (("before", each.before), ("after", each.again))
            for part in parts
        ]
        facts |= {"data": data[: 2 * KEPT_PLACES]} if data else {}
        severity = Severity.INFO if repeated.is_none and left_out.is_none else Severity.WARNING
        yield OFFSETS_ALTERED.finding(connector, change_words(mine), facts, severity=severity)


def altered_offsets(evidence: Evidence) -> tuple[OffsetsChange, ...]:
    """Every change of source offsets that is known, those included of which nothing was counted."""
    return (*evidence.changes, *_uncounted(evidence))


def _uncounted(evidence: Evidence) -> Iterator[OffsetsChange]:
    """Changes that the states show and the logs do not, any more: nothing was counted of them."""
    counted_of = {each.connector for each in evidence.changes}
    known = circumstances(evidence.transactions.committed, evidence.owners, evidence.config.connectors)
    for anomaly in evidence.keys.suspicions:
        if anomaly.connector and anomaly.connector not in counted_of and known.was_altered(anomaly):
            kind = resolve(anomaly, known)
            if kind is KeyAnomalyKind.ALTERED:
                unknown = RecordCount(0, None)
                yield OffsetsChange(anomaly.connector, anomaly.timestamp, (anomaly,), 1, unknown, unknown)


def _data_place(part: OutputPart) -> dict[str, object]:
    return {
        "topic": part.topic,
        "partition": part.partition,
        "first_offset": part.first,
        "last_offset": part.last,
        "records": part.records,
    }


def _key_place(anomaly: KeyAnomaly) -> dict[str, object]:
    return {
        "topic": anomaly.topic,
        "partition": anomaly.partition,
        "offset": anomaly.offset,
        "timestamp": anomaly.timestamp,
        "key": anomaly.key,
        "before": anomaly.before,
        "after": anomaly.after,
    }


def _data_places(anomaly: KeyAnomaly, known: Circumstances) -> Iterator[dict[str, object]]:
    """Where the output has what was committed with the offset before, and with the one after it."""
    for name, write in (("before", anomaly.was), ("after", anomaly.now)):
        for data in known.data(write) or ():
            yield {"committed_with": name, **_data_place(data), "key": anomaly.key}


def transaction_findings(evidence: Evidence) -> Iterator[Finding]:
    """One for each kind of anomaly, connectors and topic."""
    places: dict[tuple[str, tuple[str, ...], str], list[Anomaly]] = {}
    for anomaly in evidence.transactions.anomalies:
        places.setdefault(anomaly[:3], []).append(anomaly)
    for tally in evidence.transactions.tallies:
        if tally.kind == AnomalyKind.OFFSETS_WITHOUT_DATA and evidence.is_partial:
            continue  # their data may be in a topic that was not requested
        yield _transaction_finding(tally, places.get(tally[:3], []), evidence.plan.transactional_ids)


def _transaction_finding(tally: Tally, anomalies: Iterable[Anomaly], holders: Mapping[int, str]) -> Finding:
    places = [
        {
            "topic": each.topic,
            "partition": each.partition,
            "first_offset": each.first,
            "last_offset": each.last,
            "producer_id": each.producer_id,
            "producer_epoch": each.producer_epoch,
            "transactional_id": holders.get(each.producer_id),
            "timestamp": each.timestamp,
            "records": each.records,
        }
        for each in anomalies
    ]
    subject = ", ".join(tally.connectors) or tally.topic
    facts: dict[str, object] = {"connectors": list(tally.connectors), "topic": tally.topic, "records": tally.records}
    return _finding(TRANSACTION_WORDS[tally.kind], subject, tally.transactions, {**facts, "places": places})


def config_findings(evidence: Evidence) -> Iterator[Finding]:
    """One for each kind of anomaly; of a plain leader, all connectors concerned are named. Two leaders concern all."""
    topic = evidence.config_topic or ""
    everybody = [each.connector for each in evidence.config.connectors if each.known]
    kinds: dict[str, list[tuple[str | None, dict[str, object]]]] = {}
    for each in evidence.config.anomalies:
        place = {"topic": topic, "partition": 0, "offset": each.offset, "timestamp": each.timestamp, "what": each.words}
        kinds.setdefault(each.kind, []).append((each.connector, place))
    for kind, found in sorted(kinds.items()):
        named = sorted({connector for connector, _ in found if connector is not None})
        named = everybody if kind == ConfigAnomalyKind.INTERLEAVED_LEADERS else named
        places = [place for _, place in found[:KEPT_PLACES]]
        yield _finding(CONFIG_WORDS[kind], topic, len(found), {"connectors": named, "places": places})


def unfenced_findings(evidence: Evidence) -> Iterator[Finding]:
    """Producers that began after a commit, where no fencing round kept out the ones before it.

    A worker with exactly-once support enabled starts a task only after the leader wrote a task-count record for the
    last commit. A task of the time before may write until that round is over, and what shows its beginning is its first
    write: where the round came later, only writes behind it are evidence. Timestamps are those of two writers, so
    SLACK_MS must lie between.
    """
    histories = {each.connector: each for each in evidence.config.connectors if each.fenced_ever}
    last_writes = _last_writes(evidence)
    found: dict[str, list[dict[str, object]]] = {}
    for session in evidence.sessions:
        history = histories.get(session.connector)
        if history is None or evidence.topics[session.topic].role is not TopicRole.OFFSETS:
            continue
        before = [start for start in history.starts if start[0] < session.timestamp - SLACK_MS]
        _, commit, kind, tasks = max(before, key=lambda start: start[1], default=(0, 0, "", 0))
        rounds = (time for time, offset, kind, _ in history.starts if kind == "fencing" and offset > commit)
        fenced_at = min(rounds, default=None)
        last_write = last_writes.get((session.producer_id, session.producer_epoch), session.timestamp)
        is_late = fenced_at is not None and fenced_at > session.timestamp + SLACK_MS
        kept_out = fenced_at is not None and (not is_late or last_write <= fenced_at + SLACK_MS)
        if kind == "commit" and tasks and not kept_out:
            place: dict[str, object] = {**session._asdict(), "commit_offset": commit, "tasks": tasks}
            found.setdefault(session.connector, []).append(place)
    for connector, places in sorted(found.items()):
        yield _finding(
            UNFENCED_WORDS,
            connector,
            len(places),
            {"connectors": [connector], "places": places[:KEPT_PLACES]},
        )


def _last_writes(evidence: Evidence) -> Mapping[tuple[int, int], int]:
    """By producer ID and epoch of its last session, when that wrote to an offsets topic last; nothing of others."""
    last_epochs = {each.producer_id: each.producer_epoch for each in sorted(evidence.sessions, key=_epoch)}
    logs = [each for each in evidence.logs if evidence.topics[each.topic].role is TopicRole.OFFSETS]
    states = [state for log in logs for state in (log.settled, log.tail) if state is not None]
    times: dict[tuple[int, int], int] = {}
    for producer in (each for state in states for each in state.producers):
        session = producer.producer_id, last_epochs.get(producer.producer_id, NO_EPOCH)
        times[session] = max(producer.last_timestamp, times.get(session, producer.last_timestamp))
    return times


def _epoch(session: ProducerSession) -> int:
    return session.producer_epoch


def removed_findings(evidence: Evidence) -> Iterator[Finding]:
    """Source offsets that were removed, as somebody asked or the connector did: a start there finds none."""
    for keys in evidence.keys.connectors:
        if keys.connector is not None and keys.tombstones:
            times = counted(keys.tombstones, "time")
            message = f"{times} a source offset was removed: a start finds none there"
            yield OFFSETS_REMOVED.finding(
                keys.connector, message, {"connectors": [keys.connector], "tombstones": keys.tombstones}
            )


def orphan_findings(evidence: Evidence) -> Iterator[Finding]:
    """Offsets of connectors that do not exist here: deleted ones, or those of another group that shares the topic."""
    if evidence.known is None:
        return
    for keys in evidence.keys.connectors:
        if keys.connector is not None and keys.connector not in evidence.known:
            message = (
                f"{keys.keys} source offsets of connector {keys.connector}, which this Connect cluster does not have"
            )
            cure = (
                "a connector created under this name goes on from them; eosctl offsets export keeps them. Where two "
                "Connect clusters share the offsets topic, audit each with its own --group-id and --config-topic"
            )
            yield ORPHAN_OFFSETS.finding(
                keys.connector, message, {"connectors": [], "keys": keys.keys, "last_write": keys.last_write}, cure=cure
            )
