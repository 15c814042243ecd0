"""Sixteen random histories on real workers: no verdict of the audit is wrong, by what readers have."""

from pathlib import Path

import pytest

from tests.campaign.counts import count, table
from tests.campaign.histories import Result
from tests.campaign.operations import Eosctl
from tests.campaign.run import run_seed
from tests.campaign.site import open_site

pytestmark = [pytest.mark.kafka]
SEEDS = (1, 2)


def test_no_verdict_is_wrong(eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    results: list[Result] = []
    with open_site(tmp_path) as site:
        for seed in SEEDS:
            results += run_seed(site, seed, tmp_path, eosctl)
    counts = count(results)
    assert [(each.names, each.operations, each.why) for each in results if each.why] == []
    assert [(each.names, each.failure) for each in results if each.failure] == []
    assert counts["histories"] >= 15, table(counts)
    assert counts["doubled"] > 0, table(counts)
