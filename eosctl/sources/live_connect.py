"""A Connect cluster as its workers' REST interfaces answer now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from eosctl.errors import ConfigError, EosctlError, Unreachable, UsageError
from eosctl.model.discovery import FoundWorkers
from eosctl.model.evidence import WorkerEvidence
from eosctl.model.skipped import Skipped, not_asked, or_skipped
from eosctl.model.workers import ConnectFacts, ConnectorStatus, oldest_version
from eosctl.sources import connect_evidence, connect_offsets, connect_rest
from eosctl.sources.coverage_log import CoverageLog, KeptFacts, asked

NO_BROKERS: Final = not_asked("no -b/--bootstrap-server was given")
NO_WORKERS: Final = not_asked("no --connect-url was given")
SOON_S: Final = 5.0
PROBED_S: Final = 600.0
"""For how long later sessions take what a worker said of itself, while the group has the same members."""

if TYPE_CHECKING:
    from eosctl.model.client_roles import ConnectorConfig
    from eosctl.model.evidence import Preflight
    from eosctl.model.offset_stores import SourceSupport
    from eosctl.model.versions import KafkaVersion
    from eosctl.sources.cluster_reader import Configs, Servers
    from eosctl.sources.live_cluster import Connections

F = TypeVar("F")


def soon(timeout_s: float) -> float:
    """How long a worker is waited for whose answer can be done without: a sixth of the timeout, or SOON_S if longer."""
    return min(timeout_s, max(SOON_S, timeout_s / 6))


class LiveConnect(CoverageLog):
    """Asks the workers again at each question. A worker that did not answer once is not waited for again.

    Workers that nobody named and the group shows count where all workers are asked; one of them speaks for the others
    only where none of the named does. Nothing is sent to them: what a worker answers only to a PUT, and what has
    secrets in it, is from named workers alone.
    """

    _connections: Connections

    def __init__(self, connect_urls: tuple[str, ...], timeout_s: float, kept: KeptFacts | None = None) -> None:
        super().__init__(kept)
        self._urls, self._timeout_s = connect_urls, timeout_s
        self._silent = {} if kept is None else kept.silent
        self._are_spared = False
        self._found: FoundWorkers | None = None

    def _find_workers(self) -> FoundWorkers:
        """Workers that nobody named."""
        return FoundWorkers()

    @property
    def _unnamed(self) -> FoundWorkers:
        """Workers that nobody named; none for what only adds to an answer."""
        if self._found is None:
            if not self._needed:
                return FoundWorkers()
            self._found = self._find_workers()
            self.note("worker", self._found.unread, needed=False)
        return self._found

    def _processes(self) -> frozenset[str] | None:
        """What is another for each start of a worker: the IDs of the group's members. None where they are not known."""
        return None

    @cached_property
    def _probed(self) -> dict[str, bool]:
        """What workers answered to the validate probe: no reader asks one twice, nor do readers that share facts.

        A worker that is set otherwise was started again, and is another member of its group then.
        """
        if self._kept is None:
            return {}
        processes = self._processes()
        return self._kept.probes(processes, 0.0 if processes is None else PROBED_S)

    def _keep(self, answers: Mapping[str, bool | Skipped]) -> None:
        self._probed.update((url, each) for url, each in answers.items() if isinstance(each, bool))

    @property
    def _named(self) -> tuple[str, ...]:
        return tuple(url for url in self._urls if url not in self._silent)

    @property
    def _all(self) -> tuple[str, ...]:
        return (*self._urls, *self._unnamed.reached)

    @property
    def _answering(self) -> tuple[str, ...]:
        return tuple(url for url in self._all if url not in self._silent)

    @property
    def _speakers(self) -> tuple[str, ...]:
        """Who is asked in turn what all workers know."""
        return self._named or self._answering

    @property
    def _nobody(self) -> Skipped:
        """Why there is no worker to ask: none was named, or none answered before."""
        return next(iter(self._silent.values()), NO_WORKERS)

    def _with_silent(self, workers: Mapping[str, F | Skipped]) -> Mapping[str, F | Skipped]:
        """The same with the workers that did not answer before, in the order given."""
        self._silent.update((url, each) for url, each in workers.items() if isinstance(each, Skipped))
        known = {**workers, **self._silent}
        return {url: known[url] for url in self._all}

    @contextmanager
    def sparing_workers(self) -> Iterator[None]:
        """Workers that do not answer soon are Skipped while the block runs."""
        before = self._timeout_s, self._are_spared
        self._timeout_s, self._are_spared = soon(self._timeout_s), True
        try:
            yield
        finally:
            self._timeout_s, self._are_spared = before

    def _of_workers(self, ask: Callable[[Sequence[str], float], F]) -> F | Skipped:
        """What they answer; Skipped where there is none to ask, and where all are silent and spared."""
        urls = self._answering
        if not urls:
            return self._nobody
        try:
            return ask(urls, self._timeout_s)
        except Unreachable as error:
            if not self._are_spared:
                raise
            self._silent |= dict.fromkeys(urls, Skipped.of(error))
            return self._nobody

    @asked("Connect workers", once=True)
    def connect(self) -> ConnectFacts | Skipped:
        """Workers in parallel, connectors from the first that answers."""
        facts = self._of_workers(connect_rest.read_connect)
        return facts if isinstance(facts, Skipped) else replace(facts, workers=self._with_silent(facts.workers))

    @asked("the workers' version", once=True)
    def connect_version(self) -> KafkaVersion | Skipped:
        """The oldest, by `GET /` of each worker."""
        workers = self._of_workers(connect_rest.read_workers)
        if isinstance(workers, Skipped):
            return workers
        self.note("version of worker", {url: each for url, each in workers.items() if isinstance(each, Skipped)})
        return oldest_version(workers.values())

    @asked("connector configs", once=True)
    def connector_configs(self) -> Configs | Skipped | None:
        """From the first worker that answers; raises the first error where none does."""
        if not self._speakers:
            return self._nobody if self._urls else None
        return connect_offsets.read_connector_configs(self._speakers, self._timeout_s)

    @asked("connector configs")
    def client_configs(self) -> Mapping[str, ConnectorConfig] | None:
        """From the first worker that answers; raises the first error where none does."""
        urls = self._named or self._urls
        return connect_offsets.read_client_configs(urls, self._timeout_s) if urls else None

    @asked("worker")
    def worker_evidence(self) -> Mapping[str, WorkerEvidence | Skipped] | Skipped:
        """Of all workers, named or members of the group: Skipped in place of one that does not answer.

        Raises the first error where none answers and there are no brokers to ask either, or where it is the user's.
        """
        unnamed = self._unnamed.silent
        if not self._answering:
            return unnamed or self._nobody
        found = connect_evidence.read_worker_evidence(self._answering, self._timeout_s, self._probed)
        self._keep({url: each.enabled for url, each in found.items() if isinstance(each, WorkerEvidence)})
        errors = [each for each in found.values() if isinstance(each, EosctlError)]
        nothing_read = len(errors) == len(found) and not self._connections.client_properties.bootstrap_servers
        for error in errors:
            if nothing_read or isinstance(error, UsageError | ConfigError):
                raise error
        answers = {url: Skipped.of(each) if isinstance(each, EosctlError) else each for url, each in found.items()}
        return {**self._with_silent(answers), **unnamed}

    @asked("connector statuses", once=True)
    def connector_statuses(self) -> Mapping[str, ConnectorStatus] | Skipped:
        """From the first worker that answers."""
        urls, timeout_s = self._speakers, self._timeout_s
        return or_skipped(lambda: connect_rest.read_first_connectors(urls, timeout_s)) if urls else self._nobody

    @asked("preflight of connector")
    def preflight(self) -> Mapping[str, Preflight] | Skipped:
        """Each config is validated by one of the workers; nothing is created."""
        urls, timeout_s = self._named, self._timeout_s
        return or_skipped(lambda: connect_evidence.read_preflight(urls, timeout_s)) if urls else self._nobody

    @asked("the workers' exactly.once.source.support", once=True)
    def source_support(self) -> SourceSupport | Skipped:
        """By the validate probe, at every named worker."""
        urls = self._named
        if self._urls and not urls:
            return self._nobody
        if not urls:
            return not_asked("give --exactly-once, --worker-config or --connect-url")
        known = self._probed
        with ThreadPoolExecutor(max_workers=connect_evidence.PARALLEL) as pool:
            asked = {
                url: pool.submit(connect_offsets.probe_source_support, url, self._timeout_s)
                for url in urls
                if url not in known
            }
        self._keep(answers := {**known, **{url: each.result() for url, each in asked.items()}})
        return connect_offsets.common_support({url: answers[url] for url in urls})

    def worker_offsets_topic(self) -> str | None:
        """No worker reports it."""
        return None

    def worker_servers(self) -> Servers | Skipped:
        """No worker reports them."""
        return not_asked("give --worker-bootstrap-servers")

    def worker_clients(self) -> Mapping[str, str]:
        """No worker reports them."""
        return {}
