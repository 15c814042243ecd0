"""Who a client is, where a flag or a certificate names it."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from eosctl.errors import UsageError
from eosctl.model.client_properties import Property
from eosctl.model.client_roles import ClientRole, ConnectCluster

_NAMING: Final = rf"(?:(?P<connector>.+?)/)?(?P<role>{'|'.join(ClientRole)})="
_PRINCIPAL: Final = re.compile(rf"{_NAMING}(?P<principal>[A-Za-z]\w*:.+)", re.DOTALL)
_ROLE: Final = re.compile(rf"{_NAMING}(?P<rest>.*)", re.DOTALL)


def principals_by_role(
    texts: Iterable[str], clusters: Iterable[ConnectCluster]
) -> dict[tuple[ClientRole, str | None], str]:
    """`ROLE=User:x` and `CONNECTOR/ROLE=User:x` as a lookup. Raises UsageError naming what is wrong."""
    found = dict(_named(text) for text in texts)
    known = {each.name for cluster in clusters for each in cluster.connectors}
    for role, connector in found:
        if connector is not None and connector not in known:
            raise UsageError(
                f"--principal {connector}/{role}=… names connector {connector}, which is not known",
                hint=f"known are {', '.join(sorted(known)[:10]) or 'none'}; without a connector it is {role}=User:NAME",
            )
    return found


def _named(text: str) -> tuple[tuple[ClientRole, str | None], str]:
    # A principal may hold `=` and `/` (CN=…), a connector's name too: the first role with a principal behind it counts.
    found = _PRINCIPAL.fullmatch(text)
    if found is not None:
        return (ClientRole(found["role"]), found["connector"]), found["principal"]
    named = _ROLE.fullmatch(text)
    if named is not None:
        raise UsageError(f"--principal {text}: {named['rest']!r} is not TYPE:NAME", hint="for example User:connect")
    raise UsageError(
        f"--principal {text} names no role", hint=f"ROLE=User:NAME, where ROLE is one of {', '.join(ClientRole)}"
    )


def certificate_subject(properties: Mapping[str, Property]) -> str:
    """The subject of the certificate in these client properties, as Java writes it (RFC 2253)."""
    from eosctl.sources.certificates import read_subject

    return read_subject(properties)
