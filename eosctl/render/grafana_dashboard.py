"""A dashboard of Grafana, in its classic JSON model: Dashboards, New, Import takes it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from eosctl.model.metrics import Alert, Metric, Panel, PanelKind, PanelRow

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
