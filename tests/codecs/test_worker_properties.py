"""What is kept of a worker's properties file."""

import pytest

from eosctl.codecs.connector_files import advertised_address, decode_worker_properties


def test_secrets_are_left_out_and_what_decides_is_kept() -> None:
    text = "group.id=g\nexactly.once.source.support=enabled\nsasl.jaas.config=secret\nadmin.retry.backoff.ms=5\n"
    assert decode_worker_properties(text, "f") == {
        "group.id": "g",
        "exactly.once.source.support": "enabled",
        "admin.retry.backoff.ms": "5",
    }


@pytest.mark.parametrize(
    ("properties", "address"),
    [
        ({"listeners": "http://127.0.0.1:8084"}, "127.0.0.1:8084"),
        ({"listeners": "http://:8084", "rest.advertised.host.name": "w1"}, "w1:8084"),
        ({"rest.advertised.host.name": "w1", "rest.advertised.port": "99"}, "w1:99"),
        ({"rest.advertised.host.name": "w1"}, "w1:8083"),
        ({"listeners": "http://:8084"}, None),
        ({}, None),
    ],
)
def test_a_file_tells_where_its_worker_is_reached(properties: dict[str, str], address: str | None) -> None:
    assert advertised_address(properties) == address
