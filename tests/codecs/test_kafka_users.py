"""ACLs merged into KafkaUsers: what lacks is added, nothing else is touched."""

import pytest
import yaml

from eosctl.codecs.strimzi import merge_kafka_users
from eosctl.errors import ConfigError
from eosctl.model.acls import CLUSTER, AclBinding, Operation, PatternType, group, topic, transactional_id

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


def test_what_lacks_is_added_and_every_other_line_stays():
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
