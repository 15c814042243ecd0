"""A Connect worker and its connectors, with a separate user for every client, under a given set of ACLs."""

import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from eosctl.analysis.errors import is_overtaken
from eosctl.clients.rest import RestClient, RestResponse
from eosctl.codecs.connector_files import connector_of, worker_of
from eosctl.codecs.properties import decode_properties
from eosctl.errors import EosctlError, TimedOut
from eosctl.model.acl_plan import AclPlan, AclRequest
from eosctl.model.acls import AclBinding
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ClientRole, ConnectCluster, ConnectorConfig, WorkerConfig
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import SourceSupport
from eosctl.planning.acls import plan_acls
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker
from tests.integration.producers import create_topic

USERS = ("consumer", "upstream", "downstream")
"""Users beside worker, connector and admin: the offsets consumer, and MirrorMaker 2's clients of either cluster."""

CLIENTS = {"producer": "connector", "consumer": "consumer", "admin": "admin"}
"""The user that each client of a connector is."""

STEP_S = 20.0
SHORT_S = 15.0
"""The longest wait for an event that is expected to fail."""
PATIENT_S = 60.0
"""The longest wait for an expected event on a busy machine."""


class Broken(Exception):
    """A failed step: its name, and the observation instead."""

    def __init__(self, step: str, evidence: str) -> None:
        super().__init__(f"{step}: {evidence}")
        self.step = step
        self.evidence = " ".join(evidence.split())[:300]


@dataclass(frozen=True, slots=True)
class Site:
    """One Connect cluster on a sandbox: group and internal topics have names that no other site has."""

    sandbox: Sandbox
    acls: AclBroker
    name: str
    phase: SourceSupport
    files: Path
    mark: list[int] = field(default_factory=lambda: [0])
    worker_number: list[int] = field(default_factory=lambda: [1])
    clients: Mapping[str, str] = field(default_factory=lambda: CLIENTS)
    patience_s: float = SHORT_S

    @property
    def version(self) -> KafkaVersion:
        return KafkaVersion.parse(self.sandbox.spec.workers_version)

    # -- what it is --------------------------------------------------------------------------------------------------

    def client(self, user: str) -> dict[str, str]:
        """Client properties with which a client is this user."""
        return decode_properties(self.sandbox.client_properties(user), origin=user)

    def worker_settings(self) -> dict[str, str]:
        """The worker's settings beyond the sandbox's own: its identity, and its names."""
        return {
            **self.client("worker"),
            "group.id": self.name,
            "config.storage.topic": f"{self.name}-configs",
            "offset.storage.topic": f"{self.name}-offsets",
            "status.storage.topic": f"{self.name}-status",
            "exactly.once.source.support": self.phase.value,
        }

    @property
    def worker(self) -> WorkerConfig:
        return worker_of(self.worker_settings(), "worker.properties")

    def connector(self, name: str, **settings: str) -> ConnectorConfig:
        """A connector whose producer, consumer and admin client are the users of `clients`."""
        overrides = {
            f"{client}.override.{key}": value
            for client, user in self.clients.items()
            for key, value in self.client(user).items()
        }
        return connector_of({"name": name, **overrides, **settings}, name)

    def file_source(self, **settings: str) -> ConnectorConfig:
        """FileStreamSource over a file of 20 lines."""
        path = self.files / f"{self.name}.txt"
        if not path.exists():
            path.write_text("".join(f"line {number}\n" for number in range(20)))
        plain = {"connector.class": "FileStreamSource", "file": str(path), "topic": f"{self.name}-lines"}
        return self.connector(f"{self.name}-file", **plain, **settings)

    def mirror_source(self, tasks: int) -> ConnectorConfig:
        """MirrorSourceConnector from the sandbox to itself, over one topic of four partitions."""
        sides = {
            f"{side}.cluster.{key}": value
            for side, user in (("source", "upstream"), ("target", "downstream"))
            for key, value in self.client(user).items()
        }
        plain = {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "source.cluster.alias": "up",
            "target.cluster.alias": "down",
            "topics": f"{self.name}-up",
            "tasks.max": str(tasks),
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "sync.topic.acls.enabled": "false",
            "source.consumer.isolation.level": "read_committed",
            "source.consumer.auto.offset.reset": "earliest",
            "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        }
        return self.connector(f"{self.name}-mirror", **plain, **sides)

    def plan(
        self, connectors: Iterable[ConnectorConfig], existing: Mapping[str, bool], *, tool: str | None = None
    ) -> AclPlan:
        """The plan of eosctl for the worker and these connectors, and for itself as the user `tool`."""
        cluster = ConnectCluster((self.worker,), tuple(connectors))
        principals = {} if tool is None else {(ClientRole.EOSCTL, None): f"User:{tool}"}
        return plan_acls(AclRequest((cluster,), principals=principals, topics_known=existing), _no_certificate)

    # -- what happens ------------------------------------------------------------------------------------------------

    def allow(self, bindings: Iterable[AclBinding]) -> None:
        """Sets the cluster's ACLs; later lines of the worker's log count as evidence."""
        self.acls.set(bindings)
        self.mark[0] = self._log_size()

    def start_worker(self) -> None:
        """The worker starts, and answers REST."""
        try:
            self.sandbox.start_worker(1, self.worker_settings())
        except EosctlError as error:
            raise Broken("worker start", self.complaint() or error.message) from error

    def stop_worker(self) -> None:
        """The worker ends in order; one that does not run is fine."""
        try:
            if self.sandbox.worker_pid(1) is not None:
                self.sandbox.stop_worker(1)
        except EosctlError:
            return

    @contextmanager
    def second_worker(self) -> Iterator[None]:
        """Worker 2 joins, and worker 1 leaves when each runs some of the tasks; at the end none runs."""
        try:
            self.sandbox.start_worker(2, self.worker_settings())
            # A task that starts while its leader goes cannot have its forerunners fenced, and is FAILED for good.
            self.wait("second worker", self._both_work, "tasks RUNNING on both workers")
            self.stop_worker()
            self.worker_number[0] = 2
            yield
        except EosctlError as error:
            raise Broken("second worker", error.message) from error
        finally:
            self.worker_number[0] = 1
            self.sandbox.stop_worker(2)

    def _both_work(self) -> bool:
        connectors = self.rest("second worker", "GET", "/connectors?expand=status").body
        assert isinstance(connectors, Mapping)
        tasks = [task for each in connectors.values() for task in each["status"]["tasks"]]
        return {each["state"] for each in tasks} == {"RUNNING"} and len({each["worker_id"] for each in tasks}) == 2

    def rest(self, step: str, method: str, path: str, body: Mapping[str, object] | None = None) -> RestResponse:
        """The answer of the worker; Broken with Connect's own message where it is an error."""
        try:
            with RestClient(self.sandbox.connect_url(self.worker_number[0]), max(STEP_S, self.patience_s)) as client:
                return client.request(method, path, body)
        except TimedOut as error:
            raise Broken(step, f"{error.message}; {self.complaint()}") from error
        except EosctlError as error:
            raise Broken(step, error.message) from error

    def put(self, step: str, connector: ConnectorConfig) -> None:
        """PUT the connector's config: it is created, or reconfigured. A leader that is gone is waited for."""
        config = {key: each.value for key, each in connector.properties.items()}

        def accepted() -> bool:
            try:
                self.rest(step, "PUT", f"/connectors/{connector.name}/config", config)
            except Broken as error:
                if "trying to forward REST request" in error.evidence:
                    return False
                raise
            return True

        self.wait(step, accepted, "leader to take the config")

    def delete(self, name: str) -> None:
        """Delete the connector, if it is there, and wait until it is gone."""
        try:
            self.rest("delete", "DELETE", f"/connectors/{name}")
        except Broken:
            return

    def await_running(self, step: str, name: str, tasks: int) -> None:
        """The connector and this many tasks are RUNNING; Broken as soon as one of them is FAILED.

        A task that starts while its connector commits new configs is FAILED until it is started with those.
        """

        def running() -> bool:
            status = self.rest(step, "GET", f"/connectors/{name}/status").body
            assert isinstance(status, dict)
            for each in (status["connector"], *status["tasks"]):
                cause = _cause(each.get("trace") or "")
                if each["state"] == "FAILED" and not is_overtaken(cause):
                    raise Broken(step, cause)
            states = [each["state"] for each in status["tasks"]]
            return status["connector"]["state"] == "RUNNING" and states == ["RUNNING"] * tasks

        self.wait(step, running, f"{tasks} tasks RUNNING")

    def wait(self, step: str, is_so: Callable[[], bool], what: str) -> None:
        """Wait for a condition; Broken, with the complaints in the worker's log, if it does not hold in time."""
        deadline = time.monotonic() + self.patience_s
        last = ""
        while True:
            try:
                if is_so():
                    return
            except Broken as error:
                if "404" not in error.evidence:
                    raise
                last = error.evidence
            if time.monotonic() > deadline:
                raise Broken(
                    step, f"no {what} after {self.patience_s:g} s; {self.complaint() or last or 'the log is silent'}"
                )
            time.sleep(0.1)

    # -- what is seen ------------------------------------------------------------------------------------------------

    def _log_size(self) -> int:
        path = self.sandbox.worker_log(self.worker_number[0])
        return path.stat().st_size if path.exists() else 0

    def complaint(self) -> str:
        """The last line of the worker's log since the ACLs were set that speaks of authorization."""
        path = self.sandbox.worker_log(self.worker_number[0])
        if not path.exists():
            return ""
        with path.open(errors="replace") as log:
            log.seek(self.mark[0])
            lines = [line for line in log if "uthoriz" in line and "saslJaasConfig" not in line]
        exceptions = [found[0] for line in lines if (found := _EXCEPTION.search(line))]
        return exceptions[-1].strip() if exceptions else ""


_EXCEPTION = re.compile(r"\w+AuthorizationException: [^(\n]*")


def _cause(trace: str) -> str:
    """The innermost cause of a Java stack trace, or the one line as it is."""
    lines = [line.strip() for line in trace.splitlines() if line.strip() and not line.strip().startswith("at ")]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    text = (causes or lines or [trace])[-1]
    return text.replace("org.apache.kafka.common.errors.", "").replace("org.apache.kafka.connect.errors.", "")


def _no_certificate(_: Mapping[str, Property]) -> str:
    raise AssertionError("no client of the sandbox shows a certificate")


@dataclass(frozen=True, slots=True)
class Sites:
    """Makes sites on one sandbox."""

    sandbox: Sandbox
    acls: AclBroker
    files: Path
    patience_s: float = SHORT_S
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def make(self, phase: SourceSupport) -> Site:
        """A site with names of its own."""
        name = f"acl{next(self.numbers)}"
        site = Site(self.sandbox, self.acls, name, phase, self.files, patience_s=self.patience_s)
        create_topic(self.sandbox.bootstrap_servers, f"{site.name}-up", partitions=4)
        create_topic(self.sandbox.bootstrap_servers, f"{site.name}-lines")
        return site
