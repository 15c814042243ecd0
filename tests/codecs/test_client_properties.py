"""Java properties, JAAS and the command line -> ClientProperties."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.client_properties import LoginModule, client_properties, decode_jaas
from eosctl.codecs.properties import decode_properties
from eosctl.errors import ConfigError, UsageError
from eosctl.model.client_properties import SecurityProtocol

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
def test_what_is_no_jaas_configuration_is_said_without_the_password(text, says):
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


def test_the_file_alone_says_address_protocol_and_principal():
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
def test_the_principal_is_told_as_far_as_the_client_knows_it(extra, principal):
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
def test_what_is_wrong_is_named_with_its_origin(arguments, kind, says):
    with pytest.raises(kind, match=says):
        client_properties(**arguments)
