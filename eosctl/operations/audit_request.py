"""The request of an audit, and the interface to what it reads."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct, field

from eosctl.atomic_write import require_new
from eosctl.codecs.ssh_signature import SigningKey
from eosctl.errors import UsageError
from eosctl.files import SIGNING_KEY, read_content
from eosctl.model.audit import (
    AuditPlan,
    SparkOptions,
    StateKind,
    StateRow,
)
from eosctl.model.mirror import TopicPair
from eosctl.model.names import did_you_mean
from eosctl.model.records import IsolationLevel
from eosctl.model.skipped import Coverage, Skipped
from eosctl.model.transaction_log import TransactionLogHistory
from eosctl.operations.migration_request import read_rename_map
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.sources.audit_log import OpenSource


def signature_of(evidence: Path) -> Path:
    return evidence.with_name(f"{evidence.name}.sig")


class EvidenceRequest(Struct, frozen=True):
    """The file to write, and the private key to sign it with (None: it is not signed).

    overwrite: an older file of this name, and its signature, may be replaced.
    """

    file: Path
    sign_key: Path | None = None
    overwrite: bool = False

    def require_usable(self) -> None:
        """ConfigError or UsageError where the files cannot be written or signed: asked before an audit begins."""
        self.key()
        for path in (self.file, signature_of(self.file)):
            require_new(path, overwrite=self.overwrite)

    def key(self) -> SigningKey | None:
        """ConfigError where it cannot be used."""
        return (
            None
            if self.sign_key is None
            else SigningKey(read_content(self.sign_key, SIGNING_KEY), f"--sign-key {self.sign_key}")
        )


def evidence_request(file: Path | None, sign_key: Path | None, *, overwrite: bool) -> EvidenceRequest | None:
    """None where no file is to be written; UsageError for a key without one."""
    if file is None and sign_key is not None:
        raise UsageError("--sign-key signs an evidence file, and none is written", hint="give --evidence FILE, too")
    return None if file is None else EvidenceRequest(file, sign_key, overwrite)


class AuditRequest(Struct, frozen=True):
    """The topics to audit (none: all known), the engine, the ledger, and the files to write.

    offsets_topics are connector-specific ones, of now or before, besides those in configs. log_directories are read
    instead of a cluster, if any are given. evidence is the path of the evidence file.
    """

    offsets: OffsetsRequest
    topics: tuple[str, ...] = ()
    offsets_topics: tuple[str, ...] = ()
    engine: str = "local"
    processes: int | None = None
    store: str | None = None
    job: str = "audit"
    report: Path | None = None
    export: Path | None = None
    log_directories: tuple[Path, ...] = ()
    spark: SparkOptions = field(default_factory=SparkOptions)
    evidence: EvidenceRequest | None = None


class AuditInput(Protocol):
    """The source of an audit: a cluster, or log directories of brokers, hidden behind one interface."""

    def bounds(self) -> AuditPlan:
        """A plan without ranges, at this moment."""

    def open_source(self) -> OpenSource:
        """Opens the source of ranges, in this process and in others."""

    def decoded(self, kind: StateKind) -> Iterable[StateRow]:
        """States of records that are decoded already, outside any range."""

    def transaction_log_history(self, plan: AuditPlan, producer_ids: frozenset[int]) -> TransactionLogHistory | Skipped:
        """The transaction log's records of these producer IDs; Skipped if unreadable."""

    @property
    def coverage(self) -> Coverage:
        """The requests until now, and the failed ones."""


INTERNAL: Final = ("__", "mm2-")
INTERNAL_END: Final = (".internal", "-internal")


class MirrorRequest(Struct, frozen=True):
    """The address of the source, and the names of its topics in the target.

    topics are source topics (none: all mirrored). alias and separator are those of DefaultReplicationPolicy; same_names
    is IdentityReplicationPolicy; mapping is a file with a target topic for each source topic. offsets_topics may hold
    the mirror's offsets, checkpoints_topics those of groups. connectors are those whose offsets count (none: all).
    isolation is the mirror consumer's, None: as its config says, if readable. With store a ledger keeps under the name
    job how far each pair of partitions was compared.
    """

    source_servers: str | None
    source_config: Path | None = None
    topics: tuple[str, ...] = ()
    alias: str | None = None
    separator: str = "."
    same_names: bool = False
    mapping: Path | None = None
    offsets_topics: tuple[str, ...] = ()
    checkpoints_topics: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    isolation: IsolationLevel | None = None
    processes: int | None = None
    engine: str = "local"
    spark: SparkOptions = field(default_factory=SparkOptions)
    store: str | None = None
    job: str = "mirror"
    evidence: EvidenceRequest | None = None


def topic_pairs(
    request: MirrorRequest, in_source: Collection[str], in_target: Collection[str]
) -> tuple[TopicPair, ...]:
    """The pairs of topics on both sides. UsageError where a named one has no partner, or there is no pair."""
    found = tuple(_pairs(request, in_source, in_target))
    known = {each.source for each in found}
    for topic in request.topics:
        if topic not in known:
            absent = "does not exist in the source, or may not be described there"
            why = "is mirrored to no topic of the target that may be described" if topic in in_source else absent
            raise UsageError(f"topic {topic} {why}", hint=did_you_mean(topic, known, "is it the right --alias?"))
    wanted = tuple(each for each in found if not request.topics or each.source in request.topics)
    if not wanted:
        raise UsageError(
            "no topic that may be described in the target cluster has the name of a mirror of a source topic",
            hint="give --alias with the source's alias in the names of mirrored topics, or --mapping",
        )
    return wanted


def _pairs(request: MirrorRequest, in_source: Collection[str], in_target: Collection[str]) -> Iterator[TopicPair]:
    if request.mapping is not None:
        for source, target in sorted(read_rename_map(request.mapping, "--mapping").items()):
            _require(source, in_source, "source")
            _require(target, in_target, "target")
            yield TopicPair(source, target)
        return
    if request.alias is None and not request.same_names:
        raise UsageError(
            "which topic is mirrored to which is not known",
            hint="give --alias (source.cluster.alias of the mirror), --same-names or --mapping",
        )
    for source in sorted(in_source):
        target = source if request.same_names else f"{request.alias}{request.separator}{source}"
        if target in in_target and not source.startswith(INTERNAL) and not source.endswith(INTERNAL_END):
            yield TopicPair(source, target)


def _require(topic: str, known: Collection[str], side: str) -> None:
    if topic not in known:
        raise UsageError(
            f"topic {topic} of --mapping does not exist in the {side}, or may not be described there",
            hint=did_you_mean(topic, known, "are both the right clusters?"),
        )
