"""An audit on Spark says what the local engine says, byte for byte, however the ranges are cut."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from eosctl.clients.wire import Wire
from eosctl.codecs.client_properties import client_properties
from eosctl.engines.auditing import Engine, Progress, run_audit
from eosctl.engines.local import LocalEngine
from eosctl.errors import ConfigError, NotAuthorized, UsageError
from eosctl.model.audit import AuditPlan
from eosctl.model.client_properties import ClientProperties
from eosctl.model.topics import OffsetRange
from eosctl.render.answers.audit import view_audit
from eosctl.render.formats import Output, text_of_envelope
from eosctl.sandbox.java import find_java
from eosctl.sandbox.properties import SandboxSpec
from eosctl.sources.audit_log import OpenCluster
from eosctl.spark.engine import SparkEngine
from eosctl.spark.executor_access import ExecutorAccess, executor_access
from eosctl.spark.session import spark_session
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.spark.audited_cluster import AuditedCluster, cut
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]
QUICK_CLEANER = {"log.cleaner.backoff.ms": "100", "log.initial.task.delay.ms": "0"}
USER = "tool"
READING = [("READ", "TOPIC", "audited*"), ("DESCRIBE", "TOPIC", "audited*")]
MANY = 60
SMALL, NONE_SMALL = 1 << 24, 0


@dataclass(frozen=True)
class Bench:
    """The cluster, a session whose events are logged, and the plan that is cut."""

    sandbox: Sandbox
    spark: SparkSession
    events: Path
    plan: AuditPlan

    @property
    def properties(self) -> ClientProperties:
        """The properties of a SASL user, whose password is the canary."""
        return client_properties(command_config=self.sandbox.client_properties(USER))

    def report(self, engine: Engine, plan: AuditPlan, seen: list[OffsetRange] | None = None) -> str:
        """The report's JSON without its plan, members sorted."""

        def advance(progress: Progress) -> None:
            if seen is not None:
                seen.append(progress.offsets)

        document = json.loads(
            text_of_envelope(view_audit(run_audit(plan, engine, advance=advance).report).envelope(), Output.JSON)
        )
        del document["data"]["plan"]
        return json.dumps(document, sort_keys=True, indent=1)

    def local(self, plan: AuditPlan) -> str:
        """The answer of the local engine."""
        return self.report(LocalEngine(OpenCluster(self.properties, 30), processes=1), plan)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    events = tmp_path_factory.mktemp("events")
    logged = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": f"file://{events}",
    }
    with Sandbox(SandboxSpec(broker_config=QUICK_CLEANER)) as sandbox:
        cluster = AuditedCluster(sandbox.bootstrap_servers)
        cluster.fill()
        eventually(cluster.is_compacted, "the offsets topic is compacted", deadline_s=120)
        with Wire(ClientProperties((sandbox.bootstrap_servers,))) as wire:
            plan = cluster.plan(wire)
        with allowed(sandbox, USER, *READING), spark_session(find_java, master="local[2]", settings=logged) as spark:
            yield Bench(sandbox, spark, events, plan)


@pytest.fixture(scope="module")
def access(bench: Bench) -> Iterator[ExecutorAccess]:
    with executor_access(bench.properties, 30, master="local[2]") as given:
        yield given


CUTS = st.lists(st.floats(0, 1, exclude_max=True), max_size=6)
PATIENT = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.fixture(scope="module")
def local(bench: Bench) -> str:
    """The local engine's report on the whole plan."""
    return bench.local(bench.plan)


def check(bench: Bench, access: ExecutorAccess, local: str, places: list[float], small: int) -> None:
    plan = cut(bench.plan, places)
    seen: list[OffsetRange] = []

    assert bench.report(SparkEngine(bench.spark, access, most_here=small), plan, seen) == local
    assert sorted(seen) == sorted(plan.ranges)


@pytest.mark.parametrize(
    ("places", "small"), [([0.2, 0.5, 0.9], SMALL), pytest.param([0.4], NONE_SMALL, marks=pytest.mark.variation)]
)
def test_a_split_on_spark_gives_the_report_of_the_local_engine(bench, access, local, places, small):
    check(bench, access, local, places, small)


@pytest.mark.long
@settings(max_examples=MANY, **PATIENT)
@given(CUTS, st.sampled_from([SMALL, NONE_SMALL]))
def test_many_splits_on_spark_give_the_report_of_the_local_engine(bench, access, local, places, small):
    check(bench, access, local, places, small)


def test_the_audited_data_has_findings_of_every_kind_that_was_planted(local: str):
    found = {each["name"]: each["evidence"] for each in json.loads(local)["data"]["findings"]}

    assert {"offset-set-back", "plain-offsets-write", "zombie-writer", "half-event"} <= found.keys()
    halves = found["half-event"]["places"]
    assert [each["missing"] for each in halves if each.get("event_count") == 5] == [["3"]]


def test_carried_rows_join_those_of_the_executors(bench: Bench, access: ExecutorAccess):
    local = LocalEngine(OpenCluster(bench.properties, 30), processes=1)
    halves = cut(bench.plan, [0.5])
    first = AuditPlan(**{**_fields(halves), "ranges": halves.ranges[:1]})
    rest = AuditPlan(**{**_fields(halves), "ranges": halves.ranges[1:]})
    carried = run_audit(first, local).carried

    expected = run_audit(rest, local, lambda kind: [row for row in carried if row.kind is kind])
    for small in (SMALL, NONE_SMALL):
        engine = SparkEngine(bench.spark, access, most_here=small)
        found = run_audit(rest, engine, lambda kind: [row for row in carried if row.kind is kind])
        assert found.report == expected.report
        assert sorted(found.carried) == sorted(expected.carried)


def _fields(plan: AuditPlan) -> dict[str, object]:
    return {name: getattr(plan, name) for name in plan.__struct_fields__}


def test_an_error_of_an_executor_is_the_error_that_the_driver_raises(bench: Bench):
    properties = client_properties(command_config=bench.sandbox.client_properties("worker"))
    with executor_access(properties, 30, master="local[2]") as nobody, pytest.raises(NotAuthorized) as refused:
        run_audit(bench.plan, SparkEngine(bench.spark, nobody))

    audited = {f"Topic {topic.name}" for topic in bench.plan.topics}
    assert refused.value.principal == "User:worker"
    assert refused.value.resource in audited


def test_executors_read_who_they_are_from_a_file_that_only_this_user_reads(bench: Bench, access: ExecutorAccess):
    assert access.file is not None
    assert Path(access.file).stat().st_mode & 0o777 == 0o600
    assert access.client_properties().sasl == bench.properties.sasl


def test_an_executor_without_its_file_or_variable_names_the_missing_one(bench: Bench):
    for place, missing in (("/none/client.properties", "/none/client.properties"), ("env:NONE", "variable NONE")):
        with (
            executor_access(bench.properties, 30, master="yarn", given=place) as access,
            pytest.raises(ConfigError, match=missing),
        ):
            run_audit(bench.plan, SparkEngine(bench.spark, access))


def test_credentials_for_executors_on_other_machines_have_to_be_placed_there(bench: Bench):
    refused = pytest.raises(UsageError, match="Spark's settings are no place for secrets")
    with refused, executor_access(bench.properties, 30, master="yarn"):
        pass


def test_no_event_of_spark_holds_the_password(bench: Bench, access: ExecutorAccess):
    bench.report(SparkEngine(bench.spark, access, most_here=NONE_SMALL), bench.plan)
    logged = "".join(path.read_text(encoding="utf-8") for path in bench.events.rglob("*") if path.is_file())
    password = bench.sandbox.users[USER]

    assert "eosctl audit" in logged
    assert "SparkListenerJobEnd" in logged
    assert password not in logged
    assert "PlainLoginModule" not in logged
