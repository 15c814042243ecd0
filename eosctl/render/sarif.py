"""A gate as SARIF 2.1.0 (OASIS): one run, whose rules are the kinds of findings that were looked for."""

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Final

from eosctl import __version__
from eosctl.model.gate import Gate, Question, Reported
from eosctl.model.report import FindingKind, Severity
from eosctl.render.cells import escape_controls
from eosctl.render.machine import json

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(gate: Gate) -> str:
    """The whole file. Its run has not succeeded where the command failed, or lacked something that it needed."""
    driver = {
        "name": "eosctl",
        "version": __version__,
        "rules": [_rule(each.kind) for each in gate.questions],
    }
    invocation = {
        "executionSuccessful": gate.complete,
        "exitCode": gate.exit_code,
        "toolExecutionNotifications": list(_notifications(gate)),
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"eosctl {gate.command}/"},
        "invocations": [invocation],
        "results": list(_results(gate)),
    }
    return json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(kind: FindingKind) -> dict[str, Any]:
    return {
        "id": kind.id,
        "name": kind.name,
        "shortDescription": _message(kind.title),
        "fullDescription": _message(kind.cause),
        "help": _message(f"fix: {kind.fix}"),
        "defaultConfiguration": {"level": LEVELS[kind.severity]},
    }


def _results(gate: Gate) -> Iterator[dict[str, Any]]:
    seen: Counter[tuple[str, str]] = Counter()
    for number, question in enumerate(gate.questions):
        for each in question.reported:
            place = (question.kind.id, each.finding.subject)
            seen[place] += 1
            yield _result(each, number, seen[place])


def _result(reported: Reported, rule: int, occurrence: int) -> dict[str, Any]:
    finding, waiver = reported.finding, reported.waiver
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": rule,
        "level": LEVELS[finding.severity],
        "message": _message(f"{finding.subject}: {finding.message}. fix: {finding.cure}"),
        "locations": [_location(reported)],
        # Two results in one file differ by their subjects: the name is that which code scanning looks for.
        "partialFingerprints": {"primaryLocationLineHash": _fingerprint(finding.id, finding.subject, occurrence)},
    }
    if reported.is_new is not None:
        result["baselineState"] = "new" if reported.is_new else "unchanged"
    if waiver is not None:
        words = f"{waiver.reason} ({waiver.owner}, until {waiver.expires.isoformat()})"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": escape_controls(words)}]
    return result


def _location(reported: Reported) -> dict[str, Any]:
    subject = escape_controls(reported.finding.subject)
    logical = {"logicalLocations": [{"fullyQualifiedName": subject, "kind": "resource"}]}
    if reported.file is None:
        return logical
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(reported.file)}}, **logical}


def _uri(file: str) -> str:
    from urllib.parse import quote

    path = PurePath(file)
    return f"{'file://' if path.is_absolute() else ''}{quote(path.as_posix().encode(errors='surrogateescape'))}"


def _fingerprint(kind_id: str, subject: str, occurrence: int) -> str:
    from hashlib import sha256  # loads OpenSSL, which no start of a command needs

    digest = sha256(f"{kind_id} {subject}".encode(errors="backslashreplace")).hexdigest()
    return f"{digest[:16]}:{occurrence}"


def _notifications(gate: Gate) -> Iterator[dict[str, Any]]:
    if gate.failure is not None:
        yield {"level": "error", "message": _message(gate.failure.message)}
    for each in gate.lacking:
        yield {"level": "error", "message": _message(each)}
    for question in gate.questions:
        for reason in question.unknown:
            yield _of_rule("error", reason, question)
        for reason in question.untold:
            yield _of_rule("note", reason, question)
    for each in gate.unread:
        yield {"level": "note", "message": _message(each)}


def _of_rule(level: str, reason: str, question: Question) -> dict[str, Any]:
    return {
        "level": level,
        "message": _message(f"{question.kind.id} cannot tell: {reason}"),
        "associatedRule": {"id": question.kind.id},
    }


def _message(text: str) -> dict[str, str]:
    """A plain text message: braces stand for themselves when they are doubled, `](` would make a link."""
    return {"text": escape_controls(text).replace("{", "{{").replace("}", "}}").replace("](", "\\](")}
