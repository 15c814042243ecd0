"""What workers' properties files and the profile say where neither command line nor environment does: group ID, topics.

Of several files the first counts: all workers of a Connect cluster have to name the same group and topics (EOS017).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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


def with_worker_files(ctx: "typer.Context", values: Mapping[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The shared options with the worker's group ID; `own`, the command's options, gets topics, files and store.

    values are as `with_profile` left them. Raises ConfigError for a file that cannot be read.
    """
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
    settings = _settings(file)
    for parameter, key in TOPICS.items():
        _offer(ctx, own, parameter, settings.get(key))
    if values.get("group_id") is not None or "group.id" not in settings:
        return dict(values)
    return {**values, "group_id": settings["group.id"], "sources": {**values["sources"], "group_id": str(file)}}


def _settings(file: Path) -> Mapping[str, str]:
    from eosctl.codecs.properties import ENCODING
    from eosctl.codecs.worker_properties import decode_worker_properties
    from eosctl.sources.files import read_content

    return decode_worker_properties(read_content(file, "--worker-config").decode(ENCODING), str(file))


def _offer(ctx: "typer.Context", own: dict[str, Any], parameter: str, value: object) -> None:
    """Give the command's option `value`, where the command has it and nobody else said anything."""
    source = ctx.get_parameter_source(parameter)
    if value and parameter in own and (source is None or source.name.startswith("DEFAULT")):
        own[parameter] = value


def _is_repeated(ctx: "typer.Context", parameter: str) -> bool:
    return any(each.name == parameter and getattr(each, "multiple", False) for each in ctx.command.params)
