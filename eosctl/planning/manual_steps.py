"""What plans leave to people: over REST, and in terms of its resource where an operator runs the connector."""

from eosctl.model.connectors import connector_path
from eosctl.model.plan import ManualStep


def resumed_by_hand(what: str, connector: str, why: str = "", *, known_as: str | None = None) -> ManualStep:
    """`what` is to resume the connector, which has its resource as `known_as` if that is another name."""
    return ManualStep(
        f"{what} (PUT {connector_path(connector)}/resume){why}",
        known_as or connector,
        f"{what} (state: running in its resource){why}",
    )


def created_by_hand(connector: str, known_as: str, group_id: str | None, setting: str) -> ManualStep:
    """A connector with the config of another, or of itself in another Connect cluster; `setting` is what differs."""
    place = "" if group_id is None else f" in Connect cluster {group_id}"
    what = f"{connector}{place} with the config of {known_as}{setting}"
    by_resource = f"create KafkaConnector {what}"
    if connector == known_as:
        label = f"the label strimzi.io/cluster of KafkaConnector {connector}"
        by_resource = f"let {label} name the KafkaConnect of group {group_id}{setting}"
    return ManualStep(f"create connector {what}", known_as, by_resource)


def configured_by_hand(connector: str, setting: str, *, exists: bool) -> ManualStep:
    """A connector that keeps its name and its Connect cluster."""
    put = f"(PUT {connector_path(connector)}/config)"
    if exists:
        what = f"configure connector {connector} {setting}"
        return ManualStep(f"{what} {put}", connector, f"{what} (config in its resource)")
    what = f"{connector} {setting}"
    return ManualStep(
        f"create connector {what} {put}", connector, f"create KafkaConnector {what} (config in its resource)"
    )


def deleted_by_hand(connector: str, successor: str, place: str) -> ManualStep:
    """The connector that was moved, once the one in its place runs."""
    what = f"{connector} once {successor}{place} runs; never let both run"
    by_resource = f"delete KafkaConnector {what}"
    if connector == successor:
        by_resource = (
            f"wait until the operator has deleted connector {connector} from the Connect cluster that it was in"
        )
    return ManualStep(f"delete connector {what}", connector, by_resource)
