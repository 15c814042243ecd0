"""Where Spark is, and who its executors are to Kafka."""

from collections.abc import Mapping

from msgspec import Struct

from eosctl.model.report import Result


class SparkOptions(Struct, frozen=True):
    """Where Spark is, and how its executors learn who they are to Kafka.

    master is a master URL (None: this machine, or what spark-submit says), remote a Spark Connect server;
    executor_properties is a file that executors find, or `env:NAME`; a mirror's source has its own.
    """

    master: str | None = None
    remote: str | None = None
    executor_properties: str | None = None
    source_executor_properties: str | None = None


class SparkBundle(Result, frozen=True):
    sizes: Mapping[str, int]
