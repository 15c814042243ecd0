"""The file of profiles is read strictly, and holds no secret."""

import contextlib
import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.profiles import decode_profiles
from eosctl.errors import ConfigError
from eosctl.model.profile import Profiles
from eosctl.model.report import Waiver

FULL = """
current: staging
profiles:
  staging:
    bootstrap-server: a:9093,b:9093
    command-config: client.properties
    connect-url: [https://one:8083/, https://two:8083]
    group-id: connect
    timeout: 5
    cluster-id: abc
    protected: true
    discover-workers: true
    properties:
      client.rack: r1
      enable.idempotence: true
      ssl.key.password: env:KEY_PASSWORD
      ssl.keystore.password: file:/run/secrets/store
      sasl.jaas.config: x.Y required username="u" password="${env:PASSWORD}";
  empty:
"""


def test_every_key_is_read():
    read = decode_profiles(FULL, "config.yaml")
    assert read.current == "staging"
    assert set(read.profiles) == {"staging", "empty"}
    staging = read.profiles["staging"]
    assert staging.bootstrap_server == "a:9093,b:9093"
    assert staging.command_config == "client.properties"
    assert staging.connect_urls == ("https://one:8083", "https://two:8083")
    assert (staging.group_id, staging.timeout_s, staging.cluster_id) == ("connect", 5.0, "abc")
    assert staging.protected
    assert staging.discover_workers
    assert not read.profiles["empty"].protected
    assert not read.profiles["empty"].discover_workers


def test_secrets_become_references_and_other_values_text():
    properties = decode_profiles(FULL, "config.yaml").profiles["staging"].properties
    assert properties["client.rack"] == "r1"
    assert properties["enable.idempotence"] == "true"
    assert properties["ssl.key.password"] == "${env:KEY_PASSWORD}"
    assert properties["ssl.keystore.password"] == "${dir:/run/secrets:store}"
    assert "${env:PASSWORD}" in properties["sasl.jaas.config"]


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("profile: {}", "f: profile is unknown", "did you mean profiles?"),
        (
            "profiles: {a: {bootstrap-servers: x}}",
            "f: profile a: bootstrap-servers is unknown",
            "did you mean bootstrap-server?",
        ),
        ("profiles: {a: {zzz: x}}", "f: profile a: zzz is unknown", "known are bootstrap-server"),
        ("profiles: {a: {}, a: {}}", "f: line 1: a is given twice", None),
        ("profiles: [a]", "f: profiles is not a mapping", None),
        ("profiles: {a: {timeout: soon}}", "f: profile a: timeout is not a number of seconds", None),
        ("profiles: {a: {protected: 1}}", "f: profile a: protected is true or false", None),
        ("profiles: {a: {discover-workers: x}}", "f: profile a: discover-workers is true or false", None),
        ("profiles: {a: {group-id: [x]}}", "f: profile a: group-id is not text", None),
        (
            "profiles: {a: {properties: {ssl.key.password: geheim}}}",
            "f: profile a: properties: ssl.key.password is a secret",
            "write env:NAME or file:PATH",
        ),
        ("profiles: {a: {connect-url: 'https://u:geheim@h'}}", "connect-url holds a user and password", "by|env:NAME"),
        ("a: [", "f: line 1: this is not YAML", None),
        ("!!python/object/apply:os.system [geheim]", "f: line 1: this is not YAML", None),
    ],
)
def test_what_is_wrong_is_said(text, says, hint):
    with pytest.raises(ConfigError, match=says) as caught:
        decode_profiles(text, "f")
    assert "geheim" not in caught.value.message.replace("system [geheim]", "")
    if hint is not None:
        assert any(part in str(caught.value.hint) for part in hint.split("|"))


@given(st.text(max_size=60))
def test_any_text_is_profiles_or_a_config_error(text):
    with contextlib.suppress(ConfigError):
        assert isinstance(decode_profiles(text, "f"), Profiles)


def test_the_nearer_file_wins_by_name():
    near = decode_profiles("profiles: {a: {group-id: near}}", "near")
    far = decode_profiles("current: b\nprofiles: {a: {group-id: far}, b: {}}", "far")
    merged = near.over(far)
    assert merged.current == "b"
    assert merged.profiles["a"].group_id == "near"
    assert set(merged.profiles) == {"a", "b"}


WAIVED = """
profiles:
  prod:
    waivers:
      - {id: EOS080, subject: "legacy-*", owner: team-data, reason: kept until the move, expires: 2026-12-31}
      - {id: shadowed-offset, subject: orders, owner: ops, reason: "42", expires: "2027-01-31"}
"""


def test_waivers_are_read_with_their_last_day():
    first, second = decode_profiles(WAIVED, "f").profiles["prod"].waivers
    assert first == Waiver("EOS080", "legacy-*", "team-data", "kept until the move", date(2026, 12, 31))
    assert (second.finding, second.expires) == ("shadowed-offset", date(2027, 1, 31))


@pytest.mark.parametrize(
    ("waiver", "says"),
    [
        ("{id: EOS080, subject: a, owner: b, reason: c}", "waiver 1: expires is not a day"),
        ("{id: EOS080, subject: a, owner: b, reason: c, expires: soon}", "waiver 1: expires is not a day"),
        ("{id: EOS080, subject: a, owner: b, reason: c, expires: 2026-12-31T10:00:00}", "expires is not a day"),
        ("{id: EOS080, subject: a, owner: b, expires: 2026-12-31}", "waiver 1 has no reason"),
        ("{id: EOS080, subject: '', owner: b, reason: c, expires: 2026-12-31}", "waiver 1 has no subject"),
        ("{id: EOS080, subjects: a, owner: b, reason: c, expires: 2026-12-31}", "subjects is unknown"),
        ("EOS080", "waiver 1 is not a mapping"),
    ],
)
def test_a_waiver_without_a_subject_owner_reason_or_end_is_none(waiver, says):
    with pytest.raises(ConfigError, match=re.escape(says)):
        decode_profiles(f"profiles: {{prod: {{waivers: [{waiver}]}}}}", "f")
