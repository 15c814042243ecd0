"""`offsets restore` on a real broker: the bytes of the keys that are there, one transaction, a way back."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from eosctl.model.records import java_partition
from tests.commands.conftest import Ran
from tests.faulty_sandbox import Sandbox
from tests.integration.migrate_ground import Ground
from tests.integration.producers import transactional_producer

pytestmark = pytest.mark.kafka

Eosctl = Callable[..., Ran]
A, B = b'["stopped",{"f":1}]', b'["stopped",{"z":"1" ,"a":2.0}]'


@pytest.fixture
def ground(
    sandbox: Sandbox, fresh_name: Callable[[str], str], eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Ground:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = Ground(sandbox, fresh_name("restored"), eosctl)
    made.put(made.offsets, B, b'{"p":2}')
    made.target = made.offsets
    return made


@pytest.fixture
def restore(ground: Ground, eosctl: Eosctl, tmp_path: Path) -> Callable[..., Ran]:
    def run(body: object, *more: object) -> Ran:
        file = tmp_path / "export.json"
        file.write_text(body if isinstance(body, str) else json.dumps(body))
        return eosctl(
            "offsets", "restore", file, "--connector", "stopped", "-b", ground.servers, "--group-id", ground.name,
            "--config-topic", ground.configs, "--worker-offsets-topic", ground.offsets, "--yes", "-o", "json", *more,
        )  # fmt: skip

    return run


def entry(partition: object, offset: object) -> dict[str, object]:
    return {"partition": partition, "offset": offset}


def test_values_go_under_the_very_keys_that_are_there(ground: Ground, restore: Callable[..., Ran], eosctl: Eosctl):
    before = ground.held()
    ran = restore({"offsets": [entry({"a": 2.0, "z": "1"}, {"p": 7}), entry({"f": 1}, None)]})
    assert ran.exit_code == 0, ran.stderr
    assert ground.held() == {**before, A: None, B: b'{"p":7}'}
    undo = json.loads(ran.stdout)["data"]["undo_file"]
    back = eosctl("undo", undo, "-b", ground.servers, "--config-topic", ground.configs, "--yes")
    assert back.exit_code == 0, back.stderr
    assert ground.held() == before


def test_deletions_go_to_the_workers_topic_first(ground: Ground, restore: Callable[..., Ran]):
    own = f"{ground.name}-own"
    ground.create(own, 3)
    ground.put(own, A, b'{"p":3}')
    ran = restore({"offsets": [entry({"f": 1}, None)]}, "--offsets-topic", own, "--dry-run")
    writes = [row["topic"] for row in json.loads(ran.stdout)["data"]["offsets"]]
    assert writes == [ground.offsets, own]


def test_a_new_key_is_written_only_if_there_is_one_way_to(ground: Ground, restore: Callable[..., Ran]):
    new = {"offsets": [entry({"g": "new"}, {"p": 1})]}
    before, ran = ground.held(), restore(new)
    assert (ran.exit_code, ground.held()) == (8, before)
    assert (
        '["stopped",{"g":"new"}] is not in the topic: the connector\'s keys have the members a, z; or f' in ran.stderr
    )
    ran = restore(new, "--create-keys")
    assert ran.exit_code == 0, ran.stderr
    [told] = [each for each in json.loads(ran.stdout)["data"]["findings"] if each["id"] == "EOS409"]
    assert told["severity"] == "warning"
    assert ground.held()[b'["stopped",{"g":"new"}]'] == b'{"p":1}'
    unknown = {"offsets": [entry({"g": "x", "h": "y"}, {"p": 1})]}
    ran = restore(unknown)
    assert ran.exit_code == 8
    assert "in which order the connector writes its members is unknown" in ran.stderr
    assert restore(unknown, "--create-keys").exit_code == 0
    assert ground.held()[b'["stopped",{"g":"x","h":"y"}]'] == b'{"p":1}'


def test_a_new_key_takes_the_order_of_the_connectors_other_keys(ground: Ground, restore: Callable[..., Ran]):
    assert restore({"offsets": [entry({"a": 3.0, "z": "2"}, {"p": 1})]}, "--create-keys").exit_code == 0
    assert ground.held()[b'["stopped",{"z":"2","a":3.0}]'] == b'{"p":1}'


def test_offsets_of_a_connector_that_was_deleted_go_where_it_had_them(ground: Ground, restore: Callable[..., Ran]):
    """Its last config names a topic of its own."""
    own = f"{ground.name}-own"
    ground.create(own, 3)
    config = {"properties": {"name": "stopped", "offsets.storage.topic": own}}
    ground.put(ground.configs, b"connector-stopped", json.dumps(config).encode(), 0)
    for key in (b"connector-stopped", b"target-state-stopped"):
        ground.put(ground.configs, key, None, 0)
    ran = restore({"offsets": [entry({"f": 1}, {"p": 3})]}, "--dry-run")
    assert [row["topic"] for row in json.loads(ran.stdout)["data"]["offsets"]] == [own]


@pytest.mark.parametrize(
    ("offset", "told"),
    [
        ({"positon": 3893}, '{"filename": "f"}: the offset lacks position and has positon more'),
        ({"position": "3893"}, 'position is text ("3893"), and a whole number (4643) now'),
        ({"position": -5}, "position is -5: no source has a negative one"),
        (
            {"position": 99999999},
            "forward from FileStreamSource: byte 4643 of the file to FileStreamSource: byte 99999999 of the file; "
            "records between them are never copied",
        ),
    ],
)
def test_a_position_that_is_misspelt_impossible_or_skips_records_needs_force(
    ground: Ground, restore: Callable[..., Ran], offset: dict[str, object], told: str
):
    key = b'["stopped",{"filename":"f"}]'
    ground.put(ground.offsets, key, b'{"position":4643}')
    body = {"offsets": [entry({"filename": "f"}, offset)]}
    ran = restore(body)
    assert (ran.exit_code, ground.held()[key]) == (8, b'{"position":4643}')
    assert told in ran.stderr
    ran = restore(body, "--force")
    assert ran.exit_code == 0, ran.stderr
    assert json.loads(ground.held()[key]) == offset
    [found] = [each for each in json.loads(ran.stdout)["data"]["findings"] if each["id"] in {"EOS412", "EOS413"}]
    assert found["severity"] == "warning"


def test_an_earlier_position_of_a_known_shape_is_restored(ground: Ground, restore: Callable[..., Ran]):
    ground.put(ground.offsets, b'["stopped",{"filename":"f"}]', b'{"position":4643}')
    ran = restore({"offsets": [entry({"filename": "f"}, {"position": 3893})]})
    assert ran.exit_code == 0, ran.stderr
    assert {"EOS412", "EOS413"}.isdisjoint(each["id"] for each in json.loads(ran.stdout)["data"]["findings"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"offsets": [\n{"partition": {"f": 1}, "offset": [1]}]}', "line 2: offsets[0].offset is not an object"),
        ("{", "line 1: not JSON"),
    ],
)
def test_a_file_with_an_error_is_reported_by_line_and_field(restore: Callable[..., Ran], body: str, message: str):
    ran = restore(body)
    assert ran.exit_code == 2
    assert message in ran.stderr


def test_a_connector_that_runs_is_left_alone(ground: Ground, restore: Callable[..., Ran]):
    ground.connector("stopped", "STARTED", 1)
    before = ground.held()
    assert restore({"offsets": [entry({"f": 1}, {"p": 9})]}).exit_code == 8
    assert ground.held() == before


def test_a_value_that_an_aborted_one_hides_from_workers_without_exactly_once_is_written_again(
    ground: Ground, restore: Callable[..., Ran], eosctl: Eosctl
):
    producer = transactional_producer(ground.servers, f"{ground.name}-stopped-0")
    producer.begin_transaction()
    producer.produce(ground.offsets, b'{"p":99}', A, java_partition(A, 3))
    assert producer.flush(30) == 0
    producer.abort_transaction(30)
    topics = ("--worker-offsets-topic", ground.offsets, "--config-topic", ground.configs)
    show = ("offsets", "show", "-b", ground.servers, "--group-id", ground.name, *topics, "--connector", "stopped")

    def hidden() -> list[object]:
        rows = json.loads(eosctl(*show, "--exactly-once", "disabled", "-o", "json").stdout)["data"]["offsets"]
        return [each["by_phase"]["not_enabled"]["value"] for each in rows if each["by_phase"] is not None]

    assert hidden() == [{"p": 99}]
    before = ground.held()
    committed = json.loads(before[A])
    assert restore({"offsets": [entry({"f": 1}, committed)]}).exit_code == 0
    assert (hidden(), ground.held()) == ([], before)
