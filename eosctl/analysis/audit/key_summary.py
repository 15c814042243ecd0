"""Conclusions about keys, added up over source partitions and buckets."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from eosctl.analysis.audit.key_anomalies import Placed, written_at
from eosctl.analysis.audit.key_judgement import Judged, KeyJudgementInputs, judge_keys
from eosctl.model.audit_states import KEPT_PLACES, KeyState, ReadKey
from eosctl.model.audit_summaries import ConnectorKeys, KeyAnomaly, KeySummary, OffsetsWrite
from eosctl.model.names import TopicPartition

MOST_SUSPICIONS: Final = 10_000
MOST_LATEST: Final = 1_000


def summarize_keys(partitions: Mapping[TopicPartition, Iterable[KeyState]], inputs: KeyJudgementInputs) -> KeySummary:
    """What the keys of some partitions show together. All keys that are the same JSON have to be among them."""
    same: dict[ReadKey, list[Placed]] = {}
    for place in sorted(partitions):
        for state in partitions[place]:
            same.setdefault(inputs.read_key(state.key), []).append(Placed(place, state))
    summary = _Summary()
    for key, placed in same.items():
        summary.add(key, placed, judge_keys(key, placed, inputs))
    return summary.result()


class _Summary:
    """Conclusions so far."""

    def __init__(self) -> None:
        self._connectors: dict[str | None, list[ConnectorKeys]] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._anomalies: list[KeyAnomaly] = []
        self._suspicions: list[KeyAnomaly] = []
        self._latest: list[OffsetsWrite] = []

    def add(self, key: ReadKey, placed: Sequence[Placed], judged: Judged) -> None:
        """Take in one source partition."""
        self._connectors.setdefault(key.connector, []).append(_connector_keys(key, placed))
        for kind, count in judged.counts:
            self._counts[kind.value, key.connector or ""] += count
        self._anomalies += judged.anomalies
        self._suspicions += judged.suspicions
        self._latest += _latest(placed)

    def result(self) -> KeySummary:
        """All of it."""
        return KeySummary(
            tuple(_add_connector(each) for each in self._connectors.values()),
            tuple((kind, connector, count) for (kind, connector), count in sorted(self._counts.items())),
            first_key_troubles(self._anomalies),
            tuple(sorted(self._suspicions, key=_order)[:MOST_SUSPICIONS]),
            tuple(sorted(self._latest)[:MOST_LATEST]),
        )


def add_key_summaries(summaries: Iterable[KeySummary]) -> KeySummary:
    """All of them as one."""
    connectors: dict[str | None, list[ConnectorKeys]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    anomalies: list[KeyAnomaly] = []
    suspicions: list[KeyAnomaly] = []
    latest: list[OffsetsWrite] = []
    for summary in summaries:
        for each in summary.connectors:
            connectors.setdefault(each.connector, []).append(each)
        for kind, connector, count in summary.counts:
            counts[kind, connector] += count
        anomalies += summary.anomalies
        suspicions += summary.suspicions
        latest += summary.latest
    names = sorted(connectors, key=lambda name: (name is None, name or ""))
    return KeySummary(
        tuple(_add_connector(connectors[name]) for name in names),
        tuple((kind, connector, count) for (kind, connector), count in sorted(counts.items())),
        first_key_troubles(anomalies),
        tuple(sorted(suspicions, key=_order)[:MOST_SUSPICIONS]),
        tuple(sorted(latest)[:MOST_LATEST]),
    )


def first_key_troubles(anomalies: Iterable[KeyAnomaly]) -> tuple[KeyAnomaly, ...]:
    """The earliest KEPT_PLACES of each kind and connector."""
    kept: dict[tuple[str, str], list[KeyAnomaly]] = {}
    for anomaly in sorted(anomalies, key=_order):
        places = kept.setdefault((anomaly.kind, anomaly.connector or ""), [])
        if len(places) < KEPT_PLACES:
            places.append(anomaly)
    return tuple(anomaly for places in kept.values() for anomaly in places)


def _order(anomaly: KeyAnomaly) -> tuple[object, ...]:
    return anomaly.kind, anomaly.connector or "", anomaly.timestamp, anomaly.topic, *anomaly[3:9]


def _latest(placed: Iterable[Placed]) -> Iterator[OffsetsWrite]:
    """Where the last offset in a transaction was written: what comes next may be held against it."""
    for place, state in placed:
        if state.last_transactional is not None:
            write = written_at(place, state.last_transactional)
            yield from () if write is None else [write]


def _connector_keys(key: ReadKey, placed: Sequence[Placed]) -> ConnectorKeys:
    states = [each.state for each in placed]
    transactional = [each.first_transactional for each in states if each.first_transactional is not None]
    return ConnectorKeys(
        key.connector,
        len(states),
        sum(each.records for each in states),
        sum(each.tombstones for each in states),
        tuple(sorted({writer.producer_id for each in states for writer in each.writers if writer.producer_id >= 0})),
        min((each.timestamp for each in transactional), default=None),
        max((_upgraded(each) for each in states), default=None, key=lambda time: -1 if time is None else time),
        max(each.last.timestamp for each in states),
    )


def _upgraded(state: KeyState) -> int | None:
    """When the key was first written in a transaction, if it was written plainly before."""
    begun = state.first_transactional
    return begun.timestamp if begun is not None and state.plain_records > state.plain_after else None


def _add_connector(each: Sequence[ConnectorKeys]) -> ConnectorKeys:
    begun = [one.first_transactional for one in each if one.first_transactional is not None]
    return ConnectorKeys(
        each[0].connector,
        sum(one.keys for one in each),
        sum(one.records for one in each),
        sum(one.tombstones for one in each),
        tuple(sorted({producer_id for one in each for producer_id in one.producers})),
        min(begun, default=None),
        max((one.upgraded for one in each if one.upgraded is not None), default=None),
        max(one.last_write for one in each),
    )
