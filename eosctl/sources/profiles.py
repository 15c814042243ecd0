"""Where profiles are kept: the user's file."""

import os
from dataclasses import replace
from pathlib import Path

from eosctl.codecs.profiles import decode_profiles
from eosctl.files import PROFILES, read_text
from eosctl.model.profile import Profiles


def user_file() -> Path:
    """`eosctl/config.yaml` in XDG_CONFIG_HOME, by default ~/.config."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(home, "eosctl", "config.yaml")


def read_user_profiles() -> Profiles:
    """The profiles of the user's file; none where there is no such file."""
    path = user_file()
    if not path.is_file():
        return Profiles()
    return anchored(decode_profiles(read_text(path, PROFILES), str(path)), path.parent)


def anchored(profiles: Profiles, home: Path) -> Profiles:
    """The profiles with the paths in them as absolute ones: in a file of directory `home` they are relative to it."""

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
