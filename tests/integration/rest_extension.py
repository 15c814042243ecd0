"""Kafka's own basic auth for a worker's REST interface, which Kafka ships as a plugin of its own."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eosctl.sandbox.cache import cache_directory, exclusive
from eosctl.sandbox.jars import copy_with_maven, find_ivy, resolve_jars, retrieve_with_ivy
from eosctl.sandbox.java import find_java

PACKAGE = "org.apache.kafka.connect.rest.basic.auth.extension"
NAME = "connect-basic-auth-extension"


def extension_jar(version: str) -> Path:
    """The extension of this version, fetched into the cache once."""
    directory = cache_directory() / "rest-extension" / version
    with exclusive(directory.with_name(f"{version}.lock")):
        if not list(directory.glob("*.jar")):
            _fetch(version, directory)
    return next(directory.glob("*.jar"))


@contextmanager
def among_kafka_s_jars(version: str, directory: Path) -> Iterator[None]:
    """Sandboxes of this version started within have the extension on their class path, where JAAS looks for it.

    `directory` becomes a cache that is the usual one in all else.
    """
    resolve_jars(version, lambda _: None)
    usual, jar = cache_directory(), extension_jar(version)
    for path in ("", "kafka", f"kafka/{version}", f"kafka/{version}/libs"):
        (directory / "eosctl" / path).mkdir(parents=True)
        for each in (usual / path).iterdir():
            if each.name not in {"kafka", version, "libs"}:
                (directory / "eosctl" / path / each.name).symlink_to(each)
    (directory / "eosctl" / "kafka" / version / "libs" / jar.name).symlink_to(jar)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(directory))
        yield


def _fetch(version: str, directory: Path) -> None:
    scratch, jars = directory.with_name(f"{version}.scratch"), directory.with_name(f"{version}.jars")
    for each in (scratch, jars):
        shutil.rmtree(each, ignore_errors=True)
        each.mkdir(parents=True)
    wanted = (f"org.apache.kafka:{NAME}:{version}",)
    maven, ivy = shutil.which("mvn"), find_ivy()
    if maven is not None:
        copy_with_maven(maven, wanted, jars, scratch, lambda _: None)
    else:
        assert ivy is not None
        retrieve_with_ivy(find_java(), ivy, wanted, jars, scratch, lambda _: None)
    [jar] = jars.glob(f"{NAME}-*.jar")
    directory.mkdir(parents=True, exist_ok=True)
    jar.replace(directory / jar.name)  # the worker has what it needs
    for each in (scratch, jars):
        shutil.rmtree(each)


ASKING = {"rest.extension.classes": f"{PACKAGE}.BasicAuthSecurityRestExtension"}
"""The settings with which a worker requires user and password."""


def java_option(directory: Path, **users: str) -> str:
    """The option with which a worker's JVM knows `users` and their passwords; the files are in `directory`."""
    (directory / "users.properties").write_text("".join(f"{user}={password}\n" for user, password in users.items()))
    module = f'{PACKAGE}.PropertyFileLoginModule required file="{directory}/users.properties";'
    (directory / "jaas.conf").write_text(f"KafkaConnect {{ {module} }};\n")
    return f"-Djava.security.auth.login.config={directory}/jaas.conf"
