"""The ACL planner's difference with the cluster, as evidence for the rules, which know no planner."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from eosctl.analysis.connect_clusters import place_of, topics_of
from eosctl.analysis.phases import Workers
from eosctl.errors import ConfigError
from eosctl.model.acl_plan import AclDifference, AclPlan, AclRequest
from eosctl.model.client_roles import ClientRole
from eosctl.model.evidence import UNKNOWN_PRINCIPAL
from eosctl.model.offset_stores import SourceSupport
from eosctl.model.skipped import Skipped, not_asked
from eosctl.operations.acl.inputs import AclInputs, clusters_in_force, internal_topics, read_connect_clusters
from eosctl.operations.acl.principals import Principals, certificate_subject, require_known
from eosctl.operations.evidence.request import EvidenceRequest
from eosctl.operations.session import Session
from eosctl.planning.acl_difference import compare_acls
from eosctl.planning.acls import plan_acls

NO_PRINCIPALS: Final = not_asked("neither --principal nor --worker-config was given")


class AclDifferences(NamedTuple):
    """What is needed in each phase, and in the one that each worker is in, against the ACLs of the cluster."""

    by_phase: Mapping[SourceSupport, AclDifference] | Skipped
    in_force: AclDifference | Skipped


def read_acl_differences(
    session: Session,
    evidence_request: EvidenceRequest,
    principals: Principals,
    topics: Mapping[str, str],
    workers: Workers,
) -> AclDifferences:
    """Every binding that is needed against those of the cluster, as `acl-plan` plans them.

    workers are what they answered. A principal that neither the user nor a worker's file names is UNKNOWN_PRINCIPAL.
    Raises UsageError for a principal of a connector that is not known.
    """
    if not principals and not evidence_request.worker_files:
        return AclDifferences(NO_PRINCIPALS, NO_PRINCIPALS)
    inputs = AclInputs(evidence_request.worker_files, internal_topics=internal_topics(**topics))
    clusters = read_connect_clusters(session, inputs)
    # The rules say themselves what they lack, and a rolling step needs none of it.
    with session.reader.adding():
        acls = session.reader.acls(topics_of(clusters))
    require_known(principals, clusters)
    request = AclRequest(
        clusters,
        principals=principals,
        topics_known=acls.topics,
        here=place_of(clusters, acls.addresses),
        broker_version=acls.broker_version,
        mapping_rules=acls.mapping_rules,
    )

    def compared(request: AclRequest) -> AclDifference:
        request, plan = _planned(request)
        assert request.here is not None
        return compare_acls(request, plan, acls.bindings, request.here, evidence_request.super_users)

    known = clusters_in_force(session, clusters, inputs, workers)
    return AclDifferences(
        {phase: compared(replace(request, phase=phase)) for phase in SourceSupport},
        known if isinstance(known, Skipped) else compared(replace(request, clusters=known)),
    )


def _planned(request: AclRequest) -> tuple[AclRequest, AclPlan]:
    try:
        return request, plan_acls(request, certificate_subject(request.clusters))
    except ConfigError:  # neither flag nor file names some principal: then those that nobody named are unknown
        unknown: Principals = {(role, None): UNKNOWN_PRINCIPAL for role in ClientRole}
        request = replace(request, principals={**unknown, **request.principals})
        return request, plan_acls(request, certificate_subject(request.clusters))
