"""A file that shows what an audit read and concluded, and what checking it showed."""

from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct

from eosctl.model.audit import RangeDigest
from eosctl.model.report import FoundResult, Uncertainty


class EvidencedTopic(NamedTuple):
    name: str
    topic_id: str | None
    cleanup_policy: str | None


class EvidencedCluster(NamedTuple):
    """What was read of one cluster; cluster_id None: log directories were read."""

    cluster_id: str | None
    topics: tuple[EvidencedTopic, ...]
    ranges: tuple[RangeDigest, ...]


class EvidenceFile(Struct, frozen=True):
    """What was read, how, and the whole answer, as `-o json` prints it.

    of is the command; as_of in ms since the epoch. signer is the fingerprint of the key that signs the file, None: it
    is not signed.
    """

    of: str
    eosctl_version: str
    command: str
    as_of: int
    signer: str | None
    clusters: tuple[EvidencedCluster, ...]
    report: Any


class RangeState(StrEnum):
    """What reading a range again showed.

    same: the same bytes; differs: others; compacted: others, of a topic that is compacted; purged: its beginning, or
    all of it, is deleted; unread: it was not read again.
    """

    SAME = "same"
    DIFFERS = "differs"
    COMPACTED = "compacted"
    PURGED = "purged"
    UNREAD = "unread"


class CheckedRange(NamedTuple):
    """A range with its state; reason says what of it is gone, or why it was not read."""

    cluster_id: str | None
    digest: RangeDigest
    state: RangeState
    reason: str | None = None


class EvidenceVerdict(StrEnum):
    """intact: nothing was altered; differs: the cluster holds other bytes; cannot-tell: not all is there any more."""

    INTACT = "intact"
    ALTERED = "altered"
    DIFFERS = "differs"
    CANNOT_TELL = "cannot-tell"


class VerifiedEvidence(FoundResult, frozen=True, kw_only=True):
    """The file at `path`, None where it is none; signer and its trust are None where it has no valid signature.

    is_known_signer: the key is one of those given, None: none was given. read_again is whether a cluster was asked.
    """

    path: str
    evidence: EvidenceFile | None
    signer: str | None = None
    is_known_signer: bool | None = None
    ranges: tuple[CheckedRange, ...] = ()
    read_again: bool = False

    @property
    def gone(self) -> tuple[CheckedRange, ...]:
        """Ranges of which nothing can be said any more."""
        unclear = {RangeState.PURGED, RangeState.COMPACTED}
        return tuple(each for each in self.ranges if each.state in unclear)

    @property
    def verdict(self) -> EvidenceVerdict:
        if self.evidence is None or any(each.name == "evidence-altered" for each in self.findings):
            return EvidenceVerdict.ALTERED
        if any(each.state is RangeState.DIFFERS for each in self.ranges):
            return EvidenceVerdict.DIFFERS
        return EvidenceVerdict.CANNOT_TELL if self.gone else EvidenceVerdict.INTACT

    @property
    def doubts(self) -> tuple[Uncertainty, ...]:
        return tuple(
            Uncertainty(None, f"{each.digest.topic}-{each.digest.partition}: {each.reason}", needed=True)
            for each in self.gone
        )

    @property
    def complete(self) -> bool:
        return not self.gone and not self.coverage.gaps
