"""The same Connect clusters twice: as properties and JSON, and as Strimzi's resources."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
CLIENTS = ("", "producer.", "consumer.", "admin.")


def scram(prefix: str, user: str, password: str) -> dict[str, str]:
    """Client settings of a user with SCRAM over TLS."""
    return {
        f"{prefix}security.protocol": "SASL_SSL",
        f"{prefix}sasl.mechanism": "SCRAM-SHA-512",
        f"{prefix}sasl.jaas.config": f'{SCRAM} required username="{user}" password="{password}";',
    }


@dataclass(frozen=True)
class Shape:
    """One Connect cluster in both forms; connectors_yaml is empty where the first resource has them."""

    worker: Mapping[str, str]
    connectors: tuple[Mapping[str, str], ...]
    worker_yaml: str
    connectors_yaml: str = ""

    def as_properties(self, folder: Path) -> list[str]:
        """The options that name the files of the first form."""
        (folder / "worker.properties").write_text("".join(f"{key}={value}\n" for key, value in self.worker.items()))
        (folder / "connectors.json").write_text(json.dumps(self.connectors))
        return [
            *("--worker-config", str(folder / "worker.properties")),
            *("--connector-config", str(folder / "connectors.json")),
        ]

    def as_resources(self, folder: Path) -> list[str]:
        """The resources of the second form."""
        (folder / "connect.yaml").write_text(self.worker_yaml)
        options = ["--worker-config", str(folder / "connect.yaml")]
        if self.connectors_yaml:
            (folder / "connectors.yaml").write_text(self.connectors_yaml)
            options += ["--connector-config", str(folder / "connectors.yaml")]
        return options


PLAIN = Shape(
    {
        **{"bootstrap.servers": "kafka:9092", "group.id": "connect-cluster"},
        **{f"{each}.storage.topic": f"connect-cluster-{each}s" for each in ("config", "offset")},
        "status.storage.topic": "connect-cluster-status",
        "exactly.once.source.support": "enabled",
    },
    (
        {
            "name": "orders",
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "tasks.max": "2",
            **{"file": "/data/orders", "topic": "orders", "batch.size": "100"},
        },
    ),
    """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnect
metadata:
  name: my-connect
  annotations:
    strimzi.io/use-connector-resources: "true"
spec:
  replicas: 1
  bootstrapServers: kafka:9092
  config:
    exactly.once.source.support: enabled
    rest.port: 9999  # the operator leaves it out
""",
    """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaConnector
metadata:
  name: orders
  labels:
    strimzi.io/cluster: my-connect
spec:
  class: org.apache.kafka.connect.file.FileStreamSourceConnector
  tasksMax: 2
  config:
    file: /data/orders
    topic: orders
    batch.size: 100
status:
  observedGeneration: 1
  connectorStatus: {name: orders, connector: {state: RUNNING}}
""",
)

_DEBEZIUM = "io.debezium.connector.postgresql.PostgresConnector"
THREE_PRINCIPALS = Shape(
    {
        **{"bootstrap.servers": "kafka:9093", "group.id": "site", "exactly.once.source.support": "preparing"},
        **{f"{each}.storage.topic": f"site-{each}" for each in ("config", "offset", "status")},
        **{key: value for client in CLIENTS for key, value in scram(client, "worker", "x").items()},
        "consumer.client.rack": "${strimzidir:/opt/kafka/init:rack.id}",
    },
    (
        {
            "name": "bills",
            "connector.class": _DEBEZIUM,
            "tasks.max": "1",
            "topic.prefix": "bills",
            "offsets.storage.topic": "bills-offsets",
            **scram("producer.override.", "bills", "${secrets:site/bills:password}"),
            **scram("admin.override.", "fencing", "${secrets:site/fencing:password}"),
        },
    ),
    """\
apiVersion: v1
kind: List
items:
- apiVersion: kafka.strimzi.io/v1
  kind: KafkaConnect
  metadata:
    name: site
    namespace: site
    generation: 4
    annotations: {strimzi.io/use-connector-resources: "true"}
  spec:
    version: 4.1.0
    replicas: 3
    bootstrapServers: kafka:9093
    groupId: site
    configStorageTopic: site-config
    offsetStorageTopic: site-offset
    statusStorageTopic: site-status
    rack: {topologyKey: topology.kubernetes.io/zone}
    tls:
      trustedCertificates: [{secretName: my-cluster-cluster-ca-cert, pattern: "*.crt"}]
    authentication:
      type: scram-sha-512
      username: worker
      passwordSecret: {secretName: worker, password: password}
    build:
      output: {type: docker, image: registry.example.com/connect:1}
      plugins:
      - name: debezium
        artifacts: [{type: maven, group: io.debezium, artifact: debezium-connector-postgres, version: 3.1.0.Final}]
    config:
      exactly.once.source.support: preparing
  status: {observedGeneration: 4}
- apiVersion: kafka.strimzi.io/v1
  kind: KafkaConnector
  metadata: {name: bills, namespace: site, labels: {strimzi.io/cluster: site}}
  spec:
    class: io.debezium.connector.postgresql.PostgresConnector
    tasksMax: 1
    config: &config
      topic.prefix: bills
      offsets.storage.topic: bills-offsets
      producer.override.security.protocol: SASL_SSL
      producer.override.sasl.mechanism: SCRAM-SHA-512
      producer.override.sasl.jaas.config: org.apache.kafka.common.security.scram.ScramLoginModule required
        username="bills" password="${secrets:site/bills:password}";
      admin.override.security.protocol: SASL_SSL
      admin.override.sasl.mechanism: SCRAM-SHA-512
      admin.override.sasl.jaas.config: org.apache.kafka.common.security.scram.ScramLoginModule required
        username="fencing" password="${secrets:site/fencing:password}";
""",
)

_MIRROR = "org.apache.kafka.connect.mirror"
_SIDES = {
    "source.cluster.alias": "west",
    "source.cluster.bootstrap.servers": "west:9092",
    "source.cluster.security.protocol": "SASL_PLAINTEXT",
    "source.cluster.sasl.mechanism": "PLAIN",
    "source.cluster.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="mirror-west" password="x";',
    "target.cluster.alias": "east",
    "target.cluster.bootstrap.servers": "east:9092",
    **scram("target.cluster.", "mirror-east", "x"),
}
MIRROR_MAKER_2 = Shape(
    {
        **{"bootstrap.servers": "east:9092", "group.id": "mirrormaker2-cluster"},
        **{f"{each}.storage.topic": f"mirrormaker2-cluster-{each}s" for each in ("config", "offset")},
        "status.storage.topic": "mirrormaker2-cluster-status",
        "exactly.once.source.support": "enabled",
        **{key: value for client in CLIENTS for key, value in scram(client, "mirror-east", "x").items()},
    },
    (
        {
            "name": "west->east.MirrorSourceConnector",
            "connector.class": f"{_MIRROR}.MirrorSourceConnector",
            "tasks.max": "3",
            "topics": "orders|bills",
            "groups": ".*",
            **_SIDES,
        },
        {
            "name": "west->east.MirrorCheckpointConnector",
            "connector.class": f"{_MIRROR}.MirrorCheckpointConnector",
            "topics": "orders|bills",
            "groups": ".*",
            **_SIDES,
        },
    ),
    """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
metadata:
  name: mirror
spec:
  replicas: 2
  connectCluster: east
  clusters:
  - alias: west
    bootstrapServers: west:9092
    authentication:
      type: plain
      username: mirror-west
      passwordSecret: {secretName: west, password: password}
  - alias: east
    bootstrapServers: east:9092
    tls: {}
    authentication:
      type: scram-sha-512
      username: mirror-east
      passwordSecret: {secretName: east, password: password}
    config: {exactly.once.source.support: enabled}
  mirrors:
  - sourceCluster: west
    targetCluster: east
    topicsPattern: orders|bills
    groupsPattern: .*
    sourceConnector: {tasksMax: 3}
    checkpointConnector: {}
""",
)
MIRROR_MAKER_2_V1 = Shape(
    MIRROR_MAKER_2.worker,
    MIRROR_MAKER_2.connectors,
    """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaMirrorMaker2
metadata:
  name: mirror
spec:
  replicas: 2
  target:
    alias: east
    bootstrapServers: east:9092
    groupId: mirrormaker2-cluster
    configStorageTopic: mirrormaker2-cluster-configs
    offsetStorageTopic: mirrormaker2-cluster-offsets
    statusStorageTopic: mirrormaker2-cluster-status
    tls: {}
    authentication:
      type: scram-sha-512
      username: mirror-east
      passwordSecret: {secretName: east, password: password}
    config: {exactly.once.source.support: enabled}
  mirrors:
  - source:
      alias: west
      bootstrapServers: west:9092
      authentication:
        type: plain
        username: mirror-west
        passwordSecret: {secretName: west, password: password}
    topicsPattern: orders|bills
    groupsPattern: .*
    sourceConnector: {tasksMax: 3}
    checkpointConnector: {}
""",
)
SHAPES = {
    "plain": PLAIN,
    "three-principals": THREE_PRINCIPALS,
    "mirror-maker-2": MIRROR_MAKER_2,
    "mirror-maker-2-v1": MIRROR_MAKER_2_V1,
}
