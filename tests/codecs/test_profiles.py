"""The file of profiles: keys that are added, lines that stay, and what a project's file may not say."""

import pytest

from eosctl.codecs.profiles import decode_profiles, require_no_references, with_profile_keys
from eosctl.codecs.yaml_text import block
from eosctl.errors import ConfigError

TEXT = "# mine\ncurrent: prod\nprofiles:\n  prod:\n    bootstrap-server: a:9092  # old\n    group-id: g\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "profiles:\n  dev:\n    group-id: h\n"),
        ("current: dev", "current: dev\nprofiles:\n  dev:\n    group-id: h\n"),
        ("current: dev\n", "current: dev\nprofiles:\n  dev:\n    group-id: h\n"),
    ],
)
def test_a_file_without_profiles_gets_them_on_lines_of_their_own(before, after) -> None:
    found = with_profile_keys(before, "dev", {"group-id": "h"}, "f")
    assert found.replace("'", "") == after
    assert decode_profiles(found, "f").profiles["dev"].group_id == "h"


def test_a_key_of_a_profile_is_replaced_and_the_other_lines_stay() -> None:
    found = with_profile_keys(TEXT, "prod", {"bootstrap-server": "b:9092", "audit-store": "s"}, "f")
    profile = decode_profiles(found, "f").profiles["prod"]
    assert (profile.bootstrap_server, profile.group_id, profile.audit_store) == ("b:9092", "g", "s")
    assert found.startswith("# mine\ncurrent: prod\nprofiles:\n  prod:\n")
    assert "a:9092" not in found


def test_a_profile_that_is_missing_is_added_beside_the_others() -> None:
    found = decode_profiles(with_profile_keys(TEXT, "dev", {"group-id": "h"}, "f"), "f")
    assert {name: each.group_id for name, each in found.profiles.items()} == {"prod": "g", "dev": "h"}
    assert found.current == "prod"


def test_keys_that_make_no_file_of_profiles_are_refused() -> None:
    with pytest.raises(ConfigError, match="timeout is 0, not a number of seconds"):
        with_profile_keys(TEXT, "prod", {"timeout": 0}, "f")


@pytest.mark.parametrize(
    ("key", "value", "refused"),
    [
        ("bootstrap-server", "a:9092", False),
        ("bootstrap-server", "${file:/x:y}", True),
        ("command-config", "${env:X}", True),
        ("group-id", "${file:/x:y}", True),
        ("audit-store", "${dir:/x:y}", True),
        ("connect-url", ["http://w:8083", "http://${file:/x:y}:8083"], True),
        ("connect-url", ["http://w:8083"], False),
        ("worker-config", ["w.properties", "${file:/x:y}"], True),
        ("properties", {"ssl.key.password": "${file:/x:y}"}, True),
        ("properties", {"config.providers": "file"}, True),
        ("properties", {"config.providers.file.class": "F"}, True),
        ("properties", {"client.id": "plain"}, False),
    ],
)
def test_a_project_s_file_refers_to_no_config_provider_in_any_of_its_keys(key, value, refused) -> None:
    profiles = decode_profiles(with_profile_keys("", "prod", {key: value}, "f"), "f")
    if refused:
        with pytest.raises(ConfigError, match=r"profile prod: .* refers to a config provider"):
            require_no_references(profiles, "f")
    else:
        require_no_references(profiles, "f")


@pytest.mark.parametrize(
    ("keys", "refused"),
    [
        ({"timeout": 0.5}, None),
        ({"timeout": 0}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"timeout": "5"}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": 10**9 + 1}, "timeout"),
        ({"protected": True}, None),
        ({"protected": "yes"}, "protected is 'yes'"),
        ({"discover-workers": 1}, "discover-workers is 1"),
    ],
)
def test_numbers_and_switches_of_a_profile_have_their_type(keys, refused) -> None:
    if refused is None:
        assert with_profile_keys("", "prod", keys, "f")
    else:
        with pytest.raises(ConfigError, match=refused):
            with_profile_keys("", "prod", keys, "f")


@pytest.mark.parametrize(
    ("keys", "field", "value"),
    [
        ({}, "timeout_s", None),
        ({"timeout": 1}, "timeout_s", 1.0),
        ({}, "protected", False),
        ({"protected": True}, "protected", True),
        ({}, "discover_workers", False),
        ({}, "connect_urls", ()),
        ({"connect-url": "http://a:1//"}, "connect_urls", ("http://a:1",)),
        ({"connect-url": ["", "http://a:1", None]}, "connect_urls", ("http://a:1",)),
        ({}, "worker_configs", ()),
        ({"worker-config": "w"}, "worker_configs", ("w",)),
        ({"worker-config": ["w", "", 5]}, "worker_configs", ("w", "5")),
        ({"group-id": 5}, "group_id", "5"),
        ({"cluster-id": (1 << 128) - 1}, "cluster_id", str((1 << 128) - 1)),
        ({"properties": {"linger": (1 << 128) - 1}}, "properties", {"linger": str((1 << 128) - 1)}),
        (
            {"properties": {"a": None, "b": True, "c": False, "d": 1.5}},
            "properties",
            {"a": "", "b": "true", "c": "false", "d": "1.5"},
        ),
        ({"audit-store": None}, "audit_store", None),
        ({"audit-store": "ledger.db"}, "audit_store", "ledger.db"),
        ({"audit-store": "postgresql://h/db"}, "audit_store", "postgresql://h/db"),
        ({"audit-store": "postgresql://u@h/db"}, "audit_store", "postgresql://u@h/db"),
        ({"audit-store": "postgresql://u:${env:P}@h/db"}, "audit_store", "postgresql://u:${env:P}@h/db"),
        ({"audit-store": "u@h"}, "audit_store", "u@h"),
        ({"waivers": []}, "waivers", ()),
    ],
)
def test_a_key_of_a_profile_gives_its_value_or_its_default(keys, field, value) -> None:
    assert getattr(decode_profiles(block({"profiles": {"p": keys}}), "f").profiles["p"], field) == value


WAIVER = {"id": "EOS080", "subject": "a", "owner": "o", "reason": "r", "expires": "2026-12-31"}


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"audit-store": "postgresql://u:p@h/db"}, "f: profile p: audit-store holds a password"),
        ({"audit-store": "u:p@h"}, "f: profile p: audit-store holds a password"),
        ({"audit-store": "u:p://q@h"}, "f: profile p: audit-store holds a password"),
        ({"audit-store": "postgresql://u:p@h@i/db"}, "f: profile p: audit-store holds a password"),
        ({"connect-url": "http://u@h"}, "f: profile p: connect-url holds a user and password"),
        ({"group-id": 1.5}, "f: profile p: group-id is not text"),
        ({"cluster-id": 1 << 128}, "f: profile p: cluster-id is a number beyond all limits"),
        ({"cluster-id": -(1 << 128)}, "f: profile p: cluster-id is a number beyond all limits"),
        ({"properties": {"a": 1 << 128}}, "f: profile p: properties is a number beyond all limits"),
        ({"properties": []}, "f: profile p: properties is not a mapping of keys to values"),
        *(
            (
                {"waivers": [{key: WAIVER[key] for key in WAIVER if key != missing}]},
                f"f: profile p: waiver 1 has no {missing}",
            )
            for missing in ("id", "subject", "owner", "reason")
        ),
        ({"waivers": [WAIVER, {**WAIVER, "owner": ""}]}, "f: profile p: waiver 2 has no owner"),
        ({"waivers": [{**WAIVER, "expires": 5}]}, "f: profile p: waiver 1: expires is not a day"),
        ({"waivers": [{**WAIVER, "expires": None}]}, "f: profile p: waiver 1: expires is not a day"),
    ],
)
def test_a_value_that_a_profile_may_not_have_is_refused_with_its_place(keys, says) -> None:
    with pytest.raises(ConfigError) as caught:
        decode_profiles(block({"profiles": {"p": keys}}), "f")
    assert caught.value.message == says


def test_any_name_is_one_of_a_profile_and_none_need_be_there() -> None:
    assert set(decode_profiles("profiles: {timeouts: }", "f").profiles) == {"timeouts"}
    assert decode_profiles("", "f").profiles == {}
    assert decode_profiles("profiles: ", "f").current is None
