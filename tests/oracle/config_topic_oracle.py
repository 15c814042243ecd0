"""Kafka's own reading of a config topic, through ConfigTopicOracle.java, in the shape that our fold is compared in."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from eosctl.model.connectors import ClusterConfigState
from eosctl.model.records import IsolationLevel, Record, RecordState
from eosctl.sandbox.jars import resolve_jars
from eosctl.sandbox.java import compile_java
from tests.jvm import Oracle, java_with, sized

SOURCE = Path(__file__).with_name("ConfigTopicOracle.java")

Reading = dict[str, object]


class ConfigTopicOracle(Oracle):
    """One JVM with the classes of one Kafka version."""

    def __init__(self, kafka_version: str, *arguments: str) -> None:
        jars = resolve_jars(kafka_version, lambda _: None)
        classes = compile_java(jars.compiler, SOURCE, jars.classpath)
        self.version = kafka_version
        super().__init__([*java_with(jars, classes), "ConfigTopicOracle", *(arguments or ("memory",))])

    def fold(self, records: Sequence[Record]) -> Reading:
        """The store's state after these records, each given separately to its consume callback."""
        encoded = [struct.pack(">i", len(records))]
        for record in records:
            encoded += [struct.pack(">q", record.offset), sized(record.key), sized(record.value)]
        return self.answer_to(b"".join(encoded))


def shown_to(isolation_level: IsolationLevel, records: Iterable[Record]) -> list[Record]:
    """The records that a consumer of this isolation level is given, by KIP-98's words alone."""
    if isolation_level is IsolationLevel.READ_UNCOMMITTED:
        return list(records)
    shown = list(records)
    first_open = next((at for at, record in enumerate(shown) if record.state is RecordState.OPEN), len(shown))
    return [record for record in shown[:first_open] if record.state is RecordState.COMMITTED]


def reading(state: ClusterConfigState) -> Reading:
    """Our fold's result in the oracle's shape: every field of ClusterConfigState, and the configs that still wait."""
    states = state.states
    key = state.session_key
    return {
        "offset": state.offset,
        "session_key": None if key is None else [key.algorithm, key.creation_timestamp],
        "connectors": list(state.connectors),
        "configs": _known({name: connector.config for name, connector in states.items()}),
        "target_states": _known({name: connector.target_state for name, connector in states.items()}),
        "task_counts": _known({name: connector.task_count for name, connector in states.items()}),
        "task_configs": {name: _numbered(each.task_configs) for name, each in states.items() if each.task_configs},
        "task_count_records": _known({name: connector.task_count_record for name, connector in states.items()}),
        "generations": _known({name: connector.generation for name, connector in states.items()}),
        "pending_fencing": sorted(name for name, connector in states.items() if connector.pending_fencing),
        "inconsistent": sorted(name for name, connector in states.items() if connector.inconsistent),
        "deferred": {name: _numbered(each.deferred) for name, each in states.items() if each.deferred is not None},
        "visible_tasks": {
            name: len(states[name].visible_tasks) for name in state.connectors if (states[name].task_count or 0) >= 0
        },
    }


def _known(facts: Mapping[str, object | None]) -> dict[str, object]:
    return {name: fact for name, fact in facts.items() if fact is not None}


def _numbered(configs: Mapping[int, object]) -> dict[str, object]:
    return {str(task): config for task, config in configs.items()}


def in_order(answer: Reading) -> Reading:
    """An oracle's answer with its names in Python's order: Java sorts text by UTF-16 unit, Python by code point."""
    return {field: sorted(value) if field in SORTED else value for field, value in answer.items()}


SORTED = ("connectors", "pending_fencing", "inconsistent")
