"""The Helm chart: `python packaging/chart/build.py DIRECTORY` writes it with what `eosctl watch --emit` writes.

Alert rules, dashboard and pods exist once, in eosctl: the chart's templates change what the values change.
"""

import shutil
import sys
from pathlib import Path

import yaml

from eosctl.model.watch import Emitted
from eosctl.operations.watch import Listening, watch_file
from eosctl.render.watch_files import view_watch_file
from eosctl.version import __version__

HOME = Path(__file__).resolve().parent
LISTENING = Listening("0.0.0.0:9464", True, 30.0)  # within a pod
RUNBOOKS = "docs/alerts.md"


def build(directory: Path) -> Path:
    """The chart, whole, in directory/eosctl."""
    chart = directory / "eosctl"
    shutil.rmtree(chart, ignore_errors=True)
    shutil.copytree(HOME, chart, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    described = yaml.safe_load((chart / "Chart.yaml").read_text("utf-8"))
    described |= {"version": __version__, "appVersion": __version__}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(described, sort_keys=False), "utf-8")
    (chart / "files").mkdir()
    for each in yaml.safe_load_all(_emitted(Emitted.KUBERNETES)):
        text = yaml.safe_dump(each, sort_keys=False)
        if each["kind"] == "CronJob":  # its name ends with the profile's
            text = text.replace("eosctl-audit-profile", "eosctl-audit")
        (chart / "files" / f"{each['kind']}.yaml").write_text(text, "utf-8")
    (chart / "files" / "dashboard.json").write_text(_emitted(Emitted.GRAFANA_DASHBOARD), "utf-8")
    return chart


def _emitted(kind: Emitted) -> str:
    return view_watch_file(watch_file(kind, ["profile"], LISTENING, RUNBOOKS))


if __name__ == "__main__":
    build(Path(sys.argv[1]))
