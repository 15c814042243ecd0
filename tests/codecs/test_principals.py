"""Who a client is, from its properties."""

import pytest

from eosctl.codecs.client_properties import Unresolved, map_subject, mask_all_but_principals, resolve_principal
from eosctl.codecs.secrets import HIDDEN, mask_properties
from eosctl.errors import ConfigError
from eosctl.model.client_properties import Property

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="s3cret";'
KERBEROS = 'com.sun.security.auth.module.Krb5LoginModule required principal="connect/host.example@EXAMPLE";'
UNSECURED = (
    'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="bob";'
)
SUBJECT = "CN=orders,OU=Data,O=Example,C=DE"


def who(**properties: str):
    settings = {key.replace("_", "."): Property(value, "worker.properties") for key, value in properties.items()}
    return resolve_principal(settings, lambda _: SUBJECT)


@pytest.mark.parametrize(
    ("properties", "principal"),
    [
        ({}, "User:ANONYMOUS"),
        ({"security_protocol": "SSL"}, "User:ANONYMOUS"),
        ({"security_protocol": "SSL", "ssl_keystore_location": "k.p12"}, f"User:{SUBJECT}"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_jaas_config": PLAIN}, "User:alice"),
        ({"security_protocol": "sasl_ssl", "sasl_mechanism": "SCRAM-SHA-512", "sasl_jaas_config": PLAIN}, "User:alice"),
        ({"security_protocol": "SASL_SSL", "sasl_jaas_config": KERBEROS}, "User:connect"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER", "sasl_jaas_config": UNSECURED}, "User:bob"),
        # A keystore is not looked at where SASL authenticates.
        (
            {
                "security_protocol": "SASL_SSL",
                "sasl_mechanism": "PLAIN",
                "sasl_jaas_config": PLAIN,
                "ssl_keystore_location": "k.p12",
            },
            "User:alice",
        ),
    ],
)
def test_the_principal_is_what_the_default_builder_makes(properties, principal):
    assert who(**properties) == principal


@pytest.mark.parametrize(
    ("jaas", "reason"),
    [
        (None, "is not set"),
        (HIDDEN, "masked"),
        ("${file:/etc/kafka/secrets:jaas}", "reference"),
        (PLAIN.replace("alice", "${env:USER}"), "username in worker.properties is a reference"),
        (PLAIN.replace("alice", 'alice" tokenauth="true'), "a delegation token, whose owner is the principal"),
        ('some.Module required token="x";', "no username"),
    ],
)
def test_a_principal_that_no_property_names_is_unresolved_with_the_property(jaas, reason):
    settings = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}
    found = who(**settings, **({} if jaas is None else {"sasl_jaas_config": jaas}))
    assert isinstance(found, Unresolved)
    assert found.property == "sasl.jaas.config"
    assert reason in found.reason


@pytest.mark.parametrize(
    ("mechanism", "reason"),
    [
        ("OAUTHBEARER", "the principal of OAUTHBEARER is in the token"),
        ("AWS_MSK_IAM", "shows the principal of a client with AWS_MSK_IAM"),
    ],
)
def test_a_mechanism_without_a_name_in_its_login_is_reported(mechanism, reason):
    found = who(security_protocol="SASL_SSL", sasl_mechanism=mechanism, sasl_jaas_config="some.Module required;")
    assert isinstance(found, Unresolved)
    assert reason in found.reason


def test_two_login_modules_are_refused_as_a_kafka_client_refuses_them():
    with pytest.raises(ConfigError, match=r"worker\.properties holds 2 login modules"):
        who(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_jaas_config=PLAIN + PLAIN)


def test_a_jaas_config_that_does_not_parse_names_its_file_and_not_its_secret():
    with pytest.raises(ConfigError, match=r"worker\.properties") as caught:
        who(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_jaas_config='x required password="s3cret')
    assert "s3cret" not in caught.value.message


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", SUBJECT),
        ("RULE:^CN=(.*?),.*$/$1/", "orders"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/U,DEFAULT", "ORDERS@DATA"),
        ("RULE:^CN=nobody$/x/L, RULE:^CN=(.*?),.*$/$1/L", "orders"),
        # Every match is replaced, and a lazy group at the end holds nothing.
        ("RULE:CN=(.*?),OU=(.*?)/$1 /", "orders Data,O=Example,C=DE"),
        ("RULE:^CN=(.*?),.*$/\\$1 $1 $9 $12/", "$1 orders $9 orders2"),
        (",RULE:^CN=(.*?),.*$/$1/,", "orders"),
    ],
)
def test_mapping_rules_make_the_name(rules, name):
    assert map_subject(SUBJECT, rules) == name


@pytest.mark.parametrize("rules", ["RULE:^CN=nobody$/x/", "RULE:(/x/", "nonsense", "RULE:[/]/x/,"])
def test_mapping_rules_that_cannot_be_used_are_reported(rules):
    with pytest.raises(ConfigError):
        map_subject(SUBJECT, rules)


def test_masking_keeps_that_a_login_is_a_delegation_token():
    jaas = PLAIN.replace("alice", 'alice" tokenauth="true')
    masked = mask_all_but_principals(mask_properties)({"sasl.jaas.config": jaas})
    found = who(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_jaas_config=str(masked["sasl.jaas.config"]))
    assert isinstance(found, Unresolved)


def test_masking_keeps_who_logs_in_and_nothing_else():
    masked = mask_all_but_principals(mask_properties)({"producer.override.sasl.jaas.config": PLAIN, "db.password": "x"})
    assert "s3cret" not in str(masked)
    assert masked["db.password"] == HIDDEN
    settings = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
    settings["sasl.jaas.config"] = str(masked["producer.override.sasl.jaas.config"])
    assert resolve_principal({key: Property(value, "x") for key, value in settings.items()}, str) == "User:alice"


def test_a_mapping_rule_takes_two_digits_where_there_are_ten_groups() -> None:
    """Matcher.appendReplacement: $10 is group 10 where there are ten, and group 1 with a 0 behind it where not."""
    ten, nine = "(.)" * 10, "(.)" * 9
    assert map_subject("abcdefghij", f"RULE:^{ten}$/$10/") == "j"
    assert map_subject("abcdefghi", f"RULE:^{nine}$/$10/") == "a0"


def settings(*pairs: tuple[str, str]) -> dict[str, Property]:
    return {key: Property(value, "w.properties") for key, value in pairs}


SASL = ("security.protocol", "SASL_SSL")


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        (
            [("security.protocol", " sasl_plaintext "), ("sasl.mechanism", " PLAIN "), ("sasl.jaas.config", PLAIN)],
            "User:alice",
        ),
        ([("security.protocol", "PLAINTEXT"), ("ssl.keystore.location", "k")], "User:ANONYMOUS"),
        ([("security.protocol", "SSL"), ("ssl.keystore.certificate.chain", "PEM")], f"User:{SUBJECT}"),
        ([("security.protocol", "[unread]"), ("sasl.jaas.config", KERBEROS)], "User:connect"),
        ([("security.protocol", "[unread]")], Unresolved("security.protocol", "w.properties")),
        (
            [("security.protocol", "TLS")],
            Unresolved("security.protocol", "w.properties has 'TLS', which is no security protocol"),
        ),
        ([SASL], Unresolved("sasl.jaas.config", "sasl.mechanism is GSSAPI and sasl.jaas.config is not set")),
        (
            [SASL, ("sasl.jaas.config", " ${env:JAAS} ")],
            Unresolved("sasl.jaas.config", "w.properties has a reference that only a worker resolves"),
        ),
        ([SASL, ("sasl.jaas.config", 'k.M required principal="connect@EXAMPLE";')], "User:connect"),
        ([SASL, ("sasl.jaas.config", 'k.M required principal="connect";')], "User:connect"),
        ([SASL, ("sasl.jaas.config", 'k.M required principal="connect" tokenauth="true";')], "User:connect"),
        (
            [SASL, ("sasl.jaas.config", 'k.M required username="x";')],
            Unresolved("sasl.jaas.config", "w.properties has no principal in it that GSSAPI would show"),
        ),
        (
            [SASL, ("sasl.jaas.config", 'k.M required principal="${env:P}";')],
            Unresolved("sasl.jaas.config", "principal in w.properties is a reference, which only a worker resolves"),
        ),
        (
            [SASL, ("sasl.mechanism", "PLAIN"), ("sasl.jaas.config", 'p.M required username="a@b/c" password="p";')],
            "User:a@b/c",
        ),
        (
            [
                SASL,
                ("sasl.mechanism", "SCRAM-SHA-256"),
                ("sasl.jaas.config", 's.M required username="a" tokenauth="false";'),
            ],
            "User:a",
        ),
        (
            [
                SASL,
                ("sasl.mechanism", "SCRAM-SHA-256"),
                ("sasl.jaas.config", 's.M required username="a" tokenauth="TRUE";'),
            ],
            Unresolved("sasl.jaas.config", "w.properties has a delegation token, whose owner is the principal"),
        ),
        (
            [SASL, ("sasl.mechanism", "OTHER"), ("sasl.jaas.config", 's.M required username="a";')],
            Unresolved("sasl.jaas.config", "nothing in w.properties shows the principal of a client with OTHER"),
        ),
        (
            [SASL, ("sasl.mechanism", "OAUTHBEARER"), ("sasl.jaas.config", UNSECURED.replace("bob", "bob@x"))],
            "User:bob@x",
        ),
    ],
)
def test_each_property_decides_where_it_counts(pairs, found):
    assert resolve_principal(settings(*pairs), lambda _: SUBJECT) == found


def test_the_rules_are_those_of_the_broker():
    given = settings(("security.protocol", "SSL"), ("ssl.keystore.location", "k"))
    assert resolve_principal(given, lambda _: SUBJECT, "RULE:^CN=(.*?),.*$/$1/U") == "User:ORDERS"


@pytest.mark.parametrize(
    ("subject", "rules", "name"),
    [
        ("x", "RULE:x/$0$0/", "xx"),
        ("x", "RULE:x(y)?/a$1b/", "ab"),
        ("x", "RULE:(x)/$1$2/", "x$2"),
        ("xyz", "RULE:(x)(y)(z)/$123/", "x23"),
        ("X", "RULE:(X)/$1/L", "x"),
        ("X", "RULE:(X)/$1y/", "Xy"),
        ("X", "RULE:y//,DEFAULT  ", "X"),
        ("X", ",,DEFAULT", "X"),
        ("", "RULE:/y/", "y"),
    ],
)
def test_a_replacement_takes_the_groups_that_the_pattern_has(subject, rules, name):
    assert map_subject(subject, rules) == name


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ("RULE:x/$1/", "ssl.principal.mapping.rules: '$1' names a group that pattern 'x' does not have"),
        ("RULE:y/z/", "no rule of ssl.principal.mapping.rules fits the subject x"),
        ("", "no rule of ssl.principal.mapping.rules fits the subject x"),
        ("RULE:x/y/ z", "ssl.principal.mapping.rules cannot be read from 'RULE:x/y/ z' on"),
    ],
)
def test_a_rule_that_makes_no_name_says_why(rules, says):
    with pytest.raises(ConfigError) as caught:
        map_subject("x", rules)
    assert caught.value.message == says


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("sasl.jaas.config", "no login", HIDDEN),
        ("sasl.jaas.config", 'a.B Required username="u\\"\\\\" password="p";', 'a.B required username="u\\"\\\\";'),
        ("sasl.jaas.config", KERBEROS, KERBEROS),
        ("sasl.jaas.config", UNSECURED, UNSECURED),
        ("sasl.jaas.config", 5, HIDDEN),
        ("sasl.jaas.config.file", PLAIN, HIDDEN),
        ("client.id", "x", "x"),
    ],
)
def test_of_a_login_the_module_and_the_name_are_shown(key, value, shown):
    assert mask_all_but_principals(mask_properties)({key: value}) == {key: shown}
