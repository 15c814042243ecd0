"""Records of database transactions, counted by what Debezium writes at their end."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.grammars import grammar_of
from eosctl.model.audit import AuditReport, AuditVerdict
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ConnectorConfig
from eosctl.model.names import TopicPartition
from tests.analysis.audit.brokers import PARTITIONS, Brokers, ConnectCluster, value_of
from tests.analysis.audit.histories import audit, audit_by_runs, everywhere, text_of

NAME = "shop"
DEBEZIUM = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": NAME,
    "provide.transaction.metadata": "true",
}


class Shop:
    """One task that writes database transactions as Debezium PostgreSQL does, ends among them, to three partitions."""

    def __init__(self, *, schemas: bool = False, batch: int = 2, cluster: ConnectCluster | None = None) -> None:
        self.cluster = cluster or ConnectCluster(Brokers())
        self.brokers, self.name = self.cluster.brokers, NAME if cluster is None else f"other-{NAME}"
        self.connector = self.cluster.connector(self.name, 1, grammar="debezium-transactions")
        self.schemas, self.batch, self.lsn = schemas, batch, 1000
        self.lost: list[str] = []
        self._pending = 0

    def write(self, number: int, size: int, lost: set[int], begun_again: int | None) -> None:
        """A transaction without the records `lost`; the connector began again after so many of its records."""
        name, order, total = str(number), 0, size
        self._put(name, {"status": "BEGIN", "id": self._id(name), "event_count": None})
        for place in range(1, size + 1):
            order += 1
            if place not in lost:
                transaction = {"id": self._id(name), "total_order": order, "data_collection_order": order}
                self._put(name, {"before": None, "after": {"id": place}, "op": "c", "transaction": transaction})
            if place == begun_again:
                self._commit()
                self.connector.start(0)
                self._put(name, {"status": "BEGIN", "id": self._id(name), "event_count": None})
                order, total = 0, size - place
        self._put(name, {"status": "END", "id": self._id(name), "event_count": total})
        self._commit()
        if lost:
            self.lost.append(name)

    def _id(self, name: str) -> str:
        self.lsn += 8
        return f"{name}:{self.lsn}"

    def _put(self, name: str, value: dict[str, Any]) -> None:
        found = {"schema": {"type": "struct"}, "payload": value} if self.schemas else value
        raw = json.dumps(found, separators=(",", ":")).encode()
        task = self.connector.tasks[0]
        task.send(TopicPartition(self.name, self.lsn // 8 % PARTITIONS), [(name.encode(), raw, ())])
        self._pending += 1
        if self._pending >= self.batch:
            self._commit()

    def _commit(self) -> None:
        if self._pending:
            task = self.connector.tasks[0]
            self.connector.offset(task, "a", value_of(self.lsn))
            task.commit()
            self._pending = 0


def half(report: AuditReport) -> list[dict[str, Any]]:
    places = [place for each in report.findings if each.name == "half-event" for place in _places(each.evidence)]
    return sorted(places, key=lambda place: int(place["transaction"]))


def _places(evidence: Any) -> list[dict[str, Any]]:
    return list(evidence["places"])


TRANSACTIONS = st.lists(
    st.tuples(st.integers(1, 7), st.sets(st.integers(1, 7), max_size=2), st.sampled_from([None, None, 1, 3])),
    min_size=1,
    max_size=6,
)


@given(TRANSACTIONS, st.booleans(), st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_each_transaction_that_lacks_records_is_found_and_no_other_one(transactions, schemas, batch):
    shop, moments = Shop(schemas=schemas, batch=batch), []
    shop.write(1, 3, set(), None)
    for number, (size, lost, again) in enumerate(transactions, 2):
        left_out = {each for each in lost if each <= size} if again is None else set()
        shop.write(number, size, left_out, again if again is not None and again < size else None)
        moments.append(shop.brokers.seen())
    report = audit(shop.brokers, moments[-1])
    assert [each["transaction"] for each in half(report)] == shop.lost
    [judged] = report.connectors
    assert judged.verdict is (AuditVerdict.BROKEN if shop.lost else AuditVerdict.HELD)
    assert text_of(audit(shop.brokers, moments[-1], everywhere)) == text_of(report)
    assert half(audit_by_runs(shop.brokers, moments)) == half(report)


def test_the_finding_names_the_records_that_are_missing_and_the_witness_the_end():
    shop = Shop()
    shop.write(1, 2, set(), None)
    shop.write(2, 7, {1, 4, 5, 7}, None)
    report = audit(shop.brokers, shop.brokers.seen())
    [place] = half(report)
    assert (place["event_count"], place["missing"]) == (7, ["1", "4-5", "7"])
    [finding] = [each for each in report.findings if each.name == "half-event"]
    assert "transaction 2 has 7 records by its end, and no topic has number 1, 4-5, 7" in finding.message
    [witness] = report.witnesses
    assert witness.records[1].offset == place["end_offset"]


def test_a_connector_whose_records_name_no_transaction_is_not_judged():
    shop = Shop()
    shop.write(2, 3, {1, 2, 3}, None)
    shop.write(3, 2, {1, 2}, None)
    report = audit(shop.brokers, shop.brokers.seen())
    assert not half(report)
    [judged] = report.connectors
    assert judged.verdict is AuditVerdict.HELD
    assert any("no record names its transaction" in each for each in judged.not_covered), judged.not_covered


def test_transactions_of_two_databases_with_one_name_are_two():
    shop = Shop()
    shop.write(1, 3, {2}, None)
    shop.write(2, 3, set(), None)
    Shop(cluster=shop.cluster).write(1, 3, set(), None)
    report = audit(shop.brokers, shop.brokers.seen())
    assert [(each["topic"], each["missing"]) for each in half(report)] == [(NAME, ["2"])]


def test_nothing_is_judged_before_the_first_record_of_a_topic_that_was_created_again():
    shop = Shop()
    shop.write(1, 3, {2}, None)
    shop.write(2, 3, set(), None)
    topic = replace(shop.brokers.topics[NAME], name="again")
    shop.brokers.create(topic, 1)
    [judged] = (report := audit(shop.brokers, shop.brokers.seen())).connectors
    assert not half(report)
    assert any("again has no records" in each for each in judged.not_covered), judged.not_covered
    shop.brokers.tick(10_000)
    shop.connector.tasks[0].send(TopicPartition("again", 0), [(b"a", b"{}", ())])
    shop.write(3, 3, {1}, None)
    assert [each["transaction"] for each in half(audit(shop.brokers, shop.brokers.seen()))] == ["3"]


def test_records_are_counted_only_where_the_config_keeps_them():
    def name(**more: str) -> str | None:
        config = {key: Property(value, "config") for key, value in (DEBEZIUM | more).items()}
        found = grammar_of(ConnectorConfig(NAME, config))
        return None if found is None else found.name

    assert name() == "debezium-transactions"
    assert name(**{"transforms": "a", "transforms.a.type": "org.apache.kafka.connect.transforms.Filter"}) == "debezium"
    assert name(**{"provide.transaction.metadata": "false"}) == "debezium"
    assert name(**{"tasks.max": "2"}) == "debezium"
    kept = {"transforms": "a", "transforms.a.type": "org.apache.kafka.connect.transforms.InsertField$Value"}
    assert name(**kept) == "debezium-transactions"
