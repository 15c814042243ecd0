"""Named clusters: which one a command line means, and what a worker's file says of its cluster."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from eosctl.codecs.properties import ENCODING
from eosctl.codecs.worker_properties import decode_worker_properties
from eosctl.errors import ConfigError
from eosctl.executors.profile_file import set_current
from eosctl.model.profile import Profile, Profiles
from eosctl.sources.files import read_content
from eosctl.sources.profiles import project_file, read_profiles, user_file


def known_profiles() -> Profiles:
    """Every profile of the user and the project."""
    return read_profiles()


def chosen_profile(name: str | None) -> Profile | None:
    """The profile `name` (empty: none), else the one in use; ConfigError where it does not exist."""
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


def use_profile(name: str) -> Path:
    """Makes `name` the profile in use, and returns the file that says so; ConfigError where it does not exist."""
    chosen_profile(name)
    file = user_file()
    set_current(file, name)
    return file


def worker_settings_in(file: Path) -> Mapping[str, str]:
    """The settings in a worker's properties file; ConfigError where it cannot be read."""
    return decode_worker_properties(read_content(file, "--worker-config").decode(ENCODING), str(file))
