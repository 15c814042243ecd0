"""Plans of connectors that were begun by this user on this machine, and cut short."""

from collections.abc import Collection
from pathlib import Path

from eosctl.codecs.plan import decode_plan
from eosctl.errors import EosctlError
from eosctl.files import PLAN, read_text
from eosctl.model.connector_steps import CreateConnector
from eosctl.model.plan import (
    ClusterIs,
    ManualStep,
    Plan,
    ResumeConnector,
    SetConnectorConfig,
    VerifyOffsets,
    WriteOffsets,
)
from eosctl.operations.plan_files import PlanFile, steps_done

OF_CONNECTORS = (CreateConnector, WriteOffsets, VerifyOffsets, SetConnectorConfig, ResumeConnector)


def unfinished_plan(directory: Path, kind: str, cluster_id: str, connectors: Collection[str]) -> Path | None:
    """The newest plan of this kind for one of the cluster's connectors, if a step of it is done and another is not.

    Its time is its as_of, with which its file's name begins. What is no plan, or has no journal, is passed over.
    """
    for path in sorted(directory.glob("*.plan"), reverse=True):
        try:
            plan = decode_plan(read_text(path, PLAN))
            if plan.kind != kind or not _names(plan) & set(connectors) or cluster_id not in _clusters(plan):
                continue
            file = PlanFile(plan, path)
            if not file.journal.exists():
                continue
            done = steps_done(file)
        except EosctlError:
            continue
        wanted = {i for i, each in enumerate(plan.steps, 1) if not isinstance(each.step, ManualStep)}
        return path if done and wanted - done else None
    return None


def _clusters(plan: Plan) -> set[str]:
    return {each.cluster_id for step in plan.steps for each in step.preconditions if isinstance(each, ClusterIs)}


def _names(plan: Plan) -> set[str]:
    steps = [each.step for each in plan.steps]
    found = {step.connector for step in steps if isinstance(step, OF_CONNECTORS)}
    copied = {step.copied_from for step in steps if isinstance(step, SetConnectorConfig) and step.copied_from}
    return found | copied
