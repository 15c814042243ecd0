"""What `apply` does with a plan that was made before: as it was shown, or not at all, and nothing written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.conftest import Ran
from tests.conftest import MakeSandbox
from tests.integration.migrate_ground import Ground, refused
from tests.integration.producers import open_transaction

pytestmark = pytest.mark.kafka

Eosctl = Callable[..., Ran]


class TestPlansThatWereMadeBefore:
    """A plan file, and what changed since."""

    @pytest.fixture
    def plan(self, ground: Ground, tmp_path: Path) -> Path:
        path = tmp_path / "move.plan"
        ran = ground.migrate("stopped", "--plan-file", path)
        assert ran.exit_code == 0, ran.stderr
        return path

    def test_it_is_applied_as_it_was_shown(self, ground: Ground, plan: Path):
        assert ground.held() == {}
        assert ground.apply(plan).exit_code == 0
        assert ground.held() == {b'["stopped",{"f":1}]': b'{"p":1}'}

    def test_the_connector_committed_meanwhile(self, ground: Ground, plan: Path):
        ground.put(ground.offsets, b'["stopped",{"f":1}]', b'{"p":2}')
        refused(ground.apply(plan), 8, "the offsets of connector stopped in topic", "changed since the plan was made")

    def test_another_connector_committed_meanwhile(self, ground: Ground, plan: Path):
        ground.put(ground.offsets, b'["running",{"f":1}]', b'{"p":2}')
        assert ground.apply(plan).exit_code == 0

    def test_the_connector_was_started_meanwhile(self, ground: Ground, plan: Path):
        ground.connector("stopped", "STARTED", 1)
        refused(ground.apply(plan), 8, "stopped is STARTED with 1 task")

    def test_the_config_topic_is_not_said_again(self, ground: Ground, plan: Path, eosctl: Eosctl):
        """Another one was never told of the connector: it may run."""
        ground.create(f"{ground.name}-others", 1)
        ran = eosctl("apply", plan, "-b", ground.servers, "--config-topic", f"{ground.name}-others", "--yes")
        refused(ran, 8, f"config topic {ground.name}-others never held it")

    def test_the_target_was_made_meanwhile_and_deletes(self, ground: Ground, plan: Path):
        ground.create(ground.target, 3, "delete")
        refused(ground.apply(plan), 8, "cleanup.policy delete")

    def test_somebody_wrote_to_the_target_meanwhile(self, ground: Ground, plan: Path):
        ground.create(ground.target, 3)
        ground.put(ground.target, b'["stopped",{"f":1}]', b'{"p":7}')
        refused(ground.apply(plan), 8, "changed since the plan was made")

    @pytest.mark.variation
    def test_it_is_another_cluster(self, plan: Path, make_sandbox: MakeSandbox, eosctl: Eosctl):
        refused(
            eosctl("apply", plan, "-b", make_sandbox().bootstrap_servers, "--yes"), 8, "the plan is for source cluster"
        )

    def test_it_was_edited(self, ground: Ground, plan: Path):
        plan.write_text(plan.read_text().replace('"partitions": 3', '"partitions": 4'))
        refused(ground.apply(plan), 8, "the plan was changed after it was made")

    def test_its_file_is_not_overwritten(self, ground: Ground, plan: Path):
        refused(ground.migrate("stopped", "--plan-file", plan), 2, "exists already")

    def test_another_connector_is_moved_to_the_same_topic(self, ground: Ground, plan: Path, tmp_path: Path):
        """Both plans were made before the topic was there; neither disturbs what the other wrote."""
        ground.connector("second", "STOPPED", 0)
        ground.put(ground.offsets, b'["second",{"f":1}]', b'{"p":2}')
        other = tmp_path / "other.plan"
        assert ground.migrate("second", "--plan-file", other).exit_code == 0
        assert ground.apply(plan).exit_code == 0
        assert ground.apply(other).exit_code == 0
        assert ground.held() == {b'["stopped",{"f":1}]': b'{"p":1}', b'["second",{"f":1}]': b'{"p":2}'}

    def test_the_same_connector_was_moved_to_the_same_topic_by_another_plan(
        self, ground: Ground, plan: Path, tmp_path: Path
    ):
        """What is there already is not written again; with another value it would be refused."""
        other = tmp_path / "other.plan"
        assert ground.migrate("stopped", "--plan-file", other).exit_code == 0
        assert ground.apply(plan).exit_code == 0
        assert ground.apply(other).exit_code == 0
        assert ground.held() == {b'["stopped",{"f":1}]': b'{"p":1}'}

    def test_a_transaction_is_open_in_the_source(self, ground: Ground, plan: Path, fresh_name: Callable[[str], str]):
        """One that fencing does not reach, because nobody knows whose it is: refused, whatever becomes of it."""
        producer = open_transaction(ground.servers, fresh_name("stranger"), ground.offsets)
        producer.produce(ground.offsets, b'{"p":5}', b'["stopped",{"f":1}]', partition=1)
        producer.flush(30)
        refused(
            ground.apply(plan),
            9,
            "an open transaction of producer",
            "wrote offsets of stopped",
            f"eosctl transactions hanging --topic {ground.offsets}",
            "then run the plan again",
        )
        producer.abort_transaction(30)
        assert ground.apply(plan).exit_code == 0
        assert ground.held() == {b'["stopped",{"f":1}]': b'{"p":1}'}
