"""Which TLS versions and cipher suites may be offered."""

import ssl

import pytest

from eosctl.clients.librdkafka import NOTHING_OF_TLS_1_2, configuration
from eosctl.clients.tls import ssl_context
from eosctl.codecs.client_properties import client_properties
from eosctl.codecs.tls import SUITES_1_2, SUITES_1_3, VERSIONS, decode_tls_limits, limits_not_kept
from eosctl.errors import ConfigError

OLD, NEW = VERSIONS
SUITE = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"


def given(*texts):
    return client_properties(
        bootstrap_server="broker:9093", extra=["security.protocol=SSL", *(f"ssl.{text}" for text in texts)]
    )


@pytest.mark.parametrize(
    ("texts", "versions"),
    [
        ((), VERSIONS),
        (("enabled.protocols=",), VERSIONS),
        (("enabled.protocols=TLSv1.3 , TLSv1.2",), VERSIONS),
        (("enabled.protocols=TLSv1,TLSv1.1,TLSv1.2,TLSv1.3",), VERSIONS),
        (("enabled.protocols=TLSv1.3",), (NEW,)),
        (("enabled.protocols=TLSv1.2",), (OLD,)),
        (("enabled.protocols=TLSv1.1,TLSv1.2",), (OLD,)),
        (("protocol=TLS",), VERSIONS),
        (("protocol=TLSv1.2",), (OLD,)),
        (("protocol=TLSv1.3", "enabled.protocols=TLSv1.2"), (OLD,)),
        ((f"cipher.suites={SUITE}",), (OLD,)),
        (("cipher.suites=TLS_AES_128_GCM_SHA256",), (NEW,)),
        ((f"cipher.suites=TLS_AES_128_GCM_SHA256,{SUITE}",), VERSIONS),
    ],
)
def test_versions_are_those_that_protocols_and_suites_leave(texts, versions):
    limits = decode_tls_limits(given(*texts))
    assert limits.versions == versions
    assert limits.origin == ("-X" if versions != VERSIONS or limits.suites else None)
    context = ssl_context(given(*texts))
    assert (context.minimum_version.name, context.maximum_version.name) == tuple(
        each.replace(".", "_") for each in (versions[0], versions[-1])
    )


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (("enabled.protocols=TLSv1.1",), r"^ssl\.enabled\.protocols \(-X\) leave no TLS version to speak"),
        (
            ("enabled.protocols=TLSv1.3", "protocol=TLSv1.2"),
            r"^ssl\.enabled\.protocols \(-X\) and ssl\.protocol \(-X\)",
        ),
        (
            ("enabled.protocols=TLSv1.3", f"cipher.suites={SUITE}"),
            r"and ssl\.cipher\.suites \(-X\) leave no TLS version",
        ),
        (("cipher.suites=UNHEARD_OF",), "leave no TLS version"),
        (("enabled.protocols=tlsv1.2",), r"^ssl\.enabled\.protocols from -X names 'tlsv1\.2', which is no TLS version"),
        (("protocol=QUIC",), r"^ssl\.protocol from -X names 'QUIC'"),
    ],
)
def test_what_leaves_nothing_or_is_unheard_of_is_refused(texts, says):
    for made in (decode_tls_limits, ssl_context, configuration):
        with pytest.raises(ConfigError, match=says):
            made(given(*texts))


def test_openssl_has_every_suite_under_the_name_it_is_given():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    known = {each["name"]: each["protocol"] for each in context.get_ciphers()}
    assert set(SUITES_1_2.values()) <= known.keys()
    assert {name for name, protocol in known.items() if protocol == "TLSv1.3"} == SUITES_1_3


def test_suites_are_offered_in_their_order():
    context = ssl_context(given(f"cipher.suites={SUITE},TLS_RSA_WITH_AES_128_CBC_SHA"))
    offered = [each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"]
    assert offered == ["ECDHE-RSA-AES256-GCM-SHA384", "AES128-SHA"]


@pytest.mark.parametrize(
    ("texts", "suites"),
    [
        ((), None),
        (("enabled.protocols=TLSv1.2",), None),
        (("enabled.protocols=TLSv1.3",), NOTHING_OF_TLS_1_2),
        ((f"cipher.suites={SUITE},TLS_AES_128_GCM_SHA256",), "ECDHE-RSA-AES256-GCM-SHA384"),
        (("cipher.suites=TLS_AES_128_GCM_SHA256",), NOTHING_OF_TLS_1_2),
    ],
)
def test_librdkafka_is_told_suites(texts, suites):
    assert configuration(given(*texts)).get("ssl.cipher.suites") == suites


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ((), []),
        (("enabled.protocols=TLSv1.3",), []),
        (
            ("enabled.protocols=TLSv1.2",),
            ["librdkafka, which writes offsets and topics, offers TLSv1.3 too; all other clients keep to TLSv1.2"],
        ),
        (
            (f"cipher.suites=TLS_AES_128_GCM_SHA256,{SUITE},TLS_ODD",),
            [
                "ssl.cipher.suites holds for TLSv1.2; with TLSv1.3 every suite of it is offered",
                "OpenSSL has no cipher suite TLS_ODD; not offered",
            ],
        ),
    ],
)
def test_what_is_offered_all_the_same_is_said(texts, said):
    assert list(limits_not_kept(decode_tls_limits(given(*texts)))) == said
