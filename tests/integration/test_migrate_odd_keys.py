"""After a move the connector's next commit lands on eosctl's record, with any source partitions.

A test connector has a null partition, an empty one, characters beyond U+FFFF, escapes, integers, doubles, floats,
bytes, members in several orders: one live value for each key, in topics of 1, 5, 25 and 50 partitions.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from eosctl.analysis.offsets import NULL_PARTITION_IS_LOST
from eosctl.clients.wire import Wire
from eosctl.codecs.offsets_topic import decode_offsets_key
from eosctl.model.client_properties import ClientProperties
from eosctl.model.offsets import OffsetKey, OffsetsTopic
from eosctl.model.records import java_partition
from eosctl.operations.plan_facts import read_offsets_topic
from tests.connector_plugin import plugin_path
from tests.faulty_sandbox import Sandbox
from tests.integration.file_connectors import values_in
from tests.integration.moves import Copier, Eosctl, Home, Place, move
from tests.kafka_versions import spec_of, workers_of
from tests.live_reader import reading_over
from tests.waiting import eventually

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.workers,
    pytest.mark.matrix,
    pytest.mark.variation,
    pytest.mark.usefixtures("own_state"),
]

SOURCE = Path(__file__).with_name("OddPartitionsSource.java")
PARTITIONS = 14
NULL = 0
NAME = "odd"
ODD_NAME = 'ödd "x" 😀'


@pytest.fixture(scope="module", params=["enabled", "disabled"])
def home(
    kafka_version: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Home]:
    """A worker that has the connector among its plugins, with exactly-once enabled and without."""
    plugins = plugin_path(workers_of(kafka_version), SOURCE, tmp_path_factory.mktemp("plugins"))
    settings = {"plugin.path": plugins, "offset.flush.interval.ms": "500"}
    spec = spec_of(kafka_version, workers=1, exactly_once=request.param, worker_config=settings)
    with Sandbox(spec) as sandbox:
        yield Home(sandbox)


class Odd:
    """The connector, which writes by itself all the time."""

    def __init__(self, home: Home) -> None:
        self.place, self.starts = Place(home, NAME), 0
        home.create(NAME, self.config(home))
        self.check_exactly_once()

    def config(self, home: Home) -> dict[str, str]:
        string = "org.apache.kafka.connect.storage.StringConverter"
        return {
            "connector.class": "OddPartitionsSource",
            "tasks.max": "1",
            "topic": "odd",
            "key.converter": string,
            "value.converter": string,
        }

    def write(self, count: int) -> None:
        pass

    def rounds(self) -> dict[int, list[int]]:
        """Index of the source partition to the rounds in the output, in order."""
        found: dict[int, list[int]] = {index: [] for index in range(PARTITIONS)}
        for value in values_in(self.place.home.servers, "odd"):
            assert value is not None
            index, _, number = value.decode().partition(":")
            found[int(index)].append(int(number))
        return found

    def check_exactly_once(self) -> None:
        before = min(len(each) for each in self.rounds().values())
        eventually(lambda: min(len(each) for each in self.rounds().values()) > before + 2, "three more rounds")
        self.starts += 1
        for index, numbers in self.rounds().items():
            if index == NULL and self.place.home.version >= NULL_PARTITION_IS_LOST:
                assert numbers.count(1) == self.starts, "every start begins from nothing"
            else:
                assert numbers == list(range(1, len(numbers) + 1)), f"source partition {index}"


def held(home: Home, topic: str) -> OffsetsTopic:
    """The topic as it is now."""
    with Wire(ClientProperties((home.servers,))) as wire:
        return read_offsets_topic(reading_over(wire).reader, topic)


def check_one_live_value_for_each_key(place: Place, topic: str) -> None:
    """Our record and the connector's next one lie under the same bytes in the same partition."""

    def grown() -> bool:
        found = held(place.home, topic)
        ours = [raw for raw in found.raw_keys() if _connector(raw) == place.name]
        return bool(ours) and all(found.under(raw)[0].records > 1 for raw in ours)

    eventually(grown, f"a commit of the connector's own under every key in {topic}")
    found = held(place.home, topic)
    keys = [raw for raw in found.raw_keys() if raw is not None and _connector(raw) == place.name]
    assert len(keys) == PARTITIONS
    for raw in keys:
        [records] = found.under(raw)
        assert records.topic_partition.partition == java_partition(raw, len(found.partitions)), raw


def check_what_is_shown(home: Home, eosctl: Eosctl) -> None:
    """Every source partition resumes from its offset, but for the null one where workers cannot look it up."""
    ran = eosctl(
        "offsets", "show", "-b", home.servers, "--connect-url", home.url, "--worker-bootstrap-servers", home.servers,
        "--connector", NAME, "-o", "json",
    )  # fmt: skip
    found = json.loads(ran.stdout)["data"]
    own = [row for row in found["offsets"] if row["connector_specific"] is not None]
    lost = [row["partition"] for row in own if row["kafka_effective"] is None]
    is_lost = home.version >= NULL_PARTITION_IS_LOST
    assert len(own) == PARTITIONS
    assert lost == ([None] if is_lost else [])
    assert ("null-partition-lost" in {each["name"] for each in found["findings"]}) is is_lost


def _connector(raw: bytes | None) -> str:
    key = decode_offsets_key(raw)
    assert isinstance(key, OffsetKey)
    return key.connector


def test_one_live_value_for_each_key_in_topics_of_all_sizes(home: Home, eosctl: Eosctl):
    odd = Odd(home)
    copiers: list[Copier] = [odd]
    for partitions in (1, 5, 25, 50):
        topic = f"odd-{partitions}"
        place = replace(odd.place, own_topic=topic)
        flags = ("--connector", NAME, "--to-topic", topic, "--partitions", str(partitions))
        move(eosctl, copiers, [place], *flags)
        assert len(held(home, topic).partitions) == partitions
        check_one_live_value_for_each_key(place, topic)
    check_what_is_shown(home, eosctl)
    place = replace(odd.place, name=ODD_NAME)
    move(eosctl, copiers, [place], "--connector", NAME, "--rename-to", ODD_NAME)
    check_one_live_value_for_each_key(place, "odd-50")
    home.delete(ODD_NAME)
