"""What doctor asks of the source clusters of mirrors where it cannot, or need not."""

import pytest

from eosctl.model.evidence import Evidence
from eosctl.model.offsets import OffsetsReport, WorkerSettings
from eosctl.model.skipped import Skipped
from eosctl.operations.evidence import read_mirrors
from eosctl.operations.evidence_request import EvidenceRequest
from tests.analysis.evidence import HEALTHY, NOW, UNREAD, but, mirror
from tests.fake_cluster import FakeCluster
from tests.operations.quiet import session_with

OFFSETS = OffsetsReport((), {}, (), (), {}, WorkerSettings("connect-offsets", UNREAD, UNREAD), NOW)
EU = mirror(**{"source.cluster.alias": "eu"})


@pytest.mark.parametrize(
    ("known", "offsets", "found"),
    [
        (HEALTHY, OFFSETS, ()),
        (but(inspection=UNREAD), OFFSETS, UNREAD),
        (but(inspection=EU), UNREAD, UNREAD),
        (
            but(inspection=EU),
            OFFSETS,
            (Skipped("the source cluster eu is asked with --source-command-config eu=FILE"),),
        ),
    ],
)
def test_without_an_identity_of_the_source_nothing_is_asked_and_nothing_is_fine(
    known: Evidence, offsets: OffsetsReport | Skipped, found: object
) -> None:
    assert read_mirrors(session_with(FakeCluster()), EvidenceRequest({}), known, offsets) == found
