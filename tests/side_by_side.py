"""How tests are dealt out to processes: `make` runs them with pytest-xdist.

Tests on the same shared Kafka are one group, which one process runs from beginning to end: it starts that Kafka once,
and ends it with the group. Other tests of a file stay together, because they share what they started.

Only the collecting processes know which fixtures a test takes, and all of them know the same. They leave the groups in
a file, whose name they get from the process that deals out. (The mark that xdist 3.8 has for groups does nothing with
pytest 9.2, in which an item's ID is no longer `_nodeid`.)
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION

SHARED = {
    "three-brokers": {"cluster3", "three_brokers"},
    "acls": {"acl_sites"},
    "moves": {"here", "abroad", "moves_home"},
    "worker": {"connect_sandbox", "healthy", "strimzi_kafka"},
    "tls": {"tls_broker"},
    "two-clusters": {"two_clusters"},
    "broker": {"sandbox", "broker"},
}
"""The fixtures behind each group. A test that takes several is in the first group, for that costs most to start."""
APART = {
    "worker": {"doctor", "doctor_fencing_budget", "impossible_connectors", "inspect_config_live",
               "rules_of_connectors", "fault_matrix"},
    "broker": {"examples", "audit_trouble", "migrate_refused", "offsets_show"},
}  # fmt: skip
"""The groups that take longest are two each: tests of these files have a Kafka of their own."""
LONGEST = ("worker", "broker", "tests/campaign", "tests/spark", "moves", "acls", "tests/executors/test_audit_crash.py",
           "tls", "tests/sandbox/test_supervisor.py", "tests/render/test_audit_page_in_browser.py",
           "tests/integration")  # fmt: skip
"""The first tests, in this order: each takes a minute or more, for which all other processes would wait at the end."""
_VERSION = re.compile(r"\[(?:.*?-)?(\d+\.\d+\.\d+(?:/\d+\.\d+\.\d+)?)(?:-.*)?\]$")


class ByKafka(LoadScopeScheduling):  # type: ignore[misc]  # xdist says no types of it
    """The tests of a group stay together, and so do those of a file and a version of Kafka without a group.

    They start in the order of collection, which `begun` sorts.
    """

    def __init__(self, config: pytest.Config, log: Any, groups: Path) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)
        self._file = groups
        self._groups: dict[str, str] | None = None

    def _split_scope(self, nodeid: str) -> str:
        if self._groups is None:
            self._groups = json.loads(self._file.read_text())
        return self._groups.get(nodeid) or scope_of(nodeid)


def write_groups(items: Iterable[pytest.Item], file: Path) -> None:
    """Leaves the group of each test that has one where ByKafka looks, whole."""
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.write_text(json.dumps({item.nodeid: group for item in items if (group := group_of(item))}))
    draft.replace(file)


def group_of(item: pytest.Item) -> str | None:
    """The group of a test, None where it shares no Kafka with other files."""
    fixtures = set(getattr(item, "fixturenames", ()))
    group = next((group for group, names in SHARED.items() if names & fixtures), None)
    if group in APART and item.nodeid.partition("::")[0].rpartition("/test_")[2].removesuffix(".py") in APART[group]:
        group = f"{group}-apart"
    version = version_of(item.name)
    return f"{group}-{version}" if group and version not in {None, DEFAULT_KAFKA_VERSION} else group


def begun(item: pytest.Item) -> int:
    """Sorts tests: those of LONGEST in its order, then those that need Kafka, then all others."""
    scope = group_of(item) or scope_of(item.nodeid)
    place = next((place for place, each in enumerate(LONGEST) if scope.startswith(each)), len(LONGEST))
    return place if place < len(LONGEST) or item.get_closest_marker("kafka") else place + 1


def scope_of(nodeid: str) -> str:
    """The file of a test, with the version of Kafka if one is among the test's parameters."""
    version = version_of(nodeid)
    return nodeid.partition("::")[0] + (f"@{version}" if version else "")


def version_of(name: str) -> str | None:
    """The version of Kafka among a test's parameters."""
    version = _VERSION.search(name)
    return version[1] if version else None
