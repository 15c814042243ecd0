"""Properties of clients and workers: files, secrets, providers and profiles."""

import contextlib
import re
import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs import profiles
from eosctl.codecs.client_properties import (
    KNOWN,
    LoginModule,
    client_properties,
    decode_jaas,
    mask_all_but_principals,
    resolve_references,
)
from eosctl.codecs.connector_files import advertised_address, decode_worker_properties
from eosctl.codecs.profiles import decode_profiles
from eosctl.codecs.properties import ENCODING, decode_properties, encode_properties
from eosctl.codecs.secrets import HIDDEN, mask_properties, mask_text, mask_url
from eosctl.errors import ConfigError, UsageError
from eosctl.model.client_properties import Property, SecurityProtocol
from eosctl.model.profile import Profiles
from eosctl.model.report import Waiver
from eosctl.sources.config_providers import look_up

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="tool" password="s3cret!";'
SASL = f"""
# the cluster's own file
security.protocol=SASL_SSL
sasl.mechanism = PLAIN
sasl.jaas.config={PLAIN}
bootstrap.servers=a:9092,b:9093
ssl.truststore.type=PEM
"""


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("a=b", {"a": "b"}),
        ("  a : b ", {"a": "b "}),
        ("a b", {"a": "b"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("a\\ b=c", {"a b": "c"}),
        ("a", {"a": ""}),
        ("=b", {"": "b"}),
        ("a==b", {"a": "=b"}),
        ("a=1\na=2", {"a": "2"}),
        ("! no\n # no\n\f#no\na=#yes", {"a": "#yes"}),
        ("a=b\\\n   c\\\n#d", {"a": "bc#d"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=\\u00fc\\t\\n\\q", {"a": "ü\t\nq"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a=b\r\nc=d\re=f", {"a": "b", "c": "d", "e": "f"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text, decoded):
    assert decode_properties(text, origin="file") == decoded


def test_a_bad_unicode_escape_names_the_file_and_not_the_password():
    with pytest.raises(ConfigError, match=r"client\.properties has a \\u") as caught:
        decode_properties("password=geheim\\u12", origin="client.properties")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        (
            PLAIN,
            [("org.apache.kafka.common.security.plain.PlainLoginModule", {"username": "tool", "password": "s3cret!"})],
        ),
        ("a.B REQUIRED;", [("a.B", {})]),
        ('a.B required k=\'v w\' l="x\\"y\\\\z";', [("a.B", {"k": "v w", "l": 'x"y\\z'})]),
        ("a.B required k=v; c.D optional m=n;", [("a.B", {"k": "v"}), ("c.D", {"m": "n"})]),
        ("a.B required // note\n k=v /* k=w */ ;", [("a.B", {"k": "v"})]),
        ('a.B required k="a;b=c//d";', [("a.B", {"k": "a;b=c//d"})]),
        ('a.B required k="\\101\\t";', [("a.B", {"k": "A\t"})]),
    ],
)
def test_login_modules_are_read_as_kafka_reads_them(text, modules):
    assert [(module.name, module.options) for module in decode_jaas(text)] == modules


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no login module"),
        ("a.B", "a control flag"),
        ("a.B always;", "a control flag"),
        ("a.B required k=v", "`;` at the end"),
        ("a.B required k;", "= after option k"),
        ("a.B required k=;", "a value for option k"),
        ("a.B required password=1geheim;", "quotes around a value"),
        ('a.B required password="geheim;', "a closing quote"),
    ],
)
def test_a_malformed_jaas_configuration_is_reported_without_the_password(text, says):
    with pytest.raises(ConfigError, match=says) as caught:
        decode_jaas(text)
    assert "geheim" not in str(caught.value)


def test_a_login_module_does_not_show_its_options():
    assert "geheim" not in repr(LoginModule("a.B", "required", {"password": "geheim"}))


@given(st.text(max_size=60))
def test_any_text_is_properties_and_jaas_or_a_config_error(text):
    for decode in (lambda: decode_properties(text, origin="file"), lambda: decode_jaas(text)):
        with contextlib.suppress(ConfigError):
            decode()


def test_the_command_line_wins_over_the_file_and_every_value_knows_its_origin():
    merged = client_properties(
        command_config=SASL,
        command_config_name="client.properties",
        extra=["client.rack=x", "client.rack = y", "ssl.truststore.type=JKS"],
        bootstrap_server="c:1",
    )
    assert merged.bootstrap_servers == ("c:1",)
    assert (merged.get("client.rack"), merged.origin("client.rack")) == ("y", "-X")
    assert (merged.get("ssl.truststore.type"), merged.origin("ssl.truststore.type")) == ("JKS", "-X")
    assert merged.origin("bootstrap.servers") == "-b"
    assert merged.origin("sasl.mechanism") == "client.properties"
    assert merged.get("nothing") is merged.origin("nothing") is None


def test_the_file_alone_gives_address_protocol_and_principal():
    merged = client_properties(command_config=SASL)
    assert merged.bootstrap_servers == ("a:9092", "b:9093")
    assert merged.security_protocol is SecurityProtocol.SASL_SSL
    assert merged.sasl is not None
    assert (merged.sasl.mechanism, merged.sasl.username, merged.sasl.password) == ("PLAIN", "tool", "s3cret!")
    assert merged.principal == "User:tool"


def test_secrets_are_never_shown():
    assert "s3cret!" not in repr(client_properties(command_config=SASL, extra=["ssl.key.password=s3cret!"]))


@pytest.mark.parametrize(
    ("extra", "principal"),
    [
        ([], "User:ANONYMOUS"),
        (["security.protocol=SSL"], "User:ANONYMOUS"),
        (["security.protocol=SSL", "ssl.keystore.location=/k.pem"], "the principal of /k.pem"),
        (["security.protocol=SSL", "ssl.keystore.certificate.chain=PEM"], "the principal of -X"),
        (["security.protocol=SASL_SSL"], "the GSSAPI principal"),
        (["ssl.keystore.location=/k.pem"], "User:ANONYMOUS"),
    ],
)
def test_the_principal_is_named_as_far_as_the_client_knows_it(extra, principal):
    assert client_properties(extra=extra, bootstrap_server="a:1").principal == principal


@pytest.mark.parametrize(
    ("arguments", "kind", "says"),
    [
        ({"extra": ["noequals"]}, UsageError, "-X takes key=value"),
        ({"extra": ["security.protocol=TLS"]}, ConfigError, "security.protocol from -X is 'TLS'"),
        ({"bootstrap_server": "host"}, ConfigError, "'host' is not HOST:PORT"),
        ({"bootstrap_server": "host:99999"}, ConfigError, "is not HOST:PORT"),
        (
            {"extra": ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN"]},
            ConfigError,
            "sasl.jaas.config is missing",
        ),
        (
            {"extra": ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.jaas.config=a.B required;"]},
            ConfigError,
            "sasl.jaas.config from -X has no username",
        ),
    ],
)
def test_a_fault_is_named_with_its_origin(arguments, kind, says):
    with pytest.raises(kind, match=says):
        client_properties(**arguments)


def told(provider, path, key):
    return f"<{provider.rpartition('.')[2]} {path} {key}>"


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("${file:/etc/x.properties:key}", "<FileConfigProvider /etc/x.properties key>"),
        ("a ${env:NAME} b ${env:OTHER}", "a <EnvVarConfigProvider  NAME> b <EnvVarConfigProvider  OTHER>"),
        ("${dir:/run/secrets:password}", "<DirectoryConfigProvider /run/secrets password>"),
        ("${vault:a:b} ${nothing} $ {env:X}", "${vault:a:b} ${nothing} $ {env:X}"),
    ],
)
def test_references_are_replaced_where_they_stand(value, resolved):
    assert resolve_references({"key": value}, told, origin="file") == {"key": resolved}


def test_declared_providers_are_called_by_their_own_name():
    properties = {"config.providers": "e", "config.providers.e.class": KNOWN["env"], "a": "${e:NAME}"}
    assert resolve_references(properties, told, origin="file")["a"] == "<EnvVarConfigProvider  NAME>"


def test_a_value_of_a_config_provider_is_not_resolved_again():
    assert resolve_references({"a": "${env:A}"}, lambda *_: "${env:B}", origin="file") == {"a": "${env:B}"}


def test_files_environment_and_directories_are_looked_up(tmp_path, monkeypatch):
    (tmp_path / "p.properties").write_text("key = geheim \n")
    (tmp_path / "password").write_text("geheim\n")
    monkeypatch.setenv("EOSCTL_TEST_SECRET", "geheim")
    given = {
        "a": f"${{file:{tmp_path}/p.properties:key}}",
        "b": "${env:EOSCTL_TEST_SECRET}",
        "c": f"${{dir:{tmp_path}:password}}",
    }
    assert resolve_references(given, look_up, origin="file") == {"a": "geheim ", "b": "geheim", "c": "geheim\n"}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("${env:EOSCTL_NOT_THERE}", r"a from f: \$\{env:EOSCTL_NOT_THERE\}: the environment has no EOSCTL_NOT_THERE"),
        ("${file:/not/there:key}", "cannot read the provider's file /not/there"),
        ("${dir:/tmp:../etc/passwd}", "is not the name of a file in /tmp"),
        ("${v:a:b}", "config provider x.Vault is not known here"),
    ],
)
def test_a_name_that_cannot_be_looked_up_is_reported(value, says):
    given = {"config.providers": "v", "config.providers.v.class": "x.Vault", "a": value}
    with pytest.raises(ConfigError, match=says):
        resolve_references(given, look_up, origin="f")


TEXTS = st.text(st.characters(codec="utf-8"))


@given(st.dictionaries(TEXTS, TEXTS))
def test_every_key_and_value_comes_back(properties: dict[str, str]):
    written = encode_properties(properties).encode(ENCODING)

    assert decode_properties(written.decode(ENCODING), origin="a test") == properties


KEY = "PRIVATE" + " KEY"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("connector.class", "org.apache.kafka.connect.file.FileStreamSourceConnector"),
        ("tasks.max", "4"),
        ("topics", "a,b"),
        ("value.converter.schemas.enable", "false"),
        ("producer.override.bootstrap.servers", "kafka:9092"),
        ("source.cluster.bootstrap.servers", "kafka:9092"),
        ("admin.override.retry.backoff.max.ms", "5"),
        ("offsets.storage.topic", "own-offsets"),
        ("transaction.boundary.interval.ms", "1000"),
        ("topic.creation.default.partitions", "3"),
        ("transforms.mask.type", "org.apache.kafka.connect.transforms.MaskField$Value"),
        ("offset-syncs.topic.replication.factor", "1"),
        ("topic.prefix", "shop"),  # what names a Debezium connector's topics
        ("topic.heartbeat.prefix", "beat"),
        ("provide.transaction.metadata", "true"),
        ("notification.sink.topic.name", "notes"),
        ("signal.kafka.topic", "signals"),
        ("signal.kafka.groupId", "signallers"),
        ("schema.history.internal.kafka.topic", "history"),
        ("database.password", "${file:/etc/kafka/db.properties:password}"),
        ("database.password", "${env:DB}${env:SUFFIX}"),
        ("anything", None),
        ("tasks.max", 4),
    ],
)
def test_harmless_values_and_references_are_shown(key, value):
    assert mask_properties({key: value}) == {key: value}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("database.password", "hunter2"),
        ("database.password", 12345),
        ("connection.url", "jdbc:postgresql://db/x?user=a&password=b"),
        ("sasl.jaas.config", 'PlainLoginModule required password="${file:/x:y}";'),
        ("producer.override.sasl.jaas.config", "x"),
        ("source.cluster.ssl.keystore.password", "x"),
        ("aws.secret.access.key", "x"),
        ("unheard.of", "x"),
        ("", "x"),
        ("topics", "https://user:hunter2@host/x"),
        ("topics", ["hunter2"]),
        ("tasks.max", {"a": "hunter2"}),
        ("database.password", "x${file:/x:y}"),
        ("database.password", "${hunter2}"),
        ("transforms.mask.replacement", "x"),
        ("transforms.password.type", "x"),
    ],
)
def test_everything_else_is_hidden(key, value):
    assert mask_properties({key: value}) == {key: HIDDEN}


@pytest.mark.parametrize(
    "told",
    [
        'LoginModule required username="tool" password="gehe\\"im x" ;',
        "ssl.key.password=geheim",
        "{'sasl.password': 'geheim', 'client.id': 'x'}",
        '{"clientSecret": "geheim"}',
        "Property(password: geheim)",
        "postgresql://audit:geheim@db/ledger",
        "https://tool:ge%3Ageheim@worker:8083/connectors",
        "Authorization: Basic geheim",
        "access_token=geheim&scope=x",
        "basic.auth.user.info=tool:geheim",
        f"-----BEGIN ENCRYPTED {KEY}-----\ngeheim\ngeheim\n-----END ENCRYPTED {KEY}-----",
        f"-----BEGIN {KEY}----- geheim",
        'password="ge heim, geheim',
    ],
)
def test_a_traceback_s_text_keeps_no_secret(told):
    assert "geheim" not in mask_text(f"ValueError: before {told}")
    assert HIDDEN in mask_text(told)
    assert mask_text(f"ValueError: before {told}").startswith("ValueError: before ")


def test_text_without_secrets_stays_as_it_is():
    text = 'File "x.py", line 3, in read\n    raise ValueError(passed)\nValueError: topic a: partition 3 = bad'
    assert mask_text(text) == text


@pytest.mark.parametrize(
    "told", ["a" * 60_000, "pass" * 15_000, 'pass=\\"a ' * 7_000, "pass=" * 12_000, "a.pass-" * 9_000]
)
def test_the_time_does_not_grow_with_the_square_of_a_text(told):
    began = time.process_time()
    mask_text(told)
    assert time.process_time() - began < 1


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
        ("profiles: {a: {timeout: soon}}", "f: profile a: timeout is 'soon', not a number of seconds", None),
        ("profiles: {a: {protected: 1}}", "f: profile a: protected is 1", None),
        ("profiles: {a: {discover-workers: x}}", "f: profile a: discover-workers is 'x'", None),
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
def test_a_fault_is_reported(text, says, hint):
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


def test_secrets_are_left_out_and_what_decides_is_kept() -> None:
    text = "group.id=g\nexactly.once.source.support=enabled\nsasl.jaas.config=secret\nadmin.retry.backoff.ms=5\n"
    assert decode_worker_properties(text, "f") == {
        "group.id": "g",
        "exactly.once.source.support": "enabled",
        "admin.retry.backoff.ms": "5",
    }


@pytest.mark.parametrize(
    ("properties", "address"),
    [
        ({"listeners": "http://127.0.0.1:8084"}, "127.0.0.1:8084"),
        ({"listeners": "http://:8084", "rest.advertised.host.name": "w1"}, "w1:8084"),
        ({"rest.advertised.host.name": "w1", "rest.advertised.port": "99"}, "w1:99"),
        ({"rest.advertised.host.name": "w1"}, "w1:8083"),
        ({"listeners": "http://:8084"}, None),
        ({}, None),
    ],
)
def test_a_file_names_the_address_of_its_worker(properties: dict[str, str], address: str | None) -> None:
    assert advertised_address(properties) == address


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("password", "x", "[hidden]"),
        ("sasl.jaas.config", 5, "[hidden]"),
        ("sasl.jaas.config", "${env:JAAS}", "${env:JAAS}"),
        ("producer.sasl.jaas.config", " ${env:JAAS} ", " ${env:JAAS} "),
    ],
)
def test_of_a_login_only_a_reference_or_its_principal_is_shown(key: str, value: object, shown: object):
    mask = mask_all_but_principals(lambda properties: dict.fromkeys(properties, "[hidden]"))
    assert mask({key: value}) == {key: shown}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("env:A", "${env:A}"),
        ("file:/run/secrets/key", "${dir:/run/secrets:key}"),
        ("file:/key", "${dir:/:key}"),
        ("file:key", "${dir:.:key}"),
        ("${env:A}", "${env:A}"),
        ("env:", None),
        ("file:", None),
        ("secret", None),
        ("other:A", None),
    ],
)
def test_a_secret_of_a_profile_is_in_a_variable_or_a_file(value: str, text: str | None):
    if text is None:
        with pytest.raises(ConfigError, match=r"sasl\.password is a secret, which does not belong into this file"):
            profiles._property("sasl.password", value, "here")
    else:
        assert profiles._property("sasl.password", value, "here") == text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://w:8083", "http://w:8083"),
        ("http://@w:8083", "http://[hidden]@w:8083"),
        ("http://u:p@w:8083", "http://[hidden]@w:8083"),
        ("w:8083", "w:8083"),
    ],
)
def test_whatever_is_before_the_last_at_sign_of_an_address_is_hidden(url: str, shown: str):
    assert mask_url(url) == shown


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('a.B required ";"="v";', {";": "v"}),
        ("a.B required k=\"\" l='';", {"k": "", "l": ""}),
        ("a.B required k='\"';", {"k": '"'}),
        ('a.B required k="\\7\\8\\400\\377";', {"k": "\a8 0\xff"}),
        ("a.B required k=v k=w;", {"k": "w"}),
        ("_b Sufficient $k=v;", {"$k": "v"}),
    ],
)
def test_an_option_of_a_login_module_is_what_its_quotes_and_escapes_say(text, options):
    assert decode_jaas(text)[0].options == options


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("= required;", "a login module class"),
        ("a.B ;", "a control flag such as required"),
        ("a.B requires;", "a control flag (required, requisite, sufficient or optional)"),
        ("a.B required =v;", "an option or `;`"),
        ("a.B required k", "= after option k"),
        ("a.B required k v;", "= after option k"),
        ('a.B required k "=" v;', "= after option k"),
        ("a.B required k=", "a value for option k"),
        ("a.B required k==;", "a value for option k"),
        ("a.B required", "`;` at the end of the login module"),
        ("a.B required; c.D", "a control flag such as required"),
    ],
)
def test_the_part_of_a_login_module_that_is_missing_is_named(text, missing):
    with pytest.raises(ConfigError) as caught:
        decode_jaas(text)
    assert caught.value.message == f"sasl.jaas.config is not a JAAS configuration: {missing} is missing"


@pytest.mark.parametrize(
    ("properties", "resolved"),
    [
        ({"config.providers": "v", "a": "${v:x}"}, "<unknown  x>"),
        ({"config.providers": "file", "a": "${file:p:x}"}, "<FileConfigProvider p x>"),
        ({"config.providers": "file", "config.providers.file.class": "o.Own", "a": "${file:p:x}"}, "<Own p x>"),
        ({"config.providers.v.class": "o.Own", "a": "${v:x}"}, "${v:x}"),
        ({"config.providers": "", "a": "${env:x}"}, "<EnvVarConfigProvider  x>"),
    ],
)
def test_a_provider_has_the_class_that_is_declared_or_kafkas_own(properties, resolved):
    assert resolve_references(properties, told, origin="f")["a"] == resolved


def test_what_declares_a_provider_refers_to_none():
    declared = {"config.providers": "env", "config.providers.env.param.a": "${env:X}"}
    assert resolve_references(declared, told, origin="f") == declared


def test_a_reference_that_is_not_resolved_keeps_its_hint():
    def refused(*_: str) -> str:
        raise ConfigError("no", hint="do this")

    with pytest.raises(ConfigError) as caught:
        resolve_references({"a": "${env:X}"}, refused, origin="f")
    assert (caught.value.message, caught.value.hint) == ("a from f: ${env:X}: no", "do this")


def test_references_of_the_command_line_are_resolved_where_they_win_and_blanks_go():
    merged = client_properties(
        command_config="client.id=${env:LOST}\nconfig.providers=e\nconfig.providers.e.class=o.Own\nclient.rack=${e:R}",
        extra=["client.id=${e:I}"],
        lookup=lambda provider, _, key: f" {provider} {key}\n",
    )
    assert (merged.get("client.id"), merged.origin("client.id")) == ("o.Own I", "-X")
    assert (merged.get("client.rack"), merged.origin("client.rack")) == ("o.Own R", "--command-config")
    assert client_properties(extra=["client.id=${env:I}"]).get("client.id") == "${env:I}"


def test_a_reference_that_is_not_resolved_is_named_with_its_own_origin():
    def refused(*_: str) -> str:
        raise ConfigError("no")

    with pytest.raises(ConfigError, match=r"client\.rack from -X"):
        client_properties(command_config="client.id=mine", extra=["client.rack=${env:LOST}"], lookup=refused)


def test_a_profile_is_below_the_file_and_the_command_line():
    basis = {key: Property("profile", "prod") for key in ("client.id", "client.rack", "a")}
    merged = client_properties(
        basis=basis, command_config="client.id= file \nclient.rack=file", extra=["client.rack= x "]
    )
    assert [merged.get(key) for key in ("client.id", "client.rack", "a")] == ["file", "x", "profile"]
    assert merged.bootstrap_servers == ()


@pytest.mark.parametrize(
    ("servers", "found"),
    [
        ("", ()),
        ("a:1", ("a:1",)),
        ("PLAINTEXT://a:1, b:2", ("a:1", "b:2")),
        ("u:geheim@a:1", "bootstrap.servers from -b holds a user or password: [hidden]@a:1"),
        ("a:1,b", "bootstrap.servers from -b: 'b' is not HOST:PORT"),
    ],
)
def test_an_address_of_a_broker_has_a_port_and_no_user(servers, found):
    if isinstance(found, tuple):
        assert client_properties(bootstrap_server=servers).bootstrap_servers == found
    else:
        with pytest.raises(ConfigError) as caught:
            client_properties(bootstrap_server=servers)
        assert caught.value.message == found


JAAS = 'a.B required username="u" password="p";'


@pytest.mark.parametrize(
    ("extra", "found"),
    [
        (["security.protocol=ssl", "sasl.mechanism=PLAIN"], None),
        (["security.protocol=sasl_plaintext"], ("GSSAPI", None, None)),
        (["security.protocol=SASL_SSL", "sasl.mechanism=OAUTHBEARER"], ("OAUTHBEARER", None, None)),
        *(
            (["security.protocol=SASL_SSL", f"sasl.mechanism={each}", f"sasl.jaas.config={JAAS}"], (each, "u", "p"))
            for each in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
        ),
    ],
)
def test_only_mechanisms_with_a_password_have_credentials(extra, found):
    sasl = client_properties(extra=extra).sasl
    assert (None if sasl is None else (sasl.mechanism, sasl.username or None, sasl.password or None)) == found


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ('username="u"', "sasl.jaas.config from -X has no password, which PLAIN needs"),
        ('password="p"', "sasl.jaas.config from -X has no username, which PLAIN needs"),
        ('username="u\\0" password="p"', "sasl.jaas.config from -X: username has a NUL character"),
        ('username="u" password="p\\0"', "sasl.jaas.config from -X: password has a NUL character"),
    ],
)
def test_a_login_without_its_two_texts_is_refused(options, says):
    extra = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", f"sasl.jaas.config=a.B required {options};"]
    with pytest.raises(ConfigError) as caught:
        client_properties(extra=extra)
    assert caught.value.message == says


@pytest.mark.parametrize("extra", ["=v", " =v", "k"])
def test_an_option_without_a_key_or_a_value_is_not_shown(extra):
    with pytest.raises(UsageError) as caught:
        client_properties(extra=[extra])
    assert caught.value.message == "-X takes key=value"
