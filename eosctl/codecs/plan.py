"""Plan files and the journals beside them.

A plan is one JSON object, indented so that it can be read and compared:

    {"kind": "eosctl.plan", "version": 1, "digest": "sha256:…", "plan": {
       "kind": "migrate-offsets", "as_of": 1790000000000,
       "steps": [{"step": {"kind": "stop-connector", …}, "preconditions": [{"kind": "cluster-is", …}, …]}, …]}}

1. The digest is that of the plan's own JSON without blanks and with its members sorted: an edited plan is refused,
   because what was shown and agreed to is no longer what it says. It also ties journal and undo file to the plan.
2. Keys and values of offsets are base64 of their bytes. Configs of connectors are not in a plan, only changes to them.

A journal has one JSON object per line, each on disk before the next action begins:

    {"kind": "eosctl.journal", "version": 1, "plan": "sha256:…"}
    {"step": 3, "event": "begun"}
    {"step": 3, "event": "done", "detail": "4 records in topic orders-offsets"}

A last line without its line end was cut by a crash; what it would have said is not known to have happened.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final

from eosctl.codecs.json_fields import JsonFields
from eosctl.codecs.plan_steps import decode_precondition, decode_step, encode_precondition, encode_step
from eosctl.errors import Refused, Undecodable, Unsupported
from eosctl.model.plan import Plan, PlannedStep

KIND: Final = "eosctl.plan"
JOURNAL_KIND: Final = "eosctl.journal"
VERSION: Final = 1


class JournalEvent(StrEnum):
    """What a line of the journal says of a step."""

    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line: the step's number (from 1), what happened, and what was seen."""

    step: int
    event: JournalEvent
    detail: str = ""


def encode_plan(plan: Plan) -> str:
    """The text of a plan file."""
    body = _body(plan)
    envelope = {"kind": KIND, "version": VERSION, "digest": _digest(body), "plan": body}
    return json.dumps(envelope, ensure_ascii=False, indent=1) + "\n"


def plan_digest(plan: Plan) -> str:
    """What ties journal and undo file to the plan."""
    return _digest(_body(plan))


def decode_plan(text: str) -> Plan:
    """The plan in a file's text.

    Raises Undecodable (naming line or member) for what is no plan, Refused for one that was edited, Unsupported for a
    newer version.
    """
    envelope = JsonFields(_json(text, "the plan"), "the plan file")
    if not envelope.has("kind") or envelope.text("kind") != KIND:
        raise Undecodable("this is not a plan file", hint="`eosctl migrate-offsets … --plan-file FILE` writes one")
    _require_version(envelope, "plan")
    body = envelope.inner("plan")
    plan = Plan(
        kind=body.text("kind"),
        as_of=body.whole("as_of"),
        steps=tuple(_decode_planned(each) for each in body.inners("steps")),
    )
    if envelope.text("digest") != plan_digest(plan):
        raise Refused(
            "the plan was changed after it was made: its digest is another one",
            hint="make it anew; a plan is applied as it was shown, or not at all",
        )
    return plan


def _body(plan: Plan) -> dict[str, Any]:
    steps = [
        {
            "step": encode_step(planned.step),
            "preconditions": [encode_precondition(each) for each in planned.preconditions],
        }
        for planned in plan.steps
    ]
    return {"kind": plan.kind, "as_of": plan.as_of, "steps": steps}


def _decode_planned(value: JsonFields) -> PlannedStep:
    return PlannedStep(
        decode_step(value.inner("step")), tuple(decode_precondition(each) for each in value.inners("preconditions"))
    )


def _digest(body: Mapping[str, Any]) -> str:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _json(text: str, what: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        where = f" at line {error.lineno} column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise Undecodable(f"{what} is not JSON{where}", hint="is the file cut?") from error


def _require_version(fields: JsonFields, noun: str) -> None:
    version = fields.whole("version")
    if version != VERSION:
        raise Unsupported(
            f"the {noun} has version {version}, this eosctl reads version {VERSION}",
            hint="use the eosctl that wrote it, or a newer one",
        )


def encode_journal_head(digest: str) -> str:
    """The first line of a journal, with its line end."""
    return json.dumps({"kind": JOURNAL_KIND, "version": VERSION, "plan": digest}) + "\n"


def encode_journal_entry(entry: JournalEntry) -> str:
    """One line of a journal, with its line end."""
    return json.dumps({"step": entry.step, "event": entry.event.value, "detail": entry.detail}) + "\n"


def decode_journal(lines: Iterable[str], digest: str) -> tuple[JournalEntry, ...]:
    """The entries of a journal of the plan with this digest; none where it is empty.

    Raises Undecodable for lines that are no journal's, or where it belongs to another plan.
    """
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            break
        value = JsonFields(_json(line, f"line {number} of the journal"), f"line {number} of the journal")
        if number == 1:
            _check_head(value, digest)
        else:
            entries.append(_decode_entry(value))
    return tuple(entries)


def _check_head(value: JsonFields, digest: str) -> None:
    if not value.has("kind") or value.text("kind") != JOURNAL_KIND:
        raise Undecodable("the file beside the plan is not its journal", hint="move it away if it is something else")
    _require_version(value, "journal")
    if value.text("plan") != digest:
        raise Undecodable(
            "the journal beside the plan belongs to another plan", hint="give the plan a file name of its own"
        )


def _decode_entry(value: JsonFields) -> JournalEntry:
    event = value.text("event")
    if event not in set(JournalEvent):
        raise Undecodable(f"{value.place}.event is {event!r}")
    return JournalEntry(value.whole("step"), JournalEvent(event), value.text("detail"))
