"""Connectors and users in files, as Strimzi and others keep them."""

import json
from hashlib import sha256

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from eosctl.codecs.connector_files import (
    config_digest,
    decode_connector,
    decode_connectors,
    decode_worker_file,
    decode_worker_properties,
    known_connector,
)
from eosctl.codecs.offsets_topic import offsets_in
from eosctl.codecs.strimzi import (
    altering_connector,
    changed_connector,
    connector_homes,
    listing_connector,
    merge_kafka_users,
)
from eosctl.codecs.yaml_text import (
    Address,
    addresses,
    append_document,
    append_items,
    remove_value,
    scalar_at,
    set_value,
)
from eosctl.errors import ConfigError
from eosctl.model.acls import CLUSTER, AclBinding, Operation, PatternType, group, topic, transactional_id
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
    with pytest.raises(ConfigError, match=r"f \(KafkaConnector bills\) has no label strimzi.io/cluster"):
        connector_homes(TWO.replace("  labels: {strimzi.io/cluster: c}\n", ""), "f")


def test_a_connector_gets_the_label_of_another_kafka_connect():
    assert changed(TWO, "orders", new_cluster="d")["metadata"]["labels"] == {"strimzi.io/cluster": "d"}


def test_records_to_write_are_offsets_and_a_tombstone_deletes():
    records = [OffsetsWrite(0, b'["c",{"f":1}]', b'{"p":2}', None), OffsetsWrite(0, b'["c",{"f":2}]', None, b"{}")]
    assert offsets_in(records) == (ConnectorOffset({"f": 1}, {"p": 2}), ConnectorOffset({"f": 2}, None))


USERS = """\
# users of the site
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata:
  name: worker   # the workers
  labels: {strimzi.io/cluster: prod}
spec:
  authentication: {type: tls}
  authorization:
    type: simple
    acls:
      # internal topics
      - resource: {type: topic, name: configs}
        operations: [Read, Write]
      - resource:
          type: group
          name: connect
          patternType: literal
        operation: All

      # nothing below
  quotas:
    producerByteRate: 1048576
"""
READ = AclBinding("User:CN=worker", Operation.READ, topic("configs"))
LEADER = AclBinding("User:CN=worker", Operation.WRITE, transactional_id("connect-cluster-g"))


def merged(text: str, *bindings: AclBinding) -> str:
    wanted: dict[str, list[AclBinding]] = {}
    for each in bindings:
        wanted.setdefault(each.principal, []).append(each)
    return merge_kafka_users(text, "users.yaml", wanted, "prod")


def test_a_user_who_has_everything_stays_byte_for_byte():
    in_group = AclBinding("User:CN=worker", Operation.READ, group("connect"))
    assert merged(USERS, READ, in_group) == USERS


def test_missing_rules_are_added_and_every_other_line_stays():
    prefixed = AclBinding("User:CN=worker", Operation.WRITE, transactional_id("g-", PatternType.PREFIXED))
    described = AclBinding("User:CN=worker", Operation.DESCRIBE_CONFIGS, topic("configs"))
    text = merged(USERS, READ, LEADER, prefixed, described, AclBinding("User:CN=worker", Operation.DESCRIBE, CLUSTER))
    kept = iter(text.splitlines())
    assert all(line in kept for line in USERS.splitlines())
    rules = yaml.safe_load(text)["spec"]["authorization"]["acls"]
    assert rules[:2] == yaml.safe_load(USERS)["spec"]["authorization"]["acls"]
    assert rules[2:] == [
        {
            "resource": {"type": "transactionalId", "name": "connect-cluster-g", "patternType": "literal"},
            "operations": ["Write"],
            "host": "*",
        },
        {
            "resource": {"type": "transactionalId", "name": "g-", "patternType": "prefix"},
            "operations": ["Write"],
            "host": "*",
        },
        {
            "resource": {"type": "topic", "name": "configs", "patternType": "literal"},
            "operations": ["DescribeConfigs"],
            "host": "*",
        },
        {"resource": {"type": "cluster"}, "operations": ["Describe"], "host": "*"},
    ]


def test_merging_twice_changes_nothing_more():
    once = merged(USERS, LEADER)
    assert merged(once, LEADER) == once


def test_a_user_who_is_not_there_is_added_in_the_version_of_the_others():
    first, second = yaml.safe_load_all(merged(USERS, AclBinding("User:orders", Operation.READ, topic("out"))))
    assert first == yaml.safe_load(USERS)
    assert (second["apiVersion"], second["metadata"]["name"]) == ("kafka.strimzi.io/v1", "orders")
    assert "authentication" not in second["spec"]


def test_a_user_without_authorization_gets_one():
    text = USERS[: USERS.index("  authorization")] + USERS[USERS.index("  quotas") :]
    spec = yaml.safe_load(merged(text, LEADER))["spec"]
    assert spec["authorization"]["type"] == "simple"
    assert [each["resource"]["name"] for each in spec["authorization"]["acls"]] == ["connect-cluster-g"]
    assert spec["quotas"] == {"producerByteRate": 1048576}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "{type: tls}",
            "{type: scram-sha-512}",
            "is User:worker by its authentication, and the ACLs are for",
        ),
        ("type: simple", "type: opa", r"has authorization of type opa; known is simple"),
        ("[Read, Write]", "[Read, Write]\n        type: deny", r"denies Read on .*configs"),
    ],
)
def test_a_user_that_would_not_get_what_is_needed_is_refused(old: str, new: str, said: str):
    with pytest.raises(ConfigError, match=said):
        merged(USERS.replace(old, new), READ)


HERE = Address(0)
CONNECTOR = """\
# the orders of all shops
kind: KafkaConnector
metadata:
  name: orders
spec:
    state: running   # since May
    config:
        topic: 'orders'  # a comment

        file: "/data"
    # the end of it
"""
PATH = ("spec", "config", "offsets.storage.topic")
KEYS = st.sampled_from(["a", "b", "on", "12:30", "x.y", "ü", "- z", "null"])
TEXTS = st.text(st.characters(max_codepoint=0x2FF, exclude_categories=["Cc"]), max_size=5)
SCALARS = st.one_of(TEXTS, st.integers(-9, 9), st.booleans(), st.none(), st.sampled_from(["a\nb\n", "# x"]))
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=9
)
MAPPINGS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    """A mapping as YAML in one of its styles, or as JSON."""
    data = draw(MAPPINGS)
    if draw(st.booleans()):
        return json.dumps(data, indent=draw(st.sampled_from([None, 2]))), data
    style = draw(st.sampled_from([False, None, True]))
    indent = draw(st.sampled_from([2, 4]))
    return yaml.safe_dump(data, default_flow_style=style, indent=indent, allow_unicode=True), data


def test_a_value_that_is_set_changes_its_own_bytes_only():
    assert set_value(CONNECTOR, HERE, ("spec", "state"), "stopped") == CONNECTOR.replace("running", "stopped")


def test_a_key_that_is_added_stands_behind_the_others_in_their_indentation():
    edited = set_value(CONNECTOR, HERE, PATH, "orders-offsets")
    line = "        offsets.storage.topic: orders-offsets\n"
    assert edited == CONNECTOR.replace('"/data"\n', f'"/data"\n{line}')
    assert remove_value(edited, HERE, PATH) == CONNECTOR


def test_removing_a_missing_value_leaves_the_text_unchanged():
    assert remove_value(CONNECTOR, HERE, PATH) == CONNECTOR


def test_missing_mappings_are_made():
    edited = set_value(CONNECTOR, HERE, ("metadata", "annotations", "strimzi.io/connector-offsets"), "alter")
    added = "  annotations:\n    strimzi.io/connector-offsets: alter\n"
    assert edited == CONNECTOR.replace("name: orders\n", f"name: orders\n{added}")


def test_line_ends_of_windows_stay():
    edited = set_value(CONNECTOR.replace("\n", "\r\n"), HERE, PATH, "t")
    assert "\r\n        offsets.storage.topic: t\r\n" in edited
    assert "\n" not in edited.replace("\r\n", "")


@pytest.mark.parametrize("empty", ["", " {}", " null"])
def test_an_empty_config_takes_a_key(empty: str):
    edited = set_value(f"spec:\n  class: x\n  config:{empty}\n  tasksMax: 1\n", HERE, PATH, "t")
    config = {"offsets.storage.topic": "t"}
    assert yaml.safe_load(edited) == {"spec": {"class": "x", "config": config, "tasksMax": 1}}


def test_an_item_of_a_list_of_resources_has_an_address_of_its_own():
    text = "kind: List\nitems:\n- {kind: A, metadata: {name: a}}\n- kind: B\n  metadata:\n    name: b\n---\nkind: C\n"
    found = list(addresses(text))
    assert [scalar_at(text, each, ("kind",)) for each in found] == ["A", "B", "C"]
    edited = set_value(set_value(text, found[1], ("spec", "state"), "stopped"), found[0], ("x",), 1)
    assert list(yaml.safe_load_all(edited)) == [
        {
            "kind": "List",
            "items": [
                {"kind": "A", "metadata": {"name": "a"}, "x": 1},
                {"kind": "B", "metadata": {"name": "b"}, "spec": {"state": "stopped"}},
            ],
        },
        {"kind": "C"},
    ]


def test_a_value_that_another_place_shares_is_not_edited():
    text = "a: &shared\n  x: 1\nspec:\n  config: *shared\n"
    with pytest.raises(ConfigError, match=r"spec.config is not a mapping of its own"):
        set_value(text, HERE, PATH, "t")


def test_an_alias_elsewhere_is_no_obstacle():
    text = "a: &shared\n  x: 1\nb: *shared\nspec:\n  config: {}\n"
    assert yaml.safe_load(set_value(text, HERE, PATH, "t"))["spec"] == {"config": {"offsets.storage.topic": "t"}}


@settings(max_examples=50)
@given(texts(), KEYS, SCALARS)
def test_a_key_is_set_in_every_style(made, key, value):
    text, data = made
    before = data.get(key)
    assume(not isinstance(before, list | dict) or not before)
    assume(not (isinstance(before, str) and "\n" in before))
    assert yaml.safe_load(set_value(text, HERE, (key,), value)) == {**data, key: value}


@settings(max_examples=50)
@given(texts(), VALUES)
def test_items_are_appended_in_every_style(made, item):
    text, data = made
    lists = [key for key, value in data.items() if isinstance(value, list)]
    assume(lists)
    edited = append_items(text, HERE, lists[:1], [item])
    assert yaml.safe_load(edited) == {**data, lists[0]: [*data[lists[0]], item]}


@settings(max_examples=50)
@given(texts())
def test_a_key_is_removed_in_every_style(made):
    text, data = made
    key = next(iter(data))
    assert yaml.safe_load(remove_value(text, HERE, (key,))) == {name: data[name] for name in data if name != key}


@settings(max_examples=50)
@given(texts(), MAPPINGS)
def test_a_document_is_appended(made, added):
    text, data = made
    assert list(yaml.safe_load_all(append_document(text, added))) == [data, added]


OTHER_HOME = TWO.replace("  labels: {strimzi.io/cluster: c}\n", "  labels: {strimzi.io/cluster: d}\n")
NO_HOME = TWO.replace("  labels: {strimzi.io/cluster: c}\n", "")


@pytest.mark.parametrize(("text", "named"), [(OTHER_HOME, "c, d"), (NO_HOME, "none, c")])
def test_a_file_with_connectors_of_two_connect_clusters_is_refused_and_names_them(text: str, named: str):
    assert [each.connect_cluster for each in decode_connectors(TWO, "f.yaml")] == ["c", "c"]
    with pytest.raises(
        ConfigError, match=rf"holds connectors of 2 Connect clusters \(label strimzi.io/cluster: {named}\)"
    ):
        decode_connectors(text, "f.yaml")


def test_a_file_for_one_connector_holds_one():
    one = '{"name":"c","config":{"connector.class":"C","tasks.max":2,"gone":null}}'
    assert decode_connector(one, "f") == {"name": "c", "connector.class": "C", "tasks.max": "2"}
    assert decode_connector('{"connector.class":"C"}', "f", name="c") == {"connector.class": "C"}
    with pytest.raises(ConfigError, match="f holds 2 connectors, not one"):
        decode_connector(
            f"[{one}, {one.replace('name', 'name', 1).replace(chr(34) + 'c' + chr(34), chr(34) + 'd' + chr(34))}]", "f"
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[5]", "f holds int where a connector's settings are expected"),
        ('{"name":"c","config":[1]}', "f: config is list, not an object of settings"),
        ('{"name":"c","config":{"connector.class":"C","a":{}}}', "f"),
    ],
)
def test_what_is_no_config_of_a_connector_is_refused(text: str, said: str):
    with pytest.raises(ConfigError, match=said):
        decode_connectors(text, "f")


@pytest.mark.parametrize(
    ("tasks_max", "refused"),
    [("2", False), (" 2 ", False), ("${env:TASKS}", False), ("x", True), ("-1", True), ("\u0662", True), ("1.0", True)],
)
def test_the_most_tasks_are_a_whole_number_or_a_reference(tasks_max: str, refused: bool):
    text = json.dumps({"name": "c", "config": {"connector.class": "C", "tasks.max": tasks_max}})
    if refused:
        with pytest.raises(ConfigError, match="not a whole number"):
            decode_connectors(text, "f")
    else:
        assert len(decode_connectors(text, "f")) == 1


def test_of_a_workers_settings_only_harmless_ones_of_clients_are_kept():
    text = "group.id=g\nproducer.linger.ms=5\nproducer.sasl.jaas.config=x\nown.setting=1\nlisteners=http://w:8083\n"
    found = decode_worker_properties(text, "f")
    assert found["group.id"] == "g"
    assert {"producer.sasl.jaas.config", "own.setting"}.isdisjoint(found)
    assert found.get("producer.linger.ms") == "5"


def test_a_digest_of_a_config_is_of_the_settings_that_are_given():
    digest = config_digest({"b": "2", "a": "1", "c": None})
    assert digest == config_digest({"a": "1", "b": "2"})
    assert digest == "sha256:" + sha256(b'{"a":"1","b":"2"}').hexdigest()


def test_of_a_running_connector_only_texts_and_numbers_are_settings():
    config = {"a": "x", "b": 2, "c": 1.5, "d": True, "e": None, "f": [1], "g": {"h": 1}}
    found = known_connector(config, "w:8083", "c").properties
    assert {key: each.value for key, each in found.items()} == {"a": "x", "b": "2", "c": "1.5", "d": "true"}
    assert found["a"].origin == "w:8083 a"


def test_a_mirrors_client_settings_go_to_its_clients_and_the_rest_to_its_clusters():
    text = "clusters = A, B\nA.bootstrap.servers = a:1\nB.bootstrap.servers = b:1\nA->B.enabled = true\n"
    more = "A.producer.linger.ms = 5\nA.admin.retries = 1\nA.retries = 2\nB.producer.linger.ms = 6\n"
    more += "bootstrap.servers = x:1\nproducer.acks = all\nconsumer.poll.timeout.ms = 5\n"
    [flow, *_] = decode_worker_file(text + more + "emit.heartbeats.enabled = false\n", "f")
    found = {key: each.value for key, each in flow.connectors[0].properties.items()}
    assert found["source.producer.linger.ms"] == "5"
    assert found["source.admin.retries"] == "1"
    assert found["source.cluster.retries"] == "2"
    assert found["target.producer.linger.ms"] == "6"
    assert found["consumer.poll.timeout.ms"] == "5"
    assert {"bootstrap.servers", "producer.acks", "A->B.enabled"}.isdisjoint(found)
    assert not [key for key in found if key.startswith(("source.cluster.producer", "source.retries"))]
