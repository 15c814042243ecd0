"""Files to install for `watch`: rules and panels about metrics that exist, units and objects that run what exists.

`make emitted` gives them to Prometheus, Grafana's own classes, systemd and Kubernetes' schemas.
"""

import json
import re

import pytest
import yaml

from eosctl.analysis.metrics.catalogue import METRICS
from eosctl.analysis.metrics.dashboard import ALERTS, with_all
from eosctl.cli import root_command
from eosctl.model.watch import Emitted, Metric
from eosctl.operations.watch import Listening, watch_file
from eosctl.render.watch_files import view_watch_file

LABELS = {each.name: {*each.labels, "profile"} for each in METRICS}


@pytest.fixture
def text(monkeypatch):
    """`text(kind, *profiles)`: the file, where eosctl lies in /usr/bin or at `program`."""

    def emitted(kind, *profiles, program="/usr/bin/eosctl"):
        monkeypatch.setattr("shutil.which", lambda _: program)
        return view_watch_file(watch_file(kind, profiles, Listening("127.0.0.1:9464", False, 60.0)))

    return emitted


def rules_of(groups):
    return [rule for group in groups["groups"] for rule in group["rules"]]


def asked(expression):
    """Each metric of an expression with the names of the labels that it is chosen by."""
    for name, selector in re.findall(r"(eosctl_\w+)(?:\{(.*?)\})?", expression):
        yield name, {each.partition("=")[0].rstrip("=~! ") for each in selector.split(", ") if each}


def test_every_alert_has_one_name_and_asks_for_a_metric_of_the_table_with_labels_that_it_has(text):
    rules = rules_of(yaml.safe_load(text(Emitted.PROMETHEUS_RULES)))
    assert len({rule["alert"] for rule in rules}) == len(rules) == len(ALERTS)
    for rule in rules:
        [(name, labels)] = asked(rule["expr"])
        assert labels <= LABELS[name], rule


def test_a_rule_is_what_prometheus_takes(text):
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


def test_the_dashboard_shows_every_metric_of_the_table_for_the_clusters_that_are_chosen(text):
    dashboard = json.loads(text(Emitted.GRAFANA_DASHBOARD))
    shown = set()
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            [(name, labels)] = asked(target["expr"])
            assert "profile" in labels <= LABELS[name], target
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= {*LABELS[name], "__name__"}, target
            shown.add(name)
    assert shown == LABELS.keys()
    assert [each["name"] for each in dashboard["templating"]["list"]] == ["datasource", "profile"]


def test_the_panels_of_the_dashboard_lie_beside_one_another_and_have_ids_of_their_own(text):
    panels = json.loads(text(Emitted.GRAFANA_DASHBOARD))["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    taken = set()
    for each in panels:
        place = each["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, each["title"]
        taken |= cells


def test_a_metric_that_no_panel_names_has_a_panel_of_its_own():
    new = Metric("eosctl_new_seconds", "Something new.", ("topic",), 10)
    *_, row = with_all((), (new,))
    [panel] = row.panels
    assert (panel.metrics, panel.title, panel.unit) == ((new,), "Something new.", "s")


@pytest.mark.parametrize(
    ("program", "written"),
    [
        ("/usr/bin/eosctl", "/usr/bin/eosctl watch east west --listen 127.0.0.1:9464 --every 60"),
        ("/opt/100% own/eosctl", '"/opt/100%% own/eosctl" watch east west --listen 127.0.0.1:9464 --every 60'),
    ],
)
def test_the_unit_runs_the_command(text, program, written):
    lines = text(Emitted.SYSTEMD, "east", "west", program=program).splitlines()
    assert f"ExecStart={written}" in lines


def test_the_unit_of_the_nightly_audit_keeps_what_the_watch_reads(text):
    watch, audit = text(Emitted.SYSTEMD, "east").splitlines(), text(Emitted.SYSTEMD_AUDIT).splitlines()
    [command] = (line.removeprefix("ExecStart=") for line in audit if line.startswith("ExecStart="))
    assert command.split()[:4] == ["/usr/bin/eosctl", "audit", "--profile", "%I"]
    assert_options_exist("audit", command.split()[2:])
    assert {"User=eosctl", "DynamicUser=yes", "StateDirectory=eosctl"} <= set(watch) & set(audit)
    assert "OnCalendar=*-*-* 02:15:00" in text(Emitted.SYSTEMD_TIMER).splitlines()


def test_the_objects_of_kubernetes_belong_together(text):
    objects = {each["kind"]: each for each in yaml.safe_load_all(text(Emitted.KUBERNETES, "east"))}
    assert set(objects) == {"Deployment", "Service", "ServiceMonitor", "PrometheusRule", "CronJob"}
    template = objects["Deployment"]["spec"]["template"]
    [container] = template["spec"]["containers"]
    assert [*container["command"], *container["args"]] == [
        *("eosctl", "watch", "east"),
        *("--listen", "0.0.0.0:9464", "--allow-remote", "--every", "60"),
    ]
    assert template["metadata"]["labels"] == objects["Service"]["spec"]["selector"]
    assert objects["Service"]["metadata"]["labels"] == objects["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
    assert objects["PrometheusRule"]["spec"] == yaml.safe_load(text(Emitted.PROMETHEUS_RULES))


def test_kubernetes_audits_every_profile_every_night_under_a_name_that_it_takes(text):
    profiles = ("east", "West Side", "a" * 60)
    objects = yaml.safe_load_all(text(Emitted.KUBERNETES, *profiles))
    jobs = {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "CronJob"}
    assert list(jobs) == ["eosctl-audit-east", "eosctl-audit-1", "eosctl-audit-2"]
    for profile, spec in zip(profiles, jobs.values(), strict=True):
        job = spec["jobTemplate"]["spec"]
        [container] = job["template"]["spec"]["containers"]
        assert container["command"] == ["eosctl", "audit", "--profile", profile]
        assert_options_exist("audit", container["args"])
        assert (spec["schedule"], job["backoffLimit"]) == ("15 2 * * *", 0)
        assert job["template"]["spec"]["restartPolicy"] == "Never"


def assert_options_exist(command, words):
    """Every option among the words is one of the command."""
    known = {name for each in root_command().commands[command].params for name in each.opts}
    assert {word for word in words if word.startswith("--")} <= known
