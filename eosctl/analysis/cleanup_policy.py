"""Whether the cleanup policy of one of Connect's topics keeps the last record of each key, and no more.

Workers refuse to start over another policy that they may read (TopicAdmin.verifyTopicCleanupPolicyOnlyCompact). An
empty one, which brokers accept from 4.2 on, passes that check: it looks like one that may not be read.
"""

from eosctl.analysis.catalogue.topics import CLEANUP
from eosctl.model.report import Finding, Severity


def cleanup_policy_finding(subject: str, topic: str, policy: str, what: str) -> Finding | None:
    """What is wrong with this policy of a topic that holds `what` (connectors, offsets); None where it is `compact`."""
    words = {word.strip().lower() for word in policy.split(",")} - {""}
    if words == {"compact"}:
        return None
    cure, evidence = CLEANUP.fix.replace("<topic>", topic), {"cleanup_policy": policy}
    if words:
        message = f"cleanup.policy is {policy}, not compact: {what} are deleted with time, and workers refuse to start"
        return CLEANUP.finding(subject, message, evidence, cure=cure)
    message = (
        "cleanup.policy is empty: nothing is deleted and nothing compacted, so the topic grows with every record, and "
        "each start of a worker reads all of it"
    )
    return CLEANUP.finding(subject, message, evidence, cure=cure, severity=Severity.WARNING)
