"""The real Kafka that tests run against, started once for all of them.

A test that takes one of these fixtures carries `@pytest.mark.kafka`. Where Kafka's jars cannot be had it fails.
"""

import itertools
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from eosctl.sandbox.sandbox import Sandbox
from eosctl.sandbox.spec import SandboxSpec
from eosctl.sandbox.versions import DEFAULT_KAFKA_VERSION
from tests.leaders import share_out_leaders
from tests.side_by_side import ByFileAndVersion, scheduler

if TYPE_CHECKING:
    from tests.postgresql import PostgreSQL

MakeSandbox = Callable[..., Sandbox]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kafka-versions",
        help=f"comma-separated versions for tests that ask for kafka_version (default {DEFAULT_KAFKA_VERSION})",
    )


def pytest_configure() -> None:
    """Let Ctrl-C reach the tests that are about it: a shell starts background jobs with SIGINT ignored.

    And let no property fail because the machine is busy. Where CI is set, as .ci/run sets it, the same commit is held
    against the same examples each time; elsewhere, and in `make fuzz`, against new ones.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.register_profile(
        "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
    )
    settings.load_profile("untimed")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFileAndVersion | None:
    return scheduler(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`-m "not kafka"` means no campaign of minutes either: only an expression that speaks of `long` can choose one.

    Variations are left out of the ordinary run; they run where --kafka-versions is given, as in `make matrix`.
    """
    expression = config.option.markexpr
    if expression and "long" not in expression:
        campaigns = [item for item in items if item.get_closest_marker("long")]
        _leave_out(config, items, campaigns)
    if config.getoption("--kafka-versions") is None and "variation" not in expression:
        _leave_out(config, items, [item for item in items if item.get_closest_marker("variation")])


def _leave_out(config: pytest.Config, items: list[pytest.Item], left_out: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kafka_version" in metafunc.fixturenames:
        versions = (metafunc.config.getoption("--kafka-versions") or DEFAULT_KAFKA_VERSION).split(",")
        metafunc.parametrize("kafka_version", versions, scope="session")


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """One broker, no worker. Shared: leave no ACL behind, use `fresh_name` for topics and IDs."""
    with Sandbox() as started:
        yield started


@pytest.fixture(scope="session")
def connect_sandbox() -> Iterator[Sandbox]:
    """One broker and one worker with exactly-once enabled. Shared, as `sandbox` is."""
    with Sandbox(SandboxSpec(workers=1)) as started:
        yield started


@pytest.fixture(scope="session")
def shared_cluster3() -> Iterator[Sandbox]:
    """What `cluster3` hands to one test after the other."""
    with Sandbox(SandboxSpec(brokers=3)) as started:
        yield started


@pytest.fixture
def cluster3(shared_cluster3: Sandbox) -> Sandbox:
    """Three brokers, all of them voters, each with its share of the leaders. A test that stops one starts it again."""
    share_out_leaders(shared_cluster3.bootstrap_servers)
    return shared_cluster3


@pytest.fixture(scope="session")
def postgresql() -> "Iterator[PostgreSQL]":
    """A real PostgreSQL. Shared: a test takes a database of its own."""
    from tests.postgresql import PostgreSQL

    with PostgreSQL() as started:
        yield started


@pytest.fixture
def make_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeSandbox]:
    """Starts a sandbox of the test's own: `make_sandbox(brokers=2, workers=1)`; the fields are those of SandboxSpec.

    Logs of one that fails to start stay among pytest's temporary files.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    started: list[Sandbox] = []

    def make(**spec: Any) -> Sandbox:
        sandbox = Sandbox(SandboxSpec(**spec))
        sandbox.start()
        started.append(sandbox)
        return sandbox

    yield make
    for sandbox in started:
        sandbox.stop()


@pytest.fixture(scope="session")
def fresh_name() -> Callable[[str], str]:
    """`fresh_name("topic")` is a name that no other test of this run has: topic-1, topic-2."""
    numbers = itertools.count(1)
    return lambda prefix: f"{prefix}-{next(numbers)}"
