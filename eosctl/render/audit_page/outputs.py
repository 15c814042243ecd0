"""Where in output topics the records lie that a finding is about: what its reader looks at next."""

from collections.abc import Iterator, Mapping
from typing import Final

from eosctl.model.audit import AuditPlan, TopicRole
from eosctl.model.counts import counted
from eosctl.model.report import Finding

MOST_RANGES: Final = 20


def output_ranges(finding: Finding, plan: AuditPlan) -> list[str]:
    """One line for each range of an output topic that the evidence names, in its order.

    Where it names none, the output topics of the connectors concerned: nothing shows where in them to look. Information
    needs no look.
    """
    outputs = {topic.name: topic.connectors for topic in plan.topics if topic.role is TopicRole.OUTPUT}
    ranges = list(dict.fromkeys(words for place in _places(finding) for words in _range(place, outputs)))
    if ranges or not finding.counts:
        more = [f"and {len(ranges) - MOST_RANGES:,} more"] if len(ranges) > MOST_RANGES else []
        return ranges[:MOST_RANGES] + more
    named = finding.evidence.get("connectors")
    concerned = {*named} if isinstance(named, list | tuple) else set()
    written = [name for name, connectors in outputs.items() if concerned.intersection(connectors)]
    return [f"{name}: all of it, the finding names no offsets there" for name in written[:MOST_RANGES]]


def _places(finding: Finding) -> Iterator[Mapping[str, object]]:
    """What was written with the offsets before what the finding says of the places themselves."""
    evidence = finding.evidence
    for name in ("data", *evidence):
        value = evidence.get(name)
        if isinstance(value, list | tuple):
            yield from (each for each in value if isinstance(each, Mapping))
    yield evidence


def _range(place: Mapping[str, object], outputs: Mapping[str, object]) -> Iterator[str]:
    topic, partition = place.get("topic"), place.get("partition")
    if topic not in outputs or not isinstance(partition, int):
        return
    first = next((place[name] for name in ("first_offset", "start_offset", "start", "offset") if name in place), None)
    end = place.get("end")
    last = place.get("last_offset", end - 1 if isinstance(end, int) else place.get("offset"))
    if not isinstance(first, int):
        return
    where = f"offset {first}" if first == last else f"offsets {first} to {last}" if isinstance(last, int) else ""
    records, kind = place.get("records"), place.get("committed_with")
    amount = f", {counted(records, 'record')}" if isinstance(records, int) else ""
    beside = f", committed with the source offset {kind}" if kind else ""
    yield f"{topic}-{partition}: {where or f'from offset {first} on'}{amount}{beside}"
