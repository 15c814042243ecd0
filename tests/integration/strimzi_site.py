"""A connector that Strimzi's operator runs, and a person who applies what eosctl asks for."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forks
from tests.conftest import FreshName
from tests.integration.moves import Home, Lines
from tests.integration.strimzi_operator import Operator
from tests.integration.terminal import PROGRAM
from tests.kafka_versions import KafkaVersions, spec_of
from tests.shared_sandboxes import SharedSandboxes

APPLY = re.compile(r"apply (\S+) now, if it is not")
RESOURCE = """\
# lines of the shop
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata:
  name: {name}
  labels: {{strimzi.io/cluster: shop}}
spec:
  class: {class_name}
  tasksMax: 1
  config:
    file: {file}
    topic: {topic}  # where they go
status: {{observedGeneration: 3}}
"""


@pytest.fixture(scope="module")
def home(shared_sandboxes: SharedSandboxes, strimzi_kafka: KafkaVersions) -> Home:
    """A worker of each version that Strimzi serves."""
    return Home(shared_sandboxes.of(spec_of(strimzi_kafka, workers=1)))


@pytest.fixture
def lines(home: Home, tmp_path: Path, fresh_name: FreshName) -> Lines:
    return Lines(home, fresh_name("shop"), tmp_path)


@pytest.fixture
def resource(lines: Lines, home: Home, tmp_path: Path) -> Path:
    config = lines.config(home)
    file = tmp_path / "connector.yaml"
    file.write_text(
        RESOURCE.format(
            name=lines.topic, class_name=config["connector.class"], file=config["file"], topic=config["topic"]
        )
    )
    return file


@pytest.fixture
def operator(home: Home, lines: Lines, resource: Path) -> Iterator[Operator]:
    playing = Operator(home.url, lines.topic, "shop")
    playing.apply(resource)
    with playing.running():
        yield playing
    lines.place.home.delete_now(lines.place.name)


def named(home: Home) -> list[str]:
    """The addresses that a plan names, as whoever applies it with --yes gives them."""
    return ["-b", home.servers, "--connect-url", home.url]


def arguments(home: Home, lines: Lines, *more: object) -> list[object]:
    return [
        *("migrate-offsets", "-b", home.servers, "--group-id", home.group_id, "--connector", lines.topic),
        *("--connect-url", home.url, *more),
    ]


def run_with_somebody_who_applies(arguments: list[object], *operators: Operator) -> tuple[int, list[str], str]:
    """Runs eosctl; each file that it asks for is applied. Its exit code, those files, and all it said."""
    applied, said = [], []
    running = forks.start(PROGRAM, *map(str, arguments), environment={**os.environ, "COLUMNS": "400"})
    for line in running.stderr:
        said.append(line)
        asked = APPLY.search(line)
        if asked is not None:
            applied.append(asked[1])
            for each in operators:
                each.apply(asked[1])
    running.communicate()
    assert running.returncode is not None
    return running.returncode, list(dict.fromkeys(Path(each).name for each in applied)), "".join(said)
