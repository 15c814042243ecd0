"""Kafka's own jars, fetched once per version into the cache.

A broker needs half of the jars for workers, tools and connectors, and the repository may have a release without
Connect: so there are two sets.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from eosctl.errors import ConfigError, UsageError, install_command
from eosctl.late_pattern import late_pattern
from eosctl.model.versions import EXACTLY_ONCE_SOURCES, KafkaVersion
from eosctl.sandbox.cache import cache_directory, exclusive
from eosctl.sandbox.java import find_java

TAIL_LINES = 15
KAFKA_GROUP: Final = "org.apache.kafka"
_COLOUR = late_pattern(r"\x1b\[[0-9;]*m")
_LACKED_BY_MAVEN = late_pattern(r"([\w.-]+):([\w.-]+):(?:jar|zip|tar\.gz):(?:[\w-]+:)?([\w.-]+)")
_LACKED_BY_IVY = late_pattern(r"([\w.-]+)#([\w.-]+);([\w.-]+): not found")


def run_resolver(command: Sequence[str], downloaded: str, narrate: Callable[[str], None]) -> None:
    """Runs `command` to its end; every line that holds `downloaded` and `.jar` counts as one jar fetched.

    Raises ConfigError with the last lines of its output when it fails.
    """
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    fetched = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            tail.append(_COLOUR.sub("", line.rstrip()))
            if downloaded in line and ".jar" in line:
                fetched += 1
                if fetched % 10 == 0:
                    narrate(f"fetched {fetched} jars")
    if process.returncode != 0:
        raise _failure("\n".join(tail))


def _failure(output: str) -> ConfigError:
    """The error of a failed download: a bundled Java does not know the certificate of a proxy."""
    if missing := _missing(output):
        artifacts = ", ".join(dict.fromkeys(f"{artifact} {version}" for _, artifact, version in missing))
        return ConfigError(f"the repository does not hold {artifacts}", hint=_elsewhere(missing))
    hint = "check the network and that this version was released"
    if "PKIX" in output:
        hint = (
            "this network's proxy signs with a certificate that Java does not know: name a trust store that has it, "
            "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=FILE"
        )
    return ConfigError(f"jars could not be fetched:\n{output}", hint=hint)


def _elsewhere(missing: Sequence[tuple[str, str, str]]) -> str:
    if any(group == KAFKA_GROUP for group, _, _ in missing):
        return (
            "it has only a part of some releases. Try another version of the same line, or other workers on these "
            "brokers with --connect-version"
        )
    return "compare the coordinates with the project's own; or give a plugin's jar, zip, tar.gz or directory"


def _missing(output: str) -> list[tuple[str, str, str]]:
    """Group, name and version of artifacts that the repository does not have; it may have a part of a release."""
    found = _LACKED_BY_IVY.findall(output)
    lacking = "Could not find artifact" in output or "was not found in" in output  # now, or when it was asked before
    if lacking and "Could not transfer" not in output:
        found += _LACKED_BY_MAVEN.findall(output)
    return found


# The m2compatible resolver of Ivy asks Maven's central repository unless it is given another root.
SETTINGS = """<ivysettings>
<settings defaultResolver="central"/>
<caches defaultCacheDir="{cache}"/>
<resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""


def find_ivy() -> Path | None:
    """The Ivy jar among pyspark's jars, or None where pyspark is not installed."""
    pyspark = importlib.util.find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        return None
    return next(iter(sorted((Path(pyspark.origin).parent / "jars").glob("ivy-*.jar"))), None)


def retrieve_with_ivy(
    java: Path, ivy: Path, coordinates: Sequence[str], into: Path, scratch: Path, narrate: Callable[[str], None]
) -> None:
    """Fetches the jars of `coordinates` and of all their runtime dependencies into `into`. ConfigError on failure.

    Ivy gets its own cache: if it reads Maven's local repository, a pom without its jar makes it fail.
    """
    (scratch / "settings.xml").write_text(SETTINGS.format(cache=escape(str(scratch / "cache"))))
    (scratch / "ivy.xml").write_text(ivy_file_of(coordinates))
    command = [str(java), "-cp", str(ivy), "org.apache.ivy.Main"]
    files = ["-settings", str(scratch / "settings.xml"), "-ivy", str(scratch / "ivy.xml")]
    pattern = f"{into}/[artifact]-[revision](-[classifier]).[ext]"
    run_resolver([*command, *files, "-confs", "libs", "-retrieve", pattern], "[SUCCESSFUL ]", narrate)


class Artifact(NamedTuple):
    """One artifact to fetch: with a classifier or another extension than jar, it is a bundle without dependencies."""

    group: str
    name: str
    version: str
    classifier: str = ""
    extension: str = "jar"

    @property
    def is_bundle(self) -> bool:
        return bool(self.classifier) or self.extension != "jar"


def artifact_of(coordinate: str) -> Artifact | None:
    """Of `group:artifact:version[:classifier][@extension]`; None for other text."""
    found = _COORDINATE.fullmatch(coordinate)
    return None if found is None else Artifact(**found.groupdict(default=""))._replace(extension=found[5] or "jar")


_COORDINATE: Final = late_pattern(
    r"(?P<group>[\w.-]+):(?P<name>[\w.-]+):(?P<version>[\w.-]+)(?::(?P<classifier>[\w.-]+))?"
    r"(?:@(?P<extension>jar|zip|tar\.gz))?"
)


def _artifacts_of(coordinates: Sequence[str]) -> Iterator[Artifact]:
    return filter(None, map(artifact_of, coordinates))


def ivy_file_of(coordinates: Sequence[str]) -> str:
    """An Ivy file that depends on each of `coordinates`: the jar and its runtime scope, or the bundle alone."""
    dependencies = "\n".join(map(_dependency_of_ivy, _artifacts_of(coordinates)))
    # The xmlns is the name of Maven's attributes, as below.
    return f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="eosctl" module="sandbox"/>
<configurations><conf name="libs"/></configurations>
<dependencies>
{dependencies}
</dependencies></ivy-module>
"""


def _dependency_of_ivy(each: Artifact) -> str:
    named = f'<dependency org="{each.group}" name="{each.name}" rev="{each.version}"'
    if not each.is_bundle:
        return f'{named} conf="libs->master,runtime(*)"/>'
    classifier = f' m:classifier="{each.classifier}"' if each.classifier else ""
    file = f'<artifact name="{each.name}" type="{each.extension}" ext="{each.extension}"{classifier}/>'
    return f'{named} conf="libs->master" transitive="false">{file}</dependency>'


COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def copy_with_maven(
    maven: str, coordinates: Sequence[str], into: Path, scratch: Path, narrate: Callable[[str], None]
) -> None:
    """Copies the jars of `coordinates` and of everything they need at run time into `into`. ConfigError on failure."""
    pom = scratch / "pom.xml"
    pom.write_text(pom_of(coordinates))
    options = ["-B", "-f", str(pom), COPY, "-DincludeScope=runtime", f"-DoutputDirectory={into}"]
    run_resolver([maven, *options], "Downloaded from", narrate)


def pom_of(coordinates: Sequence[str]) -> str:
    """A pom that depends on each of `coordinates`, as `ivy_file_of` does."""
    dependencies = "\n".join(map(_dependency_of_maven, _artifacts_of(coordinates)))
    # The xmlns is the name of the format: nothing is fetched from there.
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>eosctl</groupId><artifactId>sandbox</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
{dependencies}
</dependencies></project>
"""


def _dependency_of_maven(each: Artifact) -> str:
    tags = {"groupId": each.group, "artifactId": each.name, "version": each.version}
    if each.is_bundle:
        tags |= {"type": each.extension, "classifier": each.classifier}
    named = "".join(f"<{tag}>{text}</{tag}>" for tag, text in tags.items() if text)
    nothing_else = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    return f"<dependency>{named}{nothing_else if each.is_bundle else ''}</dependency>"


COORDINATES: Final = "coordinates"


def holds_all(directory: Path, coordinates: Sequence[str]) -> bool:
    """Whether `directory` was fetched whole, for these very coordinates."""
    asked = directory / COORDINATES
    return asked.is_file() and asked.read_text().split() == list(coordinates)


@contextmanager
def replacing(directory: Path, coordinates: Sequence[str]) -> Iterator[Path]:
    """An empty directory that takes the place of `directory` when the block ends without an error.

    A half-fetched one never has the final name, so a killed process leaves nothing that could be taken for a whole one.
    """
    for leftover in directory.parent.glob(f".{directory.name}.*"):
        shutil.rmtree(leftover)
    staging = directory.with_name(f".{directory.name}.{os.getpid()}")
    staging.mkdir(parents=True)
    yield staging
    (staging / COORDINATES).write_text("\n".join(coordinates) + "\n")
    if directory.exists():
        old = directory.with_name(f".{directory.name}.old")
        directory.rename(old)
        shutil.rmtree(old)
    staging.rename(directory)


def retrieve_artifacts(coordinates: Sequence[str], into: Path, narrate: Callable[[str], None]) -> None:
    """Puts the jars of `coordinates` (`group:artifact:version`) and their dependencies into `into`, or bundles alone.

    Raises ConfigError if there is neither Maven nor Ivy, or if an artifact cannot be fetched.
    """
    scratch = into / "resolver"
    scratch.mkdir()
    maven = shutil.which("mvn")
    if maven is not None:
        copy_with_maven(maven, coordinates, into, scratch, narrate)
    elif (ivy := find_ivy()) is not None:
        retrieve_with_ivy(find_java(), ivy, coordinates, into, scratch, narrate)
    else:
        raise ConfigError(
            "Maven or Ivy is needed to fetch jars, and both are missing",
            hint=f"put mvn on the PATH, or install pyspark, which carries Ivy: {install_command('sandbox')}",
        )
    shutil.rmtree(scratch)


# The lock files of Kafka's jars: the SHA-256 of each jar of a set, like `requirements/*.lock` for Python.
# `locks/<version>.sha256` (all jars) and `locks/<version>-brokers.sha256` have the form of sha256sum. Maven's own
# checksums come from the same place as the jars; these do not. `python -m eosctl.sandbox.jars` writes those of the
# tested versions from the cache: read the difference.


LOCKS: Final = Path(__file__).parent / "locks"
STAMP: Final = "verified"


def locked_jars(name: str) -> Mapping[str, str] | None:
    """The SHA-256 of each jar of the set `name` (`4.3.1`, `4.3.1-brokers`) by its file name; None without lock file."""
    file = LOCKS / f"{name}.sha256"
    if not file.is_file():
        return None
    return {name: digest for digest, _, name in (line.partition("  ") for line in file.read_text().splitlines())}


def is_verified(directory: Path, locked: Mapping[str, str] | None) -> bool:
    """True if the jars in `directory` were compared with this lock file before; True without a lock file."""
    stamp = directory / STAMP
    return locked is None or (stamp.is_file() and stamp.read_text() == _digest_of(locked))


def verify_jars(directory: Path, locked: Mapping[str, str] | None) -> None:
    """Raises ConfigError unless the jars in `directory` are exactly those that the lock file names."""
    if locked is None:
        return
    found = {jar.name: _sha256(jar) for jar in jars_in(directory)}
    wrong = sorted(name for name in found.keys() | locked.keys() if found.get(name) != locked.get(name))
    if wrong:
        raise ConfigError(
            f"{len(wrong)} of the jars in {directory} differ from their lock file, the first: {wrong[0]} "
            f"({_difference(wrong[0], found, locked)})",
            hint=f"they were changed here, on the way or at their origin. Remove {directory} and fetch them again. "
            "If the difference stays, do not use them, and ask the operator of the repository or proxy",
        )
    (directory / STAMP).write_text(_digest_of(locked))


def jars_in(directory: Path) -> list[Path]:
    """Every jar of a set, wherever it is sorted to."""
    places = (directory / "libs", directory / "plugins", directory / "tools")
    return sorted((jar for place in places for jar in place.rglob("*.jar")), key=lambda jar: jar.name)


def _difference(name: str, found: Mapping[str, str], locked: Mapping[str, str]) -> str:
    if name not in found:
        return "missing"
    return "not expected" if name not in locked else f"SHA-256 {found[name]}, expected {locked[name]}"


def _digest_of(locked: Mapping[str, str]) -> str:
    return hashlib.sha256("".join(f"{digest} {name}\n" for name, digest in locked.items()).encode()).hexdigest()


def _sha256(jar: Path) -> str:
    with jar.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_locks() -> None:

    whole, brokers = TESTED_KAFKA_VERSIONS, TESTED_BROKERS
    for version, jar_set in (*product(whole, JarSet), *product(brokers, (JarSet.BROKERS,))):
        lock = LOCKS / f"{version}{jar_set.value}.sha256"
        lock.unlink(missing_ok=True)
        found = jars_in(resolve_jars(version, lambda _: None, jar_set).directory)
        lock.write_text("".join(f"{_sha256(jar)}  {jar.name}\n" for jar in found))


if __name__ == "__main__":
    _write_locks()


def check_plugin(plugin: str) -> None:
    """Raises UsageError for a plugin that is neither an artifact's coordinates nor a directory."""
    if artifact_of(plugin) is None and not Path(plugin).is_dir():
        raise UsageError(
            f"plugin {plugin!r} is no directory",
            hint="name the directory with the plugin's jars, or its coordinates "
            "GROUP:ARTIFACT:VERSION[:CLASSIFIER][@jar|zip|tar.gz]",
        )


def resolve_plugin(plugin: str, narrate: Callable[[str], None]) -> Path:
    """The directory with the plugin's jars; an artifact is fetched into the cache once, and unpacked if it is packed.

    Raises what `check_plugin`, `retrieve_artifacts` and `unpack_plugin` raise.
    """
    check_plugin(plugin)
    if artifact_of(plugin) is None:
        return Path(plugin).resolve()
    directory = cache_directory() / "plugins" / plugin.replace(":", "-")
    with exclusive(directory.with_name(f"{directory.name}.lock")):
        if not holds_all(directory, (plugin,)):
            narrate(f"fetching {plugin} (once)")
            with replacing(directory, (plugin,)) as staging:
                retrieve_artifacts((plugin,), staging, narrate)
                for file in [*staging.glob("*.zip"), *staging.glob("*.tar.gz")]:
                    unpack_plugin(file, staging)
                    file.unlink()
    return _with_jars(directory) or directory


def unpack_plugin(file: Path, home: Path) -> Path:
    """Puts a jar, or the content of an archive, into `home`; the directory there that has its jars.

    Raises ConfigError for another file, or one without a jar.
    """
    try:
        if file.suffix == ".jar":
            shutil.copy(file, home)
        else:
            shutil.unpack_archive(file, home, filter=None if file.suffix == ".zip" else "data")
    except (shutil.ReadError, OSError, ValueError) as error:
        raise ConfigError(f"plugin {file}: {error}", hint="give a jar, a zip, a tar.gz or a directory") from error
    if (found := _with_jars(home)) is None:
        raise ConfigError(f"plugin {file} holds no jar")
    return found


def _with_jars(directory: Path) -> Path | None:
    """The directory in it, or itself, that has jars and is the least deep."""
    return min(
        (each.parent for each in directory.rglob("*.jar")), key=lambda each: (len(each.parts), each), default=None
    )


def link_plugins(home: Path, plugins: Sequence[Path]) -> None:
    """Makes `home` an entry of a worker's plugin.path that holds exactly these plugins, each isolated.

    The entries of plugin.path are directories of plugins, so one plugin's directory cannot be an entry itself. A
    worker takes any path that ends with .jar or .zip for an archive, directories too (PluginUtils.isArchive), and finds
    nothing in them.
    """
    home.mkdir(exist_ok=True)
    for link in home.iterdir():
        link.unlink()
    for number, plugin in enumerate(plugins, start=1):
        (home / f"{plugin.name}-{number}").symlink_to(plugin, target_is_directory=True)


DEFAULT_KAFKA_VERSION = "4.3.1"
TESTED_KAFKA_VERSIONS = ("3.3.2", "3.6.2", "3.9.2", "4.3.1")
TESTED_BROKERS = ("4.4.0",)
"""Releases whose brokers are in the repository, but not their workers: these have the default version."""


def parse_kafka_version(text: str) -> KafkaVersion:
    """`"4.3.1"` as numbers. UsageError for anything else, and below 3.3.0, the first with exactly-once sources."""
    if re.fullmatch(r"\d+\.\d+\.\d+", text) is None:
        raise UsageError(f"{text!r} is not a Kafka version", hint="write three numbers, for example 4.3.1")
    version = KafkaVersion.parse(text)
    if version < EXACTLY_ONCE_SOURCES:
        raise UsageError(
            f"Kafka {text} has no exactly-once sources", hint="choose 3.3.0 or newer, where KIP-618 was released"
        )
    return version


# Runs on Java 17 and compiles up to the language of Java 21.
ECJ: Final = "org.eclipse.jdt:ecj:3.37.0"
PLUGINS: Final = ("connect-file", "connect-mirror")


class JarSet(Enum):
    """The jars of a version: those that a broker loads, or all, with Connect, Kafka's tools and a compiler."""

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
    """The artifacts fetched by name (`group:artifact:version`); the poms bring the rest.

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
    """The jars of `kafka_version`, from the cache or fetched into it now; two processes may call this at once.

    Raises ConfigError if there is neither Maven nor Ivy, if the version cannot be fetched, or if its jars differ from
    its lock file.
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
            narrate(f"{what} have no lock file, so the jars from the repository were not verified")
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
