"""The options that many commands share, and the decorators that give them to one.

A command runs an operation, shows its answer, and ends with its exit code.

    @app.command("inspect-config")
    @reading
    def inspect_config(options: GlobalOptions, connector: ...) -> int:
        with Session(options) as session:
            return answer(options, inspect_config_topic(session, request), view_inspection)
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import typer

from eosctl.errors import UsageError
from eosctl.model.client_keys import CLIENT_KEYS
from eosctl.model.report import Triage
from eosctl.operations.session_options import SessionOptions
from eosctl.render.console import ColourChoice, Console, OutputOptions, Terminal
from eosctl.render.junit import junit
from eosctl.render.sarif import sarif
from eosctl.shell.defaults import WORKER_CONFIG, require_named, with_profile, with_worker_files
from eosctl.shell.shared_options import (
    CONNECTION_OPTIONS,
    FINDING_OPTIONS,
    GATE_OPTIONS,
    LIST_OPTIONS,
    OUTPUT_OPTIONS,
    SAFETY_OPTIONS,
    SNAPSHOT_OPTIONS,
)

if TYPE_CHECKING:
    pass

P = ParamSpec("P")
Command = Callable[P, int | None]


@dataclass(frozen=True, slots=True)
class GlobalOptions(SessionOptions):
    """What the user said with the shared options, and the console where the command answers."""

    console: Console


class ConsoleHolder:
    """Where the one console of a run is kept, so that the error boundary can end what the command began."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.console: Console | None = None

    def console_for(self, output_options: OutputOptions) -> Console:
        """The console of this run, made at the first call."""
        if self.console is None:
            self.console = Console(self.terminal, output_options)
        return self.console


def printing(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    """A command that answers but needs no cluster: output options only."""
    return _sharing(command, OUTPUT_OPTIONS)


def connecting(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    """A command that must read the cluster itself."""
    return _sharing(command, (*CONNECTION_OPTIONS, *OUTPUT_OPTIONS))


def reading(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    """A command that reads, from the cluster or from a snapshot."""
    return _sharing(command, (*CONNECTION_OPTIONS, *SNAPSHOT_OPTIONS, *OUTPUT_OPTIONS, *LIST_OPTIONS))


def judging(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    """A command that reads, and reports findings."""
    shared = (*CONNECTION_OPTIONS, *SNAPSHOT_OPTIONS, *FINDING_OPTIONS, *OUTPUT_OPTIONS, *LIST_OPTIONS)
    return _sharing(command, shared)


def gating(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    """A command that reads, and reports findings to a pipeline too."""
    shared = (*CONNECTION_OPTIONS, *SNAPSHOT_OPTIONS, *FINDING_OPTIONS, *GATE_OPTIONS, *OUTPUT_OPTIONS, *LIST_OPTIONS)
    return _sharing(command, shared)


def writing(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    """A command that changes the cluster: it shows what it will do, and asks."""
    return _sharing(command, (*SAFETY_OPTIONS, *CONNECTION_OPTIONS, *OUTPUT_OPTIONS))


def _sharing(command: Callable[..., int | None], shared: tuple[inspect.Parameter, ...]) -> Command[...]:
    signature = inspect.signature(command, eval_str=True)
    _, *own = signature.parameters.values()
    own_names = [parameter.name for parameter in own]
    if WORKER_CONFIG in own_names:  # the command does more with it, or takes one only
        shared = tuple(parameter for parameter in shared if parameter.name != WORKER_CONFIG)
    clash = set(own_names) & {parameter.name for parameter in shared}
    if clash:
        raise TypeError(f"{command.__name__} declares shared options itself: {', '.join(sorted(clash))}")

    @wraps(command)
    def with_options(ctx: typer.Context, **values: Any) -> int | None:  # noqa: ANN401  # Typer's own types
        if ctx.invoked_subcommand is not None:  # a group that is a command too: the subcommand has the word
            return None
        mine = {name: values.pop(name) for name in own_names}
        # First of all: whatever fails from here on is reported as it was asked for, in the files for pipelines too.
        ctx.obj.console_for(output_options(values, ctx.command_path.partition(" ")[2]))
        if "profile" in values:
            values = with_worker_files(ctx, with_profile(ctx, values), mine)
        options = global_options(ctx.obj, values)
        for each in values.get("unused", ()):
            options.console.warn(each)
        require_named(options.profile, options.sources, yes=options.yes)
        return command(options, **mine)

    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    parameters = [context, *keywords, *shared]
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # PEP 362
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options


def output_options(values: Mapping[str, Any], command: str = "") -> OutputOptions:
    """How `command` is to be answered, from what Typer read."""
    gates = {"sarif": sarif, "junit": junit}
    return OutputOptions(
        output=values["output"],
        output_file=values["output_file"],
        colour=ColourChoice.NEVER if values["no_color"] else values["color"],
        quiet=values["quiet"],
        verbosity=values["verbose"],
        sort=values.get("sort"),
        limit=values.get("limit"),
        csv_text=values["csv_text"],
        command=command,
        gates={values[name]: text_of for name, text_of in gates.items() if values.get(name) is not None},
    )


def global_options(holder: ConsoleHolder, values: Mapping[str, Any]) -> GlobalOptions:
    """GlobalOptions from what Typer read; `values` holds those of the shared options that the command takes."""
    return GlobalOptions(
        console=holder.console_for(output_options(values)),
        bootstrap_servers=values.get("bootstrap_server"),
        command_config=values.get("command_config"),
        properties=MappingProxyType(dict(map(_property, values.get("property_") or ()))),
        connect_urls=tuple(values.get("connect_url") or ()),
        group_id=values.get("group_id"),
        timeout_s=values.get("timeout", 30.0),
        max_answer_bytes=values.get("max_answer", 32) << 20,
        snapshot=values.get("snapshot"),
        dry_run=values.get("dry_run", False),
        yes=values.get("yes", False),
        profile=values.get("profile"),
        sources=MappingProxyType(values.get("sources", {})),
        writes="yes" in values,
        worker_configs=tuple(values.get(WORKER_CONFIG) or ()),
        triage=values.get("triage", Triage()),
    )


def _property(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        # Only a client's key is repeated: anything else may be a part of a secret that was typed with a blank in it.
        named = "an -X is no property" if key not in CLIENT_KEYS else f"-X {key}"
        raise UsageError(f"{named}: expected KEY=VALUE", hint="for example -X security.protocol=SASL_SSL")
    return key.strip(), value
