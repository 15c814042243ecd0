"""How tests are dealt out to processes: `make` runs them with pytest-xdist.

Tests on the same shared Kafka are one group, which one process runs from beginning to end: it starts that Kafka once,
and ends it with the group. Of all other tests those of a file stay together, for they share what they started.
"""

import re
from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling

from eosctl.sandbox.versions import DEFAULT_KAFKA_VERSION

SHARED = {
    "three-brokers": {"cluster3", "three_brokers"},
    "acls": {"acl_sites"},
    "worker": {"connect_sandbox", "healthy"},
    "tls": {"tls_broker"},
    "broker": {"sandbox", "broker"},
}
"""The fixtures behind each group. A test that takes several is in the first group, for that costs most to start."""
_VERSION = re.compile(r"\[(?:.*?-)?(\d+\.\d+\.\d+)(?:-.*)?\](?:@[\w.-]+)?$")


class ByKafka(LoadGroupScheduling):  # type: ignore[misc]  # xdist says no types of it
    """The tests of a group stay together, and those of a file and a version of Kafka without a group.

    They are begun in the order in which they were collected.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scheduler(config: pytest.Config, log: Any) -> ByKafka | None:
    """ByKafka where `--dist loadgroup` was asked for, else xdist's own."""
    return ByKafka(config, log) if config.getvalue("dist") == "loadgroup" else None


def group_of(item: pytest.Item) -> str | None:
    """The group of a test, None where it shares no Kafka with other files."""
    fixtures = set(getattr(item, "fixturenames", ()))
    group = next((group for group, names in SHARED.items() if names & fixtures), None)
    version = version_of(item.name)
    return f"{group}-{version}" if group and version not in {None, DEFAULT_KAFKA_VERSION} else group


def scope_of(nodeid: str) -> str:
    """The group that xdist appended to a test's ID; else its file, with the version among its parameters."""
    name, _, group = nodeid.rpartition("@")
    if name and "]" not in group:
        return group
    version = version_of(nodeid)
    return nodeid.partition("::")[0] + (f"@{version}" if version else "")


def version_of(name: str) -> str | None:
    """The version of Kafka among a test's parameters."""
    version = _VERSION.search(name)
    return version[1] if version else None
