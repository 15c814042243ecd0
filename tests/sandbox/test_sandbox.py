"""Real brokers and workers: they start, answer, and obey ACLs."""

import subprocess

import httpx
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from eosctl.errors import UsageError
from tests.jvm import jars_of, java_with
from tests.kafka_versions import workers_of
from tests.topics import make_topic
from tests.waiting import eventually

pytestmark = pytest.mark.kafka

LINES = [f"line {number}" for number in range(50)]


def sasl(sandbox, user):
    return {
        "bootstrap.servers": sandbox.sasl_bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": sandbox.users[user],
    }


def admin(sandbox):
    return AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})


def create_topic(sandbox, name, replication=1):
    client = admin(sandbox)
    make_topic(client, NewTopic(name, 1, replication))


def topics(sandbox):
    return set(admin(sandbox).list_topics(timeout=30).topics)


def read_committed(sandbox, topic, count):
    consumer = Consumer(
        {
            "bootstrap.servers": sandbox.bootstrap_servers,
            "group.id": f"reader-of-{topic}",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    values = []
    eventually(lambda: values.extend(m.value().decode() for m in consumer.consume(100, 0.2)) or len(values) >= count)
    consumer.close()
    return values


def start_file_source(sandbox, name, file, topic):
    config = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "1",
        "file": str(file),
        "topic": topic,
    }
    answer = httpx.put(f"{sandbox.connect_urls[0]}/connectors/{name}/config", json=config, timeout=60, verify=False)
    assert answer.status_code == 201, answer.text


def test_an_exactly_once_worker_of_each_version_copies_a_file(kafka_version, moves_home, fresh_name, tmp_path):
    name = fresh_name("copier")
    source = tmp_path / "lines.txt"
    source.write_text("".join(f"{line}\n" for line in LINES))
    create_topic(moves_home, name)
    start_file_source(moves_home, name, source, name)
    assert read_committed(moves_home, name, len(LINES)) == LINES
    assert httpx.get(moves_home.connect_urls[0], verify=False).json()["version"] == workers_of(kafka_version)
    assert f"connect-cluster-{name}-0" in transactional_ids(moves_home)
    connector = f"{moves_home.connect_urls[0]}/connectors/{name}"
    eventually(lambda: httpx.delete(connector, timeout=60, verify=False).status_code == 204)


def transactional_ids(sandbox):
    """As Kafka's own tool lists them."""
    tool = [*java_with(jars_of(sandbox)), "org.apache.kafka.tools.TransactionsCommand"]
    listed = subprocess.run(
        [*tool, "--bootstrap-server", sandbox.bootstrap_servers, "list"], capture_output=True, text=True, check=True
    )
    return {line.split()[0] for line in listed.stdout.splitlines()[1:] if line.strip()}


def test_the_connectors_on_the_plugin_path_are_those_promised(connect_sandbox):
    plugins = httpx.get(f"{connect_sandbox.connect_urls[0]}/connector-plugins", verify=False).json()
    names = {plugin["class"].rpartition(".")[2] for plugin in plugins}
    assert {"FileStreamSourceConnector", "FileStreamSinkConnector", "MirrorSourceConnector"} <= names


def write(sandbox, user, topic):
    failures = []
    producer = Producer({**sasl(sandbox, user), "message.timeout.ms": 10000})
    producer.produce(topic, b"value", on_delivery=lambda error, _: failures.append(error))
    producer.flush(20)
    return failures


def test_a_sasl_user_may_do_nothing_until_an_acl_allows_it(sandbox, fresh_name):
    topic = fresh_name("guarded")
    create_topic(sandbox, topic)
    (denied,) = write(sandbox, "connector", topic)
    assert denied.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    binding = AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        "User:connector",
        "*",
        AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )
    client = admin(sandbox)
    client.create_acls([binding])[binding].result(20)
    eventually(lambda: write(sandbox, "connector", topic) == [None])


def test_a_wrong_password_is_refused(sandbox):
    errors = []
    client = AdminClient({**sasl(sandbox, "tool"), "sasl.password": "wrong", "error_cb": errors.append})
    with pytest.raises(KafkaException):
        client.list_topics(timeout=3)
    eventually(lambda: client.poll(0.1) is not None and any(e.code() == KafkaError._AUTHENTICATION for e in errors))


def test_javas_tools_are_let_in_with_the_client_properties(sandbox, tmp_path):
    config = tmp_path / "tool.properties"
    config.write_text(sandbox.client_properties("tool"))
    assert (sandbox.directory / "clients" / "tool.properties").read_text() == config.read_text()
    tool = [*java_with(jars_of(sandbox)), "org.apache.kafka.tools.TransactionsCommand"]
    where = ["--bootstrap-server", sandbox.sasl_bootstrap_servers, "--command-config", str(config)]
    ran = subprocess.run([*tool, *where, "list"], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"]


def test_missing_client_properties_are_a_usage_error(sandbox):
    with pytest.raises(UsageError, match="no user 'nobody'"):
        sandbox.client_properties("nobody")
