"""Client settings that Strimzi's operator makes of the `tls` and `authentication` of a resource.

1. `tls` makes SSL of PLAINTEXT, authentication with SASL adds it: SASL_SSL or SASL_PLAINTEXT.
2. A user name stands in the resource. Passwords, keys and tokens are in Secrets, and stay references to the operator's
   config provider: `${strimzisecrets:NAMESPACE/SECRET:KEY}` (KubernetesSecretConfigProvider). Before Strimzi 0.46 the
   operator mounts the same Secrets as files.

By KafkaConnectConfigurationBuilder.withTls and withAuthentication and
KafkaMirrorMaker2Connectors.addClusterToMirrorMaker2ConnectorConfig.
"""

from collections.abc import Mapping
from typing import Any, Final

from eosctl.codecs.strimzi_resources import mapping_in, required_in, text_in
from eosctl.errors import ConfigError

PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
MECHANISMS: Final = {
    "plain": ("PLAIN", PLAIN),
    "scram-sha-256": ("SCRAM-SHA-256", SCRAM),
    "scram-sha-512": ("SCRAM-SHA-512", SCRAM),
}
OAUTH_OPTIONS: Final = {
    "clientId": "oauth.client.id",
    "username": "oauth.password.grant.username",
    "tokenEndpointUri": "oauth.token.endpoint.uri",
    "scope": "oauth.scope",
    "audience": "oauth.audience",
}
OAUTH_SECRETS: Final = {
    "clientSecret": ("oauth.client.secret", "key"),
    "refreshToken": ("oauth.refresh.token", "key"),
    "accessToken": ("oauth.access.token", "key"),
    "passwordSecret": ("oauth.password.grant.password", "password"),
    "clientAssertion": ("oauth.client.assertion", "key"),
}
CUSTOM_PREFIXES: Final = ("sasl.", "ssl.keystore.")
"""What `type: custom` may set (KafkaClientAuthenticationCustom.ALLOWED_PREFIXES)."""
PROPERTIES: Final = "since Strimzi 0.46 the ConfigMap <name>-connect-config has the worker's properties: give these"
CHAIN: Final = "ssl.keystore.certificate.chain"


def client_settings(cluster: Mapping[str, Any], namespace: str | None, place: str) -> dict[str, str]:
    """The settings of a client of the Kafka cluster that this spec describes; ConfigError for what is missing."""
    settings: dict[str, str] = {}
    sasl = False
    if cluster.get("authentication") is not None:
        place = f"{place}: authentication"
        settings, sasl = _authentication(mapping_in(cluster, "authentication", place), namespace, place)
    tls = cluster.get("tls") is not None
    protocol = ("SASL_SSL" if tls else "SASL_PLAINTEXT") if sasl else "SSL" if tls else "PLAINTEXT"
    return {"security.protocol": protocol, **settings}


def secret_reference(namespace: str | None, secret: str, key: str) -> str:
    """The reference that stands for the value of this key of a Secret."""
    return f"${{strimzisecrets:{secret if namespace is None else f'{namespace}/{secret}'}:{key}}}"


def _authentication(given: Mapping[str, Any], namespace: str | None, place: str) -> tuple[dict[str, str], bool]:
    """Settings, and whether it is SASL."""
    kind = required_in(given, "type", place)
    if kind == "tls":
        return _certificate(given, namespace, place), False
    if kind == "custom":
        return _custom(given, place), given.get("sasl") is True
    if kind == "oauth":
        return _login("OAUTHBEARER", OAUTH, _oauth(given, namespace, place)), True
    if kind not in MECHANISMS:
        known = ", ".join((*MECHANISMS, "tls", "oauth", "custom"))
        raise ConfigError(f"{place} is of type {kind}; known are {known}", hint=PROPERTIES)
    mechanism, module = MECHANISMS[kind]
    options = {
        "username": required_in(given, "username", place),
        "password": _secret(given, "passwordSecret", "password", namespace, place),
    }
    return _login(mechanism, module, options), True


def _certificate(given: Mapping[str, Any], namespace: str | None, place: str) -> dict[str, str]:
    return {
        CHAIN: _secret(given, "certificateAndKey", "certificate", namespace, place),
        "ssl.keystore.key": _secret(given, "certificateAndKey", "key", namespace, place),
        "ssl.keystore.type": "PEM",
    }


def _custom(given: Mapping[str, Any], place: str) -> dict[str, str]:
    config = mapping_in(given, "config", place)
    return {key: option_text(key, value, place) for key, value in config.items() if key.startswith(CUSTOM_PREFIXES)}


def _oauth(given: Mapping[str, Any], namespace: str | None, place: str) -> dict[str, str]:
    named = {option: text_in(given, key, place) for key, option in OAUTH_OPTIONS.items()}
    secrets = {
        option: _secret(given, key, part, namespace, place)
        for key, (option, part) in OAUTH_SECRETS.items()
        if given.get(key) is not None
    }
    return {option: value for option, value in named.items() if value} | secrets


def _secret(given: Mapping[str, Any], key: str, part: str, namespace: str | None, place: str) -> str:
    source = mapping_in(given, key, place)
    if not source:
        raise ConfigError(f"{place} has no {key}")
    place = f"{place}: {key}"
    return secret_reference(namespace, required_in(source, "secretName", place), required_in(source, part, place))


def _login(mechanism: str, module: str, options: Mapping[str, str]) -> dict[str, str]:
    quoted = "".join(f' {name}="{_quoted(value)}"' for name, value in options.items())
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{module} required{quoted};"}


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def option_text(key: str, value: object, place: str) -> str:
    """A value of a `config` as the operator hands it on (OrderedProperties.addIterablePairs).

    Raises ConfigError for what the operator refuses, and for numbers that YAML, JSON and Java write differently.
    """
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() if -(1 << 63) <= value < 1 << 63:
            return str(value)
        case float() if 0.001 <= abs(value) < 1e7 and not value.is_integer():
            return repr(value)
        case int() | float():
            raise ConfigError(
                f"{place}: {key} is {value}, which may be written in another way", hint="put it in quotes"
            )
        case None:
            raise ConfigError(f"{place}: {key} has no value, which the operator refuses", hint="leave it out")
        case _:
            raise ConfigError(
                f"{place}: {key} is {type(value).__name__}, which the operator refuses", hint="write text"
            )
