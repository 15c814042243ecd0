"""Files to install for `watch`: alert rules, a dashboard, units of systemd, objects of Kubernetes."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from eosctl.errors import UsageError
from eosctl.model.text import UNSEEN
from eosctl.model.watch import Alert, Emitted, Metric, Panel, PanelKind, PanelRow, WatchFile
from eosctl.render.formats import yaml_text

# A dashboard of Grafana, in its classic JSON model: Dashboards, New, Import takes it.


PROFILE: Final = "profile"
"""The label of the cluster, and the dashboard's variable."""
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS: Final = 24
SIZES: Final = {PanelKind.STAT: (4, 4), PanelKind.TIME_SERIES: (12, 8), PanelKind.TABLE: (24, 8)}
"""Width and height of a panel, on a grid of 24 columns."""


def grafana_dashboard(rows: Iterable[PanelRow], alerts: Iterable[Alert], each_cluster: Metric) -> dict[str, Any]:
    """The dashboard; each_cluster is a metric that every cluster has after every cycle."""
    return {
        "uid": "eosctl-watch",
        "title": "Exactly-once Kafka Connect sources",
        "description": "What eosctl watch measures. What was not read is absent, and is named under Watch itself.",
        "tags": ["kafka", "kafka-connect", "eosctl"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": list(_variables(each_cluster))},
        "annotations": {"list": [_firing(alerts)]},
        "panels": list(_placed(rows)),
    }


def _variables(each_cluster: Metric) -> Iterator[Mapping[str, Any]]:
    yield {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    query = f"label_values({each_cluster.name}, {PROFILE})"
    yield {
        "name": PROFILE,
        "label": "Cluster",
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": PROFILE},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def _firing(alerts: Iterable[Alert]) -> Mapping[str, Any]:
    names = "|".join(each.name for each in alerts)
    return {
        "name": "Alerts that fire",
        "enable": True,
        "iconColor": "red",
        "datasource": SOURCE,
        "expr": f'ALERTS{{alertname=~"{names}", alertstate="firing", {_chosen()}}}',
        "titleFormat": "{{alertname}}",
        "textFormat": f"{{{{{PROFILE}}}}}",
    }


def _chosen() -> str:
    return f'{PROFILE}=~"${PROFILE}"'


def _placed(rows: Iterable[PanelRow]) -> Iterator[Mapping[str, Any]]:
    """Row after row; the panels of one stand beside one another where they fit."""
    number, top = 0, 0
    for row in rows:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "panels": [],
            "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": 1},
        }
        top, left, height = top + 1, 0, 0
        for panel in row.panels:
            number += 1
            width, wanted = SIZES[panel.kind]
            if left + width > COLUMNS:
                top, left, height = top + height, 0, 0
            yield _panel(number, panel, {"x": left, "y": top, "w": width, "h": wanted})
            left, height = left + width, max(height, wanted)
        top += height


def _panel(number: int, panel: Panel, place: Mapping[str, int]) -> Mapping[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.bad_from is not None:
        steps.append({"color": "red", "value": panel.bad_from})
    nothing = "not known" if panel.kind is PanelKind.STAT else "none that is known"
    defaults = {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}, "noValue": nothing}
    return {
        "id": number,
        "type": panel.kind.value,
        "title": panel.title,
        "description": " ".join(each.help for each in panel.metrics),
        "datasource": SOURCE,
        "gridPos": place,
        "targets": [_target(panel, each, letter) for each, letter in zip(panel.metrics, "ABCDEF", strict=False)],
        "fieldConfig": {"defaults": defaults, "overrides": []},
        **_look(panel),
    }


def _look(panel: Panel) -> Mapping[str, Any]:
    if panel.kind is not PanelKind.TABLE:
        return {}
    hidden = dict.fromkeys(("Time", "__name__", "instance", "job"), True)
    return {"transformations": [{"id": "organize", "options": {"excludeByName": hidden}}]}


def _target(panel: Panel, metric: Metric, letter: str) -> Mapping[str, Any]:
    is_table = panel.kind is PanelKind.TABLE
    labels = (*([] if len(panel.metrics) == 1 else ["__name__"]), PROFILE, *metric.labels)
    return {
        "refId": letter,
        "datasource": SOURCE,
        "expr": panel_query(panel, metric),
        "legendFormat": " ".join(f"{{{{{each}}}}}" for each in labels),
        "instant": panel.kind is not PanelKind.TIME_SERIES,
        "range": panel.kind is PanelKind.TIME_SERIES,
        "format": "table" if is_table else "time_series",
    }


def panel_query(panel: Panel, metric: Metric) -> str:
    """What the panel asks of one of its metrics, in PromQL, for the clusters that are chosen."""
    selector = ", ".join((*(f'{name}="{value}"' for name, value in panel.labels), _chosen()))
    return panel.expression.replace("{}", f"{metric.name}{{{selector}}}")


# Objects of Kubernetes: the Deployment of `watch` with what Prometheus' operator needs, and an audit every night.


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


# Units of systemd: the service of `watch`, and the audit of a profile every night.
#
# Both run as the same dynamic user, so that the one reads the ledger that the other keeps in /var/lib/eosctl.


_CONFINED: Final = """\
# The user's profiles are /etc/eosctl/config.yaml; what they refer to has to be readable, too.
Environment=XDG_CONFIG_HOME=/etc
User=eosctl
DynamicUser=yes
StateDirectory=eosctl
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectHome=read-only
"""
_NETWORK: Final = """\
Wants=network-online.target
After=network-online.target
"""
_SERVICE: Final = """\
[Unit]
Description=Metrics of exactly-once Kafka Connect sources
Documentation=man:eosctl-watch(1)
{network}
[Service]
ExecStart={command}
Restart=on-failure
RestartSec=10
SuccessExitStatus=130
{confined}
[Install]
WantedBy=multi-user.target
"""
_AUDIT: Final = """\
# /etc/systemd/system/eosctl-audit@.service, started by eosctl-audit@PROFILE.timer
[Unit]
Description=Audit of exactly-once for profile %I
Documentation=man:eosctl-audit(1)
{network}
[Service]
Type=oneshot
# It fails where something is found (1) or not read (3): name what alerts you with OnFailure=. The ledger is the
# profile's audit-store, as sqlite:////var/lib/eosctl/audit.db: without one each night reads everything.
ExecStart={program} audit --profile %I --quiet --output json --output-file /var/lib/eosctl/audit-%i.json
Nice=10
{confined}"""
_TIMER: Final = """\
# /etc/systemd/system/eosctl-audit@.timer; for each profile: systemctl enable --now eosctl-audit@PROFILE.timer
[Unit]
Description=Audit of exactly-once every night for profile %I

[Timer]
OnCalendar=*-*-* 02:15:00
RandomizedDelaySec=15min
Persistent=true

[Install]
WantedBy=timers.target
"""


def watch_service(file: WatchFile) -> str:
    """The unit that watches the profiles."""
    words = (file.program, "watch", *file.profiles, "--listen", file.address, "--every", f"{file.every_s:g}")
    return _SERVICE.format(command=" ".join(map(_word, words)), network=_NETWORK, confined=_CONFINED)


def audit_service(file: WatchFile) -> str:
    """The template of a unit that audits the profile that it is named after."""
    return _AUDIT.format(program=_word(file.program), network=_NETWORK, confined=_CONFINED)


def audit_timer() -> str:
    """The template of a timer that starts it every night."""
    return _TIMER


def _word(word: str) -> str:
    """One word of a command line of systemd, where %, $ and quotes mean something.

    UsageError for a word with a character that is not seen: a line end would begin another setting of the unit.
    """
    if UNSEEN.search(word):
        raise UsageError(f"a unit of systemd cannot have a character of {word!a}", hint="give it another name")
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"' if any(char.isspace() or char in "\"';\\" for char in word) else word


def view_watch_file(file: WatchFile) -> str:
    """The text of the file."""
    match file.kind:
        case Emitted.PROMETHEUS_RULES:
            return _yaml(_rules(file.alerts))
        case Emitted.GRAFANA_DASHBOARD:
            return json.dumps(grafana_dashboard(file.rows, file.alerts, file.each_cluster), indent=2) + "\n"
        case Emitted.SYSTEMD:
            return watch_service(file)
        case Emitted.SYSTEMD_AUDIT:
            return audit_service(file)
        case Emitted.SYSTEMD_TIMER:
            return audit_timer()
        case Emitted.KUBERNETES:
            return _yaml(*kubernetes_objects(file, _rules(file.alerts)))


def _yaml(*documents: Mapping[str, Any]) -> str:
    return yaml_text(documents, width=120)


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
