"""A probe's answers: which fail, what remains of it, and how it ends."""

import pytest
from msgspec.structs import replace

from eosctl.errors import Interrupted, PartlyApplied
from eosctl.model.names import ProducerIdAndEpoch
from eosctl.model.probe import Look, Probed, ProbedApi, Raised, Verdict, VersionRange, plan_probe
from eosctl.model.records import Shown
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from tests.render.test_probe import answer

YES, NO, DIFFERENT, UNKNOWN = Verdict
PROBED = Probed(
    plan=plan_probe("p-", "1", -1, 5), cluster_id="k", principal="User:a", answers=(), apis=(), init_ms=(), left=()
)


@pytest.mark.parametrize(
    ("verdict", "severity", "fails"),
    [
        (YES, Severity.ERROR, False),
        (NO, Severity.ERROR, True),
        (NO, Severity.WARNING, True),
        (NO, Severity.INFO, False),
        (DIFFERENT, Severity.ERROR, True),
        (DIFFERENT, Severity.INFO, False),
        (UNKNOWN, Severity.ERROR, False),
    ],
)
def test_a_check_fails_where_the_cluster_certainly_differs_in_more_than_older_kafkas_do(verdict, severity, fails):
    one = answer("a", verdict, severity)
    assert one.fails is fails
    assert one.meaning == (one.check.yes if verdict is YES else one.check.otherwise)
    found = replace(PROBED, answers=(answer("b", YES), one))
    assert found.found is fails
    assert found.count(YES) == (2 if verdict is YES else 1)


@pytest.mark.parametrize(
    ("versions", "there"),
    [
        (VersionRange(0, 4), True),
        (VersionRange(0, 5), True),
        (VersionRange(0, 3), False),
        (None, False),
        (Skipped("no answer"), None),
    ],
)
def test_an_api_is_there_where_every_broker_answers_the_needed_version(versions, there: bool | None):
    assert ProbedApi("Fetch", 1, versions, 4, "audit").is_there is there


@pytest.mark.parametrize(
    ("undeleted", "interrupted", "kind", "message", "has_hint"),
    [
        (None, False, None, "", False),
        ("no answer", False, PartlyApplied, "the probe is done, but topic p-1 may remain: no answer", True),
        ("no answer", True, Interrupted, "interrupted; topic p-1 may remain: no answer", True),
        (None, True, Interrupted, "interrupted; only the named resources remain", False),
    ],
)
def test_a_probe_that_leaves_its_topic_says_how_to_delete_it(undeleted, interrupted, kind, message, has_hint):
    error = replace(PROBED, undeleted=undeleted, interrupted=interrupted).failure
    if kind is None:
        assert error is None
    else:
        assert isinstance(error, kind)
        assert error.message == message
        assert (error.hint or "").endswith("--delete --topic p-1") is has_hint


@pytest.mark.parametrize(
    ("look", "is_stable", "is_ended"),
    [
        (Look(4, 5, 9, Shown.RETURNED, "COMMIT"), True, True),
        (Look(4, 4, 9, Shown.RETURNED, "COMMIT"), False, False),
        (Look(4, 5, 9, Shown.RETURNED, None), True, False),
        (Look(4, 5, 9, Shown.NOT_RETURNED, "ABORT"), True, False),
    ],
)
def test_a_transaction_has_ended_where_all_three_requests_show_it(look: Look, is_stable: bool, is_ended: bool):
    assert (look.is_stable, look.is_ended) == (is_stable, is_ended)


@pytest.mark.parametrize(
    ("after", "fences"),
    [((7, 3), False), ((7, 4), True), ((7, 2), False), ((8, 0), True), ((8, 3), True)],
)
def test_a_producer_is_fenced_by_a_higher_epoch_or_another_id(after: tuple[int, int], fences: bool):
    assert Raised(ProducerIdAndEpoch(7, 3), ProducerIdAndEpoch(*after)).fences is fences


@pytest.mark.parametrize(
    ("factor", "words"), [(-1, "the brokers' default replication factor"), (0, "replication factor 0"), (3, "factor 3")]
)
def test_the_steps_of_a_probe_name_the_replication_factor(factor: int, words: str):
    assert words in replace(PROBED.plan, replication_factor=factor).steps[2]
