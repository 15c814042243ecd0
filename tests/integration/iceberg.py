"""Iceberg's sink connector from its registry, and the tables that it writes into a directory."""

import json
import subprocess
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import Producer

from eosctl.sandbox.cache import cache_directory, exclusive
from eosctl.sandbox.jars import resolve_plugin
from eosctl.sandbox.java import QUICK_START, compile_java, find_java
from tests.faulty_sandbox import Sandbox
from tests.jvm import jars_of

CLASS: Final = "org.apache.iceberg.connect.IcebergSinkConnector"
PARTS: Final = (
    "org.apache.iceberg:iceberg-kafka-connect:1.12.0",
    "org.apache.iceberg:iceberg-parquet:1.12.0",
    "org.apache.hadoop:hadoop-client-runtime:3.4.2",
)
"""Without the second no file format is registered, not even Avro's; a catalog in a directory needs Hadoop's client."""


def plugin() -> str:
    """The directory with the jars of all parts."""
    directory = cache_directory() / "plugins" / "iceberg-sink-of-parts"
    with exclusive(directory.with_suffix(".lock")):
        directory.mkdir(parents=True, exist_ok=True)
        for part in PARTS:
            for jar in resolve_plugin(part, lambda _: None).glob("*.jar"):
                if not (directory / jar.name).exists():
                    (directory / jar.name).symlink_to(jar)
    return str(directory)


def settings(name: str, topic: str, warehouse: Path, **more: str) -> dict[str, str]:
    """A sink of JSON records into table `shop.<name>`, which it creates. It commits every second."""
    return {
        "connector.class": CLASS,
        "tasks.max": "2",
        "topics": topic,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "iceberg.catalog.type": "hadoop",
        "iceberg.catalog.warehouse": warehouse.as_uri(),
        "iceberg.tables": f"shop.{table(name)}",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.auto-create-props.write.format.default": "avro",
        "iceberg.control.topic": f"{name}-control",
        "iceberg.control.commit.interval-ms": "1000",
        "iceberg.control.commit.timeout-ms": "15000",
        **more,
    }


def table(name: str) -> str:
    return name.replace("-", "_")


def produce(sandbox: Sandbox, topic: str, count: int, first: int = 0) -> None:
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
    for number in range(first, first + count):
        producer.produce(topic, json.dumps({"id": number}).encode(), key=str(number).encode())
    assert producer.flush(30) == 0


def records(warehouse: Path, name: str) -> int:
    """The records of the newest snapshot of the table; 0 without a table."""
    files = (warehouse / "shop" / table(name) / "metadata").glob("v*.metadata.json")
    newest = max(files, key=lambda each: int(each.name[1:].partition(".")[0]), default=None)
    if newest is None:
        return 0
    snapshots: list[dict[str, Any]] = json.loads(newest.read_text()).get("snapshots", [])
    return max((int(each["summary"]["total-records"]) for each in snapshots), default=0)


class Content(NamedTuple):
    """The data files of the newest snapshot of a table, and the `id` of each of its rows, as Iceberg reads them."""

    files: list[str]
    rows: list[int]


def content(sandbox: Sandbox, warehouse: Path, name: str) -> Content:
    jars = f"{plugin()}/*"
    classes = compile_java(jars_of(sandbox).compiler, Path(__file__).with_name("IcebergRows.java"), jars)
    command = [str(find_java()), *QUICK_START, "-cp", f"{classes}:{jars}", "IcebergRows"]
    ran = subprocess.run(
        [*command, str(warehouse / "shop" / table(name))], capture_output=True, text=True, check=True, timeout=120
    )
    said = [line.partition(" ")[::2] for line in ran.stdout.splitlines()]
    files = [value for word, value in said if word == "file"]
    return Content(files, sorted(int(value) for word, value in said if word == "row"))
