"""What a rule says when its facts were not read: that it cannot tell, and why."""

import pytest
from msgspec.structs import replace

from eosctl.analysis.rules.connectors import SAYS_NOTHING
from eosctl.analysis.rules.registry import RULES
from eosctl.model.acls import topic as topic_pattern
from eosctl.model.client_roles import ClientRole
from eosctl.model.evidence import UNKNOWN_PRINCIPAL, Evidence, Preflight
from eosctl.model.groups import ConnectGroup, GroupMember
from eosctl.model.offsets import SourceSupport
from eosctl.model.skipped import Skipped
from eosctl.model.transactions import TransactionState
from tests.analysis.evidence import (
    HEALTHY,
    NOW,
    OUT_1,
    OWN,
    UNREAD,
    A,
    B,
    acls,
    answer,
    but,
    described,
    inspection,
    members,
    mirrored,
    tasks,
    topic,
    transactional_id,
    worker,
)

LOST_ONE = Skipped("1 transactional ID is unknown: __transaction_state-3 has no leader")


@pytest.mark.parametrize(
    ("rule_id", "evidence"),
    [
        ("EOS110", but(transactions=HEALTHY.transactions | {"connect-cluster-g": LOST_ONE})),
        ("EOS111", but(transactions=HEALTHY.transactions | {"g-x-0": LOST_ONE})),
        ("EOS112", but(transactions=HEALTHY.transactions | {"g-x-0": LOST_ONE})),
        ("EOS116", but(transactions=HEALTHY.transactions | {"g-x-0": LOST_ONE})),
        ("EOS117", but(idle_since=HEALTHY.idle_since | {"g-x-0": LOST_ONE})),
        ("EOS115", but(unlisted=(LOST_ONE.reason,))),
        ("EOS303", but(logged=HEALTHY.logged | {"g-x-0": LOST_ONE})),
        ("EOS303", but(logged=LOST_ONE)),
        ("EOS303", but(workers={A: replace(worker(A), version=LOST_ONE), B: worker(B)})),
        ("EOS303", but(workers={A: LOST_ONE, B: worker(B)})),
        ("EOS304", but(transactions=HEALTHY.transactions | {"g-x-0": LOST_ONE})),
    ],
)
def test_a_rule_whose_coordinator_is_lost_cannot_tell_and_says_why_once(rule_id: str, evidence: Evidence) -> None:
    said = answer(rule_id, evidence)
    assert (said.findings, said.cannot_tell, said.outcome) == ((), (LOST_ONE.reason,), "cannot tell")


@pytest.mark.parametrize(
    ("rule_id", "evidence"),
    [
        ("EOS110", but(transactions={"g-x-0": LOST_ONE, "g-x-1": LOST_ONE})),
        ("EOS111", but(transactions={"connect-cluster-g": LOST_ONE, "g-x-1": LOST_ONE})),
        ("EOS112", but(transactions={"g-x-0": described("g-x-0", TransactionState.ONGOING, NOW - 200_000),
                                     "g-x-1": LOST_ONE})),
        ("EOS116", but(transactions={"g-x-0": described("g-x-0", TransactionState.ONGOING, NOW, (OUT_1,)),
                                     "g-x-1": LOST_ONE}, leaderless=frozenset({OUT_1}))),
        ("EOS117", but(idle_since={"g-x-1": NOW - 604_800_000, "g-x-0": LOST_ONE})),
        ("EOS115", but(transactional_ids=("g-gone-0",), unlisted=(LOST_ONE.reason,))),
    ],
)  # fmt: skip
def test_a_lost_coordinator_does_not_keep_a_rule_from_judging_the_ids_of_others(
    rule_id: str, evidence: Evidence
) -> None:
    said = answer(rule_id, evidence)
    assert len(said.findings) == 1


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.needs], ids=lambda rule: rule.id)
def test_a_rule_whose_facts_were_not_read_cannot_tell(rule) -> None:
    for name in rule.needs:
        said = answer(rule.id, but(**{name: UNREAD}))
        assert said.outcome == "cannot tell"
        assert "denied" in said.cannot_tell[0]


LATER = {
    "acl_differences": acls(
        ("User:w", ClientRole.WORKER, None, transactional_id("connect-cluster-g")),
        ("User:c", ClientRole.ADMIN, "x", transactional_id("g-x-0")),
        ("User:c", ClientRole.PRODUCER, "x", topic_pattern("offsets")),
        phases=(SourceSupport.ENABLED,),
    )
}
UNTOLD = [
    ("EOS012", but(workers={A: replace(worker(A), enabled=UNREAD)}), "denied"),
    ("EOS013", but(workers={A: replace(worker(A), enabled=UNREAD)}), "denied"),
    ("EOS016", but(worker_files=UNREAD), "denied"),
    ("EOS021", but(group=ConnectGroup("Stable", "connect", "sessioned", (GroupMember("1", None),))), "its address"),
    ("EOS022", but(workers={A: replace(worker(A), connectors=UNREAD)}), "denied"),
    ("EOS023", but(group=members(A, protocol="", state="PreparingRebalance")), "PreparingRebalance"),
    (
        "EOS030",
        but(inspection=inspection(tasks(2, **{"admin.override.retry.backoff.ms": "${file:x:y}"}))),
        "only the worker resolves",
    ),
    ("EOS031", but(brokers={0: UNREAD}), "denied"),
    ("EOS031", but(brokers={0: {}}), "transaction.max.timeout.ms"),
    ("EOS040", but(brokers={0: {}}, transaction_log=None), "transaction.state.log.replication.factor"),
    ("EOS043", but(brokers={0: {}}), "verification"),
    ("EOS044", but(brokers={0: {}}), "expiration"),
    ("EOS050", but(internal_topics=(replace(topic(), facts=UNREAD),)), "denied"),
    ("EOS051", but(internal_topics=(replace(topic(), facts=UNREAD),)), "denied"),
    ("EOS054", but(internal_topics=(replace(topic(), facts=UNREAD),)), "denied"),
    ("EOS100", but(preflight={"x": Preflight({A: UNREAD})}), "denied"),
    ("EOS100", but(preflight={"x": Preflight({A: (f"The connector {SAYS_NOTHING} of it",)})}), "does not say"),
    ("EOS028", but(preflight={"x": Preflight({A: (), B: UNREAD})}), "denied"),
    ("EOS019", but(workers={A: replace(worker(A), plugins=UNREAD), B: worker(B)}), "denied"),
    ("EOS045", but(brokers={0: {}}), "num.partitions"),
    ("EOS052", but(inspection=inspection(**OWN), topics=UNREAD), "denied"),
    ("EOS055", but(inspection=inspection(**OWN), topics={"own": UNREAD}), "denied"),
    ("EOS118", but(other_groups={"g-x": UNREAD}), "denied"),
    ("EOS119", but(groups_elsewhere={"x": UNREAD}), "denied"),
    ("EOS150", but(outputs={"x": UNREAD}), "denied"),
    ("EOS151", but(topics={"out": UNREAD}), "denied"),
    ("EOS326", but(mirrors=(UNREAD,)), "denied"),
    ("EOS327", but(mirrors=(UNREAD,)), "denied"),
    ("EOS328", but(mirrors=(mirrored(9, retention_ms=UNREAD),)), "denied"),
    ("EOS328", but(mirrors=(mirrored(9, retention_bytes=UNREAD),)), "denied"),
    ("EOS328", but(mirrors=(mirrored(9, next_ms=UNREAD),)), "denied"),
    ("EOS327", but(mirrors=(mirrored(9, written_ms=UNREAD),)), "denied"),
    ("EOS328", but(mirrors=(mirrored(2, retention_bytes=5),)), "its size is not read"),
    (
        "EOS104",
        but(inspection=inspection(**{"producer.override.transaction.timeout.ms": "${env:T:x}"})),
        "only the worker resolves",
    ),
    (
        "EOS105",
        but(inspection=inspection(**{"transaction.boundary": "interval"}), worker_files=UNREAD),
        "offset.flush.interval.ms",
    ),
    (
        "EOS130",
        but(acl_differences=acls((UNKNOWN_PRINCIPAL, ClientRole.WORKER, None, transactional_id("x")))),
        "--principal worker=User:NAME",
    ),
    (
        "EOS131",
        but(acl_differences=acls((UNKNOWN_PRINCIPAL, ClientRole.ADMIN, "x", transactional_id("x")))),
        "--principal connector=User:NAME",
    ),
    (
        "EOS132",
        but(acl_differences=acls(("User:ANONYMOUS", ClientRole.ADMIN, "x", topic_pattern("x")))),
        "--super-user User:ANONYMOUS",
    ),
    ("EOS130", but(**LATER, acl_in_force=UNREAD), "whether 1 binding that is missing is needed"),
    ("EOS131", but(**LATER, acl_in_force=UNREAD), "g-x-0): denied"),
    ("EOS132", but(**LATER, acl_in_force=UNREAD), "Topic offsets): denied"),
    ("EOS110", but(workers={A: replace(worker(A), enabled=UNREAD)}, worker_files=UNREAD), "denied"),
    ("EOS111", but(workers={A: replace(worker(A), enabled=UNREAD)}), "denied"),
    ("EOS110", but(workers=UNREAD, worker_files=UNREAD), "denied"),
    ("EOS102", but(workers=UNREAD), "denied"),
]


@pytest.mark.parametrize(("rule_id", "evidence", "reason"), UNTOLD)
def test_what_a_rule_could_not_read_is_not_fine(rule_id: str, evidence: Evidence, reason: str) -> None:
    said = answer(rule_id, evidence)
    assert said.outcome == "cannot tell"
    assert reason in " ".join(said.cannot_tell)
