"""The pages of metrics and of alerts, from their tables."""

from collections.abc import Iterable
from typing import Final

from eosctl.exporter.exporter import PROFILE
from eosctl.model.watch import Alert, Metric

INTRODUCTION: Final = f"""\
# Metrics

[`eosctl watch`](reference/eosctl-watch.md) serves these metrics at `/metrics` in OpenMetrics text; `--otlp` pushes them
under the same names. All are gauges, and times are in seconds since the epoch. Each series has the label `{PROFILE}`
too: the name of the cluster's profile, empty where none is in use. `eosctl doctor --prometheus` writes those of
`doctor` without it.

- **Unread facts have no series.** A command that could not answer has no series, and `eosctl_unread` names the command,
  the fact and the kind of reason. A count of 0 is there only where all was read that it needs; a larger one is a lower
  bound where something was not. So alert on `eosctl_unread_facts > 0` too, and on `eosctl_last_success_seconds`.
- **Old samples disappear** if no cycle replaced them for three cycles and pauses.
- **The number of series is bounded**: *most* is how many one cluster has of a metric. A long list shows its worst
  entries; `eosctl_series_left_out` counts the others. Labels are cut after 200 characters.

| metric, labels | most | meaning |
|---|---|---|
"""


ALERTS: Final = """\
# Alerts

The alerts that [`eosctl watch --emit prometheus-rules`](reference/eosctl-watch.md) prints, each with three commands
to run when it fires. The `runbook_url` of an alert leads here: `--runbooks URL` names the place where you publish this
page. Put the alert's labels in place of `<profile>`, `<connector>` and the others. The commands write nothing to Kafka.

"""


def alerts_page(alerts: Iterable[Alert], notice: str) -> str:
    """Every alert with its condition and its commands, under an anchor of its own."""
    entries = "\n".join(map(_alert, alerts))
    return f"<!-- {notice} -->\n\n{ALERTS}{entries}"


def _alert(alert: Alert) -> str:
    commands = "\n".join(alert.commands)
    condition = f"`{alert.expression}`, for {alert.lasting}" if alert.lasting != "0m" else f"`{alert.expression}`"
    return f"## {alert.name}\n\n*{alert.severity}.* {alert.summary}.\n\n{condition}\n\n```sh\n{commands}\n```\n"


def metrics_page(metrics: Iterable[Metric], notice: str) -> str:
    """Every metric with its labels, its bound and its meaning."""
    rows = (f"| `{each.name}`{_labels(each)} | {each.bound} | {each.help} |\n" for each in metrics)
    return f"<!-- {notice} -->\n\n{INTRODUCTION}{''.join(rows)}"


def _labels(metric: Metric) -> str:
    return f" by {', '.join(f'`{each}`' for each in metric.labels)}" if metric.labels else ""
