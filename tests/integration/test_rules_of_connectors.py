"""Rules about connectors: each condition made on a real worker, found, cured as printed, and gone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.connect import PARTITIONS, Mirror, Worker
from tests.integration.doctoring import Doctor, Eosctl, Rest, arguments, file_source
from tests.waiting import eventually

pytestmark = pytest.mark.kafka
OVERRIDE = "producer.override."


class Case(NamedTuple):
    """A rule, settings that break it (None: left out), those that fix it, and words of the fix that names them."""

    rule: str
    bad: dict[str, str | None]
    good: dict[str, str]
    cure: str


INTERVAL = {"transaction.boundary": "interval", f"{OVERRIDE}transaction.timeout.ms": "60000"}
CASES = (
    Case("EOS100", {"file": None}, {}, "its validation names the setting that prevents it"),
    Case("EOS101", {}, {"exactly.once.support": "required"}, "set exactly.once.support=required: PUT"),
    Case("EOS102", {f"{OVERRIDE}transactional.id": "mine"}, {}, f"remove {OVERRIDE}transactional.id from the config"),
    Case("EOS102", {f"{OVERRIDE}enable.idempotence": "false"}, {}, f"remove {OVERRIDE}enable.idempotence"),
    Case("EOS103", {f"{OVERRIDE}acks": "1"}, {}, f"remove {OVERRIDE}acks from the config: PUT"),
    Case("EOS104", {f"{OVERRIDE}transaction.timeout.ms": "900001"}, {f"{OVERRIDE}transaction.timeout.ms": "900000"},
         f"lower {OVERRIDE}transaction.timeout.ms"),
    Case("EOS105", INTERVAL | {"transaction.boundary.interval.ms": "60000"},
         INTERVAL | {"transaction.boundary.interval.ms": "29999"},
         "set transaction.boundary.interval.ms well below 60000"),
)  # fmt: skip


@pytest.fixture
def rest(connect_sandbox: Sandbox) -> Rest:
    return Rest(connect_sandbox.connect_url(1))


@pytest.fixture
def doctor(connect_sandbox: Sandbox, eosctl: Eosctl) -> Doctor:
    return Doctor(eosctl, tuple(arguments(connect_sandbox)))


@pytest.fixture
def names(rest: Rest, fresh_name: FreshName) -> Iterator[list[str]]:
    """Names for connectors, which are deleted afterwards."""
    made = [fresh_name(case.rule.lower()) for case in CASES]
    yield made
    for name in made:
        rest.delete(name)


@pytest.mark.proves("EOS101", "EOS102", "EOS103", "EOS104", "EOS105", "EOS108")
def test_a_wrong_setting_is_found_and_the_printed_change_corrects_it(
    rest: Rest, doctor: Doctor, names: list[str], tmp_path: Path
) -> None:
    for name, case in zip(names, CASES, strict=True):
        config = file_source(tmp_path, name) | case.bad
        rest.put(name, {key: value for key, value in config.items() if value is not None})
    conditions = [(case.rule, name) for name, case in zip(names, CASES, strict=True)]
    failing = [name for name, case in zip(names, CASES, strict=True) if case.rule in {"EOS103", "EOS104"}]
    failed = [("EOS108", name) for name in failing]
    found = doctor.sees(*conditions, *failed)
    for condition, case in zip(conditions, CASES, strict=True):
        assert case.cure in found[condition]["cure"], condition
    for name, case in zip(names, CASES, strict=True):
        rest.put(name, file_source(tmp_path, name) | case.good)
    for condition in failed:
        rest.restart_as_printed(found[condition]["cure"])
    doctor.sees_no_more(*conditions, *failed)


@pytest.mark.variation
@pytest.mark.proves("EOS100", "EOS106")
def test_a_mirror_that_reads_uncommitted_is_found_until_it_reads_committed(
    connect_sandbox: Sandbox, doctor: Doctor, fresh_name: FreshName
) -> None:
    worker = Worker(connect_sandbox)
    mirror = Mirror(worker, fresh_name("mirrored"))
    mirror.configure(PARTITIONS)
    try:
        condition = ("EOS106", mirror.name)
        cure = doctor.sees(condition, ("EOS100", mirror.name))[condition]["cure"]
        assert "set source.consumer.isolation.level=read_committed" in cure
        mirror.configure(PARTITIONS, **{"source.consumer.isolation.level": "read_committed"})
        doctor.sees_no_more(condition, ("EOS100", mirror.name))
    finally:
        mirror.delete()
        worker.close()


@pytest.mark.variation
@pytest.mark.proves("EOS114")
def test_names_of_which_one_begins_the_other_are_reported(
    rest: Rest, doctor: Doctor, fresh_name: FreshName, tmp_path: Path
) -> None:
    name = fresh_name("begins")
    for each in (name, f"{name}-more"):
        rest.put(each, file_source(tmp_path, each))
    try:
        assert "so that no name is a prefix of another" in doctor.sees(("EOS114", name))["EOS114", name]["cure"]
        rest.delete(f"{name}-more")
        rest.put(f"more-{name}", file_source(tmp_path, name))
        doctor.sees_no_more(("EOS114", name))
    finally:
        for each in (name, f"{name}-more", f"more-{name}"):
            rest.delete(each)


@pytest.mark.variation
@pytest.mark.proves("EOS073", "EOS084")
def test_leftovers_of_a_deleted_connector_are_reported_without_a_next_step(
    rest: Rest, doctor: Doctor, fresh_name: FreshName, tmp_path: Path
) -> None:
    name = fresh_name("deleted")
    rest.put(name, file_source(tmp_path, name))
    rest.await_tasks(name)
    eventually(lambda: rest.ask("GET", f"/connectors/{name}/offsets")["offsets"], "its offset is committed")
    rest.delete(name)
    found = doctor.sees(("EOS073", name), ("EOS084", name))
    assert {found[rule, name]["severity"] for rule in ("EOS073", "EOS084")} == {"info"}
    assert all(found[rule, name]["cure"].startswith("nothing") for rule in ("EOS073", "EOS084"))
    # Of the two cures of offsets that remain: create it STOPPED and reset it.
    rest.ask("POST", "/connectors", {"name": name, "config": file_source(tmp_path, name), "initial_state": "STOPPED"})
    doctor.sees_no_more(("EOS073", name), ("EOS084", name))
    rest.ask("DELETE", f"/connectors/{name}/offsets")
    rest.delete(name)
    doctor.sees_no_more(("EOS084", name))


@pytest.mark.variation
@pytest.mark.proves("EOS089")
def test_offsets_that_rest_cannot_delete_are_deleted_by_the_printed_fix(
    connect_sandbox: Sandbox,
    rest: Rest,
    doctor: Doctor,
    eosctl: Eosctl,
    fresh_name: FreshName,
    tmp_path: Path,
) -> None:
    """The connector is not found any more when it has its offsets in the workers' topic again."""
    name, file = fresh_name("undeletable"), tmp_path / "offsets.json"
    rest.put(name, file_source(tmp_path, name, **{"offsets.storage.topic": f"{name}-own"}))
    try:
        rest.await_tasks(name)
        eventually(lambda: rest.ask("GET", f"/connectors/{name}/offsets")["offsets"], "its offset is committed")
        cure = doctor.sees(("EOS089", name))["EOS089", name]["cure"]
        rest.ask("PUT", f"/connectors/{name}/stop")
        rest.await_tasks(name, 0)
        with pytest.raises(httpx.ReadTimeout):
            httpx.delete(f"{rest.url}/connectors/{name}/offsets", timeout=3, trust_env=False, verify=False)
        assert all(command in cure for command in ("eosctl offsets export", "eosctl offsets restore"))
        where = ("-b", connect_sandbox.bootstrap_servers, "--group-id", "connect-cluster", "--connect-url", rest.url)
        before = rest.ask("GET", f"/connectors/{name}/offsets")["offsets"]
        file.write_text(json.dumps({"offsets": [each | {"offset": None} for each in before]}))
        reset = eosctl("offsets", "restore", file, "--connector", name, *where, "--yes")
        assert reset.exit_code == 0, reset.stderr
        assert rest.ask("GET", f"/connectors/{name}/offsets")["offsets"] == []
        moved = eosctl("migrate-offsets", "--connector", name, "--to-worker-topic", "--set-config", *where, "--yes")
        assert moved.exit_code == 0, moved.stderr
        doctor.sees_no_more(("EOS089", name))
    finally:
        rest.delete(name)
