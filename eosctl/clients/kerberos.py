"""SASL/GSSAPI (Kerberos) as a Java client's sasl.jaas.config describes it, for kafka-python's connections.

It needs the package gssapi, which is built against the Kerberos libraries of the machine and is therefore not among the
requirements. Realms and KDCs come from krb5.conf, as for every program in C (KRB5_CONFIG); tickets from a keytab or
from kinit.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from eosctl.codecs.client_properties import decode_jaas
from eosctl.errors import ConfigError, Unsupported
from eosctl.files import require_file
from eosctl.model.client_properties import ClientProperties

MECHANISM: Final = "GSSAPI"
DEFAULT_SERVICE: Final = "kafka"


class KerberosService(str):
    """The name of the brokers' service, with the client's credentials (None: kinit's).

    kafka-python passes this one setting to its mechanism unchanged, and no unknown ones.
    """

    __slots__ = ("credentials",)

    credentials: Any

    def __new__(cls, name: str, credentials: Any = None) -> Self:  # noqa: ANN401  # untyped library
        made = super().__new__(cls, name)
        made.credentials = credentials
        return made


def kerberos_service(properties: ClientProperties) -> KerberosService:
    """The brokers' service and the credentials of `sasl.jaas.config` (Krb5LoginModule), ready for use.

    1. The service is `sasl.kerberos.service.name`, otherwise the option `serviceName`, then kafka.
    2. `useKeyTab=true`: `principal` logs in with the keys in `keyTab`; tickets are kept in memory.
    3. Otherwise the tickets of kinit are used: those in `ticketCache`, or of the environment's KRB5CCNAME.

    Raises Unsupported where the package gssapi is missing, ConfigError for options that cannot be used.
    """
    _require_gssapi()
    jaas = properties.get("sasl.jaas.config")
    options: Mapping[str, str] = {} if jaas is None else decode_jaas(jaas)[0].options
    name = properties.get("sasl.kerberos.service.name") or options.get("serviceName") or DEFAULT_SERVICE
    service = KerberosService(name, _credentials(options))
    _register()
    return service


def keytab_of(properties: ClientProperties) -> tuple[str, str] | None:
    """Keytab and principal of `sasl.jaas.config`, None where the tickets of kinit are to be used."""
    jaas = properties.get("sasl.jaas.config")
    options = {} if jaas is None else decode_jaas(jaas)[0].options
    return _keytab(options)


def _keytab(options: Mapping[str, str]) -> tuple[str, str] | None:
    if options.get("useKeyTab", "").lower() != "true":
        return None
    keytab, principal = options.get("keyTab", ""), options.get("principal", "")
    if not keytab or not principal:
        missing = "principal" if keytab else "keyTab"
        raise ConfigError(f"sasl.jaas.config has useKeyTab=true and no {missing}")
    place = keytab.removeprefix("file:").removeprefix("FILE:")
    require_file(Path(place), "the keytab")
    return place, principal


def _require_gssapi() -> None:
    try:
        import gssapi  # noqa: F401  # only whether it is there
    except (ImportError, OSError) as error:
        raise Unsupported(
            "SASL mechanism GSSAPI needs the Python package gssapi, which is not installed here",
            hint="without Kerberos, set sasl.mechanism, whose default is GSSAPI; with it, install a C compiler and the "
            "Kerberos headers (Debian: gcc libkrb5-dev), then pip install gssapi",
        ) from error


def _credentials(options: Mapping[str, str]) -> Any:  # noqa: ANN401  # untyped library
    import gssapi

    keytab, cache = _keytab(options), options.get("ticketCache")
    try:
        if keytab is not None:
            name = gssapi.Name(keytab[1], gssapi.NameType.kerberos_principal)
            # One name of a cache for each keytab: in memory, so it ends with this process.
            store = {"client_keytab": f"FILE:{keytab[0]}", "ccache": f"MEMORY:eosctl-{keytab[1]}-{keytab[0]}"}
            return gssapi.Credentials(name=name, usage="initiate", store=store)
        if cache:
            tickets = cache.removeprefix("FILE:")
            require_file(Path(tickets), "the ticket cache")
            return gssapi.Credentials(usage="initiate", store={"ccache": f"FILE:{tickets}"})
    except gssapi.exceptions.GSSError as error:
        place = f"keytab {keytab[0]} for {keytab[1]}" if keytab is not None else f"ticket cache {cache}"
        raise ConfigError(f"{place} cannot be used: {_reason(error)}", hint="klist -k shows a keytab's keys") from error
    return None


def _register() -> None:
    """Replaces kafka-python's mechanism, which only knows kinit's credentials, by one with its own credentials."""
    from kafka.errors import SaslAuthenticationFailedError
    from kafka.net.sasl import register_sasl_mechanism
    from kafka.net.sasl.gssapi import SaslMechanismGSSAPI

    class Gssapi(SaslMechanismGSSAPI):  # type: ignore[misc]  # the library is untyped
        def __init__(self, **config: Any) -> None:  # noqa: ANN401  # untyped library
            import gssapi

            service: KerberosService = config["sasl_kerberos_service_name"]
            self._is_done = self._is_authenticated = False
            self.auth_id = f"{service}@{config['host']}"
            hostbased = gssapi.NameType.hostbased_service
            try:
                self.gssapi_name = gssapi.Name(self.auth_id, hostbased).canonicalize(gssapi.MechType.kerberos)
                self._client_ctx = gssapi.SecurityContext(
                    name=self.gssapi_name, creds=service.credentials, usage="initiate"
                )
                self._next_token = self._client_ctx.step(None)
            except gssapi.exceptions.GSSError as error:
                raise SaslAuthenticationFailedError(_reason(error)) from error

    register_sasl_mechanism(MECHANISM, Gssapi, overwrite=True)


def _reason(error: Any) -> str:  # noqa: ANN401  # untyped library
    """The mechanism's own words, which name the problem; the major status only says that there is one."""
    statuses = (error.get_all_statuses(error.min_code, is_maj=False) if error.min_code else []) or [str(error)]
    return "; ".join(each.decode() if isinstance(each, bytes) else str(each) for each in statuses)
