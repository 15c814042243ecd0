"""Explains an error: compares a log's text, with its stack trace, with the known errors.

1. Every entry whose patterns are all found is reported, the more special first.
2. Connector, task, transactional ID and topic are taken from the text where it names them in Kafka's own forms:
   `WorkerSourceTask{id=orders-0}`, the logging context `[orders|task-0]`, `transactionalId=...`, `topic: ...`. What
   only a space divides from its noun is a name if it has a digit or an underscore, otherwise a word of the sentence.
3. Kafka's own error classes that no such entry speaks of are reported last, with what the protocol says of them.
4. What the text does not show stands in capitals in the commands; what it shows is quoted as a shell or a URL needs it.
"""

import re
import shlex
from typing import Final

from eosctl.analysis.errors import CONNECT_ERRORS, TRANSACTION_ERRORS
from eosctl.analysis.kafka_errors import explain_classes
from eosctl.model.connectors import connector_path
from eosctl.model.report import ErrorPattern, Explanation

ERROR_PATTERNS: Final[tuple[ErrorPattern, ...]] = (*TRANSACTION_ERRORS, *CONNECT_ERRORS)

_BARE: Final = r"(?=[\w.-]*[0-9_])[\w.-]*\w"
"""A name that only a space marks: with a digit or an underscore, which no word of English has."""
_TASK: Final = (
    re.compile(r"\[(?P<connector>[^\[\]|]+)\|task-(?P<task>\d+)"),
    re.compile(r"Task\{id=(?P<connector>.+?)-(?P<task>\d+)\}"),
    re.compile(r"[Tt]ask '?(?P<connector>[^\s'\"]+)-(?P<task>\d+)\b"),
    re.compile(r"[Cc]onnector(?: name)?(?:[=:] *| (?=['\"]))['\"]?(?P<connector>[^\s,'\"\]\)};]+)"),
    re.compile(rf"[Cc]onnector (?P<connector>{_BARE})"),
)
_ID: Final = r"[Tt]ransactional\.?[ _]?[iI]d"
_TRANSACTIONAL_ID: Final = (
    re.compile(_ID + r"(?: *= *| *: +| (?=['\"]))['\"]?(?P<transactional_id>[^\s,'\"\]\)}]+)"),
    re.compile(rf"{_ID} (?P<transactional_id>{_BARE})"),
)
_TOPIC: Final = (
    re.compile(
        r"[Tt]opics?(?:-partition)?(?:[=:] *\[?|[ ]\[| (?='))'?(?P<topic>[A-Za-z0-9._-]+?)(?:-\d+)?(?=[\s,'\]]|$)"
    ),
    re.compile(r"[Tt]opic(?:-partition)? (?P<topic>(?=[\w.-]*[0-9_])[\w.-]+?)(?:-\d+)?(?=[\s,;:]|$)"),
    re.compile(r"partition (?P<topic>[A-Za-z0-9._-]+)-\d+"),
)
_ROLES: Final = (_TASK, _TRANSACTIONAL_ID, _TOPIC)
OVERTAKEN: Final = frozenset({"newer-task-configs", "task-revoked"})
"""What a task is FAILED with that is being started again, with newer configs or on another worker."""


def explain_error(text: str, group_id: str | None = None, profile: str | None = None) -> tuple[Explanation, ...]:
    """Every known error that the text shows, with the names it shows; none where it shows none.

    group_id and profile stand in its commands, where they are given.
    """
    names = names_in(text)
    if group_id is not None:
        names["group"] = group_id
        if "connector" in names and "task" in names:
            names.setdefault("transactional_id", f"{group_id}-{names['connector']}-{names['task']}")
    recognised = tuple(each for each in ERROR_PATTERNS if each.matches(text))
    return (*(_explanation(each, names, profile) for each in recognised), *explain_classes(text, recognised))


def is_overtaken(trace: str) -> bool:
    """True if Connect itself restarts a task that is FAILED with this trace."""
    return any(each.id in OVERTAKEN and each.matches(trace) for each in ERROR_PATTERNS)


def names_in(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for forms in _ROLES:
        match = next((match for form in forms if (match := form.search(text))), None)
        if match is not None:
            found |= match.groupdict()
    return found


def _explanation(pattern: ErrorPattern, names: dict[str, str], profile: str | None) -> Explanation:
    known = {"connector": "CONNECTOR", "task": "TASK", "transactional_id": "ID", "topic": "TOPIC", "group": "GROUP"}
    reported = {role: shlex.quote(name) for role, name in names.items()}
    path = connector_path(names.get("connector", "CONNECTOR"))
    suffix = f" --profile {shlex.quote(profile)}" if profile else ""
    commands = tuple(
        command.format_map({**known, **reported, "path": path}) + (suffix if command.startswith("eosctl ") else "")
        for command in pattern.commands
    )
    return Explanation(pattern.id, pattern.title, pattern.cause, commands, pattern.source)
