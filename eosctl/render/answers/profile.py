"""Profiles, where values come from, and how connecting goes."""

from typing import TypedDict

from eosctl.model.connection_check import CheckedStep, ConnectionCheck
from eosctl.model.profile import EffectiveSetting, EffectiveSettings, Profile, Profiles
from eosctl.render.document import Column, Document, Fields, Table, Tone, figure

# What the commands of `profile` answer.


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


PROFILES = Table(
    "profiles",
    (
        Column("NAME", "name"),
        Column("IN-USE", "in_use"),
        Column("BOOTSTRAP-SERVER", "bootstrap_server"),
        Column("GROUP-ID", "group_id"),
        Column("CLUSTER-ID", "cluster_id"),
        Column("PROTECTED", "protected"),
        figure("WAIVERS", "waiver_count"),
        Column("FILE", "file"),
    ),
    empty="there are no profiles",
)
SETTINGS = Table("settings", (Column("SETTING", "setting"), Column("VALUE", "value"), Column("SOURCE", "source")))
STEPS = Table(
    "steps",
    (
        Column("CLIENT", "client"),
        Column("ADDRESS", "address"),
        Column("STEP", "step"),
        Column("OUTCOME", "outcome", tones={"ok": Tone.GOOD, "failed": Tone.BAD}),
        Column("DETAIL", "detail"),
        Column("HINT", "hint"),
    ),
)


def view_profiles(profiles: Profiles) -> Document:
    """Every profile, by name."""
    data: ProfilesData = {
        "profiles": [
            {**_fields(each), "in_use": each.name == profiles.current, "waiver_count": len(each.waivers)}
            for _, each in sorted(profiles.profiles.items())
        ],
        "current": profiles.current,
    }
    return Document("profiles", data, blocks=(PROFILES,))


def view_settings(effective: EffectiveSettings) -> Document:
    """Each setting with its value and source."""
    data: SettingsData = {"settings": list(effective.settings)}
    return Document("settings", data, blocks=(SETTINGS,))


def view_connection_check(check: ConnectionCheck) -> Document:
    """Each step of each client, and whether all went well."""
    data: ConnectionCheckData = {"verdict": "failed" if check.found else "ok", "steps": list(check.steps)}
    return Document("connection-check", data, blocks=(STEPS,))


def _fields(profile: Profile) -> ProfileFields:
    return {
        "name": profile.name,
        "bootstrap_server": profile.bootstrap_server,
        "command_config": profile.command_config,
        "connect_urls": list(profile.connect_urls),
        "group_id": profile.group_id,
        "cluster_id": profile.cluster_id,
        "protected": profile.protected,
        "discover_workers": profile.discover_workers,
        "worker_configs": list(profile.worker_configs),
        "audit_store": profile.audit_store,
        "waivers": [
            {
                "finding": each.finding,
                "subject": each.subject,
                "owner": each.owner,
                "reason": each.reason,
                "expires": each.expires.isoformat(),
            }
            for each in profile.waivers
        ],
        "file": profile.origin,
    }


def view_profile(profile: Profile) -> Document:
    """One profile; of its client properties the names."""
    data: ProfileData = {
        **_fields(profile),
        "properties": sorted(profile.properties),
        "timeout_s": profile.timeout_s,
    }
    columns = tuple(Column(key.upper().replace("_", "-"), key) for key in data)
    return Document("profile", data, blocks=(Fields(columns),))
