"""`eosctl audit status` and `audit history`: what a ledger holds, for people and for programs."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from eosctl.ledger.ledger import open_ledger
from eosctl.model.ledger import Advance, Cursor, LedgerRange, LedgerRangeKind
from tests.ledger.test_ledger import CLUSTER, advanced, read_up_to, run_of


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A ledger with job `nightly`, whose two runs found gaps of each kind, and job `other`."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    ledger = open_ledger(url)
    state = ledger.state("nightly", CLUSTER)
    first = [advanced(state, topic, 0, 10) for topic in ("orders", "payments", "returns")]
    ledger.commit(run_of(state, *first, run_id="the-first"))
    state = ledger.state("nightly", CLUSTER)
    cursors = {each.topic: each for each in state.cursors.values()}
    gaps = {
        "orders": LedgerRange("orders", 0, "A", 10, 25, LedgerRangeKind.EXPIRED),
        "payments": LedgerRange("payments", 0, "A", 10, 10, LedgerRangeKind.RECREATED),
        "returns": LedgerRange("returns", 0, "A", 7, 10, LedgerRangeKind.TRUNCATED),
    }
    ends = {"orders": 25, "payments": 3, "returns": 7}
    steps = [
        Advance(cursors[topic], Cursor(topic, 0, "B" if topic == "payments" else "A", ends[topic]), (gap,))
        for topic, gap in gaps.items()
    ]
    ledger.commit(run_of(state, *steps, run_id="the-second"))
    read_up_to(ledger, "other", 4)
    return url


def test_status_shows_every_job_its_gaps_and_its_cursors(eosctl, store: str):
    ran = eosctl("audit", "status", "--store", store)
    assert (ran.exit_code, ran.stderr) == (0, "")
    lines = [line.split(maxsplit=4) for line in ran.stdout.splitlines()]
    assert lines[1][:3] == ["nightly", CLUSTER, "3"]
    assert lines[2][:3] == ["other", CLUSTER, "1"]
    assert ["nightly", "orders", "0", "10", "expired up to offset 25 before an audit came"] in lines
    assert [
        *("nightly", "payments", "0", "10"),
        "the topic was deleted and created again; its later records are gone",
    ] in lines
    assert [
        *("nightly", "returns", "0", "7"),
        "read, then lost up to offset 10: the log was cut and written again",
    ] in lines
    assert lines[-4:] == [
        ["nightly", "orders", "0", "25"],
        ["nightly", "payments", "0", "3"],
        ["nightly", "returns", "0", "7"],
        ["other", "t", "0", "4"],
    ]


def test_status_for_programs(eosctl, store: str):
    answer = json.loads(eosctl("audit", "status", "--store", store, "-o", "json").stdout)
    assert (answer["kind"], answer["version"]) == ("audit.status", 1)
    assert answer["data"]["store"] == store
    [nightly, other] = answer["data"]["jobs"]
    assert (nightly["job"], nightly["partitions"], other["job"]) == ("nightly", 3, "other")
    run = nightly["last_run"]
    assert (run["run_number"], run["run_id"], run["as_of"], run["verdict"], run["gaps"]) == (
        *(2, "the-second", "2026-09-21T14:13:20.000Z"),
        *("held", 3),
    )
    assert answer["data"]["gaps"][0] == {
        **{"job": "nightly", "run_number": 2, "topic": "orders", "partition": 0, "topic_id": "A"},
        **{"start_offset": 10, "end_offset": 25, "kind": "expired"},
        "meaning": "expired up to offset 25 before an audit came",
    }
    assert answer["data"]["cursors"][1] == {
        **{"job": "nightly", "topic": "payments", "partition": 0, "topic_id": "B", "offset": 3}
    }


def test_history_begins_with_the_last_run(eosctl, store: str):
    ran = eosctl("audit", "history", "--store", store, "--job", "nightly", "-o", "plain")
    assert [line.split("\t") for line in ran.stdout.splitlines()] == [
        ["2", "the-second", "2026-09-21T14:13:20.000Z", "held", "0", "0", "0", "3"],
        ["1", "the-first", "2026-09-21T14:13:20.000Z", "held", "0", "30", "30", "0"],
    ]
    answer = json.loads(eosctl("audit", "history", "--store", store, "--job", "nightly", "-o", "json").stdout)
    assert (answer["kind"], answer["cluster_id"], answer["data"]["job"]) == ("audit.history", CLUSTER, "nightly")
    assert [each["eosctl_version"] for each in answer["data"]["runs"]] == ["0.1.0", "0.1.0"]


def test_a_job_that_is_not_there_is_reported_with_those_that_are(eosctl, store: str):
    ran = eosctl("audit", "history", "--store", store)
    assert ran.exit_code == 2
    assert ran.stderr == f"eosctl: error: {store} has no job audit\nhint: it has: nightly, other\n"


def test_looking_into_no_ledger_makes_none(eosctl, tmp_path: Path):
    ran = eosctl("audit", "status", "--store", f"sqlite:///{tmp_path}/none.db")
    assert ran.exit_code == 2
    assert ran.stderr.startswith(f"eosctl: error: there is no ledger {tmp_path}/none.db\n")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_ledger_is_reported_as_empty(eosctl, tmp_path: Path):
    open_ledger(f"sqlite:///{tmp_path}/l.db")
    ran = eosctl("audit", "status", "--store", f"sqlite:///{tmp_path}/l.db")
    assert (ran.exit_code, ran.stdout) == (0, "no job has committed a run yet\n")


def test_options_of_the_group_are_handed_on_to_its_commands(eosctl, store: str):
    direct = eosctl("audit", "history", "--store", store, "--job", "nightly", "-o", "plain")
    assert direct.exit_code == 0
    assert eosctl("-o", "plain", "audit", "--store", store, "--job", "nightly", "history").stdout == direct.stdout
    assert eosctl("audit", "-o", "plain", "--store", store, "history", "--job", "nightly").stdout == direct.stdout


def test_status_and_history_need_a_ledger(eosctl):
    for command in ("status", "history"):
        ran = eosctl("audit", command)
        assert (ran.exit_code, ran.stderr) == (
            2,
            f"eosctl: error: audit {command} reads a ledger, and no ledger is given\nhint: name it: --store sqlite:///FILE\n",
        )


def test_run_is_another_name_of_audit(eosctl, tmp_path: Path):
    (tmp_path / "logs").mkdir()
    line = ["--log-dir", tmp_path / "logs"]
    assert eosctl("audit", "run", *line) == eosctl("audit", *line)
    assert eosctl("audit", *line).exit_code == 2


def test_status_ends_with_1_as_long_as_the_last_run_of_a_job_was_broken(eosctl, store: str):
    ledger = open_ledger(store)
    for verdict, code in (("broken", 1), ("broken", 1), ("altered", 1), ("cannot-tell", 0), ("held", 0)):
        state = ledger.state("other", CLUSTER)
        ledger.commit(replace(run_of(state), verdict=verdict))
        assert eosctl("audit", "status", "--store", store).exit_code == code, verdict


@pytest.mark.parametrize("option", ["--from", "--to", "--since"])
def test_an_audit_of_a_period_is_refused_with_the_way_to_ask_about_yesterday(eosctl, option: str):
    ran = eosctl("audit", option, "2026-11-23")
    assert ran.exit_code == 2
    assert "an audit has no --from, --to or --since" in ran.stderr
    assert "eosctl audit history" in ran.stderr
