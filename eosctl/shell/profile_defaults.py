"""What a profile adds to the shared options: flag, -X, EOSCTL_ variable, profile, default, in this order."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from eosctl.errors import ConfigError, Refused

if TYPE_CHECKING:
    import typer

    from eosctl.model.profile import Profile

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


def chosen_profile(name: str | None) -> "Profile | None":
    """The profile `name` (empty: none), else the one in use; ConfigError where it does not exist."""
    from eosctl.sources.profiles import project_file, read_profiles, user_file

    if name == "" or (name is None and not user_file().is_file() and project_file() is None):
        return None
    known = read_profiles()
    wanted = name or known.current
    if wanted is None:
        return None
    if wanted not in known.profiles:
        meant = get_close_matches(wanted, known.profiles, 1)
        hint = f"did you mean {meant[0]}?" if meant else "`eosctl profile list` shows those that there are"
        raise ConfigError(f"there is no profile {wanted}", hint=hint)
    return known.profiles[wanted]


def with_profile(ctx: "typer.Context", values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the shared options with the profile's where neither command line nor environment gives one.

    `profile` becomes the Profile, and `sources` says where each value came from.
    """
    profile = chosen_profile(values.get("profile"))
    given = {name: _source(ctx, name) for name in FLAGS}
    merged = {**values, "profile": profile, "sources": {name: source or "default" for name, source in given.items()}}
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
