"""Small nouns at their boundaries: one below, at and above, and what is unknown."""

from datetime import date

import pytest

from eosctl.errors import UsageError
from eosctl.model.names import ConnectorTaskId, Side, stem_and_task, task_transactional_id
from eosctl.model.plan import (
    DeleteConnector,
    FenceProducers,
    ManualStep,
    Plan,
    PlannedStep,
    WriteOffsets,
    groups_concerned,
    lacking,
)
from eosctl.model.preconditions import ClusterIs, ConnectorStopped, TopicIsCompact
from eosctl.model.probe import LONGEST, plan_probe
from eosctl.model.report import Waiver
from eosctl.model.skipped import Cause, Skipped, Unread
from eosctl.model.text import first_few
from eosctl.model.versions import KafkaVersion
from eosctl.model.workers import WorkerFacts, host_port, is_loopback, oldest_version


@pytest.mark.parametrize(
    ("transactional_id", "found"),
    [
        ("g-c-0", ("g-c", 0)),
        ("g-c-10", ("g-c", 10)),
        ("-0", ("", 0)),
        ("0", None),
        ("g-c-", None),
        ("g-c-00", None),
        ("g-c-01", None),
        ("g-c-1x", None),
        ("g-c--1", ("g-c-", 1)),
        ("g-c-9999999999", ("g-c", 9_999_999_999)),
        ("g-c-10000000000", None),
        ("g-c-\u0663", ("g-c", 3)),
        ("g-c-\u0660\u0663", None),
    ],
)
def test_an_id_may_be_a_tasks_if_it_ends_with_a_number_as_java_writes_one(transactional_id: str, found):
    """An ID that is wrongly taken for no task's is fenced beside a live task; one wrongly taken for a task's is
    refused."""
    assert stem_and_task(transactional_id) == found


def test_the_id_of_a_task_is_read_back():
    assert stem_and_task(task_transactional_id("g", ConnectorTaskId("a-1", 7))) == ("g-a-1", 7)


@pytest.mark.parametrize(
    ("words", "subject", "covered"),
    [
        (("EOS080", "shadowed-offset"), "orders", True),
        (("eos080",), "orders", True),
        (("EOS081",), "orders", False),
        (("EOS080",), "bills", False),
        (("EOS080",), "Orders", False),
        ((), "orders", False),
    ],
)
def test_a_waiver_covers_its_finding_of_its_subject_and_nothing_else(words, subject: str, covered: bool):
    """An accepted finding is one that nobody looks at any more."""
    waiver = Waiver("EOS080", "ord*", "me", "known", date(2026, 1, 1))
    assert waiver.covers(words, subject) is covered


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("needed", [True, False])
def test_a_required_fact_that_should_be_readable_is_a_gap(cause: Cause, needed: bool):
    """Unknown is not fine: only facts that were not requested, are not in use, or differ, are no gap."""
    fine = cause in {Cause.NOT_ASKED, Cause.NOT_IN_USE, Cause.MIXED}
    assert cause.is_gap is not fine
    assert Unread("a fact", "why", cause, needed).is_gap is (needed and not fine)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://w:8083", "w:8083"),
        ("http://W:8083/", "w:8083"),
        ("https://user:secret@w:8443/connectors", "w:8443"),
        ("http://w", "w:80"),
        ("https://w", "w:443"),
        ("w", "w:80"),
        ("w:8083", "w:8083"),
        ("http://w:", "w::80"),
        ("http://8083", "8083:80"),
        ("http://[::1]:8083", "[::1]:8083"),
    ],
)
def test_two_spellings_of_a_workers_address_are_one_place(url: str, place: str):
    assert host_port(url) == place


@pytest.mark.parametrize(
    ("place", "loops"),
    [("localhost:1", True), ("[::1]:1", True), ("127.0.0.1:1", True), ("127.9:1", True), ("128.0.0.1:1", False),
     ("localhost.example:1", False), ("[::2]:1", False)],
)  # fmt: skip
def test_an_address_of_this_host_is_known_by_its_name(place: str, loops: bool):
    assert is_loopback(place) is loops


@pytest.mark.parametrize(("count", "more"), [(0, False), (1, False), (3, False), (40, True)])
def test_the_first_few_are_named_and_the_others_counted(count: int, more: bool):
    listing = first_few([f"n{number}" for number in range(count)])
    assert ("more" in listing) is more
    assert count == 0 or listing.startswith("n0")


NO_ANSWER = Skipped("no answer")


def worker(version: str) -> WorkerFacts:
    return WorkerFacts("http://w:8083", version, "k")


@pytest.mark.parametrize(
    ("workers", "oldest"),
    [
        ((worker("4.0.0"), worker("3.9.2"), worker("4.3.1")), "3.9.2"),
        ((NO_ANSWER, worker("4.0.0")), "4.0.0"),
        ((worker("unknown"), worker("4.0.0")), "4.0.0"),
        ((NO_ANSWER,), "no answer"),
        ((NO_ANSWER, worker("unknown")), "http://w:8083 names no version: 'unknown'"),
        ((), "no worker was asked for its version"),
    ],
)
def test_the_oldest_version_is_of_the_workers_that_name_one_and_unknown_without_any(workers, oldest: str):
    found = oldest_version(workers)
    assert (found.reason if isinstance(found, Skipped) else str(found)) == oldest
    assert isinstance(found, Skipped | KafkaVersion)


@pytest.mark.parametrize(
    ("prefix", "factor", "refused"),
    [
        ("a.B_9-", 1, False),
        ("a" * LONGEST, -1, False),
        ("_a", 3, False),
        ("", 1, True),
        ("__a", 1, True),
        ("a b", 1, True),
        ("a" * (LONGEST + 1), 1, True),
        ("a", 0, True),
        ("a", -2, True),
    ],
)
def test_a_probe_takes_only_a_prefix_of_a_topic_and_a_replication_factor_that_brokers_accept(prefix, factor, refused):
    if refused:
        with pytest.raises(UsageError):
            plan_probe(prefix, "1", factor, 5)
    else:
        assert plan_probe(prefix, "1", factor, 5).name == f"{prefix}1"


def written(connector: str, transactional_id: str, side: Side = Side.SOURCE) -> WriteOffsets:
    return WriteOffsets(side, "offsets", connector, transactional_id, 60_000, (), "", "", "")


def fenced(*ids: str, side: Side = Side.SOURCE) -> FenceProducers:
    return FenceProducers(side, ids, 60_000)


@pytest.mark.parametrize(
    ("steps", "groups"),
    [
        ([written("c", "g-c-0")], {Side.SOURCE: {"g"}}),
        ([written("c", "g-c-0", Side.TARGET), fenced("h-c-0", "h-c-1")], {Side.SOURCE: {"h"}, Side.TARGET: {"g"}}),
        ([written("b-c", "a-b-c-0"), written("c", "a-b-c-0")], {Side.SOURCE: {"a"}}),
        ([fenced("g-c-0")], {}),
        ([written("c", "g-d-0")], {}),
    ],
)
def test_a_plan_concerns_the_groups_whose_ids_it_fences_or_writes_as_by_the_longest_name_that_fits(steps, groups):
    found = groups_concerned(Plan("p", 0, tuple(map(PlannedStep, steps))))
    assert {side: set(each) for side, each in found.items()} == groups


HERE = ClusterIs(Side.SOURCE, "k")
STOPPED = ConnectorStopped(Side.SOURCE, "c")
COMPACT = TopicIsCompact(Side.SOURCE, "offsets", 25)


@pytest.mark.parametrize(
    ("step", "given", "missing"),
    [
        (written("c", "g-c-0"), (HERE, STOPPED, COMPACT), []),
        (written("c", "g-c-0"), (STOPPED, COMPACT), ["which cluster the source is"]),
        (written("c", "g-c-0"), (ClusterIs(Side.TARGET, "k"), STOPPED, COMPACT), ["which cluster the source is"]),
        (written("c", "g-c-0"), (HERE, COMPACT), ["that connector c is stopped"]),
        (written("c", "g-c-0"), (HERE, STOPPED), ["that topic offsets is compact"]),
        (
            written("c", "g-c-0"),
            (HERE, STOPPED, TopicIsCompact(Side.TARGET, "offsets", 25)),
            ["that topic offsets is compact"],
        ),
        (
            written("c", "g-c-0"),
            (HERE, STOPPED, TopicIsCompact(Side.SOURCE, "other", 25)),
            ["that topic offsets is compact"],
        ),
        (fenced("g-c-0", "g-c-11"), (HERE, STOPPED), []),
        (fenced("g-c-0", "g-d-0"), (HERE, STOPPED), ["that the connector of g-d-0 is stopped"]),
        (fenced("g-c-x"), (HERE, STOPPED), ["that the connector of g-c-x is stopped"]),
        (fenced("g-c-0"), (HERE,), ["that the connector of g-c-0 is stopped"]),
        (fenced(), (HERE,), ["that the connector of the IDs is stopped"]),
        (DeleteConnector(Side.SOURCE, "c", "c.json", "sha256:1"), (HERE,), ["that connector c is stopped"]),
        (ManualStep("look"), (), []),
    ],
)
def test_a_step_lacks_what_only_its_author_could_know(step, given, missing):
    found = lacking(Plan("p", 0, (PlannedStep(step, given),)))
    assert [each.partition(") lacks the precondition ")[2] for each in found] == missing
