"""A gate as JUnit's XML: one suite, a test case for each kind of finding that was looked for.

A waived finding and one that nobody could look for are skipped; what the answer needed and was not read is an error.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from eosctl.model.gate import Gate, Outcome, Question, Reported
from eosctl.render.cells import escape_controls

COUNTED: Final = ("failure", "error", "skipped")
ELEMENTS: Final = {Outcome.FAILED: "failure", Outcome.UNKNOWN: "error", Outcome.SKIPPED: "skipped"}


def junit(gate: Gate) -> str:
    """The whole file."""
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
    """What fails first, then the other findings, then why there may be more."""
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
