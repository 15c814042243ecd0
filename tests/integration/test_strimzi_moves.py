"""Moves of connectors that an operator runs: undone, to another KafkaConnect, and those of a KafkaMirrorMaker2."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import FreshName
from tests.integration.connect import BYTES, Mirror
from tests.integration.moves import SETTING, Eosctl, Home, Lines, Place, worker_of
from tests.integration.strimzi_operator import Operator
from tests.integration.strimzi_site import arguments, named, run_with_somebody_who_applies
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300), pytest.mark.usefixtures("own_state")]


@pytest.mark.variation
def test_an_applied_plan_is_undone_by_resources(
    home: Home, lines: Lines, resource: Path, operator: Operator, tmp_path: Path
) -> None:
    """The undo file alone says that the operator has to be waited for."""
    name, own = lines.topic, f"{lines.topic}-offsets"
    options = arguments(
        home, lines, "--to-topic", own, "--partitions", 1, "--replication-factor", 1, "--stop", "--set-config",
        "--resume", "--connector-config", resource, "--emit", "strimzi", "--emit-to", tmp_path / "out", "--timeout", 60,
        "--yes",
    )  # fmt: skip
    exit_code, _, said = run_with_somebody_who_applies(options, operator)
    assert exit_code == 0, said
    [*_, plan] = re.findall(r"`eosctl apply (\S+\.plan) [^`]*` finishes it", said)
    done = len(operator.done)
    exit_code, applied, said = run_with_somebody_who_applies(
        ["undo", f"{plan}.undo", *named(home), "--yes", "--timeout", 60], operator
    )
    assert exit_code == 0, said
    assert applied == [f"{name}.configured.yaml", f"{name}.stopped.yaml", f"{name}.before.yaml"]
    first_stop = operator.done.index(f"PUT {name}/stop", done)
    assert f"PUT {name}/config" not in operator.done[done:first_stop], "it never runs from its offsets before"
    lines.check_exactly_once()


@pytest.mark.variation
def test_a_plan_over_rest_is_neither_applied_nor_undone_once_there_is_an_operator(
    home: Home, lines: Lines, tmp_path: Path, eosctl: Eosctl
) -> None:
    name, plan = lines.topic, tmp_path / "shop.plan"
    assert home.ask("PUT", f"/connectors/{name}/stop") < 400
    flags = ("--to-topic", f"{name}-own", "--partitions", 1, "--replication-factor", 1, "--set-config", "--resume")
    eventually(lambda: eosctl(*arguments(home, lines, *flags, "--plan-file", plan)).exit_code == 0, "the plan")
    refused = eosctl("apply", plan, *named(home), "--managed-by", "strimzi", "--yes")
    assert refused.exit_code == 8
    assert f"{SETTING} changed over REST would be changed back" in refused.stderr
    assert eosctl("apply", plan, *named(home), "--yes").exit_code == 0
    back = eosctl("undo", f"{plan}.undo", *named(home), "--managed-by", "strimzi", "--yes")
    assert back.exit_code == 8
    assert "stopped over REST, its operator resumes it" in back.stderr
    lines.place = Place(home, name, f"{name}-own")
    lines.check_exactly_once()
    home.delete_now(name)


@pytest.fixture
def there(home: Home) -> Iterator[Home]:
    """Another Connect cluster on the same brokers."""
    internal = {f"{each}.storage.topic": f"beside-{each}" for each in ("config", "offset", "status")}
    home.sandbox.start_worker(2, {"group.id": "beside", **internal})
    yield Home(home.sandbox, 2, "beside", "beside-config", "beside-offset")
    home.sandbox.kill_worker(2)


@pytest.mark.variation
def test_a_connector_moves_to_another_kafka_connect_by_its_label(
    home: Home, there: Home, lines: Lines, resource: Path, operator: Operator, tmp_path: Path
) -> None:
    name, own = lines.topic, f"{lines.topic}-offsets"
    beside = Operator(there.url, name, "beside")
    options = arguments(
        home, lines, "--to-group-id", "beside", "--to-connect-url", there.url, "--to-config-topic", "beside-config",
        "--to-topic", own, "--partitions", 1, "--replication-factor", 1, "--stop", "--set-config", "--resume",
        "--connector-config", resource, "--emit", "strimzi", "--to-kafka-connect", "beside",
        "--emit-to", tmp_path / "out", "--timeout", 60, "--yes",
    )  # fmt: skip
    with beside.running():
        exit_code, applied, said = run_with_somebody_who_applies(options, operator, beside)
    assert exit_code == 0, said
    assert applied == [f"{name}.stopped.yaml", f"{name}.running.yaml"]
    eventually(lambda: f"DELETE {name}" in operator.done, "the operator to delete it where it was")
    lines.place = Place(there, name, own)
    lines.check_exactly_once()


MIRROR_MAKER = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaMirrorMaker2
metadata: {{name: mirror}}
spec:
  target:
    alias: B
    bootstrapServers: {servers}
    groupId: connect-cluster
    configStorageTopic: connect-configs
    offsetStorageTopic: connect-offsets
    statusStorageTopic: connect-status
  mirrors:
  - source: {{alias: A, bootstrapServers: "{servers}"}}
    topicsPattern: {name}-in
    sourceConnector:  # three tasks
      tasksMax: 3
      config:
        replication.factor: 1
        offset-syncs.topic.replication.factor: 1
        sync.topic.acls.enabled: "false"
        key.converter: {bytes}
        value.converter: {bytes}
"""


@pytest.mark.variation
def test_a_connector_of_mirror_maker_gets_a_topic_of_its_own_by_its_resource(
    home: Home, fresh_name: FreshName, tmp_path: Path
) -> None:
    connector, topic = "A->B.MirrorSourceConnector", fresh_name("mirrored")
    mirror, resource = Mirror(worker_of(home), topic), tmp_path / "mirror.yaml"
    resource.write_text(MIRROR_MAKER.format(servers=home.servers, name=topic, bytes=BYTES))
    playing = Operator(home.url, "A->B.", "mirror")
    playing.apply(resource)
    options: list[object] = [
        "migrate-offsets", "-b", home.servers, "--connect-url", home.url, "--worker-config", resource,
        "--connector", connector, "--to-topic", f"{topic}-offsets", "--partitions", 1, "--replication-factor", 1,
        "--stop", "--set-config", "--resume", "--connector-config", resource, "--emit", "strimzi",
        "--emit-to", tmp_path / "out", "--timeout", 60, "--yes",
    ]  # fmt: skip
    with playing.running():
        mirror.check_exactly_once()
        exit_code, applied, said = run_with_somebody_who_applies(options, playing)
        assert exit_code == 0, said
        assert applied == [f"A--B.MirrorSourceConnector.{each}.yaml" for each in ("stopped", "configured", "running")]
        mirror.check_exactly_once()
    home.delete_now(connector)
