"""Checkpoint files of a broker's log directory: what it keeps about partitions beside their segments.

    0                              version
    2                              number of entries
    orders 0 83                    topic, partition, offset
    connect-offsets 0 86

`cleaner-offset-checkpoint` has every partition that the log cleaner has cleaned, `log-start-offset-checkpoint` those
whose log begins behind their first segment's first offset: DeleteRecords moved it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from eosctl.errors import ConfigError
from eosctl.model.names import TopicPartition

CLEANER: Final = "cleaner-offset-checkpoint"
LOG_START: Final = "log-start-offset-checkpoint"
BEFORE_ENTRIES: Final = 2


def read_checkpoint(directory: Path, name: str) -> Mapping[TopicPartition, int]:
    """Partitions to their offsets; empty where the file is not there. Raises ConfigError where it is no checkpoint."""
    path = directory / name
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[BEFORE_ENTRIES:]
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise ConfigError(f"cannot read {path}: it is not text") from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    return dict(_entry(line, path) for line in lines)


def _entry(line: str, path: Path) -> tuple[TopicPartition, int]:
    try:
        topic, partition, offset = line.split()
        return TopicPartition(topic, int(partition)), int(offset)
    except ValueError as error:
        raise ConfigError(f"{path} is no checkpoint: {line!r} is not TOPIC PARTITION OFFSET") from error
