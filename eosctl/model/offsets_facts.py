"""What a command reads of the offsets topics of a Connect cluster."""

from collections.abc import Mapping
from dataclasses import dataclass

from eosctl.model.offset_stores import StorePlace, WorkerSettings
from eosctl.model.offsets import OffsetsTopic
from eosctl.model.skipped import Skipped


@dataclass(frozen=True, slots=True)
class OffsetsFacts:
    """Offsets topics, folded, by place (None: there is no such topic), and the worker settings that led to them."""

    worker: WorkerSettings
    topics: Mapping[StorePlace, OffsetsTopic | Skipped | None]
