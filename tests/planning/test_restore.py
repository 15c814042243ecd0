"""What a plan of a restore begins with, by what is known of the connector."""

import pytest
from msgspec.structs import replace

from eosctl.model.plan import StopConnector
from eosctl.model.preconditions import ConnectorFacts
from eosctl.planning.restore import RestoreRequest, plan_restore
from tests.planning.test_migration import FACTS, S

RESTORE = RestoreRequest("c", "g", ("old",), ())


@pytest.mark.parametrize(
    ("now", "stops"),
    [
        (ConnectorFacts("RUNNING", 1), 1),
        (ConnectorFacts("PAUSED", 1), 1),
        (ConnectorFacts("STOPPED", 1), 1),
        (ConnectorFacts("STOPPED"), 0),
        (ConnectorFacts(None), 0),
    ],
)
def test_a_connector_that_has_tasks_is_stopped_first(now: ConnectorFacts, stops: int) -> None:
    planned = plan_restore(replace(RESTORE, stop=True), replace(FACTS, connectors={(S, "c"): now}))
    assert planned.objections == ()
    assert sum(isinstance(each.step, StopConnector) for each in planned.plan.steps) == stops


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (ConnectorFacts("RUNNING", 1), "stop it first (--stop with --connect-url does that)"),
        (ConnectorFacts("STOPPED", 1), "stop it again (PUT /connectors/c/stop, or --stop with --connect-url)"),
    ],
)
def test_without_stop_it_is_refused_with_what_to_do(now: ConnectorFacts, told: str) -> None:
    planned = plan_restore(RESTORE, replace(FACTS, connectors={(S, "c"): now}))
    assert len(planned.objections) == 1
    assert (planned.hint or "").startswith(told)
