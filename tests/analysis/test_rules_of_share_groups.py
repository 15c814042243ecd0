"""How share groups read the connectors' topics, on evidence made by hand."""

import pytest

from eosctl.model.evidence import Evidence
from eosctl.model.groups import ShareGroup
from eosctl.model.names import TopicPartition
from eosctl.model.skipped import Skipped
from tests.analysis.evidence import OUT_1, UNREAD, answer, but

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
def test_what_was_not_read_of_a_share_group_is_not_fine(evidence: Evidence, reason: str) -> None:
    said = answer("EOS120", evidence)
    assert (said.outcome, said.cannot_tell) == ("cannot tell", (reason,))
