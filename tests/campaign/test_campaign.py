"""Nine random histories on a real worker: no verdict of the audit is wrong, by what readers have.

`make campaign` has hundreds of them, with workers that are killed, frozen and started without exactly-once.
"""

from pathlib import Path

import pytest

from tests.campaign.histories import Round, count, table
from tests.campaign.operations import LOUD, MOVES, QUIET, Eosctl
from tests.campaign.site import open_site

pytestmark = [pytest.mark.kafka]
SEED, STEPS = 82, 2
NUMBERS = (0, 1, 5, 6, 9, 11, 13, 14, 15)
"""Of this seed's first sixteen these nine have every operation on connectors, and each outcome."""


def test_no_verdict_is_wrong(eosctl: Eosctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with open_site(tmp_path, workers=1) as site:
        histories = Round(site, SEED, NUMBERS, tmp_path, eosctl)
        histories.play(STEPS, worker_operations=0)
        results = list(histories.results(histories.report()))
        histories.close()
    counts = count(results)
    assert [(each.names, each.operations, each.why) for each in results if each.why] == []
    assert [(each.names, each.failure) for each in results if each.failure] == []
    assert min(counts[each] for each in ("doubled", "held", "altered", "broken")) > 0, table(counts)
    assert counts["witnesses"] >= counts["broken"], "a consumer has seen what breaks each"
    assert {name for each in results for name in each.operations} >= {each.__name__ for each in (*QUIET, *MOVES, *LOUD)}
