"""Audits killed anywhere, racing, over a log that grows: the ledger is always that of one audit of everything."""

import random
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest

from eosctl.ledger.ledger import open_ledger
from eosctl.model.audit import StateKind
from tests.executors.crashes import StandInAudited, endure
from tests.executors.crashing_audit import CLUSTER, LogShape, StandInAuditor
from tests.postgresql import PostgreSQL

SCHEDULES = 500
SHORT = 10

Under = Callable[..., StandInAudited]


@pytest.fixture(params=["sqlite", "postgresql"])
def under_audit(request: pytest.FixtureRequest, tmp_path: Path) -> Under:
    """Makes a job under audit, `under_audit(seed)`, each in the same ledger."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'ledger.db'}"
    else:
        server: PostgreSQL = request.getfixturevalue("postgresql")
        url = server.url(server.new_database())
    return lambda seed, *more: StandInAudited(url, f"job-{seed}", tmp_path, seed, *more)


@pytest.mark.parametrize(
    ("under_audit", "failpoint"),
    [
        *(("sqlite", each) for each in StandInAudited.failpoints),
        *(pytest.param("postgresql", each, marks=pytest.mark.long) for each in StandInAudited.failpoints),
    ],
    indirect=["under_audit"],
)
def test_an_audit_killed_at_any_point_is_finished_by_the_next(under_audit: Under, failpoint: str):
    audited = under_audit(failpoint)
    assert _end(audited, failpoint) == -9
    audited.check()
    assert not audited.is_at_the_end()
    assert _end(audited, f"{failpoint}:2") == -9
    audited.check()
    assert _end(audited) == 0
    audited.check()
    assert audited.is_at_the_end()


def _end(audited: StandInAudited, failpoint: str | None = None) -> int:
    process = audited.start(failpoint)
    _, error = process.communicate(timeout=60)
    assert error == ""
    return process.returncode


@pytest.mark.parametrize("under_audit", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True)
def test_schedules_of_kills_and_races(under_audit: Under):
    _endure(under_audit, range(SHORT))


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_five_hundred_schedules(under_audit: Under):
    _endure(under_audit, range(SHORT, SHORT + SCHEDULES))


def _endure(under_audit: Under, seeds: range) -> None:
    killed = 0
    first = under_audit("first")
    begun = monotonic()
    assert _end(first) == 0
    longest_s = monotonic() - begun
    for seed in seeds:
        audited = under_audit(seed)
        audited.longest_s = longest_s
        try:
            killed += endure(audited, random.Random(seed))
            assert audited.is_at_the_end()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    assert killed > len(seeds)


def test_results_and_cursor_in_two_transactions_are_caught(under_audit: Under):
    """The harness can fail: between the two, the results are there and will be found again."""
    audited = under_audit(1, "--two-transactions")
    assert _end(audited, "between") == -9
    with pytest.raises(AssertionError):
        audited.check()
    assert _end(audited) == 0
    with pytest.raises(AssertionError):
        audited.check()


@pytest.mark.parametrize("under_audit", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True)
def test_schedules_catch_two_transactions_too(under_audit: Under):
    """Not only where one knows where to kill."""
    with pytest.raises(AssertionError, match=r"seed \d+: (?!.*stderr)"):
        _endure(lambda seed: under_audit(seed, "--two-transactions"), range(40))


def test_three_auditors_of_one_job_share_the_log_and_none_reads_twice(under_audit: Under):
    audited = under_audit(3, "--racers=3")
    audited.shape = LogShape({"offsets": ("A", [[0, 1500], [0, 1200]]), "records": ("B", [[0, 1800]])})
    audited.shape.write(audited._log)
    racing = [audited.start() for _ in range(3)]
    ended = [each.communicate(timeout=120) for each in racing]
    assert [(each.returncode, error) for each, (_, error) in zip(racing, ended, strict=True)] == [(0, "")] * 3
    audited.check()
    assert audited.is_at_the_end()
    stale = sum(int(out) for out, _ in ended)
    assert stale > 1, "two of the three planned from the state that the first one changed"


def test_a_killed_and_continued_audit_leaves_what_one_audit_leaves(under_audit: Under, tmp_path: Path):
    """Payloads and report to the byte, as long as nothing expired meanwhile."""
    audited = under_audit(4)
    for failpoint in ("before-commit:3", "committed:2", "bucket-written:7", None):
        _end(audited, failpoint)
    at_once = open_ledger(f"sqlite:///{tmp_path / 'at-once.db'}")
    StandInAuditor(at_once, "job", audited._log, seed=99).run()
    ledger = audited.ledger
    assert ledger.report(audited.job) == at_once.report("job")
    assert list(ledger.carried(ledger.state(audited.job, CLUSTER), StateKind.KEYS)) == list(
        at_once.carried(at_once.state("job", CLUSTER), StateKind.KEYS)
    )
