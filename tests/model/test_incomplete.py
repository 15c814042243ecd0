"""Incomplete answers, and their words."""

import pytest

from eosctl.model.groups import ConnectGroup
from eosctl.model.report import Result, exit_code
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, not_asked, unread_in
from eosctl.model.topics import TopicFacts
from eosctl.render.document import INCOMPLETE, Document
from tests.fake_cluster import FakeCluster

DENIED = Skipped("User:a lacks Read on topic t", Cause.DENIED)


class Finds(Result, frozen=True, kw_only=True):
    finds: bool = False

    @property
    def found(self) -> bool:
        return self.finds


def lacking(*unread: Unread) -> Coverage:
    return Coverage(unread=unread)


@pytest.mark.parametrize(
    ("unread", "code"),
    [
        (Unread("t", "no answer", Cause.UNREACHABLE), 3),
        (Unread("t", "snapshots do not hold it", Cause.NOT_SAVED), 3),
        (Unread("t", "no -b was given", Cause.NOT_ASKED), 0),
        (Unread("t", "the brokers have no authorizer", Cause.NOT_IN_USE), 0),
        (Unread("t", "the workers differ", Cause.MIXED), 0),
        (Unread("t", "no answer", Cause.UNREACHABLE, needed=False), 0),
    ],
)
def test_only_what_an_answer_needs_and_was_asked_for_makes_it_incomplete(unread: Unread, code: int):
    assert exit_code(Finds(coverage=lacking(unread))) == code
    assert exit_code(Finds(finds=True, coverage=lacking(unread))) == 1


def test_an_optional_fact_that_is_unread_is_no_gap():
    reader = FakeCluster(groups=DENIED, connect=DENIED)
    with reader.optional_reads():
        reader.groups()
    assert (len(reader.coverage.unread), reader.coverage.gaps) == (1, ())
    reader.groups()
    reader.connect()
    assert [each.what for each in reader.coverage.gaps] == ["groups", "connect"]


def test_missing_parts_of_a_noun_are_found_in_its_fields_and_members():
    group = ConnectGroup("Dead", "", "", ())
    [lack] = unread_in("group connect-cluster", group)
    assert "no such group exists" in lack.reason
    [settings] = unread_in("topic", {"t": TopicFacts("t", 1, 1, DENIED)})
    assert (settings.what, settings.cause) == ("topic t: settings", Cause.DENIED)


def test_a_document_names_its_missing_parts_and_is_marked_incomplete():
    coverage = lacking(Unread("t", DENIED.reason, DENIED.cause), Unread("u", "no -b was given", Cause.NOT_ASKED))
    shown = Document("k", {"rows": []}, notes=("note",)).with_unread(coverage, complete=False)
    assert shown.notes == ("note", "not read: t: User:a lacks Read on topic t", INCOMPLETE)
    assert shown.data["complete"] is False
    assert shown.data["unread"] == [
        {"what": "t", "reason": DENIED.reason},
        {"what": "u", "reason": "no -b was given"},
    ]


def test_a_setting_that_was_not_read_is_not_taken_for_absent():
    assert TopicFacts("t", 1, 1, DENIED).setting("cleanup.policy") == DENIED
    assert TopicFacts("t", 1, 1).setting("cleanup.policy") == not_asked("not asked")
    assert TopicFacts("t", 1, 1, {"cleanup.policy": "compact"}).setting("cleanup.policy") == "compact"
