"""Objects of Kubernetes: the Deployment of `watch` with what Prometheus' operator needs, and an audit every night."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from eosctl.model.watch import WatchFile

WATCH: Final = "eosctl-watch"
AUDIT: Final = "eosctl-audit"
PORT: Final = 9464
NIGHTLY: Final = "15 2 * * *"
_NAME_PART: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,37}[a-z0-9])?")
"""What may follow `eosctl-audit-` in the name of a CronJob, which has 52 characters at most."""


def kubernetes_objects(file: WatchFile, rules: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All objects; rules are the groups of alert rules."""
    yield _deployment(file)
    port = {"name": "metrics", "port": PORT, "targetPort": "metrics"}
    yield _object("v1", "Service", WATCH, {"selector": _labels(WATCH), "ports": [port]})
    endpoint = {"port": "metrics", "interval": f"{file.every_s:g}s"}
    monitor = {"selector": {"matchLabels": _labels(WATCH)}, "endpoints": [endpoint]}
    yield _object("monitoring.coreos.com/v1", "ServiceMonitor", WATCH, monitor)
    yield _object("monitoring.coreos.com/v1", "PrometheusRule", WATCH, rules)
    for number, profile in enumerate(file.profiles):
        part = profile if _NAME_PART.fullmatch(profile) else f"{number}"
        yield _object("batch/v1", "CronJob", f"{AUDIT}-{part}", _nightly(file, profile), of=AUDIT)


def _labels(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": name}


def _object(api: str, kind: str, name: str, spec: Mapping[str, Any], of: str | None = None) -> Mapping[str, Any]:
    metadata = {"name": name, "labels": _labels(of or name)}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def _deployment(file: WatchFile) -> Mapping[str, Any]:
    container = {
        **_container(file, WATCH, ["watch", *file.profiles]),
        "args": ["--listen", f"0.0.0.0:{PORT}", "--allow-remote", "--every", f"{file.every_s:g}"],
        "ports": [{"name": "metrics", "containerPort": PORT}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "metrics"}},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "metrics"}},
        "resources": {"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
    }
    template = {"metadata": {"labels": _labels(WATCH)}, "spec": _pod(container)}
    spec = {"replicas": 1, "selector": {"matchLabels": _labels(WATCH)}, "template": template}
    return _object("apps/v1", "Deployment", WATCH, spec)


def _nightly(file: WatchFile, profile: str) -> Mapping[str, Any]:
    """A Job fails where something is found (1) or not read (3), and is not tried again: the answer would be the same.

    Its ledger is the profile's audit-store, which has to lie outside of the pod, as in PostgreSQL.
    """
    container = {
        **_container(file, AUDIT, ["audit", "--profile", profile]),
        "args": ["--quiet", "--output", "json"],
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"memory": "4Gi"}},
    }
    template = {"metadata": {"labels": _labels(AUDIT)}, "spec": {**_pod(container), "restartPolicy": "Never"}}
    return {
        "schedule": NIGHTLY,
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 3600,
        "jobTemplate": {"metadata": {"labels": _labels(AUDIT)}, "spec": {"backoffLimit": 0, "template": template}},
    }


def _container(file: WatchFile, name: str, command: Sequence[str]) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"eosctl:{file.version}",
        "command": ["eosctl", *command],
        "env": [{"name": "XDG_CONFIG_HOME", "value": "/etc"}, {"name": "XDG_STATE_HOME", "value": "/tmp"}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
        },
        # config.yaml, and the files that its profiles refer to
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/eosctl", "readOnly": True},
            {"name": "temporary", "mountPath": "/tmp"},
        ],
    }


def _pod(container: Mapping[str, Any]) -> dict[str, Any]:
    config = {"name": "config", "secret": {"secretName": "eosctl-config"}}
    return {"containers": [container], "volumes": [config, {"name": "temporary", "emptyDir": {}}]}
