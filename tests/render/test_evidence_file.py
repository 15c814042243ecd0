"""What `verify` says of a file: as written, altered, unsigned, or read again."""

import pytest
from msgspec.structs import replace

from eosctl.model.audit import RangeDigest
from eosctl.model.evidence_file import CheckedRange, EvidenceFile, RangeState, VerifiedEvidence
from eosctl.model.report import FindingKind, Severity
from eosctl.render.answers.evidence_file import view_verified

FILE = EvidenceFile("audit", "1.0", "eosctl audit", 1_767_225_600_000, None, (), {})
WHOLE = VerifiedEvidence(path="a.json", evidence=FILE)
DIGEST = RangeDigest("orders", 0, 10, 20, settled=True, batches=3, size_bytes=300, sha256="ab" * 32)
ALTERED = FindingKind("EOS999", "evidence-altered", "a title", Severity.ERROR, "a cause", "do this", "a class")
BROKEN = replace(WHOLE, findings=(ALTERED.finding("a.json", "its digest is another"),))
WRITTEN = "a.json is as `eosctl audit` of 2026-01-01T00:00:00.000Z wrote it"
UNSIGNED = "it is not signed: its writer, or a person who altered it on purpose, wrote its digest too"
NO_KEY = "whose key that is was not checked: --signer-key names the signer's public key"
NO_CLUSTER = "no cluster was named: whether the records are still there was not checked (-b)"


def ranges(*states: RangeState) -> VerifiedEvidence:
    found = tuple(CheckedRange("k", DIGEST, each, "a reason") for each in states)
    return replace(WHOLE, ranges=found, read_again=True)


@pytest.mark.parametrize(
    ("checked", "words", "notes"),
    [
        (replace(WHOLE, evidence=None), "a.json is no evidence file, or was altered: it proves nothing.", ()),
        (BROKEN, "a.json is altered: nothing in it shows anything.", ()),
        (WHOLE, f"{WRITTEN}.", (UNSIGNED, NO_CLUSTER)),
        (replace(WHOLE, signer="SHA256:x"), f"{WRITTEN}, signed by SHA256:x.", (NO_KEY, NO_CLUSTER)),
        (
            replace(WHOLE, signer="SHA256:x", is_known_signer=True),
            f"{WRITTEN}, signed by SHA256:x.",
            (NO_CLUSTER,),
        ),
        (ranges(), f"{WRITTEN}. Of 0 ranges that were read again: none.", (UNSIGNED,)),
        (
            ranges(RangeState.PURGED, RangeState.SAME, RangeState.SAME),
            f"{WRITTEN}. Of 3 ranges that were read again: 2 same, 1 purged.",
            (UNSIGNED,),
        ),
    ],
)
def test_an_evidence_file_is_summed_up_with_what_was_not_checked(checked, words: str, notes: tuple[str, ...]) -> None:
    document = view_verified(checked)
    assert document.prose == (words,)
    assert document.notes == notes
    assert len(document.blocks) == (2 if checked.ranges else 1)
