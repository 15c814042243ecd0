"""`eosctl upgrade-check` over workers on loopback: without brokers it never says yes."""

import json
from threading import Timer

import pytest

from tests.sources.fake_connect import FakeWorker, serve


def test_without_brokers_it_cannot_tell_and_ends_with_3(eosctl):
    with serve(FakeWorker(enabled=False)) as [url]:
        ran = eosctl("upgrade-check", "--to", "preparing", "--connect-url", url, "-o", "json")
    assert ran.exit_code == 3
    data = json.loads(ran.stdout)["data"]
    assert data["verdict"] == "cannot tell"
    assert data["workers"][0]["phase"] == "not enabled"
    assert any("no -b/--bootstrap-server was given" in each for each in data["unknown"])


def test_disabled_is_two_steps_from_enabled(eosctl):
    with serve(FakeWorker(), FakeWorker()) as urls:
        args = [part for url in urls for part in ("--connect-url", url)]
        ran = eosctl("upgrade-check", "--to", "disabled", *args, "-o", "json")
    data = json.loads(ran.stdout)["data"]
    assert (ran.exit_code, data["verdict"], data["blockers"]) == (1, "no", ["EOS018"])
    assert [each["url"] for each in data["steps"]] == list(urls)


def test_it_can_wait_for_workers_that_restart(eosctl):
    worker = FakeWorker(hangs=True)
    with serve(worker) as [url]:
        Timer(1.0, lambda: setattr(worker, "hangs", False)).start()
        ran = eosctl("upgrade-check", "--to", "preparing", "--connect-url", url, "--timeout", 0.5, "--wait", 6)
    assert ran.exit_code == 3
    assert "waiting: " in ran.stderr
    assert "got no answer within 0.5 s" in ran.stderr
    assert "cannot tell" in ran.stdout


def test_a_worker_that_was_silent_for_a_moment_is_asked_again(eosctl):
    slow = FakeWorker(hangs=True)
    with serve(FakeWorker(), slow) as urls:
        Timer(1.0, lambda: setattr(slow, "hangs", False)).start()
        args = [part for url in urls for part in ("--connect-url", url)]
        ran = eosctl("upgrade-check", "--to", "enabled", *args, "--timeout", 0.5, "--wait", 4, "-o", "json")
    assert "got no answer within 0.5 s" in ran.stderr
    data = json.loads(ran.stdout)["data"]
    assert {each["url"]: each["phase"] for each in data["workers"]} == dict.fromkeys(urls, "enabled")
    assert data["unread"] == [{"what": "the cluster", "reason": "no -b/--bootstrap-server was given"}]


@pytest.mark.parametrize("args", [(), ("--to", "sideways")])
def test_a_target_is_needed(eosctl, args):
    assert eosctl("upgrade-check", *args).exit_code == 2
