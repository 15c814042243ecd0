"""Summaries of an audit made by hand: a healthy connector c, of which tests change one thing."""

from typing import Any

from eosctl.analysis.audit.findings import AuditSummaries, PartitionLog
from eosctl.analysis.audit.key_judgement import KeyAnomalyKind
from eosctl.model.audit import (
    AuditedTopic,
    AuditPlan,
    ConfigSummary,
    ConnectorHistory,
    ConnectorKeys,
    KeyAnomaly,
    KeySummary,
    OffsetsWrite,
    OutputPart,
    PartitionBounds,
    RecordCount,
    TopicRole,
    TransactionSummary,
)
from eosctl.model.audit_states import LogState, ProducerState
from eosctl.model.skipped import Skipped

OUT = AuditedTopic("out", TopicRole.OUTPUT, connectors=("c",))
OTHER = AuditedTopic("other", TopicRole.OUTPUT, connectors=("d",))
OFFSETS = AuditedTopic("offsets", TopicRole.OFFSETS)
CONFIGS = AuditedTopic("configs", TopicRole.CONFIG)
AS_OF = 1_790_000_000_000
UNREAD = Skipped("denied")
NONE, UNKNOWN = RecordCount(0, 0), RecordCount(0, None)


def keys(connector: str | None = "c", first: int | None = 0, **more: Any) -> ConnectorKeys:
    given = {"tombstones": 0, "upgraded": None, **more}
    return ConnectorKeys(connector, 1, 10, given["tombstones"], (7,), first, given["upgraded"], AS_OF)


def history(
    *starts: tuple[int, int, str, int], name: str = "c", known: bool = True, fenced: bool = True
) -> ConnectorHistory:
    return ConnectorHistory(name, known, fenced, starts)


def producer(number: int = 7, **more: Any) -> ProducerState:
    given: dict[str, Any] = {
        "producer_id": number, "marker_epoch": -1, "leading_epoch": None, "first_epoch": 0, "first_offset": 5,
        "first_timestamp": AS_OF, "epoch": 0, "open_epoch": -1, "last_offset": 9, "last_timestamp": AS_OF, "records": 5,
        "plain_records": 0, "first_plain": -1, "last_plain": -1, "first_plain_timestamp": -1,
        "last_plain_timestamp": -1, "starts": (), "raised": (), **more,
    }  # fmt: skip
    return ProducerState(**given)


def state(*producers: ProducerState, **more: Any) -> LogState:
    given: dict[str, Any] = {
        "start": 0, "end": 100, "first_base": 0, "behind_gap": False, "records": 10, "control_records": 0,
        "aborted_records": 0, "plain_records": 0, "batches": 1, "size_bytes": 9, "first_timestamp": AS_OF,
        "last_timestamp": AS_OF, "first_batch": AS_OF, "cleaned_until": None, "gaps": (), "damages": (), "growth": (),
        "producers": producers, **more,
    }  # fmt: skip
    return LogState(**given)


def log(topic: str = "out", settled: LogState | None = None, tail: LogState | None = None) -> PartitionLog:
    return PartitionLog(topic, 0, settled, tail)


def bounds(topic: str = "out", audited_from: int = 0, stable: int = 100) -> PartitionBounds:
    return PartitionBounds(topic, 0, 0, stable, 110, audited_from)


def summaries(*logs: PartitionLog, **more: Any) -> AuditSummaries:
    fields = {"topics": (OUT, OFFSETS, CONFIGS), "connectors": ("c",)}
    fields |= {name: more.pop(name) for name in list(more) if name in AuditPlan.__struct_fields__}
    fields.setdefault("bounds", tuple(bounds(each.topic) for each in logs))
    plan = AuditPlan(**{"as_of": AS_OF, "cluster_id": "K", "group_id": "g", "ranges": (), **fields})
    given: dict[str, Any] = {
        "config": ConfigSummary((history(),)), "keys": KeySummary((keys(),)), "transactions": TransactionSummary(),
        "owners": {7: ("c",)}, "whole_since": None, **more,
    }  # fmt: skip
    return AuditSummaries(plan=plan, logs=logs, **given)


def names(found: Any) -> list[tuple[str, str]]:
    return [(each.name, each.subject) for each in found]


WAS, NOW = OffsetsWrite("offsets", 0, 1, 7), OffsetsWrite("offsets", 0, 2, 7)


def anomaly(kind: KeyAnomalyKind, connector: str | None = "c", offset: int = 2, **more: Any) -> KeyAnomaly:
    given = {"was": WAS, "now": NOW, "timestamp": AS_OF, "key": '["c",{}]', **more}
    return KeyAnomaly(
        kind.value,
        connector,
        "offsets",
        0,
        offset,
        given["timestamp"],
        given["key"],
        "b",
        "a",
        given["was"],
        given["now"],
    )


def part(topic: str = "out", first: int = 5) -> OutputPart:
    return OutputPart(topic, 0, first, first + 1, 2)


STOPPED = history((AS_OF - 9, 1, "commit", 0))
RUNNING = history((AS_OF - 9, 1, "commit", 1))
