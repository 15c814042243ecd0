"""`eosctl demo` shows what it says that it shows."""

import json

import pytest

pytestmark = pytest.mark.kafka


def test_the_demo_counts_the_records_that_it_reports(eosctl, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ran = eosctl("demo", "-o", "json")
    assert ran.exit_code == 0, ran.stderr
    seen = {each["step"]: each["seen"] for each in json.loads(ran.stdout)["data"]["steps"]}
    assert seen["copy 1,000 lines"] == "1,000 records in lines-copied"
    assert seen["set offsets.storage.topic"] == "2,000 records in lines-copied, task RUNNING"
    assert seen["the same move with eosctl"] == "1,010 records in lines-moved"
    assert seen["fence connector lines"].startswith("1 fenced")
    assert seen["fence connector lines"].endswith("proof holds for 1 of 1.")
    assert "fenced" in seen["let the zombie commit"].lower()
