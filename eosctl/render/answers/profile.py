"""Profiles, where values come from, and how connecting goes."""

from typing import Annotated, TypeVar

from msgspec import Struct
from msgspec.structs import fields

from eosctl.model.profile import CheckedStep, ConnectionCheck, EffectiveSetting, EffectiveSettings, Profile, Profiles
from eosctl.render.document import Column, Document, Fields, Table, Tone, col, columns, row_of

P = TypeVar("P", bound="ProfileFields")

# The answers of the commands of `profile`.


class ProfileWaiverRow(Struct, frozen=True):
    """A waiver of a profile: finding is the ID or name of a kind."""

    finding: str
    subject: str
    owner: str
    reason: str
    expires: str


class ProfileFields(Struct, frozen=True):
    """The keys of a profile; file is where it is defined."""

    name: Annotated[str, "the profile's name, as --profile takes it"]
    bootstrap_server: Annotated[str | None, "brokers to start from"]
    command_config: str | None
    connect_urls: list[str]
    group_id: Annotated[str | None, "the Connect cluster"]
    cluster_id: Annotated[str | None, "the Kafka cluster that may be written to"]
    protected: Annotated[bool, "yes: --yes is accepted only together with --profile"]
    discover_workers: bool
    worker_configs: list[str]
    audit_store: str | None
    waivers: list[ProfileWaiverRow]
    file: Annotated[str, "the file that defines it"]


class ProfileRow(ProfileFields, frozen=True):
    """A profile in the list of all."""

    in_use: Annotated[bool, "yes: used if no profile is named"]
    waiver_count: Annotated[int, col("how many waivers for findings it has", "WAIVERS")]


class ProfilesData(Struct, frozen=True):
    """Every profile, and the one that is used where none is named."""

    profiles: list[ProfileRow]
    current: str | None


class ProfileData(ProfileFields, frozen=True):
    """One profile; of its client properties the names."""

    properties: list[str]
    timeout_s: float | None


class SettingsData(Struct, frozen=True):
    """The connection settings of a command, each with its origin; secrets are hidden."""

    settings: list[EffectiveSetting]


class ConnectionCheckData(Struct, frozen=True):
    """The connection, step by step; verdict is ok or failed."""

    verdict: str
    steps: list[CheckedStep]


PROFILES = Table(
    "profiles",
    columns(ProfileRow, "name in_use bootstrap_server group_id cluster_id protected waiver_count file"),
    empty="there are no profiles",
)
SETTINGS = Table("settings", columns(EffectiveSetting, "setting value source"))
STEPS = Table(
    "steps",
    (
        *columns(CheckedStep, "client address step"),
        Column("OUTCOME", "outcome", "ok, failed or not-tried", tones={"ok": Tone.GOOD, "failed": Tone.BAD}),
        *columns(CheckedStep, "detail hint"),
    ),
)


def view_profiles(profiles: Profiles) -> Document:
    data = ProfilesData(
        profiles=[
            _row(ProfileRow, each, in_use=each.name == profiles.current, waiver_count=len(each.waivers))
            for _, each in sorted(profiles.profiles.items())
        ],
        current=profiles.current,
    )
    return Document("profiles", data, blocks=(PROFILES,))


def view_settings(effective: EffectiveSettings) -> Document:
    data = SettingsData(settings=list(effective.settings))
    return Document("settings", data, blocks=(SETTINGS,))


def view_connection_check(check: ConnectionCheck) -> Document:
    """Each step of each client, and whether all went well."""
    data = ConnectionCheckData(verdict="failed" if check.found else "ok", steps=list(check.steps))
    return Document("connection-check", data, blocks=(STEPS,))


def _row(kind: type[P], profile: Profile, **more: object) -> P:
    waivers = [row_of(ProfileWaiverRow, each, expires=each.expires.isoformat()) for each in profile.waivers]
    return row_of(kind, profile, waivers=waivers, file=profile.origin, **more)


def view_profile(profile: Profile) -> Document:
    data = _row(ProfileData, profile, properties=sorted(profile.properties))
    shown = " ".join(each.name for each in fields(ProfileData))
    return Document("profile", data, blocks=(Fields(columns(ProfileData, shown)),))
