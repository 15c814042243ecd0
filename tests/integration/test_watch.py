"""`eosctl watch` on a real cluster: it shows open, held-back and hanging transactions, and no series for unread
facts."""

import pytest
from msgspec.structs import replace

from eosctl.clients.wire import Wire
from eosctl.model.client_properties import ClientProperties
from eosctl.model.names import TopicPartition
from eosctl.operations.evidence import EvidenceRequest
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.watch import Watched, observe
from tests.integration.file_connectors import FileConnectors
from tests.integration.hanging import UNVERIFIED, hang
from tests.integration.producers import create_topic, open_transaction
from tests.integration.terminal import LiveTerminal
from tests.integration.watching import watching
from tests.kafka_versions import versions_of
from tests.operations.quiet import Quiet
from tests.waiting import eventually

pytestmark = [pytest.mark.kafka, pytest.mark.workers, pytest.mark.variation]
HOUR_MS = 3_600_000


def test_a_cycle_that_shares_facts_and_continues_the_log_finds_what_one_finds_that_reads_all(
    make_sandbox, kafka_version, tmp_path
):
    sandbox = make_sandbox(**versions_of(kafka_version), workers=1, broker_config=UNVERIFIED)
    servers, url = sandbox.bootstrap_servers, sandbox.connect_url(1)
    connectors = FileConnectors(url, servers, tmp_path)
    connectors.file("orders").write_text("1\n")
    connectors.create("orders", {"offsets.storage.topic": "orders-offsets"})
    connectors.await_last("orders", "1")
    create_topic(servers, "payments")
    with Wire(ClientProperties((servers,))) as wire:
        hang(wire, TopicPartition("payments", 0), None, ahead_ms=-HOUR_MS)
    options = SessionOptions(Quiet(), servers, connect_urls=(url,), group_id="connect-cluster")
    watched = Watched(options, EvidenceRequest({}, preflight=False))

    def cycle(watched):
        return observe(watched, watched.session(Quiet()))

    first = cycle(watched)
    with connectors.file("orders").open("a") as file:
        file.write("2\n")
    connectors.await_last("orders", "2")
    ends = first.log.ends
    continued = eventually(
        lambda: (now := cycle(watched.continuing(first.log))).log.ends != ends and now, "the task to commit"
    )
    whole = cycle(replace(watched, kept=None))
    assert found(continued) == found(whole)
    assert continued.log.values.keys() == whole.log.values.keys()
    assert continued.cycle.requests["brokers"] < whole.cycle.requests["brokers"]
    assert continued.cycle.requests["workers"] < first.cycle.requests["workers"]


def found(observed):
    """The samples of a cycle without its times and costs; ages in minutes."""
    moving = {"eosctl_cycle_requests", "eosctl_last_success_seconds"}
    return {
        (each.metric.name, each.labels): round(each.value / 60) if each.metric.name.endswith("_seconds") else each.value
        for each in observed.samples
        if each.metric.name not in moving and "as_of" not in each.metric.name and "quiet" not in each.metric.name
    }


def test_a_transaction_that_holds_readers_back_is_seen_until_it_is_gone(make_sandbox, kafka_version):
    sandbox = make_sandbox(**versions_of(kafka_version), workers=1, broker_config=UNVERIFIED)
    for topic in ("orders", "payments"):
        create_topic(sandbox.bootstrap_servers, topic)
    cluster = ("-b", sandbox.bootstrap_servers, "--group-id", "connect-cluster")
    with watching(*cluster, "--connect-url", sandbox.connect_url(1), "--every", 1, "--timeout", 5) as watch:
        first = eventually(watch.scraped, "the first cycle")
        assert first["eosctl_unread_facts"] == {(): 0}, first.get("eosctl_unread")
        assert first["eosctl_hanging_transactions"] == {(): 0}
        assert first["eosctl_lso_held_partitions"] == {(): 0}
        assert first["eosctl_transactional_ids"]["Empty",] >= 0
        assert ("EOS001", "error") in first["eosctl_findings"]
        assert 0 < first["eosctl_cycle_requests"]["brokers",] < 500
        assert 0 < first["eosctl_cycle_requests"]["workers",] < 50

        producer = open_transaction(sandbox.bootstrap_servers, "writer", "orders")
        with Wire(ClientProperties((sandbox.bootstrap_servers,))) as wire:
            hang(wire, TopicPartition("payments", 0), None, ahead_ms=-HOUR_MS)
        held = ("", "0", "", "orders", "writer")  # connector, partition, task, topic, transactional_id
        eventually(lambda: held in watch.scraped().get("eosctl_lso_held_seconds", {}), "orders to be held back")
        found = eventually(
            lambda: (now := watch.scraped()).get("eosctl_hanging_transactions") == {(): 1} and now, "what hangs"
        )
        [hanging] = found["eosctl_hanging_transaction_age_seconds"]
        assert (hanging[0], hanging[-2]) == ("abort", "payments")
        assert found["eosctl_open_transactions"] == {(): 1}

        where = (*cluster, "--connect-url", sandbox.connect_url(1), "--every", "1")
        with LiveTerminal(("watch", "--live", *where), 80, 50) as terminal:
            frame = eventually(lambda: (now := terminal.frame()) and "UNREAD     0" in now and now, "its first cycle")
            assert any(line.split()[::2] == ["orders-0", "writer"] for line in frame), frame
            assert any(line.startswith("payments-0") and line.endswith("abort") for line in frame), frame
            assert any(line.startswith("HANGING    1, the longest for 6") for line in frame), frame
            assert max(map(len, frame)) <= 80
            terminal.press("q")
            assert terminal.ended() == (0, True)

        producer.commit_transaction(30)
        eventually(
            lambda: held not in watch.scraped().get("eosctl_lso_held_seconds", {held: 0}), "orders to be free again"
        )

        sandbox.stop_broker(1)
        eventually(lambda: watch.scraped()["eosctl_unread_facts"] != {(): 0}, "the broker to be missed")
        silent = watch.scraped()
        assert "eosctl_hanging_transactions" not in silent
        assert "eosctl_last_success_seconds" in silent
        sandbox.start_broker(1)
        eventually(lambda: watch.scraped()["eosctl_unread_facts"] == {(): 0}, "all to be read again")
        assert watch.scraped()["eosctl_hanging_transactions"] == {(): 1}
