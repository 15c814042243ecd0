"""The options that many commands share, and the decorators that give them to one.

A command runs an operation, shows its answer, and ends with its exit code.

    @app.command("inspect-config")
    @reading
    def inspect_config(options: GlobalOptions, connector: ...) -> int:
        with Session(options) as session:
            return answer(options, inspect_config_topic(session, request), view_inspection)
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

import typer

from eosctl.atomic_write import is_stream, require_place
from eosctl.errors import ConfigError, OutputLost, Refused, UsageError
from eosctl.model.client_properties import CLIENT_KEYS, REFERENCE
from eosctl.model.report import Result, Triage, exit_code
from eosctl.operations.session_options import SessionOptions
from eosctl.render.console import ColourChoice, Console, OutputOptions, Terminal
from eosctl.render.gates import junit, sarif
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
    from eosctl.model.profile import Profile
    from eosctl.render.document import Document, Fields, Table


# The origins of an option's value, first wins: flag, -X, EOSCTL_ variable, profile, worker file, default.  Of several
# worker files the first counts: all workers of a Connect cluster must name the same group and topics (EOS017).


WORKER_CONFIG: Final = "worker_config"
STORE: Final = "store"
TOPICS: Final = {
    "config_topic": "config.storage.topic",
    "worker_offsets_topic": "offset.storage.topic",
    "status_topic": "status.storage.topic",
}
"""Options of commands, by parameter, and the worker's setting that each repeats."""
ROLES: Final = {"config_topic": "config", "worker_offsets_topic": "offsets", "status_topic": "status"}
"""The same options, and the role of the topic that each names."""


WRITTEN: Final = frozenset({"output_file", "sarif", "junit", "report", "evidence", "prometheus"})
"""Options whose file is written at the end of the work, by parameter."""
FLAGS: Final[Mapping[str, str]] = {
    "bootstrap_server": "--bootstrap-server",
    "command_config": "--command-config",
    "connect_url": "--connect-url",
    "group_id": "--group-id",
    "worker_config": "--worker-config",
    "timeout": "--timeout",
    "profile": "--profile",
}
"""Shared options that a profile can give (and the one that names it), by parameter."""


def with_profile(ctx: "typer.Context", values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the shared options, with the profile's for those that command line and environment omit.

    `profile` becomes the Profile. `sources` has the origin of each value, `unused` the ignored parts of a project's
    file, and `triage` how findings are treated.
    """
    from eosctl.operations.profiles import chosen_profile, triage_under

    profile, unused = chosen_profile(values.get("profile"))
    given = {name: _source(ctx, name) for name in FLAGS}
    merged = {**values, "profile": profile, "unused": unused}
    if "severity" in values:
        merged["triage"] = triage_under(profile, values["severity"], values["fail_on"])
    merged["sources"] = {name: source or "default" for name, source in given.items()}
    if profile is None:
        return merged
    if given["profile"] is None:
        merged["sources"]["profile"] = "current"
    offers = {
        "connect_url": list(profile.connect_urls),
        "group_id": profile.group_id,
        "timeout": profile.timeout_s,
        "worker_config": [Path(each) for each in profile.worker_configs],
    }
    for name, offer in offers.items():
        if given[name] is None and offer:
            merged[name] = offer
            merged["sources"][name] = profile.label
    for name, own in (("bootstrap_server", profile.bootstrap_server), ("command_config", profile.command_config)):
        if given[name] is None and own is not None:
            merged["sources"][name] = profile.label
    return merged


def require_named(profile: "Profile | None", sources: Mapping[str, str], *, yes: bool) -> None:
    """Refused where --yes meets a protected profile that the command line does not name."""
    if profile is not None and profile.protected and yes and sources.get("profile") != FLAGS["profile"]:
        raise Refused(
            f"profile {profile.name} is protected: --yes needs --profile",
            hint=f"give --profile {profile.name} too, or leave --yes out and answer",
        )


def _source(ctx: "typer.Context", name: str) -> str | None:
    source = ctx.get_parameter_source(name)
    match None if source is None else source.name:
        case "COMMANDLINE" | "PROMPT":
            return FLAGS[name]
        case "ENVIRONMENT":
            return "EOSCTL_" + FLAGS[name].lstrip("-").upper().replace("-", "_")
    return None


def with_worker_files(ctx: "typer.Context", values: Mapping[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The shared options with the worker's group ID; `own`, the command's options, gets topics, files and store.

    values are as `with_profile` left them; `named_topics` are added, see SessionOptions. Raises ConfigError for a file
    that cannot be read.
    """
    values = {**values, "named_topics": frozenset(role for name, role in ROLES.items() if not _is_default(ctx, name))}

    profile: Profile | None = values["profile"]
    if profile is not None:
        _offer(ctx, own, STORE, profile.audit_store)
        if profile.worker_configs and not own.get(WORKER_CONFIG):
            files = [Path(each) for each in profile.worker_configs]
            _offer(ctx, own, WORKER_CONFIG, files if _is_repeated(ctx, WORKER_CONFIG) else files[0])
    named = own.get(WORKER_CONFIG) or values.get(WORKER_CONFIG)
    if not named:
        return dict(values)
    from eosctl.operations.profiles import worker_settings_in

    file = named[0] if isinstance(named, list) else named
    settings = worker_settings_in(file)
    values["named_topics"] |= {role for name, role in ROLES.items() if TOPICS[name] in settings}
    for parameter, key in TOPICS.items():
        if _offer(ctx, own, parameter, settings.get(key)):
            _require_value(settings, key, file, f"--{parameter.replace('_', '-')}")
    if values.get("group_id") is not None or "group.id" not in settings:
        return dict(values)
    _require_value(settings, "group.id", file, FLAGS["group_id"])
    return {**values, "group_id": settings["group.id"], "sources": {**values["sources"], "group_id": str(file)}}


def _require_value(settings: Mapping[str, str], key: str, file: Path, flag: str) -> None:
    """ConfigError if the value is a reference to a config provider."""
    if REFERENCE.search(settings[key]):
        raise ConfigError(
            f"{file}: {key} is {settings[key]}, a reference that only the worker resolves", hint=f"give {flag}"
        )


def _offer(ctx: "typer.Context", own: dict[str, Any], parameter: str, value: object) -> bool:
    """Give the command's option `value`, where the command has it and no other source set it; True if it was set."""
    is_taken = bool(value) and parameter in own and _is_default(ctx, parameter)
    if is_taken:
        own[parameter] = value
    return is_taken


def _is_default(ctx: "typer.Context", parameter: str) -> bool:
    source = ctx.get_parameter_source(parameter)
    return source is None or source.name.startswith("DEFAULT")


def _is_repeated(ctx: "typer.Context", parameter: str) -> bool:
    return any(each.name == parameter and getattr(each, "multiple", False) for each in ctx.command.params)


if TYPE_CHECKING:
    pass

P = ParamSpec("P")
Command = Callable[P, int | None]


class GlobalOptions(SessionOptions, frozen=True):
    """The user's shared options, and the console where the command answers."""

    console: Console


class ConsoleHolder:
    """Holds the one console of a run, so that the error boundary can end a started answer."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.console: Console | None = None

    def console_for(self, output_options: OutputOptions) -> Console:
        if self.console is None:
            self.console = Console(self.terminal, output_options)
        return self.console


def printing(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    return _sharing(command, OUTPUT_OPTIONS)


def connecting(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    return _sharing(command, (*CONNECTION_OPTIONS, *OUTPUT_OPTIONS))


def reading(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    return _sharing(command, (*CONNECTION_OPTIONS, *SNAPSHOT_OPTIONS, *OUTPUT_OPTIONS, *LIST_OPTIONS))


def judging(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    shared = (*CONNECTION_OPTIONS, *SNAPSHOT_OPTIONS, *FINDING_OPTIONS, *OUTPUT_OPTIONS, *LIST_OPTIONS)
    return _sharing(command, shared)


def gating(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    shared = (*CONNECTION_OPTIONS, *SNAPSHOT_OPTIONS, *FINDING_OPTIONS, *GATE_OPTIONS, *OUTPUT_OPTIONS, *LIST_OPTIONS)
    return _sharing(command, shared)


def writing(command: Callable[Concatenate[GlobalOptions, P], int | None]) -> Command[...]:
    """A command that changes the cluster: it shows its plan, and asks."""
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
        # Before anything else: every later failure is reported in the requested form, also in the files for pipelines.
        ctx.obj.console_for(output_options(values, ctx.command_path.partition(" ")[2]))
        _require_places({**values, **mine})
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


def _require_places(values: Mapping[str, Any]) -> None:
    """ConfigError where a file cannot be written; UsageError where two options name one: the last would be left."""
    options: dict[Path, str] = {}
    for name, path in values.items():
        if name in WRITTEN and isinstance(path, Path):
            require_place(path)
            option = f"--{name.replace('_', '-')}"
            if options.setdefault(path.absolute(), option) != option and not is_stream(path):
                both = f"{options[path.absolute()]} and {option}"
                raise UsageError(f"{both} name one file: {path}", hint="give each option a file of its own")


def output_options(values: Mapping[str, Any], command: str = "") -> OutputOptions:
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
    """GlobalOptions from what Typer read; `values` holds the shared options that the command takes."""
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
        named_topics=values.get("named_topics", frozenset()),
    )


def _property(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        # Only a client's key is repeated: anything else may be a part of a secret that was typed with a blank in it.
        named = "an -X value is not a property" if key not in CLIENT_KEYS else f"-X {key}"
        raise UsageError(f"{named}: expected KEY=VALUE", hint="for example -X security.protocol=SASL_SSL")
    return key.strip(), value


A = TypeVar("A", bound=Result)


def answer(options: "GlobalOptions", result: A, view: "Callable[[A], Document | str]") -> int:
    """Shows the result with its unread facts, and returns its exit code; raises the error it ended with."""
    from eosctl.render.document import Document, lacking

    result = result.under(options.triage)
    shown = view(result)
    if isinstance(shown, Document):
        shown = shown.with_unread(result.coverage, complete=result.complete)
    try:
        options.console.result(shown)
        options.console.report(result)
    except (OutputLost, ConfigError) as lost:
        if result.failure is None:
            raise
        options.console.warn(lost.message)
    if options.console.output.is_rows or not isinstance(shown, Document):
        # Their stdout has room for rows only.
        for line in lacking(result.coverage, complete=result.complete):
            options.console.warn(line)
    if result.failure is not None:
        raise result.failure
    return exit_code(result)


C = TypeVar("C", bound=Callable[..., object])


def showing(*blocks: "Table | Fields", **under: "Sequence[Table | Fields]") -> Callable[[C], C]:
    """Ends a command's help with `Columns:`: the columns of these blocks, and of those that an option shows.

    A header of two blocks is one line, with both meanings if they differ.
    """
    meanings: dict[str, dict[str, str]] = {}
    for option, shown in ("", blocks), *((f"(--{name.replace('_', '-')}) ", each) for name, each in under.items()):
        for column in (column for block in shown for column in block.columns):
            said = meanings.setdefault(column.header, {})
            said.setdefault(column.meaning, option)
    width = max(map(len, meanings))
    lines = (
        f"  {header:{width}}  {'; or '.join(f'{option}{text}' for text, option in said.items())}"
        for header, said in meanings.items()
    )

    def explained(command: C) -> C:
        command.__doc__ = "\n".join((f"{inspect.cleandoc(command.__doc__ or '')}\n\nColumns:", *lines))
        return command

    return explained


def previewing(options: "GlobalOptions", view: "Callable[[A], Document]") -> Callable[[A], None]:
    """Shows on the terminal the subject of the question that follows."""
    return lambda proposal: options.console.preview(view(proposal))
