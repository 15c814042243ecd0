"""Writes what spark-submit needs to run an audit."""

from pathlib import Path

from eosctl.executors.files import write_spark_bundle
from eosctl.model.spark import SparkBundle


def bundle_for_spark(directory: Path) -> SparkBundle:
    written = write_spark_bundle(directory)
    return SparkBundle({str(path): path.stat().st_size for path in written})
