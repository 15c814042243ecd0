"""Whose transactional ID it may be, by its shape alone. A shape is a hint and never an owner: anybody may use any ID.

1. `connect-cluster-<group.id>`: the leader of a Connect cluster; `connect-cluster-<alias>-mm2` of a dedicated
   MirrorMaker 2 that mirrors from <alias>.
2. `<group.id>-<connector>-<task>`: a Connect source task; which dash ends the group ID is not known.
3. `<alias>-mm2-Mirror(Source|Checkpoint|Heartbeat)Connector-<task>`: a task of a dedicated MirrorMaker 2.
4. `<application.id>-<UUID>-<thread>`: a Kafka Streams thread (exactly_once_v2, KIP-447);
   `<application.id>-<subtopology>_<partition>`: a Kafka Streams task (exactly_once).
5. `<prefix>-<subtask>-<checkpoint>`: a Flink KafkaSink writer; `<task name>-<operator ID, 32 hex digits>-<number>`: the
   older FlinkKafkaProducer.
"""

import re
from collections.abc import Callable
from typing import Final

UUID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
Words = Callable[[re.Match[str]], str]

_TELLING: Final[tuple[tuple[re.Pattern[str], Words], ...]] = (
    (re.compile(r"connect-cluster-(?P<alias>.+)-mm2"), lambda m: f"MirrorMaker 2 leader, from {m['alias']}"),
    (
        re.compile(r"(?P<alias>.+)-mm2-(?P<connector>Mirror(?:Source|Checkpoint|Heartbeat)Connector)-(?P<task>\d+)"),
        lambda m: f"MirrorMaker 2 {m['connector']} task {m['task']}, from {m['alias']}",
    ),
    (re.compile(rf"(?P<application>.+)-{UUID}-(?P<thread>\d+)"), lambda m: f"Streams application {m['application']}"),
    (re.compile(r"(?P<application>.+)-(?P<task>\d+_\d+)"), lambda m: f"Streams application {m['application']}"),
    (re.compile(r"(?P<name>.+)-[0-9a-f]{32}-(?P<number>\d+)"), lambda m: f"Flink producer {m['name']}"),
)
_VAGUE: Final[tuple[tuple[re.Pattern[str], Words], ...]] = (
    (re.compile(r"connect-cluster-(?P<group>.+)"), lambda m: f"Connect leader of {m['group']}"),
    (re.compile(r"(?P<stem>.+-.+)-(?P<task>\d+)"), lambda m: f"Connect task {m['task']} of {m['stem']}"),
    (re.compile(r"(?P<prefix>.*\D.*)-(?P<subtask>\d+)-(?P<checkpoint>\d+)"), lambda m: f"Flink sink {m['prefix']}"),
)


def shapes_of(transactional_id: str) -> tuple[str, ...]:
    """Shapes that the ID has, in words: one that is hard to have by chance alone, or all; none where it has none."""
    telling = [words(match) for shape, words in _TELLING if (match := shape.fullmatch(transactional_id))]
    vague = [words(match) for shape, words in _VAGUE if (match := shape.fullmatch(transactional_id))]
    return tuple(telling or vague)
