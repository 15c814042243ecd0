"""With what Spark starts on this machine: an archive of its classes, and a daemon that finds compiled modules."""

import os
from pathlib import Path

import pytest

from eosctl.spark.session import archive_options
from eosctl.spark.worker_daemon import prefer_installed


@pytest.fixture
def java_home(tmp_path: Path) -> Path:
    (tmp_path / "java" / "lib").mkdir(parents=True)
    (tmp_path / "java" / "lib" / "modules").touch()
    return tmp_path / "java"


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    (tmp_path / "jars").mkdir()
    return tmp_path / "jars"


def archive_in(options: str) -> Path:
    return Path(options.split(maxsplit=1)[0].partition("=")[2])


def test_the_first_jvm_writes_the_archive_and_the_next_one_uses_it(tmp_path: Path, java_home: Path, jars: Path):
    first = archive_options(tmp_path / "spark", java_home, jars)
    archive_in(first).write_bytes(b"\x0f\x00\xba\xab")
    second = archive_options(tmp_path / "spark", java_home, jars)

    assert first.startswith("-XX:ArchiveClassesAtExit=")
    assert second.startswith("-XX:SharedArchiveFile=")
    assert archive_in(first) == archive_in(second)


def test_an_archive_without_its_header_is_written_again(tmp_path: Path, java_home: Path, jars: Path):
    first = archive_options(tmp_path / "spark", java_home, jars)
    archive_in(first).write_bytes(bytes(4096))

    assert archive_options(tmp_path / "spark", java_home, jars) == first


def test_other_jars_have_an_archive_of_their_own(tmp_path: Path, java_home: Path, jars: Path):
    first = archive_options(tmp_path / "spark", java_home, jars)
    os.utime(jars, (1, 1))

    assert archive_in(archive_options(tmp_path / "spark", java_home, jars)) != archive_in(first)


def test_without_a_place_for_it_spark_starts_without_an_archive(tmp_path: Path, java_home: Path, jars: Path):
    (tmp_path / "file").touch()

    assert archive_options(None, java_home, jars) == ""
    assert archive_options(tmp_path / "file" / "spark", java_home, jars) == ""
    assert archive_options(tmp_path / "spark", tmp_path / "no-java", jars) == ""


def test_workers_take_the_installed_pyspark_before_the_zipped_one():
    path = ["/work", "/s/lib/pyspark.zip", "/s/lib/py4j-0.10.9.9-src.zip", "/u/eosctl.zip", "/site-packages"]

    assert prefer_installed(path) == [
        *("/work", "/u/eosctl.zip", "/site-packages"),
        *("/s/lib/pyspark.zip", "/s/lib/py4j-0.10.9.9-src.zip"),
    ]
