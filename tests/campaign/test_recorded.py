"""Recorded histories judged again: by Spark equally, and by judges with one spoilt decision, which are all caught."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.campaign.histories import Round, append_results, audit, kept_results
from tests.campaign.judging import Judged, Outcome, judge
from tests.campaign.mutations import MUTATIONS, Mutation
from tests.campaign.operations import Eosctl
from tests.campaign.recording import replaying
from tests.campaign.run import AT_ONCE, BOUNCED, RESULTS, STEPS
from tests.campaign.site import open_site
from tests.commands.conftest import Typed

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(1800)]
SEEDS = (3, 5, 8)
"""Between them they have what the mutations are about."""
PARTS = ("connectors", "findings", "ranges", "transactions", "timeline", "epochs", "growth")


@dataclass(frozen=True)
class Recorded:
    """Directories of recordings with the results beside them, and the engines' answers while Kafka ran."""

    directories: tuple[Path, ...]
    local: tuple[Mapping[str, Any], ...]
    spark: tuple[Mapping[str, Any], ...]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Rounds on one site."""
    home = tmp_path_factory.mktemp("campaign")
    local, spark = [], []
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("EOSCTL_")]:
            patch.delenv(name)
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        with open_site(home / "site") as site:
            for seed in SEEDS:
                histories = Round(site, seed, range(AT_ONCE), home, Typed().run)
                histories.play(STEPS, bounce=seed % BOUNCED == 0)
                local.append(histories.report(home / str(seed)))
                with replaying(home / str(seed)):
                    spark.append(histories.report(None, "--engine", "spark", "--master", "local[2]"))
                append_results(home / str(seed) / RESULTS, histories.results(local[-1]))
                histories.clear()
        yield Recorded(tuple(home / str(seed) for seed in SEEDS), tuple(local), tuple(spark))


def judged_again(directory: Path, eosctl: Eosctl) -> dict[str, Judged]:
    """The judgement of each recorded history, by its connector's last name."""
    with replaying(directory):
        report = audit(eosctl, "-b", "127.0.0.1:1")
    return {
        each.names[-1]: judge(each.names, report, each.facts)
        for each in kept_results(directory / RESULTS)
        if not each.failure
    }


def is_noticed(recorded: Recorded, eosctl: Eosctl) -> bool:
    """Whether a verdict is wrong, or more than one in ten cannot tell."""
    outcomes = [
        judged.outcome for directory in recorded.directories for judged in judged_again(directory, eosctl).values()
    ]
    return Outcome.WRONG in outcomes or outcomes.count(Outcome.CANNOT_TELL) > 0.1 * len(outcomes)


def test_spark_gives_the_report_of_the_local_engine(recorded: Recorded):
    for local, spark in zip(recorded.local, recorded.spark, strict=True):
        for part in PARTS:
            assert spark[part] == local[part], part


def test_a_recording_is_judged_as_the_cluster_was(recorded: Recorded, eosctl: Eosctl):
    for directory, report in zip(recorded.directories, recorded.local, strict=True):
        with replaying(directory):
            assert audit(eosctl, "-b", "127.0.0.1:1")["connectors"] == report["connectors"]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_a_spoilt_judge_is_caught(
    recorded: Recorded, eosctl: Eosctl, monkeypatch: pytest.MonkeyPatch, mutation: Mutation
):
    assert not is_noticed(recorded, eosctl)
    mutation.plant(monkeypatch)
    assert is_noticed(recorded, eosctl)
