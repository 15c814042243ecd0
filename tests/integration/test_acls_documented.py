"""The ACL tables of Kafka's manual, granted word by word: where they are too small, and where too large.

The tables name "the principal of each connector", as if its clients were one; docs/acls.md says what was seen here.
"""

from dataclasses import replace

import pytest

from eosctl.clients.wire import Wire
from eosctl.model.acls import CLUSTER, AclBinding, Operation, ResourcePattern, topic, transactional_id
from eosctl.model.acls import group as group_pattern
from eosctl.model.offsets import SourceSupport
from tests.integration.acl_scenarios import Connectors, file_life, own_topic_life
from tests.integration.acl_site import Broken, Site, Sites

pytestmark = [pytest.mark.kafka, pytest.mark.long]

ONE = {"producer": "connector", "consumer": "connector", "admin": "connector"}
READ, WRITE, CREATE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DESCRIBE


def grant(principal: str, pattern: ResourcePattern, *operations: Operation) -> set[AclBinding]:
    return {AclBinding(f"User:{principal}", each, pattern) for each in operations}


def of_the_worker(site: Site) -> set[AclBinding]:
    """What the manual wants for a worker: group, internal topics, and for exactly-once the leader's ID."""
    internal = [
        each for name in site.worker.internal_topics for each in grant("worker", topic(name), READ, WRITE, CREATE)
    ]
    leader = grant("worker", transactional_id(f"connect-cluster-{site.name}"), WRITE, DESCRIBE)
    return {*internal, *leader, *grant("worker", group_pattern(site.name), READ)}


def of_the_connector(site: Site, offsets: tuple[Operation, ...]) -> set[AclBinding]:
    """What it wants for "the principal of each connector" with exactly-once, and on its offsets topics."""
    bindings = grant("connector", topic(f"{site.name}-lines"), WRITE)
    for name in (f"{site.name}-offsets", f"{site.name}-own-offsets"):
        bindings |= grant("connector", topic(name), *offsets)
    for connector in ("file", "own"):
        own_id = transactional_id(f"{site.name}-{site.name}-{connector}-0")
        bindings |= grant("connector", own_id, WRITE, DESCRIBE)
    return bindings


TO_3_3 = (READ, WRITE, DESCRIBE, CREATE)
"""The offsets topic in the manuals of 3.3 to 4.2."""
FROM_4_3 = (DESCRIBE,)
"""The offsets topic in the merged table of newer manuals (KAFKA-20239)."""


def run(
    sites: Sites, root: Wire, offsets: tuple[Operation, ...], clients: dict[str, str], more: set[AclBinding]
) -> None:
    """File sources live with the manual's bindings and `more`, in whose names {site} is the site's."""
    site = replace(sites.make(SourceSupport.ENABLED), clients=clients)
    named = {AclBinding(each.principal, each.operation, rename(site, each.pattern)) for each in more}
    site.allow(of_the_worker(site) | of_the_connector(site, offsets) | named)
    try:
        site.start_worker()
        file_life(site, root)
        own_topic_life(site, root)
    finally:
        for connector in Connectors.of(site):
            site.delete(connector.name)
        site.stop_worker()


def rename(site: Site, pattern: ResourcePattern) -> ResourcePattern:
    return pattern._replace(name=pattern.name.format(site=site.name))


def test_the_old_tables_are_enough_where_all_clients_are_one_principal(acl_sites, acl_root):
    run(acl_sites, acl_root, TO_3_3, ONE, set())


def test_the_old_tables_are_too_small_where_the_clients_are_several(acl_sites, acl_root):
    clients = {"producer": "connector", "consumer": "consumer", "admin": "admin"}
    with pytest.raises(Broken, match="create"):
        run(acl_sites, acl_root, TO_3_3, clients, set())


def test_fencing_by_another_admin_principal_is_in_no_table(acl_sites, acl_root):
    clients = {"producer": "connector", "consumer": "connector", "admin": "admin"}
    describing = grant("admin", topic("{site}-offsets"), DESCRIBE) | grant(
        "admin", topic("{site}-own-offsets"), DESCRIBE, CREATE
    )
    with pytest.raises(Broken, match="zombie fencing"):
        run(acl_sites, acl_root, TO_3_3, clients, describing)


def test_the_new_table_is_too_small_for_reading_and_writing_offsets(acl_sites, acl_root):
    with pytest.raises(Broken, match=r"create|write records|commit offsets"):
        run(acl_sites, acl_root, FROM_4_3, ONE, set())


def test_the_tables_are_too_large_by_describe_and_idempotent_write(acl_sites, acl_root):
    """IdempotentWrite was granted in none of these tests, and here Describe on the IDs goes too."""
    site = replace(acl_sites.make(SourceSupport.ENABLED), clients=ONE)
    granted = of_the_worker(site) | of_the_connector(site, TO_3_3)
    described = {each for each in granted if each.operation is DESCRIBE}
    assert len(described) == 5
    assert not any(each.pattern == CLUSTER for each in granted)
    site.allow(granted - described)
    try:
        site.start_worker()
        file_life(site, acl_root)
    finally:
        site.stop_worker()
