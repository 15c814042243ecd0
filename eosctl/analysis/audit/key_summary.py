"""Conclusions about keys, added up over source partitions and buckets."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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


class _Connector:
    """The keys of one connector so far."""

    def __init__(self) -> None:
        self._keys = self._records = self._tombstones = 0
        self._producers: set[int] = set()
        self._begun: int | None = None
        self._upgraded: int | None = None
        self._last_write: int | None = None

    def add(self, placed: Sequence[Placed]) -> None:
        """Take in one source partition."""
        for _, state in placed:
            self._keys += 1
            self._records += state.records
            self._tombstones += state.tombstones
            for writer in state.writers:
                self._producers.add(writer.producer_id)
            begun = state.first_transactional
            if begun is not None and (self._begun is None or begun.timestamp < self._begun):
                self._begun = begun.timestamp
            upgraded = _upgraded(state)
            if upgraded is not None and (self._upgraded is None or upgraded > self._upgraded):
                self._upgraded = upgraded
            if self._last_write is None or state.last.timestamp > self._last_write:
                self._last_write = state.last.timestamp

    def result(self, name: str | None) -> ConnectorKeys:
        """All of them, as those of the connector of this name."""
        assert self._last_write is not None
        producers = tuple(sorted(each for each in self._producers if each >= 0))
        counts = self._keys, self._records, self._tombstones
        return ConnectorKeys(name, *counts, producers, self._begun, self._upgraded, self._last_write)


class _Summary:
    """Conclusions so far."""

    def __init__(self) -> None:
        self._connectors: dict[str | None, _Connector] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._anomalies: list[KeyAnomaly] = []
        self._suspicions: list[KeyAnomaly] = []
        self._latest: list[OffsetsWrite] = []

    def add(self, key: ReadKey, placed: Sequence[Placed], judged: Judged) -> None:
        """Take in one source partition."""
        connector = self._connectors.get(key.connector)
        if connector is None:
            connector = self._connectors[key.connector] = _Connector()
        connector.add(placed)
        for kind, count in judged.counts:
            self._counts[kind.value, key.connector or ""] += count
        self._anomalies += judged.anomalies
        self._suspicions += judged.suspicions
        for place, state in placed:
            last = None if state.last_transactional is None else written_at(place, state.last_transactional)
            if last is not None:
                self._latest.append(last)

    def result(self) -> KeySummary:
        """All of it."""
        return KeySummary(
            tuple(each.result(name) for name, each in self._connectors.items()),
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
