"""Connectors that an operator runs: a script plays Strimzi's, a person applies what eosctl asks for."""

import json
import shlex
import shutil
from pathlib import Path

import httpx
import pytest
import yaml

from tests.integration.moves import SETTING, Eosctl, Home, Lines, Place
from tests.integration.pages import Howto, shell
from tests.integration.strimzi_operator import Operator
from tests.integration.strimzi_site import arguments, named, run_with_somebody_who_applies
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300), pytest.mark.usefixtures("own_state")]
ROOT = Path(__file__).resolve().parents[2]


def test_a_connector_gets_a_topic_of_its_own_while_the_operator_runs(
    home: Home, lines: Lines, resource: Path, operator: Operator, tmp_path: Path
) -> None:
    name, own = lines.topic, f"{lines.topic}-offsets"
    options = arguments(
        home, lines, "--to-topic", own, "--partitions", 1, "--replication-factor", 1, "--stop", "--set-config",
        "--resume", "--connector-config", resource, "--emit", "strimzi", "--emit-to", tmp_path / "out", "--timeout", 60,
        "--yes",
    )  # fmt: skip
    exit_code, applied, said = run_with_somebody_who_applies(options, operator)
    assert exit_code == 0, said
    assert applied == [f"{name}.stopped.yaml", f"{name}.configured.yaml", f"{name}.running.yaml"]
    lines.place = Place(home, name, own)
    lines.check_exactly_once()
    text = (tmp_path / "out" / f"{name}.running.yaml").read_text()
    assert text.startswith("# lines of the shop\n")
    assert "topic: " + name + "  # where they go" in text
    written = yaml.safe_load(text)
    assert (written["spec"]["state"], written["spec"]["config"][SETTING]) == ("running", own)
    assert "status" not in written


@pytest.mark.variation
def test_a_connector_is_renamed_by_a_resource_that_is_applied_when_its_offsets_are_in_place(
    home: Home, lines: Lines, resource: Path, operator: Operator, tmp_path: Path
) -> None:
    old, new = lines.topic, f"{lines.topic}-b"
    options = arguments(
        home, lines, "--rename-to", new, "--stop", "--set-config", "--resume",
        "--connector-config", resource, "--emit", "strimzi", "--emit-to", tmp_path / "out", "--timeout", 60, "--yes",
    )  # fmt: skip
    exit_code, applied, said = run_with_somebody_who_applies(options, operator)
    assert exit_code == 0, said
    assert applied == [f"{old}.stopped.yaml", f"{new}.running.yaml"]
    operator.delete(old)
    eventually(lambda: f"DELETE {old}" in operator.done, "the operator to delete the old connector")
    lines.place = Place(home, new)
    lines.check_exactly_once()


def test_changes_over_rest_would_be_reverted_and_are_refused(
    home: Home, lines: Lines, resource: Path, operator: Operator, tmp_path: Path, eosctl: Eosctl
) -> None:
    name = lines.topic
    assert home.ask("PUT", f"/connectors/{name}/stop") < 400
    eventually(lambda: f"PUT {name}/resume" in operator.done, "the operator to resume it")
    flags = ("--to-topic", f"{name}-own", "--stop", "--set-config", "--resume", "--yes")
    for managed in (("--connector-config", resource), ("--managed-by", "strimzi")):
        ran = eosctl(*arguments(home, lines, *flags, *managed))
        assert ran.exit_code == 8
        assert "stopped over REST, its operator resumes it at the next reconciliation" in ran.stderr
        assert f"{SETTING} changed over REST would be changed back" in ran.stderr
        assert "give --emit strimzi and --connector-config FILE" in ran.stderr
    (tmp_path / "none.json").write_text('{"offsets": []}')
    created = eosctl(
        "offsets", "create-connector", tmp_path / "none.json", "--config", resource, "-b", home.servers,
        "--group-id", home.group_id, "--connect-url", home.url, "--dry-run",
    )  # fmt: skip
    assert "its operator deletes a connector that no KafkaConnector describes" in created.stderr + created.stdout
    lines.check_exactly_once()


@pytest.mark.variation
def test_a_resource_that_is_not_applied_ends_the_wait_and_the_plan_continues_later(
    home: Home, lines: Lines, resource: Path, operator: Operator, tmp_path: Path, eosctl: Eosctl
) -> None:
    name = lines.topic
    flags = ("--to-topic", f"{name}-own", "--partitions", 1, "--replication-factor", 1, "--set-config", "--resume")
    out = tmp_path / "out"
    emit = ("--emit", "strimzi", "--emit-to", out)
    ran = eosctl(
        *arguments(home, lines, *flags, "--stop", "--connector-config", resource, *emit, "--timeout", 2, "--yes")
    )
    assert ran.exit_code == 4, ran.stderr
    assert "was it applied, and does the operator run?" in ran.stderr
    operator.apply(out / f"{name}.stopped.yaml")
    eventually(lambda: f"PUT {name}/stop" in operator.done, "the operator to stop it")
    plan = tmp_path / "shop.plan"
    stopped = out / f"{name}.stopped.yaml"
    options = arguments(home, lines, *flags, "--connector-config", stopped, *emit, "--plan-file", plan)
    eventually(lambda: eosctl(*options).exit_code == 0, "the plan of the stopped connector")
    exit_code, applied, said = run_with_somebody_who_applies(
        ["apply", plan, *named(home), "--yes", "--timeout", 60], operator
    )
    assert exit_code == 0, said
    assert applied == [f"{name}.configured.yaml", f"{name}.running.yaml"]
    lines.place = Place(home, name, f"{name}-own")
    lines.check_exactly_once()


@pytest.mark.variation
def test_the_operator_alters_offsets_to_those_that_eosctl_would_write(
    home: Home, lines: Lines, resource: Path, operator: Operator, tmp_path: Path, eosctl: Eosctl
) -> None:
    name, out, wanted = lines.topic, tmp_path / "out", tmp_path / "wanted.json"
    partition, offset = {"filename": lines.config(home)["file"]}, {"position": 14}
    wanted.write_text(json.dumps({"offsets": [{"partition": partition, "offset": offset}]}))
    stopped = tmp_path / "stopped.yaml"
    stopped.write_text(resource.read_text().replace("tasksMax: 1", "tasksMax: 1\n  state: stopped"))
    operator.apply(stopped)
    eventually(lambda: f"PUT {name}/stop" in operator.done, "the operator to stop it")
    options = [
        "offsets", "restore", wanted, "--connector", name, "-b", home.servers, "--group-id", home.group_id,
        "--connect-url", home.url, "--connector-config", stopped, "--emit", "strimzi", "--emit-to", out,
        "--plan-file", tmp_path / "plan",
    ]  # fmt: skip
    eventually(lambda: eosctl(*options).exit_code == 0, "the plan of the stopped connector")
    operator.apply(out / f"{name}.alter.yaml")
    eventually(lambda: f"PATCH {name}/offsets" in operator.done, "the operator to alter the offsets")
    answer = httpx.get(f"{home.url}/connectors/{name}/offsets", trust_env=False, verify=False).json()
    assert answer == {"offsets": [{"partition": partition, "offset": offset}]}


@pytest.mark.variation
def test_the_page_plans_acls_checks_an_upgrade_and_moves_a_connector(
    home: Home,
    lines: Lines,
    resource: Path,
    operator: Operator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    columns: str,
) -> None:
    """Everything but the operator's work on a KafkaConnect: `kubectl` prints the resource that it carried out."""
    name, own = lines.topic, f"{lines.topic}-offsets"
    monkeypatch.chdir(tmp_path)
    for each in ("connect.yaml", "orders.yaml"):
        shutil.copy(ROOT / "examples" / "strimzi" / each, tmp_path)
    names = {
        "broker:9093": home.servers,
        "http://shop-connect-api:8083": home.url,
        "--group-id shop": f"--group-id {home.group_id}",
    }
    with shell(tmp_path, {"COLUMNS": columns, "XDG_CONFIG_HOME": str(tmp_path)}) as bash:
        page = Howto(ROOT / "docs" / "howto" / "run-under-strimzi.md", bash, names)
        page.follow("eosctl acl-plan")
        assert "topic" in page.follow("diff connect.yaml users.yaml", codes=(1,))
        page.follow("eosctl acl-plan", codes=(1,), shows="missing")
        running = yaml.safe_load((tmp_path / "connect.yaml").read_text().split("---")[0])
        running["spec"]["config"] |= {
            "group.id": home.group_id,
            "config.storage.topic": home.config_topic,
            "offset.storage.topic": home.offsets_topic,
            "status.storage.topic": "connect-status",
        }
        running["metadata"]["generation"], running["status"] = 2, {"observedGeneration": 2}
        (tmp_path / "carried-out.yaml").write_text(yaml.safe_dump(running))
        page.type('kubectl() { [ "$1" = wait ] || cat carried-out.yaml; }')
        page.follow("kubectl wait")
        page.follow("eosctl upgrade-check", codes=(0, 1, 3))
        page.call(**{"--connector orders": f"--connector {name}", "orders-offsets": own, "orders.yaml": str(resource)})
        move = shlex.split(page.real(page.line("eosctl migrate-offsets")))[1:]
        exit_code, applied, said = run_with_somebody_who_applies([*move, "--yes"], operator)
        assert exit_code == 0, said
        assert applied == [f"{name}.stopped.yaml", f"{name}.configured.yaml", f"{name}.running.yaml"]
        lines.place = Place(home, name, own)
        lines.check_exactly_once()
        page.type(f"eosctl profile add production -b {home.servers} --group-id {home.group_id}")
        page.follow("eosctl watch production --emit kubernetes")
        assert "CronJob" in {each["kind"] for each in yaml.safe_load_all((tmp_path / "eosctl.yaml").read_text())}
        assert page.left == []
