"""Files to install for `watch`: alert rules, a dashboard, units of systemd, objects of Kubernetes."""

import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from importlib.resources import files
from string import Template
from typing import Any, Final

from eosctl.errors import UsageError
from eosctl.late_pattern import late_pattern
from eosctl.model.text import UNSEEN
from eosctl.model.watch import Alert, Emitted, Metric, Panel, PanelKind, PanelRow, WatchFile
from eosctl.render.formats import yaml_text

PROFILE: Final = "profile"
"""The label of the cluster, and the dashboard's variable."""
SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS: Final = 24
SIZES: Final = {PanelKind.STAT: (4, 4), PanelKind.TIME_SERIES: (12, 8), PanelKind.TABLE: (24, 8)}
"""Width and height of a panel, on a grid of 24 columns."""


def grafana_dashboard(rows: Iterable[PanelRow], alerts: Iterable[Alert], each_cluster: Metric) -> dict[str, Any]:
    """The dashboard; each_cluster is a metric that every cluster has after every cycle."""
    names = "|".join(each.name for each in alerts)
    text = _template("grafana.json").substitute(each_cluster=each_cluster.name, alerts=names)
    return {**json.loads(text), "panels": list(_placed(rows))}


def _chosen() -> str:
    return f'{PROFILE}=~"${PROFILE}"'


def _placed(rows: Iterable[PanelRow]) -> Iterator[Mapping[str, Any]]:
    """Row after row; the panels of one row are side by side if they fit."""
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
    """The panel's query of one of its metrics, in PromQL, for the chosen clusters."""
    selector = ", ".join((*(f'{name}="{value}"' for name, value in panel.labels), _chosen()))
    return panel.expression.replace("{}", f"{metric.name}{{{selector}}}")


AUDIT: Final = "eosctl-audit"
_NAME_PART: Final = late_pattern(r"[a-z0-9]([a-z0-9-]{0,37}[a-z0-9])?")
"""Suffix after `eosctl-audit-` in the name of a CronJob, which has 52 characters at most."""


def kubernetes_objects(file: WatchFile, rules: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The Deployment of `watch` with objects of Prometheus' operator, and a nightly audit of each profile.

    rules are the groups of alert rules.
    """
    import yaml

    text = _template("kubernetes.yaml").substitute(version=file.version, every=f"{file.every_s:g}")
    deployment, service, monitor, alerts, audit = yaml.safe_load_all(text)
    deployment["spec"]["template"]["spec"]["containers"][0]["command"] += file.profiles
    yield from (deployment, service, monitor, alerts | {"spec": rules})
    for number, profile in enumerate(file.profiles):
        nightly = deepcopy(audit)
        nightly["metadata"]["name"] += f"-{profile if _NAME_PART.fullmatch(profile) else number}"
        pod = nightly["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        pod["containers"][0]["command"].append(profile)
        yield nightly


def watch_service(file: WatchFile) -> str:
    words = (file.program, "watch", *file.profiles, "--listen", file.address, "--every", f"{file.every_s:g}")
    return _template("eosctl-watch.service").substitute(command=" ".join(map(_word, words)))


def _template(name: str) -> Template:
    return Template(files("eosctl.render").joinpath("templates", name).read_text(encoding="utf-8"))


def _word(word: str) -> str:
    """One word of a command line of systemd, where %, $ and quotes mean something.

    UsageError for a word with a character that is not seen: a line end would begin another setting of the unit.
    """
    if UNSEEN.search(word):
        raise UsageError(f"a unit of systemd cannot have a character of {word!a}", hint="give it another name")
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"' if any(char.isspace() or char in "\"';\\" for char in word) else word


def view_watch_file(file: WatchFile) -> str:
    match file.kind:
        case Emitted.PROMETHEUS_RULES:
            return _yaml(_rules(file))
        case Emitted.GRAFANA_DASHBOARD:
            return json.dumps(grafana_dashboard(file.rows, file.alerts, file.each_cluster), indent=2) + "\n"
        case Emitted.SYSTEMD:
            return watch_service(file)
        case Emitted.SYSTEMD_AUDIT:
            return _template("eosctl-audit@.service").substitute(program=_word(file.program))
        case Emitted.SYSTEMD_TIMER:
            return _template("eosctl-audit@.timer").template
        case Emitted.KUBERNETES:
            return _yaml(*kubernetes_objects(file, _rules(file)))


def _yaml(*documents: Mapping[str, Any]) -> str:
    return yaml_text(documents, width=120)


def _rules(file: WatchFile) -> Mapping[str, Any]:
    return {"groups": [{"name": "eosctl", "rules": [_rule(each, file.runbooks) for each in file.alerts]}]}


def _rule(alert: Alert, runbooks: str) -> Mapping[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.lasting,
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "runbook_url": f"{runbooks}#{alert.anchor}"},
    }
