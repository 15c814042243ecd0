"""ACL plans as plan files, for `eosctl apply`."""

from pathlib import Path

from eosctl.model.plan import Plan
from eosctl.model.skipped import Skipped
from eosctl.operations.acl.plan import Planned
from eosctl.operations.plan_flow import keep_plan
from eosctl.planning.acl_changes import plan_acl_changes


def keep_acl_plan(planned: Planned, path: Path, *, prune: bool) -> Plan:
    """The plan that was written to `path`; the cluster has ACLs."""
    acls = planned.acls
    assert not isinstance(acls.bindings, Skipped), "plan_for refuses a plan file without ACLs"
    assert acls.cluster_id is not None
    plan = plan_acl_changes(
        planned.difference, planned.plan, acls.bindings, acls.cluster_id, planned.as_of, prune=prune
    )
    keep_plan(plan, path)
    return plan
