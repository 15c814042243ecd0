"""Kafka's own jars, fetched once per version into the cache."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eosctl.errors import ConfigError
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.artifacts import holds_all, replacing, retrieve_artifacts
from eosctl.sandbox.cache import cache_directory, exclusive
from eosctl.sandbox.jar_lock import is_verified, locked_jars, verify_jars
from eosctl.sandbox.versions import parse_kafka_version

# Runs on Java 17 and compiles up to the language of Java 21.
ECJ = "org.eclipse.jdt:ecj:3.37.0"
PLUGINS = ("connect-file", "connect-mirror")


@dataclass(frozen=True, slots=True)
class KafkaJars:
    """The jars of one Kafka version: `libs/` for every process, `plugins/` for a worker's plugin.path, `tools/`."""

    version: KafkaVersion
    directory: Path

    @property
    def classpath(self) -> str:
        """All of `libs/`, as `java -cp` takes it."""
        return f"{self.directory / 'libs'}/*"

    @property
    def plugin_path(self) -> Path:
        """A worker's `plugin.path`: FileStreamSource, FileStreamSink and the MirrorMaker connectors, each isolated."""
        return self.directory / "plugins"

    @property
    def compiler(self) -> Path:
        """The jar of the Eclipse compiler, which needs no JDK."""
        return next((self.directory / "tools").glob("ecj-*.jar"))


def root_coordinates(version: KafkaVersion) -> tuple[str, ...]:
    """What is asked for by name (`group:artifact:version`); the poms bring the rest.

    1. Connect's logger endpoint casts to the real log4j, so the slf4j binding is reload4j before 4.0 and log4j2 since.
    2. Where two poms ask for two versions, Maven takes the nearest and Ivy the newest; such a jar is named here.
    """
    modules = ("kafka_2.13", "connect-runtime", "connect-json", "connect-transforms", "kafka-tools")
    log4j2 = ("org.apache.logging.log4j:log4j-core:2.25.4", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4")
    binding = log4j2 if version.major >= 4 else ("org.slf4j:slf4j-reload4j:1.7.36",)
    contested = ("org.javassist:javassist:3.26.0-GA",) if version < KafkaVersion(3, 4, 0) else ()
    return (*(f"org.apache.kafka:{module}:{version}" for module in modules + PLUGINS), *binding, *contested, ECJ)


def resolve_jars(kafka_version: str, narrate: Callable[[str], None]) -> KafkaJars:
    """The jars of `kafka_version`, from the cache or fetched into it now; two processes may ask at once.

    Raises ConfigError when there is neither Maven nor Ivy, when the version cannot be fetched, or when its jars are not
    those of its lock file.
    """
    version = parse_kafka_version(kafka_version)
    directory = cache_directory() / "kafka" / kafka_version
    with exclusive(directory.with_name(f"{kafka_version}.lock")):
        locked = locked_jars(kafka_version)
        if not holds_all(directory, root_coordinates(version)):
            _fetch(version, directory, narrate)
        elif not is_verified(directory, locked):  # fetched before there was this lock file
            verify_jars(directory, locked)
    return KafkaJars(version, directory)


def _fetch(version: KafkaVersion, directory: Path, narrate: Callable[[str], None]) -> None:
    narrate(f"fetching the jars of Kafka {directory.name} (about 60 MB, once)")
    coordinates = root_coordinates(version)
    with replacing(directory, coordinates) as staging:
        flat = staging / "libs"
        flat.mkdir()
        retrieve_artifacts(coordinates, flat, narrate)
        _sort_into_place(staging)
        locked = locked_jars(directory.name)
        if locked is None:
            narrate(
                f"Kafka {directory.name} has no lock file: its jars are what the repository gave, and were not compared"
            )
        verify_jars(staging, locked)
    narrate(f"Kafka {directory.name} is in {directory}")


def _sort_into_place(staging: Path) -> None:
    places = {f"{name}-": staging / "plugins" / name for name in PLUGINS}
    places["ecj-"] = staging / "tools"
    for prefix, place in places.items():
        found = sorted((staging / "libs").glob(f"{prefix}*.jar"))
        if not found:
            raise ConfigError(f"the resolver brought no {prefix}*.jar", hint="run it again; if it stays, file a bug")
        place.mkdir(parents=True)
        for jar in found:
            jar.rename(place / jar.name)
