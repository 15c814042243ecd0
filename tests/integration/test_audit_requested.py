"""What an audit judges that was requested for some topics, or for one connector, of several."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faulty_sandbox import Sandbox
from tests.integration.audit_site import AuditSite, Eosctl
from tests.integration.producers import transactional_producer

pytestmark = [pytest.mark.kafka]


@pytest.fixture
def site(
    connect_sandbox: Sandbox, eosctl: Eosctl, tmp_path: Path, fresh_name: Callable[[str], str]
) -> Iterator[AuditSite]:
    """A connector beside another one, which writes to a topic of its own."""
    made = AuditSite(connect_sandbox, eosctl, tmp_path, fresh_name("asked"))
    other = f"{made.name}-other"
    made.connectors.file(other).write_text("one\ntwo\n")
    made.connectors.create(other)
    made.connectors.await_last(other, "two")
    yield made
    for name in (made.name, other):
        made.connectors.delete(name)


def audited(site: AuditSite, eosctl: Eosctl, *asked: str) -> tuple[int, dict[str, Any]]:
    """Exit code and data of an audit of what is asked for."""
    at = ("-b", site.servers, "--connect-url", site.connectors.url, "--group-id", "connect-cluster")
    ran = eosctl("audit", *at, *asked, "-o", "json")
    return ran.exit_code, json.loads(ran.stdout)["data"]


def outputs(data: dict[str, Any]) -> list[str]:
    return [each["name"] for each in data["plan"]["topics"] if each["role"] == "output"]


def test_an_audit_of_a_topic_judges_who_writes_to_it_and_nobody_else(site: AuditSite, eosctl: Eosctl):
    code, data = audited(site, eosctl, "--topic", site.name)
    assert [(each["name"], each["verdict"]) for each in data["connectors"]] == [(site.name, "held")]
    assert (code, data["findings"], data["unread"], outputs(data)) == (0, [], [], [site.name])


def test_an_audit_of_a_connector_reads_its_topics_and_no_others(site: AuditSite, eosctl: Eosctl):
    code, data = audited(site, eosctl, "--connector", site.name)
    assert [(each["name"], each["verdict"]) for each in data["connectors"]] == [(site.name, "held")]
    assert (code, outputs(data)) == (0, [site.name])


def test_a_stall_of_the_brokers_longest_transaction_is_shown_after_it_ended(site: AuditSite, eosctl: Eosctl):
    """A coordinator aborts 46 ms after the timeout of 15 minutes; the record says when its transaction began."""
    longest_ms = 900_000
    producer = transactional_producer(site.servers, f"{site.name}-longest")
    producer.begin_transaction()
    producer.produce(site.name, b"x", partition=0, timestamp=time.time_ns() // 1_000_000 - longest_ms - 46)
    assert producer.flush(30) == 0
    producer.abort_transaction(30)
    _, data = audited(site, eosctl, "--topic", site.name)
    [stall] = [each for each in data["stalls"] if each["held_s"] > 600]
    assert (stall["topic"], stall["partition"], stall["open"]) == (site.name, 0, False)
    assert longest_ms / 1000 < stall["held_s"] < longest_ms / 1000 + 60
