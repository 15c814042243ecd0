"""Project files that mean harm: what each would send away, or change, if eosctl used it."""

import random
from collections.abc import Iterator

CANARY = "${{env:EOSCTL_TEST_CANARY}}"
PROVIDERS = ("${{file:{path}:key}}", "${{dir:{home}:secret}}", CANARY, f"a{CANARY}b")
FIELDS = (
    *("bootstrap-server", "group-id", "connect-url", "audit-store", "worker-config"),
    *("client.id", "ssl.key.password"),
)
SHORT = ("env:EOSCTL_TEST_CANARY", "file:{path}")


def files_with_references(path: str, home: str) -> Iterator[str]:
    """Files that each refer to a secret of the user in another place."""
    for field in FIELDS:
        for provider in PROVIDERS:
            yield _file(field, provider.format(path=path, home=home))
    for short in SHORT:
        yield _file("ssl.key.password", short.format(path=path))
    yield _file("config.providers.x.class", "org.apache.kafka.common.config.provider.EnvVarConfigProvider")


def random_file(seed: int, path: str, home: str) -> str:
    """One of them, with other keys around it."""
    chosen = random.Random(seed)
    files = list(files_with_references(path, home))
    return f"# {chosen.random()}\n{chosen.choice(files)}\n"


def _file(field: str, value: str) -> str:
    own = f"'{field}': '{value}'"
    fields = own if "." not in field else f"properties: {{{own}}}"
    return f"profiles: {{evil: {{{fields}}}}}"
