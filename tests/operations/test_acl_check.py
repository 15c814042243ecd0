"""`acl-plan --check` on a cluster that answers from a dict: what is missing is found by connector, and where."""

import json
from datetime import date
from pathlib import PurePath

import pytest
from msgspec.structs import replace

from eosctl.model.acl_plan import ClusterAcls
from eosctl.model.acls import AclBinding, Operation, topic
from eosctl.model.offsets import SourceSupport
from eosctl.model.report import Outcome, Triage, Waiver, exit_code, gate_of
from eosctl.model.skipped import Cause, Skipped
from eosctl.operations.acls import AclInputs, AclOptions, plan_cluster_acls
from eosctl.render.gates import sarif
from tests.fake_cluster import FakeCluster
from tests.operations.quiet import session_with
from tests.planning.test_acls import NAMES, sasl
from tests.render.gate_formats import sarif_run

ORDERS = {"name": "orders", "config": {"connector.class": "FileStreamSource", "topic": "rows"}}
ROWS = AclBinding("User:p", Operation.WRITE, topic("rows"))


@pytest.fixture
def check(tmp_path):
    """`check(*bindings)`: the report of a check against a cluster that has these ACLs."""
    worker, connector = tmp_path / "worker.properties", tmp_path / "orders.json"
    settings = NAMES | sasl("", "worker") | sasl("producer.", "p") | sasl("consumer.", "c")
    worker.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def checked(*bindings, is_check=True, **config):
        connector.write_text(json.dumps({**ORDERS, "config": ORDERS["config"] | config}))
        servers = frozenset(settings["bootstrap.servers"].split(","))
        acls = ClusterAcls(frozenset(bindings), "K", {"rows": True}, addresses=servers)
        cluster = FakeCluster(acls=acls, cluster=Skipped("no cluster", Cause.NOT_ASKED), client_configs=None)
        inputs = AclInputs((worker,), (f"g={connector}",))
        request = AclOptions(inputs, SourceSupport.DISABLED, check=is_check)
        return plan_cluster_acls(session_with(cluster), request)

    return checked


def test_a_check_finds_what_each_connector_and_the_workers_miss(check):
    report = check()
    assert exit_code(report) == 1
    found = {each.subject: (each.id, each.evidence["count"]) for each in report.reported}
    assert found == {"orders": ("EOS143", 1), "workers": ("EOS143", 7)}
    [orders, workers] = report.reported
    assert orders.message == "1 required ACL is missing: User:p may Write Topic rows"
    assert workers.message.endswith("; and 4 more")
    assert len(workers.evidence["bindings"]) == 7


def test_what_a_pipeline_reads_of_it_names_the_files_that_are_to_be_changed(check):
    results = sarif_run(sarif(gate_of("acl-plan", check())))["results"]
    places = {each["partialFingerprints"]["primaryLocationLineHash"]: each["locations"][0] for each in results}
    files = [PurePath(each["physicalLocation"]["artifactLocation"]["uri"]).name for each in places.values()]
    assert files == ["orders.json", "worker.properties"]


def test_a_check_of_a_cluster_that_has_them_passes(check):
    allowed = [each.planned.binding for each in check().difference.compared]
    report = check(*allowed)
    assert (exit_code(report), report.reported) == (0, ())
    made = gate_of("acl-plan", report)
    assert {each.kind.id: each.outcome for each in made.questions}["EOS143"] is Outcome.PASSED
    assert {each.outcome for each in made.questions} == {Outcome.PASSED}


def test_a_waiver_may_accept_what_one_connector_misses(check):
    allowed = [each.planned.binding for each in check().difference.compared if each.planned.binding != ROWS]
    assert [each.subject for each in check(*allowed).reported] == ["orders"]
    accepted = Waiver("required-acl-missing", "orders", "team", "granted tonight", date.max)
    assert exit_code(check(*allowed).under(Triage(waivers=(accepted,)))) == 0


def test_bindings_of_another_cluster_are_skipped_and_not_passed(check):
    elsewhere = {"producer.override.bootstrap.servers": "other:9092"}
    allowed = [each.planned.binding for each in check(**elsewhere).difference.compared]
    made = gate_of("acl-plan", check(*allowed, **elsewhere))
    [asked] = [each for each in made.questions if each.kind.id == "EOS143"]
    assert (asked.outcome, asked.reported, len(asked.untold)) == (Outcome.SKIPPED, (), 1)
    assert "other:9092" in asked.untold[0]


def test_a_plan_without_check_looks_for_no_missing_binding(check):
    report = check(is_check=False)
    assert "EOS143" not in {kind.id for kind in (*report.kinds, *(each.kind for each in report.reported))}
    assert exit_code(report) == 0


def test_a_text_for_another_tool_is_not_kept_back_by_what_was_found(check):
    for_tools = replace(check(), is_for_tools=True)
    assert exit_code(for_tools) == 0
    assert {each.outcome for each in gate_of("acl-plan", for_tools).questions} == {Outcome.PASSED}
