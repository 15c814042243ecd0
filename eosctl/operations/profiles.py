"""Named clusters: which one a command line means, and what a worker's file says of its cluster."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from eosctl.codecs.properties import ENCODING
from eosctl.codecs.secrets import looks_secret, mask_url
from eosctl.errors import ConfigError, EosctlError, UsageError
from eosctl.executors import files as user_files
from eosctl.files import WORKER_CONFIG, read_content, read_text
from eosctl.model.client_properties import CLIENT_KEYS, HIDDEN, REFERENCE, is_broker_address, split_list
from eosctl.model.names import did_you_mean
from eosctl.model.profile import ConnectionCheck, EffectiveSetting, EffectiveSettings, Profile, Profiles
from eosctl.model.report import Severity, Triage
from eosctl.operations.session import Session
from eosctl.operations.session_options import state_directory
from eosctl.sources.profiles import (
    find_project_file,
    read_project_file,
    read_trusted_profiles,
    read_user_profiles,
    user_file,
)


class Choice(NamedTuple):
    """The profile of a command line (None: none), and the unused parts of a project's file with reasons."""

    profile: Profile | None
    unused: tuple[str, ...] = ()


def known_profiles() -> Profiles:
    """Every profile of the user, and those of a trusted project's file with other names."""
    own, file = read_user_profiles(), find_project_file()
    if file is None:
        return own
    try:
        return own.over(read_trusted_profiles(file, _trust_record(file)))
    except EosctlError as error:
        return replace(own, unused=(error.message if error.hint is None else f"{error.message}; {error.hint}",))


def chosen_profile(name: str | None) -> Choice:
    """The profile `name` (empty: none), otherwise the one in use; ConfigError where it does not exist."""
    if name == "":
        return Choice(None)
    known = known_profiles()
    wanted = name or known.current
    if wanted is None:
        return Choice(None, known.unused)
    if wanted not in known.profiles:
        hint = did_you_mean(wanted, known.profiles, "`eosctl profile list` shows all profiles")
        named = "" if name else ", which the file of profiles names as current"
        raise ConfigError(f"there is no profile {wanted}{named}", hint=". ".join((*known.unused, hint)))
    chosen = known.profiles[wanted]
    return Choice(chosen, () if name and chosen.origin == str(user_file()) else known.unused)


def triage_under(profile: Profile | None, shown_from: Severity, fail_on: Severity | None) -> Triage:
    """The treatment of findings today, with the profile's waivers; ConfigError for a waiver of an unknown finding.

    A waiver with a typing error would silently never hold.
    """
    if profile is None:
        return Triage(shown_from, fail_on)
    if profile.waivers:
        _require_findings(profile)
    today = datetime.fromtimestamp(Session.now() / 1000, UTC).date()
    return Triage(shown_from, fail_on, profile.waivers, today)


def _require_findings(profile: Profile) -> None:
    from eosctl.analysis.catalogue import index  # all themes

    for waiver in profile.waivers:
        if not index.kinds_called(waiver.finding):
            known = [word for kind in index.KINDS for word in (kind.id, kind.name)]
            hint = did_you_mean(waiver.finding, known, "`eosctl explain --list` shows all findings")
            raise ConfigError(f"{profile.label}: waivers: there is no finding {waiver.finding}", hint=hint)


def trust_project_file(path: Path | None) -> tuple[Path, Profiles]:
    """Trusts this file, or the nearest one, as it is now; returns it and its content."""
    file = _project_file(path)
    found = read_project_file(file)
    user_files.record_trust(_trust_record(file), found.digests)
    return file, found.profiles


def distrust_project_file(path: Path | None) -> Path:
    """No longer trusts this file, or the nearest one, and returns it."""
    file = _project_file(path)
    user_files.remove_trust(_trust_record(file))
    return file


def _project_file(path: Path | None) -> Path:
    file = find_project_file() if path is None else path.parent.resolve() / path.name
    if file is None:
        raise ConfigError("there is no .eosctl.yaml in this directory or one above it")
    return file


def _trust_record(file: Path) -> Path:
    return state_directory() / "trusted" / hashlib.sha256(os.fsencode(file)).hexdigest()


def use_profile(name: str) -> Path:
    """Makes `name` the profile in use, and returns the changed file; ConfigError if it does not exist."""
    chosen_profile(name)
    file = user_file()
    user_files.set_current(file, name)
    return file


def add_profile(name: str, keys: Mapping[str, object], *, update: bool) -> Profile:
    """Writes the keys (codecs.profiles.KEYS) of profile `name` into the user's file, and returns the profile.

    Paths are written as absolute ones, because the file has its own directory. ConfigError if the profile exists and
    may not be updated, or if a file does not exist.
    """
    file = user_file()
    if not name:
        raise UsageError("a profile needs a name", hint="--profile '' means none")
    if name in read_user_profiles().profiles and not update:
        hint = f"--update changes the given keys and keeps the others; or choose another name, or edit {file}"
        raise ConfigError(f"profile {name} exists in {file}", hint=hint)
    if not (update or keys.get("bootstrap-server")):
        raise UsageError("a profile needs brokers to start from", hint="give -b HOST:PORT")
    for server in split_list(str(keys.get("bootstrap-server") or "")):
        if not is_broker_address(server) and REFERENCE.search(server) is None:
            hint = "give host and port of each broker, as broker1:9092,broker2:9092"
            raise UsageError(f"-b: {mask_url(server)!r} is not HOST:PORT", hint=hint)
    user_files.set_profile(file, name, {key: _absolute(value) for key, value in keys.items()})
    return read_user_profiles().profiles[name]


def _absolute(value: object) -> object:
    """The value, a path with its directories; ConfigError where it names no file."""
    if isinstance(value, list):
        return [_absolute(each) for each in value]
    if not isinstance(value, Path):
        return value
    if not value.is_file():
        raise ConfigError(f"{value} is no file")
    return str(value.absolute())


def how_to_name_a_cluster() -> str:
    """The command that writes the first profile, and the file that it writes."""
    return f"to name a cluster, in {user_file()}:\neosctl profile add NAME -b HOST:PORT --connect-url URL --group-id ID"


def worker_settings_in(file: Path) -> Mapping[str, str]:
    """The settings in a worker's file; ConfigError where it cannot be read."""
    from eosctl.codecs import connector_files, strimzi

    text = read_content(file, WORKER_CONFIG).decode(ENCODING)
    whole = read_text(file, WORKER_CONFIG) if strimzi.is_resource(text) else text
    return connector_files.decode_worker_properties(whole, str(file))


def effective_settings(session: Session) -> EffectiveSettings:
    """The profile, the shared options, then each client property as the clients get it."""
    return EffectiveSettings(tuple(_settings(session)))


def _settings(session: Session) -> Iterator[EffectiveSetting]:
    options = session.options
    profile = options.profile
    source = options.sources.get
    yield EffectiveSetting("profile", None if profile is None else profile.name, source("profile", "default"))
    named = None if profile is None else profile.command_config
    file = options.command_config or named
    yield EffectiveSetting("command-config", None if file is None else str(file), source("command_config", "default"))
    yield EffectiveSetting("connect-url", " ".join(options.connect_urls) or None, source("connect_url", "default"))
    yield EffectiveSetting("group-id", options.group_id, source("group_id", "default"))
    files = " ".join(map(str, options.worker_configs)) or None
    yield EffectiveSetting("worker-config", files, source("worker_config", "default"))
    yield EffectiveSetting("timeout", f"{options.timeout_s:g} s", source("timeout", "default"))
    if profile is not None:
        yield EffectiveSetting("cluster-id", profile.cluster_id, profile.label if profile.cluster_id else "default")
        yield EffectiveSetting("audit-store", profile.audit_store, profile.label if profile.audit_store else "default")
        yield EffectiveSetting("protected", str(profile.protected).lower(), profile.label)
        yield EffectiveSetting("discover-workers", str(profile.discover_workers).lower(), profile.label)
        for each in profile.waivers:
            words = f"{each.finding} of {each.subject} until {each.expires} ({each.owner}: {each.reason})"
            yield EffectiveSetting("waiver", words, profile.label)
    bootstrap = source("bootstrap_server", "-b")
    for key, given in sorted(session.client_properties.properties.items()):
        shown = given.value if key in CLIENT_KEYS and not looks_secret(key) else HIDDEN
        yield EffectiveSetting(key, shown, bootstrap if given.origin == "-b" else given.origin)


def check_connection(session: Session) -> ConnectionCheck:
    """Every step of every client to the cluster and its workers; UsageError where no cluster was named."""
    from eosctl.clients.checks import check_connections

    properties, options = session.client_properties, session.options
    if not properties.bootstrap_servers:
        options.need_bootstrap_servers()
    return ConnectionCheck(tuple(check_connections(properties, options.connect_urls, options.timeout_s)))
