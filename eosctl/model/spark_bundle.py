"""The files of a Spark bundle."""

from collections.abc import Mapping
from dataclasses import dataclass

from eosctl.model.report import Answer


@dataclass(frozen=True, slots=True)
class SparkBundle(Answer):
    """Each file that was written, with its size in bytes."""

    sizes: Mapping[str, int]
