"""The result of checking an evidence file: the file, its signer, and each range that was read again."""

from collections import Counter
from typing import Annotated, Final

from msgspec import Struct

from eosctl.model.evidence_file import CheckedRange, EvidenceVerdict, RangeState, VerifiedEvidence
from eosctl.model.text import pluralize
from eosctl.model.times import rfc3339
from eosctl.render.answers.findings import ShownFindings, findings_of
from eosctl.render.document import MOST, Document, Findings, Table, Tone, col, columns

TONES = {"same": Tone.GOOD, "differs": Tone.BAD, "compacted": Tone.WARN, "purged": Tone.WARN, "unread": Tone.WARN}


class CheckedRangeRow(Struct, frozen=True):
    """A range that the audit read, and what reading it again showed."""

    cluster_id: str | None
    topic: Annotated[str, "the topic"]
    partition: Annotated[int, "the partition"]
    start: Annotated[int, col("the first offset that the audit read", "FROM")]
    end: Annotated[int, col("the offset after the last one", "TO")]
    batches: int
    size_bytes: int
    sha256: str
    state: Annotated[
        RangeState, col("same, differs, compacted, purged or unread: what reading it again showed", tones=TONES)
    ]
    reason: Annotated[str | None, "the part that is missing or differs"]


class VerifiedData(ShownFindings, frozen=True):
    """The file and its verdict; signer is null where it is not signed, is_known_signer where no key was given."""

    path: str
    verdict: EvidenceVerdict
    of: str | None
    command: str | None
    audited_at: str | None
    eosctl_version: str | None
    signer: str | None
    is_known_signer: bool | None
    read_again: bool
    ranges: list[CheckedRangeRow]


CHECKED_RANGES: Final = Table(
    "ranges",
    columns(CheckedRangeRow, "topic partition start end state reason"),
    most=MOST,
    empty="no range was read again",
)


def view_verified(checked: VerifiedEvidence) -> Document:
    """`verify`: the file, then findings, then ranges that were read again."""
    evidence = checked.evidence
    data = VerifiedData(
        path=checked.path,
        verdict=checked.verdict,
        of=None if evidence is None else evidence.of,
        command=None if evidence is None else evidence.command,
        audited_at=None if evidence is None else rfc3339(evidence.as_of),
        eosctl_version=None if evidence is None else evidence.eosctl_version,
        signer=checked.signer,
        is_known_signer=checked.is_known_signer,
        read_again=checked.read_again,
        ranges=[_row(each) for each in checked.ranges],
        **findings_of(checked),
    )
    return Document(
        kind="verify",
        data=data,
        blocks=(CHECKED_RANGES, Findings(evidence=True, most=MOST)) if checked.ranges else (Findings(evidence=True),),
        prose=(_summary(checked),),
        concludes=True,
        notes=tuple(_notes(checked)),
    )


def _row(checked: CheckedRange) -> CheckedRangeRow:
    digest = checked.digest._asdict() | {"cluster_id": checked.cluster_id}
    del digest["settled"]
    return CheckedRangeRow(**digest, state=checked.state, reason=checked.reason)


def _summary(checked: VerifiedEvidence) -> str:
    evidence = checked.evidence
    if evidence is None:
        return f"{checked.path} is no evidence file, or was altered: it proves nothing."
    if checked.verdict is EvidenceVerdict.ALTERED:
        return f"{checked.path} is altered: nothing in it shows anything."
    said = f"{checked.path} is as `eosctl {evidence.of}` of {rfc3339(evidence.as_of)} wrote it"
    if checked.signer is not None:
        said += f", signed by {checked.signer}"
    if not checked.read_again:
        return f"{said}."
    count = Counter(each.state for each in checked.ranges)
    states = ", ".join(f"{count[state]:,} {state.value}" for state in RangeState if count[state])
    return f"{said}. Of {pluralize(len(checked.ranges), 'range')} that were read again: {states or 'none'}."


def _notes(checked: VerifiedEvidence) -> list[str]:
    if checked.evidence is None or checked.verdict is EvidenceVerdict.ALTERED:
        return []
    notes = []
    if checked.signer is None:
        notes.append("it is not signed: its writer, or a person who altered it on purpose, wrote its digest too")
    elif checked.is_known_signer is None:
        notes.append("whose key that is was not checked: --signer-key names the signer's public key")
    if not checked.read_again:
        notes.append("no cluster was named: whether the records are still there was not checked (-b)")
    return notes
