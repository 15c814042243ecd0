"""Two Connect clusters on one Kafka, with connectors of equal names: no answer about one is made of the other."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from eosctl.sandbox.properties import SandboxSpec
from tests.commands.conftest import Eosctl, Typed
from tests.faulty_sandbox import Sandbox
from tests.integration.coordinators import describe
from tests.integration.doctoring import Rest, file_source
from tests.integration.producers import create_topic
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("own_state")]
TWO = {"group.id": "two", **{f"{role}.storage.topic": f"two-{role}" for role in ("config", "offset", "status")}}
TOPICS_OF_TWO = ("--config-topic", "two-config", "--worker-offsets-topic", "two-offset")
OFFSETS = "connect-offsets is not the offsets topic of Connect group two: transactional ID one-orders-0 writes to it"
CONFIGS = (
    "connect-configs is not the config topic of Connect group two: transactional ID connect-cluster-one writes to it"
)
PRINCIPALS = ("--principal", "worker=User:w", "--principal", "connector=User:c", "--phase", "enabled")


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Worker 1 is of group one, with the topics of Kafka's sample; worker 2 of group two, with others."""
    directory = tmp_path_factory.mktemp("lines")
    with Sandbox(SandboxSpec(group_id="one")) as started:
        started.start_worker(1, until_ready=False)
        started.start_worker(2, TWO)
        for number, topic in ((1, "of-one"), (2, "of-two")):
            create_topic(started.bootstrap_servers, topic)
            rest = Rest(started.connect_url(number))
            rest.put("orders", file_source(directory, "orders") | {"topic": topic})
            rest.await_tasks("orders")
        yield started


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("audit",), OFFSETS),
        (("offsets", "show"), OFFSETS),
        (("inspect-config",), CONFIGS),
        (("doctor", "--no-preflight"), CONFIGS),
        (("fence", "--connector", "orders", "--yes", "--force"), CONFIGS),
        (("acl-plan", *PRINCIPALS), CONFIGS),
        (("acl-plan", *PRINCIPALS, *TOPICS_OF_TWO), "the status topic of Connect group two is not known"),
        (("upgrade-check", "--to", "enabled"), CONFIGS),
        (("migrate-offsets", "--connector", "orders", "--rename-to", "b", "--force", "--yes"), CONFIGS),
        (("audit", "--worker-offsets-topic", "connect-offsets"), OFFSETS),
        (("inspect-config", "--config-topic", "connect-configs"), CONFIGS),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_the_other_clusters_topics_are_refused_by_name(
    clusters: Sandbox, eosctl: Eosctl, command: tuple[str, ...], said: str
) -> None:
    ran = eosctl(*command, "-b", clusters.bootstrap_servers, "--group-id", "two")
    assert ran.exit_code == 2, ran.stdout
    assert said in ran.stderr


def test_owners_of_transactions_are_not_taken_from_the_other_cluster(clusters: Sandbox, eosctl: Eosctl) -> None:
    ran = eosctl("transactions", "list", "-b", clusters.bootstrap_servers, "--group-id", "two", "-o", "json")
    rows = {each["transactional_id"]: each["owner"] for each in json.loads(ran.stdout)["data"]["transactions"]}
    assert "unknown" in rows["one-orders-0"]
    assert CONFIGS in ran.stdout


@pytest.mark.parametrize(("group_id", "topics"), [("one", ()), ("two", TOPICS_OF_TWO)])
def test_each_is_audited_by_its_own_topics(
    clusters: Sandbox, eosctl: Eosctl, group_id: str, topics: tuple[str, ...]
) -> None:
    """Group one has the topics that are read without a name, and nobody has to name them."""
    ran = eosctl("audit", "-b", clusters.bootstrap_servers, "--group-id", group_id, *topics, "-o", "json")
    data = json.loads(ran.stdout)["data"]
    assert [(each["name"], each["verdict"]) for each in data["connectors"]] == [("orders", "held")], ran.stdout
    assert {each for each in ("of-one", "of-two") if f'"{each}"' in ran.stdout} == {f"of-{group_id}"}


@pytest.mark.parametrize(
    "command",
    [
        ("audit",),
        ("offsets", "show"),
        ("fence", "--connector", "orders", "--yes"),
        ("acl-plan", *PRINCIPALS),
        ("migrate-offsets", "--connector", "orders", "--rename-to", "b", "--stop", "--yes"),
    ],
    ids=lambda value: value[0],
)
def test_a_worker_of_the_other_cluster_is_not_asked(
    clusters: Sandbox, eosctl: Eosctl, command: tuple[str, ...]
) -> None:
    other = clusters.connect_url(2)
    ran = eosctl(*command, "-b", clusters.bootstrap_servers, "--group-id", "one", "--connect-url", other)
    assert ran.exit_code == 2, ran.stdout
    assert f"{other}: it is a worker of Connect group two, not of one" in ran.stderr
    assert Rest(other).ask("GET", "/connectors/orders/status")["connector"]["state"] == "RUNNING"


def test_doctor_reports_a_worker_of_the_other_cluster(clusters: Sandbox, eosctl: Eosctl) -> None:
    """And not that tasks run nowhere (EOS024), as the other cluster's statuses would have it."""
    other = clusters.connect_url(2)
    ran = eosctl("doctor", "-b", clusters.bootstrap_servers, "--group-id", "one", "--connect-url", other, "-o", "json")
    found = {each["id"]: each for each in json.loads(ran.stdout)["data"]["findings"] if each["severity"] != "info"}
    assert set(found) == {"EOS022"}
    assert found["EOS022"]["message"] == "it is a worker of Connect group two, not of one"
    assert ran.exit_code == 1


def _moving(clusters: Sandbox, *more: str) -> tuple[str, ...]:
    """A move of the connector of group one to a topic of its own."""
    one = ("-b", clusters.bootstrap_servers, "--group-id", "one", "--connect-url", clusters.connect_url(1))
    return ("migrate-offsets", *one, "--connector", "orders", "--to-topic", "moved", "--stop", *more)


def test_a_target_worker_of_another_group_than_the_target_s_is_refused(clusters: Sandbox, eosctl: Eosctl) -> None:
    target = ("--to-group-id", "two", "--to-connect-url", clusters.connect_url(1), "--to-config-topic", "two-config")
    ran = eosctl(*_moving(clusters, *target, "--dry-run"))
    assert ran.exit_code == 2, ran.stdout
    assert f"{clusters.connect_url(1)}: it is a worker of Connect group one, not of two" in ran.stderr


def test_a_plan_is_not_applied_with_a_worker_of_another_group(
    clusters: Sandbox, eosctl: Eosctl, tmp_path: Path
) -> None:
    plan, other = tmp_path / "move.plan", clusters.connect_url(2)
    written = eosctl(*_moving(clusters, "--plan-file", str(plan)))
    assert written.exit_code == 0, written.stderr
    for flag in ("--yes", "--dry-run"):
        ran = eosctl("apply", str(plan), "-b", clusters.bootstrap_servers, "--connect-url", other, flag)
        assert ran.exit_code == 2, ran.stdout
        assert f"{other}: it is a worker of Connect group two, not of one" in ran.stderr
    assert Rest(other).ask("GET", "/connectors/orders/status")["connector"]["state"] == "RUNNING"


@pytest.mark.parametrize(
    "command",
    [
        ("doctor",),
        ("inspect-config",),
        ("offsets", "show"),
        ("transactions", "list"),
        ("timeline",),
        ("acl-plan", *PRINCIPALS),
        ("upgrade-check", "--to", "enabled"),
    ],
    ids=lambda value: value[0],
)
def test_a_snapshot_answers_for_its_own_group_alone(
    clusters: Sandbox, eosctl: Eosctl, saved: Path, command: tuple[str, ...]
) -> None:
    ran = eosctl(*command, "--snapshot", saved, "--group-id", "two")
    assert (ran.exit_code, ran.stdout) == (2, ""), ran.stderr
    assert f"{saved} is a snapshot of Connect group one, not of two" in ran.stderr


@pytest.fixture(scope="module")
def saved(clusters: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of group one."""
    file = tmp_path_factory.mktemp("saved") / "one.snapshot"
    given = ("-b", clusters.bootstrap_servers, "--group-id", "one", "--connect-url", clusters.connect_url(1))
    ran = Typed().run("snapshot", "save", file, *given)
    assert ran.exit_code == 0, ran.stderr
    return file


@pytest.mark.parametrize(
    "command",
    [
        ("fence", "--connector", "orders", "--force"),
        ("fence", "--all-connectors", "--force"),
        ("migrate-offsets", "--connector", "orders", "--to-topic", "moved", "--force"),
    ],
    ids="-".join,
)
def test_the_only_group_left_is_not_taken_for_that_of_the_topics(
    only_two: Sandbox, at_terminal: Callable[..., Typed], command: tuple[str, ...]
) -> None:
    """Its workers are gone, and no request shows it any more: who wrote to the topics does."""
    before = describe(only_two.bootstrap_servers, ["one-orders-0", "two-orders-0"])
    ran = at_terminal(width=400, answer="y\ny\n").run(*command, "-b", only_two.bootstrap_servers)
    assert ran.exit_code == 2, ran.stdout
    assert "Connect group two: the only one of the Kafka cluster" in ran.stderr
    assert CONFIGS in ran.stderr
    assert describe(only_two.bootstrap_servers, ["one-orders-0", "two-orders-0"]) == before


@pytest.fixture(scope="module")
def only_two(clusters: Sandbox) -> Sandbox:
    """Without group one, for the last tests: its worker has ended, and the coordinator has forgotten it."""
    clusters.stop_worker(1)
    admin = AdminClient({"bootstrap.servers": clusters.bootstrap_servers})
    eventually(lambda: admin.delete_consumer_groups(["one"])["one"].exception() is None, "the group is empty")
    return clusters
