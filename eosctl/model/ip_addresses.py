"""Which IP addresses lead to this machine, or nowhere outside of its link, in each way of writing them."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")


def internal_kind(address: str) -> str | None:
    """How the resolved address is internal: "loopback", "link-local" or "special"; None for an ordinary address.

    0.0.0.0 and :: lead to this machine as 127.0.0.1 does. IPv6 addresses that stand for an IPv4 address are judged as
    that one. Private networks (RFC 1918) are ordinary: workers live there. ValueError for what is no address.
    """
    found = _meant(ip_address(address.partition("%")[0]))
    if found.is_loopback or found.is_unspecified or (found.version == 4 and int(found) >> 24 == 0):
        return "loopback"
    if found.is_link_local:
        return "link-local"
    return "special" if found.is_multicast or found.is_reserved else None


def _meant(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 address stands for, otherwise itself."""
    if isinstance(address, IPv4Address):
        return address
    inside = address.ipv4_mapped or address.sixtofour
    if inside is None and (address in _TRANSLATED or (address in _COMPATIBLE and int(address) > 1)):
        inside = IPv4Address(int(address) & 0xFFFFFFFF)
    return inside or address
