"""The user's file of profiles."""

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eosctl.codecs import profiles as profile_files
from eosctl.codecs.properties import ENCODING, decode_properties
from eosctl.errors import ConfigError, Refused, reason_of
from eosctl.files import PROFILES, read_bounded, read_text
from eosctl.model.client_properties import REFERENCE
from eosctl.model.profile import Profiles


def user_file() -> Path:
    """`eosctl/config.yaml` in XDG_CONFIG_HOME, by default ~/.config."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(home, "eosctl", "config.yaml")


def read_user_profiles() -> Profiles:
    path = user_file()
    if not path.exists():
        return Profiles()
    return anchored(profile_files.decode_profiles(read_text(path, PROFILES), str(path)), path.parent)


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


# A project's file of profiles, `.eosctl.yaml`: the directory's owner wrote it, so it is used only where trusted.
#
# Trust covers its path and content, and the client properties files that it names, as in direnv. A record keeps the
# trusted files: the SHA-256 of each, in the form of sha256sum.


NAME: Final = ".eosctl.yaml"
TRUST_HINT: Final = "read it, and if you want it to be used: eosctl profile trust"


class ProjectFile(Struct, frozen=True):
    """The profiles of a project's file, and the SHA-256 of it and of each file that says how to connect, by path."""

    profiles: Profiles
    digests: Mapping[str, str]


def find_project_file() -> Path | None:
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the directory was deleted
        return None
    return next((place / NAME for place in (here, *here.parents) if _is_file(place / NAME)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def read_trusted_profiles(path: Path, record: Path) -> Profiles:
    """The profiles of a project's file that the user trusts by `record`.

    Nothing in the file is decoded before its trust is checked. Raises Refused if it is not trusted, or if another user
    can change it.
    """
    trusted = read_trust(record)
    content = _read_own_file(path)
    if str(path) not in trusted:
        raise Refused(f"{path} is not trusted, so no profile in it is used", hint=TRUST_HINT)
    if trusted[str(path)] != _digest(content):
        raise Refused(f"{path} has changed since you trusted it, so no profile in it is used", hint=TRUST_HINT)
    found = _decoded(path, content)
    for name, digest in found.digests.items():
        if trusted.get(name) != digest:
            what = f"{name}, which {path} names, has changed since you trusted it, so no profile of {path} is used"
            raise Refused(what, hint=TRUST_HINT)
    return found.profiles


def read_project_file(path: Path) -> ProjectFile:
    """The digests that trusting the file records. Raises Refused or ConfigError if it cannot be trusted."""
    return _decoded(path, _read_own_file(path))


def read_trust(record: Path) -> Mapping[str, str]:
    try:
        lines = record.read_text("utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return {}
    return {path: digest for digest, _, path in (line.partition("  ") for line in lines)}


def _decoded(path: Path, content: bytes) -> ProjectFile:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text, so it is no file of profiles") from error
    profiles = anchored(profile_files.decode_profiles(text, str(path)), path.parent)
    profile_files.require_no_references(profiles, str(path))
    digests = {str(path): _digest(content)}
    for name in sorted({each.command_config for each in profiles.profiles.values() if each.command_config}):
        properties = _read_own_file(Path(name))
        decoded = decode_properties(properties.decode(ENCODING), origin=name)
        for key, value in decoded.items():
            if REFERENCE.search(value) is not None:
                raise ConfigError(
                    f"{name}, which {path} names: {key} refers to a config provider, which a project's file may not",
                    hint="secrets of your own belong into a profile of your own, or into --command-config or -X",
                )
        digests[name] = _digest(properties)
    return ProjectFile(profiles, digests)


def _read_own_file(path: Path) -> bytes:
    """The bytes of a file that only this user (and root) can change; the checked file is the one that is read."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # a pipe would be waited for
            _require_own(path, os.fstat(file.fileno()))
            return read_bounded(file, PROFILES)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {reason_of(error)}") from error


def _require_own(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"{path} is not a regular file, so nothing in it is used")
    if found.st_uid not in {os.geteuid(), 0}:
        raise Refused(
            f"{path} belongs to another user (ID {found.st_uid}), so nothing in it is used",
            hint="write a file of your own, or a profile into ~/.config/eosctl/config.yaml",
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Refused(f"{path} can be changed by other users, so nothing in it is used", hint=f"chmod go-w {path}")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
