"""ACLs merged into the KafkaUsers of a file: missing rules are added behind the others, the rest of the text stays."""

from collections.abc import Mapping, Sequence
from typing import Final

from eosctl.codecs.strimzi_resources import decode_resources, mapping_in, mappings_in, text_in
from eosctl.codecs.yaml_edits import address_of, append_document, append_items, set_value
from eosctl.errors import ConfigError
from eosctl.model.acls import AclBinding
from eosctl.model.kafka_users import SIMPLE, acl_rules, kafka_user, principal_of, says, user_name
from eosctl.model.strimzi import KAFKA_USER, StrimziResource

AUTHORIZATION: Final = ("spec", "authorization")


def merge_kafka_users(text: str, origin: str, wanted: Mapping[str, Sequence[AclBinding]], cluster: str) -> str:
    """The text of file `origin` with these bindings, by principal; a KafkaUser that lacks is added at the end.

    1. Nothing is taken away: neither a rule that nothing needs, nor one that denies.
    2. A user is found by its name, and must have the principal: that of a user with a certificate is CN=NAME.

    Raises ConfigError for a user of another principal or another authorization, for a rule that denies what is needed,
    and as `decode_resources`.
    """
    users = {each.name: each for each in decode_resources(text, origin) if each.kind == KAFKA_USER}
    added = []
    for principal, bindings in wanted.items():
        user = users.get(user_name(principal))
        if user is None:
            added.append(kafka_user(principal, bindings, cluster))
        else:
            text = _with_rules(text, user, principal, bindings)
    for document in added:
        document["apiVersion"] = next((each.api_version for each in users.values()), document["apiVersion"])
        text = append_document(text, document)
    return text


def _with_rules(text: str, user: StrimziResource, principal: str, bindings: Sequence[AclBinding]) -> str:
    authentication = mapping_in(user.spec, "authentication", user.place)
    actual = principal_of(user.name, text_in(authentication, "type", user.place))
    if actual != principal:
        raise ConfigError(
            f"{user.place} is {actual} by its authentication, and the ACLs are for {principal}",
            hint="correct its authentication, or name the principal with --principal",
        )
    authorization = mapping_in(user.spec, "authorization", user.place)
    if authorization.get("type", SIMPLE) != SIMPLE:
        raise ConfigError(f"{user.place} has authorization of type {authorization['type']}; known is {SIMPLE}")
    rules = mappings_in(authorization, "acls", user.place)
    for each in bindings:
        if any(rule.get("type") == "deny" and says(rule, each) for rule in rules):
            raise ConfigError(f"{user.place} denies {each.operation} on {each.pattern}", hint="remove that rule first")
    missing = [each for each in bindings if not any(says(rule, each) for rule in rules)]
    if not missing:
        return text
    address = address_of(text, user.kind, user.name)
    text = append_items(text, address, (*AUTHORIZATION, "acls"), acl_rules(missing))
    return text if "type" in authorization else set_value(text, address, (*AUTHORIZATION, "type"), SIMPLE)
