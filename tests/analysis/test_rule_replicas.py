"""What rules make of replicas: those of the transaction log, of the workers' topics and of output topics."""

import pytest
from msgspec.structs import replace

from eosctl.model.report import Severity
from eosctl.model.skipped import Skipped
from eosctl.model.topics import TopicFacts
from tests.analysis.evidence import (
    BROKER,
    answer,
    but,
    topic,
    transaction_log,
)


def log_with(in_sync: int | None, factor: int = 3, **settings: str):
    made = transaction_log(factor, **settings)
    return replace(made, facts=replace(made.facts, in_sync=in_sync))


@pytest.mark.parametrize(("in_sync", "factor", "cure"), [(1, 3, "start the brokers"), (1, 1, "raise the replication")])
def test_a_log_whose_partition_has_fewer_replicas_in_sync_than_a_write_needs_is_unwritable(in_sync, factor, cure):
    [found] = answer("EOS040", but(transaction_log=log_with(in_sync, factor))).findings
    assert found.cure.startswith(cure)
    assert answer("EOS040", but(transaction_log=log_with(2))).outcome == "fine"


def test_a_log_that_is_not_there_yet_is_judged_by_both_of_its_settings() -> None:
    one = BROKER | {"transaction.state.log.replication.factor": "1"}
    [found] = answer("EOS040", but(transaction_log=None, brokers={0: one})).findings
    assert "transaction.state.log.min.isr is 2: the transaction log cannot be written" in found.message
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
        (2, "1", 3, "what one broker alone has written is lost with it", "add-config min.insync.replicas=2"),
        (2, "2", 3, "a broker that fails stops transactions", "add-config min.insync.replicas=2"),
        (3, "1", 3, "what one broker alone has written is lost with it", "add-config min.insync.replicas=2"),
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
    [found] = answer("EOS053", but(internal_topics=(short,))).findings
    assert found.cure.startswith(cure)


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
def test_the_fix_of_a_thin_output_topic_is_that_of_what_it_lacks(factor, settings, cure) -> None:
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
def test_a_setting_of_brokers_and_topics_that_is_no_number_cannot_be_told(rule: str, facts: dict[str, object]) -> None:
    said = answer(rule, but(**facts))
    assert (said.outcome, "is 'many', which is no whole number" in said.cannot_tell[0]) == ("cannot tell", True)
