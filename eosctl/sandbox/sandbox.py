"""A real Kafka and Kafka Connect on this machine, as long as this object or process lives."""

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from eosctl.errors import ConfigError, UsageError
from eosctl.sandbox.identity import Identity, establish_identity
from eosctl.sandbox.jars import KafkaJars, resolve_jars
from eosctl.sandbox.java import find_java
from eosctl.sandbox.ports import PortLeases
from eosctl.sandbox.probes import accepts_connections, brokers_in_metadata, worker_has_joined
from eosctl.sandbox.process import Jvm, Spawner
from eosctl.sandbox.properties import (
    HOST,
    BrokerPorts,
    broker_properties,
    client_properties,
    logging_configuration,
    properties_text,
    worker_properties,
)
from eosctl.sandbox.spec import MOST_WORKERS, SandboxSpec
from eosctl.sandbox.storage import format_storage

T = TypeVar("T")

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto")
BROKER_MEMORY = ("-Xms64m", "-Xmx512m")
WORKER_MEMORY = ("-Xms64m", "-Xmx768m")


def _say_nothing(_: str) -> None:
    pass


class Sandbox:
    """Brokers 1 to n and workers 1 to m of one Kafka version; a context manager, or `start` and `stop`.

    `narrate` is told what is being waited for. Every process ends with `stop`, and dies with this one.
    """

    def __init__(self, spec: SandboxSpec | None = None, narrate: Callable[[str], None] = _say_nothing) -> None:
        self.spec = spec or SandboxSpec()
        self._narrate = narrate
        self._leases = PortLeases()
        self._brokers: dict[int, Jvm] = {}
        self._workers: dict[int, Jvm] = {}
        self._spawner: Spawner | None = None
        self._identity: Identity | None = None
        self._directory: Path | None = None
        self._jars: KafkaJars | None = None
        self._java: Path | None = None

    def __enter__(self) -> Self:
        """Starts it."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops it."""
        self.stop()

    # -- what it is --------------------------------------------------------------------------------------------------

    @property
    def kafka_version(self) -> str:
        """The version of brokers and workers, as in `4.3.1`."""
        return self.spec.kafka_version

    @property
    def directory(self) -> Path:
        """Where properties, data and logs are."""
        return _started(self._directory)

    @property
    def jars(self) -> KafkaJars:
        """Kafka's jars of this version."""
        return _started(self._jars)

    @property
    def classpath(self) -> str:
        """The jars of brokers, workers and tools, as `java -cp` takes them; plugins are not on it."""
        return self.jars.classpath

    @property
    def java(self) -> Path:
        """The `java` that runs it."""
        return _started(self._java)

    @property
    def cluster_id(self) -> str:
        """The Kafka cluster ID."""
        return _started(self._identity).cluster_id

    @property
    def bootstrap_servers(self) -> str:
        """The plaintext listeners of all brokers; who connects there is `User:ANONYMOUS`, the super user."""
        return ",".join(f"{HOST}:{ports.plaintext}" for ports in _started(self._identity).brokers)

    @property
    def sasl_bootstrap_servers(self) -> str:
        """The SASL/PLAIN listeners of all brokers; a user there may do what ACLs allow, which at first is nothing."""
        return ",".join(f"{HOST}:{ports.sasl}" for ports in _started(self._identity).brokers)

    @property
    def users(self) -> Mapping[str, str]:
        """Password of each SASL user by name."""
        return _started(self._identity).passwords

    @property
    def connect_urls(self) -> tuple[str, ...]:
        """REST addresses of the workers that were started, in order of their numbers."""
        return tuple(self.connect_url(number) for number in sorted(self._workers))

    def connect_url(self, number: int) -> str:
        """REST address of worker `number`."""
        return f"http://{HOST}:{_started(self._identity).workers[number - 1]}"

    def client_properties(self, user: str) -> str:
        """A Java client.properties with which a client is `User:<user>`."""
        if user not in self.users:
            raise UsageError(f"the sandbox has no user {user!r}", hint=f"it has {', '.join(self.users)}")
        return properties_text(client_properties(user, self.users[user], self.sasl_bootstrap_servers))

    def broker_log(self, node: int) -> Path:
        """The log of broker `node`, over all its starts."""
        return self.directory / "logs" / f"broker-{node}.log"

    def worker_log(self, number: int) -> Path:
        """The log of worker `number`, over all its starts."""
        return self.directory / "logs" / f"worker-{number}.log"

    def broker_pid(self, node: int) -> int | None:
        """The process ID of broker `node`, or None when it does not run."""
        return self._broker(node).pid

    def worker_pid(self, number: int) -> int | None:
        """The process ID of worker `number`, or None when it does not run."""
        return self._worker(number).pid

    # -- all of it ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Returns when all brokers and workers are ready.

        Raises ConfigError when one of them ends early, TimedOut after `spec.deadline_s`; both show the end of its log.
        """
        try:
            self._prepare()
            self._start_brokers()
            self._start_workers()
        except BaseException:
            self.stop(keep_logs=True)
            raise

    def stop(self, *, keep_logs: bool = False) -> None:
        """Ends every process and removes a temporary directory, all but its logs with `keep_logs`.

        Processes over a named directory end in order, workers first, so that their data needs no recovery.
        """
        for group in (self._workers, self._brokers):
            if self.spec.directory is not None:
                for jvm in group.values():
                    jvm.resume()
                    jvm.terminate()
            for jvm in group.values():
                jvm.stop() if self.spec.directory is not None else jvm.kill()
        if self._spawner is not None:
            self._spawner.close()
            self._spawner = None
        self._leases.release()
        self._remove(keep_logs)

    def _remove(self, keep_logs: bool) -> None:
        if self.spec.directory is not None or self._directory is None:
            return
        for entry in self._directory.iterdir():
            if entry.is_dir() and not (keep_logs and entry.name == "logs"):
                shutil.rmtree(entry)
        if not keep_logs:
            shutil.rmtree(self._directory)

    # -- one broker --------------------------------------------------------------------------------------------------

    def start_broker(self, node: int) -> None:
        """Starts broker `node` again, on its ports and data, and returns when it has joined the cluster."""
        self._broker(node).start()
        self._await_brokers([node], frozenset({node}))

    def stop_broker(self, node: int) -> None:
        """Ends broker `node` in order (SIGTERM)."""
        self._broker(node).stop()

    def kill_broker(self, node: int) -> None:
        """Ends broker `node` at once (SIGKILL)."""
        self._broker(node).kill()

    def pause_broker(self, node: int) -> None:
        """Freezes broker `node` (SIGSTOP): its connections stay, it answers nothing."""
        self._broker(node).pause()

    def resume_broker(self, node: int) -> None:
        """Lets broker `node` go on (SIGCONT)."""
        self._broker(node).resume()

    def _broker(self, node: int) -> Jvm:
        if node not in self._brokers:
            raise UsageError(f"the sandbox has brokers 1 to {self.spec.brokers}, not {node}")
        return self._brokers[node]

    # -- one worker --------------------------------------------------------------------------------------------------

    def start_worker(self, number: int, overrides: Mapping[str, str] | None = None) -> str:
        """Starts worker `number` (a new one, or one that was stopped) and returns its REST address when it is ready.

        `overrides` win over `spec.worker_config` for this start; a later start without any is as the spec says.
        """
        self._prepare_worker(number, overrides or {}).start()
        self._await_workers([number])
        return self.connect_url(number)

    def stop_worker(self, number: int) -> None:
        """Ends worker `number` in order (SIGTERM)."""
        self._worker(number).stop()

    def kill_worker(self, number: int) -> None:
        """Ends worker `number` at once (SIGKILL)."""
        self._worker(number).kill()

    def pause_worker(self, number: int) -> None:
        """Freezes worker `number` (SIGSTOP)."""
        self._worker(number).pause()

    def resume_worker(self, number: int) -> None:
        """Lets worker `number` go on (SIGCONT)."""
        self._worker(number).resume()

    def _worker(self, number: int) -> Jvm:
        if number not in self._workers:
            raise UsageError(f"worker {number} was never started")
        return self._workers[number]

    # -- how it starts -----------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self._java = find_java()
        self._jars = resolve_jars(self.spec.kafka_version, self._narrate)
        self._directory = self.spec.directory or Path(tempfile.mkdtemp(prefix="eosctl-sandbox-"))
        (self._directory / "logs").mkdir(parents=True, exist_ok=True)
        self._identity = establish_identity(self._directory, self.spec, self._leases)
        self._spawner = Spawner()
        text, _ = logging_configuration(self.spec.version)
        (self._directory / "logging.properties").write_text(text)

    def _start_brokers(self) -> None:
        nodes = range(1, self.spec.brokers + 1)
        self._narrate(f"starting {len(nodes)} broker(s) of Kafka {self.kafka_version}")
        for node in nodes:
            self._brokers[node] = self._prepare_broker(node)
        for jvm in self._brokers.values():
            jvm.start()
        self._await_brokers(nodes, frozenset(nodes))

    def _prepare_broker(self, node: int) -> Jvm:
        identity = _started(self._identity)
        home = self.directory / f"broker-{node}"
        format_storage(self.java, self.jars, node, identity.cluster_id, home / "data")
        settings = broker_properties(self.spec, node, identity.brokers, identity.passwords, home / "data")
        (home / "server.properties").write_text(properties_text(settings))
        options = (*BROKER_MEMORY, *QUICK_START, *self.spec.broker_java_options)
        command = self._java_command(options, "kafka.Kafka", home / "server.properties")
        return Jvm(f"broker {node}", command, self.broker_log(node), _started(self._spawner))

    def _start_workers(self) -> None:
        numbers = range(1, self.spec.workers + 1)
        if not numbers:
            return
        self._narrate(f"starting {len(numbers)} Connect worker(s), exactly-once {self.spec.exactly_once}")
        for number in numbers:
            self._prepare_worker(number, {}).start()
        self._await_workers(numbers)

    def _prepare_worker(self, number: int, overrides: Mapping[str, str]) -> Jvm:
        if not 1 <= number <= MOST_WORKERS:
            raise UsageError(f"a sandbox has workers 1 to {MOST_WORKERS}, not {number}")
        identity = _started(self._identity)
        home = self.directory / f"worker-{number}"
        home.mkdir(exist_ok=True)
        rest_port = identity.workers[number - 1]
        settings = worker_properties(self.spec, self.bootstrap_servers, rest_port, self.jars.plugin_path)
        (home / "worker.properties").write_text(properties_text({**settings, **overrides}))
        if number not in self._workers:
            options = (*WORKER_MEMORY, *QUICK_START, *self.spec.worker_java_options)
            main = "org.apache.kafka.connect.cli.ConnectDistributed"
            command = self._java_command(options, main, home / "worker.properties")
            self._workers[number] = Jvm(f"worker {number}", command, self.worker_log(number), _started(self._spawner))
        return self._workers[number]

    def _java_command(self, options: tuple[str, ...], main: str, properties: Path) -> list[str]:
        _, logging = logging_configuration(self.spec.version)
        log = f"-D{logging}=file:{self.directory / 'logging.properties'}"
        return [str(self.java), *options, log, "-cp", self.classpath, main, str(properties)]

    # -- how it gets ready -------------------------------------------------------------------------------------------

    def _await_brokers(self, nodes: Sequence[int], expected: frozenset[int]) -> None:
        deadline = time.monotonic() + self.spec.deadline_s
        for node in nodes:
            ports = _started(self._identity).brokers[node - 1]
            self._broker(node).wait_until(partial(_broker_is_ready, ports, expected), deadline)

    def _await_workers(self, numbers: Sequence[int]) -> None:
        deadline = time.monotonic() + self.spec.deadline_s
        for number in numbers:
            port = _started(self._identity).workers[number - 1]
            self._worker(number).wait_until(partial(worker_has_joined, port), deadline)


def _broker_is_ready(ports: BrokerPorts, expected: frozenset[int]) -> bool:
    return expected <= brokers_in_metadata(ports.plaintext) and accepts_connections(ports.sasl)


def _started(value: T | None) -> T:
    if value is None:
        raise ConfigError("the sandbox was not started", hint="call start() or use it in a with statement")
    return value
