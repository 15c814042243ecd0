"""Facts that records and connector states tell about themselves."""

import pytest

from eosctl.model.config_topic import Origin, TargetStateRecord, TaskConfigRecord
from eosctl.model.connectors import ConnectorState, TargetState
from eosctl.model.names import ConnectorTaskId, ProducerIdAndEpoch
from eosctl.model.versions import KafkaVersion

ORIGIN = Origin(0, 0)


@pytest.mark.parametrize(
    ("state", "state_v2", "since_3_5", "before"),
    [
        ("STARTED", None, TargetState.STARTED, TargetState.STARTED),
        ("PAUSED", "STOPPED", TargetState.STOPPED, TargetState.PAUSED),
        ("STOPPED", None, TargetState.STOPPED, None),
        (None, "STOPPED", TargetState.STOPPED, None),
        ("PAUSED", "nonsense", None, TargetState.PAUSED),
        ("paused", None, None, None),
        (None, None, None, None),
    ],
)
def test_versions_read_target_states_differently(state, state_v2, since_3_5, before):
    record = TargetStateRecord(ORIGIN, "x", state, state_v2)
    assert record.read_by(KafkaVersion(3, 5)) is since_3_5
    assert record.read_by(KafkaVersion(3, 4, 1)) is before


def test_an_origin_names_its_producer_only_if_it_has_one():
    assert ORIGIN.producer is None
    assert Origin(0, 0, producer_id=5, producer_epoch=1).producer == ProducerIdAndEpoch(5, 1)


def test_a_task_config_names_its_task():
    assert TaskConfigRecord(ORIGIN, "x", 3, {}).task_id == ConnectorTaskId("x", 3)


def test_tasks_are_visible_unless_the_connector_is_inconsistent():
    assert ConnectorState("x", task_count=2).visible_tasks == (0, 1)
    assert ConnectorState("x", task_count=2, inconsistent=True).visible_tasks == ()
    assert ConnectorState("x").visible_tasks == ()
