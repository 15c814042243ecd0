"""Jars: found, fetched, checked."""

import hashlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest

from eosctl.errors import ConfigError
from eosctl.sandbox import jars
from eosctl.sandbox.jars import (
    PLUGINS,
    TESTED_KAFKA_VERSIONS,
    JarSet,
    artifact_of,
    ivy_file_of,
    locked_jars,
    parse_kafka_version,
    pom_of,
    resolve_broker_jars,
    resolve_jars,
    root_coordinates,
    run_resolver,
    unpack_plugin,
)
from eosctl.sandbox.java import compile_java, find_java

HELLO = "public class Hello { public static void main(String[] a) { System.out.println(%s); } }"
MAVEN = "{http://maven.apache.org/POM/4.0.0}"
VERSION_OF_CLIENTS = "org.apache.kafka.common.utils.AppInfoParser.getVersion()"


@pytest.mark.parametrize("jar_set", JarSet)
@pytest.mark.parametrize("version", TESTED_KAFKA_VERSIONS)
def test_each_version_gets_the_log4j_that_its_workers_cast_to(version, jar_set):
    asked = {coordinate.split(":")[1] for coordinate in root_coordinates(parse_kafka_version(version), jar_set)}
    assert ("log4j-slf4j-impl" in asked, "slf4j-reload4j" in asked) == (version[0] == "4", version[0] == "3")


def test_maven_and_ivy_are_asked_for_the_same():
    asked = root_coordinates(parse_kafka_version("4.3.1"))
    pom = ElementTree.fromstring(pom_of(asked))
    ivy = ElementTree.fromstring(ivy_file_of(asked))
    of_pom = [":".join(str(part.text) for part in node) for node in pom.iter(f"{MAVEN}dependency")]
    of_ivy = [":".join(node.attrib[key] for key in ("org", "name", "rev")) for node in ivy.iter("dependency")]
    assert of_pom == of_ivy == list(asked)


def test_a_bundle_is_asked_for_alone_by_its_classifier_and_type():
    [pom] = ElementTree.fromstring(pom_of(["a.b:c:1:plugin@tar.gz"])).iter(f"{MAVEN}dependency")
    asked = {part.tag.removeprefix(MAVEN): part.text for part in pom if part.text}
    assert asked == {"groupId": "a.b", "artifactId": "c", "version": "1", "type": "tar.gz", "classifier": "plugin"}
    assert [part.text for each in pom.iter(f"{MAVEN}exclusion") for part in each] == ["*", "*"]
    [ivy] = ElementTree.fromstring(ivy_file_of(["a.b:c:1:plugin@tar.gz"])).iter("dependency")
    assert (ivy.attrib["transitive"], ivy[0].attrib["ext"]) == ("false", "tar.gz")
    assert ivy[0].attrib["{http://ant.apache.org/ivy/maven}classifier"] == "plugin"


@pytest.mark.parametrize(
    ("coordinate", "artifact"),
    [
        ("g:a:1", ("g", "a", "1", "", "jar")),
        ("g:a:1:all", ("g", "a", "1", "all", "jar")),
        ("g:a:1@zip", ("g", "a", "1", "", "zip")),
        ("g:a:1:plugin@tar.gz", ("g", "a", "1", "plugin", "tar.gz")),
        ("g:a", None),
        ("g:a:1@exe", None),
        ("./plugin", None),
    ],
)
def test_coordinates_have_a_classifier_and_a_type(coordinate, artifact):
    assert artifact_of(coordinate) == artifact


def test_the_directory_of_an_unpacked_plugin_is_the_one_with_its_jars(tmp_path):
    (tmp_path / "packed/name-1/lib").mkdir(parents=True)
    (tmp_path / "packed/name-1/lib/connector.jar").touch()
    (tmp_path / "packed/name-1/manifest.json").touch()
    for form in ("zip", "gztar"):
        home = tmp_path / form
        home.mkdir()
        file = Path(shutil.make_archive(str(tmp_path / f"plugin-{form}"), form, tmp_path / "packed"))
        assert unpack_plugin(file, home) == home / "name-1/lib"


def test_an_archive_without_a_jar_is_no_plugin(tmp_path):
    (tmp_path / "packed").mkdir()
    file = Path(shutil.make_archive(str(tmp_path / "plugin"), "zip", tmp_path / "packed"))
    (tmp_path / "home").mkdir()
    with pytest.raises(ConfigError, match=r"plugin\.zip holds no jar"):
        unpack_plugin(file, tmp_path / "home")


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "eosctl" / "kafka"


@pytest.fixture
def scripted_resolver(monkeypatch):
    """A resolver that brings the jars Kafka would, empty; returns how often it was asked."""
    asked: list[tuple[str, ...]] = []

    def retrieve(coordinates, into, narrate):
        asked.append(coordinates)
        for _, artifact, version in (coordinate.split(":") for coordinate in coordinates):
            (into / f"{artifact}-{version}.jar").touch()

    monkeypatch.setattr(jars, "retrieve_artifacts", retrieve)
    monkeypatch.setattr(jars, "locked_jars", lambda version: None)
    return asked


def test_jars_are_sorted_into_libs_plugins_and_tools(empty_cache, scripted_resolver):
    found = resolve_jars("4.3.1", lambda _: None)
    assert sorted(entry.name for entry in found.plugin_path.iterdir()) == sorted(PLUGINS)
    assert [jar.name for jar in (found.plugin_path / "connect-file").iterdir()] == ["connect-file-4.3.1.jar"]
    assert found.compiler == empty_cache / "4.3.1" / "tools" / "ecj-3.37.0.jar"
    assert found.classpath == f"{empty_cache}/4.3.1/libs/*"


def test_jars_are_fetched_once(empty_cache, scripted_resolver):
    said: list[str] = []
    for _ in range(3):
        resolve_jars("4.3.1", said.append)
    assert len(scripted_resolver) == 1
    assert said[0] == "fetching the jars of Kafka 4.3.1 (about 60 MB, once)"


def test_brokers_get_their_own_jars_until_all_of_the_version_are_in_the_cache(empty_cache, scripted_resolver):
    alone = resolve_broker_jars("4.3.1", lambda _: None)
    assert [entry.name for entry in alone.directory.iterdir() if entry.is_dir()] == ["libs"]
    assert sorted(scripted_resolver[0]) == sorted(root_coordinates(parse_kafka_version("4.3.1"), JarSet.BROKERS))
    assert not any("connect" in each or "tools" in each for each in scripted_resolver[0])
    everything = resolve_jars("4.3.1", lambda _: None)
    assert resolve_broker_jars("4.3.1", lambda _: None) == everything != alone
    assert len(scripted_resolver) == 2


@pytest.fixture
def locked(scripted_resolver, monkeypatch):
    """A lock file of empty jars, as the scripted resolver brings them."""
    nothing = hashlib.sha256(b"").hexdigest()
    asked = (each.split(":") for each in root_coordinates(parse_kafka_version("4.3.1")))
    lock = {f"{artifact}-{version}.jar": nothing for _, artifact, version in asked}
    monkeypatch.setattr(jars, "locked_jars", lambda version: lock)
    return lock


def test_jars_that_are_those_of_the_lock_file_are_taken(empty_cache, locked):
    resolve_jars("4.3.1", lambda _: None)
    assert (empty_cache / "4.3.1" / "libs").is_dir()


@pytest.mark.parametrize(
    ("name", "digest", "says"),
    [
        ("kafka_2.13-4.3.1.jar", "0" * 64, f"SHA-256 {hashlib.sha256(b'').hexdigest()}, expected {'0' * 64}"),
        ("evil-1.0.jar", None, "evil-1.0.jar (not expected)"),
        ("more-1.0.jar", "0" * 64, "more-1.0.jar (missing)"),
    ],
)
def test_a_jar_that_is_not_the_one_of_the_lock_file_is_refused(empty_cache, locked, monkeypatch, name, digest, says):
    retrieve = jars.retrieve_artifacts

    def with_another(coordinates, into, *rest):
        retrieve(coordinates, into, *rest)
        if digest is None:
            (into / name).touch()

    monkeypatch.setattr(jars, "retrieve_artifacts", with_another)
    if digest is not None:
        locked[name] = digest
    with pytest.raises(ConfigError) as caught:
        resolve_jars("4.3.1", lambda _: None)
    assert says in caught.value.message
    assert not (empty_cache / "4.3.1").exists()


def test_jars_that_were_fetched_before_there_was_a_lock_file_are_compared_once(empty_cache, locked, monkeypatch):
    monkeypatch.setattr(jars, "locked_jars", lambda version: None)
    found = resolve_jars("4.3.1", lambda _: None)
    monkeypatch.setattr(jars, "locked_jars", lambda version: locked)
    jar = found.directory / "libs" / "kafka_2.13-4.3.1.jar"
    jar.write_bytes(b"changed")
    with pytest.raises(ConfigError, match=r"kafka_2\.13-4\.3\.1\.jar"):
        resolve_jars("4.3.1", lambda _: None)
    jar.write_bytes(b"")
    resolve_jars("4.3.1", lambda _: None)
    assert (found.directory / "verified").is_file()


@pytest.mark.parametrize("version", TESTED_KAFKA_VERSIONS)
def test_every_tested_version_has_a_lock_file_with_kafka_s_own_jars(version):
    names, of_brokers = locked_jars(version), locked_jars(f"{version}-brokers")
    assert not any("connect" in name for name in of_brokers)
    assert f"kafka_2.13-{version}.jar" in of_brokers
    others = {name for name, digest in of_brokers.items() if names.get(name) != digest}
    assert others <= {"reload4j-1.2.19.jar"}, "Connect asks for a newer one"
    assert {
        f"kafka_2.13-{version}.jar",
        f"connect-runtime-{version}.jar",
        f"connect-file-{version}.jar",
    } <= names.keys()
    assert all(len(digest) == 64 for digest in names.values())


def test_of_two_that_ask_at_once_one_fetches(empty_cache, scripted_resolver):
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: resolve_jars("4.3.1", lambda _: None), range(2))
    assert first == second
    assert len(scripted_resolver) == 1


def test_a_partial_download_is_removed_and_fetched_again(empty_cache, scripted_resolver):
    half = empty_cache / ".4.3.1.12345" / "libs"
    half.mkdir(parents=True)
    (half / "kafka_2.13-4.3.1.jar").touch()
    resolve_jars("4.3.1", lambda _: None)
    assert len(scripted_resolver) == 1
    assert sorted(entry.name for entry in empty_cache.iterdir()) == ["4.3.1", "4.3.1.lock"]


def test_jars_of_an_older_list_are_fetched_again(empty_cache, scripted_resolver):
    found = resolve_jars("4.3.1", lambda _: None)
    (found.directory / "coordinates").write_text("org.apache.kafka:kafka_2.13:4.3.1\n")
    resolve_jars("4.3.1", lambda _: None)
    assert len(scripted_resolver) == 2


def test_without_maven_and_ivy_the_error_names_the_packages_to_install(empty_cache, monkeypatch):
    monkeypatch.setenv("PATH", str(empty_cache))
    monkeypatch.setattr(jars, "find_ivy", lambda: None)
    with pytest.raises(ConfigError, match="Maven or Ivy is needed") as caught:
        resolve_jars("4.3.1", lambda _: None)
    assert "pyspark" in str(caught.value.hint)


def test_a_resolver_that_fails_is_quoted(empty_cache, tmp_path, monkeypatch):
    failing = tmp_path / "bin" / "mvn"
    failing.parent.mkdir()
    failing.write_text("#!/bin/sh\necho cannot resolve kafka_2.13\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{failing.parent}:/usr/bin:/bin")
    with pytest.raises(ConfigError, match="cannot resolve kafka"):
        resolve_jars("4.3.1", lambda _: None)


def java_that_says(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    path.chmod(0o755)
    return path


def test_java_home_wins_over_the_path_unless_it_is_too_old(tmp_path, monkeypatch):
    old = java_that_says(tmp_path / "old" / "bin" / "java", "1.8.0_402")
    new = java_that_says(tmp_path / "new" / "bin" / "java", "21.0.8")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    assert find_java() == new
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", f"{new.parent}:/usr/bin:/bin")
    assert find_java() == new


def test_a_java_that_is_too_old_is_named(tmp_path, monkeypatch):
    old = java_that_says(tmp_path / "old" / "bin" / "java", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", f"{old.parent}:/bin-that-is-not-there")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("subprocess.run", run_by_sh(subprocess.run))
    with pytest.raises(ConfigError, match=r"needs Java 17 or newer; found .*java \(Java 11\)"):
        find_java()


def run_by_sh(run):
    return lambda command, **options: run(["/bin/sh", *map(str, command)], **options)


def test_the_makefile_can_ask_whether_java_is_here():
    asked = [sys.executable, "-m", "eosctl.sandbox.java", "--found"]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.kafka
def test_a_java_file_is_compiled_against_kafka_without_a_jdk_and_kept(tmp_path):
    found = resolve_jars("4.3.1", lambda _: None)
    source = tmp_path / "Hello.java"
    source.write_text(HELLO % VERSION_OF_CLIENTS)
    classes = compile_java(found.compiler, source, found.classpath)
    ran = subprocess.run(
        [find_java(), "-cp", f"{classes}:{found.classpath}", "Hello"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "4.3.1\n"
    before = (classes / "Hello.class").stat().st_mtime_ns
    again = compile_java(found.compiler, source, found.classpath)
    assert (again, (again / "Hello.class").stat().st_mtime_ns) == (classes, before)
    shutil.rmtree(classes)


@pytest.mark.kafka
def test_a_java_file_that_is_wrong_is_reported_with_the_compilers_words(tmp_path):
    found = resolve_jars("4.3.1", lambda _: None)
    source = tmp_path / "Hello.java"
    source.write_text(HELLO % "nowhere.Missing.name()")
    with pytest.raises(ConfigError, match=r"(?s)Hello\.java does not compile.*nowhere"):
        compile_java(found.compiler, source, found.classpath)


def printing(*lines: str, code: int = 0) -> list[str]:
    return [sys.executable, "-c", f"print({chr(10).join(lines)!r}); raise SystemExit({code})"]


def test_every_tenth_jar_is_reported() -> None:
    progress: list[str] = []
    run_resolver(
        printing(*(f"[SUCCESSFUL ] x-{n}.jar" for n in range(25)), "[SUCCESSFUL ] x.pom"),
        "[SUCCESSFUL ]",
        progress.append,
    )
    assert progress == ["fetched 10 jars", "fetched 20 jars"]


def test_a_failure_shows_the_end_of_the_output() -> None:
    with pytest.raises(ConfigError, match="no such version") as failure:
        run_resolver(printing("no such version", code=1), "x", print)
    assert failure.value.hint == "check the network and that this version was released"


def test_an_unknown_certificate_is_reported_with_its_fix() -> None:
    with pytest.raises(ConfigError) as failure:
        run_resolver(printing("SSLHandshakeException: PKIX path building failed", code=1), "x", print)
    assert "JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore" in str(failure.value.hint)


@pytest.mark.parametrize(
    ("printed", "missing"),
    [
        (
            "[ERROR] Failed: Could not find artifact org.apache.kafka:connect-mirror:jar:3.5.2 in central",
            "connect-mirror 3.5.2",
        ),
        (
            "[ERROR] could not be resolved: org.apache.kafka:connect-api:jar:4.0.1, "
            "org.apache.kafka:connect-file:jar:4.0.1: Could not find artifact org.apache.kafka:connect-api:jar:4.0.1",
            "connect-api 4.0.1, connect-file 4.0.1",
        ),
        (
            "[ERROR] org.apache.kafka:connect-mirror:jar:3.5.2 was not found in central during a previous attempt.",
            "connect-mirror 3.5.2",
        ),
        (":: org.apache.kafka#connect-mirror;3.5.2: not found", "connect-mirror 3.5.2"),
    ],
)
def test_an_artifact_of_kafka_that_is_missing_in_the_repository_is_named(printed: str, missing: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run_resolver(printing(printed, code=1), "never", lambda _: None)
    assert caught.value.message == f"the repository does not hold {missing}"
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("it has only a part of some releases. Try another version of the same line")


def test_a_plugin_that_is_missing_in_the_repository_is_named_and_other_workers_are_no_advice() -> None:
    printed = "[ERROR] org.example:shop-source:tar.gz:package:1.2 was not found in central during a previous attempt."
    with pytest.raises(ConfigError) as caught:
        run_resolver(printing(printed, code=1), "never", lambda _: None)
    assert caught.value.message == "the repository does not hold shop-source 1.2"
    assert caught.value.hint is not None
    assert "give a plugin's jar, zip, tar.gz or directory" in caught.value.hint


def test_an_artifact_that_could_not_be_asked_for_is_not_called_missing() -> None:
    printed = "Could not transfer artifact org.apache.kafka:connect-api:jar:4.0.0: Could not find artifact"
    with pytest.raises(ConfigError) as caught:
        run_resolver(printing(printed, code=1), "never", lambda _: None)
    assert caught.value.hint == "check the network and that this version was released"


def test_colours_of_maven_do_not_reach_the_message() -> None:
    with pytest.raises(ConfigError) as failure:
        run_resolver(printing("[\x1b[1;31mERROR\x1b[m] \x1b[33mno such version\x1b[0m", code=1), "x", print)
    assert failure.value.message == "jars could not be fetched:\n[ERROR] no such version"
