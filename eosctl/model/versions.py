"""Kafka versions and the releases at which behaviour that eosctl depends on changed."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from eosctl.model.skipped import Skipped


class KafkaVersion(Struct, frozen=True, order=True):
    """A release such as 3.9.2; what follows the numbers (`-SNAPSHOT`, `-rc1`) is ignored."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """The version that `text` starts with; ValueError if it does not start with one."""
        match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
        if match is None:
            raise ValueError(f"{text!r} is not a Kafka version")
        major, minor, patch = match.groups()
        return cls(int(major), int(minor), int(patch or 0))

    @property
    def next_patch(self) -> Self:
        return replace(self, patch=self.patch + 1)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class Release(NamedTuple):
    """The bounds of a release: no older than at_least, and older than before (None: any)."""

    at_least: KafkaVersion
    before: KafkaVersion | None


def all_since(version: KafkaVersion, releases: Iterable[Release | Skipped]) -> bool | None:
    """True if each is of this version or a newer one, False if one is older; None: unknown, or there are none."""
    found = tuple(releases)
    known = tuple(each for each in found if isinstance(each, Release))
    if any(each.before is not None and each.before <= version for each in known):
        return False
    is_known = known != () and len(known) == len(found)
    return True if is_known and all(each.at_least >= version for each in known) else None


EXACTLY_ONCE_SOURCES: Final = KafkaVersion(3, 3)
"""KIP-618: the first release whose workers know exactly.once.source.support."""

STOPPED_STATE: Final = KafkaVersion(3, 5)
"""KIP-875: target states carry `state.v2`, and STOPPED exists."""

INITIAL_STATE: Final = KafkaVersion(3, 7)
"""KIP-980: a connector can be created STOPPED."""

CAPPED_MIN_ISR: Final = KafkaVersion(3, 7)
"""Partition.effectiveMinIsr: brokers ask for no more replicas in sync than a partition has; older ones refuse."""

COMMIT_NEEDS_CONFIG: Final = (KafkaVersion(3, 7, 1), KafkaVersion(3, 8))
"""KAFKA-16838: a task commit for a connector whose config is unknown is ignored."""

SEVERAL_PLUGIN_VERSIONS: Final = KafkaVersion(4, 1)
"""KIP-891: a worker loads several versions of a plugin, and a connector can ask for one."""

NEWEST: Final = KafkaVersion(4, 3, 1)
"""The newest release that eosctl is tested against: whose behaviour is assumed where no worker reports its version."""
