"""The file of profiles: keys that are added, lines that stay, and what a project's file may not say."""

import pytest

from eosctl.codecs.profiles import decode_profiles, require_no_references, with_profile_keys
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
    with pytest.raises(ConfigError, match="timeout is not a number of seconds"):
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
        ({"protected": True}, None),
        ({"protected": "yes"}, "protected is true or false"),
        ({"discover-workers": 1}, "discover-workers is true or false"),
    ],
)
def test_numbers_and_switches_of_a_profile_have_their_type(keys, refused) -> None:
    if refused is None:
        assert with_profile_keys("", "prod", keys, "f")
    else:
        with pytest.raises(ConfigError, match=refused):
            with_profile_keys("", "prod", keys, "f")
