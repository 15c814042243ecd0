"""A gate as JUnit's XML: one suite, a test case for each kind of finding that was looked for.

A waived finding and a rule without evidence are skipped. A missing part that the answer needs is an error.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, Final

from eosctl.model.report import FindingKind, Gate, Outcome, Question, Reported, Severity
from eosctl.render.cells import escape_controls
from eosctl.render.formats import json
from eosctl.version import __version__

COUNTED: Final = ("failure", "error", "skipped")
ELEMENTS: Final = {Outcome.FAILED: "failure", Outcome.UNKNOWN: "error", Outcome.SKIPPED: "skipped"}


def junit(gate: Gate) -> str:
    cases = list(_cases(gate))
    suite = f"eosctl {gate.command}"
    count = Counter(element for _, element, _ in cases)
    counts = f'tests="{len(cases)}" failures="{count["failure"]}" errors="{count["error"]}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {counts}>"]
    lines.append(f'<testsuite name="{_xml(suite)}" {counts} skipped="{count["skipped"]}">')
    for name, element, texts in cases:
        lines.append(f'<testcase classname="{_xml(suite)}" name="{_xml(name)}">')
        lines.extend(_body(element, texts))
        lines.append("</testcase>")
    return "\n".join((*lines, "</testsuite>", "</testsuites>", ""))


def _cases(gate: Gate) -> Iterator[tuple[str, str, list[str]]]:
    """Name, element (empty where it passed) and the lines in it, of each test case."""
    if gate.failure is not None:
        hint = [gate.failure.hint] if gate.failure.hint else []
        yield gate.command, "error", [gate.failure.message, *hint]
    for each in gate.lacking:
        yield f"read: {each}", "error", [each]
    for question in gate.questions:
        name = f"{question.kind.id} {question.kind.name}: {question.kind.title}"
        yield name, ELEMENTS.get(question.outcome, ""), list(_lines(question))


def _body(element: str, texts: Sequence[str]) -> Iterator[str]:
    if element == "skipped":
        yield f'<skipped message="{_xml("; ".join(texts))}"/>'
        return
    text = "\n".join(map(_xml, texts))
    if element:
        yield f'<{element} type="{element}" message="{_xml(texts[0])}">{text}</{element}>'
    elif text:
        yield f"<system-out>{text}</system-out>"


def _lines(question: Question) -> Iterator[str]:
    """The failing findings first, then the others, then why there may be more."""
    for each in sorted(question.reported, key=lambda each: not each.fails):
        yield _line(each)
    yield from (f"cannot tell: {each}" for each in (*question.unknown, *question.untold))


def _line(reported: Reported) -> str:
    finding, waiver = reported.finding, reported.waiver
    line = f"{finding.severity} {finding.subject}: {finding.message}; fix: {finding.cure}"
    if waiver is not None:
        return f"waived until {waiver.expires} ({waiver.owner}: {waiver.reason}): {line}"
    return line if reported.is_new is not False else f"known from the last run: {line}"


def _xml(text: str) -> str:
    """Text that stands for itself in an attribute and in an element; XML 1.0 has no form for control characters."""
    from html import escape

    return escape(escape_controls(text)).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


# A gate as SARIF 2.1.0 (OASIS): one run, whose rules are the kinds of findings that were looked for.


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
