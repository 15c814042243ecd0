"""What nouns say of themselves just beside each state: preconditions, groups, statuses, transactions, answers."""

from collections.abc import Iterator
from typing import Any

import pytest

from eosctl.model.preconditions import PlanFacts, Precondition
from tests.analysis import evidence as healthy
from tests.analysis.test_probe import KAFKA
from tests.looked_at import AsLookedAt
from tests.model import test_preconditions
from tests.neighbours import by_call, flat
from tests.planning import test_fencing, test_migration, test_restore
from tests.planning import test_transaction_ends as ends

ROWS = test_preconditions.test_a_precondition_holds_or_says_why_not.pytestmark[0].args[1]
FAILED = healthy.status(0, 1, state="FAILED")
NOUNS: dict[str, Any] = {
    "worker": healthy.worker(healthy.A),
    "status": FAILED,
    "group": healthy.HEALTHY.group,
    "topic": healthy.topic().facts,
    "transaction-log": healthy.transaction_log(3, {0: -1, 1: 2}, 3),
    "description": healthy.described("x", start_ms=healthy.NOW, partitions=(healthy.OUT_1,)),
    "logged": healthy.logged(),
    "commits": healthy.commits(silent_ms=90_000),
    "mirrored": healthy.mirrored(9, written_ms=7),
    "version": healthy.worker(healthy.A).version,
    "release": healthy.HEALTHY.broker_releases[0],
    "open": ends.opened(state=ends.TransactionState.ONGOING),
    "connector-state": healthy.inspection().connectors[0].state,
    "move": test_migration.TO_OWN,
    "planned-move": test_migration.plan_migration(test_migration.ALL, test_migration.RUNNING),
    "planned-restore": test_restore.plan_restore(test_restore.CREATE, test_migration.NEW_FACTS),
    "fencing": test_fencing.plan(
        test_fencing.FencingRequest(connectors=("orders",)), test_fencing.described("g-orders-0")
    ),
    "offset": test_restore.AT_9,
    "observations": KAFKA,
}


def told(noun: Any) -> dict[str, Any]:
    """What the noun says without being asked for anything: its properties, and itself as a text."""
    kind = type(noun)
    names = [each for each in dir(kind) if isinstance(getattr(kind, each, None), property) and each[0] != "_"]
    text = {"text": str(noun).split()} if kind.__str__ not in {object.__str__, tuple.__str__} else {}
    return {each: getattr(noun, each) for each in names} | text


def violation(precondition: Precondition, facts: PlanFacts) -> str | None:
    found = precondition.violation(facts)
    return None if found is None else found.replace(" ", "_")


def of_preconditions() -> Iterator[str]:
    for precondition, facts, _ in ROWS:
        yield f"{type(precondition).__name__}: {violation(precondition, facts)}"
        yield from by_call(violation, precondition, facts)


def test_beside_each_state_a_precondition_says_what_was_looked_at(as_looked_at: AsLookedAt) -> None:
    as_looked_at("preconditions", of_preconditions())


@pytest.mark.parametrize("name", NOUNS)
def test_beside_its_state_a_noun_says_what_was_looked_at(name: str, as_looked_at: AsLookedAt) -> None:
    as_looked_at(f"nouns/{name}", [*flat(told(NOUNS[name])), *by_call(told, NOUNS[name])])
