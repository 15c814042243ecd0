"""The files of a Spark bundle."""

from eosctl.model.spark_bundle import SparkBundle
from eosctl.render.document import Column, Document, Table
from eosctl.render.documents.files import SparkBundleData

FILES = Table("files", (Column("FILE", "file", "the file"), Column("BYTES", "bytes", "its size")))


def view_spark_bundle(bundle: SparkBundle) -> Document:
    """Each file with its size in bytes."""
    data: SparkBundleData = {"files": [{"file": name, "bytes": size} for name, size in bundle.sizes.items()]}
    return Document(kind="spark-bundle", data=data, blocks=(FILES,))
