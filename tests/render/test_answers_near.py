"""The views of the neighbours of a complete answer: as data and as blocks."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

import eosctl.render.answers
from eosctl.analysis.rules.registry import RULES, diagnose
from eosctl.analysis.upgrade import check_upgrade
from eosctl.model.rules import Phase
from eosctl.planning.migration import plan_migration
from eosctl.render.answers.connector_description import view_connector
from eosctl.render.answers.diagnosis import view_diagnosis, view_upgrade
from eosctl.render.answers.offsets import view_offsets
from eosctl.render.answers.plan import view_plan
from eosctl.render.answers.transactions import view_transactions
from eosctl.render.document import Document
from tests.analysis import test_connector_description, test_upgrade
from tests.analysis.test_analysis_near import FAILED
from tests.analysis.test_rules import CONDITIONS
from tests.looked_at import AsLookedAt
from tests.neighbours import NO_SUCH, by_call, flat, made, types_of
from tests.planning.test_migration import ALL, RUNNING
from tests.render import real_names

MODULES = sorted(each.name for each in iter_modules(eosctl.render.answers.__path__))
FOUND = next(evidence for rule, evidence, *_ in CONDITIONS if rule == "EOS104")
ANSWERS: dict[str, tuple[Callable[..., Document], Any]] = {
    "doctor": (view_diagnosis, diagnose(FOUND, [rule for rule in RULES if rule.id in {"EOS104", "EOS105"}])),
    "upgrade": (view_upgrade, check_upgrade(test_upgrade.PREPARED, Phase.DISABLED)),
    "plan": (view_plan, plan_migration(ALL, RUNNING)),
    "offsets": (view_offsets, real_names.offsets()),
    "transactions": (view_transactions, real_names.transactions()),
    "connector": (view_connector, test_connector_description.show(FAILED)),
}


def views(module: str) -> Iterator[tuple[Callable[..., Document], dict[str, Any]]]:
    """The views of a module, each with an answer of its type in which everything is there."""
    there = import_module(f"eosctl.render.answers.{module}")
    for name, view in vars(there).items():
        if name.startswith("view_") and view.__module__ == there.__name__ and name not in {"view_kinds", "view_schema"}:
            hints = {each: hint for each, hint in types_of(view).items() if each != "return"}
            try:
                given = {each: made(hint) for each, hint in hints.items()}
                view(**given)
            except NO_SUCH:
                continue
            yield view, given


def lines(view: Callable[..., Document], *given: Any, **named: Any) -> Iterator[str]:
    yield from (f"{view.__name__}{each}" for each in flat(view(*given, **named)))
    yield from by_call(view, *given, **named)


@pytest.mark.parametrize("module", MODULES)
def test_the_view_of_each_variant_of_an_answer_equals_its_golden_file(module: str, as_looked_at: AsLookedAt) -> None:
    as_looked_at(f"answers/{module}", (line for view, given in views(module) for line in lines(view, **given)))


@pytest.mark.parametrize("name", ANSWERS)
def test_the_view_of_each_variant_of_a_real_answer_equals_its_golden_file(name: str, as_looked_at: AsLookedAt) -> None:
    as_looked_at(f"answers/of-{name}", lines(*ANSWERS[name]))
