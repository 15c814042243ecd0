"""The reproductions for Kafka's tracker, which need no eosctl: compiled against Kafka's jars and run as pages say.

Their results hold on 4.3.1. If one ends otherwise, change its page and the finding behind it.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eosctl.errors import ConfigError
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.java import compile_java
from tests.faulty_sandbox import Sandbox
from tests.jvm import client_of, jars_of, java_with
from tests.kafka_versions import spec_of

pytestmark = [pytest.mark.kafka, pytest.mark.matrix, pytest.mark.variation]

HERE = Path(__file__).parent
BACK_OFF, FORGETS, NULL_IS_LOST = KafkaVersion(3, 7), KafkaVersion(4, 3), KafkaVersion(4, 2)
TRANSACTION_VERSION = KafkaVersion(4, 0)
WITH_CONVERTER = KafkaVersion(3, 6)
"""From here on the stores that NullShadow makes take a converter; the program is for these."""
TWO_BROKERS = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1"}


@contextmanager
def started(sandbox: Sandbox, name: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The program, compiled and running on Kafka's own classes."""
    jars = jars_of(sandbox)
    classes = compile_java(jars.compiler, HERE / f"{name}.java", jars.classpath)
    line = [*java_with(jars, classes, client=client_of(sandbox)), name, *arguments]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def run(sandbox: Sandbox, name: str, *arguments: str) -> tuple[bool, str]:
    """True if it reproduced the bug, and its output."""
    with started(sandbox, name, *arguments) as process:
        printed, _ = process.communicate(timeout=60)
    assert process.returncode in {0, 1}, printed
    assert ("NOT REPRODUCED" in printed) is (process.returncode == 1)
    return process.returncode == 0, printed


def test_an_offsets_topic_of_its_own_hides_the_workers_offset(broker: Sandbox):
    if broker.spec.version < WITH_CONVERTER:
        with pytest.raises(ConfigError, match="readWriteStore"):
            run(broker, "NullShadow", broker.bootstrap_servers)
        return
    reproduced, printed = run(broker, "NullShadow", broker.bootstrap_servers)
    assert reproduced, printed
    assert 'workers\' topic:                     {"position":1000}' in printed
    assert "topic of its own:  none" in printed


def test_each_further_id_waits_a_back_off(broker: Sandbox):
    reproduced, printed = run(broker, "SerialFencing", broker.bootstrap_servers)
    assert reproduced is (broker.spec.version >= BACK_OFF), printed


def test_a_null_source_partition_is_written_and_not_found(broker: Sandbox):
    reproduced, printed = run(broker, "NullSourcePartition")
    assert reproduced is (broker.spec.version >= NULL_IS_LOST), printed
    assert "written: {position=1000}" in printed


@pytest.fixture
def two_brokers(kafka_version: str) -> Iterator[Sandbox]:
    with Sandbox(spec_of(kafka_version, brokers=2, broker_config=TWO_BROKERS)) as sandbox:
        yield sandbox


def test_a_marker_for_a_partition_without_leader_is_forgotten(two_brokers: Sandbox):
    servers, lines = two_brokers.bootstrap_servers.split(",")[0], []
    with started(two_brokers, "ForgottenMarkers", servers, "2") as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if line.startswith("STOP"):
                two_brokers.kill_broker(2)
            elif line.startswith("START"):
                two_brokers.start_broker(2)
        process.wait(30)
    forgets = two_brokers.spec.version >= FORGETS
    assert (process.returncode == 0) is forgets, lines
    assert any(("CompleteAbort" if forgets else "PrepareAbort") in line for line in lines), lines
    assert lines[-1].startswith("REPRODUCED" if forgets else "NOT REPRODUCED")


def test_an_id_is_lost_to_a_lowered_transaction_version_until_the_broker_restarts(kafka_version: str):
    lines = []
    with Sandbox(spec_of(kafka_version)) as sandbox:
        with started(sandbox, "LoweredTransactionVersion", sandbox.bootstrap_servers) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if line.startswith("RESTART"):
                    sandbox.stop_broker(1)
                    sandbox.start_broker(1)
            process.wait(30)
        loses = sandbox.spec.version >= TRANSACTION_VERSION
    assert (process.returncode == 0) is loses, lines
    assert lines[-1].startswith("REPRODUCED" if loses else "NOT REPRODUCED")
