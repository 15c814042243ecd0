"""A file with the ranges and conclusions of an audit, and the result of checking it."""

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
    """The ranges read in one cluster; cluster_id None: log directories were read."""

    cluster_id: str | None
    topics: tuple[EvidencedTopic, ...]
    ranges: tuple[RangeDigest, ...]


class EvidenceFile(Struct, frozen=True):
    """The ranges, the way they were read, and the whole answer, as `-o json` prints it.

    of is the command. as_of is in ms since the epoch. signer is the fingerprint of the key that signs the file, None:
    it is not signed.
    """

    of: str
    eosctl_version: str
    command: str
    as_of: int
    signer: str | None
    clusters: tuple[EvidencedCluster, ...]
    report: Any


class RangeState(StrEnum):
    """The result of reading a range again.

    same: the same bytes. differs: other bytes. compacted: other bytes, in a compacted topic. purged: its beginning, or
    all of it, was deleted. unread: it was not read again.
    """

    SAME = "same"
    DIFFERS = "differs"
    COMPACTED = "compacted"
    PURGED = "purged"
    UNREAD = "unread"


class CheckedRange(NamedTuple):
    """A range with its state; reason names the deleted part, or why it was not read."""

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
    """The file at `path`, None if it is no evidence file; signer and its trust are None without a valid signature.

    is_known_signer: the key is one of the given ones, None: none was given. read_again: a cluster was queried.
    """

    path: str
    evidence: EvidenceFile | None
    signer: str | None = None
    is_known_signer: bool | None = None
    ranges: tuple[CheckedRange, ...] = ()
    read_again: bool = False

    @property
    def gone(self) -> tuple[CheckedRange, ...]:
        """Ranges that cannot be checked any more."""
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
