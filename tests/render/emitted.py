"""The output of `watch --emit`, checked by its consumers: `make emitted`.

promtool and systemd-analyze are Debian's packages prometheus and systemd; the schemas of Kubernetes' API, Grafana's own
classes (generated from its schemas) and a parser of PromQL are wheels that the target installs.
"""

import json
import subprocess
from pathlib import Path

import kubernetes_validate
import promql_parser
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from grafana_foundation_sdk.models.prometheus import Dataquery

from eosctl.model.watch import Emitted
from eosctl.operations.watch import Listening, watch_file
from eosctl.render.watch_files import view_watch_file

PROFILES = ("east", "West Side")
CUSTOM = {"ServiceMonitor", "PrometheusRule"}
"""Objects of Prometheus' operator, which Kubernetes' own schemas do not know."""
NOTES = ["/annotations/list/0/titleFormat", "/annotations/list/0/textFormat"]
"""Settings of an annotation that Prometheus' data source reads, and that the dashboard's schema leaves to it."""
UNITS = {
    "eosctl-watch.service": Emitted.SYSTEMD,
    "eosctl-audit@.service": Emitted.SYSTEMD_AUDIT,
    "eosctl-audit@.timer": Emitted.SYSTEMD_TIMER,
}


def text(kind: Emitted) -> str:
    return view_watch_file(watch_file(kind, PROFILES, Listening("127.0.0.1:9464", False, 30.0), "docs/alerts.md"))


def ran(*command: object) -> tuple[int, str]:
    """Exit code, and all that was said."""
    done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_prometheus_takes_the_rules(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(text(Emitted.PROMETHEUS_RULES))
    code, said = ran("promtool", "check", "rules", rules)
    assert (code, f"SUCCESS: {len(expressions_of_rules())} rules found" in said) == (0, True), said
    rules.write_text(text(Emitted.PROMETHEUS_RULES).replace("expr: eosctl_", "expr: > eosctl_", 1))
    assert ran("promtool", "check", "rules", rules)[0] == 1  # it can fail


def expressions_of_rules():
    groups = yaml.safe_load(text(Emitted.PROMETHEUS_RULES))["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


def test_every_expression_is_promql():
    dashboard = json.loads(text(Emitted.GRAFANA_DASHBOARD))
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    notes = [each["expr"] for each in dashboard["annotations"]["list"]]
    for expression in (*expressions_of_rules(), *panels, *notes):
        promql_parser.parse(expression)
    with pytest.raises(ValueError, match="unexpected"):
        promql_parser.parse("eosctl_x{")


def test_grafana_s_own_classes_keep_all_of_the_dashboard():
    given = json.loads(text(Emitted.GRAFANA_DASHBOARD))
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(given)))
    assert lost(given, read) == NOTES
    assert lost({**given, "colour": 1, "title": "other"}, read) == ["/title", *NOTES, "/colour"]
    targets = [target for panel in given["panels"] for target in panel.get("targets", ())]
    for each in targets:
        assert lost(each, json.loads(JSONEncoder().encode(Dataquery.from_json(each)))) == []


def lost(given: object, read: object, place: str = "") -> list[str]:
    """The places where the read value differs from the given one; an added value is a default."""
    if isinstance(given, dict) and isinstance(read, dict):
        return [each for name in given for each in lost(given[name], read.get(name), f"{place}/{name}")]
    if isinstance(given, list) and isinstance(read, list) and len(given) == len(read):
        pairs = enumerate(zip(given, read, strict=True))
        return [each for number, (one, other) in pairs for each in lost(one, other, f"{place}/{number}")]
    return [] if given == read else [place]


def test_systemd_takes_the_units(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/true")  # it looks for the program
    for name, kind in UNITS.items():
        (tmp_path / name).write_text(text(kind))
    assert ran("systemd-analyze", "verify", "--man=no", *(tmp_path / name for name in UNITS)) == (0, "")
    broken = tmp_path / "eosctl-watch.service"
    broken.write_text(broken.read_text().replace("StateDirectory=", "StateDirectories="))
    assert "StateDirectories" in ran("systemd-analyze", "verify", "--man=no", broken)[1]


def test_the_night_of_the_timer_is_a_time_of_systemd():
    [when] = (line.partition("=")[2] for line in text(Emitted.SYSTEMD_TIMER).splitlines() if "OnCalendar" in line)
    assert ran("systemd-analyze", "calendar", when)[0] == 0


def test_kubernetes_schemas_take_the_objects():
    kinds, newest = set(), kubernetes_validate.latest_version()
    for each in yaml.safe_load_all(text(Emitted.KUBERNETES)):
        kinds.add(each["kind"])
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(each, newest, strict=True)
            with pytest.raises(kubernetes_validate.ValidationError):
                kubernetes_validate.validate({**each, "spec": {**each["spec"], "replica": 1}}, newest, strict=True)
    assert kinds == {"Deployment", "Service", "CronJob"} | CUSTOM


def test_the_files_are_at_the_paths_of_the_how_to():
    page = Path(__file__).parents[2] / "docs" / "howto" / "watch-clusters.md"
    for name, kind in UNITS.items():
        assert f"--emit {kind} > /etc/systemd/system/{name}" in page.read_text(encoding="utf-8")
