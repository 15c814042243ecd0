"""Kafka's own jars, fetched once per version and set into the cache.

A broker needs half of what is fetched for workers, tools and connectors, and a release may be in the repository
without Connect: so there are two sets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from eosctl.errors import ConfigError
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.artifacts import holds_all, replacing, retrieve_artifacts
from eosctl.sandbox.cache import cache_directory, exclusive
from eosctl.sandbox.jar_lock import is_verified, locked_jars, verify_jars
from eosctl.sandbox.versions import parse_kafka_version

# Runs on Java 17 and compiles up to the language of Java 21.
ECJ: Final = "org.eclipse.jdt:ecj:3.37.0"
PLUGINS: Final = ("connect-file", "connect-mirror")


class JarSet(Enum):
    """Which jars of a version: those that a broker loads, or all, with Connect, Kafka's tools and a compiler."""

    BROKERS = "-brokers"
    ALL = ""


@dataclass(frozen=True, slots=True)
class KafkaJars:
    """Jars of one Kafka version: `libs/` for every process; of the set ALL also `plugins/` for workers and `tools/`."""

    version: KafkaVersion
    directory: Path
    jar_set: JarSet = JarSet.ALL

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


def root_coordinates(version: KafkaVersion, jar_set: JarSet = JarSet.ALL) -> tuple[str, ...]:
    """What is asked for by name (`group:artifact:version`); the poms bring the rest.

    1. Connect's logger endpoint casts to the real log4j, so the slf4j binding is reload4j before 4.0 and log4j2 since.
    2. Where two poms ask for two versions, Maven takes the nearest and Ivy the newest; such a jar is named here.
    """
    log4j2 = ("org.apache.logging.log4j:log4j-core:2.25.4", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4")
    binding = log4j2 if version.major >= 4 else ("org.slf4j:slf4j-reload4j:1.7.36",)
    if jar_set is JarSet.BROKERS:
        return (f"org.apache.kafka:kafka_2.13:{version}", *binding)
    modules = ("kafka_2.13", "connect-runtime", "connect-json", "connect-transforms", "kafka-tools", *PLUGINS)
    contested = ("org.javassist:javassist:3.26.0-GA",) if version < KafkaVersion(3, 4, 0) else ()
    return (*(f"org.apache.kafka:{module}:{version}" for module in modules), *binding, *contested, ECJ)


def resolve_jars(kafka_version: str, narrate: Callable[[str], None], jar_set: JarSet = JarSet.ALL) -> KafkaJars:
    """The jars of `kafka_version`, from the cache or fetched into it now; two processes may ask at once.

    Raises ConfigError when there is neither Maven nor Ivy, when the version cannot be fetched, or when its jars are not
    those of its lock file.
    """
    jars = _place(kafka_version, jar_set)
    with exclusive(jars.directory.with_name(f"{jars.directory.name}.lock")):
        if not _is_held(jars):
            _fetch(jars, narrate)
        elif not is_verified(jars.directory, locked := locked_jars(jars.directory.name)):
            verify_jars(jars.directory, locked)  # fetched before there was this lock file
    return jars


def resolve_broker_jars(kafka_version: str, narrate: Callable[[str], None]) -> KafkaJars:
    """The jars that brokers of this version run from: all of it where they are in the cache, otherwise BROKERS.

    Raises what `resolve_jars` raises.
    """
    held = _is_held(_place(kafka_version, JarSet.ALL))
    return resolve_jars(kafka_version, narrate, JarSet.ALL if held else JarSet.BROKERS)


def _place(kafka_version: str, jar_set: JarSet) -> KafkaJars:
    directory = cache_directory() / "kafka" / f"{kafka_version}{jar_set.value}"
    return KafkaJars(parse_kafka_version(kafka_version), directory, jar_set)


def _is_held(jars: KafkaJars) -> bool:
    return holds_all(jars.directory, root_coordinates(jars.version, jars.jar_set))


def _fetch(jars: KafkaJars, narrate: Callable[[str], None]) -> None:
    brokers_only = jars.jar_set is JarSet.BROKERS
    what = f"the brokers' jars of Kafka {jars.version}" if brokers_only else f"the jars of Kafka {jars.version}"
    narrate(f"fetching {what} (about {45 if brokers_only else 60} MB, once)")
    coordinates = root_coordinates(jars.version, jars.jar_set)
    with replacing(jars.directory, coordinates) as staging:
        flat = staging / "libs"
        flat.mkdir()
        retrieve_artifacts(coordinates, flat, narrate)
        if not brokers_only:
            _sort_into_place(staging)
        locked = locked_jars(jars.directory.name)
        if locked is None:
            narrate(f"{what} have no lock file: they are what the repository gave, and were not compared")
        verify_jars(staging, locked)
    narrate(f"Kafka {jars.version} is in {jars.directory}")


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
