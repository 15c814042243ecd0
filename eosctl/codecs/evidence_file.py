"""Evidence files: canonical JSON with its own SHA-256, so that every altered byte shows.

Members are sorted, there are no blanks, and one line feed ends the file: each content has one form only. The digest
shows accidental changes. Only a signature shows intended ones: the author of a file can also write its digest.
"""

import json
from hashlib import sha256
from typing import Any, Final

import msgspec

from eosctl.errors import Undecodable
from eosctl.model.evidence_file import EvidenceFile

KIND: Final = "evidence"
VERSION: Final = 1
NAMESPACE: Final = "eosctl-evidence"
"""Of signatures (`ssh-keygen -n`)."""


def encode_evidence(evidence: EvidenceFile) -> bytes:
    document = msgspec.to_builtins(evidence)
    document |= {"kind": KIND, "version": VERSION}
    return _canonical(document | {"sha256": _digest(document)})


def decode_evidence(content: bytes) -> EvidenceFile:
    """Raises Undecodable with the fault for a file that is not as it was written."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise Undecodable("the file is not JSON") from None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise Undecodable("it is no evidence file")
    if document.get("version") != VERSION:
        raise Undecodable(f"it is of version {document.get('version')}, this eosctl reads version {VERSION}")
    try:
        whole = _canonical(document)
    except (ValueError, RecursionError):
        raise Undecodable("it is not canonical JSON") from None
    stated = document.pop("sha256", None)
    if stated != _digest(document):
        raise Undecodable("its SHA-256 is another one than it states")
    if whole != content:
        raise Undecodable("it is not in its canonical form")
    try:
        return msgspec.convert(document, EvidenceFile)
    except msgspec.ValidationError as error:
        raise Undecodable(f"a member is missing or of another type: {error}") from error


def _digest(document: dict[str, Any]) -> str:
    return sha256(_canonical(document)).hexdigest()


def _canonical(document: dict[str, Any]) -> bytes:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()
