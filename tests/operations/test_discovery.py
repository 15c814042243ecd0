"""Commands that were given no group: what they do with the only one, and where they do not choose."""

from pathlib import Path

import pytest

from eosctl.errors import EosctlError, Refused, Unreachable, UsageError
from eosctl.model.planned import Planned
from eosctl.operations.agreement import agree
from eosctl.operations.evidence import read_evidence
from eosctl.operations.evidence_request import EvidenceRequest
from eosctl.operations.session import Session
from tests.fake_cluster import FakeCluster
from tests.operations.conversation import Conversation, session_on
from tests.operations.test_evidence import CLUSTER
from tests.operations.test_plan_flow import AT, PLAN

SEVERAL = UsageError("the Kafka cluster has 2 Connect groups: east, west", hint="name it: --group-id")


class Found:
    """A discovery with this answer."""

    def __init__(self, answer: str | EosctlError | None) -> None:
        self.answer = answer

    def group(self) -> str | None:
        if isinstance(self.answer, EosctlError):
            raise self.answer
        return self.answer


def finding(answer: str | EosctlError | None, said: Conversation, **options: object) -> Session:
    """A session on a cluster whose list of groups gives this answer."""
    session = session_on(FakeCluster(cluster=CLUSTER), said, **AT, **options)
    vars(session)["_discovery"] = Found(answer)
    return session


def test_the_question_before_a_change_names_the_group_that_nobody_named() -> None:
    said = Conversation()
    session = finding("ours", said, writes=True)
    assert session.need_group_id() == "ours"
    agree(session, Planned(plan=PLAN, cluster_id="c"), "Apply 1 step?", said.show)
    assert said.said == ["Apply 1 step (cluster fake, Connect group ours)?"]


def test_a_group_that_was_named_is_in_no_question() -> None:
    said = Conversation()
    session = finding("other", said, writes=True, group_id="ours")
    assert session.need_group_id() == "ours"
    assert session.found_group_id is None


def test_yes_alone_does_not_do_for_a_group_that_nobody_named() -> None:
    with pytest.raises(Refused, match="Connect group ours was found and not named") as caught:
        finding("ours", Conversation(), writes=True, yes=True).need_group_id()
    assert caught.value.hint == "give --group-id ours too, or leave --yes out and answer"


def test_a_dry_run_needs_no_name() -> None:
    assert finding("ours", Conversation(), writes=True, yes=True, dry_run=True).need_group_id() == "ours"


def test_without_a_group_one_has_to_be_named() -> None:
    with pytest.raises(UsageError, match=r"^no Connect cluster was named$") as caught:
        finding(None, Conversation()).need_group_id()
    assert caught.value.hint == "give --group-id, the worker's group.id (or set EOSCTL_GROUP_ID)"


@pytest.mark.parametrize("error", [SEVERAL, Unreachable("broker 2 does not answer")])
def test_why_none_was_found_ends_a_command_that_needs_one(error: EosctlError) -> None:
    with pytest.raises(type(error)) as caught:
        finding(error, Conversation()).need_group_id()
    assert caught.value is error


def test_where_a_snapshot_is_read_no_cluster_is_asked_for_its_groups() -> None:
    session = session_on(FakeCluster(), Conversation(), **AT, snapshot=Path("monday.snapshot"))
    session.require_no_choice()
    with pytest.raises(UsageError, match="no Connect cluster was named"):
        session.need_group_id()


def test_the_checks_refuse_to_choose_one_of_several_groups() -> None:
    with pytest.raises(UsageError) as caught:
        read_evidence(finding(SEVERAL, Conversation()), EvidenceRequest({}))
    assert caught.value is SEVERAL


def test_a_list_that_fails_is_no_reason_for_the_checks_to_end() -> None:
    finding(Unreachable("broker 2 does not answer"), Conversation()).require_no_choice()
