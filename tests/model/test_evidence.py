"""Evidence of which parts are missing: what is known is of those that answered, and nothing is known of the others."""

from typing import Any

import pytest
from msgspec.structs import replace

from eosctl.model.evidence import Evidence, Preflight, Snapshot, declared_support
from eosctl.model.skipped import Cause, Skipped, Unread, not_asked
from eosctl.model.versions import KafkaVersion, Release
from eosctl.model.workers import ConnectorStatus, SourceSupport
from tests.analysis.evidence import HEALTHY, A, B, but, inspection, transaction_log, worker

SILENT = Skipped("no answer", Cause.UNREACHABLE)
OLD, NEW = KafkaVersion(3, 9, 2), KafkaVersion(4, 3, 1)
NAMELESS = replace(worker(B), version=Skipped("no version"))


def between(version: KafkaVersion) -> Release:
    return Release(version, version.next_patch)


@pytest.mark.parametrize(
    ("workers", "answering", "silent", "versions", "releases"),
    [
        (SILENT, [], [], (), None),
        ({}, [], [], (), None),
        ({A: SILENT}, [], [A], (), None),
        ({A: worker(A, "3.9.2")}, [A], [], (OLD,), (between(OLD),)),
        ({A: worker(A, "3.9.2"), B: worker(B)}, [A, B], [], (OLD, NEW), (between(OLD), between(NEW))),
        ({A: worker(A), B: SILENT}, [A], [B], (NEW,), None),
        ({A: worker(A), B: NAMELESS}, [A, B], [], (NEW,), None),
        ({B: NAMELESS}, [B], [], (), None),
    ],
)
def test_releases_of_workers_are_known_where_each_named_its_own(workers, answering, silent, versions, releases):
    found = but(workers=workers)
    assert [each.url for each in found.answering] == answering
    assert list(found.silent) == silent
    assert found.versions == versions
    assert found.worker_releases == releases


RELEASE = Release(KafkaVersion(4, 1), None)


@pytest.mark.parametrize(
    ("releases", "known"),
    [(SILENT, None), ({}, ()), ({1: RELEASE}, (RELEASE,)), ({1: RELEASE, 2: SILENT}, None), ({2: SILENT}, None)],
)
def test_releases_of_brokers_are_known_where_all_are(releases, known):
    assert but(broker_releases=releases).known_broker_releases == known


def status(name: str, kind: str) -> ConnectorStatus:
    return ConnectorStatus(name, kind, "RUNNING", ())


def inspected(**changed: Any) -> Any:
    found = inspection()
    [one] = found.connectors
    state = replace(one.state, **{key: changed.pop(key) for key in ("name", "config") if key in changed})
    return replace(found, connectors=(replace(one, state=state, **changed),))


@pytest.mark.parametrize(
    ("statuses", "inspection", "names"),
    [
        (SILENT, SILENT, ()),
        ({"b": status("b", "source"), "a": status("a", "source")}, SILENT, ("a", "b")),
        ({"a": status("a", "sink")}, SILENT, ()),
        (SILENT, inspected(), ("x",)),
        (SILENT, inspected(type="sink"), ()),
        (SILENT, inspected(config=None), ()),
        ({"x": status("x", "source")}, inspected(), ("x",)),
        ({"a": status("a", "source")}, inspected(), ("a", "x")),
    ],
)
def test_sources_are_those_that_workers_or_the_config_topic_know(statuses, inspection, names):
    found = but(statuses=statuses, inspection=inspection)
    assert found.all_sources() == names
    assert found.sources() == names
    assert replace(found, about=frozenset()).sources() == ()
    assert replace(found, about=frozenset({"x"})).sources() == tuple(each for each in names if each == "x")


def test_a_config_that_is_not_known_is_empty():
    assert but(inspection=SILENT).config("x") == {}
    assert but().config("gone") == {}
    assert but().config("x")["exactly.once.support"] == "required"


def test_a_setting_is_of_the_files_that_have_it():
    assert but(worker_files=SILENT).configured("a") == {}
    assert but(worker_files={"f": {"a": "1"}, "g": {"b": "2"}, "h": {"a": ""}}).configured("a") == {"f": "1", "h": ""}


def test_only_skipped_facts_are_missing():
    found = Evidence(as_of=1, transaction_log=None, group=SILENT, unlisted=("a",))
    names = ("transaction_log", "group", "unlisted", "as_of")
    assert found.missing(names) == (("group", SILENT),)
    assert HEALTHY.missing(()) == ()


def test_a_preflight_tells_each_message_once_and_who_did_not_answer():
    found = Preflight({"a": ("m", "n"), "b": SILENT, "c": ("m",), "d": ()})
    assert found.messages == ("m", "n")
    assert list(found.answers) == ["a", "c", "d"]
    assert found.unread == (SILENT,)


def test_an_id_whose_partition_has_no_leader_has_no_coordinator():
    assert transaction_log(leaders={0: 7}, partitions=1).coordinator("g-x-0") == 7
    assert transaction_log(leaders={}, partitions=1).coordinator("g-x-0") == -1
    assert transaction_log(leaders={1: 7}, partitions=1).coordinator("g-x-0") == -1


@pytest.mark.parametrize(
    ("properties", "support"),
    [
        ({}, SourceSupport.DISABLED),
        *(({"exactly.once.source.support": each.value.upper()}, each) for each in SourceSupport),
        ({"exactly.once.source.support": ""}, None),
        ({"exactly.once.source.support": "on"}, None),
        ({"clusters": ""}, None),
    ],
)
def test_a_phase_is_the_one_that_the_file_sets(properties, support):
    assert declared_support(properties) is support


def test_a_snapshot_asks_for_all_its_sections_and_names_those_that_were_not_read():
    found = Snapshot(1, SILENT, None, not_asked("no"), {"t": SILENT}, {}, unlisted=("broker 2",)).coverage  # type: ignore[arg-type]
    assert found.asked == (
        *("cluster", "config_topic", "transactions", "connect", "offsets", "transaction_log", "producers", "evidence"),
    )
    assert found.gaps == (
        Unread("cluster", "no answer", Cause.UNREACHABLE),
        Unread("transactions t", "no answer", Cause.UNREACHABLE),
        Unread("transactional IDs and topics", "broker 2", Cause.UNREACHABLE),
    )
    assert Unread("config topic", "no", Cause.NOT_ASKED) in found.unread
