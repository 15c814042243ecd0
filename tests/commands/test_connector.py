"""`eosctl connector` and workers that do not answer."""

import pytest

from tests.commands.conftest import Eosctl
from tests.sources.fake_connect import FakeWorker, serve


@pytest.mark.parametrize("asked", [("list",), ("show", "orders")], ids=" ".join)
def test_a_worker_that_is_silent_is_waited_for_once_beside_one_that_answers(eosctl: Eosctl, asked: tuple[str, ...]):
    silent, answering = FakeWorker(hangs=True), FakeWorker(connectors={"orders": None})
    with serve(silent, answering) as urls:
        named = [part for url in urls for part in ("--connect-url", url)]
        ran = eosctl("connector", *asked, *named, "--timeout", "0.5")
    assert "orders" in ran.stdout
    assert (silent.unanswered, len(answering.requests) > 1) == (1, True)


@pytest.mark.parametrize("asked", [("list",), ("show", "orders")], ids=" ".join)
def test_without_a_worker_that_answers_the_silent_one_is_waited_for_once(eosctl: Eosctl, asked: tuple[str, ...]):
    silent = FakeWorker(hangs=True)
    with serve(silent) as (url,):
        ran = eosctl("connector", *asked, "--connect-url", url, "--timeout", "0.5")
    assert (ran.exit_code, silent.unanswered) == (4, 1)
    assert "got no answer within 0.5 s" in ran.stderr
