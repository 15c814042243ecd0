"""Addresses with a password in them that are not written as they should be: nobody sees the password."""

import random
from itertools import product

import pytest

PASSWORDS = (
    "geheim",
    "ge/heim",
    "ge#heim",
    "ge?heim",
    "ge heim",
    "ge@heim",
    "ge:heim",
    "ge://heim",
    "ge,heim",
    "/geheim",
)
SCHEMES = ("http://", "", "http:/", "http:", "//", "htp://", "ftp://", "HTTP://", "http//", " http://", "tcp://")
STORES = (
    "postgresql://",
    "postgres://",
    "sqlite://",
    "sqlite:///",
    "mysql://",
    "postgresql:",
    "",
    "http://",
    "sqlite:",
)


def leaks(ran):
    """What of a password is seen."""
    text = ran.stdout + ran.stderr
    return [each for each in ("geheim", "heim") if each in text]


def mistyped(seed: int) -> str:
    """An address of some place with a password in it, mistyped in some way."""
    chosen = random.Random(seed)
    scheme, password = chosen.choice(SCHEMES + STORES), chosen.choice(PASSWORDS)
    return (
        f"{scheme}u:{password}@{chosen.choice(('h', 'h:1', 'h/x', '[::1]:1', ''))}{chosen.choice(('', '/', '/a?b#c'))}"
    )


@pytest.mark.parametrize("seed", range(300))
def test_no_reader_of_an_address_repeats_a_password(seed):
    from eosctl.clients.rest_identity import WorkerUrl
    from eosctl.codecs.client_properties import client_properties, no_lookup
    from eosctl.codecs.secrets import mask_url
    from eosctl.errors import EosctlError
    from eosctl.ledger.ledger import ledger_store

    url, said = mistyped(seed), []
    for read in (
        lambda: str(WorkerUrl(url)),
        lambda: ledger_store(url, no_lookup).name,
        lambda: str(client_properties(bootstrap_server=url).bootstrap_servers),
        lambda: mask_url(url),
    ):
        try:
            said.append(read())
        except EosctlError as error:
            said.append(f"{error.message} {error.hint}")
    assert [each for each in said if "heim" in each] == [], url


@pytest.mark.parametrize("password", PASSWORDS)
def test_the_address_of_a_worker_shows_no_password(eosctl, password):
    for scheme in SCHEMES:
        ran = eosctl("profile", "check", "--connect-url", f"{scheme}u:{password}@127.0.0.1:1", "--timeout", "0.1")
        assert (ran.exit_code in {1, 2, 4}, leaks(ran)) == (True, []), scheme


@pytest.mark.parametrize("password", PASSWORDS)
def test_an_address_in_the_environment_shows_no_password_though_it_is_split_at_blanks(eosctl, password, monkeypatch):
    monkeypatch.setenv("EOSCTL_CONNECT_URL", f"http://u:{password}@127.0.0.1:1")
    ran = eosctl("profile", "explain")
    assert leaks(ran) == []


@pytest.mark.parametrize("password", PASSWORDS)
def test_the_address_of_a_store_shows_no_password(eosctl, password):
    for scheme, rest in product(STORES, ("db/ledger", "/db/ledger")):
        ran = eosctl("audit", "status", "--store", f"{scheme}u:{password}@{rest}")
        assert (ran.exit_code, leaks(ran)) == (2, []), (scheme, rest)


@pytest.mark.parametrize("password", PASSWORDS)
def test_brokers_show_no_password(eosctl, password):
    for scheme in ("", "SASL_SSL://", "http://"):
        ran = eosctl("profile", "explain", "-b", f"{scheme}u:{password}@127.0.0.1:9092")
        assert (ran.exit_code, leaks(ran)) == (2, []), scheme


def test_an_x_without_its_equals_sign_is_not_repeated(eosctl):
    for given in (
        "geheim",
        "listeners.https.ssl.key.password geheim",
        "ssl.key.password:geheim",
        "ssl.key.password geheim",
        "=geheim",
    ):
        ran = eosctl("profile", "explain", "-X", given)
        assert (ran.exit_code, leaks(ran)) == (2, []), given


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_profile_s_addresses_show_no_password(eosctl, password, tmp_path, monkeypatch):
    import json
    import os
    from pathlib import Path

    file = Path(os.environ["XDG_CONFIG_HOME"], "eosctl", "config.yaml")
    file.parent.mkdir()
    for field, scheme in (*product(["connect-url"], SCHEMES), *product(["audit-store"], STORES)):
        file.write_text(json.dumps({"profiles": {"a": {field: f"{scheme}u:{password}@h/x"}}}))
        ran = eosctl("profile", "list", "-o", "json")
        assert (ran.exit_code, leaks(ran)) == (2, []), (field, scheme)


def test_the_address_of_a_token_endpoint_shows_no_password(eosctl):
    for scheme, password in product(("http://", "https:/", "ftp://", ""), PASSWORDS):
        given = [
            "sasl.mechanism=OAUTHBEARER",
            "security.protocol=SASL_PLAINTEXT",
            f"sasl.oauthbearer.token.endpoint.url={scheme}u:{password}@127.0.0.1:1/token",
            "sasl.jaas.config=a.B required clientId=c clientSecret=geheim;",
        ]
        options = [part for each in given for part in ("-X", each)]
        ran = eosctl("offsets", "show", "-b", "127.0.0.1:1", "--timeout", "0.1", *options)
        assert (ran.exit_code in {2, 3, 4}, leaks(ran)) == (True, []), (scheme, password)


def test_an_address_that_is_right_is_taken_with_its_password():
    from eosctl.clients.rest_identity import WorkerUrl

    for text, address, credentials in (
        ("http://u:p%2Fw@h:8083/", "http://h:8083", ("u", "p/w")),
        ("https://h", "https://h", None),
        ("http://[::1]:8083/proxy/path", "http://[::1]:8083/proxy/path", None),
        ("http://u:p@w@h", "http://h", ("u", "p@w")),
    ):
        url = WorkerUrl(text)
        assert (str(url), url.identity.credentials) == (address, credentials)
