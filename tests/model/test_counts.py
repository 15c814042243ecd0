"""How many of a thing there are, in words."""

import pytest

from eosctl.model.text import pluralize


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 connectors"), (1, "1 connector"), (2, "2 connectors"), (2000, "2,000 connectors")]
)
def test_one_is_no_plural(count: int, words: str) -> None:
    assert pluralize(count, "connector") == words


def test_a_verb_agrees_with_the_count() -> None:
    assert [pluralize(each, "key lies", "keys lie") for each in (1, 2)] == ["1 key lies", "2 keys lie"]
