"""Where profiles are kept: the user's file, and a project's file found upward."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from eosctl.codecs.profiles import decode_profiles
from eosctl.model.profile import Profiles
from eosctl.sources.files import read_text

PROJECT_FILE: Final = ".eosctl.yaml"


def user_file() -> Path:
    """`eosctl/config.yaml` in XDG_CONFIG_HOME, by default ~/.config."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(home, "eosctl", "config.yaml")


def project_file() -> Path | None:
    """The nearest `.eosctl.yaml` of this directory and those above it."""
    here = Path.cwd()
    return next((place / PROJECT_FILE for place in (here, *here.parents) if (place / PROJECT_FILE).is_file()), None)


def read_profiles() -> Profiles:
    """The profiles of both files; those of the project win. Paths in a file are relative to it."""
    found = Profiles()
    for path in (user_file(), project_file()):
        if path is not None and path.is_file():
            found = _anchored(decode_profiles(read_text(path, "file of profiles"), str(path)), path.parent).over(found)
    return found


def _anchored(profiles: Profiles, home: Path) -> Profiles:
    def placed(path: str) -> str:
        return str(home / Path(path).expanduser())

    return replace(
        profiles,
        profiles={
            name: replace(
                each,
                command_config=None if each.command_config is None else placed(each.command_config),
                worker_configs=tuple(map(placed, each.worker_configs)),
            )
            for name, each in profiles.profiles.items()
        },
    )
