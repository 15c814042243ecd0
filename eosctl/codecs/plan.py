"""Plan files and the journals beside them.

A plan is one JSON object, indented so that it can be read and compared:

    {"kind": "eosctl.plan", "version": 1, "digest": "sha256:…", "plan": {
       "kind": "migrate-offsets", "as_of": 1790000000000,
       "steps": [{"step": {"kind": "stop-connector", …}, "preconditions": [{"kind": "cluster-is", …}, …]}, …]}}

1. The digest covers the plan's own JSON without blanks and with its members sorted: an edited plan is refused, because
   it differs from the plan that was shown and agreed to. It also ties journal and undo file to the plan.
2. The plan is as codecs.json_nouns derives it. Configs of connectors are not in a plan, only changes to them.

A journal has one JSON object per line, each on disk before the next action begins:

    {"kind": "eosctl.journal", "version": 1, "plan": "sha256:…"}
    {"step": 3, "event": "begun"}
    {"step": 3, "event": "done", "detail": "4 records in topic orders-offsets"}

A last line without its line end was cut by a crash; its event is not known to have happened.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple

from eosctl.codecs.json_nouns import JsonNoun, check_version
from eosctl.codecs.json_text import load_json
from eosctl.errors import Refused, Undecodable
from eosctl.model.plan import Plan

KIND: Final = "eosctl.plan"
JOURNAL_KIND: Final = "eosctl.journal"
VERSION: Final = 1
JOURNAL_VERSION: Final = 1


class PlanFile(NamedTuple):
    kind: str
    version: int
    digest: str
    plan: Plan


class JournalHead(NamedTuple):
    kind: str
    version: int
    plan: str


class JournalEvent(StrEnum):
    BEGUN = "begun"
    DONE = "done"
    FAILED = "failed"


class JournalEntry(NamedTuple):
    step: int
    event: JournalEvent
    detail: str = ""


_FILE: Final = JsonNoun[PlanFile](PlanFile)
_HEAD: Final = JsonNoun[JournalHead](JournalHead)
_ENTRY: Final = JsonNoun[JournalEntry](JournalEntry)


def encode_plan(plan: Plan) -> str:
    file = PlanFile(KIND, VERSION, plan_digest(plan), plan)
    return json.dumps(_FILE.encode(file), ensure_ascii=False, indent=1) + "\n"


def plan_digest(plan: Plan) -> str:
    body = _FILE.encode(PlanFile(KIND, VERSION, "", plan))["plan"]
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "sha256:" + sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def decode_plan(text: str) -> Plan:
    """The plan in a file's text.

    Raises Undecodable (naming line or member) for other files, Refused for one that was edited, Unsupported for
    another version.
    """
    value = _json(text, "the plan")
    other = Undecodable(
        "this is not a plan file",
        hint="`eosctl migrate-offsets --connector <connector> --to-topic <topic> --plan-file <file>` writes one",
    )
    check_version(value, "plan", KIND, VERSION, other)
    file = _FILE.decode(value, "the plan file")
    if file.digest != plan_digest(file.plan):
        raise Refused(
            "the plan was changed after it was made: its digest is another one",
            hint="make it again; eosctl applies only the plan that was shown",
        )
    return file.plan


def _json(text: str, what: str) -> Any:  # noqa: ANN401  # any JSON
    try:
        return load_json(text)
    except json.JSONDecodeError as error:
        where = f"at line {error.lineno} column {error.colno}: {error.msg}"
        raise Undecodable(
            f"{what} is not JSON {where}",
            hint="give a plan file, whole as eosctl wrote it: this one is another file, or truncated",
        ) from error


def encode_journal_head(digest: str) -> str:
    return json.dumps(_HEAD.encode(JournalHead(JOURNAL_KIND, JOURNAL_VERSION, digest))) + "\n"


def encode_journal_entry(entry: JournalEntry) -> str:
    return json.dumps(_ENTRY.encode(entry)) + "\n"


def decode_journal(lines: Iterable[str], digest: str) -> tuple[JournalEntry, ...]:
    """The entries of a journal of the plan with this digest; none where it is empty.

    Raises Undecodable for lines that are no journal's, or where it belongs to another plan, Unsupported for another
    version.
    """
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            break
        place = f"line {number} of the journal"
        value = _json(line, place)
        if number == 1:
            _check_head(value, place, digest)
        else:
            entries.append(_ENTRY.decode(value, place))
    return tuple(entries)


def not_a_journal() -> Undecodable:
    return Undecodable("the file beside the plan is not its journal", hint="move it away if it is something else")


def _check_head(value: object, place: str, digest: str) -> None:
    check_version(value, "journal", JOURNAL_KIND, JOURNAL_VERSION, not_a_journal())
    if _HEAD.decode(value, place).plan != digest:
        raise Undecodable("the journal beside the plan belongs to another plan", hint="give the plan another file name")
