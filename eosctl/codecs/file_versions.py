"""The kind and version that each of eosctl's own files begins with."""

from eosctl.errors import Undecodable, Unsupported


def check_version(head: object, noun: str, kind: str, version: int, other: Undecodable) -> None:
    """Raise `other` where `head` is not that of a file of this kind, Unsupported where the version is another one."""
    if not isinstance(head, dict) or head.get("kind") != kind:
        raise other
    found = head.get("version")
    if type(found) is not int:
        raise Undecodable(f"the {noun} has no version")
    if found != version:
        raise Unsupported(
            f"the {noun} has version {found}, this eosctl reads version {version}",
            hint=f"use the eosctl that wrote the {noun}, or write it again with this one",
        )
