"""Connector plugins for a sandbox's workers: directories of jars, and artifacts with what they need."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from eosctl.errors import UsageError
from eosctl.sandbox.artifacts import holds_all, replacing, retrieve_artifacts
from eosctl.sandbox.cache import cache_directory, exclusive

_COORDINATE: Final = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+")


def check_plugin(plugin: str) -> None:
    """Raises UsageError for what is neither `group:artifact:version` nor a directory."""
    if _COORDINATE.fullmatch(plugin) is None and not Path(plugin).is_dir():
        raise UsageError(
            f"plugin {plugin!r} is no directory",
            hint="name the directory with the plugin's jars, or its coordinates GROUP:ARTIFACT:VERSION",
        )


def resolve_plugin(plugin: str, narrate: Callable[[str], None]) -> Path:
    """The directory with the plugin's jars; an artifact is fetched into the cache once.

    Raises what `check_plugin` and `retrieve_artifacts` raise.
    """
    check_plugin(plugin)
    if _COORDINATE.fullmatch(plugin) is None:
        return Path(plugin).resolve()
    directory = cache_directory() / "plugins" / plugin.replace(":", "-")
    with exclusive(directory.with_name(f"{directory.name}.lock")):
        if not holds_all(directory, (plugin,)):
            narrate(f"fetching {plugin} (once)")
            with replacing(directory, (plugin,)) as staging:
                retrieve_artifacts((plugin,), staging, narrate)
    return directory


def link_plugins(home: Path, plugins: Sequence[Path]) -> None:
    """Makes `home` an entry of a worker's plugin.path that holds these plugins and no others, each isolated.

    The entries of plugin.path are directories of plugins, so that of one plugin cannot be named there itself.
    """
    home.mkdir(exist_ok=True)
    for link in home.iterdir():
        link.unlink()
    for number, plugin in enumerate(plugins, start=1):
        (home / f"{number}-{plugin.name}").symlink_to(plugin, target_is_directory=True)
