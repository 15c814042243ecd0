"""The options of the commands that ask about offsets, and the decorator that makes them one request."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, Final, ParamSpec, TypeAlias

import typer

from eosctl.commands.connect_options import ConfigTopic, WorkerConfig, WorkerOffsetsTopic
from eosctl.model.exported_offsets import Store
from eosctl.model.offset_stores import SourceSupport
from eosctl.shell.options import GlobalOptions

if TYPE_CHECKING:
    from eosctl.operations.offsets_reading import OffsetsRequest

P = ParamSpec("P")

ConnectorNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--connector", metavar="NAME", help="Only this one. May be repeated.", show_default=False),
]
OffsetsTopic: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="TOPIC",
        envvar="EOSCTL_OFFSETS_TOPIC",
        help="The connectors' own offsets topic; wins over offsets.storage.topic of their configs.",
    ),
]
ExactlyOnce: TypeAlias = Annotated[
    SourceSupport | None,
    typer.Option(
        metavar="|".join(SourceSupport),
        envvar="EOSCTL_EXACTLY_ONCE",
        help="The workers' exactly.once.source.support; else that of --worker-config, else the workers are asked.",
    ),
]
WorkerVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="VERSION", help="The workers' version; else they are asked, else 4.3."),
]
WorkerServers: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT,…",
        help="The workers' bootstrap.servers, letter for letter: needed for connectors that override theirs.",
    ),
]

Tombstones: TypeAlias = Annotated[
    bool, typer.Option("--tombstones", help="Show keys whose every value was deleted, too.")
]
StoreName: TypeAlias = Annotated[
    Store, typer.Option(metavar="STORE", help=f"Which offset of each source partition: {', '.join(Store)}.")
]
ExportTarget: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE|DIRECTORY", help="Where to write.")]
FirstOffsets: TypeAlias = Annotated[
    str, typer.Argument(metavar="A", help="live, a snapshot, an export file or a directory of them.")
]
SecondOffsets: TypeAlias = Annotated[str, typer.Argument(metavar="B", help="The same.")]
RestoredFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="An export of one connector, or KIP-875's body.")
]
RestoredConnector: TypeAlias = Annotated[str, typer.Option(metavar="NAME", help="The connector.")]
CreateKeys: TypeAlias = Annotated[
    bool,
    typer.Option("--create-keys", help="Write partitions that the topic lacks with their members as in FILE."),
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
    """A command that is given the request which these options put, after its GlobalOptions."""
    names = [parameter.name for parameter in REQUEST_OPTIONS]
    ask: Callable[..., int] = command

    @wraps(command)
    def with_question(options: GlobalOptions, **values: Any) -> int:  # noqa: ANN401  # what the options say
        from eosctl.operations.offsets_reading import OffsetsRequest

        asked = {name: values.pop(name) for name in names}
        request = OffsetsRequest(tuple(asked.pop("connector") or ()), **asked)
        return ask(options, request, **values)

    first, _, *own = inspect.signature(command).parameters.values()
    keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    with_question.__signature__ = inspect.Signature([first, *keywords, *REQUEST_OPTIONS])  # type: ignore[attr-defined]  # PEP 362
    return with_question
