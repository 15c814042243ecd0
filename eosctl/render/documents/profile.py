"""What the commands of `profile` answer."""

from typing import TypedDict

from eosctl.model.connection_check import CheckedStep
from eosctl.model.profile import EffectiveSetting


class ProfileWaiverRow(TypedDict):
    """A waiver of a profile: finding is the ID or name of a kind."""

    finding: str
    subject: str
    owner: str
    reason: str
    expires: str


class ProfileFields(TypedDict):
    """What a profile says; file is where it stands."""

    name: str
    bootstrap_server: str | None
    command_config: str | None
    connect_urls: list[str]
    group_id: str | None
    cluster_id: str | None
    protected: bool
    discover_workers: bool
    worker_configs: list[str]
    audit_store: str | None
    waivers: list[ProfileWaiverRow]
    file: str


class ProfileRow(ProfileFields):
    """A profile in the list of all."""

    in_use: bool
    waiver_count: int


class ProfilesData(TypedDict):
    """Every profile, and the one that is used where none is named."""

    profiles: list[ProfileRow]
    current: str | None


class ProfileData(ProfileFields):
    """One profile; of its client properties the names."""

    properties: list[str]
    timeout_s: float | None


class SettingsData(TypedDict):
    """What a command would connect with, and where each value comes from; secrets are hidden."""

    settings: list[EffectiveSetting]


class ConnectionCheckData(TypedDict):
    """How connecting goes, step by step; verdict is ok or failed."""

    verdict: str
    steps: list[CheckedStep]
