"""The evidence file of an audit of a real topic, and the answers of `verify` while the topic changes."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from tests.commands.conftest import Eosctl
from tests.conftest import FreshName
from tests.faulty_sandbox import Sandbox
from tests.integration.producers import create_topic, transactional_producer

pytestmark = pytest.mark.kafka


def write(servers: str, topic: str, records: int) -> None:
    producer = transactional_producer(servers, f"{topic}-writer")
    producer.begin_transaction()
    for number in range(records):
        producer.produce(topic, b"%d" % number)
    producer.commit_transaction(30)


def test_evidence_is_signed_altered_read_again_and_outlived_by_its_topic(
    broker: Sandbox, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
):
    servers, topic = broker.bootstrap_servers, fresh_name("evidenced")
    create_topic(servers, topic)
    write(servers, topic, 20)
    key, file = tmp_path / "auditor", tmp_path / "audit.json"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    options = ("-b", servers, "--topic", topic, "--config-topic", topic, "--worker-offsets-topic", topic)
    audited = eosctl("audit", *options, "--evidence", str(file), "--sign-key", str(key), "-o", "json")

    def verify(*more: str) -> tuple[int, dict[str, Any]]:
        ran = eosctl("verify", str(file), *more, "-o", "json")
        return ran.exit_code, json.loads(ran.stdout)["data"]

    kept = json.loads(file.read_text())
    assert kept["report"]["data"]["verdict"] == json.loads(audited.stdout)["data"]["verdict"]
    signer = ("--signer-key", f"{key}.pub")
    assert verify(*signer)[0] == 0
    code, data = verify(*signer, "-b", servers)
    assert (code, data["verdict"], [each["state"] for each in data["ranges"]]) == (0, "intact", ["same"])

    admin = AdminClient({"bootstrap.servers": servers})
    place = TopicPartition(topic, 0, 5)
    admin.delete_records([place])[place].result(30)
    code, data = verify("-b", servers)
    [purged] = data["ranges"]
    assert (code, data["verdict"], purged["state"]) == (3, "cannot-tell", "purged")
    assert purged["reason"] == "offsets 0 to 4 are deleted: the log begins at 5"

    file.write_text(file.read_text().replace('"records":20', '"records":21'))
    code, data = verify("-b", servers)
    assert (code, data["verdict"], data["ranges"]) == (1, "altered", [])
    (tmp_path / "audit.json.sig").unlink()
    assert verify()[0] == 1


def test_another_key_and_another_cluster_are_refused(
    broker: Sandbox, eosctl: Eosctl, fresh_name: FreshName, tmp_path: Path
):
    servers, topic = broker.bootstrap_servers, fresh_name("evidenced")
    create_topic(servers, topic)
    write(servers, topic, 3)
    for name in ("auditor", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    file, options = str(tmp_path / "audit.json"), ("-b", servers, "--topic", topic)
    internal = ("--config-topic", topic, "--worker-offsets-topic", topic)
    eosctl("audit", *options, *internal, "--evidence", file, "--sign-key", str(tmp_path / "auditor"))
    ran = eosctl("verify", file, "--signer-key", str(tmp_path / "stranger.pub"))
    assert ran.exit_code == 1
    assert "signed by another key" in ran.stdout
    assert eosctl("audit", *options, "--sign-key", str(tmp_path / "auditor")).exit_code == 2
    refused = eosctl("audit", *options, "--evidence", file)
    assert (refused.exit_code, "audit.json exists already" in refused.stderr) == (2, True)
    assert eosctl("audit", *options, *internal, "--evidence", file, "--overwrite").exit_code == 3
    assert eosctl("verify", file).exit_code == 0, "no signature of the file before is left"
