"""The brokers and workers on which a connector is certified, and the connector there."""

import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from eosctl.analysis.certification import is_source_connector, overridden
from eosctl.clients.deadline import Deadline
from eosctl.clients.rest import RestClient
from eosctl.codecs.class_files import decode_class
from eosctl.errors import ConfigError, EosctlError, Unreachable, UsageError
from eosctl.model.certification import Claim, ClassFile, Support
from eosctl.model.text import first_few
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import ConnectorStatus, connector_path
from eosctl.operations.session_options import Reporter
from eosctl.sandbox.faulty_sandbox import ProxiedSandbox
from eosctl.sandbox.jars import link_plugins, resolve_jars, resolve_plugin, unpack_plugin
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sources.connect_rest import read_connector, validated_values

GROUP: Final = "certify"
CONNECTOR: Final = "certified"
PATIENCE_S: Final = 180.0
START_S: Final = 300.0
"""Plugins without a manifest are looked for in all their classes, which takes minutes on a busy machine."""
REQUEST_S: Final = 20.0
VALIDATION_S: Final = 95.0
"""A connector may look for its source meanwhile; workers give up after 90 s (rest.request.timeout)."""
LOOK_S: Final = 0.2
RESTART_S: Final = 3.0
MOST_STATE: Final = 1 << 30
SERVICES: Final = "META-INF/services/"
SOURCES: Final = f"{SERVICES}org.apache.kafka.connect.source.SourceConnector"
MANIFEST: Final = "eosctl-manifest.jar"
QUICK: Final = {
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
    "offset.storage.partitions": "3",
    "status.storage.partitions": "1",
    "offset.flush.interval.ms": "1000",
    "task.shutdown.graceful.timeout.ms": "5000",
}


class SiteSpec(Struct, frozen=True, kw_only=True):
    """Versions and numbers of brokers and workers; plugins are files, directories or GROUP:ARTIFACT:VERSION.

    state is a small file system in which the connector keeps something. connector_class is its class or alias, others
    are the converters, transforms and predicates that its config names.
    """

    plugins: tuple[str, ...]
    kafka_version: str
    connect_version: str | None = None
    brokers: int = 1
    workers: int = 2
    exactly_once: str = "enabled"
    worker_config: Mapping[str, str] = {}
    postgres: bool = False
    state: Path | None = None
    connector_class: str = ""
    others: tuple[str, ...] = ()


class CertifiedSite:
    """The sandbox with one connector, queried through any worker that answers."""

    def __init__(
        self,
        sandbox: ProxiedSandbox,
        directory: Path,
        plugins: Sequence[Path],
        state: Path | None = None,
        connector: str = CONNECTOR,
    ) -> None:
        self.sandbox, self.directory, self.plugins, self.connector = sandbox, directory, plugins, connector
        self.state = state
        self.workers = list(range(1, sandbox.spec.workers + 1))
        self.frozen: set[int] = set()
        self.restarted_tasks, self._restarted_at = 0, 0.0
        self._clients: dict[int, RestClient] = {}

    @property
    def id_prefix(self) -> str:
        """The transactional IDs of its tasks, without the task's number."""
        return f"{GROUP}-{self.connector}-"

    @property
    def living(self) -> list[int]:
        """The workers that run and are not frozen."""
        return [each for each in self.workers if each not in self.frozen and self.sandbox.worker_pid(each) is not None]

    def revive(self) -> None:
        """Starts brokers and workers that an earlier round left ended."""
        for node in range(1, self.sandbox.spec.brokers + 1):
            if self.sandbox.broker_pid(node) is None:
                self.sandbox.start_broker(node)
        for number in self.workers:
            if self.sandbox.worker_pid(number) is None:
                self.sandbox.start_worker(number)

    def ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, timeout_s: float = PATIENCE_S
    ) -> object:
        """The first worker's answer. Raises the worker's refusal, TimedOut if none answers."""
        deadline = Deadline(timeout_s)
        while True:
            for number in self.living:
                with suppress(Unreachable):
                    return self._client(number).request(method, path, body).body
            deadline.pause_or_raise(LOOK_S, f"no worker answers {method} {path}")

    def _client(self, number: int) -> RestClient:
        if number not in self._clients:
            self._clients[number] = RestClient(self.sandbox.connect_url(number), REQUEST_S)
        return self._clients[number]

    def request(self, method: str, what: str, body: Mapping[str, Any] | None = None) -> object:
        """The answer to a request about the connector."""
        return self.ask(method, f"{connector_path(self.connector)}{what}", body)

    def status(self) -> ConnectorStatus | None:
        """The connector's; None while no worker answers."""
        for number in self.living:
            with suppress(EosctlError):
                return read_connector(self._client(number), self.connector)
        return None

    def task_workers(self) -> dict[int, int]:
        """The worker of each task that runs."""
        status = self.status()
        numbers = {self.sandbox.connect_url(each).removeprefix("http://"): each for each in self.workers}
        tasks = () if status is None else status.tasks
        return {
            each.task: numbers[each.worker_id]
            for each in tasks
            if each.state == "RUNNING" and each.worker_id in numbers
        }

    def topics(self) -> Sequence[str]:
        """The topics that the connector has written to, as its workers keep them."""
        with suppress(EosctlError):
            found = self.request("GET", "/topics")
            if isinstance(found, Mapping) and self.connector in found:
                return tuple(found[self.connector].get("topics", ()))
        return ()

    def offsets(self) -> Sequence[Mapping[str, Any]]:
        """The offsets as KIP-875 has them; workers before 3.6 do not answer."""
        found = self.request("GET", "/offsets")
        return tuple(found["offsets"]) if isinstance(found, Mapping) else ()

    def task_configs(self) -> Sequence[Mapping[str, Any]]:
        """The configs that the connector gave its tasks, in order; none while workers rebalance."""
        with suppress(EosctlError):
            found = self.request("GET", "/tasks")
            if isinstance(found, list):
                return tuple(each["config"] for each in sorted(found, key=lambda each: each["id"]["task"]))
        return ()

    def await_running(self) -> None:
        """Returns when all tasks run; failed tasks are restarted and counted. Raises TimedOut with their errors."""
        deadline = Deadline(PATIENCE_S)
        while True:
            status = self.status()
            tasks = () if status is None else status.tasks
            if (
                status is not None
                and status.state == "RUNNING"
                and tasks
                and all(each.state == "RUNNING" for each in tasks)
            ):
                living = set(self.task_workers().values())
                if living <= set(self.living):
                    return
            self._restart_failed(status)
            deadline.pause_or_raise(LOOK_S, f"the connector's tasks do not run: {_states(status)}")

    def restart_failed(self) -> bool:
        """Restarts and counts failed tasks, as an operator does; whether any has failed."""
        return self._restart_failed(self.status())

    def _restart_failed(self, status: ConnectorStatus | None) -> bool:
        failed = [each for each in (() if status is None else status.tasks) if each.state == "FAILED"]
        if failed and time.monotonic() - self._restarted_at > RESTART_S:
            self._restarted_at, self.restarted_tasks = time.monotonic(), self.restarted_tasks + len(failed)
            with suppress(EosctlError):
                self.ask("POST", f"{connector_path(self.connector)}/restart?includeTasks=true&onlyFailed=true")
        return bool(failed)

    def await_paused(self) -> None:
        """Returns when all tasks are paused; failed tasks are restarted, which pauses them too. Raises TimedOut."""
        deadline = Deadline(PATIENCE_S)
        while (status := self.status()) is None or {status.state, *(each.state for each in status.tasks)} != {"PAUSED"}:
            self._restart_failed(status)
            deadline.pause_or_raise(LOOK_S, f"the connector does not pause: {_states(status)}")

    def await_stopped(self) -> None:
        deadline = Deadline(PATIENCE_S)
        while (status := self.status()) is None or status.tasks or status.state != "STOPPED":
            deadline.pause_or_raise(LOOK_S, f"the connector does not stop: {_states(status)}")

    def claim(self, config: Mapping[str, str]) -> Claim:
        """The worker's answer when exactly-once and the connector's own boundaries are required of this config."""
        name = config.get("connector.class")
        if name is None:
            raise ConfigError("the connector's config has no connector.class", hint="add it to the file of --config")
        connector_class, version = self._plugin(name)
        path = f"/connector-plugins/{quote(name, safe='')}/config/validate"
        required = {"exactly.once.support": "required", "transaction.boundary": "connector"}
        asked = {**config, "name": self.connector, **required}
        url = self.sandbox.connect_url(1)
        try:
            values = validated_values(RestClient(url, VALIDATION_S).request("PUT", path, asked).body, url)
        except EosctlError as error:
            if NOT_LOADED not in error.message:
                raise
            raise ConfigError(
                f"workers list {connector_class}, but do not load it",
                hint="they load classes in packages of Kafka itself from their own jars, not from a plugin",
            ) from error
        said = {value.get("name"): tuple(value["errors"]) for value in values}
        others = [f"{key}: {text}" for key, texts in said.items() for text in texts if key not in PREFLIGHT]
        return Claim(
            connector_class=connector_class,
            exactly_once=_support(said.get("exactly.once.support", ())),
            transaction_boundaries=_support(said.get("transaction.boundary", ())),
            said=(*said.get("exactly.once.support", ()), *said.get("transaction.boundary", ()), *others),
            plugin_version=version,
            overridden=overridden(connector_class, PluginClasses(self.plugins)),
        )

    def _plugin(self, name: str) -> tuple[str, str]:
        """The class that connector.class names, by itself or by an alias as workers know them, and its version.

        Raises ConfigError with the sources that there are, if it is none of them.
        """
        found = self.ask("GET", "/connector-plugins")
        others: list[str] = []
        for each in found if isinstance(found, list) else ():
            connector_class, kind = str(each.get("class")), each.get("type")
            if name in _names(connector_class):
                if kind == "sink":
                    raise ConfigError(f"{connector_class} is a sink", hint="certify tests source connectors")
                return connector_class, str(each.get("version") or "")
            others += [connector_class] if kind == "source" else []
        hint = f"there are {first_few(sorted(others))}" if others else "give its plugin with --plugin"
        raise ConfigError(f"no plugin of the workers has the source connector {name}", hint=hint)


class PluginClasses(Mapping[str, ClassFile]):
    """The classes of some plugins by their names, decoded when they are asked for."""

    def __init__(self, plugins: Sequence[Path]) -> None:
        self._places: dict[str, Path] = {}
        for plugin in plugins:
            for jar in plugin.rglob("*.jar"):
                with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(jar) as content:
                    names = (each for each in content.namelist() if each.endswith(CLASS_FILE))
                    self._places |= {name.removesuffix(CLASS_FILE): jar for name in names}
            for file in plugin.rglob(f"*{CLASS_FILE}"):
                self._places[file.relative_to(plugin).as_posix().removesuffix(CLASS_FILE)] = file

    def __getitem__(self, name: str) -> ClassFile:
        place = self._places[name]
        if place.suffix == CLASS_FILE:
            found = decode_class(place.read_bytes())
        else:
            with zipfile.ZipFile(place) as content:
                found = decode_class(content.read(f"{name}{CLASS_FILE}"))
        return found or ClassFile(name, None, frozenset(), frozenset())

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


CLASS_FILE: Final = ".class"
PREFLIGHT: Final = frozenset({"exactly.once.support", "transaction.boundary"})
NOT_LOADED: Final = "Failed to find any class that implements Connector"
NOT_ENABLED: Final = "does not have exactly-once source support enabled"
UNDECLARED: Final = "does not implement the API"
UNSUPPORTED: Final = "does not support"


def _support(errors: Sequence[str]) -> Support:
    """By the words of DistributedHerder's preflight checks (KIP-618); about the worker itself they say nothing."""
    texts = [each for each in errors if NOT_ENABLED not in each]
    if not texts:
        return Support.UNKNOWN if errors else Support.SUPPORTED
    if any(UNDECLARED in each for each in texts):
        return Support.UNDECLARED
    return Support.UNSUPPORTED if any(UNSUPPORTED in each for each in texts) else Support.UNKNOWN


def _states(status: ConnectorStatus | None) -> str:
    if status is None:
        return "no worker answers"
    tasks = (f"task {each.task} {each.state} {each.cause or ''}".strip() for each in status.tasks)
    return ", ".join((f"connector {status.state}", *tasks))


@contextmanager
def open_site(spec: SiteSpec, reporter: Reporter) -> Iterator[CertifiedSite]:
    """Brokers and workers that have these plugins and no others.

    Raises UsageError for a state that must not be filled.
    """
    if spec.state is not None:
        _check_state(spec.state)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="eosctl-certify-")))
        plugins = [_unpacked(each, directory, reporter.narrate) for each in spec.plugins]
        settings: dict[str, str] = {}
        if plugins:
            home = directory / "plugins"
            found = discoverable(spec, plugins, directory)
            link_plugins(home, plugins if found is None else found)
            settings["plugin.path"] = str(home)
            if found is None:
                settings["plugin.discovery"] = "hybrid_warn"
                reporter.narrate("the plugin has no manifest: each start of a worker looks through all classes")
        sandbox = ProxiedSandbox(
            SandboxSpec(
                kafka_version=spec.kafka_version,
                connect_version=spec.connect_version,
                brokers=spec.brokers,
                workers=spec.workers,
                exactly_once=spec.exactly_once,
                group_id=GROUP,
                postgres=spec.postgres,
                deadline_s=START_S,
                worker_config={**QUICK, **settings, **spec.worker_config},
            ),
            reporter.narrate,
        )
        stack.enter_context(sandbox)
        own = resolve_jars(spec.connect_version or spec.kafka_version, reporter.narrate).plugin_path
        yield CertifiedSite(sandbox, directory, plugins or [own], spec.state)


def _check_state(directory: Path) -> None:
    """Raises UsageError unless it is a small, empty file system of its own: it will be filled."""
    hint = f"mount a small one there: mount -t tmpfs -o size=8m tmpfs {directory}"
    if not directory.is_mount():
        raise UsageError(
            f"--state {directory} is not a separate file system: --faults fill-disk would fill the shared one",
            hint=hint,
        )
    if left := sorted(each.name for each in directory.iterdir() if each.name != "lost+found"):
        raise UsageError(
            f"--state {directory} is not empty: it has {first_few(left)}", hint="empty it, or mount another"
        )
    size = shutil.disk_usage(directory).total
    if size > MOST_STATE:
        raise UsageError(
            f"--state {directory} has {size >> 20} MiB, more than {MOST_STATE >> 20} MiB to fill", hint=hint
        )


def _unpacked(plugin: str, directory: Path, narrate: Callable[[str], None]) -> Path:
    """The directory with the plugin's jars: a jar is put into one, an archive is unpacked."""
    file = Path(plugin)
    if not file.is_file():
        return resolve_plugin(plugin, narrate)
    home = directory / "unpacked" / file.name
    home.mkdir(parents=True)
    return unpack_plugin(file, home)


def discoverable(spec: SiteSpec, plugins: Sequence[Path], directory: Path) -> Sequence[Path] | None:
    """The plugins, if workers find what the config names without looking through all classes; None: they do not.

    Workers from 3.6 on find classes that a manifest names to the ServiceLoader. A plugin without one gets it for its
    connector, as connect-plugin-path makes it: a scan is two thirds of the CPU time of a worker's start.
    """
    if KafkaVersion.parse(spec.connect_version or spec.kafka_version) < KafkaVersion(3, 6, 0):
        return plugins
    classes = {each: PluginClasses([each]) for each in plugins}
    listed = {name for each in plugins for name in _listed(each)}
    unlisted = {each.replace(".", "/") for each in spec.others if each not in listed}
    if any(unlisted & found.keys() for found in classes.values()):
        return None
    if any(spec.connector_class in _names(each) for each in listed):
        return plugins
    sources = [(plugin, name) for plugin in plugins for name in _sources(spec.connector_class, classes[plugin])]
    if len(sources) != 1:
        return None
    [(holder, name)] = sources
    return [_with_manifest(each, name, directory) if each == holder else each for each in plugins]


def _sources(connector_class: str, classes: Mapping[str, ClassFile]) -> Iterator[str]:
    """The source connectors that have this class or alias."""
    for each in classes:
        name = each.replace("/", ".")
        if connector_class in _names(name) and is_source_connector(each, classes):
            yield name


def _with_manifest(plugin: Path, connector: str, directory: Path) -> Path:
    """The same plugin with a manifest that names this connector; the user's files stay as they are."""
    home = directory / "with-manifest" / plugin.name
    home.mkdir(parents=True)
    if next(plugin.rglob("*.jar"), None) is None:
        shutil.copytree(plugin, home, dirs_exist_ok=True)
        (home / SOURCES).parent.mkdir(parents=True, exist_ok=True)
        with (home / SOURCES).open("a") as manifest:
            manifest.write(f"\n{connector}\n")
        return home
    for each in plugin.iterdir():
        (home / each.name).symlink_to(each)
    with zipfile.ZipFile(home / MANIFEST, "w") as jar:
        jar.writestr(SOURCES, f"{connector}\n")
    return home


def _listed(plugin: Path) -> Iterator[str]:
    """The classes in the plugin's provider files: one in a line, and comments from # on."""
    texts = [each.read_bytes() for each in (plugin / SERVICES).glob("*")]
    for jar in plugin.rglob("*.jar"):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(jar) as content:
            texts += [content.read(each) for each in content.namelist() if each.startswith(SERVICES)]
    for text in texts:
        lines = (line.partition("#")[0].strip() for line in text.decode(errors="replace").splitlines())
        yield from filter(None, lines)


def _names(connector_class: str) -> Collection[str]:
    """The class and its aliases, as workers know it."""
    simple = connector_class.rpartition(".")[2]
    return {connector_class, simple, simple.removesuffix("Connector")}
