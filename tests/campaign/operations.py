"""The operations on a connector in a history: its user's requests over REST, and moves by eosctl.

An operation begins while records flow and leaves the connector running. One that returns False was impossible in the
connector's state.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from confluent_kafka.admin import AdminClient

from tests.campaign.connector import NumberedConnector
from tests.commands.conftest import Ran
from tests.waiting import eventually

Eosctl = Callable[..., Ran]


class Acting(NamedTuple):
    """An operation's connector, its chance, and eosctl."""

    connector: NumberedConnector
    chance: random.Random
    eosctl: Eosctl


def do_nothing(acting: Acting) -> bool:
    """Records flow."""
    return True


def pause_and_resume(acting: Acting) -> bool:
    """Paused tasks keep their producers."""
    acting.connector.ask("PUT", "pause")
    acting.connector.grow(10)
    acting.connector.resume()
    return True


def stop_and_resume(acting: Acting) -> bool:
    """Stopped connectors have no task."""
    acting.connector.stop()
    acting.connector.grow(10)
    acting.connector.resume()
    return True


def restart(acting: Acting) -> bool:
    """Connector and tasks; before a connector has any it cannot be restarted."""
    acting.connector.await_running()
    acting.connector.ask("POST", "restart?includeTasks=true")
    return True


def reconfigure(acting: Acting) -> bool:
    """More tasks or fewer, other transactions."""
    chance = acting.chance
    acting.connector.configure(tasks=chance.randint(1, 3), boundary=chance.choice(("poll", "interval")))
    return True


def recreate(acting: Acting) -> bool:
    """Deleted, and created again under its name."""
    acting.connector.home.delete(acting.connector.name)
    acting.connector.configure()
    return True


def move_by_hand(acting: Acting) -> bool:
    """offsets.storage.topic is set, and nothing else done: Kafka then begins from nothing."""
    connector = acting.connector
    if connector.own_topic is not None or connector.kind.form == "none":
        return False
    if acting.chance.random() < 0.5:
        connector.stop()
    connector.own_topic = f"{connector.name}-by-hand-{acting.chance.randrange(10**6)}"
    connector.configure()
    connector.resume()
    return True


def return_by_hand(acting: Acting) -> bool:
    """offsets.storage.topic is taken out again."""
    connector = acting.connector
    if connector.own_topic is None:
        return False
    connector.stop()
    connector.own_topic = None
    connector.configure()
    connector.resume()
    return True


def _migrate(acting: Acting, *target: str) -> bool:
    connector = acting.connector
    connector.await_running()
    ran = acting.eosctl(
        "migrate-offsets", "-b", connector.home.servers, "--group-id", connector.home.group_id, "--connect-url",
        connector.home.url, "--connector", connector.name, *target, "--stop", "--set-config", "--resume", "--yes",
        "--merge", "keep-source", "--timeout", "180", "-o", "json",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.stderr + ran.stdout
    return True


def move(acting: Acting) -> bool:
    """Moves it to its own offsets topic, by eosctl; not with null offsets, with which it could not continue there."""
    if acting.connector.kind.form == "none":
        return False
    topic = f"{acting.connector.name}-moved-{acting.chance.randrange(10**6)}"
    _migrate(acting, "--to-topic", topic)
    acting.connector.own_topic = topic
    return True


def move_back(acting: Acting) -> bool:
    """To the workers' offsets topic, by eosctl."""
    if acting.connector.own_topic is None:
        return False
    _migrate(acting, "--to-worker-topic")
    acting.connector.own_topic = None
    return True


def rename(acting: Acting) -> bool:
    """To a new name, by eosctl; the old one is deleted as the plan says."""
    connector = acting.connector
    name = f"{connector.names[0]}-{len(connector.names)}"
    _migrate(acting, "--rename-to", name)
    if connector.home.ask("GET", connector.path("status")) != 404:
        connector.home.delete(connector.name)
    connector.name = name
    connector.names.append(name)
    return True


def reset(acting: Acting) -> bool:
    """Offsets deleted over REST. From 3.9 on that never ends for an offsets topic of its own, and is not tried."""
    connector = acting.connector
    if connector.own_topic is not None:
        return False
    connector.stop()
    connector.ask("DELETE", "offsets")
    connector.resume()
    return True


def alter(acting: Acting) -> bool:
    """Sets one source partition's offset back over REST, or ahead; the numbers in between are then unwanted."""
    connector, chance = acting.connector, acting.chance
    if connector.kind.form == "none":
        return False
    connector.settle()
    connector.stop()
    entries = [each for each in connector.offsets() if each["offset"] is not None]
    if not entries:
        connector.resume()
        return False
    entry = chance.choice(entries)
    partition, by = entry["partition"]["p"], chance.choice((-20, -3, 7))
    before = _position(entry["offset"])
    entry["offset"] = _at(entry["offset"], max(0, before + by))
    connector.ask("PATCH", "offsets", {"offsets": [entry]})
    if by > 0:
        connector.skipped |= {(partition, number) for number in range(before, before + by)}
        connector.grow(2 * by)
    connector.resume()
    return True


def _position(offset: dict[str, Any]) -> int:
    if "gtid" in offset:
        return int(offset["gtid"].rpartition("-")[2])
    return int(next(offset[member] for member in ("position", "pos", "txId") if member in offset))


def _at(offset: dict[str, Any], position: int) -> dict[str, Any]:
    if "gtid" in offset:
        return {**offset, "gtid": f"{offset['gtid'].rpartition('-')[0]}-{position}"}
    return {**offset, next(member for member in ("position", "pos", "txId") if member in offset): position}


def recreate_outputs(acting: Acting) -> bool:
    """The outputs deleted and created again, after readers have read them to their ends."""
    connector = acting.connector
    connector.stop()
    connector.reader.read_to_the_ends()
    admin = AdminClient({"bootstrap.servers": connector.home.servers})
    for future in admin.delete_topics(connector.outputs).values():
        future.result(30)
    gone = set(connector.outputs)
    eventually(lambda: gone.isdisjoint(admin.list_topics(timeout=10).topics), "the outputs to be gone")
    connector.reader.close()
    connector.make_topics()
    connector.resume()
    return True


QUIET: Sequence[Callable[[Acting], bool]] = (
    do_nothing, pause_and_resume, stop_and_resume, restart, reconfigure, recreate, recreate_outputs,
)  # fmt: skip
"""After these a connector resumes where it was."""
MOVES: Sequence[Callable[[Acting], bool]] = (move, move_back, rename)
"""So it does after these; they are done one at a time."""
LOUD: Sequence[Callable[[Acting], bool]] = (move_by_hand, return_by_hand, reset, alter)
"""After these it may not."""
WISHES = (reset, alter)
"""After these it does not, as its user wished."""
