"""The Helm chart and kubectl's plug-in, checked by helm and the schemas of Kubernetes: `make chart`. Not collected."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from eosctl.model.watch import Emitted
from eosctl.operations.watch import watch_file
from eosctl.render.watch_files import view_watch_file
from tests.project.test_distribution import ROOT, run

sys.path.insert(0, str(ROOT / "packaging" / "chart"))
import build as chart_build  # it is a script, and no package

CUSTOM = {"ServiceMonitor", "PrometheusRule"}
ALL_ON = {
    "profiles": ["east", "West Side"],
    "secrets": ["kafka-tls"],
    "image": {"repository": "registry.example/eosctl", "pullSecrets": ["pull"]},
    "networkPolicy": {
        "enabled": True,
        "metricsFrom": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
        "to": [{"ports": [{"port": 9092}]}],
    },
    "operators": [{"kind": "Group", "name": "sre"}, {"kind": "ServiceAccount", "name": "bot"}],
}


@pytest.fixture(scope="module")
def chart() -> Path:
    """The chart in dist/chart, and packed beside it."""
    run(sys.executable, ROOT / "packaging" / "chart" / "build.py", ROOT / "dist" / "chart")
    run("helm", "package", ROOT / "dist" / "chart" / "eosctl", "--destination", ROOT / "dist")
    return ROOT / "dist" / "chart" / "eosctl"


def rendered(chart: Path, values: dict[str, Any], directory: Path) -> list[dict[str, Any]]:
    file = directory / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    return list(filter(None, yaml.safe_load_all(run("helm", "template", "rel", chart, "--values", file))))


def test_helm_finds_nothing_to_complain_of(chart):
    assert "0 chart(s) failed" in run("helm", "lint", "--strict", chart, "--set", "profiles={east}")


@pytest.mark.parametrize("values", [ALL_ON, {"profiles": ["east"]}], ids=["all", "least"])
def test_kubernetes_schemas_take_every_object(chart, tmp_path, values):
    newest = kubernetes_validate.latest_version()
    objects = rendered(chart, values, tmp_path)
    for each in objects:
        if each["kind"] not in CUSTOM:
            kubernetes_validate.validate(each, newest, strict=True)
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(names) == len(set(names))
    assert {kind for kind, _ in names} >= {"Deployment", "CronJob", "Service", "ConfigMap", "ServiceAccount"} | CUSTOM


def test_alerts_and_dashboard_are_those_of_eosctl(chart, tmp_path):
    objects = {each["kind"]: each for each in rendered(chart, {"profiles": ["east"]}, tmp_path)}
    listening = chart_build.LISTENING
    for kind, found in (
        (Emitted.PROMETHEUS_RULES, objects["PrometheusRule"]["spec"]),
        (Emitted.GRAFANA_DASHBOARD, json.loads(objects["ConfigMap"]["data"]["eosctl.json"])),
    ):
        assert found == yaml.safe_load(view_watch_file(watch_file(kind, ["profile"], listening, chart_build.RUNBOOKS)))


def test_each_profile_is_watched_and_audited_and_secrets_are_references(chart, tmp_path):
    objects = rendered(chart, ALL_ON, tmp_path)
    [deployment] = [each for each in objects if each["kind"] == "Deployment"]
    audits = [each for each in objects if each["kind"] == "CronJob"]
    pods = [each["spec"]["jobTemplate"]["spec"]["template"]["spec"] for each in audits]
    watching = deployment["spec"]["template"]["spec"]
    assert watching["containers"][0]["command"] == ["eosctl", "watch", "east", "West Side"]
    assert [each["containers"][0]["command"][-1] for each in pods] == ["east", "West Side"]
    assert [each["metadata"]["name"] for each in audits] == ["eosctl-audit-east", "eosctl-audit-1"]
    for pod in (watching, *pods):
        [container] = pod["containers"]
        assert container["image"].startswith("registry.example/eosctl:")
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["automountServiceAccountToken"] is False
        used = {each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each}
        assert used == {"eosctl-config", "kafka-tls"}
    assert [each for each in objects if each["kind"] == "Secret"] == []


def test_values_that_are_wrong_are_refused(chart, tmp_path):
    for values, said in (({}, "name the profiles"), ({"profiles": ["x"], "password": "y"}, "password")):
        with pytest.raises(AssertionError, match=said):
            rendered(chart, values, tmp_path)


def test_the_plug_in_runs_its_command_in_a_pod_that_is_confined(tmp_path):
    """kubectl itself needs a cluster: a program in its place says what it was asked for."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    kubectl.chmod(0o755)
    plug_in = ROOT / "packaging" / "kubectl" / "kubectl-eosctl"
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    output = run(plug_in, "doctor", "--profile", "West Side", EOSCTL_IMAGE="registry.example/eosctl:1", **path)
    asked = json.loads(output)
    assert asked[asked.index("--") + 1 :] == ["doctor", "--profile", "West Side"]
    assert {"--rm", "--restart", "--namespace"} <= set(asked)
    pod = json.loads(asked[asked.index("--overrides") + 1])["spec"]
    [container] = pod["containers"]
    assert container["name"] == asked[1]
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": asked[1]}}
    container["image"] = asked[asked.index("--image") + 1]
    kubernetes_validate.validate({**whole, "spec": pod}, kubernetes_validate.latest_version(), strict=True)
    assert container["securityContext"]["readOnlyRootFilesystem"]
    refused = subprocess.run(
        [plug_in, "doctor"], env={**os.environ, **path, "EOSCTL_NAMESPACE": 'a"b'}, capture_output=True, check=False
    )
    assert refused.returncode == 2
