"""A mirror's audit that goes on: what its ledger holds, and whose jobs it refuses."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from eosctl.engines.auditing import AuditResult
from eosctl.errors import Refused
from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.model.audit import AuditedTopic, AuditPlan, AuditReport, AuditVerdict, PartitionBounds, TopicRole
from eosctl.model.mirror import (
    Alignment,
    Counts,
    Kept,
    MirrorPlan,
    MirrorProgress,
    MirrorReport,
    PairVerdict,
    PartitionPair,
    TopicPair,
)
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import not_asked
from eosctl.operations import audit as audits
from eosctl.operations.mirror import Earlier, Planned, run_incrementally

ASKED = not_asked("not asked")
ORDERS, PAYMENTS = TopicPair("orders", "eu.orders"), TopicPair("payments", "eu.payments")


def progress(topics: TopicPair, end: int) -> MirrorProgress:
    """All of it was equal up to this offset, and two records of the target were aborted."""
    kept = Kept(end, end, 0, end, end + 3, end, 0, (0, 0), 0, (end - 1, end + 2), end, {})
    return MirrorProgress(topics, 0, "S", "T", kept, Counts(end, end), Counts(end + 3, end, aborted=2))


@dataclass
class Auditor:
    """What reads nothing, finds everything equal up to an offset, and remembers what it was given to go on from."""

    end: int
    topics: tuple[TopicPair, ...] = (ORDERS,)
    source_cluster: str = "A"
    target_id: str = "T"
    leaves: bool = True
    meanwhile: Callable[[], object] = lambda: None
    given: list[Earlier] = field(default_factory=list)

    def plan(self) -> Planned:
        """Both sides of all pairs end at the offset."""
        pairs = tuple(
            PartitionPair(each, 0, *(PartitionBounds(name, 0, 0, self.end + 3, self.end + 3, 0) for name in each), None)
            for each in self.topics
        )
        sides = (
            AuditPlan(0, None, None, tuple(AuditedTopic(each[side], TopicRole.OUTPUT, self.target_id)
                                           for each in self.topics), (), ())
            for side in (0, 1)
        )  # fmt: skip
        plan = MirrorPlan(1_767_182_400_000, self.source_cluster, "B", (), pairs, ASKED)
        return Planned(plan, *sides, ASKED, ASKED, ASKED)

    def run(self, planned: Planned, earlier: Earlier) -> tuple[MirrorReport, tuple[MirrorProgress, ...]]:
        """Held."""
        self.given.append(earlier)
        self.meanwhile()
        self.meanwhile = lambda: None
        going_on = [(each.topics, each.partition) in earlier for each in planned.plan.pairs]
        judged = tuple(
            PairVerdict(each, Alignment(continued=(1, 1) if known else None), AuditVerdict.HELD)
            for each, known in zip(planned.plan.pairs, going_on, strict=True)
        )
        left = tuple(progress(each, self.end) for each in self.topics) if self.leaves else ()
        return MirrorReport(planned.plan, judged, ()), left


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return open_ledger(f"sqlite:///{tmp_path}/ledger.db")


def nightly(ledger: Ledger, auditor: Auditor) -> dict[str, int]:
    """One run; up to which source offset it was told that each topic had been compared."""
    run_incrementally(auditor, ledger, "nightly", lambda _: "{}")
    return {topics.source: each.kept.source_next for (topics, _), each in auditor.given[-1].items()}


def test_a_run_is_given_what_the_last_one_left(ledger: Ledger):
    assert [nightly(ledger, Auditor(end)) for end in (100, 250, 250)] == [{}, {"orders": 100}, {"orders": 250}]


def test_cursors_and_ranges_are_those_of_the_target(ledger: Ledger):
    for end in (100, 250):
        nightly(ledger, Auditor(end))
    place = TopicPartition("eu.orders", 0)
    assert ledger.state("nightly", "B").cursors[place].offset == 253
    found = [(each.range.start, each.range.end, each.range.records) for each in ledger.ranges("nightly")]
    assert found == [(0, 103, 102), (103, 253, 150)]


def test_what_left_nothing_is_compared_as_a_whole_the_next_time(ledger: Ledger):
    nightly(ledger, Auditor(100))
    nightly(ledger, Auditor(200, leaves=False))
    assert nightly(ledger, Auditor(300)) == {}
    assert nightly(ledger, Auditor(400)) == {"orders": 300}


def test_a_pair_that_is_not_asked_for_goes_on_later(ledger: Ledger):
    nightly(ledger, Auditor(100, (ORDERS, PAYMENTS)))
    nightly(ledger, Auditor(200))
    assert nightly(ledger, Auditor(300, (ORDERS, PAYMENTS))) == {"orders": 200, "payments": 100}


def test_a_topic_with_another_mirror_is_another_pair(ledger: Ledger):
    nightly(ledger, Auditor(100))
    auditor = Auditor(200, (TopicPair("other", "eu.orders"),))
    nightly(ledger, auditor)
    assert (TopicPair("other", "eu.orders"), 0) not in auditor.given[-1]


def test_a_target_topic_that_was_created_again_begins_a_new_account(ledger: Ledger):
    nightly(ledger, Auditor(100))
    nightly(ledger, Auditor(50, target_id="X"))
    assert [each.range.kind for each in ledger.ranges("nightly")] == ["read", "recreated", "read"]


def test_where_another_run_was_faster_all_is_planned_and_compared_again(ledger: Ledger):
    auditor = Auditor(200, meanwhile=lambda: nightly(ledger, Auditor(150)))
    assert nightly(ledger, auditor) == {"orders": 150}
    assert len(auditor.given) == 2


def test_a_job_of_another_source_is_refused(ledger: Ledger):
    nightly(ledger, Auditor(100))
    with pytest.raises(Refused, match="compares with source cluster A, this is Z"):
        nightly(ledger, Auditor(200, source_cluster="Z"))


class ConnectorAuditor:
    """An audit of connectors that reads nothing."""

    processes = 1

    def bounds(self) -> AuditPlan:
        """No topics."""
        return AuditPlan(0, "B", None, (), (), ())

    def run(self, plan: AuditPlan, carried: object) -> AuditResult:
        """No findings."""
        return AuditResult(AuditReport(plan, (), (), ()), ())


def test_a_job_is_a_mirrors_or_one_of_connectors(ledger: Ledger):
    nightly(ledger, Auditor(100))
    with pytest.raises(Refused, match="job nightly is that of a mirror's audit"):
        audits.run_incrementally(ConnectorAuditor(), ledger, "nightly", lambda _: "{}")
    audits.run_incrementally(ConnectorAuditor(), ledger, "connectors", lambda _: "{}")
    with pytest.raises(Refused, match="job connectors is that of an audit of connectors"):
        run_incrementally(Auditor(100), ledger, "connectors", lambda _: "{}")
