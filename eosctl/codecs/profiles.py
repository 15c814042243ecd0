"""The file of profiles: YAML text -> Profiles, and the text with one profile more."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Final, TypeGuard

from eosctl.codecs import yaml_text
from eosctl.codecs.secrets import looks_secret
from eosctl.codecs.yaml_text import decode_yaml
from eosctl.errors import ConfigError
from eosctl.model.client_properties import REFERENCE
from eosctl.model.names import did_you_mean
from eosctl.model.profile import Profile, Profiles
from eosctl.model.report import Waiver

TOP: Final = ("current", "profiles")
KEYS: Final = (
    *("bootstrap-server", "command-config", "connect-url", "group-id"),
    *("timeout", "cluster-id", "protected", "properties", "worker-config", "audit-store"),
    *("discover-workers", "waivers"),
)
WAIVER_KEYS: Final = ("id", "subject", "owner", "reason", "expires")
LONGEST_S: Final = 10**9
"""31 years, as for --timeout."""
TOO_LARGE: Final = 1 << 128
_BY_REFERENCE = "write env:NAME or file:PATH and keep it there"


def decode_profiles(text: str, origin: str) -> Profiles:
    """The profiles of a file.

    1. `current: NAME` and `profiles:`, a mapping of names to mappings with the keys of KEYS; `connect-url` and
       `worker-config` may be lists; `properties` are client properties.
    2. A key that is unknown, or given twice, is an error.
    3. `waivers` is a list of mappings with all keys of WAIVER_KEYS; `expires` is a day, as 2026-12-31.
    4. The value of a property whose key looks secret is `env:NAME`, `file:PATH` (the whole file), or holds a reference
       to a config provider; URLs hold no password.

    Raises ConfigError naming file, profile and key, and the key that may have been meant.
    """
    top = _mapping(decode_yaml(text, origin), origin, TOP)
    profiles = {
        str(name): _profile(str(name), given, origin)
        for name, given in _mapping(top.get("profiles"), f"{origin}: profiles").items()
    }
    current = _text(top.get("current"), f"{origin}: current")
    return Profiles(profiles, current)


def with_profile_keys(text: str, name: str, keys: Mapping[str, object], origin: str) -> str:
    """The text with these keys of profile `name`, which is added if it is missing. Other lines do not change.

    Raises ConfigError if the result is no file of profiles, as with a password in a URL.
    """
    address = next(yaml_text.addresses(text), None)
    if address is None:
        text = (
            text + ("" if text.endswith("\n") or not text else "\n") + yaml_text.block({"profiles": {name: dict(keys)}})
        )
    elif name not in decode_profiles(text, origin).profiles:
        text = yaml_text.set_value(text, address, ("profiles", name), dict(keys))
    else:
        for key, value in keys.items():
            place = ("profiles", name, key)
            text = yaml_text.set_value(yaml_text.remove_value(text, address, place), address, place, value)
    decode_profiles(text, origin)
    return text


def require_no_references(profiles: Profiles, origin: str) -> None:
    """Raises ConfigError where a profile refers to config providers, or declares one.

    The author of a project's file decides where to connect to. With a reference, also what is sent there.
    """
    for name, profile in profiles.profiles.items():
        fields: dict[str, str | None] = {
            "bootstrap-server": profile.bootstrap_server,
            "command-config": profile.command_config,
            "group-id": profile.group_id,
            "audit-store": profile.audit_store,
            **{f"connect-url {each}": each for each in profile.connect_urls},
            **{f"worker-config {each}": each for each in profile.worker_configs},
            **{f"properties: {key}": value for key, value in profile.properties.items()},
        }
        for field, value in fields.items():
            if REFERENCE.search(value or "") is not None or field.startswith("properties: config.providers"):
                raise ConfigError(
                    f"{origin}: profile {name}: {field} refers to a config provider, a file or the environment, which "
                    "a project's file may not",
                    hint="secrets of your own belong into a profile of your own, or into --command-config or -X",
                )


def _profile(name: str, given: object, origin: str) -> Profile:
    place = f"{origin}: profile {name}"
    fields = _mapping(given, place, KEYS)
    timeout = fields.get("timeout")
    if timeout is not None and not _is_timeout(timeout):
        raise ConfigError(
            f"{place}: timeout is {timeout!r}, not a number of seconds",
            hint=f"write it as 30: above 0, at most {LONGEST_S}",
        )
    for key in ("protected", "discover-workers"):
        if not isinstance(fields.get(key, False), bool):
            raise ConfigError(f"{place}: {key} is {fields[key]!r}", hint="write it as true or false")
    return Profile(
        name=name,
        origin=origin,
        bootstrap_server=_text(fields.get("bootstrap-server"), f"{place}: bootstrap-server"),
        command_config=_text(fields.get("command-config"), f"{place}: command-config"),
        connect_urls=tuple(_url(each, f"{place}: connect-url") for each in _list(fields.get("connect-url"))),
        group_id=_text(fields.get("group-id"), f"{place}: group-id"),
        timeout_s=None if not _is_timeout(timeout) else float(timeout),
        cluster_id=_text(fields.get("cluster-id"), f"{place}: cluster-id"),
        protected=bool(fields.get("protected", False)),
        discover_workers=bool(fields.get("discover-workers", False)),
        worker_configs=tuple(
            _text(each, f"{place}: worker-config") or "" for each in _list(fields.get("worker-config"))
        ),
        audit_store=_store(fields.get("audit-store"), f"{place}: audit-store"),
        waivers=tuple(
            _waiver(each, f"{place}: waiver {number}")
            for number, each in enumerate(_list(fields.get("waivers")), start=1)
        ),
        properties=_properties(fields.get("properties"), f"{place}: properties"),
    )


def _is_timeout(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LONGEST_S


def _list(given: object) -> list[object]:
    """A value or a list of values as a list, without empty ones."""
    return [each for each in (given if isinstance(given, list) else [given]) if each]


def _store(value: object, place: str) -> str | None:
    text = _text(value, place)
    scheme, _, rest = (text or "").partition("://")
    user = REFERENCE.sub("", rest if scheme.isalnum() else text or "").rpartition("@")[0]
    if user.partition(":")[2]:
        raise ConfigError(f"{place} holds a password", hint="leave it out, or write ${env:NAME} in its place")
    return text


def _waiver(given: object, place: str) -> Waiver:
    """One waiver; owner, reason and end are required, so that it is removed one day."""
    fields = _mapping(given, place, WAIVER_KEYS)
    finding, subject, owner, reason = (_text(fields.get(key), f"{place}: {key}") for key in WAIVER_KEYS[:-1])
    if not (finding and subject and owner and reason):
        missing = next(key for key in WAIVER_KEYS if not fields.get(key))
        raise ConfigError(f"{place} has no {missing}", hint=f"a waiver has {', '.join(WAIVER_KEYS)}")
    return Waiver(finding, subject, owner, reason, _day(fields.get("expires"), f"{place}: expires"))


def _day(value: object, place: str) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise ConfigError(f"{place} is not a day", hint="write it as 2026-12-31") from None


def _properties(given: object, place: str) -> dict[str, str]:
    return {str(key): _property(str(key), value, place) for key, value in _mapping(given, place).items()}


def _property(key: str, value: object, place: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = "" if value is None else _plain(value, place)
    if not looks_secret(key):
        return text
    kind, _, rest = text.partition(":")
    if kind == "env" and rest:
        return f"${{env:{rest}}}"
    if kind == "file" and rest:
        directory, slash, name = rest.rpartition("/")
        return f"${{dir:{directory or slash or '.'}:{name}}}"
    if REFERENCE.search(text) is None:
        raise ConfigError(f"{place}: {key} is a secret, which does not belong into this file", hint=_BY_REFERENCE)
    return text


def _url(value: object, place: str) -> str:
    text = _text(value, place) or ""
    if "@" in text:
        raise ConfigError(
            f"{place} holds a user and password", hint="give basic.auth.user.info: env:NAME in properties"
        )
    return text.rstrip("/")


def _text(value: object, place: str) -> str | None:
    if value is not None and not isinstance(value, str | int):
        raise ConfigError(f"{place} is not text")
    return None if value is None else _plain(value, place)


def _plain(value: object, place: str) -> str:
    if isinstance(value, int) and abs(value) >= TOO_LARGE:
        raise ConfigError(f"{place} is a number beyond all limits")
    return str(value)


def _mapping(value: object, place: str, keys: tuple[str, ...] = ()) -> Mapping[object, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{place} is not a mapping of keys to values", hint="write KEY: VALUE, one on each line")
    for key in value:
        if keys and key not in keys:
            hint = did_you_mean(str(key), keys, f"known are {', '.join(keys)}")
            raise ConfigError(f"{place}: {key} is unknown", hint=hint)
    return value
