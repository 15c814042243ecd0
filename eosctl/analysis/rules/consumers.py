"""Rules about those who read what the connectors write."""

from collections.abc import Iterator
from typing import Final

from eosctl.analysis.catalogue import consumers as kinds
from eosctl.analysis.connect_requests import for_connector
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
    inherited = set(evidence.configured(f"consumer.{ISOLATION}").values())
    files = 0 if isinstance(evidence.worker_files, Skipped) else len(evidence.worker_files)
    all_set = files > 0 and len(evidence.configured(f"consumer.{ISOLATION}")) == files
    for name in (name for name, status in statuses.items() if status.type == "sink"):
        config = evidence.config(name)
        own = config.get(f"consumer.override.{ISOLATION}")
        if own is None and not files:
            yield not_asked(f"whether the workers set consumer.{ISOLATION} for {name}: give --worker-config")
        elif config and str(own if own is not None else _one(inherited, all_set)).lower() != "read_committed":
            message = "its consumer reads uncommitted: records of aborted transactions reach its target"
            yield kinds.SINK.finding(name, message, cure=for_connector(kinds.SINK.fix, name))


def _one(levels: set[str], all_set: bool) -> str | None:
    """The level of all workers; None where one has none, or another one."""
    return next(iter(levels)) if all_set and len(levels) == 1 else None


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
