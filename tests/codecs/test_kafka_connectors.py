"""KafkaConnectors that are changed: what `kubectl get` adds is left out, comments stay."""

import json

import pytest
import yaml

from eosctl.codecs.offsets_topic import offsets_in
from eosctl.codecs.strimzi import altering_connector, changed_connector, connector_homes, listing_connector
from eosctl.errors import ConfigError
from eosctl.model.offsets import ConnectorOffset
from eosctl.model.plan import OffsetsWrite

TWO = """\
# two shops
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata: {name: orders, namespace: kafka, resourceVersion: "7", uid: u-1, labels: {strimzi.io/cluster: c}}
spec:
  class: x.Source
  state: running  # since May
  config:
    topic: orders
    offsets.storage.topic: old
status:
  observedGeneration: 1
---
# the bills
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata:
  name: bills
  labels: {strimzi.io/cluster: c}
spec:
  class: x.Source
  pause: true
"""
LISTED = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": list(yaml.safe_load_all(TWO))})


MIRROR = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaMirrorMaker2
metadata: {name: mirror, namespace: kafka}
spec:
  target: {alias: east, bootstrapServers: "east:9092"}
  mirrors:
  - source: {alias: west, bootstrapServers: "west:9092"}
    sourceConnector: {}  # all topics
    checkpointConnector:
      state: stopped
      config:
        sync.group.offsets.enabled: true
"""


def changed(text: str, name: str, **more: object) -> dict:
    return yaml.safe_load(changed_connector(text, name, **{"state": "stopped", "settings": {}, **more}))


def states(text: str) -> dict[str, str]:
    return {name: home.state for name, home in connector_homes(text, "f").items()}


def test_states_are_those_of_the_resources():
    assert states(TWO) == {"orders": "running", "bills": "paused"}
    assert states(TWO.replace("  state: running  # since May\n", ""))["orders"] == "running"
    assert states(MIRROR) == {
        "west->east.MirrorSourceConnector": "running",
        "west->east.MirrorCheckpointConnector": "stopped",
    }


def test_a_connector_becomes_a_file_of_its_own_with_its_comments():
    text = changed_connector(TWO, "orders", state="stopped", settings={"offsets.storage.topic": "new"})
    first = TWO[: TWO.index("status:")].replace(', resourceVersion: "7", uid: u-1', "")
    assert text == first.replace("state: running", "state: stopped").replace("topic: old", "topic: new")
    assert changed_connector(TWO, "bills", state="stopped", settings={}).startswith("# the bills\napiVersion")


@pytest.mark.parametrize("text", [TWO, LISTED])
def test_a_setting_is_taken_away_and_a_name_changed(text: str):
    resource = changed(text, "orders", settings={"offsets.storage.topic": None}, new_name="orders2")
    assert resource["metadata"] == {"name": "orders2", "namespace": "kafka", "labels": {"strimzi.io/cluster": "c"}}
    assert resource["spec"] == {"class": "x.Source", "state": "stopped", "config": {"topic": "orders"}}
    assert "status" not in resource


def test_a_connector_without_config_gets_one():
    assert changed(TWO, "bills", settings={"a": "b"})["spec"]["config"] == {"a": "b"}


def test_offsets_go_into_the_config_map_that_the_operator_alters_them_from():
    stopped = changed_connector(TWO, "orders", state="stopped", settings={})
    resource, config_map = yaml.safe_load_all(
        altering_connector(stopped, "orders", [ConnectorOffset({"f": 1}, {"p": 2})])
    )
    assert resource["metadata"]["annotations"] == {"strimzi.io/connector-offsets": "alter"}
    assert resource["spec"]["alterOffsets"] == {"fromConfigMap": {"name": config_map["metadata"]["name"]}}
    assert config_map["metadata"] == {"name": "orders-offsets", "namespace": "kafka"}
    assert json.loads(config_map["data"]["offsets.json"]) == {"offsets": [{"partition": {"f": 1}, "offset": {"p": 2}}]}
    listed = yaml.safe_load(listing_connector(stopped, "orders"))
    assert listed["metadata"]["annotations"] == {"strimzi.io/connector-offsets": "list"}
    assert listed["spec"]["listOffsets"] == {"toConfigMap": {"name": "orders-offsets-before"}}


def test_a_connector_of_mirror_maker_is_changed_in_its_resource_and_the_others_stay():
    source, own = "west->east.MirrorSourceConnector", {"offsets.storage.topic": "own"}
    text = changed_connector(MIRROR, source, state="stopped", settings=own)
    mirror, before = yaml.safe_load(text)["spec"]["mirrors"][0], yaml.safe_load(MIRROR)["spec"]["mirrors"][0]
    assert mirror == before | {"sourceConnector": {"state": "stopped", "config": own}}
    emptied = changed_connector(
        text, "west->east.MirrorCheckpointConnector", state="running", settings={"sync.group.offsets.enabled": None}
    )
    assert yaml.safe_load(emptied)["spec"]["mirrors"][0] == mirror | {
        "checkpointConnector": {"state": "running", "config": {}}
    }


def test_offsets_of_a_connector_of_mirror_maker_are_altered_by_its_name():
    name = "west->east.MirrorSourceConnector"
    resource, config_map = yaml.safe_load_all(altering_connector(MIRROR, name, [ConnectorOffset({"f": 1}, None)]))
    assert resource["metadata"]["annotations"] == {
        "strimzi.io/connector-offsets": "alter",
        "strimzi.io/mirrormaker-connector": name,
    }
    [mirror] = resource["spec"]["mirrors"]
    assert mirror["sourceConnector"] == {"alterOffsets": {"fromConfigMap": {"name": "mirror-offsets"}}}
    assert list(config_map["data"]) == ["west--east.MirrorSourceConnector.json"]


def test_a_connector_that_no_operator_carries_out_is_refused():
    with pytest.raises(ConfigError, match=r"f \(KafkaConnector bills\) lacks the label strimzi.io/cluster"):
        connector_homes(TWO.replace("  labels: {strimzi.io/cluster: c}\n", ""), "f")


def test_a_connector_gets_the_label_of_another_kafka_connect():
    assert changed(TWO, "orders", new_cluster="d")["metadata"]["labels"] == {"strimzi.io/cluster": "d"}


def test_records_to_write_are_offsets_and_a_tombstone_deletes():
    records = [OffsetsWrite(0, b'["c",{"f":1}]', b'{"p":2}', None), OffsetsWrite(0, b'["c",{"f":2}]', None, b"{}")]
    assert offsets_in(records) == (ConnectorOffset({"f": 1}, {"p": 2}), ConnectorOffset({"f": 2}, None))
