"""From the config topic read once to the answer of inspect-config."""

from collections.abc import Collection, Iterator, Mapping

from eosctl.analysis.config_census import Survey
from eosctl.analysis.config_findings import not_a_config_topic, open_transaction, record_findings, topic_findings
from eosctl.analysis.connector_findings import connector_findings
from eosctl.analysis.next_start import next_start
from eosctl.model.connectors import ConnectorState, ConnectorType
from eosctl.model.inspection import InspectedConnector, Inspection
from eosctl.model.report import worst_first
from eosctl.model.skipped import Skipped, not_asked
from eosctl.model.topics import PartitionOffsets, TopicFacts

NOT_ASKED = not_asked("not asked")


def inspect(
    survey: Survey,
    *,
    topic: str,
    topic_facts: TopicFacts | Skipped = NOT_ASKED,
    offsets: PartitionOffsets | Skipped = NOT_ASKED,
    types: Mapping[str, str] | Skipped = NOT_ASKED,
    running_tasks: Mapping[str, int] | Skipped = NOT_ASKED,
    group_id: str | None = None,
    selected: Collection[str] = (),
) -> Inspection:
    """Connectors with their next start, and findings, of all connectors or of those `selected`.

    types and running_tasks are those of Connect REST (name to "source" or "sink", name to number of RUNNING tasks); a
    name missing from running_tasks has none. Where types were skipped, a task count record still proves a source.
    """
    names = [name for name in sorted(survey.state.states) if _is_relevant(survey.state.state(name))]
    chosen = [name for name in names if not selected or name in selected]
    connectors = tuple(_inspected(survey.state.state(name), types, running_tasks, group_id) for name in chosen)
    has_records = any(state.task_count_record is not None for state in survey.state.states.values())
    version = survey.state.reader.version
    other = not_a_config_topic(topic, survey)
    findings = (
        (other,)
        if other is not None
        else (
            *topic_findings(topic, topic_facts),
            *open_transaction(topic, group_id, survey, offsets),
            *record_findings(topic, survey),
            *(finding for connector in connectors for finding in connector_findings(connector, has_records, version)),
        )
    )
    return Inspection(
        topic=topic,
        state=survey.state,
        census=survey.census,
        topic_facts=topic_facts,
        connectors=connectors,
        findings=worst_first(findings),
        absent=tuple(sorted(set(selected) - set(names))),
        skipped=dict(_skipped(topic_facts, offsets=offsets, types=types, running_tasks=running_tasks)),
    )


def _is_relevant(state: ConnectorState) -> bool:
    """It exists, or records remain that would matter to a new connector of this name."""
    remains = (state.commit_offset, state.unclaimed_commit_offset, state.task_count_offset)
    return state.known or any(offset is not None for offset in remains) or bool(state.deferred)


def _inspected(
    state: ConnectorState,
    types: Mapping[str, str] | Skipped,
    running_tasks: Mapping[str, int] | Skipped,
    group_id: str | None,
) -> InspectedConnector:
    connector_type = _type_of(state, types)
    running = running_tasks if isinstance(running_tasks, Skipped) else running_tasks.get(state.name, 0)
    return InspectedConnector(state, connector_type, running, next_start(state, connector_type, group_id))


def _type_of(state: ConnectorState, types: Mapping[str, str] | Skipped) -> ConnectorType | None:
    reported = None if isinstance(types, Skipped) else types.get(state.name)
    if reported in set(ConnectorType):
        return ConnectorType(reported)
    return None if state.task_count_record is None else ConnectorType.SOURCE


def _skipped(topic: TopicFacts | Skipped, **others: object) -> Iterator[tuple[str, Skipped]]:
    for name, fact in {"topic": topic, **others}.items():
        if isinstance(fact, Skipped):
            yield name, fact
    policy = topic.setting("cleanup.policy") if isinstance(topic, TopicFacts) else None
    if isinstance(policy, Skipped):
        yield "cleanup_policy", policy
