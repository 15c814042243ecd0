"""Rules about brokers, replicas, the transaction log and groups."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.analysis.transaction_log import fold_transaction_log, last_values, log_findings
from eosctl.model.evidence import Evidence
from eosctl.model.groups import ShareGroup
from eosctl.model.names import TopicPartition
from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from eosctl.model.transaction_log import TransactionLogRecord
from eosctl.model.transactions import TransactionState
from eosctl.model.versions import KafkaVersion, Release
from tests.analysis.evidence import (
    BEFORE_3_7,
    BROKER,
    HEALTHY,
    NOW,
    OUT_1,
    UNREAD,
    A,
    B,
    answer,
    but,
    logged,
    topic,
    transaction_log,
    worker,
)

OLDER = Release(KafkaVersion(3, 8), KafkaVersion(4, 0))
NEW = Release(KafkaVersion(4, 1), None)


@pytest.mark.parametrize(("features", "level"), [({"transaction.version": 1}, 1), ({"metadata.version": 25}, 0)])
def test_a_transaction_version_below_two_is_found_and_no_broker_names_a_level_of_zero(
    features: dict[str, int], level: int
) -> None:
    [found] = answer("EOS046", but(finalized_features=features)).findings
    assert (found.severity, found.evidence["transaction_version"]) == (Severity.WARNING, level)
    assert found.message.startswith(f"transaction.version is finalized at {level}: ")
    assert "kafka-features.sh --bootstrap-server <broker> upgrade --feature transaction.version=2" in found.cure


@pytest.mark.parametrize("releases", [{0: OLDER, 1: OLDER}, {0: NEW, 1: OLDER}], ids=["before 4.0", "rolling"])
def test_brokers_that_cannot_have_it_yet_get_no_report_of_it(releases: dict[int, Release]) -> None:
    old = but(finalized_features={"metadata.version": 20}, broker_releases=releases)
    assert answer("EOS046", old).outcome == "fine"


def test_features_that_were_not_read_are_not_fine() -> None:
    said = answer("EOS046", but(finalized_features=Skipped("no answer")))
    assert (said.outcome, said.cannot_tell) == ("cannot tell", ("finalized features: no answer",))


def log_with(in_sync: int | None, factor: int = 3, **settings: str):
    made = transaction_log(factor, **settings)
    return replace(made, facts=replace(made.facts, in_sync=in_sync))


@pytest.mark.parametrize(("in_sync", "factor", "cure"), [(1, 3, "start the brokers"), (1, 1, "raise the replication")])
def test_a_log_whose_partition_has_fewer_replicas_in_sync_than_a_write_needs_is_unwritable(in_sync, factor, cure):
    [found] = answer("EOS040", but(transaction_log=log_with(in_sync, factor), broker_releases=BEFORE_3_7)).findings
    assert found.cure.startswith(cure)
    assert answer("EOS040", but(transaction_log=log_with(2))).outcome == "fine"


def test_a_log_that_is_not_there_yet_is_judged_by_both_of_its_settings() -> None:
    one = BROKER | {"transaction.state.log.replication.factor": "1"}
    said = answer("EOS040", but(transaction_log=None, brokers={0: one}, broker_releases=BEFORE_3_7))
    assert "min.isr is 2: brokers before 3.7 cannot write to the transaction log" in said.findings[0].message
    assert answer("EOS040", but(transaction_log=None, brokers={0: one})).outcome == "fine"
    unknown = answer("EOS040", but(transaction_log=None, brokers={0: one}, broker_releases=UNREAD))
    assert (unknown.outcome, "the release of a broker is not known" in unknown.cannot_tell[0]) == ("cannot tell", True)
    fits = one | {"transaction.state.log.min.isr": "1"}
    assert answer("EOS040", but(transaction_log=None, brokers={0: fits})).outcome == "fine"


def test_a_log_whose_min_isr_may_not_be_read_cannot_be_judged() -> None:
    made = transaction_log()
    assert answer("EOS040", but(transaction_log=replace(made, facts=replace(made.facts, settings={})))).outcome == (
        "cannot tell"
    )


@pytest.mark.parametrize(
    ("log", "outcome"),
    [
        (transaction_log(min_insync_replicas="1"), "found"),
        (transaction_log(2, min_insync_replicas="1"), "found"),
        (transaction_log(), "fine"),
        (replace(transaction_log(), facts=replace(transaction_log().facts, settings=Skipped("denied"))), "cannot tell"),
    ],
)
def test_a_log_of_which_one_replica_may_hold_the_last_writes_is_thin(log, outcome) -> None:
    assert answer("EOS042", but(transaction_log=log)).outcome == outcome
    one = but(transaction_log=transaction_log(1, min_insync_replicas="1"), brokers={0: BROKER})
    assert answer("EOS042", one).outcome == "fine"


@pytest.mark.parametrize(
    ("factor", "min_isr", "brokers", "risk", "to"),
    [
        (1, "1", 2, "a broker that fails stops transactions", "to 2 with kafka-reassign-partitions.sh"),
        (2, "1", 3, "what one broker alone has written is lost with it", "add-config min.insync.replicas=2`"),
        (2, "2", 3, "a broker that fails stops transactions", "add-config min.insync.replicas=2`"),
        (3, "1", 3, "what one broker alone has written is lost with it", "add-config min.insync.replicas=2`"),
    ],
)
def test_a_thin_log_gets_two_replicas_in_sync_only_where_it_has_three(factor, min_isr, brokers, risk, to) -> None:
    log = transaction_log(factor, min_insync_replicas=min_isr)
    [found] = answer("EOS042", but(transaction_log=log, brokers=dict.fromkeys(range(brokers), BROKER))).findings
    assert (found.message.endswith(risk), found.cure.endswith(to)) == (True, True)
    assert ("raise its replication factor" in found.cure) == (factor < 3)


@pytest.mark.parametrize(("in_sync", "factor", "cure"), [(1, 3, "start the brokers"), (1, 1, "raise the replication")])
def test_an_internal_topic_is_held_to_its_replicas_in_sync(in_sync, factor, cure) -> None:
    offsets = topic("offsets", 25, factor)
    short = replace(offsets, facts=replace(offsets.facts, in_sync=in_sync))
    [found] = answer("EOS053", but(internal_topics=(short,), broker_releases=BEFORE_3_7)).findings
    assert found.cure.startswith(cure)


OF_3_7 = Release(KafkaVersion(3, 7), KafkaVersion(3, 8))
ALL_OF_3_7, MIXED, UNSURE = {0: OF_3_7, 1: OF_3_7}, {0: OF_3_7, 1: BEFORE_3_7[0]}, {0: OF_3_7, 1: UNREAD}
ASKED_ABOVE = {"min.insync.replicas": "4"}


def above(in_sync: int | None = 3, factor: int = 3, under_replicated: int | None = None) -> dict[str, Any]:
    """Each topic asks for four replicas in sync and has fewer."""
    log, internal = transaction_log(factor), topic("offsets", 25, factor)
    known = {"in_sync": in_sync, "under_replicated": under_replicated}
    return {
        "transaction_log": replace(log, facts=replace(log.facts, settings=ASKED_ABOVE, **known)),
        "internal_topics": (replace(internal, facts=replace(internal.facts, settings=ASKED_ABOVE, **known)),),
        "topics": {"out": TopicFacts("out", 3, factor, ASKED_ABOVE, **known)},
    }


@pytest.mark.parametrize("rule", ["EOS040", "EOS053", "EOS151"])
@pytest.mark.parametrize(
    ("releases", "facts", "outcome", "words"),
    [
        (BEFORE_3_7, above(), "found", "and a partition has 3 in sync, which brokers before 3.7 refuse"),
        (MIXED, above(), "found", "which brokers before 3.7 refuse"),
        ({0: UNREAD, 1: BEFORE_3_7[0]}, above(), "found", "which brokers before 3.7 refuse"),
        (UNSURE, above(), "cannot tell", "which brokers before 3.7 refuse; the release of a broker is not known"),
        (UNREAD, above(None), "cannot tell", "has 3 in sync, which brokers before 3.7 refuse; the release"),
        ({}, above(), "cannot tell", "the release of a broker is not known"),
        (UNREAD, above(2), "found", "the replication factor 3, and a partition has 2 in sync"),
        (ALL_OF_3_7, above(2), "found", "the replication factor 3, and a partition has 2 in sync"),
        (ALL_OF_3_7, above(1, 1, under_replicated=2), "found", "the replication factor 1, and a partition"),
    ],
)  # fmt: skip
def test_more_replicas_are_asked_for_than_there_are_and_brokers_of_3_7_accept_writes_while_all_are_in_sync(
    rule, releases, facts, outcome, words
) -> None:
    said = answer(rule, but(broker_releases=releases, **facts))
    told = [each.message for each in said.findings if each.severity is Severity.ERROR] or list(said.cannot_tell)
    assert (said.outcome, len(told), words in told[0]) == (outcome, 1, True)


@pytest.mark.parametrize("rule", ["EOS040", "EOS053"])
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_brokers_of_3_7_write_to_a_topic_of_which_all_replicas_are_in_sync(rule, factor) -> None:
    assert answer(rule, but(broker_releases=ALL_OF_3_7, **above(factor, factor))).outcome == "fine"


@pytest.mark.parametrize("rule", ["EOS042", "EOS054", "EOS151"])
@pytest.mark.parametrize(
    ("factor", "cure"), [(2, "raise "), (3, "`kafka-configs.sh --bootstrap-server <broker> --alter")]
)
def test_one_lost_replica_stops_the_writes_where_brokers_of_3_7_ask_for_all(rule, factor, cure) -> None:
    brokers = dict.fromkeys(range(factor), BROKER)
    [found] = answer(rule, but(broker_releases=ALL_OF_3_7, brokers=brokers, **above(factor, factor))).findings
    stops = "one lost replica stops writes" in found.message or found.message.endswith("fails stops transactions")
    assert (found.severity, stops, found.cure.startswith(cure)) == (Severity.WARNING, True, True)
    assert f"min.insync.replicas=4 above its replication factor {factor}" in found.message


@pytest.mark.parametrize("rule", ["EOS040", "EOS042", "EOS053", "EOS054", "EOS151"])
def test_a_lone_replica_is_not_warned_of_twice(rule) -> None:
    assert answer(rule, but(broker_releases=ALL_OF_3_7, brokers={0: BROKER}, **above(1, 1))).outcome == "fine"


def test_a_lost_replica_is_started_where_brokers_of_3_7_ask_for_all() -> None:
    for rule, facts in (("EOS040", above(2)), ("EOS053", above(2))):
        [found] = answer(rule, but(broker_releases=ALL_OF_3_7, **facts)).findings
        assert found.cure.startswith("start the brokers")


@pytest.mark.parametrize(
    ("facts", "brokers", "severity"),
    [
        (TopicFacts("out", 1, 1, {"min.insync.replicas": "1"}), 1, None),
        (TopicFacts("out", 1, 1, {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}), 1, None),
        (TopicFacts("out", 1, 1, {"min.insync.replicas": "1"}), 3, Severity.WARNING),
        (TopicFacts("out", 1, 2, {"min.insync.replicas": "1"}), 3, None),
        (TopicFacts("out", 1, 3, {"min.insync.replicas": "1"}), 3, Severity.INFO),
        (TopicFacts("out", 1, 3, {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}), 3,
         Severity.WARNING),
        (TopicFacts("out", 1, 3, {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}), 3, None),
    ],
)  # fmt: skip
def test_an_output_topic_is_thin_where_one_broker_takes_commits_along(facts, brokers, severity) -> None:
    said = answer("EOS150", but(topics={"out": facts}, brokers=dict.fromkeys(range(brokers), BROKER)))
    assert [each.severity for each in said.findings] == ([] if severity is None else [severity])


@pytest.mark.parametrize(
    ("factor", "settings", "cure"),
    [
        (1, {}, "raise the replication factor of these topics to 3 with kafka-reassign-partitions.sh"),
        (3, {"unclean.leader.election.enable": "true"}, "--add-config unclean.leader.election.enable=false"),
        (3, {"min.insync.replicas": "1"}, "--add-config min.insync.replicas=2"),
    ],
)
def test_the_fix_of_a_low_replication_factor_names_the_missing_setting(factor, settings, cure) -> None:
    facts = TopicFacts("out", 1, factor, {"min.insync.replicas": "2"} | settings)
    [found] = answer("EOS150", but(topics={"out": facts})).findings
    assert cure in found.cure
    assert ("raise the replication factor" in found.cure) == (factor == 1)


def test_an_output_topic_with_too_few_replicas_in_sync_cannot_be_written() -> None:
    short = TopicFacts("out", 1, 3, {"min.insync.replicas": "2"}, in_sync=1)
    assert "a partition has 1 in sync" in answer("EOS151", but(topics={"out": short})).findings[0].message
    assert answer("EOS151", but(topics={"out": None})).outcome == "fine"


@pytest.mark.parametrize(
    ("rule", "facts"),
    [
        ("EOS040", {"transaction_log": transaction_log(min_insync_replicas="many")}),
        ("EOS042", {"transaction_log": transaction_log(min_insync_replicas="many")}),
        ("EOS045", {"brokers": {0: BROKER | {"transaction.state.log.num.partitions": "many"}}}),
        ("EOS150", {"topics": {"out": TopicFacts("out", 1, 3, {"min.insync.replicas": "many"})}}),
        ("EOS151", {"topics": {"out": TopicFacts("out", 1, 3, {"min.insync.replicas": "many"})}}),
    ],
)
def test_a_setting_of_brokers_and_topics_that_is_no_number_is_skipped(rule: str, facts: dict[str, object]) -> None:
    said = answer(rule, but(**facts))
    assert (said.outcome, "is 'many', which is no whole number" in said.cannot_tell[0]) == ("cannot tell", True)


OTHER = TopicPartition("other", 0)


def sharing(isolation: str | Skipped, starts: dict[TopicPartition, int] | Skipped, **changes: object) -> Evidence:
    return but(groups={"g": "connect", "q s": "share"}, share_groups={"q s": ShareGroup(isolation, starts)}, **changes)


def test_the_command_that_has_it_read_committed_is_printed_and_the_topics_are_those_of_connectors() -> None:
    [found] = answer("EOS120", sharing("read_uncommitted", {OUT_1: -1, OTHER: 3})).findings
    assert (found.subject, found.evidence) == ("q s", {"topics": ["out"]})
    assert "--entity-name 'q s' --add-config share.isolation.level=read_committed" in found.cure


@pytest.mark.parametrize(
    "evidence",
    [
        pytest.param(sharing("read_committed", {OUT_1: 5}), id="reads committed"),
        pytest.param(sharing("read_uncommitted", {OTHER: 5}), id="reads other topics"),
    ],
)
def test_share_groups_that_harm_nothing_are_fine(evidence: Evidence) -> None:
    assert answer("EOS120", evidence).outcome == "fine"


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        (sharing(UNREAD, {OUT_1: 5}), "share group q s: denied"),
        (sharing("read_uncommitted", UNREAD), "share group q s: denied"),
        (sharing("read_uncommitted", {OUT_1: 5}, outputs=UNREAD), "how 1 share group (q s) read: denied"),
        (sharing("read_committed", {}, outputs={"x": UNREAD}), "denied"),
        (but(groups={"q": "share"}, share_groups=UNREAD), "how 1 share group (q) read: denied"),
        (but(groups={"q": "share"}), "share group q: it was not read"),
    ],
)
def test_unread_facts_of_a_share_group_are_not_fine(evidence: Evidence, reason: str) -> None:
    said = answer("EOS120", evidence)
    assert (said.outcome, said.cannot_tell) == ("cannot tell", (reason,))


OLD = HEALTHY.logged | {"g-x-0": logged(client=0), "g-x-1": logged(client=0)}
BEFORE_4 = Release(KafkaVersion(3, 8), KafkaVersion(4, 0))


@pytest.mark.parametrize("state", [each for each in TransactionState if each.is_open])
def test_tasks_of_the_old_protocol_are_restarted_one_by_one(state: TransactionState) -> None:
    [found] = answer("EOS303", but(logged=HEALTHY.logged | {"g-x-1": logged(state, client=0)})).findings
    assert (found.subject, found.evidence) == ("x", {"transactional_ids": ["g-x-1"]})
    assert found.cure == "POST /connectors/x/tasks/1/restart"


@pytest.mark.parametrize(
    "evidence",
    [
        pytest.param(but(logged=OLD | {"g-x-0": logged(TransactionState.EMPTY, client=0), "g-x-1": logged()}),
                     id="claimed, and no transaction since"),
        pytest.param(but(logged=OLD, finalized_features={"transaction.version": 1}), id="EOS046 reports it"),
        pytest.param(but(logged=OLD, broker_releases=dict.fromkeys(range(3), BEFORE_4)), id="brokers before 4.0"),
        pytest.param(but(logged=dict.fromkeys(HEALTHY.logged, logged(client=0, version=0))), id="not in the record"),
        pytest.param(but(logged={"g-gone-0": logged(client=0)}), id="an ID of no task"),
        pytest.param(but(workers={A: worker(A, "3.9.2", enabled=False), B: worker(B)}), id="without exactly-once"),
    ],
)  # fmt: skip
def test_a_log_without_old_producers_is_fine(evidence: Evidence) -> None:
    assert answer("EOS303", evidence).outcome == "fine"


def test_old_workers_are_found_although_the_log_may_not_be_read() -> None:
    said = answer("EOS303", but(workers={A: worker(A, "3.9.2"), B: worker(B)}, logged=Skipped("denied")))
    [found] = said.findings
    assert (found.subject, found.cure) == (A, "upgrade the worker to Kafka 4.0.0 or newer")


def test_the_last_state_of_each_id_counts_and_a_tombstone_is_none() -> None:
    def record(offset: int, name: str, value: object) -> TransactionLogRecord:
        return TransactionLogRecord(0, offset, NOW, name, value)

    first, last = logged(client=0), logged()
    folded = fold_transaction_log([record(0, "a", first), record(1, "a", last), record(2, "b", None)])
    assert last_values(folded, ["a", "b", "c"], 1, {}) == {"a": last}
    assert last_values(folded, ["a"], 1, {0: Skipped("no leader")}) == {"a": Skipped("no leader")}


@pytest.mark.parametrize(
    ("state", "severity"), [(TransactionState.ONGOING, "warning"), (TransactionState.COMPLETE_COMMIT, "info")]
)
def test_two_phase_commit_is_found_in_the_transaction_log(state: TransactionState, severity: str) -> None:
    value = replace(logged(state), timeout_ms=2**31 - 1)
    folded = fold_transaction_log([TransactionLogRecord(0, 0, NOW, "a", value)])
    [found] = log_findings(folded, {}, NOW, 1_000_000, 1)
    assert (found.id, found.severity.value, found.evidence["state"]) == ("EOS304", severity, state.value)
