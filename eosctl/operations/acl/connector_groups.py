"""Which Connect cluster a connector belongs to whose config is in a file."""

from collections.abc import Sequence
from pathlib import Path

from eosctl.errors import UsageError
from eosctl.model.client_roles import ConnectCluster, ConnectorConfig


def group_and_path(text: str, clusters: Sequence[ConnectCluster]) -> tuple[str | None, Path]:
    """`GROUP=FILE`, or a file alone where there is one group; None where the file has to say it."""
    groups = [each.group_id for each in clusters]
    group, equals, rest = text.partition("=")
    if equals and group in groups:
        return group, Path(rest)
    if any(each.resource for each in clusters):
        return None, Path(text)
    if len(groups) == 1:
        return groups[0], Path(text)
    raise _unclear(text, groups)


def group_of(connector: ConnectorConfig, clusters: Sequence[ConnectCluster], text: str) -> str:
    """The group of the KafkaConnect that the label of a KafkaConnector names, otherwise the only group."""
    named, groups = connector.connect_cluster, [each.group_id for each in clusters]
    resources = {each.resource: each.group_id for each in clusters if each.resource is not None}
    if named is not None and named in resources:
        return resources[named]
    if named is not None and len(resources) == len(clusters):
        raise UsageError(
            f"--connector-config {text}: KafkaConnector {connector.name} is one of KafkaConnect {named}, and "
            f"--worker-config has {', '.join(resources)}",
            hint="give the KafkaConnect that its label strimzi.io/cluster names",
        )
    if len(groups) == 1:
        return groups[0]
    raise _unclear(text, groups)


def _unclear(text: str, groups: Sequence[str]) -> UsageError:
    return UsageError(
        f"--connector-config {text} does not say which of {len(groups)} Connect clusters it is for",
        hint=f"put the group.id before it: --connector-config {groups[0]}={text}",
    )
