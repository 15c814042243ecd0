"""A null offset beside others in one commit (KAFKA-15018): docs/observations.md has what was seen.

Of two source partitions of one task the second has null offsets, so a restarted task rightly reads that one again.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.model.versions import KafkaVersion
from tests.campaign.connector import Kind, NumberedConnector
from tests.campaign.site import SOURCE
from tests.connector_plugin import plugin_path
from tests.faulty_sandbox import Sandbox
from tests.integration.moves import STOPPABLE, Home
from tests.kafka_versions import spec_of, workers_of
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.variation, pytest.mark.timeout(600)]

TOMBSTONES_FIRST = KafkaVersion(3, 8)
ALL = 100
FLUSHING = "ConnectException: OffsetStorageWriter is already flushing"


@pytest.fixture(scope="module")
def home(kafka_version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    settings = {"plugin.path": plugin_path(workers_of(kafka_version), SOURCE, tmp_path_factory.mktemp("plugins"))}
    with Sandbox(spec_of(kafka_version, workers=1, worker_config=settings)) as sandbox:
        yield Home(sandbox)


@pytest.fixture
def connector(home: Home, own: bool, tmp_path: Path) -> Iterator[NumberedConnector]:
    """Exactly-once, with an offsets topic of its own and without; all numbers are there when it starts."""
    name = "own" if own else "shared"
    made = NumberedConnector(home, name, Kind(partitions=2, form="half"), tmp_path, "own-offsets" if own else None)
    made.grow(ALL)
    made.configure()
    yield made
    made.delete()
    made.close()


def came(connector: NumberedConnector) -> list[int]:
    """How many numbers of the first source partition read_committed consumers have: first sights, and repetitions.

    Only the numbers of this partition have offsets.
    """
    seen = [times for (partition, _), times in connector.reader.read().items() if partition == 0]
    return [len(seen), sum(seen) - len(seen)]


def came_again(connector: NumberedConnector) -> bool:
    """Whether numbers were repeated; a task that has FAILED is started again."""
    if connector.tasks() == ["FAILED"]:
        connector.ask("POST", "tasks/0/restart")
    return came(connector)[1] > 0


@pytest.mark.parametrize("own", [False, True])
def test_records_are_committed_without_their_offsets_where_tombstones_go_first(
    home: Home, connector: NumberedConnector, own: bool
) -> None:
    if own and home.version >= TOMBSTONES_FIRST:
        eventually(lambda: FLUSHING in home.sandbox.worker_log(1).read_text(), "the commit that fails", deadline_s=180)
        eventually(lambda: came(connector)[0] > 0, "the first records", deadline_s=90)
        assert sum(each["offset"]["position"] for each in connector.offsets()) < came(connector)[0] < ALL
        eventually(lambda: connector.tasks() == ["FAILED"], "its status to say so", deadline_s=180)
        # A task that is started again may fail before its first commit, too.
        eventually(lambda: came_again(connector), "records that are written again", deadline_s=180, every_s=1)
        return
    eventually(lambda: came(connector) == [ALL, 0], "all records", deadline_s=90)
    assert home.version < STOPPABLE or connector.offsets() == [{"partition": {"p": 0}, "offset": {"position": ALL}}]
    connector.ask("POST", "tasks/0/restart")
    second = lambda: {times for (index, _), times in connector.reader.read().items() if index == 1}  # noqa: E731
    eventually(lambda: second() == {2}, "what has no offsets comes again", deadline_s=90)
    assert came(connector) == [ALL, 0]
