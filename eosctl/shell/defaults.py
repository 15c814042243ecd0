"""Where the value of an option comes from, first wins: flag, -X, EOSCTL_ variable, profile, worker file, default.

Of several worker files the first counts: all workers of a Connect cluster have to name the same group and topics
(EOS017).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eosctl.errors import ConfigError, Refused
from eosctl.model.client_properties import REFERENCE

if TYPE_CHECKING:
    import typer

    from eosctl.model.profile import Profile

WORKER_CONFIG: Final = "worker_config"
STORE: Final = "store"
TOPICS: Final = {
    "config_topic": "config.storage.topic",
    "worker_offsets_topic": "offset.storage.topic",
    "status_topic": "status.storage.topic",
}
"""Options of commands, by parameter, and the worker's setting that each repeats."""


FLAGS: Final[Mapping[str, str]] = {
    "bootstrap_server": "--bootstrap-server",
    "command_config": "--command-config",
    "connect_url": "--connect-url",
    "group_id": "--group-id",
    "worker_config": "--worker-config",
    "timeout": "--timeout",
    "profile": "--profile",
}
"""Shared options that a profile can give (and the one that names it), by parameter."""


def with_profile(ctx: "typer.Context", values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the shared options with the profile's where neither command line nor environment gives one.

    `profile` becomes the Profile, `sources` says where each value came from, `unused` what of a project's file is
    not used, and `triage` how findings are treated.
    """
    from eosctl.operations.profiles import chosen_profile, triage_under

    profile, unused = chosen_profile(values.get("profile"))
    given = {name: _source(ctx, name) for name in FLAGS}
    merged = {**values, "profile": profile, "unused": unused}
    if "severity" in values:
        merged["triage"] = triage_under(profile, values["severity"], values["fail_on"])
    merged["sources"] = {name: source or "default" for name, source in given.items()}
    if profile is None:
        return merged
    if given["profile"] is None:
        merged["sources"]["profile"] = "current"
    offers = {
        "connect_url": list(profile.connect_urls),
        "group_id": profile.group_id,
        "timeout": profile.timeout_s,
        "worker_config": [Path(each) for each in profile.worker_configs],
    }
    for name, offer in offers.items():
        if given[name] is None and offer:
            merged[name] = offer
            merged["sources"][name] = profile.label
    for name, own in (("bootstrap_server", profile.bootstrap_server), ("command_config", profile.command_config)):
        if given[name] is None and own is not None:
            merged["sources"][name] = profile.label
    return merged


def require_named(profile: "Profile | None", sources: Mapping[str, str], *, yes: bool) -> None:
    """Refused where --yes meets a protected profile that the command line does not name."""
    if profile is not None and profile.protected and yes and sources.get("profile") != FLAGS["profile"]:
        raise Refused(
            f"profile {profile.name} is protected, and --yes alone does not do",
            hint=f"give --profile {profile.name} too, or leave --yes out and answer",
        )


def _source(ctx: "typer.Context", name: str) -> str | None:
    source = ctx.get_parameter_source(name)
    match None if source is None else source.name:
        case "COMMANDLINE" | "PROMPT":
            return FLAGS[name]
        case "ENVIRONMENT":
            return "EOSCTL_" + FLAGS[name].lstrip("-").upper().replace("-", "_")
    return None


def with_worker_files(ctx: "typer.Context", values: Mapping[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The shared options with the worker's group ID; `own`, the command's options, gets topics, files and store.

    values are as `with_profile` left them. Raises ConfigError for a file that cannot be read.
    """
    from eosctl.operations.profiles import worker_settings_in

    profile: Profile | None = values["profile"]
    if profile is not None:
        _offer(ctx, own, STORE, profile.audit_store)
        if profile.worker_configs and not own.get(WORKER_CONFIG):
            files = [Path(each) for each in profile.worker_configs]
            _offer(ctx, own, WORKER_CONFIG, files if _is_repeated(ctx, WORKER_CONFIG) else files[0])
    named = own.get(WORKER_CONFIG) or values.get(WORKER_CONFIG)
    if not named:
        return dict(values)
    file = named[0] if isinstance(named, list) else named
    settings = worker_settings_in(file)
    for parameter, key in TOPICS.items():
        if _offer(ctx, own, parameter, settings.get(key)):
            _require_value(settings, key, file, f"--{parameter.replace('_', '-')}")
    if values.get("group_id") is not None or "group.id" not in settings:
        return dict(values)
    _require_value(settings, "group.id", file, FLAGS["group_id"])
    return {**values, "group_id": settings["group.id"], "sources": {**values["sources"], "group_id": str(file)}}


def _require_value(settings: Mapping[str, str], key: str, file: Path, flag: str) -> None:
    """ConfigError where a reference to a config provider stands in the place of the value."""
    if REFERENCE.search(settings[key]):
        raise ConfigError(
            f"{file}: {key} is {settings[key]}, a reference that only the worker resolves", hint=f"give {flag}"
        )


def _offer(ctx: "typer.Context", own: dict[str, Any], parameter: str, value: object) -> bool:
    """Give the command's option `value`, where the command has it and nobody else said anything; whether it was so."""
    source = ctx.get_parameter_source(parameter)
    is_taken = bool(value) and parameter in own and (source is None or source.name.startswith("DEFAULT"))
    if is_taken:
        own[parameter] = value
    return is_taken


def _is_repeated(ctx: "typer.Context", parameter: str) -> bool:
    return any(each.name == parameter and getattr(each, "multiple", False) for each in ctx.command.params)
