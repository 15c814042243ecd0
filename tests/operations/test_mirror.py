"""A mirror's audit: evidence, positions, and what an earlier run left."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from eosctl.codecs.secrets import mask_properties
from eosctl.engines.auditing import AuditResult
from eosctl.errors import Refused, UsageError
from eosctl.ledger.ledger import Ledger, open_ledger
from eosctl.model.audit import AuditedTopic, AuditPlan, AuditReport, AuditVerdict, PartitionBounds, TopicRole
from eosctl.model.client_properties import HIDDEN
from eosctl.model.evidence import Evidence
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
from eosctl.model.offsets import AtSource, OffsetsReport, Served, SourceServer, Store, WorkerSettings
from eosctl.model.report import exit_code
from eosctl.model.skipped import Cause, Skipped, not_asked
from eosctl.operations import audit as audits
from eosctl.operations.evidence import EvidenceRequest, read_mirrors
from eosctl.operations.mirror import Earlier, Planned, run_incrementally
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.operations.offsets import diff_offsets, read_source, source_read
from tests.analysis.evidence import HEALTHY, NOW, UNREAD, but, mirror
from tests.fake_cluster import FakeCluster
from tests.operations.conversation import Conversation, session_on
from tests.operations.quiet import session_with
from tests.operations.test_offsets import config_topic
from tests.postgresql import PostgreSQL

OFFSETS = OffsetsReport((), {}, (), (), {}, WorkerSettings("connect-offsets", UNREAD, UNREAD), NOW)
EU = mirror(**{"source.cluster.alias": "eu"})


@pytest.mark.parametrize(
    ("known", "offsets", "found"),
    [
        (HEALTHY, OFFSETS, ()),
        (but(inspection=UNREAD), OFFSETS, UNREAD),
        (but(inspection=EU), UNREAD, UNREAD),
        (
            but(inspection=EU),
            OFFSETS,
            (Skipped("give --source-command-config eu=FILE for source cluster eu"),),
        ),
    ],
)
def test_without_an_identity_of_the_source_nothing_is_asked_and_nothing_is_fine(
    known: Evidence, offsets: OffsetsReport | Skipped, found: object
) -> None:
    assert read_mirrors(session_with(FakeCluster()), EvidenceRequest({}), known, offsets) == found


ASKED = not_asked("not asked")
ORDERS, PAYMENTS = TopicPair("orders", "eu.orders"), TopicPair("payments", "eu.payments")


def progress(topics: TopicPair, end: int) -> MirrorProgress:
    """All of it was equal up to this offset, and two records of the target were aborted."""
    kept = Kept(end, end, 0, end, end + 3, end, 0, (0, 0), 0, (end - 1, end + 2), end, {})
    return MirrorProgress(topics, 0, "S", "T", kept, Counts(end, end), Counts(end + 3, end, aborted=2))


@dataclass
class Auditor:
    """Reads nothing, finds everything equal up to an offset, and remembers its starting points."""

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
        return MirrorReport(plan=planned.plan, pairs=judged), left


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    return open_ledger(f"sqlite:///{tmp_path}/ledger.db")


def nightly(ledger: Ledger, auditor: Auditor) -> dict[str, int]:
    """One run; the source offset up to which it learned that each topic had been compared."""
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


def test_a_pair_without_kept_state_is_fully_compared_the_next_time(ledger: Ledger):
    nightly(ledger, Auditor(100))
    nightly(ledger, Auditor(200, leaves=False))
    assert nightly(ledger, Auditor(300)) == {}
    assert nightly(ledger, Auditor(400)) == {"orders": 300}


def test_a_pair_that_is_not_asked_for_continues_later(ledger: Ledger):
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
    with pytest.raises(Refused, match="job nightly belongs to a mirror's audit"):
        audits.run_incrementally(ConnectorAuditor(), ledger, "nightly", lambda _: "{}")
    audits.run_incrementally(ConnectorAuditor(), ledger, "connectors", lambda _: "{}")
    with pytest.raises(Refused, match="job connectors belongs to an audit of connectors"):
        run_incrementally(Auditor(100), ledger, "connectors", lambda _: "{}")


SECRET = "canary-of-the-source"


class Shop:
    """A database with a slot, and positions before and behind what the slot has confirmed."""

    def __init__(self, server: PostgreSQL) -> None:
        self.server, self.dbname = server, server.new_database()
        self.slot = f"slot_{self.dbname}"
        self.url = server.url(self.dbname)
        self.execute(f"SELECT pg_create_logical_replication_slot('{self.slot}', 'pgoutput')")

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.server.conninfo(self.dbname), autocommit=True) as connection:
            connection.execute(statement.encode())

    def read(self) -> SourceServer:
        found = read_source(self.url, 10)
        assert isinstance(found, SourceServer)
        return found

    def confirmed(self) -> int:
        confirmed = self.read().slots[self.slot].confirmed_flush_lsn
        assert confirmed is not None
        return confirmed


@pytest.fixture
def shop(postgresql: PostgreSQL) -> Iterator[Shop]:
    made = Shop(postgresql)
    yield made
    made.execute(f"SELECT pg_drop_replication_slot('{made.slot}')")


def test_the_slots_of_the_database_are_read_with_where_the_server_is(shop: Shop):
    before = shop.read()
    slot = before.slots[shop.slot]
    assert list(before.slots) == [shop.slot]
    assert (slot.active, slot.wal_status) == (False, "reserved")
    shop.execute("CREATE TABLE t AS SELECT generate_series(1, 100)")
    shop.execute(f"SELECT pg_replication_slot_advance('{shop.slot}', pg_current_wal_lsn())")
    assert slot.confirmed_flush_lsn < shop.confirmed() <= shop.read().current_lsn


def test_a_source_that_does_not_answer_is_not_known(postgresql: PostgreSQL, shop: Shop):
    away = read_source(postgresql.url(shop.dbname, port=1), 2)
    assert isinstance(away, Skipped)
    assert (away.cause, away.cause.is_gap) == (Cause.UNREACHABLE, True)
    assert away.reason.startswith(f"source database postgresql://127.0.0.1:1/{shop.dbname} cannot be reached: ")


def test_a_password_in_the_url_is_refused_and_not_repeated():
    with pytest.raises(UsageError) as refused:
        read_source(f"postgresql://debezium:{SECRET}@127.0.0.1/shop", 2)
    assert refused.value.message == "the password is in the source's URL, where other users can read it"
    assert SECRET not in f"{refused.value} {refused.value.hint}"


def test_the_slot_is_that_of_the_config_or_debeziums_default():
    server = SourceServer(1)
    assert source_read(server, "shop", {"slot.name": "mine"}).slot == "mine"
    assert source_read(server, "shop", {"topic.prefix": "shop"}).slot == "debezium"
    masked = mask_properties({"slot.name": "mine", "database.password": SECRET})
    assert source_read(server, "shop", masked).slot == "mine"
    for config in (None, {}, {"slot.name": "${file:x:y}"}, {"slot.name": HIDDEN}):
        assert isinstance(source_read(server, "shop", config).slot, Skipped)


def files(directory: Path, a: int, b: int) -> tuple[str, str]:
    for name, lsn in (("a", a), ("b", b)):
        entry = {"partition": {"server": "shop"}, "offset": {"lsn": lsn}}
        (directory / f"{name}.json").write_text(json.dumps({"offsets": [entry]}))
    return str(directory / "a.json"), str(directory / "b.json")


def compared(shop: Shop, url: str, a: str, b: str):
    configs = {"shop": {"slot.name": shop.slot}}
    cluster = FakeCluster(connector_configs=configs, config_topic=config_topic())
    session = session_on(cluster, Conversation(), timeout_s=2)
    return diff_offsets(session, OffsetsRequest(("shop",)), a, b, Store.KAFKA_EFFECTIVE, {}, url)


def test_a_difference_includes_the_answers_of_the_source_about_both_positions(shop: Shop, tmp_path: Path):
    shop.execute("CREATE TABLE t AS SELECT generate_series(1, 100)")
    confirmed = shop.confirmed()
    [change] = compared(shop, shop.url, *files(tmp_path, confirmed - 1, confirmed)).changes
    assert isinstance(change.source_a, AtSource)
    assert isinstance(change.source_b, AtSource)
    assert (change.source_a.served, change.source_b.served) == (Served.LEFT_BEHIND, Served.SERVED)


def test_a_difference_whose_source_did_not_answer_names_it_and_is_incomplete(shop: Shop, tmp_path: Path):
    found = compared(shop, shop.server.url(shop.dbname, port=1), *files(tmp_path, 1, 2))
    [change] = found.changes
    assert isinstance(change.source_a, Skipped)
    assert [each.what for each in found.coverage.gaps] == ["the source"]
    assert exit_code(found) == 1
