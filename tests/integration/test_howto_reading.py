"""How-tos that change no connector: each step of the page, in its order, on one worker."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka import Consumer, TopicPartition

from tests.commands.keyboard import keyboard
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.moves import Home, Lines
from tests.integration.pages import Howto, Shell, shell
from tests.integration.producers import create_topic, open_transaction, transactional_producer
from tests.integration.terminal import LiveTerminal
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.variation, pytest.mark.timeout(300)]
PAGES = Path(__file__).resolve().parents[2] / "docs" / "howto"
FOUND = (0, 1, 3)
PROFILE = """profiles:
  production: &production
    bootstrap-server: {servers}
    connect-url: {url}
    group-id: connect-cluster
  staging: *production
"""


@pytest.fixture
def orders(moves_home: Sandbox, tmp_path: Path, fresh_name: FreshName) -> Iterator[Lines]:
    """A connector that has written 160 lines."""
    started = Lines(Home(moves_home), fresh_name("orders"), tmp_path)
    yield started
    started.place.home.delete_now(started.place.name)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a user without settings: `eosctl` reads its config there."""
    for name in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    (tmp_path / "config" / "eosctl").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def bash(user: Path, columns: str) -> Iterator[Shell]:
    """A shell of that user."""
    with shell(user, {"COLUMNS": columns}) as started:
        yield started


def names(orders: Lines, user: Path) -> dict[str, str]:
    """The names of the pages, and those here; the files that pages name are laid out."""
    home = orders.place.home
    worker = home.sandbox.directory / "worker-1" / "worker.properties"
    (user / "worker.properties").write_bytes(worker.read_bytes())
    (user / "client.properties").touch()
    return {
        "broker:9092": home.servers,
        "broker:9093": home.servers,
        "http://worker:8083": home.url,
        "--connector orders": f"--connector {orders.place.name}",
        "/etc/eosctl/client.properties": str(user / "client.properties"),
        "/etc/kafka/connect-distributed.properties": str(user / "worker.properties"),
        "/var/lib/eosctl": str(user),
        "/var/lib/node_exporter": str(user),
        "/var/lib/kafka/data": str(home.sandbox.directory / "broker-1" / "data"),
        "/etc/systemd/system": str(user),
        "eosctl-alert": "echo alert",
    }


def write_profiles(user: Path, text: str) -> None:
    (user / "config" / "eosctl" / "config.yaml").write_text(text)


def test_the_page_audits_by_hand_and_at_night(orders: Lines, user: Path, bash: Shell) -> None:
    page = Howto(PAGES / "audit-from-cron.md", bash, names(orders, user))
    page.follow("eosctl audit", shows=orders.topic)
    page.follow("eosctl audit", codes=FOUND, shows=orders.place.name)
    assert orders.place.name in (user / "audit.html").read_text("utf-8")
    write_profiles(user, page.other("profiles:"))
    page.type("eosctl profile check --profile production")
    for _ in range(2):
        orders.check_exactly_once()
        page.type(page.other("15 2 * * *").removeprefix("15 2 * * *"))
        [audited] = [
            each
            for each in json.loads((user / "audit.json").read_text("utf-8"))["data"]["connectors"]
            if each["name"] == orders.place.name
        ]
        assert audited["verdict"] == "held"
    page.follow("eosctl audit status", codes=FOUND, shows="audit")
    page.type(page.other("45 2 * * *").removeprefix("45 2 * * *"))
    assert "eosctl_" in (user / "eosctl.prom").read_text("utf-8")
    assert page.left == []


def test_the_page_shows_a_pipeline_the_acls_that_a_connector_will_miss(orders: Lines, user: Path, bash: Shell) -> None:
    home, configs = orders.place.home, user / "connect" / "connectors"
    configs.mkdir(parents=True)
    page = Howto(PAGES / "check-in-a-pipeline.md", bash, names(orders, user))
    sasl = home.sandbox.worker_sasl()
    worker = (user / "worker.properties").read_text("utf-8")
    (user / "connect" / "worker.properties").write_text(
        worker + "".join(f"{name}={value}\n" for name, value in sasl.items())
    )
    planned = f"{orders.place.name}-planned"
    config = {**orders.config(home), "topic": planned}
    (configs / "orders.json").write_text(json.dumps({"name": planned, "config": config}))
    missing = page.follow("eosctl acl-plan", codes=(1,), stay=True)
    assert planned in missing
    results = json.loads((user / "eosctl.sarif").read_text("utf-8"))["runs"][0]["results"]
    assert "EOS143" in {each["ruleId"] for each in results}
    assert "<failure" in (user / "eosctl.xml").read_text("utf-8")
    line = page.line("eosctl acl-plan").partition(" --check")[0]
    page.type(f"{line} --plan-file acls.plan && eosctl apply acls.plan -b broker:9092 --yes")
    page.type(page.real(f"{line} --check --sarif eosctl.sarif --junit eosctl.xml"))
    assert "EOS143" not in {
        each["ruleId"] for each in json.loads((user / "eosctl.sarif").read_text("utf-8"))["runs"][0]["results"]
    }
    assert page.left == []
    page.type("eosctl undo acls.plan.undo -b broker:9092 --yes")


def test_the_page_reconstructs_an_incident(orders: Lines, user: Path, bash: Shell) -> None:
    home, name = orders.place.home, orders.place.name
    home.ask("POST", f"/connectors/{name}/restart?includeTasks=true")
    orders.check_exactly_once()
    page = Howto(PAGES / "reconstruct-an-incident.md", bash, names(orders, user))
    page.follow("eosctl snapshot save", codes=(0, 3))
    page.follow("eosctl timeline", codes=FOUND, shows="producer-fenced")
    page.follow("eosctl timeline", codes=FOUND)
    assert f"connect-cluster-{name}-0" in (user / "incident.html").read_text("utf-8")
    page.follow("eosctl timeline", codes=FOUND, shows=name)
    assert page.left == []


def test_the_page_completes_a_command_and_a_connector(orders: Lines, user: Path) -> None:
    home, name = orders.place.home, orders.place.name
    [source] = [line for line in (PAGES / "shell-completion.md").read_text("utf-8").splitlines() if "| bash" in line]
    line = source.split("`")[-2]
    assert line == "source <(eosctl completion bash)"
    (user / "config" / "eosctl" / "config.yaml").write_text(PROFILE.format(servers=home.servers, url=home.url))
    kept = {f"XDG_{each}_HOME": str(user / each.lower()) for each in ("CONFIG", "STATE", "CACHE")}
    with keyboard("bash", user, **kept, EOSCTL_COMPLETION_TIMEOUT="30") as typed:
        assert typed.line_after("eosctl doc\t") == "eosctl doctor "
        asked = f"eosctl fence --profile production --connector {name[:-3]}"
        assert typed.line_after(f"{asked}\t") == f"eosctl fence --profile production --connector {name} "


def test_the_page_watches_a_cluster(orders: Lines, user: Path, bash: Shell) -> None:
    home = orders.place.home
    page = Howto(PAGES / "watch-clusters.md", bash, names(orders, user))
    write_profiles(user, PROFILE.format(servers=home.servers, url=home.url))
    page.follow("eosctl watch --once", codes=FOUND, shows="eosctl_")
    live = page.real(page.line("eosctl watch --live")).split()[1:]
    with LiveTerminal(live, 80, 24) as terminal:
        eventually(lambda: any("production" in each for each in terminal.frame()), "a cycle on the terminal")
        terminal.press("q")
        assert terminal.ended() == (0, True)
    serve = page.line("eosctl watch --profile production")
    [target] = yaml.safe_load(page.other("scrape_configs:"))["scrape_configs"][0]["static_configs"][0]["targets"]
    assert target == "127.0.0.1:9464"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    page.type(f"{serve} --listen 127.0.0.1:{port} 2> served.txt & watched=$!")
    page.type(f"curl http://127.0.0.1:{port}/metrics", shows="eosctl_cycle_requests")
    page.type("kill $watched && wait $watched")
    page.follow("eosctl watch --emit prometheus-rules")
    assert "EosctlFactsUnread" in (user / "eosctl-rules.yaml").read_text("utf-8")
    page.follow("eosctl watch --emit grafana-dashboard")
    assert "panels" in json.loads((user / "eosctl-dashboard.json").read_text("utf-8"))
    installed = page.line("eosctl watch production staging").splitlines()
    page.type("\n".join(each for each in installed if not each.startswith("systemctl")))
    assert "ExecStart=" in (user / "eosctl-watch.service").read_text("utf-8")
    page.line("eosctl watch --profile production --otlp")
    assert page.left == []


def test_the_page_frees_the_readers_of_an_application(
    orders: Lines, user: Path, bash: Shell, fresh_name: FreshName
) -> None:
    servers, topic, group = orders.place.home.servers, fresh_name("bills"), fresh_name("invoices")
    prefix = f"{fresh_name('billing')}-tx"
    create_topic(servers, topic)
    old = transactional_producer(servers, f"{prefix}0")
    old.begin_transaction()
    old.produce(topic, b"bill")
    old.commit_transaction(30)
    reader = Consumer({"bootstrap.servers": servers, "group.id": group, "log_level": 0})
    reader.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    reader.close()
    left_open = open_transaction(servers, f"{prefix}0", topic, **{"transaction.timeout.ms": 600_000})
    page = Howto(PAGES / "free-readers.md", bash, {**names(orders, user), "invoices": group, "billing-tx": prefix})
    held = page.follow("eosctl transactions lso", codes=FOUND, shows=f"{prefix}0")
    assert "READABLE" in held
    page.follow("eosctl transactions hanging", codes=FOUND)
    page.follow("eosctl transactions list", shows=f"{prefix}*")
    page.follow("eosctl transactions history", codes=FOUND, shows="fenced")
    page.follow("eosctl transactions leftovers", codes=FOUND, shows=f"{prefix}0")
    page.follow("eosctl transactions leftovers", shows=f"fence {prefix}0")
    page.follow("eosctl transactions leftovers", shows="done")
    page.type("eosctl transactions lso -b broker:9092 --group invoices", codes=FOUND)
    page.follow("eosctl transactions churn", codes=FOUND, shows=prefix)
    assert page.left == []
    del old, left_open


def test_the_page_audits_on_spark_of_this_machine(orders: Lines, user: Path, bash: Shell) -> None:
    page = Howto(PAGES / "audit-on-spark.md", bash, names(orders, user))
    here = page.follow("eosctl audit", codes=FOUND, shows=orders.place.name)
    assert "held" in here
    page.follow("eosctl spark-bundle")
    written = {each.name for each in (user / "bundle").iterdir()}
    assert {"eosctl.zip", "eosctl_submit.py", "requirements.txt", "environment.sh", "README.md"} <= written
    assert page.left == []
