"""How tests are dealt out to processes: `make` runs them with pytest-xdist."""

import re
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

_VERSION = re.compile(r"\[(?:.*?-)?(\d+\.\d+\.\d+)(?:-.*)?\]$")


class ByFileAndVersion(LoadFileScheduling):  # type: ignore[misc]  # xdist says no types of it
    """The tests of a file stay together, for they share what they started; those on another Kafka share nothing."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """The file of a test, with the version of Kafka if one is among the test's parameters."""
    version = version_of(nodeid)
    return nodeid.partition("::")[0] + (f"@{version}" if version else "")


def version_of(name: str) -> str | None:
    """The version of Kafka among a test's parameters."""
    version = _VERSION.search(name)
    return version[1] if version else None


def scheduler(config: pytest.Config, log: Any) -> ByFileAndVersion | None:
    """ByFileAndVersion where `--dist loadfile` was asked for, else xdist's own."""
    return ByFileAndVersion(config, log) if config.getvalue("dist") == "loadfile" else None
