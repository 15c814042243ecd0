"""Groups as their coordinators show them: of which kind, whether they exist, and whose they are."""

import pytest

from eosctl.model.groups import NO_SUCH_GROUP, ConnectGroup, GroupMember, ListedGroup

MEMBER = GroupMember("m", None)


@pytest.mark.parametrize(
    ("kind", "words", "is_connect", "is_share"),
    [
        ("consumer", "group g", False, False),
        ("", "group g", False, False),
        ("connect", "connect group g", True, False),
        ("share", "share group g", False, True),
        ("streams", "streams group g", False, False),
    ],
)
def test_a_group_is_named_with_its_kind_unless_it_is_the_ordinary_one(kind, words, is_connect, is_share):
    found = ListedGroup("g", kind, "Stable")
    assert (str(found), found.is_connect, found.is_share) == (words, is_connect, is_share)


@pytest.mark.parametrize(
    ("state", "members", "lacking"),
    [("Dead", (), (NO_SUCH_GROUP,)), ("Empty", (), ()), ("Stable", (MEMBER,), ()), ("Dead", (MEMBER,), ())],
)
def test_a_group_that_is_dead_and_has_no_member_does_not_exist(state, members, lacking):
    assert ConnectGroup(state, "connect", "", members).lacking == lacking


@pytest.mark.parametrize(
    ("kind", "members", "answer", "words"),
    [
        ("connect", (MEMBER,), True, None),
        ("connect", (), False, None),
        ("connect", (), True, "the group has no member (state Stable), though workers answer"),
        ("", (), False, None),
        ("", (), True, "the group has no member (state Stable), though workers answer"),
        ("", (MEMBER,), True, "the group is one of unknown clients, not of Connect workers"),
        ("consumer", (), False, "the group is one of consumer clients, not of Connect workers"),
        ("consumer", (MEMBER,), True, "the group is one of consumer clients, not of Connect workers"),
    ],
)
def test_a_group_of_other_clients_or_without_members_is_not_the_one_of_answering_workers(kind, members, answer, words):
    assert ConnectGroup("Stable", kind, "", members).objection(workers_answer=answer) == words
