"""Texts of nouns for the neighbours of each state: preconditions, groups, statuses, transactions, answers."""

from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from inspect import signature
from pkgutil import iter_modules
from types import FunctionType
from typing import Any

import pytest

import eosctl.model
from eosctl.model.preconditions import PlanFacts, Precondition
from tests.analysis import evidence as healthy
from tests.analysis.test_probe import KAFKA
from tests.looked_at import AsLookedAt
from tests.model import test_preconditions
from tests.neighbours import NO_SUCH, by_call, flat, made, types_of, whole
from tests.planning import test_fencing, test_migration, test_restore
from tests.planning import test_transaction_ends as ends

ROWS = test_preconditions.test_a_precondition_holds_or_gives_its_reason.pytestmark[0].args[1]
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
    """The properties of the noun that need no argument: its properties, and itself as a text."""
    kind = type(noun)
    names = [each for each in dir(kind) if isinstance(getattr(kind, each, None), property) and each[0] != "_"]
    text = {"text": str(noun).split()} if kind.__str__ not in {object.__str__, tuple.__str__} else {}
    return {each: whole(getattr(noun, each)) for each in names} | text


def methods(kind: type) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:
    """Its public methods that take nouns and values, each with the types of these."""
    for name, method in vars(kind).items():
        if isinstance(method, FunctionType) and name[0] != "_":
            hints = {each: hint for each, hint in types_of(method).items() if each != "return"}
            parameters = [each for each in list(signature(method).parameters) if each != "self"]
            if parameters == list(hints) and not any("Callable" in repr(each) for each in hints.values()):
                yield method, hints


def asked(kind: type, noun: Any) -> Iterator[str]:
    yield from (f"{kind.__name__}{each}" for each in flat(told(noun)))
    yield from by_call(told, noun)
    for method, hints in methods(kind):
        try:
            given = {each: made(hint) for each, hint in hints.items()}
            yield from (f"{kind.__name__}.{method.__name__}(){each}" for each in flat(method(noun, **given)))
            yield from by_call(method, noun, **given)
        except NO_SUCH as error:
            yield f"{kind.__name__}.{method.__name__}() {type(error).__name__}"


def of_module(name: str) -> Iterator[str]:
    module = import_module(f"eosctl.model.{name}")
    for kind in vars(module).values():
        if isinstance(kind, type) and kind.__module__ == module.__name__ and not issubclass(kind, Enum):
            try:
                noun = made(kind)
                seen = list(flat(told(noun)))
            except NO_SUCH:
                continue
            if seen:
                yield from asked(kind, noun)


@pytest.mark.parametrize("name", sorted(each.name for each in iter_modules(eosctl.model.__path__)))
def test_each_variant_of_a_noun_gives_the_text_of_its_golden_file(name: str, as_looked_at: AsLookedAt) -> None:
    as_looked_at(f"model/{name}", of_module(name))


def violation(precondition: Precondition, facts: PlanFacts) -> str | None:
    found = precondition.violation(facts)
    return None if found is None else found.replace(" ", "_")


def of_preconditions() -> Iterator[str]:
    for precondition, facts, _ in ROWS:
        yield f"{type(precondition).__name__}: {violation(precondition, facts)}"
        yield from by_call(violation, precondition, facts)


def test_each_precondition_near_its_state_gives_the_text_of_its_golden_file(as_looked_at: AsLookedAt) -> None:
    as_looked_at("preconditions", of_preconditions())


@pytest.mark.parametrize("name", NOUNS)
def test_each_noun_near_its_state_gives_the_text_of_its_golden_file(name: str, as_looked_at: AsLookedAt) -> None:
    as_looked_at(f"nouns/{name}", [*flat(told(NOUNS[name])), *by_call(told, NOUNS[name])])
