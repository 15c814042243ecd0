"""Where the parts of a sandbox are and how each of its processes is run; it starts none of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from eosctl.atomic_write import make_directory, write_atomic_file
from eosctl.errors import ConfigError, UsageError
from eosctl.sandbox.identity import Identity
from eosctl.sandbox.jars import KafkaJars
from eosctl.sandbox.probes import accepts_connections, brokers_in_metadata, worker_has_joined
from eosctl.sandbox.properties import (
    HOST,
    broker_properties,
    client_properties,
    logging_configuration,
    properties_text,
    worker_properties,
)
from eosctl.sandbox.spec import SandboxSpec
from eosctl.sandbox.storage import format_storage

# Measured on two cores: without the second compiler a broker is ready in 1.6 s instead of 1.9 s.
QUICK_START: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto", "-Xms64m")
BROKER_MAIN: Final = "kafka.Kafka"
WORKER_MAIN: Final = "org.apache.kafka.connect.cli.ConnectDistributed"


@dataclass(frozen=True, slots=True)
class Runtime:
    """What brokers or workers run from: their jars, and the JVM options that make or use their class archive."""

    jars: KafkaJars
    archive_options: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """One sandbox on disk: its spec, directory, identity, the `java` that runs it, and what its processes run from.

    Workers may have another version than the brokers. `workers` is None as long as no worker was asked for.
    """

    spec: SandboxSpec
    directory: Path
    identity: Identity
    java: Path
    brokers: Runtime
    workers: Runtime | None = None

    @property
    def bootstrap_servers(self) -> str:
        """The plaintext listeners of all brokers."""
        return ",".join(f"{HOST}:{ports.plaintext}" for ports in self.identity.brokers)

    @property
    def sasl_bootstrap_servers(self) -> str:
        """The SASL/PLAIN listeners of all brokers."""
        return ",".join(f"{HOST}:{ports.sasl}" for ports in self.identity.brokers)

    def connect_url(self, number: int) -> str:
        """REST address of worker `number`."""
        return f"http://{HOST}:{self.identity.workers[number - 1]}"

    def log(self, kind: str, number: int) -> Path:
        """The log of a `broker` or `worker`, over all its starts."""
        return self.directory / "logs" / f"{kind}-{number}.log"

    @property
    def plugins(self) -> Path:
        """The entry of the workers' plugin.path that holds the plugins that the spec names."""
        return self.directory / "plugins"

    def write_logging(self) -> None:
        """Writes the logging configuration of all processes."""
        (self.directory / "logs").mkdir(parents=True, exist_ok=True)
        for runtime in filter(None, (self.brokers, self.workers)):
            text, system_property = logging_configuration(runtime.jars.version)
            (self.directory / f"{system_property}.properties").write_text(text)

    def write_clients(self) -> None:
        """Writes `clients/<user>.properties` for each SASL user, readable by this machine's user only."""
        home = self.directory / "clients"
        make_directory(home)
        for user in self.identity.passwords:
            write_atomic_file(home / f"{user}.properties", self.client_properties(user))

    def client_properties(self, user: str) -> str:
        """A Java client.properties with which a client is `User:<user>`; UsageError where there is no such user."""
        passwords = self.identity.passwords
        if user not in passwords:
            raise UsageError(f"the sandbox has no user {user!r}", hint=f"it has {', '.join(passwords)}")
        return properties_text(client_properties(user, passwords[user], self.sasl_bootstrap_servers))

    def write_broker(self, node: int, overrides: Mapping[str, str]) -> None:
        """Formats the storage of broker `node` where it is not yet, and writes its server.properties."""
        home = self.directory / f"broker-{node}"
        data = home / "data"
        features, controller = self.spec.features, node in self.spec.voters
        cluster_id, jars = self.identity.cluster_id, self.brokers.jars
        format_storage(self.java, jars, node, cluster_id, data, features, controller=controller)
        settings = broker_properties(self.spec, node, self.identity.brokers, self.identity.passwords, data)
        write_atomic_file(home / "server.properties", properties_text({**settings, **overrides}))

    def write_worker(self, number: int, overrides: Mapping[str, str]) -> None:
        """Writes the worker.properties of worker `number`."""
        home = self.directory / f"worker-{number}"
        make_directory(home)
        rest_port = self.identity.workers[number - 1]
        paths = (self._workers.jars.plugin_path, *((self.plugins,) if self.spec.plugins else ()))
        settings = worker_properties(self.spec, self.bootstrap_servers, rest_port, paths)
        write_atomic_file(home / "worker.properties", properties_text({**settings, **overrides}))

    def broker_command(self, node: int) -> list[str]:
        """The command that is broker `node`."""
        options = ("-Xmx512m", *self.spec.broker_java_options)
        properties = self.directory / f"broker-{node}" / "server.properties"
        return self._command(self.brokers, options, BROKER_MAIN, properties)

    def worker_command(self, number: int) -> list[str]:
        """The command that is worker `number`."""
        options = ("-Xmx768m", *self.spec.worker_java_options)
        properties = self.directory / f"worker-{number}" / "worker.properties"
        return self._command(self._workers, options, WORKER_MAIN, properties)

    @property
    def _workers(self) -> Runtime:
        if self.workers is None:
            raise ConfigError("the sandbox has no jars of workers", hint="start it with workers")
        return self.workers

    def _command(self, runtime: Runtime, options: Sequence[str], main: str, properties: Path) -> list[str]:
        _, logging = logging_configuration(runtime.jars.version)
        log = f"-D{logging}=file:{self.directory / logging}.properties"
        java = [str(self.java), *QUICK_START, *runtime.archive_options, *options, log]
        return [*java, "-cp", runtime.jars.classpath, main, str(properties)]

    def broker_is_ready(self, node: int, expected: frozenset[int]) -> bool:
        """Whether broker `node` answers on both listeners and sees all `expected` brokers alive."""
        ports = self.identity.brokers[node - 1]
        return expected <= brokers_in_metadata(ports.plaintext) and accepts_connections(ports.sasl)

    def worker_is_ready(self, number: int) -> bool:
        """Whether worker `number` has joined its group."""
        return worker_has_joined(self.identity.workers[number - 1])
