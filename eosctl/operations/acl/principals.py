"""Who a client is, where a flag or a certificate names it."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from eosctl.codecs.principals import SubjectOf
from eosctl.errors import ConfigError, UsageError
from eosctl.model.client_properties import REFERENCE, Property
from eosctl.model.client_roles import ClientRole, ConnectCluster
from eosctl.sources.certificates import read_subject

CONNECTOR: Final = "connector"
"""Stands for every client of a connector."""
OTHER: Final = frozenset({ClientRole.WORKER, ClientRole.EOSCTL})
"""Roles that are no client of a connector."""
_NAMING: Final = rf"(?:(?P<connector>.+?)/)?(?P<role>{'|'.join((*ClientRole, CONNECTOR))})="
_PRINCIPAL: Final = re.compile(rf"{_NAMING}(?P<principal>[A-Za-z]\w*:.+)", re.DOTALL)
_ROLE: Final = re.compile(rf"{_NAMING}(?P<rest>.*)", re.DOTALL)
Principals = Mapping[tuple[ClientRole, str | None], str]
"""Principal by role and connector (None: every connector)."""


def principals_by_role(texts: Iterable[str], clusters: Iterable[ConnectCluster]) -> Principals:
    """The principals in these texts. Raises UsageError naming what is wrong, or a connector that is not known."""
    found = named_principals(texts)
    require_known(found, clusters)
    return found


def named_principals(texts: Iterable[str]) -> Principals:
    """`ROLE=TYPE:NAME` and `CONNECTOR/ROLE=TYPE:NAME` as a lookup. Raises UsageError naming what is wrong.

    The role `connector` stands for every client of connectors; a principal given for one of their roles wins over it.
    """
    named = [_named(text) for text in texts]
    every = {
        (role, of): who for name, of, who in named if name == CONNECTOR for role in ClientRole if role not in OTHER
    }
    return every | {(ClientRole(name), of): who for name, of, who in named if name != CONNECTOR}


def require_known(principals: Principals, clusters: Iterable[ConnectCluster]) -> None:
    """Raises UsageError where a principal is that of a connector of none of these clusters."""
    known = {each.name for cluster in clusters for each in cluster.connectors}
    for role, connector in principals:
        if connector is not None and connector not in known:
            raise UsageError(
                f"--principal {connector}/{role}=… names connector {connector}, which is not known",
                hint=f"known are {', '.join(sorted(known)[:10]) or 'none'}; without a connector it is {role}=User:NAME",
            )


def _named(text: str) -> tuple[str, str | None, str]:
    # A principal may hold `=` and `/` (CN=…), a connector's name too: the first role with a principal behind it counts.
    found = _PRINCIPAL.fullmatch(text)
    if found is not None:
        return found["role"], found["connector"], found["principal"]
    named = _ROLE.fullmatch(text)
    if named is not None:
        raise UsageError(f"--principal {text}: {named['rest']!r} is not TYPE:NAME", hint="for example User:connect")
    raise UsageError(
        f"--principal {text} names no role",
        hint=f"ROLE=User:NAME, where ROLE is one of {', '.join(ClientRole)}, or {CONNECTOR} for all of a connector",
    )


def certificate_subject(clusters: Iterable[ConnectCluster]) -> SubjectOf:
    """Finds the subject of the certificate in client properties, as Java writes it (RFC 2253)."""
    known = {chain: subject for each in clusters for chain, subject in each.certificates.items()}

    def subject(properties: Mapping[str, Property]) -> str:
        chain = properties.get("ssl.keystore.certificate.chain")
        if chain is not None and chain.value in known:
            return known[chain.value]
        if chain is not None and REFERENCE.fullmatch(chain.value) is not None:
            raise ConfigError(
                f"{chain.origin} is {chain.value}, which only the worker can read; the KafkaUser of that Secret would "
                "name the principal, in the same file"
            )
        return read_subject(properties)

    return subject
