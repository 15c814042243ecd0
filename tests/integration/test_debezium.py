"""Debezium's PostgreSQL connector on real workers: what its readers have, and whether audit says the same.

Truth is counted in PostgreSQL and in the topics, by primary key and revision.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import Audited, audit
from tests.integration.debezium import SLOWLY, Table, debezium_spec
from tests.integration.doctoring import Doctor, arguments
from tests.integration.moves import ALTERS_OFFSETS, SETTING, STOPPABLE, Eosctl, Home, Place, flowing, move
from tests.integration.pages import Howto, shell
from tests.integration.producers import create_topic
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.variation, pytest.mark.matrix]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "run-debezium.md"
GROUP = {
    "group.id": "moved",
    "config.storage.topic": "moved-configs",
    "offset.storage.topic": "moved-offsets",
    "status.storage.topic": "moved-status",
}
HEARTBEATS = {"heartbeat.interval.ms": "500"}
VARIANTS = {
    "plain": {},
    "heartbeats": HEARTBEATS,
    "transaction-metadata": {"provide.transaction.metadata": "true"},
    "small-batches": {"max.batch.size": "10", "max.queue.size": "40"},
    "interval": {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "700"},
}
MakeTable = Callable[..., Table]


@pytest.fixture(scope="module")
def site(shared_sandboxes: SharedSandboxes, kafka_version: str) -> Sandbox:
    return shared_sandboxes.of(debezium_spec(kafka_version))


@pytest.fixture(scope="module")
def abroad(kafka_version: str) -> Iterator[Sandbox]:
    """Another Kafka cluster with a worker of its own; the database stays."""
    with Sandbox(replace(debezium_spec(kafka_version), postgres=False)) as started:
        yield started


@pytest.fixture
def make_table(
    site: Sandbox, fresh_name: FreshName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeTable]:
    """Tables with their connectors, created and dropped; no other test meets them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made: list[Table] = []

    def make(rows: int = 100, *, starts: bool = True, **more: str) -> Table:
        made.append(Table(site, Home(site), fresh_name("shop"), rows, **more))
        if starts:
            made[-1].start()
        return made[-1]

    yield make
    for table in made:
        with suppress(AssertionError):
            table.drop()


def audited(eosctl: Eosctl, table: Table, *more: str) -> Audited:
    """The audit of the connector where it is now."""
    home = table.place.home
    internal = ("--config-topic", home.config_topic, "--worker-offsets-topic", home.offsets_topic)
    return audit(eosctl, home.servers, home.url, table.place.name, *internal, *more, group_id=home.group_id)


def kill(table: Table) -> None:
    """SIGKILL for the worker, which is started again at once."""
    table.source.kill_worker(1)
    table.source.start_worker(1)


def check_held(eosctl: Eosctl, table: Table) -> None:
    """Readers have all once, and audit says so."""
    table.check_exactly_once()
    found = audited(eosctl, table)
    assert (found.verdict, found.findings) == ("held", {}), found.reasons


def test_doctor_finds_nothing_about_a_connector_whose_table_is_written_to(
    make_table: MakeTable, site: Sandbox, eosctl: Eosctl
):
    table = make_table()
    doctor = Doctor(eosctl, tuple(arguments(site)))
    with flowing(table):
        table.await_streaming()
        found = {key: each for key, each in doctor.found().items() if each["severity"] != "info"}
    assert {key: each["message"] for key, each in found.items() if table.place.name in str(each)} == {}


@pytest.mark.parametrize("variant", VARIANTS)
def test_snapshot_streaming_and_a_killed_worker_have_held(make_table: MakeTable, eosctl: Eosctl, variant: str):
    table = make_table(rows=1000, **VARIANTS[variant])
    with flowing(table):
        table.await_streaming()
        table.updates = True
        eventually(lambda: any(each.row[1] for each in table.events()), "an update")
        kill(table)
        before = len(table.events())
        eventually(lambda: len(table.events()) > before + 50, "changes after the kill")
    check_held(eosctl, table)


@pytest.mark.parametrize("variant", ["plain", "heartbeats", "transaction-metadata", "small-batches"])
def test_a_snapshot_that_was_interrupted_and_begun_again_is_reported_as_that(
    make_table: MakeTable, eosctl: Eosctl, variant: str
):
    table = make_table(rows=0, starts=False, **VARIANTS[variant])  # one that had begun would go on, and copy nothing
    table.write(2000)
    name = f"public.{table.table}"
    table.configure(
        **{
            "max.batch.size": "10",
            "max.queue.size": "40",
            "snapshot.fetch.size": "10",  # else all rows arrive at once, when the last has been slept for
            "snapshot.select.statement.overrides": name,
            f"snapshot.select.statement.overrides.{name}": SLOWLY.format(table=table.table),
        }
    )
    eventually(lambda: len(table.events()) > 200, "the snapshot to be in progress")
    table.source.kill_worker(1)
    table.execute(f"DELETE FROM {table.table} WHERE id = 1")
    table.source.start_worker(1)
    table.await_streaming()
    truth = table.truth()
    again = {each.lsn for each in table.events() if each.operation == "r"}
    assert [each.operation for each in table.events() if each.row[0] == 1] == ["r"], "nothing deletes the row"
    assert truth.lost_count == 0
    assert truth.doubled_count > 100
    assert len(again) == 2, "moments of the snapshots"
    found = audited(eosctl, table)
    names = {each["name"] for each in found.data["findings"]}
    assert (found.verdict, "snapshot-begun-again" in names, found.findings.keys() - {"snapshot-begun-again"}) == (
        "held", True, set(),
    ), found.data["findings"]  # fmt: skip


@pytest.mark.parametrize("beats", [0, 1, 5])
def test_heartbeats_after_a_restart_have_held(make_table: MakeTable, eosctl: Eosctl, beats: int):
    """The first one repeats the offset that the session before committed last, which a heartbeat may have done, too."""
    table = make_table(**{"heartbeat.interval.ms": "1500"})
    table.await_streaming()
    table.check_exactly_once()
    heartbeats = f"__debezium-heartbeat.{table.table}"
    ends = table.heartbeats
    eventually(lambda: ends() > 2, "heartbeats")
    table.request("stop")
    before = ends()
    table.request("resume")
    eventually(lambda: table.states() == ["RUNNING"], "the task to run")
    eventually(lambda: ends() >= before + beats, f"{beats} more in {heartbeats}")
    # Workers before 3.5 had it created anew: before its first record no topic of its is known.
    known = table.place.home.version >= STOPPABLE
    possible = {"held"} if known or ends() > before else {"held", "cannot-tell"}
    found = audited(eosctl, table)
    possible &= {"held"} if known or ends() > before else {"cannot-tell"}
    assert (found.verdict in possible, found.findings) == (True, {}), found.reasons
    check_held(eosctl, table)


@pytest.mark.parametrize("variant", ["plain", "heartbeats"])
def test_moves_to_an_own_topic_and_back_and_renames_have_held(make_table: MakeTable, eosctl: Eosctl, variant: str):
    table = make_table(**VARIANTS[variant])
    table.await_streaming()

    def moved(place: Place, *flags: str) -> None:
        move(eosctl, [table], [place], "--connector", table.place.name, *flags)
        check_held(eosctl, table)

    own = f"{table.table}-own"
    moved(table.moved(own_topic=own), "--to-topic", own)
    moved(Place(table.place.home, table.place.name), "--to-worker-topic", "--merge", "keep-source")
    moved(table.moved(name=f"{table.place.name}-2"), "--rename-to", f"{table.place.name}-2")


def test_a_move_to_another_group_has_held(make_table: MakeTable, eosctl: Eosctl, site: Sandbox):
    site.start_worker(2, GROUP)
    beside = Home(site, 2, "moved", "moved-configs", "moved-offsets")
    table = make_table()
    table.await_streaming()
    place = Place(beside, table.place.name, "moved-offsets")
    flags = ("--to-group-id", "moved", "--to-topic", "moved-offsets")
    move(eosctl, [table], [place], "--connector", table.place.name, *flags)
    table.check_exactly_once()
    assert audited(eosctl, table).verdict == "cannot-tell"  # whose data without offsets in this topic were, is not told
    found = audited(eosctl, table, "--offsets-topic", "connect-offsets")
    assert (found.verdict, found.findings) == ("held", {}), found.reasons
    table.drop()
    site.stop_worker(2)


@pytest.mark.parametrize("variant", ["plain", "heartbeats", "transaction-metadata"])
def test_a_move_to_another_kafka_cluster_under_load_has_held_in_both(
    make_table: MakeTable, eosctl: Eosctl, abroad: Sandbox, variant: str
):
    """Each change is in one of the two topics, and those in the old one come before those in the new one."""
    table, there = make_table(rows=1000, **VARIANTS[variant]), Home(abroad)
    table.await_streaming()
    table.updates = True
    create_topic(there.servers, table.topic)
    before, place = audited(eosctl, table), Place(there, table.place.name, "connect-offsets")
    flags = ("--to-bootstrap-server", there.servers, "--to-group-id", there.group_id, "--to-topic", "connect-offsets")
    move(eosctl, [table], [place], "--connector", table.place.name, *flags)  # holds both topics against the table
    old, new = (table.events_in(each) for each in (table.source.bootstrap_servers, there.servers))
    assert len(old) > 1000 < len(old) + len(new) == len({(each.row, each.lsn) for each in (*old, *new)})
    assert {each.operation for each in new} == {"c", "u"}, "no second snapshot"
    assert max(each.lsn for each in old) < min(each.lsn for each in new)
    for found in (before, audited(eosctl, table)):
        assert (found.verdict, found.findings) == ("held", {}), found.reasons


@pytest.mark.parametrize("variant", ["plain", "heartbeats"])
def test_an_empty_new_offsets_topic_doubles_all_rows_and_is_broken(make_table: MakeTable, eosctl: Eosctl, variant: str):
    table = make_table(rows=500, **VARIANTS[variant])
    table.await_streaming()
    table.request("stop")
    table.write(10)
    table.configure(**{SETTING: f"{table.table}-own"})
    table.request("resume")
    truth = table.truth()
    assert truth.lost_count == 0
    assert truth.doubled_count >= 500
    found = audited(eosctl, table)
    assert (found.verdict, {*found.findings}) == ("broken", {"offset-not-taken-over"}), found.reasons


def test_an_older_offset_repeats_only_changes_that_the_slot_has_not_confirmed(
    make_table: MakeTable, eosctl: Eosctl, tmp_path: Path
):
    """The server streams from confirmed_flush_lsn, whatever the offset says."""
    table = make_table()
    table.await_streaming()
    table.request("stop")
    older = table.offset()
    table.request("resume")
    table.write(500)
    table.check_exactly_once()
    slot = f"FROM pg_replication_slots WHERE slot_name = '{table.table}'"
    reached = table.events()[-2].lsn
    eventually(
        lambda: table.execute(f"SELECT 1 {slot} AND confirmed_flush_lsn > '0/0'::pg_lsn + {reached}"), "the slot"
    )
    table.request("stop")
    if table.place.home.version >= ALTERS_OFFSETS:
        table.set_offset(older)
    else:
        file = tmp_path / f"{table.place.name}.json"
        file.write_text(json.dumps({"offsets": [{"partition": {"server": table.table}, "offset": dict(older)}]}))
        at = ("-b", table.place.home.servers, "--group-id", "connect-cluster", "--yes")
        ran = eosctl("offsets", "restore", file, "--connector", table.place.name, *at)
        assert ran.exit_code == 0, ran.stderr
    table.request("resume")
    truth = table.truth()
    assert (truth.lost_count, truth.doubled_count < 10) == (0, True)
    found = audited(eosctl, table)
    if table.place.home.version < ALTERS_OFFSETS:  # nothing shows that somebody meant it to go back
        assert found.verdict == "broken", found.reasons
        return
    assert (found.verdict, {*found.findings}) == ("altered", {"offsets-altered"}), found.reasons
    (judged,) = [each for each in found.data["connectors"] if each["name"] == found.name]
    repeated = judged["repeated_by_change"]
    assert repeated["at_least"] <= truth.doubled_count <= repeated["at_most"]


def test_without_snapshots_rows_of_before_are_skipped_and_a_forgotten_offset_is_about_that_of_the_slot(
    make_table: MakeTable, eosctl: Eosctl
):
    """The slot is told later how far it was read: the last rows may come twice."""
    table = make_table(rows=500, **{"snapshot.mode": "no_data"})
    table.await_streaming()
    lost = table.truth().lost_count
    assert lost >= 500
    table.request("stop")
    table.write(10)
    table.configure(**{SETTING: f"{table.table}-own"})
    table.request("resume")
    truth = table.truth()
    assert truth.lost_count == lost
    assert truth.doubled_count < 20
    found = audited(eosctl, table)
    assert (found.verdict, {*found.findings}) == ("broken", {"offset-not-taken-over"}), found.reasons


def test_transactions_that_lie_side_by_side_in_the_log_have_held(make_table: MakeTable, eosctl: Eosctl):
    """The later one to commit began before the other: its events have lower LSNs, and come last."""
    table = make_table(**VARIANTS["small-batches"])
    table.await_streaming()
    for _ in range(20):
        table.write_side_by_side(10)
    kill(table)
    for _ in range(20):
        table.write_side_by_side(10)
    check_held(eosctl, table)
    commits = [each.lsn for each in table.events() if each.operation == "c"]
    assert commits != sorted(commits)


def test_the_page_renames_a_connector_creates_one_and_asks_the_slot(
    make_table: MakeTable, tmp_path: Path, columns: str
):
    table = make_table()
    table.await_streaming()
    snapshot = sum(each.operation == "r" for each in table.events())
    home, name, database = table.place.home, table.place.name, conninfo_to_dict(table.source.postgresql.url)
    names = {
        "broker:9092": home.servers,
        "http://worker:8083": home.url,
        "--connector shop": f"--connector {name}",
        "--rename-to shop-2": f"--rename-to {name}-renamed",
        "SHOP_PASSWORD=…": f"SHOP_PASSWORD={database['password']}",
        "reader:": f"{database['user']}:",
        "@db/shop": f"@{database['host']}:{database['port']}/{database['dbname']}",
    }
    with shell(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": columns}) as bash:
        page = Howto(PAGE, bash, names)
        page.line("eosctl sandbox up --postgres")  # the sandbox of these tests is made of the same parts
        page.follow("eosctl migrate-offsets", "--yes")
        home.delete(name)
        table.place = table.moved(name=f"{name}-renamed")
        table.check_exactly_once()
        where = "-b broker:9092 --group-id connect-cluster --connect-url http://worker:8083"
        page.type(f"eosctl offsets export exported {where} && cp exported/{name}-renamed.json begin.json")
        home.delete(f"{name}-renamed")
        (tmp_path / "shop.json").write_text(json.dumps({"name": f"{name}-begun", "config": table.config(home)}))
        page.follow("eosctl offsets create-connector", "--yes")
        table.place = table.moved(name=f"{name}-begun")
        table.check_exactly_once()
        assert sum(each.operation == "r" for each in table.events()) == snapshot, "no second snapshot"
        page.call(**{"--connector shop": f"--connector {name}-begun"})
        (tmp_path / "yesterday.json").write_bytes((tmp_path / "begin.json").read_bytes())
        table.request("stop")
        page.follow("export SHOP_PASSWORD", codes=(0, 8))
        assert page.left == []
        table.request("resume")
        table.check_exactly_once()
