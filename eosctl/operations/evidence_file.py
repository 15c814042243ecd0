"""Writing what an audit read and concluded into a file, and checking one."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from eosctl.analysis.catalogue.audit import EVIDENCE_ALTERED, EVIDENCE_DIFFERS
from eosctl.analysis.catalogue.index import kinds_of_command
from eosctl.atomic_write import atomic_file, write_atomic_file
from eosctl.codecs.evidence_file import NAMESPACE, decode_evidence, encode_evidence
from eosctl.codecs.ssh_signature import (
    decode_public_keys,
    decode_signature,
    fingerprint,
    is_signed_by,
)
from eosctl.engines.scanning import COMPACT, read_digest
from eosctl.errors import Undecodable, UsageError
from eosctl.files import EVIDENCE, PUBLIC_KEYS, SIGNATURE, read_content, read_text
from eosctl.model.audit import AuditedTopic, AuditPlan, RangeDigest, TopicRole
from eosctl.model.evidence_file import (
    CheckedRange,
    EvidencedCluster,
    EvidencedTopic,
    EvidenceFile,
    RangeState,
    VerifiedEvidence,
)
from eosctl.model.names import TopicPartition
from eosctl.model.report import Finding
from eosctl.model.skipped import Skipped
from eosctl.model.topics import RETENTION_SETTINGS, OffsetRange, PartitionOffsets
from eosctl.operations.audit_request import EvidenceRequest, signature_of
from eosctl.operations.audit_topics import with_settings
from eosctl.operations.session import Session
from eosctl.sources.audit_log import OpenSource
from eosctl.sources.cluster_reader import ClusterReader
from eosctl.version import __version__


class Evidence(Struct, frozen=True):
    """The content of a command's file: of is the command, answer its JSON."""

    of: str
    command: str
    as_of: int
    clusters: tuple[EvidencedCluster, ...]
    answer: str


def write_evidence(request: EvidenceRequest, evidence: Evidence) -> None:
    """Writes the file, and beside it FILE.sig where it is signed."""
    key = request.key()
    signer = None if key is None else fingerprint(key.public_key)
    facts = (evidence.command, evidence.as_of, signer, evidence.clusters, json.loads(evidence.answer))
    content = encode_evidence(EvidenceFile(evidence.of, __version__, *facts))
    with atomic_file(request.file) as file:
        file.write(content)
    if key is not None:
        write_atomic_file(signature_of(request.file), key.sign(content, NAMESPACE))
    else:
        signature_of(request.file).unlink(missing_ok=True)


def evidenced_cluster(
    cluster_id: str | None, topics: Iterable[AuditedTopic], ranges: Sequence[RangeDigest]
) -> EvidencedCluster:
    """Topics that have ranges, with their cleanup policies as far as they were read."""
    read = {each.topic for each in ranges}
    known = [
        EvidencedTopic(
            each.name, each.topic_id, None if isinstance(each.cleanup_policy, Skipped) else each.cleanup_policy
        )
        for each in topics
        if each.name in read
    ]
    return EvidencedCluster(cluster_id, tuple(sorted(known)), tuple(ranges))


def digest_ranges(plan: AuditPlan, ranges: Iterable[OffsetRange], open_source: OpenSource) -> Iterator[RangeDigest]:
    """Reads the ranges for their digests alone."""
    with open_source() as source:
        for each in ranges:
            yield read_digest(plan, each, source)


def verify_evidence(session: Session, path: Path, signer_keys: Path | None) -> VerifiedEvidence:
    """Checks the file and its signature; where a cluster is named, reads its ranges again."""
    content = read_content(path, EVIDENCE)
    keys = (
        ()
        if signer_keys is None
        else decode_public_keys(read_text(signer_keys, PUBLIC_KEYS), f"--signer-key {signer_keys}")
    )
    checked = VerifiedEvidence(path=str(path), evidence=None, looked_for=kinds_of_command("verify"))
    try:
        evidence = decode_evidence(content)
        checked = replace(checked, evidence=evidence)
        signer = _signer(content, path, evidence, keys)
    except Undecodable as error:
        finding = EVIDENCE_ALTERED.finding(str(path), error.message)
        return replace(checked, findings=(finding,)).under(session.options.triage)
    known = None if signer is None or not keys else True
    checked = replace(checked, signer=signer, is_known_signer=known)
    if _names_cluster(session):
        checked = _read_again(session, checked, evidence)
    return checked.under(session.options.triage)


def _signer(content: bytes, path: Path, evidence: EvidenceFile, keys: Sequence[bytes]) -> str | None:
    """The fingerprint of the key that signed the file, None: it is not signed. Raises Undecodable where it is wrong."""
    file = signature_of(path)
    if not file.exists():
        if evidence.signer is not None:
            raise Undecodable(f"it was signed, and its signature {file} is missing")
        if keys:
            raise Undecodable("it is not signed")
        return None
    signature = decode_signature(read_text(file, SIGNATURE))
    found = fingerprint(signature.public_key)
    if not is_signed_by(content, signature, NAMESPACE) or found != evidence.signer:
        raise Undecodable(f"signature {file} belongs to another file")
    if keys and signature.public_key not in keys:
        raise Undecodable(f"it is signed by another key: {found}")
    return found


def _names_cluster(session: Session) -> bool:
    options = session.options
    profile = options.profile
    named = options.bootstrap_servers or options.command_config
    return bool(named or (profile is not None and profile.bootstrap_server is not None))


def _read_again(session: Session, checked: VerifiedEvidence, evidence: EvidenceFile) -> VerifiedEvidence:
    reader = session.reader
    here = [each for each in evidence.clusters if each.cluster_id in {None, reader.cluster_id}]
    if not here:
        known = ", ".join(str(each.cluster_id) for each in evidence.clusters)
        raise UsageError(f"the evidence is of cluster {known}, this is {reader.cluster_id}", hint="name that cluster")
    total = sum(each.end - each.start for cluster in here for each in cluster.ranges)
    ranges: list[CheckedRange] = []
    with session.options.console.progress("verifying", total, unit="offsets") as advance:
        for cluster in evidence.clusters:
            if cluster not in here:
                reason = f"it is of cluster {cluster.cluster_id}, which was not named"
                ranges += (CheckedRange(cluster.cluster_id, each, RangeState.UNREAD, reason) for each in cluster.ranges)
                continue
            for found in _checked(reader, cluster):
                advance(found.digest.end - found.digest.start)
                ranges.append(found)
    findings = tuple(_differing(ranges))
    return replace(checked, ranges=tuple(ranges), read_again=True, findings=findings, coverage=reader.coverage)


def _checked(reader: ClusterReader, cluster: EvidencedCluster) -> Iterator[CheckedRange]:
    open_source = reader.record_batches()
    if isinstance(open_source, Skipped):
        raise UsageError(f"ranges are read again from a cluster: {open_source.reason}")
    described = reader.topics([each.name for each in cluster.topics], RETENTION_SETTINGS)
    topics = {
        each.name: with_settings(AuditedTopic(each.name, TopicRole.OUTPUT), described[each.name])
        for each in cluster.topics
        if each.name in described
    }
    ids = {each.name: each.topic_id for each in cluster.topics}
    places = {TopicPartition(each.topic, each.partition) for each in cluster.ranges if each.topic in topics}
    bounds = reader.bounds(sorted(places)) if places else {}
    plan = AuditPlan(reader.now(), cluster.cluster_id, None, tuple(topics.values()), (), ())
    with open_source() as source:
        for digest in cluster.ranges:
            topic = topics.get(digest.topic)
            place = TopicPartition(digest.topic, digest.partition)
            gone = _gone(digest, topic, ids[digest.topic], bounds.get(place))
            if gone is not None or topic is None:
                yield CheckedRange(cluster.cluster_id, digest, RangeState.PURGED, gone)
                continue
            again = read_digest(plan, OffsetRange(*digest[:5]), source)
            yield _compared(cluster.cluster_id, digest, again, topic)


def _gone(
    digest: RangeDigest, topic: AuditedTopic | None, topic_id: str | None, bounds: PartitionOffsets | None
) -> str | None:
    """The deleted part of a range; None if nothing was deleted."""
    if topic is None or bounds is None:
        return "the topic or the partition no longer exists"
    if topic_id is not None and topic.topic_id is not None and topic.topic_id != topic_id:
        return f"the topic was deleted and created again (topic ID {topic.topic_id})"
    if bounds.log_start_offset > digest.start:
        end = min(bounds.log_start_offset, digest.end)
        return f"offsets {digest.start} to {end - 1} are deleted: the log begins at {bounds.log_start_offset}"
    return None


def _compared(cluster_id: str | None, digest: RangeDigest, again: RangeDigest, topic: AuditedTopic) -> CheckedRange:
    if again.sha256 == digest.sha256:
        return CheckedRange(cluster_id, digest, RangeState.SAME)
    seen = f"{again.batches} batches of {again.size_bytes} bytes, {digest.batches} of {digest.size_bytes} before"
    policy = topic.cleanup_policy
    if not isinstance(policy, Skipped) and COMPACT not in policy:
        return CheckedRange(cluster_id, digest, RangeState.DIFFERS, seen)
    words = f"compaction may have changed offsets {digest.start} to {digest.end - 1} since: {seen}"
    return CheckedRange(cluster_id, digest, RangeState.COMPACTED, words)


def _differing(ranges: Iterable[CheckedRange]) -> Iterator[Finding]:
    for each in ranges:
        if each.state is RangeState.DIFFERS:
            digest = each.digest
            message = f"offsets {digest.start} to {digest.end - 1} are other bytes than the audit read: {each.reason}"
            facts = {name: value for name, value in digest._asdict().items() if name != "settled"}
            yield EVIDENCE_DIFFERS.finding(f"{digest.topic}-{digest.partition}", message, facts)
