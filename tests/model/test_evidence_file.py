"""The verdict on an evidence file: what was altered, what differs, and what is there no more."""

import pytest
from msgspec.structs import replace

from eosctl.model.evidence_file import EvidenceVerdict, RangeState
from eosctl.model.skipped import Cause, Coverage, Unread
from tests.render.test_evidence_file import BROKEN, WHOLE, ranges

SAME, DIFFERS, COMPACTED, PURGED, UNREAD = RangeState
INTACT, ALTERED, OTHER, CANNOT_TELL = EvidenceVerdict


@pytest.mark.parametrize(
    ("checked", "verdict", "gone"),
    [
        (WHOLE, INTACT, 0),
        (replace(WHOLE, evidence=None), ALTERED, 0),
        (BROKEN, ALTERED, 0),
        (replace(ranges(DIFFERS), findings=BROKEN.findings), ALTERED, 0),
        (ranges(SAME), INTACT, 0),
        (ranges(SAME, DIFFERS), OTHER, 0),
        (ranges(PURGED, DIFFERS), OTHER, 1),
        (ranges(SAME, PURGED), CANNOT_TELL, 1),
        (ranges(COMPACTED, PURGED), CANNOT_TELL, 2),
        (ranges(UNREAD), INTACT, 0),
    ],
)
def test_a_file_is_altered_before_it_differs_and_differs_before_its_ranges_are_gone(checked, verdict, gone: int):
    assert checked.verdict is verdict
    assert [each.reason for each in checked.doubts] == ["orders-0: a reason"] * gone
    assert checked.complete is not bool(gone)


def test_a_gap_of_the_coverage_makes_a_whole_file_incomplete():
    lacking = Coverage((), (Unread("the cluster", "no answer", Cause.UNREACHABLE),))
    assert not WHOLE.covering(lacking).complete
