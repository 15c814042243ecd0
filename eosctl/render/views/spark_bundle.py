"""The files of a Spark bundle."""

from collections.abc import Mapping

from eosctl.render.document import Column, Document, Table

FILES = Table("files", (Column("FILE", "file", "the file"), Column("BYTES", "bytes", "its size")))


def view_spark_bundle(sizes: Mapping[str, int]) -> Document:
    """Each file with its size in bytes."""
    rows = [{"file": name, "bytes": size} for name, size in sizes.items()]
    return Document(kind="spark-bundle", data={"files": rows}, blocks=(FILES,))
