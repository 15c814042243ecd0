"""Packages and modules that are opened without running them: a command needs little of them, or nothing.

`import kafka.net.manager` would first run kafka/__init__.py, which imports the consumer, the producer and the admin
client: two thirds of the time until a command's first request. In a bare package a submodule is imported as always;
the first name that is no submodule runs its __init__.py after all. So does the first name of a module that libraries
import for functions that commands seldom call, as Typer does `subprocess`. Only the time differs.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any, Final

BARE: Final = frozenset(
    {
        "kafka",
        "kafka.net",
        "kafka.net.metrics",
        "kafka.net.sasl",
        "kafka.protocol.admin",
        "kafka.protocol.consumer",
        "kafka.protocol.sasl",
        "kafka.protocol.schemas",
        "aiokafka",
        "aiokafka.codec",
        "aiokafka.record",
        "anyio",
        "httpcore",
        "httpcore._ssl",
        "httpcore._sync",
    }
)
"""Packages of the clients."""
SELDOM_USED: Final = frozenset(
    {
        "aiokafka.errors",
        "bz2",
        "csv",
        "difflib",
        "gettext",
        "hashlib",
        "hmac",
        "importlib.resources",
        "lzma",
        "msgspec.inspect",
        "numpy._core._add_newdocs",
        "numpy._core._add_newdocs_scalars",
        "platform",
        "secrets",
        "shutil",
        "ssl",
        "stringprep",
        "subprocess",
        "tempfile",
        "textwrap",
        "tokenize",
        "typer.completion",
        "typing_extensions",
        "zipfile",
    }
)
"""Modules that only the program opens bare: another one that imports eosctl may replace names of theirs."""
OWN: Final = frozenset(
    {
        "eosctl.analysis.config_topic",
        "eosctl.analysis.metrics.samples",
        "eosctl.analysis.output_topics",
        "eosctl.clients.rest",
        "eosctl.codecs.config_topic",
        "eosctl.codecs.groups",
        "eosctl.codecs.profiles",
        "eosctl.codecs.record_batches",
        "eosctl.executors.files",
        "eosctl.model.acls",
        "eosctl.model.config_topic",
        "eosctl.model.evidence",
        "eosctl.model.hanging",
        "eosctl.model.offsets",
        "eosctl.model.plan",
        "eosctl.model.preconditions",
        "eosctl.model.transaction_log",
        "eosctl.operations.decisions",
        "eosctl.operations.plan_files",
        "eosctl.planning.acl_difference",
        "eosctl.planning.acls",
        "eosctl.sources.audit_log",
        "eosctl.sources.config_providers",
        "eosctl.sources.connect_rest",
        "eosctl.sources.kafka_acls",
        "eosctl.sources.kafka_evidence",
        "eosctl.sources.kafka_groups",
        "eosctl.sources.kafka_log",
        "eosctl.sources.kafka_transaction_log",
        "eosctl.sources.listed_transactions",
        "eosctl.sources.replication_slots",
    }
)
"""Modules of eosctl that every command has at hand and few need: `from eosctl.sources import kafka_log` runs nothing,
`from eosctl.sources.kafka_log import read_log` runs it at once."""
_EXCEPTIONS: Final = "httpcore._exceptions"
ELSEWHERE: Final[Mapping[str, Mapping[str, str]]] = {
    "httpcore": {
        "ConnectionPool": "httpcore._sync.connection_pool",
        "SyncBackend": "httpcore._backends.sync",
        **dict.fromkeys(("NetworkBackend", "NetworkStream"), "httpcore._backends.base"),
        **dict.fromkeys(("Request", "Response", "URL"), "httpcore._models"),
        **dict.fromkeys(("ConnectError", "NetworkError", "ProxyError", "ReadError", "WriteError"), _EXCEPTIONS),
        **dict.fromkeys(
            ("ConnectionNotAvailable", "ConnectTimeout", "PoolTimeout", "ReadTimeout", "WriteTimeout"), _EXCEPTIONS
        ),
        **dict.fromkeys(("ConnectionNotAvailable", "LocalProtocolError", "ProtocolError"), _EXCEPTIONS),
        **dict.fromkeys(("RemoteProtocolError", "TimeoutException", "UnsupportedProtocol"), _EXCEPTIONS),
    },
    "importlib.resources": {"read_text": __name__},
    "kafka.protocol.schemas": {
        "load_json": __name__,
        **dict.fromkeys(("BaseField", "StructField"), "kafka.protocol.schemas.fields"),
    },
    "platform": {"system": __name__},
    "typing_extensions": dict.fromkeys(("NotRequired", "Required", "get_type_hints"), "typing"),
}
"""Names that need not run the module: the module that has them, too."""
CALLED: Final[Mapping[str, frozenset[str]]] = {
    "aiokafka.codec": frozenset(
        f"{codec}_{work}" for codec in ("gzip", "snappy", "lz4", "zstd") for work in ("encode", "decode")
    ),
    "aiokafka.errors": frozenset({"CorruptRecordException", "UnsupportedCodecError"}),
    "difflib": frozenset({"get_close_matches"}),
    "gettext": frozenset({"gettext", "ngettext"}),
    "httpcore._ssl": frozenset({"default_ssl_context"}),
    "hashlib": frozenset({"sha256"}),
    "kafka.net.metrics": frozenset({"KafkaConnectionMetrics", "KafkaManagerMetrics"}),
    "kafka.net.sasl": frozenset({"get_sasl_mechanism"}),
    "kafka.protocol.sasl": frozenset({"SaslAuthenticateRequest", "SaslBytesRequest", "SaslHandshakeRequest"}),
    "shutil": frozenset({"get_terminal_size"}),
    "typer.completion": frozenset({"get_completion_inspect_parameters"}),
}
"""Names that others import from a module and only call: they get a function that runs the module at its first call."""
VERSIONS_OF_BROKERS: Final = "kafka.protocol.broker_version_data"
UNSENT: Final = frozenset({"ListGroupsRequest", "OffsetFetchRequest"})
"""Requests that VERSIONS_OF_BROKERS makes for brokers before 0.10, and that kafka-python sends to none."""


def read_text(package: str | ModuleType, name: str, encoding: str = "utf-8", errors: str = "strict") -> str:
    """A file beside a package's modules, as importlib.resources reads it, which takes ten modules for that."""
    module = import_module(package) if isinstance(package, str) else package
    data: bytes = module.__spec__.loader.get_data(f"{module.__path__[0]}/{name}")  # type: ignore[union-attr]  # a package's can
    return data.decode(encoding, errors)


def load_json(kind: str, package: str | ModuleType | None = None) -> dict[str, Any]:
    """The schema of a kind of message, for kafka-python, which reads it at five times the cost, with its comments.

    package, or that of the module, has the file; None: the library.
    """
    from msgspec.json import decode

    name = package.__package__ if isinstance(package, ModuleType) else package
    lines = read_text(name or "kafka.protocol.schemas.resources", f"{kind}.json").split("\n")
    schema: dict[str, Any] = decode("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    _fill_in(schema.get("fields", ()), {each["name"]: each["fields"] for each in schema.get("commonStructs", ())})
    return schema


def _fill_in(fields: Sequence[dict[str, Any]], common: Mapping[str, object]) -> None:
    """Give each field of a common struct the fields of that."""
    for field in fields if common else ():
        name = field["type"].removeprefix("[]")
        if name in common:
            field.setdefault("fields", common[name])
        _fill_in(field.get("fields", ()), common)


def system() -> str:
    """The operating system's name, as platform.system gives it, for uuid, which asks where it is not Windows."""
    return os.uname().sysname


def _importer() -> str:
    """The module whose import statement looks up a name of a bare module."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


class _BareModule(ModuleType):
    """A module that has not run to its end. Another thread waits while one runs it."""

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401  # as every module's
        if name.startswith("__") and name not in {"__all__", "__version__"}:
            return super().__getattribute__(name)
        if name in UNSENT and _importer() == VERSIONS_OF_BROKERS:
            return {0: lambda *_: None}
        return super().__getattribute__("__spec__").loader.value(self, name)


class _BareLoader:
    """Defers execution to the first attribute access."""

    def __init__(self, whole: Any, elsewhere: Mapping[str, str]) -> None:  # noqa: ANN401  # whatever finds packages here
        self._whole, self._elsewhere = whole, elsewhere
        self._lock, self._running = RLock(), False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever that one has: its source, its resources
        return getattr(self._whole, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module as it is made for every package."""
        module: ModuleType | None = self._whole.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing runs; names are looked up when they are asked for."""
        module.__class__ = _BareModule

    def value(self, module: ModuleType, name: str) -> Any:  # noqa: ANN401  # a module's value
        """The value of a name in the module, which is run if nothing else has it; AttributeError if it has none."""
        values = vars(module)
        if name not in values:
            if name in CALLED.get(module.__name__, ()) and not self._running:
                return self._called(module, name)
            if name in self._elsewhere:
                return getattr(import_module(self._elsewhere[name]), name)
            place = f"{module.__name__}.{name}"
            if "__path__" in values and find_spec(place) is not None:
                return import_module(place)
        if self._running or name not in values:
            self._run(module)
        own = ModuleType if type(module) is _BareModule else type(module)
        return own.__getattribute__(module, name)

    def _called(self, module: ModuleType, name: str) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:  # noqa: ANN401  # as the function of the module has it
            self._run(module)
            return getattr(module, name)(*given, **named)

        return call

    def _run(self, module: ModuleType) -> None:
        with self._lock:  # another thread may run it
            if not self._running and type(module) is _BareModule:
                self._running = True
                try:
                    self._whole.exec_module(module)
                finally:
                    self._running = False
                module.__class__ = ModuleType  # type: ignore[assignment]  # mypy believes the test above


class _BareFinder:
    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that is opened bare, None for others."""
        if fullname not in self._names:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            loader = _BareLoader(spec.loader, ELSEWHERE.get(fullname, {}))
            spec.loader = loader  # type: ignore[assignment]  # no subclass: importlib.abc takes 5 ms
        return spec


def open_bare(further: frozenset[str] = frozenset()) -> None:
    """From now on they, and further ones, are opened so; those imported before stay as they are."""
    if not any(isinstance(finder, _BareFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BareFinder(BARE | further))
