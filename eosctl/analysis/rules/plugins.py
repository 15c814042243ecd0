"""Rules about the connector plugins of the workers.

1. A worker of 4.1 or newer loads several versions of a class side by side (KIP-891). A connector runs in the version
   that `connector.plugin.version` asks for, or in the newest; older workers do not know the setting.
2. A version without brackets is asked for exactly (PluginUtils.connectorVersionRequirement). Which one a range of
   versions chooses is not worked out: all versions have to be the same then.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from eosctl.analysis.catalogue import group
from eosctl.analysis.catalogue import workers as kinds
from eosctl.analysis.rules.client_configs import connector_config
from eosctl.model.client_roles import class_name
from eosctl.model.evidence import Evidence, WorkerEvidence
from eosctl.model.report import Finding, Severity
from eosctl.model.rules import Rule
from eosctl.model.skipped import Skipped
from eosctl.model.versions import SEVERAL_PLUGIN_VERSIONS

ASKED: Final = "connector.plugin.version"
NEWEST: Final = ("", "latest")
RANGE: Final = re.compile(r"[\[\](),]")

Asked = Mapping[str, Mapping[str, list[str]]]
"""The connectors by the class, as `class_name` has it, and by the version that they ask for."""


def _plugins(evidence: Evidence) -> Iterator[Finding | Skipped]:
    yield from (each.plugins for each in evidence.answering if isinstance(each.plugins, Skipped))
    asked = _asked(evidence)
    for plugin in sorted({name for each in evidence.answering for name in _versions(each)}):
        users = {"": []} if asked is None else asked.get(class_name(plugin), {})
        for version, connectors in (users or {"": []}).items():
            yield from _differing(evidence, plugin, version, connectors, is_used=asked is None or bool(users))


def _differing(
    evidence: Evidence, plugin: str, asked: str, connectors: list[str], *, is_used: bool
) -> Iterator[Finding]:
    known = [each for each in evidence.answering if not isinstance(each.plugins, Skipped)]
    found = {each.url: _loaded(each, plugin, asked) for each in known}
    there = {version for version in found.values() if version is not None}
    missing = [url for url, version in found.items() if version is None]
    if missing or len(there) > 1:
        wanted = "" if asked in NEWEST else f" in version {asked}, which {', '.join(connectors)} asks for,"
        what = f"is missing on {', '.join(missing)}" if missing else f"has versions {', '.join(sorted(there))}"
        user = "" if is_used else ", and no connector uses it"
        versions = {each.url: ", ".join(_versions(each).get(plugin, ())) or None for each in known}
        yield kinds.PLUGINS.finding(
            plugin,
            f"the plugin{wanted} {what}{user}",
            {"versions": versions},
            severity=None if is_used else Severity.INFO,
        )


def _asked(evidence: Evidence) -> Asked | None:
    """What all connectors ask for, sinks among them; None where that is not known."""
    if isinstance(evidence.inspection, Skipped):
        return None
    asked: dict[str, dict[str, list[str]]] = {}
    for name in evidence.inspection.state.connectors:
        config = connector_config(evidence, name)
        asked.setdefault(config.class_name, {}).setdefault(config.get(ASKED).strip(), []).append(name)
    return asked


def _loaded(worker: WorkerEvidence, plugin: str, asked: str) -> str | None:
    """The version of the plugin in which this worker runs a connector that asks for this one; None: it has none.

    Of Kafka's own plugins the newest has the version of the worker, of which another rule speaks: it is "".
    """
    versions = _versions(worker).get(plugin, ())
    is_old = not isinstance(worker.version, Skipped) and worker.version < SEVERAL_PLUGIN_VERSIONS
    if asked in NEWEST or is_old:
        return ("" if plugin.startswith("org.apache.kafka.") else versions[-1]) if versions else None
    if RANGE.search(asked.removeprefix("[").removesuffix("]")):
        return " and ".join(versions) or None
    exact = _without_zeros(asked.strip("[]"))
    return next((each for each in versions if _without_zeros(each) == exact), None)


def _without_zeros(version: str) -> str:
    """1.0 is 1 to Maven's order of versions."""
    return re.sub(r"(\.0+)+$", "", version.strip())


def _versions(worker: WorkerEvidence) -> Mapping[str, tuple[str, ...]]:
    return {} if isinstance(worker.plugins, Skipped) else worker.plugins


def _answers_differ(evidence: Evidence) -> Iterator[Finding | Skipped]:
    preflight = {} if isinstance(evidence.preflight, Skipped) else evidence.preflight
    for name, answer in preflight.items():
        if len(answer.by_worker) > 1:
            yield from (Skipped(f"{name} could not be validated: {each.reason}") for each in answer.unread)
        if len(set(answer.answers.values())) > 1:
            said = (f"{url} {_said(each)}" for url, each in answer.answers.items())
            message = f"whether it supports exactly-once depends on the worker: {', '.join(said)}"
            yield group.ANSWERS_DIFFER.finding(name, message, {"messages": answer.answers})


def _said(messages: tuple[str, ...]) -> str:
    return f"would refuse it ({'; '.join(messages)})" if messages else "accepts it"


RULES: Final = (
    Rule(
        kinds.PLUGINS,
        "Has every worker the versions of the connector plugins that connectors run in?",
        needs=("workers",),
        check=_plugins,
    ),
    Rule(
        group.ANSWERS_DIFFER,
        "Do all workers give the same answer to a connector's preflight check?",
        needs=("preflight",),
        check=_answers_differ,
    ),
)
