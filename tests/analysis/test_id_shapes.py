"""Shapes of transactional IDs: hints for those that no known name explains."""

import pytest

from eosctl.analysis.transactions import shapes_of

UUID = "7b9f0a44-0b7f-4c1e-8a52-0a1b2c3d4e5f"


@pytest.mark.parametrize(
    ("transactional_id", "shapes"),
    [
        ("A-mm2-MirrorSourceConnector-0", ("MirrorMaker 2 MirrorSourceConnector task 0, from A",)),
        ("us-east-mm2-MirrorHeartbeatConnector-2", ("MirrorMaker 2 MirrorHeartbeatConnector task 2, from us-east",)),
        ("connect-cluster-A-mm2", ("MirrorMaker 2 leader, from A",)),
        (f"word-count-{UUID}-1", ("Streams application word-count",)),
        ("word-count-0_12", ("Streams application word-count",)),
        ("Sink: out-cbc357ccb763df2852fee8c4fc7d55f2-3", ("Flink producer Sink: out",)),
        ("orders-sink-0-17", ("Connect task 17 of orders-sink-0", "Flink sink orders-sink")),
        ("connect-cluster-x-3", ("Connect leader of x-3", "Connect task 3 of connect-cluster-x")),
        ("connect-cluster-reporting", ("Connect leader of reporting",)),
        ("g-c-0", ("Connect task 0 of g-c",)),
        ("payments", ()),
        ("g-0", ()),
        ("", ()),
        ("7", ()),
    ],
)
def test_an_id_is_told_by_its_shape(transactional_id: str, shapes: tuple[str, ...]):
    assert shapes_of(transactional_id) == shapes
