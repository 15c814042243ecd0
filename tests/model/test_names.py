"""Names of topics and IDs, and the partitions of the transaction log that they lead to."""

import pytest

from eosctl.model.names import FORGOTTEN_MS, CachedNames, coordinator_partition, did_you_mean, is_topic_name, java_hash


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("", False),
        (".", False),
        ("..", False),
        ("...", True),
        ("a.", True),
        ("a" * 249, True),
        ("a" * 250, False),
        ("a_b-C.9", True),
        ("ü", False),
        ("a b", False),
        ("a\n", False),
        (".\n", False),
    ],
)
def test_a_topic_has_up_to_249_characters_of_ascii(name: str, is_one: bool):
    assert is_topic_name(name) is is_one


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("ab", 31 * 97 + 98),
        ("polygenelubricants", -(2**31)),
        ("Aa", 2112),
        ("BB", 2112),
        ("😀", 31 * 0xD83D + 0xDE00),
        ("\ud800", 0xD800),
    ],
)
def test_a_hash_is_javas_over_utf_16(text: str, value: int):
    assert java_hash(text) == value


@pytest.mark.parametrize(
    ("name", "partitions", "partition"), [("polygenelubricants", 50, 0), ("a", 50, 47), ("a", 1, 0), ("", 50, 0)]
)
def test_the_coordinator_is_by_the_absolute_hash(name: str, partitions: int, partition: int):
    assert coordinator_partition(name, partitions) == partition


def test_a_hash_below_zero_counts_without_its_sign():
    name = next(each for each in (f"g-c-{number}" for number in range(100)) if java_hash(each) < 0)
    assert coordinator_partition(name, 50) == -java_hash(name) % 50


def test_names_are_forgotten_after_a_day():
    kept = CachedNames(("a",), 1_000, 1_000)
    assert kept.known(1_000 + FORGOTTEN_MS - 1) == ("a",)
    assert kept.known(1_000 + FORGOTTEN_MS) == ()
    assert kept.unanswered(9) == CachedNames(("a",), 1_000, 9)


def test_a_name_is_compared_without_regard_to_case_and_told_as_it_is():
    assert did_you_mean("ORDERS", ["Orders"]) == "did you mean Orders?"
    assert did_you_mean("x", ["Orders"], "") == ""
