"""Decisions of StandardAuthorizer (metadata/…/authorizer/StandardAuthorizerData.java) over a set of bindings.

1. A super user may do everything.
2. A binding counts where its pattern matches the resource (literal name, prefix, or literal `*` where the name does
   not begin with a star), its principal is the client's or `User:*`, and its host is the client's address or `*`.
3. A counting denial of the operation, or of All, denies. Denials imply nothing.
4. A counting allowance of the operation, of All, or of an operation that implies it, allows: Read, Write, Delete and
   Alter imply Describe; AlterConfigs implies DescribeConfigs.
5. Otherwise the answer is no, except with allow.everyone.if.no.acl.found where no binding at all matches the resource.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from eosctl.model.acls import (
    IMPLIED_BY,
    WILDCARD,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)

EVERY_PRINCIPAL = "User:*"

_Place = tuple[ResourcePattern, str]
"""A pattern, and a principal that has bindings on it."""


class Decision(NamedTuple):
    """The decision, and the binding that decided; None for super users and for the default."""

    allowed: bool
    by: AclBinding | None = None


class Authorizer:
    """Decides from `bindings`. A decision costs as much as the resource's name is long, not as there are bindings."""

    def __init__(
        self,
        bindings: Iterable[AclBinding],
        super_users: Collection[str] = (),
        *,
        allow_everyone_if_no_acl_found: bool = False,
    ) -> None:
        self._super_users = frozenset(super_users)
        self._allow_by_default = allow_everyone_if_no_acl_found
        self._by_place: dict[_Place, tuple[AclBinding, ...]] = {}
        lengths: defaultdict[ResourceType, set[int]] = defaultdict(set)
        alike: set[_Place] = set()
        for binding in bindings:
            principal, _, pattern, _, _ = binding
            place = (pattern, principal)
            if place in self._by_place:
                self._by_place[place] += (binding,)
                alike.add(place)
            else:
                self._by_place[place] = (binding,)
            if pattern.pattern_type is PatternType.PREFIXED:
                lengths[pattern.resource_type].add(len(pattern.name))
        for place in alike:  # so that the same one of several allowing bindings is named, in any order
            self._by_place[place] = tuple(sorted(self._by_place[place]))
        self._prefix_lengths = {each: sorted(found) for each, found in lengths.items()}
        self._touched = {pattern for pattern, _ in self._by_place} if allow_everyone_if_no_acl_found else set()

    def decide(
        self, principal: str, operation: Operation, resource_type: ResourceType, name: str, host: str = WILDCARD
    ) -> Decision:
        """The answer to `principal` at address `host` that wants `operation` on one resource.

        With host `*` it is the answer to a client whose address is not known: bindings for one host do not count.
        """
        return self._decide(principal, operation, ResourcePattern(resource_type, name), host, is_resource=True)

    def permits(self, wanted: AclBinding) -> Decision:
        return self._decide(wanted.principal, wanted.operation, wanted.pattern, wanted.host, is_resource=False)

    def _decide(
        self, principal: str, operation: Operation, resource: ResourcePattern, host: str, *, is_resource: bool
    ) -> Decision:
        if principal in self._super_users:
            return Decision(True)
        allowing: AclBinding | None = None
        untouched = self._allow_by_default
        for pattern in self._patterns_over(resource, is_resource=is_resource):
            untouched = untouched and pattern not in self._touched
            for binding in self._by_place.get((pattern, principal), ()) + self._by_place.get(
                (pattern, EVERY_PRINCIPAL), ()
            ):
                if binding.host not in (WILDCARD, host):
                    continue
                if binding.permission is Permission.DENY:
                    if binding.operation in (operation, Operation.ALL):
                        return Decision(False, binding)
                elif allows(binding.operation, operation) and (
                    allowing is None or binding.operation is operation is not allowing.operation
                ):
                    allowing = binding
        return Decision(True, allowing) if allowing else Decision(untouched)

    def _patterns_over(self, resource: ResourcePattern, *, is_resource: bool) -> Iterator[ResourcePattern]:
        """Every pattern that may have bindings and covers `resource`, the nearest first.

        A literal `*` is one resource's name, or the pattern of nearly all of them: no prefix covers the latter.
        """
        kind, name = resource.resource_type, resource.name
        if resource.pattern_type is PatternType.LITERAL:
            yield resource
        for length in reversed(self._prefix_lengths.get(kind, ())):
            if length <= len(name) and (is_resource or not resource.is_wildcard):
                yield ResourcePattern(kind, name[:length], PatternType.PREFIXED)
        if not name.startswith(WILDCARD):
            yield ResourcePattern(kind, WILDCARD)


def allows(granted: Operation, wanted: Operation) -> bool:
    return granted in (wanted, Operation.ALL) or granted in IMPLIED_BY.get(wanted, ())
