"""Which transactional IDs brokers keep from whoever asks."""

from dataclasses import dataclass

from eosctl.errors import NotAuthorized
from eosctl.model.counts import some
from eosctl.model.skipped import Cause, Skipped


@dataclass(frozen=True, slots=True)
class TransactionalIdAccess:
    """Whether brokers show every transactional ID to this principal: they leave the others out silently.

    denied are the IDs and prefixes tried that were refused; none were where it may Describe all that could be tried.
    unknown says what could not be ruled out, None where nothing is left.
    """

    denied: tuple[str, ...]
    unknown: str | None

    @property
    def lacking(self) -> tuple[Skipped, ...]:
        """What may be hidden, as a fact that was not read."""
        if self.denied:
            return (
                Skipped(f"Describe is denied, so brokers leave IDs out: {', '.join(self.denied[:3])}", Cause.DENIED),
            )
        return () if self.unknown is None else (Skipped(self.unknown, Cause.DENIED),)

    @property
    def granted(self) -> bool:
        """Whether nothing that was tried was refused."""
        return not self.denied

    def require(self, principal: str) -> None:
        """Raise NotAuthorized where some transactional IDs are kept from this principal."""
        if not self.granted:
            raise NotAuthorized(
                principal=principal,
                operation="Describe",
                resource="TransactionalId *",
                hint="without it every open transaction of an ID that may not be seen would look as if it hung; "
                f"refused: {some(self.denied, most=3)}",
            )
