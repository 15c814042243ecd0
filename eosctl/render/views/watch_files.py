"""Files to install for `watch`: alert rules, a dashboard, units of systemd, objects of Kubernetes."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from eosctl.model.metrics import Alert
from eosctl.model.watch import Emitted, WatchFile
from eosctl.render.grafana_dashboard import grafana_dashboard
from eosctl.render.kubernetes_objects import kubernetes_objects
from eosctl.render.systemd_units import audit_service, audit_timer, watch_service
from eosctl.render.yaml_text import yaml_text


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
