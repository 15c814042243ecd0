"""The output of a watch on a terminal and in files."""

import json
import re
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from eosctl.analysis.metrics import catalogue as metrics
from eosctl.analysis.metrics.catalogue import ALERTS, METRICS, with_all
from eosctl.cli import root_command
from eosctl.model.skipped import Cause, Coverage, Unread
from eosctl.model.watch import Cycle, Emitted, Metric, Observation, Sample
from eosctl.operations.watch import Listening, watch_file
from eosctl.render.answers.watch import view_live
from eosctl.render.cells import Page
from eosctl.render.formats import Output, text_of
from eosctl.render.live import tallest
from eosctl.render.watch_files import view_watch_file
from tests.commands.tree import commands

RUNBOOKS = "https://docs.example.com/alerts.html"
PAGE = Path(__file__).parents[2] / "docs" / "alerts.md"
LABELS = {each.name: {*each.labels, "profile"} for each in METRICS}


@pytest.fixture
def text(monkeypatch):
    """`text(kind, *profiles)`: the file, where eosctl lies in /usr/bin or at `program`."""

    def emitted(kind, *profiles, program="/usr/bin/eosctl"):
        monkeypatch.setattr("shutil.which", lambda _: program)
        return view_watch_file(watch_file(kind, profiles, Listening("127.0.0.1:9464", False, 60.0), RUNBOOKS))

    return emitted


def rules_of(groups):
    return [rule for group in groups["groups"] for rule in group["rules"]]


def asked(expression):
    """Each metric of an expression with the names of the labels that it is chosen by."""
    for name, selector in re.findall(r"(eosctl_\w+)(?:\{(.*?)\})?", expression):
        yield name, {each.partition("=")[0].rstrip("=~! ") for each in selector.split(", ") if each}


def test_every_alert_has_one_name_and_asks_for_a_metric_of_the_table_with_labels_that_it_has(text):
    rules = rules_of(yaml.safe_load(text(Emitted.PROMETHEUS_RULES)))
    assert len({rule["alert"] for rule in rules}) == len(rules) == len(ALERTS)
    for rule in rules:
        [(name, labels)] = asked(rule["expr"])
        assert labels <= LABELS[name], rule


def test_a_rule_is_what_prometheus_takes(text):
    rules = {rule["alert"]: rule for rule in rules_of(yaml.safe_load(text(Emitted.PROMETHEUS_RULES)))}
    assert rules["EosctlAuditBroken"]["expr"] == 'eosctl_audit_verdict{verdict="broken"} == 1'
    assert rules["EosctlAuditAltered"]["expr"] == 'eosctl_audit_verdict{verdict="altered"} == 1'
    assert rules["EosctlCyclesStopped"]["expr"] == "time() - eosctl_cycle_as_of_seconds > 600"
    assert rules["EosctlNotWatching"]["expr"] == "absent(eosctl_cycle_as_of_seconds)"
    assert rules["EosctlTransactionHangs"] == {
        "alert": "EosctlTransactionHangs",
        "expr": "eosctl_hanging_transactions > 0",
        "for": "2m",
        "labels": {"severity": "critical"},
        "annotations": {"summary": ALERTS[3].summary, "runbook_url": f"{RUNBOOKS}#eosctltransactionhangs"},
    }


def test_every_alert_leads_to_its_own_entry_of_the_page_of_alerts_with_three_commands(text):
    headings = re.findall(r"^## (\S+)$", PAGE.read_text(), re.MULTILINE)
    rules = rules_of(yaml.safe_load(text(Emitted.PROMETHEUS_RULES)))
    anchors = [rule["annotations"]["runbook_url"].removeprefix(f"{RUNBOOKS}#") for rule in rules]
    assert anchors == [heading.lower() for heading in headings]
    assert {len(alert.commands) for alert in ALERTS} == {3}


def test_the_commands_of_an_alert_are_those_of_eosctl_with_options_that_they_take():
    known = {each.path: each for each in commands()}
    for command in (each for alert in ALERTS for each in alert.commands if each.startswith("eosctl ")):
        words = command.split()
        path = max((" ".join(words[:count]) for count in range(2, 4) if " ".join(words[:count]) in known), key=len)
        options = {name for parameter in known[path].parameters for name in parameter.names}
        assert {word for word in words if word.startswith("-")} <= options, command


def test_the_dashboard_shows_every_metric_of_the_table_for_the_clusters_that_are_chosen(text):
    dashboard = json.loads(text(Emitted.GRAFANA_DASHBOARD))
    shown = set()
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            [(name, labels)] = asked(target["expr"])
            assert "profile" in labels <= LABELS[name], target
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= {*LABELS[name], "__name__"}, target
            shown.add(name)
    assert shown == LABELS.keys()
    assert [each["name"] for each in dashboard["templating"]["list"]] == ["datasource", "profile"]


def test_the_panels_of_the_dashboard_lie_beside_one_another_and_have_ids_of_their_own(text):
    panels = json.loads(text(Emitted.GRAFANA_DASHBOARD))["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    taken = set()
    for each in panels:
        place = each["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, each["title"]
        taken |= cells


def test_a_metric_that_no_panel_names_has_a_panel_of_its_own():
    new = Metric("eosctl_new_seconds", "Something new.", ("topic",), 10)
    *_, row = with_all((), (new,))
    [panel] = row.panels
    assert (panel.metrics, panel.title, panel.unit) == ((new,), "Something new.", "s")


@pytest.mark.parametrize(
    ("program", "written"),
    [
        ("/usr/bin/eosctl", "/usr/bin/eosctl watch east west --listen 127.0.0.1:9464 --every 60"),
        ("/opt/100% own/eosctl", '"/opt/100%% own/eosctl" watch east west --listen 127.0.0.1:9464 --every 60'),
    ],
)
def test_the_unit_runs_the_command(text, program, written):
    lines = text(Emitted.SYSTEMD, "east", "west", program=program).splitlines()
    assert f"ExecStart={written}" in lines


def test_the_unit_of_the_nightly_audit_keeps_what_the_watch_reads(text):
    watch, audit = text(Emitted.SYSTEMD, "east").splitlines(), text(Emitted.SYSTEMD_AUDIT).splitlines()
    [command] = (line.removeprefix("ExecStart=") for line in audit if line.startswith("ExecStart="))
    assert command.split()[:4] == ["/usr/bin/eosctl", "audit", "--profile", "%I"]
    assert_options_exist("audit", command.split()[2:])
    assert {"User=eosctl", "DynamicUser=yes", "StateDirectory=eosctl"} <= set(watch) & set(audit)
    assert "OnCalendar=*-*-* 02:15:00" in text(Emitted.SYSTEMD_TIMER).splitlines()


def test_the_objects_of_kubernetes_belong_together(text):
    objects = {each["kind"]: each for each in yaml.safe_load_all(text(Emitted.KUBERNETES, "east"))}
    assert set(objects) == {"Deployment", "Service", "ServiceMonitor", "PrometheusRule", "CronJob"}
    template = objects["Deployment"]["spec"]["template"]
    [container] = template["spec"]["containers"]
    assert [*container["command"], *container["args"]] == [
        *("eosctl", "watch", "east"),
        *("--listen", "0.0.0.0:9464", "--allow-remote", "--every", "60"),
    ]
    assert template["metadata"]["labels"] == objects["Service"]["spec"]["selector"]
    assert objects["Service"]["metadata"]["labels"] == objects["ServiceMonitor"]["spec"]["selector"]["matchLabels"]
    assert objects["PrometheusRule"]["spec"] == yaml.safe_load(text(Emitted.PROMETHEUS_RULES))


def test_kubernetes_audits_every_profile_every_night_under_a_name_that_it_takes(text):
    profiles = ("east", "West Side", "a" * 60)
    objects = yaml.safe_load_all(text(Emitted.KUBERNETES, *profiles))
    jobs = {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "CronJob"}
    assert list(jobs) == ["eosctl-audit-east", "eosctl-audit-1", "eosctl-audit-2"]
    for profile, spec in zip(profiles, jobs.values(), strict=True):
        job = spec["jobTemplate"]["spec"]
        [container] = job["template"]["spec"]["containers"]
        assert container["command"] == ["eosctl", "audit", "--profile", profile]
        assert_options_exist("audit", container["args"])
        assert (spec["schedule"], job["backoffLimit"]) == ("15 2 * * *", 0)
        assert job["template"]["spec"]["restartPolicy"] == "Never"


def assert_options_exist(command, words):
    """Every option among the words is one of the command."""
    known = {name for each in root_command().commands[command].params for name in each.opts}
    assert {word for word in words if word.startswith("--")} <= known


NOW = 1_790_000_000_000
OWNER = ("connect-cluster-orders-source-0", "orders-source", "0")
TROUBLE = (
    Sample(metrics.LSO_HELD_PARTITIONS, (), 2),
    Sample(metrics.LSO_HELD, ("orders", "0", *OWNER), 3725.2),
    Sample(metrics.LSO_HELD, ("payments", "3", "", "", ""), 61),
    Sample(metrics.HANGING, (), 1),
    Sample(metrics.HANGING_UNDECIDED, (), 2),
    Sample(metrics.HANGING_AGE, ("payments", "3", "4011", "", "", "", "abort"), 3600),
    Sample(metrics.OPEN_TRANSACTIONS, (), 1),
    Sample(metrics.OPEN_AGE, (*OWNER, "Ongoing"), 125),
    Sample(metrics.FENCING_PENDING, ("orders-source",), 1),
    Sample(metrics.FENCING_PENDING, ("other",), 0),
    Sample(metrics.EPOCHS_NEAR_END, (), 3),
    Sample(metrics.NULL_SHADOWS, ("orders-source",), 2),
    Sample(metrics.OFFSET_AGE, ("orders-source",), 12.5),
    Sample(metrics.OFFSET_AGE, ("other",), 7200),
    Sample(metrics.SINCE_COMMIT, ("orders-source", "0"), 14_400),
    Sample(metrics.SINCE_COMMIT, ("other", "1"), 2),
    Sample(metrics.QUIET_RATIO, ("orders-source", "0"), 4.25),
    Sample(metrics.FINDINGS, ("EOS110", "error"), 1),
    Sample(metrics.FINDINGS, ("EOS160", "warning"), 1),
    Sample(metrics.FINDINGS, ("EOS001", "error"), 0),
    Sample(metrics.UNREAD_FACTS, (), 1),
    Sample(metrics.UNREAD, ("doctor", "broker settings", "denied"), 1),
    Sample(metrics.READ_AS_OF, ("doctor",), NOW / 1000 - 3),
    Sample(metrics.READ_AS_OF, ("transactions lso",), NOW / 1000 - 2),
)


def observation(*samples, **more):
    cycle = Cycle(NOW - 2000, 1500, {"brokers": 40})
    stale = (Sample(metrics.UNREAD_FACTS, (), 1),)
    return Observation(profile="east", cycle=cycle, cluster_id="K", samples=samples, when_stale=stale, **more)


def lines(found, *, most=5, columns=80):
    drawn = text_of(view_live(found, NOW, most), Output.TABLE, Page(columns, colour=False)).splitlines()
    assert max(map(len, drawn)) <= columns
    return drawn


def test_who_holds_readers_back_and_all_else_is_named_with_its_figures():
    drawn = lines(observation(*TROUBLE))
    assert drawn[0] == "east, K: the last cycle ended 2.0 s ago and took 1500 ms; q ends it"
    for line in (
        *("HELD-BACK  2, the longest for 62 min", "HANGING    1, the longest for 60 min; 2 undecided"),
        *("OPEN       1, the longest for 2.1 min", "FENCING    a round is pending of orders-source"),
        *("EPOCHS     3 near exhaustion", "EXPIRY     not known", "UNREAD     1"),
        "OFFSETS    of 2 connectors, the oldest 2.0 h (other); shadowed offsets of orders-source",
        "TASKS      last commits 2.0 s to 4.0 h ago; 1 connector quieter than ever (EOS160)",
        *("FINDINGS   1 error (EOS110), 1 warning (EOS160)", "READ       doctor 3.0 s ago, transactions lso 2.0 s ago"),
    ):
        assert " ".join(line.split()) in " ".join(" ".join(drawn).split())
    rows = [line.split() for line in drawn]
    identifier, task = OWNER[0], "orders-source-0"
    for row in (
        *(["orders-0", "3725", identifier, task], ["payments-3", "61", "-", "-"], ["payments-3", "3600", "abort"]),
        *([identifier, task, "Ongoing", "125"], [task, "14400", "4.2"], ["doctor", "broker", "settings", "denied"]),
    ):
        assert row in rows


def test_a_summary_without_findings_reports_no_problem():
    zero = (
        *(metrics.LSO_HELD_PARTITIONS, metrics.HANGING, metrics.OPEN_TRANSACTIONS, metrics.UNREAD_FACTS),
        *(metrics.EPOCHS_NEAR_END, metrics.IDS_NEAR_EXPIRY),
    )
    drawn = lines(
        observation(*(Sample(each, (), 0) for each in zero), Sample(metrics.FINDINGS, ("EOS001", "error"), 0))
    )
    assert len(drawn) == 13
    assert {line.split(maxsplit=1)[1] for line in drawn if line.startswith(("HELD", "HANG", "OPEN", "UNREAD"))} == {"0"}
    assert "FINDINGS   none" in drawn
    assert "FENCING    none of enabled workers" in drawn


def test_an_unread_fact_is_never_0_nor_none():
    gap = Coverage((), (Unread("doctor: the whole answer", "gone", Cause.UNREACHABLE),))
    drawn = lines(observation(coverage=gap))
    assert [line for line in drawn if line.endswith(" 0") or "none" in line] == []
    assert sum(line.endswith("not known") for line in drawn) == 9
    assert "UNREAD     1" in lines(observation(*TROUBLE).stale)


def test_further_rows_are_counted_and_names_cannot_move_the_screen():
    many = [Sample(metrics.SINCE_COMMIT, (f"c{number}", "0"), 9) for number in range(9)]
    drawn = lines(observation(*many), most=2)
    assert [line.split()[0] for line in drawn if line.startswith("c")] == ["c0-0", "c1-0"]
    assert "Since the last commit: 2 of 9" in drawn
    forged = Sample(metrics.OPEN_AGE, ("\x1b[2Jq\n", "ü" * 90, "0", "Ongoing"), 5)
    drawn = text_of(view_live(replace(observation(), samples=(forged,)), NOW, 5), Output.TABLE, Page(80, colour=False))
    assert "\x1b" not in drawn
    assert "\\x1b[2Jq\\n" in drawn


def test_a_screen_has_as_many_rows_as_it_holds():
    many = [Sample(metrics.SINCE_COMMIT, (f"c{number}", "0"), 9) for number in range(9)]

    def drawn(most: int) -> str:
        return "\n".join(lines(observation(*many), most=most))

    frame = tallest(drawn, 20)
    assert len(frame.splitlines()) == 20
    assert "Since the last commit: 4 of 9" in frame
    assert tallest(drawn, 40) == drawn(9)
    assert tallest(drawn, 3) == drawn(1)
