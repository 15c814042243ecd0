"""Where a plan is carried out: where the user says, otherwise where it was made."""

from dataclasses import replace
from types import TracebackType

from eosctl.clients.rest_identity import WorkerUrl
from eosctl.model.plan import Plan
from eosctl.model.sides import Place, Side
from eosctl.operations.plan_files import PlanFile
from eosctl.operations.session import Session
from eosctl.operations.session_options import PlannedServers, SessionOptions
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions

DEFAULT_CONFIG_TOPIC = "connect-configs"


class PlanPlaces:
    """Session and clusters for a plan, with what the options leave open as the plan has it.

    Identities and secrets are in no plan: they are the user's. They are not shown to addresses that only the plan names
    before the user has confirmed these.
    """

    def __init__(
        self, options: SessionOptions, file: PlanFile, config_topic: str | None, target: TargetOptions
    ) -> None:
        source, other = (_place(file.plan, side) for side in Side)
        named_by = f"the plan {file.path}"
        self.session = Session(
            replace(
                options,
                planned=_servers(source, named_by),
                connect_urls=options.connect_urls or _urls(source, named_by),
            )
        )
        self.clusters = SourceAndTarget(
            self.session,
            config_topic or source.config_topic or DEFAULT_CONFIG_TOPIC,
            replace(
                target,
                connect_urls=target.connect_urls or _urls(other, named_by),
                config_topic=target.config_topic or other.config_topic,
                planned=_servers(other, named_by),
            ),
        )

    def __enter__(self) -> tuple[Session, SourceAndTarget]:
        return self.session, self.clusters

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.clusters.__exit__()
        self.session.__exit__(kind, error, traceback)


def _servers(place: Place, named_by: str) -> PlannedServers | None:
    return PlannedServers(place.bootstrap_servers, named_by) if place.bootstrap_servers else None


def _urls(place: Place, named_by: str) -> tuple[WorkerUrl, ...]:
    return tuple(WorkerUrl(each, named_by=named_by) for each in place.connect_urls)


def _place(plan: Plan, side: Side) -> Place:
    return next((each for each in plan.places if each.side is side), Place(side, ()))
