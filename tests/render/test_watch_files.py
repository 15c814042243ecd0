"""Files to install for `watch`: rules about metrics that exist, a unit and objects that run the same command."""

import re

import pytest
import yaml

from eosctl.analysis.metrics.alerts import ALERTS
from eosctl.analysis.metrics.catalogue import METRICS
from eosctl.model.watch import Emitted, WatchFile
from eosctl.render.views.watch_files import view_watch_file


def text(kind, *profiles, program="/usr/bin/eosctl"):
    return view_watch_file(
        WatchFile(
            kind=kind,
            alerts=ALERTS,
            profiles=profiles,
            address="127.0.0.1:9464",
            every_s=60.0,
            program=program,
            version="1.2.3",
        )
    )


def rules_of(groups):
    return [rule for group in groups["groups"] for rule in group["rules"]]


def test_every_alert_has_one_name_and_asks_for_a_metric_of_the_table_with_labels_that_it_has():
    rules = rules_of(yaml.safe_load(text(Emitted.PROMETHEUS_RULES)))
    assert len({rule["alert"] for rule in rules}) == len(rules) == len(ALERTS)
    labels = {each.name: set(each.labels) for each in METRICS}
    for rule in rules:
        [(name, selector)] = re.findall(r"(eosctl_\w+)(?:\{(.*?)\})?", rule["expr"])
        assert {pair.partition("=")[0] for pair in selector.split(", ") if pair} <= labels[name], rule


def test_a_rule_is_what_prometheus_takes():
    rules = {rule["alert"]: rule for rule in rules_of(yaml.safe_load(text(Emitted.PROMETHEUS_RULES)))}
    assert rules["EosctlAuditBroken"]["expr"] == 'eosctl_audit_verdict{verdict="broken"} == 1'
    assert rules["EosctlCyclesStopped"]["expr"] == "time() - eosctl_cycle_as_of_seconds > 600"
    assert rules["EosctlNotWatching"]["expr"] == "absent(eosctl_cycle_as_of_seconds)"
    assert rules["EosctlTransactionHangs"] == {
        "alert": "EosctlTransactionHangs",
        "expr": "eosctl_hanging_transactions > 0",
        "for": "2m",
        "labels": {"severity": "critical"},
        "annotations": {"summary": ALERTS[3].summary},
    }


@pytest.mark.parametrize(
    ("program", "written"),
    [
        ("/usr/bin/eosctl", "/usr/bin/eosctl watch east west --listen 127.0.0.1:9464 --every 60"),
        ("/opt/100% own/eosctl", '"/opt/100%% own/eosctl" watch east west --listen 127.0.0.1:9464 --every 60'),
    ],
)
def test_the_unit_runs_the_command(program, written):
    lines = text(Emitted.SYSTEMD, "east", "west", program=program).splitlines()
    assert f"ExecStart={written}" in lines


def test_the_objects_of_kubernetes_belong_together():
    objects = {each["kind"]: each for each in yaml.safe_load_all(text(Emitted.KUBERNETES, "east"))}
    assert set(objects) == {"Deployment", "Service", "ServiceMonitor", "PrometheusRule"}
    template = objects["Deployment"]["spec"]["template"]
    [container] = template["spec"]["containers"]
    assert [*container["command"], *container["args"]] == [
        *("eosctl", "watch", "east"),
        *("--listen", "0.0.0.0:9464", "--allow-remote", "--every", "60"),
    ]
    assert template["metadata"]["labels"] == objects["Service"]["spec"]["selector"]
    assert objects["Service"]["metadata"]["labels"] == objects["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
    assert objects["PrometheusRule"]["spec"] == yaml.safe_load(text(Emitted.PROMETHEUS_RULES))
