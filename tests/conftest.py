"""The real Kafka that tests run against, started once for all of them.

A test that takes one of these fixtures carries `@pytest.mark.kafka`. Where Kafka's jars cannot be had it fails.
"""

import gc
import importlib
import itertools
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, TESTED_KAFKA_VERSIONS
from eosctl.sandbox.properties import SandboxSpec
from tests.faulty_sandbox import Sandbox
from tests.kafka_versions import KafkaVersions, spec_of, workers_of
from tests.looked_at import as_looked_at  # noqa: F401 - a fixture for all tests
from tests.shared_sandboxes import SharedSandboxes
from tests.side_by_side import SideBySide, begun, group_of
from tests.worker_logs import untroubled

if TYPE_CHECKING:
    from tests.postgresql import PostgreSQL


MakeSandbox = Callable[..., Sandbox]
FreshName = Callable[[str], str]
SHARED = pytest.StashKey[SharedSandboxes]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kafka-versions",
        help=f"comma-separated versions for tests that ask for kafka_version (default {DEFAULT_KAFKA_VERSION}); "
        "4.3.1/3.6.2 is workers of 3.6.2 on brokers of 4.3.1",
    )
    parser.addoption("--processes", type=int, default=0, help="run the tests in so many forks of this process")
    parser.addoption("--look-again", action="store_true", help="write the answers in tests/golden that differ again")


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C reach the tests about it: a shell starts background jobs with SIGINT ignored.

    And let no property fail because the machine is busy. With CI set, as .ci/run sets it, the same commit gets the same
    examples each time; elsewhere, and in `make fuzz`, new ones.
    """
    # Thousands of items and modules stay until the end: the collector would go through them again and again.
    gc.disable()
    sys.modules.setdefault("rfc3987_syntax", Grammars("rfc3987_syntax"))
    config.stash[SHARED] = SharedSandboxes()
    if config.option.processes:
        config.pluginmanager.register(SideBySide(config.option.processes))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.register_profile(
        "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
    )
    settings.load_profile("untimed")


class Grammars(ModuleType):
    """In place of rfc3987_syntax, which jsonschema imports: its 38 grammars cost 2 of the 10 CPU-s of a collection.

    The first check of an IRI imports the real one.
    """

    def is_valid_syntax(self, rule: str, text: str) -> bool:
        """As the real module answers."""
        if sys.modules[self.__name__] is self:
            del sys.modules[self.__name__]
        return bool(importlib.import_module(self.__name__).is_valid_syntax(rule, text))


def pytest_collection_finish() -> None:
    """From here on the collector looks at what tests make, and rarely: it took a seventh of the CPU."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
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
    _leave_out(config, items, [item for item in items if _is_seen_without_workers(item)])
    if config.option.processes:
        items.sort(key=begun)


def _is_seen_without_workers(item: pytest.Item) -> bool:
    """True if the test has a pair of versions, but uses only brokers, which are tested separately."""
    versions = getattr(item, "callspec", None) and item.callspec.params.get("kafka_version")
    alone = isinstance(versions, KafkaVersions) and versions.is_pair and str(versions) in TESTED_KAFKA_VERSIONS
    return bool(alone) and item.get_closest_marker("workers") is None


def _leave_out(config: pytest.Config, items: list[pytest.Item], left_out: list[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes have the name of their argument: compressed ones may have the time in them, and each process its own."""
    return argname if isinstance(val, bytes) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kafka_version" in metafunc.fixturenames:
        named = (metafunc.config.getoption("--kafka-versions") or DEFAULT_KAFKA_VERSION).split(",")
        versions = [KafkaVersions(each) for each in named]
        metafunc.parametrize("kafka_version", versions, scope="session", ids=[each.id for each in versions])


@pytest.fixture(scope="session")
def connect_version(kafka_version: KafkaVersions) -> str:
    """The version of the workers, for what is of Connect alone."""
    return workers_of(kafka_version)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A later group of this process does not share the previous group's fixtures; one process alone is one group."""
    group = group_of(item) if item.config.option.processes else None
    item.config.stash[SHARED].enter(group, item.getparent(pytest.Module))


@pytest.fixture(scope="session")
def shared_sandboxes(pytestconfig: pytest.Config) -> Iterator[SharedSandboxes]:
    """Sandboxes by spec. Shared: leave no ACL behind, use `fresh_name` for topics and IDs."""
    yield pytestconfig.stash[SHARED]
    pytestconfig.stash[SHARED].stop()


@pytest.fixture(scope="module")
def sandbox(shared_sandboxes: SharedSandboxes) -> Sandbox:
    """One broker, no worker. Shared."""
    return shared_sandboxes.of(SandboxSpec())


@pytest.fixture(scope="module")
def broker(shared_sandboxes: SharedSandboxes, kafka_version: str) -> Sandbox:
    """One broker of each version in `--kafka-versions`. Shared; that of the default version is `sandbox`."""
    return shared_sandboxes.of(spec_of(kafka_version))


@pytest.fixture(scope="module")
def connect_sandbox(shared_sandboxes: SharedSandboxes) -> Sandbox:
    """One broker and one worker with exactly-once enabled. Shared."""
    return shared_sandboxes.of(SandboxSpec(workers=1))


@pytest.fixture(scope="module")
def moves_home(shared_sandboxes: SharedSandboxes, kafka_version: str) -> Sandbox:
    """A broker and a worker with exactly-once enabled, of each version. Shared by tests that move connectors."""
    return shared_sandboxes.of(spec_of(kafka_version, workers=1))


@pytest.fixture
def cluster3(shared_sandboxes: SharedSandboxes) -> Sandbox:
    """Three brokers, all of them voters, each with its share of the leaders. A test that stops one starts it again."""
    return shared_sandboxes.three_brokers(DEFAULT_KAFKA_VERSION)


@pytest.fixture(scope="session")
def postgresql() -> "Iterator[PostgreSQL]":
    """A real PostgreSQL. Shared: a test takes a database of its own."""
    from tests.postgresql import PostgreSQL

    with PostgreSQL() as started:
        yield started


@pytest.fixture
def make_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeSandbox]:
    """Starts a separate sandbox: `make_sandbox(brokers=2, workers=1)`; the fields are those of SandboxSpec.

    Logs of one that fails to start stay among pytest's temporary files.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ExitStack() as ends:
        yield lambda **spec: ends.enter_context(untroubled(Sandbox(SandboxSpec(**spec))))


@pytest.fixture(scope="session")
def fresh_name() -> FreshName:
    """`fresh_name("topic")` is a name that no other test of this run has: topic-1, topic-2."""
    numbers = itertools.count(1)
    return lambda prefix: f"{prefix}-{next(numbers)}"
