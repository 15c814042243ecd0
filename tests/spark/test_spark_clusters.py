"""An audit on a standalone cluster and on YARN, as the page prints it, while parts are killed: `make spark`."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from eosctl.errors import EXIT_FOUND
from tests.faulty_sandbox import Sandbox
from tests.integration.access import allowed
from tests.postgresql import PASSWORD, PostgreSQL
from tests.spark.audited_cluster import AuditedCluster
from tests.spark.cluster_audits import (
    WAITS,
    Fault,
    Ran,
    Site,
    kill_application,
    kill_driver,
    kill_driver_after_commit,
    kill_executor,
    lose_node,
    no_secret,
    nothing,
    pack,
    question,
    record,
    run,
    same_as_local,
)
from tests.spark.hadoop import Hadoop, hadoop
from tests.spark.standalone import SECRET_FILES, kept, owner_only, printed, standalone, task_ends
from tests.spark.test_spark_bundle import READING, USER, concluded

pytestmark = [pytest.mark.kafka, pytest.mark.long, pytest.mark.timeout(3600)]
EVENTS = "/spark-events"
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


@pytest.fixture(scope="module")
def site(sandbox: Sandbox, postgresql: PostgreSQL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    cluster = AuditedCluster(sandbox.bootstrap_servers)
    cluster.fill()
    cluster.settle()
    bundle = tmp_path_factory.mktemp("bundle")
    pack(bundle)
    owner_only(bundle / "client.properties", sandbox.client_properties(USER))
    owner_only(bundle / "pgpass", f"*:*:*:*:{PASSWORD}\n")
    database = postgresql.new_database()
    with allowed(sandbox, USER, *READING):
        local = [sys.executable, "-m", "eosctl", "audit", "--processes", "2", *question(sandbox)]
        ended = subprocess.run([*local, "--store", postgresql.url(database)], cwd=bundle, check=False)
        assert ended.returncode == EXIT_FOUND
        yield Site(sandbox, postgresql, bundle, kept(postgresql.conninfo(database)))


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    with hadoop(tmp_path_factory.mktemp("hadoop")) as cluster:
        cluster.make(EVENTS)
        yield cluster


# Standalone


@pytest.mark.parametrize("fault", ["none", "executor killed", "worker killed"])
def test_standalone_gives_the_report_of_the_local_engine(site: Site, tmp_path: Path, fault: str):
    events = tmp_path / "events"
    events.mkdir()
    with standalone(tmp_path / "spark") as cluster:
        faults = {"executor killed": kill_executor(cluster.nodes), "worker killed": lose_node(cluster.nodes)}
        submission, database, said, elapsed = run(
            site, printed("spark", "client"), {"--master": cluster.url, "--total-executor-cores": "2"},
            tmp_path / "bundle", settings={"spark.eventLog.dir": f"file://{events}"},
            fault=faults.get(fault, nothing),
        )  # fmt: skip
        ran = Ran(
            said, submission.process.returncode, kept(site.postgresql.conninfo(database)), task_ends(events), elapsed
        )

        same_as_local(ran, site.local)
        assert (ran.code, ran.ledger.runs) == (0, 1), said
        answer = json.loads((submission.directory / "audit.json").read_text("utf-8"))
        assert concluded(answer["data"]) == concluded(site.local.report)
        assert ("ExecutorLostFailure" in ran.ends) == (fault != "none")
        no_secret(site, submission, events, cluster.directory, submission.directory)
        record(site, "standalone", "client", fault, ran)


def test_standalone_takes_no_python_driver_in_cluster_mode(site: Site, tmp_path: Path):
    with standalone(tmp_path / "spark") as cluster:
        _, _, said, _ = run(
            site, printed("spark", "client"), {"--master": cluster.url}, tmp_path / "bundle",
            settings={"spark.submit.deployMode": "cluster", "spark.eventLog.dir": f"file://{tmp_path}"},
        )  # fmt: skip

    assert "Cluster deploy mode is currently not supported for python applications on standalone clusters" in said


# YARN


def run_on_yarn(
    site: Site, yarn: Hadoop, mode: str, tmp_path: Path, *more: str,
    fault: Fault = nothing, succeeds: bool = True, left: bool = False, settings: Mapping[str, str] = NO_SETTINGS,
) -> Ran:  # fmt: skip
    """The audit; no secret is left where others read it, and `left` says whether a staging directory is."""
    events = f"{EVENTS}/{tmp_path.name}"
    yarn.make(events)
    submission, database, said, elapsed = run(
        site, printed("yarn", mode), {"--num-executors": "2"}, tmp_path / "bundle", *more,
        settings={"spark.eventLog.dir": f"hdfs://{events}", **settings},
        environment={"HADOOP_CONF_DIR": str(yarn.configuration)}, fault=fault,
    )  # fmt: skip
    names = {word[0] for each in yarn.files(events) if (word := re.search(r"application_\d+_\d+", each))}
    assert len(names) == 1, said
    (name,) = names
    logged = tmp_path / "events"
    logged.mkdir()
    for each in yarn.files(events):
        (logged / each.rpartition("/")[2]).write_bytes(yarn.read(each))
    no_secret(site, submission, logged, submission.directory, *(each.directory for each in yarn.nodes))
    staged = {each: mode for each, mode in yarn.files("/user").items() if name in each}
    assert bool(staged) == left, staged
    if left:
        only_for_its_user(yarn, name, staged)
    code = submission.process.returncode
    assert (code == 0) == succeeds, said + str(yarn.application(name)["diagnostics"])
    ledger, status = kept(site.postgresql.conninfo(database)), str(yarn.application(name)["finalStatus"])
    return Ran(said, code, ledger, task_ends(logged), elapsed, yarn.attempts(name), status)


def only_for_its_user(yarn: Hadoop, name: str, staged: dict[str, str]) -> None:
    """The credentials, where only their user comes to them, until the directory is removed as the page says."""
    (staging,) = [each for each in staged if each.endswith(name)]
    assert {f"{staging}/{each}" for each in SECRET_FILES} <= staged.keys()
    assert staged[staging] == "700"
    yarn.remove(staging)
    assert [each for each in yarn.files("/user") if name in each] == []


@pytest.mark.parametrize("mode", ["cluster", "client"])
@pytest.mark.parametrize("fault", ["none", "executor killed"])
def test_yarn_gives_the_report_of_the_local_engine(site: Site, yarn: Hadoop, tmp_path: Path, mode: str, fault: str):
    harm = kill_executor(yarn.nodes) if fault != "none" else nothing
    ran = run_on_yarn(site, yarn, mode, tmp_path, fault=harm)

    same_as_local(ran, site.local)
    assert (ran.code, ran.attempts, ran.ledger.runs, ran.final_status) == (0, 1, 1, "SUCCEEDED"), ran.said
    assert ("ExecutorLostFailure" in ran.ends) == (fault != "none")
    record(site, "yarn", mode, fault, ran)


def test_a_second_driver_on_yarn_finishes_what_the_first_began(site: Site, yarn: Hadoop, tmp_path: Path):
    ran = run_on_yarn(site, yarn, "cluster", tmp_path, fault=kill_driver(yarn.nodes))

    same_as_local(ran, site.local)
    assert (ran.code, ran.attempts, ran.ledger.runs, ran.final_status) == (0, 2, 1, "SUCCEEDED"), ran.said
    record(site, "yarn", "cluster", "driver killed", ran)


def test_a_second_driver_on_yarn_agrees_with_the_first_about_its_commits(site: Site, yarn: Hadoop, tmp_path: Path):
    """No finding is new to it, so that it ends as an audit does that could not read everything: with 3.

    The cluster has no config topic.
    """
    ran = run_on_yarn(site, yarn, "cluster", tmp_path, fault=kill_driver_after_commit(yarn.nodes), succeeds=False)

    same_as_local(ran, site.local)
    assert (ran.attempts, ran.ledger.runs, ran.final_status) == (2, 2, "FAILED"), ran.said
    record(site, "yarn", "cluster", "driver killed after its commit", ran)


def test_findings_fail_an_application_where_that_is_asked_for(site: Site, yarn: Hadoop, tmp_path: Path):
    """A second attempt would find nothing new, and succeed."""
    once = {"spark.yarn.maxAppAttempts": "1"}
    ran = run_on_yarn(site, yarn, "cluster", tmp_path, "--fail-on", "warning", succeeds=False, settings=once)

    same_as_local(ran, site.local)
    assert (ran.attempts, ran.ledger.runs, ran.final_status) == (1, 1, "FAILED"), ran.said
    record(site, "yarn", "cluster", "none, with --fail-on", ran)


@pytest.mark.parametrize("waits", [True, False], ids=["spark-submit waits", "spark-submit is gone"])
def test_a_killed_application_leaves_no_run_and_leaves_its_staging_directory_if_no_spark_submit_waits(
    site: Site, yarn: Hadoop, tmp_path: Path, waits: bool
):
    ran = run_on_yarn(
        site, yarn, "cluster", tmp_path, fault=kill_application(yarn), succeeds=not waits, left=not waits,
        settings={WAITS: str(waits).lower()},
    )  # fmt: skip

    assert (ran.final_status, ran.ledger.runs, ran.ledger.ranges) == ("KILLED", 0, []), ran.said
    record(site, "yarn", "cluster", f"application killed{'' if waits else ', spark-submit gone before'}", ran)


@pytest.mark.parametrize("mode", ["client", "cluster"])
def test_a_lost_node_of_yarn_changes_nothing(site: Site, tmp_path: Path, mode: str):
    with hadoop(tmp_path / "hadoop") as cluster:
        cluster.make(EVENTS)
        ran = run_on_yarn(site, cluster, mode, tmp_path, fault=lose_node(cluster.nodes))

        same_as_local(ran, site.local)
        assert (ran.code, ran.ledger.runs, ran.final_status) == (0, 1, "SUCCEEDED"), ran.said
        assert "ExecutorLostFailure" in ran.ends
        record(site, "yarn", mode, "NodeManager killed", ran)
