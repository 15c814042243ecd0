"""Explains errors and findings from what eosctl knows, and connectors from the traces that workers report."""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from eosctl.analysis.catalogue.index import KINDS, THEMES
from eosctl.analysis.connect_requests import CommandLine
from eosctl.analysis.connector_description import explain_status
from eosctl.analysis.errors import ERROR_PATTERNS, explain_error
from eosctl.analysis.kafka_errors import KAFKA_ERRORS
from eosctl.analysis.rules.registry import explain_finding
from eosctl.errors import Unreachable, UsageError
from eosctl.model.names import did_you_mean
from eosctl.model.report import Explained, KnownExplanations
from eosctl.model.skipped import Cause, Skipped
from eosctl.model.workers import ConnectorStatus
from eosctl.operations.connector_description import command_line
from eosctl.operations.session import Session
from eosctl.sources.connect_rest import connector_status

MOST_NEAR: Final = 5
ALIKE: Final = 0.7
MOST_WORDS: Final = 20
"""Of a long text, the words that are compared."""


def explain_connector(session: Session, name: str) -> Explained:
    """The meaning of the traces of the connector and its FAILED tasks, as its workers report them.

    Raises UsageError for a connector that they do not know, Unreachable if no worker answers.
    """
    reader = session.reader
    connect = reader.connect()
    if isinstance(connect, Skipped):
        kind = UsageError if connect.cause is Cause.NOT_ASKED else Unreachable
        raise kind(
            f"the traces of connector {name} were not read: {connect.reason}",
            hint="name a worker: --connect-url http://WORKER:8083; or paste the trace: eosctl explain - < FILE",
        )
    status = connect.connectors.get(name)
    if status is None:
        otherwise = "`eosctl connector list` lists the connectors"
        raise UsageError(f"there is no connector {name}", hint=did_you_mean(name, connect.connectors, otherwise))
    answering = [url for url, each in connect.workers.items() if not isinstance(each, Skipped)]
    found = explain_status(status, reader.group_id, command_line(session, answering))
    return found.covering(reader.coverage)


def explain_text(text: str, group_id: str | None, line: CommandLine, profile: str | None = None) -> Explained:
    """The meaning of a finding's ID, an error, a trace, or a worker's answer about the status of a connector."""
    status = next(_statuses_in(text), None)
    if status is not None:
        return explain_status(status, group_id, line)
    found = (*explain_finding(text.strip()), *explain_error(text, group_id, profile))
    return Explained(text=text.strip(), explanations=found, near=() if found else _near(text))


def _statuses_in(text: str) -> Iterator[ConnectorStatus]:
    """The status in an answer to GET /connectors/<name>/status, or to ?expand=status the first that has FAILED."""
    if not text.lstrip().startswith("{"):
        return
    try:
        body = json.loads(text)
        entries = {body["name"]: {"status": body}} if "connector" in body else body
        found = [connector_status(name, entry) for name, entry in entries.items()]
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    yield from sorted(found, key=lambda each: "FAILED" not in {each.state, *(task.state for task in each.tasks)})


def _near(text: str) -> tuple[str, ...]:
    """IDs and names spelt much like a word of the text, the most alike first."""
    known = [word for kind in KINDS for word in (kind.id, kind.name)]
    known += [pattern.id for pattern in ERROR_PATTERNS] + [word for error in KAFKA_ERRORS for word in error.words]
    spelt = {word.lower(): word for word in known}
    words = [word.strip(":,;.").rpartition(".")[2].lower() for word in text.split()[:MOST_WORDS]]
    words = [f"eos{word[3:]:0>3}" if word[:3] == "eos" and word[3:].isdigit() else word for word in words]
    found = (match for word in words for match in get_close_matches(word, spelt, MOST_NEAR, ALIKE))
    return tuple(dict.fromkeys(spelt[match] for match in found))[:MOST_NEAR]


def list_explanations() -> KnownExplanations:
    return KnownExplanations(
        findings={theme.title: tuple(theme.kinds) for theme in THEMES},
        errors=ERROR_PATTERNS,
        classes=tuple(each.class_name for each in KAFKA_ERRORS),
    )
