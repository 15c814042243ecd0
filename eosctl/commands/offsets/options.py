"""The options of commands that read offsets, and the decorator that makes them one request."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Concatenate, Final, ParamSpec, TypeAlias

import typer
from msgspec.structs import replace

from eosctl.commands.options import ConfigTopic, ConnectorNames, WorkerConfig, WorkerOffsetsTopic
from eosctl.model.client_properties import split_list
from eosctl.model.offsets import Store
from eosctl.model.workers import KnownPhase, SourceSupport
from eosctl.operations.offset_stores import OffsetsRequest
from eosctl.shell.options import GlobalOptions

P = ParamSpec("P")

OffsetsTopic: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TOPIC",
        envvar="EOSCTL_OFFSETS_TOPIC",
        help="The connector-specific offsets topic; overrides offsets.storage.topic of the connectors' configs.",
    ),
]
ExactlyOnce: TypeAlias = Annotated[
    SourceSupport | None,
    typer.Option(
        metavar="|".join(SourceSupport),
        envvar="EOSCTL_EXACTLY_ONCE",
        help="The workers' exactly.once.source.support. [default: from --worker-config, otherwise from the workers]",
    ),
]
WorkerVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="VERSION", help="The workers' version. [default: from the workers, otherwise 4.3]"),
]
WorkerServers: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT,…",
        help="The workers' bootstrap.servers, exactly as configured; needed for connectors that override "
        "bootstrap.servers.",
    ),
]
SourceDsn: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--source-dsn",
        metavar="URL",
        envvar="EOSCTL_SOURCE_DSN",
        help="Compare with this PostgreSQL: postgresql://USER@HOST/DATABASE. Its password: ${env:NAME}.",
    ),
]

StoreName: TypeAlias = Annotated[
    Store, typer.Option(metavar="STORE", help=f"Which offset of each source partition: {', '.join(Store)}.")
]


def _parameter(name: str, annotation: object, default: object = None) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


REQUEST_OPTIONS: Final = (
    _parameter("connector", ConnectorNames),
    _parameter("offsets_topic", OffsetsTopic),
    _parameter("worker_offsets_topic", WorkerOffsetsTopic),
    _parameter("config_topic", ConfigTopic, "connect-configs"),
    _parameter("exactly_once", ExactlyOnce),
    _parameter("worker_version", WorkerVersion),
    _parameter("worker_bootstrap_servers", WorkerServers),
    _parameter("worker_config", WorkerConfig),
)


def about_offsets(
    command: "Callable[Concatenate[GlobalOptions, OffsetsRequest, P], int]",
) -> Callable[Concatenate[GlobalOptions, ...], int]:
    """A command that takes the request which these options make, after its GlobalOptions.

    An option of the same name that the command has itself is its own affair.
    """
    first, _, *own = inspect.signature(command).parameters.values()
    taken = {parameter.name for parameter in own}
    options_of_request = [parameter for parameter in REQUEST_OPTIONS if parameter.name not in taken]
    names = [parameter.name for parameter in options_of_request]
    run: Callable[..., int] = command

    @wraps(command)
    def with_request(options: GlobalOptions, **values: Any) -> int:  # noqa: ANN401  # what the options say

        given = {name: values.pop(name) for name in names}
        support = given.pop("exactly_once", None)
        phase = None if support is None else KnownPhase(support)
        request = OffsetsRequest(tuple(given.pop("connector") or ()), exactly_once=phase, **given)
        named = tuple(split_list(request.worker_bootstrap_servers or ""))
        return run(replace(options, named_servers=named), request, **values)

    keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    with_request.__signature__ = inspect.Signature([first, *keywords, *options_of_request])  # type: ignore[attr-defined]  # PEP 362
    return with_request
