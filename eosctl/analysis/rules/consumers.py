"""Rules about those who read what the connectors write."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import consumers as kinds
from eosctl.analysis.connect_requests import for_connector
from eosctl.analysis.rules.client_configs import clients_of
from eosctl.model.client_roles import ClientRole
from eosctl.model.counts import counted
from eosctl.model.evidence import Evidence
from eosctl.model.report import Finding
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped, not_asked

ISOLATION: Final = "isolation.level"
SHOWN: Final = 20


def _uncommitted(evidence: Evidence) -> Iterator[Skipped]:
    known = {} if isinstance(evidence.groups, Skipped) else evidence.groups
    consumers = sorted(name for name, kind in known.items() if kind not in {"connect", "share"})
    if consumers:
        # No request asks for it, so no answer lacks it.
        yield not_asked(
            f"no broker reports a consumer's isolation.level; there are {counted(len(consumers), 'consumer group')}: "
            f"{_few(consumers)}"
        )
    shares = sorted(name for name, kind in known.items() if kind == "share")
    if shares:
        yield not_asked(
            f"share.isolation.level was not read of {counted(len(shares), 'share group')}: {_few(shares)} "
            "(kafka-configs.sh --describe --entity-type groups --entity-name <group>)"
        )


def _few(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")


def _sinks(evidence: Evidence) -> Iterator[Finding | Skipped]:
    statuses = {} if isinstance(evidence.statuses, Skipped) else evidence.statuses
    for name in (name for name, status in statuses.items() if status.type == "sink"):
        levels = [
            each.setting(ISOLATION) for each in clients_of(evidence, name, ClientRole.SINK_CONSUMER, exactly_once=True)
        ]
        yield from (each for each in levels if isinstance(each, Skipped))
        uncommitted = any(not isinstance(each, Skipped) and each.lower() != "read_committed" for each in levels)
        if uncommitted and not evidence.config(name):
            yield Skipped(f"the config of {name}, which may set {ISOLATION}, is not known")
        elif uncommitted:
            message = "its consumer reads uncommitted: records of aborted transactions reach its target"
            yield kinds.SINK.finding(name, message, cure=for_connector(kinds.SINK.fix, name))


RULES: Final = (
    Rule(
        kinds.UNCOMMITTED,
        "Do all consumers of the output read committed?",
        needs=("groups",),
        check=_uncommitted,
        unproven="no broker reports a consumer's isolation.level, so this rule never finds; it names the groups to ask",
    ),
    Rule(
        kinds.SINK,
        "Does every sink connector read committed?",
        needs=("statuses", "inspection"),
        check=_sinks,
        unproven="it is decided from the config topic and the workers' files alone, on evidence made by hand",
    ),
)
