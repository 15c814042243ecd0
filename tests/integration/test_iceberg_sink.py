"""Iceberg's real sink: its two groups, its IDs, its ACLs, and what `doctor` says of its coordinator."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from eosctl.model.acl_plan import PlannedBinding
from eosctl.model.acls import Operation
from eosctl.model.client_roles import ClientRole, ConnectorConfig
from eosctl.model.workers import SourceSupport
from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faults.quotas import quota
from tests.faulty_sandbox import Sandbox
from tests.integration.acl_broker import AclBroker
from tests.integration.acl_site import PATIENT_S, USERS, Site
from tests.integration.connect import Worker
from tests.integration.doctoring import Doctor, arguments
from tests.integration.iceberg import content, plugin, produce, records, settings
from tests.integration.producers import create_topic
from tests.kafka_versions import spec_of
from tests.shared_sandboxes import SharedSandboxes
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.timeout(1200)]
PATIENCE_S = 300
TIMEOUT = "iceberg.kafka.transaction.timeout.ms"
Asked = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def sandbox(shared_sandboxes: SharedSandboxes, kafka_version: str) -> Sandbox:
    return shared_sandboxes.of(spec_of(kafka_version, workers=1, deadline_s=240, plugins=(plugin(),)))


@pytest.fixture
def worker(sandbox: Sandbox) -> Iterator[Worker]:
    found = Worker(sandbox)
    yield found
    found.close()


@pytest.fixture
def asked(sandbox: Sandbox, eosctl: Eosctl) -> Asked:
    def ask(*command: str) -> dict[str, Any]:
        ran = eosctl(*command, "-b", sandbox.bootstrap_servers, "--connect-url", sandbox.connect_url(1), "-o", "json")
        assert ran.exit_code in {0, 1, 3}, ran.stderr
        return dict(json.loads(ran.stdout)["data"])

    return ask


def in_the_table(warehouse: Path, name: str, count: int) -> None:
    eventually(lambda: records(warehouse, name) == count, f"{count} records in the table", deadline_s=PATIENCE_S)


@pytest.mark.proves("EOS173")
@pytest.mark.proves("EOS174")
@pytest.mark.proves("EOS175")
def test_a_sink_that_runs_is_stopped_loses_events_and_is_told_where_to_begin(
    sandbox: Sandbox, worker: Worker, asked: Asked, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    servers, name, topic = sandbox.bootstrap_servers, fresh_name("ice"), fresh_name("orders")
    control, group = f"{name}-control", f"connect-{name}"
    create_topic(servers, topic, 2)
    create_topic(servers, control)
    doctor = Doctor(eosctl, tuple(arguments(sandbox)))
    config = settings(name, topic, tmp_path)
    produce(sandbox, topic, 20)
    worker.ask("PUT", f"/connectors/{name}/config", config)
    in_the_table(tmp_path, name, 20)
    committed = lambda: doctor.rules() & {"EOS173", "EOS174", "EOS175"}  # noqa: E731
    eventually(lambda: not committed(), "an offset of the coordinator", deadline_s=PATIENCE_S)

    shown = asked("connector", "show", name)["connector"]
    assert (shown["control_group"]["group_id"], shown["control_group"]["coordinators"]) == (f"{group}-coord", 1)
    assert shown["output_words"] == f"group {group} reads {topic} (2 partitions): lag 0"
    owners = {row["transactional_id"]: row["owner"] for row in asked("transactions", "list")["transactions"]}
    own = {each: owner for each, owner in owners.items() if owner.endswith(f" of connector {name}")}
    assert {each.partition("-txn-")[0] for each in own} == {"worker", "coordinator"}

    second = Consumer({"bootstrap.servers": servers, "group.id": f"{group}-coord", "log_level": 0})
    second.subscribe([control])
    eventually(lambda: second.poll(1) is not None or "EOS173" in doctor.rules(), deadline_s=PATIENCE_S)
    found = doctor.sees(("EOS173", name), deadline_s=PATIENCE_S)
    assert found["EOS173", name]["evidence"]["coordinators"] == 2
    second.close()
    eventually(lambda: "EOS173" not in doctor.rules(), "one coordinator", deadline_s=PATIENCE_S)

    if sandbox.spec.kafka_version >= "3.6":
        worker.stop(name)
    produce(sandbox, topic, 7)
    lag = asked("transactions", "lso", "--group", group)["partitions"]
    assert sum(row["lag_records"]["readable"] for row in lag) == 7
    history = asked("transactions", "history", "--prefix", "worker-txn-")["epochs"]
    assert sum(row["committed"] for row in history if row["transactional_id"] in own) > 0
    assert asked("transactions", "leftovers", "--prefix", "worker-txn-")["leftovers"] == []

    admin = AdminClient({"bootstrap.servers": servers})
    end = second_end(servers, control)
    admin.delete_records([TopicPartition(control, 0, end - 1)])[TopicPartition(control, 0)].result()
    found = doctor.sees(("EOS174", name), ("EOS175", name), deadline_s=PATIENCE_S)
    assert found["EOS174", name]["severity"] == "warning", "no coordinator is at work"
    assert found["EOS175", name]["evidence"]["committed"] < end - 1
    worker.ask("PUT", f"/connectors/{name}/config", {**config, "iceberg.kafka.auto.offset.reset": "earliest"})
    eventually(lambda: "EOS175" not in doctor.rules(), "the setting", deadline_s=PATIENCE_S)
    worker.ask("PUT", f"/connectors/{name}/resume")
    in_the_table(tmp_path, name, 27)
    eventually(lambda: not committed(), "an offset of the coordinator", deadline_s=PATIENCE_S)
    worker.ask("DELETE", f"/connectors/{name}")


def read_committed(servers: str, group: str, places: list[dict[str, Any]]) -> int:
    """The number of records that a read_committed consumer gets from a group's committed offsets on."""
    settings = {"group.id": f"{group}-reader", "isolation.level": "read_committed", "enable.partition.eof": True}
    reader = Consumer({**settings, "bootstrap.servers": servers, "enable.auto.commit": False, "log_level": 0})
    reader.assign([TopicPartition(each["topic"], each["partition"], each["committed_offset"]) for each in places])
    count, left = 0, len(places)
    while left:
        message = reader.poll(60)
        assert message is not None
        left -= message.error() is not None
        count += message.error() is None
    reader.close()
    return count


class Killed(NamedTuple):
    """A sink whose worker was killed, asked about without a worker."""

    servers: str
    name: str
    eosctl: Eosctl

    def asked(self, *command: str) -> dict[str, Any]:
        ran = self.eosctl("transactions", *command, "-b", self.servers, "-o", "json")
        assert ran.exit_code in {0, 1, 3}, ran.stderr
        return dict(json.loads(ran.stdout)["data"])

    def left(self) -> dict[str, str]:
        """The owners of the transactions that are open, by ID, in the only Connect cluster."""
        found = self.asked("leftovers", "--prefix", f"{self.name}-x-")
        return {row["transactional_id"]: row["owner"] for row in found["leftovers"]}

    def fenced(self, names: Collection[str]) -> Counter[str]:
        """How many producers of each ID were fenced: a rebalance makes a task's channels again, too."""
        rows = self.asked("history", "--prefix", f"{self.name}-x-")["epochs"]
        fenced = (row["transactional_id"] for row in rows if row["ended_by"] == "fenced")
        return Counter(each for each in fenced if each in names)

    def lags(self, group: str) -> tuple[int, int]:
        """The records that the group can still get, by eosctl and by a consumer. Its open commit has none."""
        rows = self.asked("lso", "--group", group)["partitions"]
        rows = [row for row in rows if row["topic"] != "__consumer_offsets"]
        return sum(row["lag_records"]["readable"] for row in rows), read_committed(self.servers, group, rows)

    def holders(self) -> set[str]:
        """The IDs that hold readers of the control topic back."""
        rows = self.asked("lso", "--topic", f"{self.name}-control")["partitions"]
        return {holder["transactional_id"] for row in rows for holder in row["holders"]}


@pytest.mark.parametrize("role", ["coordinator", "worker"])
def test_a_killed_worker_s_transaction_stops_the_sink_until_it_is_fenced_and_no_row_is_lost_or_doubled(
    role: str, sandbox: Sandbox, worker: Worker, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
) -> None:
    servers, name, topic = sandbox.bootstrap_servers, fresh_name("ice"), fresh_name("orders")
    groups = (f"connect-{name}", f"connect-{name}-coord")
    create_topic(servers, topic, 2)
    create_topic(servers, f"{name}-control")
    lasting = {"iceberg.coordinator.transactional.prefix": f"{name}-x-", TIMEOUT: "600000"}
    produce(sandbox, topic, 20)
    worker.ask("PUT", f"/connectors/{name}/config", settings(name, topic, tmp_path, **lasting))
    in_the_table(tmp_path, name, 20)
    killed = Killed(servers, name, eosctl)
    produce(sandbox, topic, 5, first=20)
    with quota(servers, None, producer_byte_rate=30):  # a producer that has written waits before it may commit
        is_open = lambda: any(f"-{role}-txn-" in each for each in killed.holders())  # noqa: E731
        eventually(is_open, f"an open transaction of the {role}", deadline_s=PATIENCE_S)
        sandbox.kill_worker(1)
    left, holders = killed.left(), killed.holders()
    fenced = killed.fenced(left)
    ongoing = {row["transactional_id"] for row in killed.asked("list", "--state", "Ongoing")["transactions"]}
    lags = [killed.lags(group) for group in groups]
    sandbox.start_worker(1)
    assert left.keys() == {each for each in ongoing if each.startswith(f"{name}-x-")}
    assert holders <= left.keys(), "a transaction may be open and have written nothing"
    assert any(f"-{role}-txn-" in each for each in left)
    assert {owner.partition(", task ")[2][1:] for owner in left.values()} == {f" of connector {name}"}, left
    assert all(readable == read for readable, read in lags), lags
    assert lags[0][0] > 0

    # Its tasks wait for the control topic, or for offsets that the open transaction commits (3.9.2): then it has no
    # coordinator yet.
    worker.wait_for_tasks(name, 2, deadline_s=PATIENCE_S)
    assert holders <= killed.holders(), "the next start has other IDs"
    assert records(tmp_path, name) < 25
    doctor, waits = Doctor(eosctl, tuple(arguments(sandbox))), [("EOS122", each) for each in holders]
    seen = doctor.sees(*waits, deadline_s=PATIENCE_S)
    told = [(seen[each]["severity"], seen[each]["evidence"]["stopped_sinks"]) for each in waits]
    assert told == [("warning", [name])] * len(waits)
    for each in left:
        done = killed.asked("leftovers", "--prefix", each, "--fence-rest", "--watch-client", "0.1", "--yes")["results"]
        assert [result["outcome"] for result in done] == ["done"]
    assert killed.fenced(left) == fenced + Counter(left.keys())
    in_the_table(tmp_path, name, 25)
    found = content(sandbox, tmp_path, name)
    assert found.rows == list(range(25))
    assert len(found.files) == len(set(found.files))
    worker.ask("DELETE", f"/connectors/{name}")


def second_end(servers: str, topic: str) -> int:
    reader = Consumer({"bootstrap.servers": servers, "group.id": topic, "log_level": 0})
    end: int = reader.get_watermark_offsets(TopicPartition(topic, 0), 30)[1]
    reader.close()
    return end


def of_the_sink(found: tuple[PlannedBinding, ...], name: str) -> list[PlannedBinding]:
    """The required bindings that only the clients need which the sink makes itself."""
    roles = {ClientRole.ICEBERG}
    return [
        each
        for each in found
        if not each.is_optional and {reason.role for reason in each.reasons if reason.connector == name} == roles
    ]


def test_a_sink_commits_with_exactly_the_planned_acls_and_not_without_one(
    shared_sandboxes: SharedSandboxes, kafka_version: str, fresh_name: FreshName, tmp_path: Path
) -> None:
    """All sinks run at once in one worker: the whole one, and one for each binding, which lacks it."""
    sandbox = shared_sandboxes.of(spec_of(kafka_version, users=USERS, deadline_s=240, plugins=(plugin(),)))
    with AclBroker(sandbox) as acls:
        site = Site(sandbox, acls, fresh_name("iceacl"), SourceSupport.ENABLED, tmp_path, patience_s=PATIENT_S * 5)

        def sink(name: str) -> ConnectorConfig:
            names = {
                "iceberg.coordinator.transactional.prefix": f"{name}-",
                "iceberg.control.group-id-prefix": f"{name}-cg-",
                "tasks.max": "1",
            }
            return site.connector(name, **{**settings(name, f"{name}-in", tmp_path), **names})

        def planned(name: str) -> tuple[PlannedBinding, ...]:
            known = {f"{name}-in": True, f"{name}-control": True}
            return site.plan([sink(name)], known).bindings

        whole = f"{site.name}-whole"
        required = of_the_sink(planned(whole), whole)
        assert [str(each.binding.operation) for each in required].count("Read") == 5
        assert len(required) == 8
        without = {f"{site.name}-without-{number}-x": number for number in range(len(required))}
        granted = [each.binding for each in planned(whole)]
        for name, number in without.items():
            lacking = of_the_sink(planned(name), name)[number].binding
            granted += [each.binding for each in planned(name) if each.binding != lacking]
        site.allow(dict.fromkeys(granted))
        for name in (whole, *without):
            create_topic(sandbox.bootstrap_servers, f"{name}-in")
            create_topic(sandbox.bootstrap_servers, f"{name}-control")
            produce(sandbox, f"{name}-in", 3)
        try:
            site.start_worker()
            for name in (*without, whole):
                site.put("create", sink(name))
            in_the_table(tmp_path, whole, 3)
            produce(sandbox, f"{whole}-in", 4)
            in_the_table(tmp_path, whole, 7)
        finally:
            site.stop_worker()
    committed = {str(required[number].binding) for name, number in without.items() if records(tmp_path, name)}
    assert committed == set(), "these are not needed"
    assert Operation.CREATE not in {each.binding.operation for each in required}
