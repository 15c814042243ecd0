"""The keys that eosctl takes for a client's are those of Kafka's own clients, release by release."""

import pytest

from eosctl.model.client_keys_by_release import SINCE, UNTIL
from eosctl.model.client_properties import CLIENT_KEYS, NOT_FOLLOWED
from eosctl.model.versions import KafkaVersion
from eosctl.sandbox.jars import (
    DEFAULT_KAFKA_VERSION,
    TESTED_BROKERS,
    TESTED_KAFKA_VERSIONS,
    resolve_broker_jars,
    resolve_jars,
)
from tests.oracle.client_keys import RELEASES, WRITTEN, keys_of, table

ALL_JARS = [pytest.param(each, marks=() if each in {"3.3.2", DEFAULT_KAFKA_VERSION} else pytest.mark.variation)
            for each in TESTED_KAFKA_VERSIONS]  # fmt: skip


def known_to(release: str) -> frozenset[str]:
    """By the table."""
    version = KafkaVersion.parse(release)
    keys = {key for since, new in SINCE.items() if KafkaVersion.parse(since) <= version for key in new.split()}
    return frozenset(keys).difference(
        key for until, gone in UNTIL.items() if KafkaVersion.parse(until) <= version for key in gone.split()
    )


@pytest.mark.kafka
@pytest.mark.parametrize("release", ALL_JARS)
def test_the_table_has_the_keys_of_every_tested_release(release: str) -> None:
    assert keys_of(resolve_jars(release, lambda _: None).classpath) == known_to(release)


@pytest.mark.kafka
@pytest.mark.parametrize("release", TESTED_BROKERS)
def test_the_table_has_the_keys_of_clients_that_came_with_brokers_alone(release: str) -> None:
    assert keys_of(resolve_broker_jars(release, lambda _: None).classpath) == known_to(release)


def test_the_table_is_what_the_generator_writes() -> None:
    assert table({release: known_to(release) for release in RELEASES}) == WRITTEN.read_text("utf-8")
    assert NOT_FOLLOWED <= CLIENT_KEYS
