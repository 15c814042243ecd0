"""Where each setting of a command line comes from; secrets are hidden."""

from collections.abc import Iterator

from eosctl.codecs.secrets import looks_secret
from eosctl.model.client_keys import CLIENT_KEYS
from eosctl.model.client_properties import HIDDEN
from eosctl.model.profile import EffectiveSetting, EffectiveSettings
from eosctl.operations.session import Session


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
