"""Healthy histories for tests that plant a fault, under both versions of transactions."""

import pytest

from tests.analysis.audit.brokers import Brokers, ConnectCluster
from tests.analysis.audit.test_planted_faults import MINUTE, Planted, work


@pytest.fixture(params=[1, 2], ids=["transaction.version 1", "transaction.version 2"])
def planted(request: pytest.FixtureRequest) -> Planted:
    cluster = ConnectCluster(Brokers(transaction_version=request.param))
    orders, bills = cluster.connector("orders", 2), cluster.connector("bills", 2, own="bills-offsets")
    for at in range(1, 8):
        work(orders, range(at, at + 1))
        work(bills, range(at, at + 1))
    cluster.brokers.tick(MINUTE)
    orders.reconfigure(2)
    cluster.brokers.tick(MINUTE)
    work(orders, range(8, 12))
    return Planted(cluster, orders)
