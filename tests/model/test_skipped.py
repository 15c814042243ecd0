"""What was not read: why, in which parts, and which of two askers needed it."""

import pytest
from msgspec import Struct

from eosctl.errors import (
    EosctlError,
    NotAuthorized,
    Refused,
    Throttled,
    Undecodable,
    Unreachable,
    Unsupported,
)
from eosctl.model.names import no_such_topic
from eosctl.model.skipped import Cause, Coverage, Skipped, Unread, read_or_skip, unread_in


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (NotAuthorized(principal="User:a", operation="Read", resource="Topic t"), Cause.DENIED),
        (Throttled("no"), Cause.THROTTLED),
        (Unreachable("no"), Cause.UNREACHABLE),
        (Undecodable("no"), Cause.UNDECODABLE),
        (Unsupported("no"), Cause.UNSUPPORTED),
        (Refused("no"), Cause.UNKNOWN),
    ],
)
def test_each_error_of_a_reading_has_its_cause(error: EosctlError, cause: Cause):
    def failing() -> int:
        raise error

    found = read_or_skip(failing)
    assert isinstance(found, Skipped)
    assert (found.reason, found.cause) == (error.message, cause)
    assert read_or_skip(lambda: 5) == 5


def test_a_reason_names_what_may_be_meant_and_no_other_hint():
    error = no_such_topic("ordrs", {"orders"})
    assert Skipped.of(error).reason == "topic ordrs does not exist (did you mean orders?)"
    assert Skipped.of(no_such_topic("ordrs", {"x"})).reason == "topic ordrs does not exist"


def test_two_are_equal_by_their_reason_alone():
    first = Skipped("a", Cause.DENIED)
    assert first == Skipped("a", Cause.UNREACHABLE)
    assert first != Skipped("b", Cause.DENIED)
    assert first != "a"
    assert len({first, Skipped("a"), Skipped("b")}) == 2


def unread(what: str, *, needed: bool = True, cause: Cause = Cause.DENIED) -> Unread:
    return Unread(what, "why", cause, needed)


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ([unread("a")], [unread("b")], [unread("a"), unread("b")]),
        ([unread("a")], [unread("a")], [unread("a")]),
        ([unread("a", needed=False)], [unread("a", needed=False)], [unread("a", needed=False)]),
        ([unread("a", needed=False)], [unread("a")], [unread("a")]),
        ([unread("a")], [unread("a", needed=False)], [unread("a")]),
        ([unread("a")], [unread("a", cause=Cause.THROTTLED)], [unread("a"), unread("a", cause=Cause.THROTTLED)]),
        ([], [unread("a", needed=False)], [unread("a", needed=False)]),
    ],
)
def test_what_one_of_two_needed_is_needed(first, second, together):
    added = Coverage(("a", "b"), tuple(first)) + Coverage(("b", "c"), tuple(second))
    assert added == Coverage(("a", "b", "c"), tuple(together))


DENIED = Skipped("why", Cause.DENIED)


class Inner(Struct, frozen=True):
    here: object = 5


class Lacks(Struct, frozen=True):
    lacking: tuple[Skipped, ...] = (DENIED,)
    an_inner: object = 5


@pytest.mark.parametrize(
    ("fact", "named"),
    [
        (5, []),
        (None, []),
        ({}, []),
        (DENIED, ["x"]),
        ({"k": DENIED, "l": 5}, ["x k"]),
        ({"k": Inner(DENIED)}, ["x k: here"]),
        ({"k": Inner(5)}, []),
        ({"k": {"l": DENIED}}, []),
        ({"k": Lacks()}, []),
        (Inner(DENIED), ["x: here"]),
        (Inner({"k": DENIED}), ["x: here k"]),
        (Inner(Inner(DENIED)), ["x: here: here"]),
        (Inner(5), []),
        (Inner((DENIED,)), []),
        (Lacks(), ["x"]),
        (Lacks((), DENIED), ["x: an inner"]),
        (Lacks((DENIED,), Lacks()), ["x", "x: an inner"]),
    ],
)
def test_the_missing_parts_of_a_fact_are_named_by_their_place(fact, named):
    assert [each.what for each in unread_in("x", fact)] == named
    assert all((each.reason, each.cause) == ("why", Cause.DENIED) for each in unread_in("x", fact))
