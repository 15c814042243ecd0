"""Shows a plan, and asks for agreement."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from eosctl.errors import EosctlError
from eosctl.operations.session import Session


class Proposal(Protocol):
    """The plan that the user is asked about."""

    @property
    def objections(self) -> tuple[str, ...]:
        """The objections to the plan."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Facts that the user should know although the plan can be carried out."""

    @property
    def failure(self) -> EosctlError | None:
        """Refused where anything speaks against it."""


P = TypeVar("P", bound=Proposal)
Show = Callable[[P], None]
"""Shows on the terminal what the question that follows is about."""


def agree(session: Session, proposal: P, question: str, show: Show[P] | None) -> None:
    """Shows the proposal and asks; raises Refused where something speaks against it or the user does not agree.

    show is None where it was shown already.
    """
    options = session.options
    if show is not None and (proposal.objections or not options.yes):
        show(proposal)
    if proposal.failure is not None:
        raise proposal.failure
    if options.yes:
        for warning in proposal.warnings:
            options.console.warn(warning)
    options.console.confirm(_with_place(session, question), yes=options.yes)


def _with_place(session: Session, question: str) -> str:
    profile = session.options.profile
    places = [] if session.has_other_cluster else [f"cluster {session.reader.cluster_id}"]
    places += [] if session.found_group_id is None else [f"Connect group {session.found_group_id}"]
    places += [] if profile is None else [f"profile {profile.name}"]
    return f"{question.removesuffix('?')} ({', '.join(places)})?" if places else question
