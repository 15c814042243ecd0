"""What the composition root makes of the shared options."""

from types import SimpleNamespace

import pytest

from eosctl.operations.session import Session
from eosctl.shell.options import GlobalOptions


@pytest.fixture
def said():
    return []


@pytest.fixture
def session(said, tmp_path):
    def make(text="", **options):
        path = tmp_path / "client.properties"
        path.write_bytes(text.encode("latin-1"))
        console = SimpleNamespace(warn=said.append, waiting=said.append)
        return Session(GlobalOptions(console, command_config=path, **options))

    return make


def test_unknown_keys_are_warned_of_once_and_by_name(session, said):
    made = session("linger.ms=5\nfoo.bar=1\nssl.provider=X\n" + "".join(f"key{n}=geheim\n" for n in range(9)))
    assert made.client_properties is made.client_properties
    file = made.options.command_config
    assert said == [
        f"{file}: no Kafka client knows foo.bar, key0, key1, key2, key3 and 5 more; not used",
        f"{file}: ssl.provider can only be followed in Java; not used",
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("ssl.enabled.protocols=TLSv1.3", None),
        ("ssl.enabled.protocols=TLSv1.2,TLSv1.3,TLSv1.1", None),
        ("ssl.enabled.protocols=SSLv9", None),
        ("ssl.protocol=TLSv1.2", "librdkafka, which writes offsets and topics, offers TLSv1.3 too"),
        ("ssl.cipher.suites=TLS_AES_128_GCM_SHA256", "with TLSv1.3 every suite of it is offered"),
    ],
)
def test_tls_that_is_offered_although_it_is_excluded_is_warned_of(session, said, line, told):
    for protocol in ("SSL", "SASL_PLAINTEXT\nsasl.mechanism=GSSAPI"):
        made = session(f"security.protocol={protocol}\n{line}")
        assert made.client_properties.get(line.partition("=")[0]) is not None
    assert len(said) == (0 if told is None else 1)
    assert told is None or (told in said[0] and said[0].startswith(f"{made.options.command_config}: "))


def test_values_of_config_providers_are_resolved_and_trimmed(session, tmp_path, said):
    (tmp_path / "password").write_text("geheim\n")
    made = session(f"ssl.key.password=${{dir:{tmp_path}:password}}", properties={"client.id": "${env:PATH}x"})
    assert made.client_properties.get("ssl.key.password") == "geheim"
    assert str(made.client_properties.get("client.id")).endswith("x")
    assert "geheim" not in repr(made.client_properties)
    assert said == []


def test_the_file_is_read_in_java_s_encoding(session):
    assert session("client.rack=\xfc").client_properties.get("client.rack") == "\xfc"
