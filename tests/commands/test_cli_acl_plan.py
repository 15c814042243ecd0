"""acl-plan on the command line, without a cluster: what it answers, and how it refuses."""

import csv
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from eosctl.model.client_roles import ClientRole, ConnectCluster, ConnectorConfig
from eosctl.operations.acls import principals_by_role
from tests.planning.test_acls import JAAS, MIRROR_MAKER, NAMES, sasl

CONNECTOR = {"name": "c", "config": {"connector.class": "FileStreamSource", "topic": "out", "tasks.max": 2}}

Files = Callable[..., list[str]]


def properties(settings: dict[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in settings.items())


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """`files(connector={…}, **worker settings)`: the arguments that name a worker's and a connector's file."""

    def written(connector: object = CONNECTOR, **settings: str) -> list[str]:
        worker = tmp_path / "worker.properties"
        told = NAMES | sasl("", "worker") | sasl("producer.", "p") | sasl("consumer.", "c")
        worker.write_text(properties(told | {key.replace("_", "."): value for key, value in settings.items()}))
        config = tmp_path / "connector.json"
        config.write_text(connector if isinstance(connector, str) else json.dumps(connector))
        return ["--worker-config", str(worker), "--connector-config", str(config)]

    return written


def bindings(stdout: str) -> set[str]:
    rows = json.loads(stdout)["data"]["bindings"]
    return {f"{row['principal']} {row['operation']} {row['resource_type']} {row['resource_name']}" for row in rows}


def test_the_plan_has_every_field_that_scripts_lean_on(eosctl, files):
    ran = eosctl("acl-plan", *files(), "--phase", "enabled", "-o", "json")
    assert ran.exit_code == 0
    envelope = json.loads(ran.stdout)
    assert (envelope["kind"], envelope["version"], envelope["data"]["group_ids"]) == ("acl-plan", 1, ["g"])
    row = next(row for row in envelope["data"]["bindings"] if row["resource_name"] == "g-c-1")
    assert row["principal"] == "User:p"
    assert row["operation"] == "Write"
    assert (row["resource_type"], row["pattern_type"]) == ("TransactionalId", "literal")
    assert "KIP-618" in row["source"]
    assert row["why"].startswith("tasks of connector c write in transactions")
    assert row["status"] == {"skipped": "no cluster was named with -b"}
    assert "User:worker Write TransactionalId connect-cluster-g" in bindings(ran.stdout)


def test_the_workers_own_phase_is_planned_for_where_none_is_named(eosctl, files):
    ran = eosctl("acl-plan", *files(exactly_once_source_support="preparing"), "-o", "json")
    assert "User:worker Write TransactionalId connect-cluster-g" in bindings(ran.stdout)
    assert not any("g-c-" in each for each in bindings(ran.stdout))


def test_headroom_and_pattern_shape_the_ids(eosctl, files):
    more = eosctl("acl-plan", *files(), "--phase", "enabled", "--headroom", "1", "-o", "json")
    assert "User:p Write TransactionalId g-c-2" in bindings(more.stdout)
    prefixed = eosctl("acl-plan", *files(), "--phase", "enabled", "--pattern", "prefixed", "-o", "json")
    assert "User:p Write TransactionalId g-c-" in bindings(prefixed.stdout)


def test_connectors_in_properties_files_are_read_too(eosctl, files):
    ran = eosctl("acl-plan", *files("name=p\nconnector.class=FileStreamSource\ntopic=out\n"), "-o", "json")
    assert "User:p Write Topic out" in bindings(ran.stdout)


def test_the_first_line_names_the_phase_of_the_plan_and_its_source(eosctl, files):
    for settings, more, phase, known_by in (
        ({"exactly_once_source_support": "enabled"}, [], "enabled", "worker.properties"),
        ({}, [], "disabled", "worker.properties, which does not set it"),
        ({}, ["--phase", "preparing"], "preparing", "--phase"),
    ):
        args = [*files(**settings), *more]
        ran = eosctl("acl-plan", *args)
        first = " ".join(ran.stdout.partition("\n\n")[0].split())
        assert first.startswith(f"Planned for exactly.once.source.support={phase} (from ")
        assert f"{known_by})." in first
        told = json.loads(eosctl("acl-plan", *args, "-o", "json").stdout)["data"]
        assert told["phase"] == phase
        [row] = told["phases"]
        assert (row["group_id"], row["phase"]) == ("g", phase)
        assert row["known_by"].endswith(known_by)


def test_without_a_known_phase_nothing_is_planned(eosctl, tmp_path):
    roles = ["--group-id", "g", "--principal", "worker=User:worker"]
    for more in ([], ["--emit", "kafka-acls"], ["--explain"]):
        ran = eosctl("acl-plan", *roles, *more)
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert "the workers' exactly.once.source.support is not known: no --connect-url was given" in ran.stderr
        assert "hint: choose the phase: --phase disabled, preparing or enabled" in ran.stderr


def test_explaining_changes_no_binding_and_lists_the_needs_of_other_phases(eosctl, files):
    for phase in ("disabled", "preparing", "enabled"):
        args = (*files(), "--phase", phase)
        plain, explained = (eosctl("acl-plan", *args, *more, "-o", "json").stdout for more in ([], ["--explain"]))
        assert bindings(plain) == bindings(explained)
        counts = [json.loads(each)["data"]["counts"] for each in (plain, explained)]
        assert counts[0] == counts[1]
    said = eosctl("acl-plan", *files(), "--phase", "disabled", "--explain").stdout
    assert "preparing needs 1 more binding: --phase preparing." in said
    assert "enabled needs 7 more bindings: --phase enabled." in said


def test_explaining_names_the_symptoms_and_their_phases(eosctl, files):
    ran = eosctl("acl-plan", *files(), "--phase", "enabled", "--explain")
    assert ran.exit_code == 0
    assert "Write TransactionalId connect-cluster-g (unknown, in phase preparing,enabled)" in ran.stdout
    assert "without it: all tasks FAILED at the first reconfiguration, not before" in ran.stdout
    assert "source: Worker.fenceZombies, Admin.fenceProducers (KIP-618)" in ran.stdout


def test_a_named_principal_needs_no_worker_config(eosctl, tmp_path):
    config = tmp_path / "c.json"
    config.write_text(json.dumps(CONNECTOR))
    roles = [word for role in ("worker", "producer") for word in ("--principal", f"{role}=User:{role}")]
    known = ["--group-id", "g", "--phase", "disabled"]
    ran = eosctl("acl-plan", *known, "--connector-config", config, *roles, "-o", "json")
    assert ran.exit_code == 0
    assert "User:producer Write Topic out" in bindings(ran.stdout)
    assert "User:worker Read Topic connect-configs" in bindings(ran.stdout)


def test_the_workers_offsets_topic_is_named_as_in_other_commands(eosctl):
    roles = ["--principal", "worker=User:worker", "--phase", "enabled"]
    ran = eosctl("acl-plan", "--group-id", "g", *roles, "--worker-offsets-topic", "offsets-of-g", "-o", "json")
    assert ran.exit_code == 0
    assert "User:worker Write Topic offsets-of-g" in bindings(ran.stdout)
    assert not any("connect-offsets" in each for each in bindings(ran.stdout))


def test_the_plan_names_what_was_not_read(eosctl, files):
    unread = json.loads(eosctl("acl-plan", *files(), "-o", "json").stdout)["data"]["unread"]
    assert {"what": "ACLs: bindings", "reason": "no cluster was named with -b"} in unread


def test_a_principal_of_one_connector_may_hold_an_equals_sign(eosctl, files):
    ran = eosctl("acl-plan", *files(), "--principal", "c/producer=User:CN=orders,O=x", "-o", "json")
    assert "User:CN=orders,O=x Write Topic out" in bindings(ran.stdout)


@pytest.mark.parametrize(
    ("text", "role", "connector", "principal"),
    [
        ("producer=User:CN=x/admin=y", "producer", None, "User:CN=x/admin=y"),
        ("admin=x/producer=User:y", "producer", "admin=x", "User:y"),
        ("a/b/sink-consumer=User:y", "sink-consumer", "a/b", "User:y"),
    ],
)
def test_the_first_role_with_a_principal_behind_it_is_named(text, role, connector, principal):
    cluster = ConnectCluster((), (ConnectorConfig("admin=x", {}), ConnectorConfig("a/b", {})))
    assert principals_by_role([text], [cluster]) == {(ClientRole(role), connector): principal}


def test_connector_stands_for_all_clients_of_connectors_but_those_that_are_named():
    clients = set(ClientRole) - {ClientRole.WORKER, ClientRole.STREAMS, ClientRole.EOSCTL}
    found = principals_by_role(["producer=User:p", "connector=User:c", "worker=User:w"], [])
    assert found == {(role, None): "User:c" for role in clients} | {
        (ClientRole.PRODUCER, None): "User:p",
        (ClientRole.WORKER, None): "User:w",
    }
    cluster = ConnectCluster((), (ConnectorConfig("x", {}),))
    assert set(principals_by_role(["x/connector=User:c"], [cluster])) == {(role, "x") for role in clients}


def test_flows_of_mirrormaker_into_two_clusters_are_both_planned(eosctl, tmp_path):
    path = tmp_path / "mm2.properties"
    third = "C.bootstrap.servers = c:9092\nA->C.enabled = true\nA->C.topics = invoices\n"
    text = MIRROR_MAKER.format(a=JAAS.format("at-a"), b=JAAS.format("at-b"))
    path.write_text(text.replace("clusters = A, B", "clusters = A, B, C") + third)
    ran = eosctl("acl-plan", "--worker-config", path, "-o", "json")
    assert ran.exit_code == 0
    assert {
        "User:at-b Write Topic A.orders",
        "User:ANONYMOUS Write Topic A.invoices",
        "User:at-a Read Topic invoices",
    } <= bindings(ran.stdout)
    assert "User:ANONYMOUS Write Topic A.orders" not in bindings(ran.stdout)


def test_an_optional_binding_that_iam_cannot_express_is_omitted_with_a_note(eosctl, files):
    tool = ["--principal", "eosctl=User:tool", "--broker-version", "3.6"]
    ran = eosctl("acl-plan", *files(), *tool, "--emit", "msk")
    assert ran.exit_code == 0, ran.stderr
    assert "User:tool" in json.loads(ran.stdout)
    assert (
        "omitted, IAM has no action for ClusterAction on Cluster: User:tool may ClusterAction Cluster kafka-cluster"
        in ran.stderr
    )


def test_explaining_lists_the_bindings_of_every_cluster(eosctl, files):
    far = {f"{client}.override.bootstrap.servers": "far:9092" for client in ("producer", "consumer", "admin")}
    connectors = [
        {"name": name, "connector.class": "FileStreamSource", "topic": "out", **more}
        for name, more in (("near", {}), ("far", far))
    ]
    ran = eosctl("acl-plan", *files(connectors), "--explain", "-o", "json")
    rows = json.loads(ran.stdout)["data"]["bindings"]
    writing = [row["cluster"] for row in rows if (row["principal"], row["binding"]) == ("User:p", "Write Topic out")]
    assert writing == [["broker:9092"], ["far:9092"]]


def test_a_principal_that_no_kafka_user_can_be_is_reported(eosctl, files):
    ran = eosctl("acl-plan", *files(), "--principal", "producer=User:CN=Orders,O=x", "--emit", "strimzi")
    assert ran.exit_code == 0
    assert "User:CN=Orders,O=x is no KafkaUser's principal" in ran.stderr


def test_workers_of_several_clusters_are_planned_and_their_collisions_reported(eosctl, tmp_path):
    args = []
    for group, connector in (("a", "b-c"), ("a-b", "c")):
        worker, config = tmp_path / f"{group}.properties", tmp_path / f"{group}.json"
        worker.write_text(properties(NAMES | {"group.id": group}))
        config.write_text(json.dumps({"name": connector, "connector.class": "FileStreamSource", "topic": "out"}))
        args += ["--worker-config", str(worker), "--connector-config", f"{group}={config}"]
    ran = eosctl("acl-plan", *args, "--phase", "enabled", "-o", "json")
    assert ran.exit_code == 1
    equal = [
        each for each in json.loads(ran.stdout)["data"]["findings"] if each["name"] == "transactional-id-collision"
    ]
    assert [each["subject"] for each in equal] == ["a-b-c-"]


def test_mirror_makers_file_is_a_worker_config(eosctl, tmp_path):
    path = tmp_path / "mm2.properties"
    path.write_text(MIRROR_MAKER.format(a=JAAS.format("at-a"), b=JAAS.format("at-b")))
    ran = eosctl("acl-plan", "--worker-config", path, "-o", "json")
    assert ran.exit_code == 0
    assert "User:at-b Write TransactionalId A-mm2-MirrorSourceConnector-1" in bindings(ran.stdout)
    assert "User:at-a Read Topic orders" in bindings(ran.stdout)


def test_emitted_text_is_all_there_is_on_stdout(eosctl, files):
    ran = eosctl("acl-plan", *files(), "--emit", "csv")
    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[1].startswith("principal,permission")
    wrapped = eosctl("acl-plan", *files(), "--emit", "csv", "-o", "json")
    assert json.loads(wrapped.stdout)["data"]["text"] == ran.stdout


COMMENTED = ("kafka-acls", "confluent", "csv", "terraform", "strimzi", "jikkou")


@pytest.mark.parametrize("form", [*COMMENTED, "shell", "msk"])
def test_an_emitted_text_names_its_phase(eosctl, files, form):
    ran = eosctl("acl-plan", *files(), "--phase", "enabled", "--emit", form)
    assert ran.exit_code == 0, ran.stderr
    said = "Planned for exactly.once.source.support=enabled (from --phase)."
    assert said in ran.stderr, "also where the format has no comments"
    lines = ran.stdout.splitlines()
    assert (f"# {said}" in lines[:2]) is (form != "msk")
    assert (lines[0] == "#!/bin/sh") is (form == "shell")


def csv_rows(text: str) -> list[list[str]]:
    """The rows of CSV without the comment that emitted text begins with."""
    text = text.partition("\n")[2] if text.startswith("# Planned for ") else text
    return list(csv.reader(StringIO(text, newline="")))


def cells(text: str) -> set[str]:
    return {each for row in csv_rows(text) for each in row}


def test_the_option_is_for_answers_and_for_emitted_acls(eosctl, files):
    args = ("acl-plan", *files(group_id="=1+1"), "--csv-text")
    for more in (["-o", "csv"], ["--emit", "csv"]):
        plain, text = eosctl(*args[:-1], *more), eosctl(*args, *more)
        assert (plain.exit_code, text.exit_code) == (0, 0), text.stderr
        assert "=1+1" in cells(plain.stdout)
        assert "'=1+1" in cells(text.stdout)


def test_a_name_that_csv_cannot_say_is_named_and_the_other_bindings_are_there(eosctl, files):
    args = (*files({**CONNECTOR, "name": "a\u202eb"}), "--phase", "enabled")
    ran = eosctl("acl-plan", *args, "--emit", "csv")
    assert ran.exit_code == 6
    assert {"configs", "offsets"} <= {row[4] for row in csv_rows(ran.stdout)}
    assert "omitted, CSV has no escape for a character of 'g-a\\u202eb-0': " in ran.stderr
    assert "bindings are omitted from the text\nhint: use --emit terraform" in ran.stderr
    every = json.loads(eosctl("acl-plan", *args, "-o", "json").stdout)["data"]["bindings"]
    sayable = [each for each in every if "\u202e" not in each["resource_name"]]
    assert [row[4] for row in csv_rows(ran.stdout)[1:]] == [each["resource_name"] for each in sayable]
    assert ran.stderr.count("omitted, ") == len(every) - len(sayable) > 1


def test_a_name_that_kafka_acls_would_trim_is_named_and_the_others_are_there(eosctl, files):
    ran = eosctl("acl-plan", *files(), "--principal", "producer=User:p ", "--emit", "kafka-acls")
    assert ran.exit_code == 6
    assert "--allow-principal=User:worker" in ran.stdout
    assert "omitted, kafka-acls.sh drops the blanks around" in ran.stderr
    assert "User:p" not in ran.stdout


NO_KEYSTORE = {"security_protocol": "SSL", "ssl_keystore_location": "/none.p12"}
BROKEN_JAAS = {"sasl_jaas_config": 'PlainLoginModule required username="worker password="s3cret";'}


@pytest.mark.parametrize(
    ("settings", "connector", "more", "code", "words"),
    [
        (BROKEN_JAAS, CONNECTOR, [], 2, "sasl.jaas.config is not a JAAS configuration"),
        ({"sasl_jaas_config": "X required;"}, CONNECTOR, [], 2, "has no username in it that PLAIN would show"),
        (NO_KEYSTORE, CONNECTOR, [], 2, "no principal is known for worker: keystore /none.p12"),
        ({"group_id": ""}, CONNECTOR, [], 2, "has no group.id"),
        ({"exactly_once_source_support": "on"}, CONNECTOR, [], 2, "must be one of disabled, preparing, enabled"),
        ({}, '{"name": "c", ', [], 2, "is not JSON at line 1"),
        ({}, {"config": {"connector.class": "X"}}, [], 2, "has no name"),
        ({}, {"name": "c", "config": {"topic": "x"}}, [], 2, "has no connector.class"),
        ({}, {"name": "c", "connector.class": "X", "tasks.max": "many"}, [], 2, "tasks.max of connector c is 'many'"),
        ({}, {"name": "c", "connector.class": "X", "topic": ["x"]}, [], 2, "setting topic is list"),
        ({}, "[1]", [], 2, "holds int where a connector's settings are expected"),
        ({}, CONNECTOR, ["--principal", "produser=User:x"], 2, "names no role"),
        ({}, CONNECTOR, ["--principal", "producer=alice"], 2, "is not TYPE:NAME"),
        ({}, CONNECTOR, ["--topic", "d=out"], 2, "does not begin with a connector that is known"),
        ({}, CONNECTOR, ["--connector", "d"], 2, "connector d is not known"),
        ({}, CONNECTOR, ["--check"], 2, "--check needs the cluster's ACLs"),
        ({}, CONNECTOR, ["--prune"], 2, "--prune needs the cluster's ACLs"),
        ({}, CONNECTOR, ["--check", "--emit", "csv"], 2, "exclude each other"),
        ({}, CONNECTOR, ["--explain", "--emit", "csv"], 2, "exclude each other"),
        ({}, CONNECTOR, ["--prune", "--emit", "csv"], 2, "exclude each other"),
        ({}, CONNECTOR, ["--plan-file", "x.plan", "--emit", "csv"], 2, "exclude each other"),
        ({}, CONNECTOR, ["--prune", "--connector", "c"], 2, "--prune and --connector exclude each other"),
        ({}, CONNECTOR, ["--pattern", "prefixed", "--headroom", "1"], 2, "exclude each other"),
        ({}, CONNECTOR, ["--principal", "d/producer=User:x"], 2, "names connector d, which is not known"),
        ({}, CONNECTOR, ["--group-id", "h"], 2, "--group-id h is the group.id of no --worker-config"),
        ({"group_id": "${env:GROUP}"}, CONNECTOR, [], 2, "group.id is ${env:GROUP}, a reference"),
        ({}, CONNECTOR, ["--broker-version", "new"], 2, "is not a Kafka version"),
        ({}, CONNECTOR, ["-b", "127.0.0.1:1", "--timeout", "2"], 4, "127.0.0.1:1 cannot be reached"),
    ],
)
def test_bad_input_is_refused_in_words(eosctl, files, settings, connector, more, code, words):
    ran = eosctl("acl-plan", *files(connector, **settings), *more)
    assert (ran.exit_code, ran.stdout) == (code, "")
    assert words in ran.stderr
    assert "s3cret" not in ran.stderr


def test_the_error_for_an_unresolved_principal_names_the_option(eosctl, files):
    ran = eosctl("acl-plan", *files(producer_sasl_jaas_config="${file:/etc/secrets:jaas}"), "-o", "json")
    error = json.loads(ran.stdout)["error"]
    assert error["exit_code"] == 2
    assert "producer of connector c (sasl.jaas.config:" in error["message"]
    assert error["hint"] == "name it: --principal producer=User:NAME"


def test_no_secret_leaves_the_files(eosctl, files):
    for more in ([], ["--explain"], ["-o", "json"], ["--emit", "kafka-acls"], ["-v"]):
        ran = eosctl("acl-plan", *files(), *more)
        assert 'password="x"' not in ran.stdout + ran.stderr


STREAMS = ("--streams", "pay", "--reads", "orders", "--writes", "payments", "--principal", "streams=User:pay")


def test_the_acls_of_a_streams_application_are_of_its_group_its_prefix_and_its_topics(eosctl):
    ran = eosctl("acl-plan", *STREAMS, "-o", "json")
    rows = json.loads(ran.stdout)["data"]["bindings"]
    assert {(row["operation"], row["resource_type"], row["resource_name"], row["pattern_type"]) for row in rows} == {
        ("Read", "Group", "pay", "literal"),
        ("Write", "TransactionalId", "pay-", "prefixed"),
        ("Read", "Topic", "orders", "literal"),
        ("Write", "Topic", "payments", "literal"),
        *((operation, "Topic", "pay-", "prefixed") for operation in ("Create", "Read", "Write", "Delete")),
    }
    assert [row["operation"] for row in rows if row["optional"]] == ["Delete"]
    assert {row["principal"] for row in rows} == {"User:pay"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (STREAMS[:-2], "the application's principal is not named"),
        (STREAMS[:2], "--streams needs an application.id and its topics"),
        (STREAMS[2:4], "--reads and --writes are for --streams"),
        ((*STREAMS, "--prune"), "--streams cannot tell which ACLs are not needed"),
        ((*STREAMS, "--phase", "enabled"), "--streams plans for an application"),
        ((*STREAMS, "--check"), "--check needs the cluster's ACLs"),
    ],
)
def test_a_plan_for_a_streams_application_is_for_nothing_else(eosctl, arguments, said):
    ran = eosctl("acl-plan", *arguments)
    assert (ran.exit_code, said in ran.stderr) == (2, True), ran.stderr
