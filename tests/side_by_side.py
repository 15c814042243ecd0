"""How tests are dealt out to processes: `make` runs them with `--processes 5`.

One process collects the tests, then forks those that run them: collecting costs as much as 2,000 pure tests.

Tests on the same shared Kafka are one group, which one process runs from beginning to end: it starts that Kafka once,
and ends it with the group. Other tests of a file stay together, because they share what they started.
"""

import atexit
import os
import re
import sys
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from _pytest._io import TerminalWriter
from _pytest.pathlib import cleanup_numbered_dir
from _pytest.runner import runtestprotocol

from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION
from tests import forks

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


class Process(NamedTuple):
    """A fork that runs tests, and the places of those that were dealt out to it and have not ended."""

    pid: int
    connection: Connection
    rest: deque[int]


class SideBySide:
    """Deals the groups out in the order of collection, which `begun` sorts, and reports each test when it has ended.

    A process asks for a group by None before the last test of the one before, because the fixtures that the next test
    needs stay. What it says of a test are the test's reports. It gets no group when there are no more, and ends.
    """

    def __init__(self, processes: int) -> None:
        self._most = processes
        self._started = 0
        self._processes: list[Process] = []
        self._waiting: deque[list[int]] = deque()
        self._reports: list[pytest.TestReport] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Returns in this process when all tests have ended, and in each fork when it has no more to run."""
        if session.testsfailed or session.config.option.collectonly:
            return None
        self._waiting.extend(groups_of(session.items))
        forks.server()  # all processes ask the same
        if (connection := self._deal(session)) is not None:
            # Where the other process has ended, or has seen the failure that was to be the last, this one ends, too.
            with suppress(EOFError, ConnectionError):
                self._run(session, connection)
                atexit._run_exitfuncs()
                os._exit(0)  # its last test has ended what all of them started
        elif session.shouldfail:
            raise session.Failed(session.shouldfail)
        return True

    def _deal(self, session: pytest.Session) -> Connection | None:
        """None when all tests have ended; in each fork at once, its connection to the process that deals."""
        try:
            while (self._processes or self._waiting) and not session.shouldfail:
                while self._waiting and len(self._processes) < self._most:
                    if (connection := self._fork(session.config)) is not None:
                        return connection
                wait([each.connection for each in self._processes], timeout=1)
                for each in list(self._processes):
                    self._listen(each, session)
        finally:  # a fork has no processes
            for each in self._processes:
                each.connection.close()
            for each in self._processes:
                os.waitpid(each.pid, 0)
        return None

    def _fork(self, config: pytest.Config) -> Connection | None:
        directory = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        ours, theirs = Pipe()
        self._started += 1
        sys.stdout.flush()
        if pid := os.fork():
            theirs.close()
            self._processes.append(Process(pid, ours, deque()))
            return None
        for each in (ours, *(each.connection for each in self._processes)):
            each.close()
        self._processes.clear()
        become_silent(config, directory / f"process-{self._started}")
        return theirs

    def _listen(self, process: Process, session: pytest.Session) -> None:
        ended, status = os.waitpid(process.pid, os.WNOHANG)
        try:
            while not session.shouldfail and process.connection.poll():
                self._hear(process, process.connection.recv(), session)
        except (EOFError, ConnectionError):
            if not ended:
                ended, status = os.waitpid(process.pid, 0)
        if ended:
            self._processes.remove(process)
            process.connection.close()
            if not session.shouldfail:
                self._replace(process, os.waitstatus_to_exitcode(status), session)

    def _hear(self, process: Process, said: list[pytest.TestReport] | None, session: pytest.Session) -> None:
        if said is None:
            group = self._waiting.popleft() if self._waiting else []
            process.rest.extend(group)
            process.connection.send(group)
        else:
            report(session.items[process.rest.popleft()], said)

    def _replace(self, process: Process, code: int, session: pytest.Session) -> None:
        """The test in which a process ended has failed; another process runs the tests that it left."""
        if process.rest:
            item = session.items[process.rest.popleft()]
            error = f"the process that ran the test ended with {code}"
            report(item, [pytest.TestReport(item.nodeid, item.location, {}, "failed", error, "call")])
            if process.rest:
                self._waiting.appendleft(list(process.rest))
        elif code:
            session.testsfailed += 1
            sys.stderr.write(f"a process ended with {code} after its last test\n")

    def _run(self, session: pytest.Session, connection: Connection) -> None:
        session.testsfailed = 0  # before this fork
        connection.send(None)
        rest = deque(connection.recv())
        while rest:
            item = session.items[rest.popleft()]
            if not rest:
                connection.send(None)
                rest.extend(connection.recv())
            item.ihook.pytest_runtest_protocol(item=item, nextitem=session.items[rest[0]] if rest else None)
            connection.send(self._reports)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Keeps the reports, without those of setups and ends that went well: two of three, which say nothing.

        A file for JUnit and a list of durations need all of them.
        """
        options = item.config.option
        every = options.xmlpath or options.durations is not None
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        self._reports = [each for each in reports if every or each.when == "call" or not each.passed]
        return True


def become_silent(config: pytest.Config, directory: Path) -> None:
    """A fork writes what is captured to files of its own, and nothing else but temporary files below `directory`."""
    manager: Any = config.pluginmanager
    config.workerinput = {}  # type: ignore[attr-defined]  # by which plugins know that another process reports
    manager.getplugin("junitxml").pytest_unconfigure(config)
    capturing = manager.getplugin("capturemanager")._global_capturing
    for each in filter(None, (capturing.out, capturing.err)):
        with TemporaryFile() as own:
            os.dup2(own.fileno(), each.tmpfile.fileno())  # the object stays: libraries have it as a default
    manager.unregister(name="terminalreporter")
    terminal = TerminalWriter(capturing.err.tmpfile if capturing.err else sys.stderr)
    manager.register(SimpleNamespace(_tw=terminal), "terminalreporter")
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._given_basetemp, factory._basetemp = directory, None
    atexit.unregister(cleanup_numbered_dir)


def report(item: pytest.Item, reports: Iterable[pytest.TestReport]) -> None:
    """Tells the plugins of this process that the test has ended."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for each in reports:
        item.ihook.pytest_runtest_logreport(report=each)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def groups_of(items: Iterable[pytest.Item]) -> list[list[int]]:
    """The places of the items that one process runs, for each group in the order of its first item."""
    groups: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(group_of(item) or scope_of(item.nodeid), []).append(place)
    return list(groups.values())


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
