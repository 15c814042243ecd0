"""Configs of connectors that exist, or existed: who is warned of a name that is most likely misspelt."""

from types import SimpleNamespace
from typing import Any

from eosctl.operations.migration import known_or_former_configs

CONFIGS = {"orders": {"name": "orders"}}
NO_TOPIC: Any = SimpleNamespace(access=lambda _: SimpleNamespace(config_topic=None))
"""Clusters without a config topic: nothing is known of connectors that were deleted."""


def warned(*wanted: str) -> list[str]:
    said: list[str] = []
    assert known_or_former_configs(NO_TOPIC, wanted, CONFIGS, said.append) == CONFIGS
    return said


def test_a_name_like_that_of_a_connector_is_asked_about():
    assert warned("ordrs") == ["connector ordrs does not exist; did you mean orders?"]


def test_names_that_exist_or_are_like_no_other_are_not():
    assert warned("orders", "inventory") == []
