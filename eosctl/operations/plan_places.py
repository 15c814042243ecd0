"""Where a plan is carried out: where the user says, otherwise where it was made."""

from dataclasses import replace

from eosctl.model.plan import Plan
from eosctl.model.sides import Place, Side
from eosctl.operations.session import Session
from eosctl.operations.session_options import SessionOptions
from eosctl.operations.two_clusters import SourceAndTarget, TargetOptions

DEFAULT_CONFIG_TOPIC = "connect-configs"


class PlanPlaces:
    """Session and clusters for a plan, with what the options leave open as the plan has it.

    Identities and secrets are in no plan: they are the user's.
    """

    def __init__(self, options: SessionOptions, plan: Plan, config_topic: str | None, target: TargetOptions) -> None:
        source, other = (_place(plan, side) for side in Side)
        self.session = Session(
            replace(
                options,
                planned_servers=source.bootstrap_servers,
                connect_urls=options.connect_urls or source.connect_urls,
            )
        )
        self.clusters = SourceAndTarget(
            self.session,
            config_topic or source.config_topic or DEFAULT_CONFIG_TOPIC,
            TargetOptions(
                target.bootstrap_server or ",".join(other.bootstrap_servers) or None,
                target.command_config,
                target.connect_urls or other.connect_urls,
                target.config_topic or other.config_topic,
            ),
        )

    def __enter__(self) -> tuple[Session, SourceAndTarget]:
        return self.session, self.clusters

    def __exit__(self, *_: object) -> None:
        self.clusters.__exit__()
        self.session.__exit__()


def _place(plan: Plan, side: Side) -> Place:
    return next((each for each in plan.places if each.side is side), Place(side, ()))
