"""Config records made short for tests: each call gives the next record of a log."""

import json

from eosctl.analysis.config_topic import Survey, survey_config_topic
from eosctl.codecs.config_topic import decode_config_records
from eosctl.model.config_topic import ConfigRecord
from eosctl.model.connectors import Reader
from eosctl.model.records import IsolationLevel, Record, RecordState
from eosctl.model.versions import KafkaVersion

LATEST = Reader(KafkaVersion(4, 3, 1))
UNCOMMITTED = Reader(KafkaVersion(4, 3, 1), IsolationLevel.READ_UNCOMMITTED)


class Log:
    """Collects records with rising offsets; what follows `writer` is written by that producer ID and epoch."""

    def __init__(self, start: int = 0) -> None:
        self.records: list[Record] = []
        self._offset = start
        self._written: dict[str, object] = {}

    def writer(
        self, producer_id: int | None = None, epoch: int = 0, state: RecordState = RecordState.COMMITTED
    ) -> "Log":
        self._written = (
            {"state": state}
            if producer_id is None
            else {"state": state, "transactional": True, "producer_id": producer_id, "producer_epoch": epoch}
        )
        return self

    def put(self, key: str | None, value: object) -> "Log":
        raw = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
        raw_key = None if key is None else key.encode()
        self.records.append(Record(self._offset, 1_790_000_000_000 + self._offset, raw_key, raw, **self._written))
        self._offset += 1
        return self

    def config(self, name: str, **properties: str) -> "Log":
        return self.put(f"connector-{name}", {"properties": properties})

    def tasks(self, name: str, *tasks: int, topic: str = "t") -> "Log":
        for task in tasks:
            self.put(f"task-{name}-{task}", {"properties": {"topic": topic}})
        return self

    def commit(self, name: str, tasks: int) -> "Log":
        return self.put(f"commit-{name}", {"tasks": tasks})

    def fencing(self, name: str, count: int) -> "Log":
        return self.put(f"tasks-fencing-{name}", {"task-count": count})

    def target(self, name: str, state: str) -> "Log":
        older = "PAUSED" if state == "STOPPED" else state
        return self.put(f"target-state-{name}", {"state": older, "state.v2": state})

    def healthy(self, name: str, tasks: int) -> "Log":
        """A connector created and started under exactly-once."""
        return self.config(name).tasks(name, *range(tasks)).commit(name, tasks).fencing(name, tasks)

    def decoded(self) -> list[ConfigRecord]:
        return list(decode_config_records(self.records))

    def survey(self, reader: Reader = LATEST) -> Survey:
        return survey_config_topic(self.decoded(), reader)
