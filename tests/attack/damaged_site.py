"""A real broker and worker behind a proxy that damages what the broker answers, started once for a whole campaign."""

import json
import random
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Producer

from eosctl.codecs.record_batches import iter_batches
from eosctl.model.names import TopicPartition
from tests.attack.bombs import Bomb, any_bomb
from tests.faults.commands import COMMANDS, GROUP, Answer, Command
from tests.faults.damaged_answers import Answered, Change, Damage, Damaging, damages, decoded
from tests.faults.kafka_proxy import FETCH, Seen
from tests.faults.matrix import FaultMatrix, fault_matrix
from tests.faults.site import LIVE, SPEC, Site, planted
from tests.faulty_sandbox import Sandbox
from tests.integration.mirror_site import BEGUN_MS
from tests.integration.producers import create_topic

OF_HEADERS: Final = Command(("transactions", "trace", f"{LIVE}:0@0", *GROUP))
"""The trace of a record with users' data: it unpacks no record."""
OF_OFFSETS: Final = Command(("transactions", "trace", "connect-offsets:0@0", *GROUP))
MIRRORED, COPY, MAPPING = "mirrored", "eu.mirrored", "mapping.json"
OF_MIRROR: Final = Command(
    (
        "mirror",
        "audit",
        "--processes",
        "1",
        "--source-bootstrap-server",
        "{servers}",
        "--mapping",
        f"{{directory}}/{MAPPING}",
    ),
    rest=False,
)
"""Source and target are in one cluster, so a damage may belong to either."""
ASKED: Final = (*(each for each in COMMANDS if each.name != "watch"), OF_HEADERS, OF_OFFSETS, OF_MIRROR)
"""Commands that read brokers and end."""
ENDS: Final = ExitStack()
"""Ends the site. An exit handler comes too late for that: its brokers end with the thread that started them."""
RECORDS: Final = ("responses", 0, "partitions", 0, "records")


@cache
def damaged_site() -> FaultMatrix:
    """The site with its proxies, until ENDS is closed."""
    directory = Path(ENDS.enter_context(tempfile.TemporaryDirectory(prefix="eosctl-damaged-")))
    site = ENDS.enter_context(planted(ENDS.enter_context(Sandbox(SPEC)), directory))
    _copy(site)
    return ENDS.enter_context(fault_matrix(site))


def _copy(site: Site) -> None:
    """A topic and its whole copy, and the file that says so."""
    servers = site.sandbox.bootstrap_servers
    for topic in (MIRRORED, COPY):
        create_topic(servers, topic)
        producer = Producer({"bootstrap.servers": servers})
        for number in range(100):
            producer.produce(topic, b"record %d" % number, b"%d" % number, 0, timestamp=BEGUN_MS + number)
        assert producer.flush(30) == 0
    (site.directory / MAPPING).write_text(json.dumps({MIRRORED: COPY}))


class Recorded(NamedTuple):
    """A command's answer, and the broker's answers behind it."""

    answer: Answer
    answers: list[Answered]


@cache
def recorded(command: Command) -> Recorded:
    """The command without any damage."""
    return Recorded(*damaged_site().recorded(command))


def any_damage(command: Command, chance: random.Random) -> Damage:
    """A random kind of damage to the broker's answers to the command."""
    sorts = {each.sort: each for answered in recorded(command).answers for each in damages(answered, chance)}
    return sorts[chance.choice(sorted(sorts))]


class Planted(NamedTuple):
    """A bomb in the place of the first batch of an answer to a Fetch."""

    place: TopicPartition
    offset: int
    bomb: Bomb
    damage: Damage


def any_planted(command: Command, chance: random.Random) -> Planted | None:
    """A bomb in the command's fetched records; None if it fetches none."""
    fetched = [each for each in recorded(command).answers if each.seen.api_key == FETCH and _records(each)]
    if not fetched:
        return None
    answered = chance.choice(fetched)
    place, offset = _begin(answered)
    bomb = any_bomb(offset, chance)

    def change(records: bytes) -> bytes:
        return bomb.data + bytes(records[len(next(iter_batches(records)).data) :])

    def planted(version: int, frame: bytes) -> bytes | None:
        given = Answered(answered.seen, version, frame)
        there = _records(given) and _begin(given) == (place, offset)
        return Change(FETCH, RECORDS, change)(version, frame) if there else None

    return Planted(place, offset, bomb, Damage(answered.seen, "records", bomb.what, True, planted))


class Planting(Damaging):
    """Does it to each answer to a Fetch that begins there."""

    def passed(self, seen: Seen, version: int, frame: bytes) -> bytes:
        """With the bomb in it."""
        return super().passed(self.damage.seen if seen.api_key == FETCH else seen, version, frame)


def _begin(answered: Answered) -> tuple[TopicPartition, int]:
    topic = decoded(answered).responses[0]
    offset = next(iter_batches(_records(answered))).header.base_offset
    return TopicPartition(topic.topic, topic.partitions[0].partition_index), offset


def _records(answered: Answered) -> bytes:
    topics = decoded(answered).responses
    return b"" if not topics else bytes(topics[0].partitions[0].records or b"")
