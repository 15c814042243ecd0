"""Every rule is proved on a real cluster, or says why it cannot be."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eosctl.analysis.rules.registry import RULES
from tests.integration.rule_table import PROVED

INTEGRATION = Path(__file__).parents[1] / "integration"


def proved() -> Iterator[tuple[str, str]]:
    for module, numbers in PROVED.items():
        yield from ((module, f"EOS{number}") for number in numbers.split())


def test_each_rule_is_in_one_of_the_two_lists() -> None:
    told = [rule for _, rule in proved()]
    assert sorted(told) == sorted(rule.id for rule in RULES if rule.unproven is None)


@pytest.mark.parametrize(("module", "rule"), list(proved()))
def test_the_module_that_the_list_names_has_the_rule(module: str, rule: str) -> None:
    assert rule in (INTEGRATION / f"{module}.py").read_text()
