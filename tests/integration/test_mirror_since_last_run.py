"""`mirror audit --store` on two real clusters: each run goes on where the last one ended, as if it had read all."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.mirror_site import Copied, Judged

pytestmark = [pytest.mark.kafka]


@pytest.fixture
def nightly(copied: Copied, tmp_path: Path) -> Callable[..., Judged]:
    """A run that goes on, held against one that compares everything."""
    store = f"sqlite:///{tmp_path}/ledger.db"

    def run(*more: object) -> Judged:
        found, whole = copied.audit("--store", store, *more), copied.audit(*more)
        assert found.verdict == whole.verdict
        assert found.counts == whole.counts
        assert {**found.pair, "reasons": (), "words": None} == {**whole.pair, "reasons": (), "words": None}
        return found

    return run


def test_each_run_goes_on_where_the_last_one_ended(copied: Copied, nightly: Callable[..., Judged], eosctl, tmp_path):
    copied.write(range(100))
    copied.copy(range(80))
    assert nightly().verdict == "held"
    copied.transact(range(100, 120))
    copied.transact(range(200, 210), commit=False)
    copied.copy(range(80, 120))
    second = nightly()
    assert second.pair["reasons"][1:] == [
        "source offsets before 80 and target offsets before 80 were compared by earlier runs"
    ]
    copied.write(range(120, 130))
    copied.copy([*range(120, 124), *range(110, 130)])
    assert nightly().counts == {"repeat": 14}
    assert nightly().verdict == "broken"
    ran = eosctl("audit", "history", "--store", f"sqlite:///{tmp_path}/ledger.db", "--job", "mirror", "-o", "json")
    runs = json.loads(ran.stdout)["data"]["runs"]
    assert [(each["run_number"], each["verdict"]) for each in runs] == [
        (4, "broken"), (3, "broken"), (2, "held"), (1, "held")
    ]  # fmt: skip
    assert [each["records"] for each in runs] == [0, 4, 40, 80]


@pytest.mark.variation
def test_what_changes_under_it_leads_to_a_comparison_of_everything(copied: Copied, nightly: Callable[..., Judged]):
    copied.write(range(100))
    copied.copy(range(100))
    assert nightly().verdict == "held"
    copied.delete_before(40)
    copied.write(range(100, 120))
    copied.copy(range(100, 110))
    copied.recreate()
    copied.write(range(200, 260))
    copied.copy(range(200, 240))
    found = nightly()
    assert found.verdict == "cannot-tell"
    assert "everything was compared again: the topic of the source was created again since the last run" in str(
        found.pair["reasons"]
    )


@pytest.mark.variation
def test_what_the_source_deleted_after_it_was_compared_is_held_and_what_it_deleted_before_is_not(
    copied: Copied, tmp_path: Path
):
    store = ("--store", f"sqlite:///{tmp_path}/ledger.db")
    copied.write(range(100))
    copied.copy(range(100))
    assert copied.audit(*store).verdict == "held"
    copied.write(range(100, 200))
    copied.copy(range(100, 150))
    copied.delete_before(100)
    copied.delete_before(60, in_target=True)
    found = copied.audit(*store)
    assert (found.verdict, found.counts, found.pair["matched"]) == ("held", {"lag": 50}, 150)
    copied.copy(range(150, 200))
    copied.delete_before(180)
    found = copied.audit(*store)
    assert (found.verdict, found.counts) == ("cannot-tell", {"lead": 120})
    assert "the source was deleted up to 180, and the last run had come to 150" in found.pair["reasons"][-1]
