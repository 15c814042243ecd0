"""Every kind of move of connectors that run, on every version, with exactly-once enabled and without: while records
flow, and afterwards, the output read committed has each source record exactly once."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faulty_sandbox import Sandbox
from tests.integration.moves import SETTING, Copier, Eosctl, Home, Lines, Place, Records, delete_copies, move
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.matrix, pytest.mark.usefixtures("own_state")]

MOVED = {
    "group.id": "moved",
    "config.storage.topic": "moved-configs",
    "offset.storage.topic": "moved-offsets",
    "status.storage.topic": "moved-status",
}

Homes = tuple[Home, Home, Home]


@pytest.fixture(scope="module")
def homes(here: Sandbox, abroad: Sandbox) -> Iterator[Homes]:
    """A Connect cluster, another one with the same brokers, and one with other brokers."""
    here.start_worker(2, MOVED)
    yield Home(here), Home(here, 2, "moved", "moved-configs", "moved-offsets"), Home(abroad)
    here.kill_worker(2)


def lines(home: Home, directory: Path) -> Copier:
    return Lines(home, "lines", directory)


def records(home: Home, _: Path) -> Copier:
    return Records(home, "records")


@pytest.mark.parametrize("make", [lines, pytest.param(records, marks=pytest.mark.variation)])
def test_a_connector_moves_to_topics_names_groups_and_clusters(
    make: Callable[[Home, Path], Copier], homes: Homes, eosctl: Eosctl, tmp_path: Path
):
    here, beside, abroad = homes
    copier = make(here, tmp_path)
    old = copier.place.name
    new = f"{old}-renamed"

    def moved(place: Place, *flags: str) -> None:
        move(eosctl, [copier], [place], "--connector", copier.place.name, *flags)

    moved(Place(here, old, f"{old}-one"), "--to-topic", f"{old}-one")
    moved(Place(here, old, f"{old}-two"), "--to-topic", f"{old}-two")
    # Workers later copy offsets from a connector's own topic to theirs, without a guarantee.
    moved(Place(here, old), "--to-worker-topic", "--merge", "keep-source")
    moved(Place(here, new), "--rename-to", new)
    moved(Place(beside, new, "moved-offsets"), "--to-group-id", "moved", "--to-topic", "moved-offsets")
    moved(
        Place(abroad, new, "connect-offsets"), "--to-bootstrap-server", abroad.servers, "--to-group-id",
        "connect-cluster", "--to-topic", "connect-offsets",
    )  # fmt: skip
    abroad.delete(new)


@pytest.mark.variation
def test_two_connectors_move_at_once(homes: Homes, eosctl: Eosctl, tmp_path: Path):
    """Both to one topic, then both to other names by a rename map."""
    here, _, _ = homes
    copiers: list[Copier] = [Lines(here, "pair-a", tmp_path), Records(here, "pair-b")]
    places = [replace(copier.place, own_topic="pair-own") for copier in copiers]
    move(eosctl, copiers, places, "--connector", "pair-a", "--connector", "pair-b", "--to-topic", "pair-own")
    names = tmp_path / "names.json"
    names.write_text(json.dumps({"pair-a": "pair-c", "pair-b": "pair-d"}))
    places = [replace(place, name=name) for place, name in zip(places, ["pair-c", "pair-d"], strict=True)]
    move(eosctl, copiers, places, "--rename-map", names)
    for place in places:
        here.delete(place.name)


@pytest.mark.variation
@pytest.mark.parametrize("change", ["own-topic", "other-topic", "worker-topic", "rename", "group", "cluster"])
def test_the_same_moves_without_eosctl_break(homes: Homes, tmp_path: Path, change: str):
    """So the tests above can fail. Back to the workers' topic only where the copies there, which may be missed, are."""
    here, beside, abroad = homes
    had_own = change in {"other-topic", "worker-topic"}
    copier = Lines(here, f"broken-{change}", tmp_path, {SETTING: f"broken-{change}-first"} if had_own else None)
    count = len(copier.copied())
    home = {"group": beside, "cluster": abroad}.get(change, here)
    name = f"{copier.topic}-2" if change == "rename" else copier.topic
    here.delete(copier.topic)
    if change == "worker-topic":
        delete_copies(here, copier.topic)
    copier.more = {SETTING: f"{copier.topic}-own"} if change in {"own-topic", "other-topic"} else {}
    home.create(name, copier.config(home))
    copier.place = Place(home, name)
    eventually(lambda: len(copier.copied()) >= 2 * count, "every line a second time")
    assert copier.copied() == 2 * [f"line {number}".encode() for number in range(count)]
    home.delete(name)


@pytest.mark.variation
def test_an_undo_is_refused_after_the_connector_has_continued(homes: Homes, eosctl: Eosctl, tmp_path: Path):
    here, _, _ = homes
    copier = Lines(here, "no-way-back", tmp_path)
    place = replace(copier.place, own_topic="back-own")
    ran = move(eosctl, [copier], [place], "--connector", "no-way-back", "--to-topic", "back-own")
    undo = json.loads(ran.stdout)["data"]["undo_file"]
    copier.check_exactly_once()
    back = eosctl("undo", undo, "-b", here.servers, "--group-id", here.group_id, "--connect-url", here.url, "--yes")
    assert back.exit_code == 8, back.stderr
    copier.check_exactly_once()
    here.delete("no-way-back")
