"""Offsets topics of several Kafka clusters, each read once, by whatever names its brokers are given."""

from collections.abc import Iterable, Mapping

from eosctl.analysis.offsets_report import Topics
from eosctl.errors import EosctlError
from eosctl.model.offset_stores import StorePlace
from eosctl.model.offsets import OffsetsTopic
from eosctl.model.skipped import Skipped
from eosctl.sources.cluster_reader import ClusterReader, Servers


def read_offsets_topics(
    reader: ClusterReader,
    places: Iterable[StorePlace],
    cluster_ids: Mapping[Servers, str | Skipped],
    *,
    required: bool,
) -> Topics:
    """The topic at each place; None where there is none.

    cluster_ids are those behind other bootstrap.servers. Raises the error of the first place, or where they are
    required of any; a topic that is not required is Skipped where it cannot be read.
    """
    read: dict[tuple[object, str], OffsetsTopic | Skipped | None] = {}
    found: dict[StorePlace, OffsetsTopic | Skipped | None] = {}
    for place in places:
        servers = place.bootstrap_servers
        cluster_id = reader.cluster_id if servers is None else cluster_ids[servers]
        name = (servers if isinstance(cluster_id, Skipped) else cluster_id, place.topic)
        if name not in read:
            read[name] = _read(reader, place, required=required or not read)
        found[place] = read[name]
    return found


def _read(reader: ClusterReader, place: StorePlace, *, required: bool) -> OffsetsTopic | Skipped | None:
    try:
        return reader.offsets_topic(place)
    except EosctlError as error:
        if required:
            raise
        return Skipped.of(error)
