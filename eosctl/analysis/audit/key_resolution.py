"""What a suspicious source offset is, once it is known what its transaction wrote beside it.

1. Offsets that a stopped connector's own producer commits without data were altered: by a request to Connect, or by a
   tool that takes its place. What is read again then is read again as somebody wished.
2. A copied offset (the same value as in the store before) carries no data. With data, the connector began from nothing
   and came as far again in its first transaction.
3. An offset that is repeated without data is no sign of anything. Nor is one with data if none of it went where the
   data of the offset before went: records that are read again are written to the same topics; heartbeats are not.
   Debezium's heartbeats have topics of their own and are no data: the first one of a session repeats the offset of the
   last one of the session before. Nor are its metadata of transactions, in the topic `<server>.transaction`: a BEGIN is
   sent again to a connector that restarts within the transaction, and an END has the offset of the last row.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from eosctl.analysis.audit.key_anomalies import KeyAnomalyKind
from eosctl.model.audit_summaries import (
    CommittedData,
    ConnectorHistory,
    KeyAnomaly,
    OffsetsWrite,
    OutputPart,
)

Data = tuple[OutputPart, ...]
HEARTBEATS: Final = "__debezium-heartbeat."
"""How the names of Debezium's heartbeat topics begin, unless topic.heartbeat.prefix says otherwise."""


class Circumstances(NamedTuple):
    """What a suspicion is resolved by: data of transactions, connectors by producer ID, and connectors' histories."""

    committed: Mapping[OffsetsWrite, Data]
    owners: Mapping[int, tuple[str, ...]]
    histories: Mapping[str, ConnectorHistory]

    def data(self, write: OffsetsWrite | None) -> Data | None:
        """What its transaction wrote beside it; None where that is not known."""
        return None if write is None else self.committed.get(write)

    def was_altered(self, anomaly: KeyAnomaly) -> bool:
        """Rule 1."""
        if anomaly.now is None or self.data(anomaly.now) != () or anomaly.connector is None:
            return False
        mine = anomaly.connector in self.owners.get(anomaly.now.producer_id, ())
        history = self.histories.get(anomaly.connector)
        return mine and history is not None and is_stopped(history, anomaly.timestamp)


def circumstances(
    committed: Iterable[CommittedData],
    owners: Mapping[int, tuple[str, ...]],
    histories: Iterable[ConnectorHistory],
) -> Circumstances:
    """By write, producer ID and connector."""
    return Circumstances(
        {each.write: each.data for each in committed}, owners, {each.connector: each for each in histories}
    )


def is_stopped(history: ConnectorHistory, timestamp: int) -> bool:
    """Whether the connector's last commit before this time left it without tasks."""
    commits = [tasks for time, _, kind, tasks in history.starts if kind == "commit" and time <= timestamp]
    return commits[-1:] == [0]


def resolve(anomaly: KeyAnomaly, known: Circumstances) -> KeyAnomalyKind | None:
    """What it is; None where it is nothing."""
    match KeyAnomalyKind(anomaly.kind):
        case KeyAnomalyKind.REPEATED:
            return KeyAnomalyKind.REPEATED if _may_be_read_again(anomaly, known) else None
        case KeyAnomalyKind.COPIED:
            return KeyAnomalyKind.NOT_TAKEN_OVER if known.data(anomaly.now) else None
        case KeyAnomalyKind.SET_BACK | KeyAnomalyKind.NOT_TAKEN_OVER if known.was_altered(anomaly):
            return KeyAnomalyKind.ALTERED
        case kind:
            return kind


def _may_be_read_again(anomaly: KeyAnomaly, known: Circumstances) -> bool:
    """Rule 3."""
    besides = metadata_topic(anomaly.key)
    before, again = (_topics(known.data(each)) - {besides} for each in (anomaly.was, anomaly.now))
    return bool(again) and (not before or not before.isdisjoint(again))


def _topics(data: Data | None) -> set[str]:
    """Topics of data that are no heartbeats."""
    return {each.topic for each in data or () if not each.topic.startswith(HEARTBEATS)}


def metadata_topic(key: str) -> str | None:
    """Where Debezium writes metadata of transactions, by a key such as ["orders",{"server":"shop"}]."""
    try:
        match json.loads(key):
            case [str(), {"server": str(server)}]:
                return f"{server}.transaction"
    except ValueError:
        pass
    return None
