"""The files of a Spark bundle."""

from eosctl.model.spark_bundle import SparkBundle
from eosctl.render.document import Column, Document, Table

FILES = Table("files", (Column("FILE", "file", "the file"), Column("BYTES", "bytes", "its size")))


def view_spark_bundle(bundle: SparkBundle) -> Document:
    """Each file with its size in bytes."""
    rows = [{"file": name, "bytes": size} for name, size in bundle.sizes.items()]
    return Document(kind="spark-bundle", data={"files": rows}, blocks=(FILES,))
