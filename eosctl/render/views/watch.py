"""One cycle of `watch`: the samples as a table."""

from typing import Final

from eosctl.model.times import rfc3339
from eosctl.model.watch import Observation
from eosctl.render.document import Column, Document, Table, figure
from eosctl.render.documents.watch import SampleRow, WatchData

SAMPLES: Final = Table(
    "samples",
    (
        Column("METRIC", "metric", "the name of the metric"),
        Column("LABELS", "labels", "its labels"),
        figure("VALUE", "value", "its value"),
    ),
    empty="nothing was read",
)


def view_observation(found: Observation) -> Document:
    """`watch --once`: every sample as it would be exposed."""
    rows: list[SampleRow] = [
        {
            "metric": each.metric.name,
            "labels": dict(zip(each.metric.labels, each.labels, strict=True)),
            "value": each.value,
        }
        for each in found.samples
    ]
    data: WatchData = {"profile": found.profile, "samples": rows}
    return Document(
        kind="watch",
        as_of=rfc3339(found.cycle.as_of),
        cluster_id=found.cluster_id,
        data=data,
        blocks=(SAMPLES,),
    )
