"""Whose producer IDs are whose."""

import pytest

from eosctl.analysis.audit.owners import Writers, find_writers
from eosctl.model.audit import (
    AuditedTopic,
    AuditPlan,
    ConfigSummary,
    ConnectorHistory,
    ConnectorKeys,
    KeySummary,
    TopicRole,
    TransactionalIdHolder,
)
from eosctl.model.skipped import Skipped

UNREAD = Skipped("no access")


def plan(holders: dict[int, str] | Skipped, group_id: str | None = "g") -> AuditPlan:
    held = holders if isinstance(holders, Skipped) else tuple(TransactionalIdHolder(*each) for each in holders.items())
    topics = (AuditedTopic("out", TopicRole.OUTPUT, connectors=("orders",)),)
    return AuditPlan(0, None, group_id, topics, (), (), connectors=("orders",), holders=held)


def writers(audited: AuditPlan, offsets: dict[str, tuple[int, ...]] | None = None, **earlier: int) -> Writers:
    """offsets: producer IDs that wrote them, by connector; of the config topic's history `gone` is left."""
    keys = tuple(ConnectorKeys(name, 1, 1, 0, found, 1, None, 1) for name, found in (offsets or {}).items())
    history = ConfigSummary((ConnectorHistory("gone", False, True, ()),))
    past = [TransactionalIdHolder(number, name.replace("_", "-")) for name, number in earlier.items()]
    return find_writers(audited, KeySummary(keys), history, past)


@pytest.mark.parametrize(
    ("transactional_id", "owner", "other"),
    [
        ("g-orders-0", "orders", False),
        ("g-gone-3", "gone", False),
        ("g-old-3", "old", False),
        ("elsewhere-orders-0", None, False),
        ("orders-11", None, False),
        ("g-orders-x", None, True),
        ("g-unheard-of-0", None, True),
        ("streams-1_0", None, True),
        ("connect-cluster-g", None, True),
    ],
)
def test_a_producer_id_is_that_of_the_transactional_id_that_holds_it(transactional_id, owner, other):
    found = writers(plan({7: transactional_id}), {"old": (9,)})
    assert found.owners.get(7) == (None if owner is None else (owner,))
    assert (7 in found.others) is other


def test_who_wrote_a_connectors_offsets_is_its_own_where_nobody_is_shown_to_hold_the_id():
    assert writers(plan({}), {"orders": (7,)}) == Writers({7: ("orders",)}, frozenset())
    assert writers(plan(UNREAD), {"orders": (7,)}) == Writers({7: ("orders",)}, frozenset())
    assert writers(plan({7: "elsewhere-orders-0"}), {"orders": (7,)}) == Writers({7: ("orders",)}, frozenset())


def test_a_tool_that_copied_offsets_is_nobodys_task():
    assert writers(plan({7: "copy-tool"}), {"orders": (7, 8)}) == Writers({8: ("orders",)}, frozenset({7}))


def test_the_transaction_log_knows_earlier_holders():
    found = writers(plan({}), g_orders_1=7, streams_app=8)
    assert found == Writers({7: ("orders",)}, frozenset({8}))


def test_without_a_group_id_nothing_that_ends_like_a_task_is_anothers():
    found = writers(plan({7: "g-orders-0", 8: "streams"}, None))
    assert found == Writers({}, frozenset({8}))
