"""Files to install for `watch`: alert rules of Prometheus, a unit of systemd, objects of Kubernetes."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from eosctl.model.metrics import Alert
from eosctl.model.watch import Emitted, WatchFile

NAME: Final = "eosctl-watch"
PORT: Final = 9464
LABELS: Final = {"app.kubernetes.io/name": NAME}

UNIT: Final = """\
[Unit]
Description=Metrics of exactly-once Kafka Connect sources
Documentation=man:eosctl-watch(1)
Wants=network-online.target
After=network-online.target

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=10
SuccessExitStatus=130
# The user's profiles are /etc/eosctl/config.yaml; what they refer to has to be readable, too.
Environment=XDG_CONFIG_HOME=/etc
DynamicUser=yes
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectHome=read-only

[Install]
WantedBy=multi-user.target
"""


def view_watch_file(file: WatchFile) -> str:
    """The text of the file."""
    match file.kind:
        case Emitted.PROMETHEUS_RULES:
            return _documents(_rules(file.alerts))
        case Emitted.SYSTEMD:
            words = (file.program, "watch", *file.profiles, "--listen", file.address, "--every", f"{file.every_s:g}")
            return UNIT.format(command=" ".join(map(_unit_word, words)))
        case Emitted.KUBERNETES:
            return _documents(_deployment(file), _service(), _service_monitor(file), _object_of_rules(file))


def _unit_word(word: str) -> str:
    """One word of a command line of systemd, where %, $ and quotes mean something."""
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"' if any(char.isspace() or char in "\"';\\" for char in word) else word


def _documents(*documents: Mapping[str, Any]) -> str:
    import yaml

    return yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True, width=120)


def _rules(alerts: Iterable[Alert]) -> Mapping[str, Any]:
    return {"groups": [{"name": "eosctl", "rules": [_rule(each) for each in alerts]}]}


def _rule(alert: Alert) -> Mapping[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.lasting,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary},
    }


def _object(api: str, kind: str, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": NAME, "labels": dict(LABELS)}, "spec": spec}


def _deployment(file: WatchFile) -> Mapping[str, Any]:
    listen = f"0.0.0.0:{PORT}"
    container = {
        "name": NAME,
        "image": f"eosctl:{file.version}",
        "command": ["eosctl", "watch", *file.profiles],
        "args": ["--listen", listen, "--allow-remote", "--every", f"{file.every_s:g}"],
        "env": [{"name": "XDG_CONFIG_HOME", "value": "/etc"}, {"name": "XDG_STATE_HOME", "value": "/tmp"}],
        "ports": [{"name": "metrics", "containerPort": PORT}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "metrics"}},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "metrics"}},
        "resources": {"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
        },
        # config.yaml, and the files that its profiles refer to
        "volumeMounts": [{"name": "config", "mountPath": "/etc/eosctl", "readOnly": True}],
    }
    pod = {"containers": [container], "volumes": [{"name": "config", "secret": {"secretName": "eosctl-config"}}]}
    template = {"metadata": {"labels": dict(LABELS)}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": dict(LABELS)}, "template": template}
    return _object("apps/v1", "Deployment", spec)


def _service() -> Mapping[str, Any]:
    port = {"name": "metrics", "port": PORT, "targetPort": "metrics"}
    return _object("v1", "Service", {"selector": dict(LABELS), "ports": [port]})


def _service_monitor(file: WatchFile) -> Mapping[str, Any]:
    endpoint = {"port": "metrics", "interval": f"{file.every_s:g}s"}
    spec = {"selector": {"matchLabels": dict(LABELS)}, "endpoints": [endpoint]}
    return _object("monitoring.coreos.com/v1", "ServiceMonitor", spec)


def _object_of_rules(file: WatchFile) -> Mapping[str, Any]:
    return _object("monitoring.coreos.com/v1", "PrometheusRule", _rules(file.alerts))
