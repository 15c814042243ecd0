"""Packages of which single modules are needed, opened without running their __init__.py.

`import kafka.net.manager` would first run kafka/__init__.py, which imports the consumer, the producer and the admin
client: two thirds of the time until a command's first request. In a bare package a submodule is imported as always;
the first name that is no submodule runs its __init__.py after all, so only the time differs.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any, Final

BARE: Final[Mapping[str, Mapping[str, str]]] = {
    "kafka": {},
    "kafka.net": {},
    "kafka.protocol.admin": {"ListGroupsRequest": "groups"},
    "kafka.protocol.consumer": {"OffsetFetchRequest": "group"},
    "aiokafka": {},
    "aiokafka.record": {},
}
"""Packages, and the names for which a client needs only the submodule that has them."""
UNWANTED: Final = frozenset({"httpx._main"})
"""httpx's own command line: it imports Rich, Pygments and Click, and httpx goes without it where they are missing."""


class _BareLoader:
    """Defers execution to the first attribute access."""

    def __init__(self, whole: Any, names: Mapping[str, str]) -> None:  # noqa: ANN401  # whatever finds packages here
        self._whole, self._names = whole, names

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever that one has: its source, its resources
        return getattr(self._whole, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module as it is made for every package."""
        module: ModuleType | None = self._whole.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing runs; names are looked up when they are asked for."""
        lock, running = RLock(), False

        def missing(name: str) -> object:
            nonlocal running
            absent = AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            if name.startswith("__") and name not in {"__all__", "__version__"}:
                raise absent
            if name in self._names:
                return getattr(import_module(f"{module.__name__}.{self._names[name]}"), name)
            if hasattr(module, "__path__") and find_spec(f"{module.__name__}.{name}") is not None:
                return import_module(f"{module.__name__}.{name}")
            with lock:  # another thread may run it
                if not running and vars(module).get("__getattr__") is missing:
                    running = True
                    try:
                        self._whole.exec_module(module)
                    finally:
                        running = False
                    if module.__getattr__ is missing:
                        del module.__getattr__
            if name in vars(module):
                return vars(module)[name]
            if vars(module).get("__getattr__", missing) is missing:
                raise absent
            return getattr(module, name)

        module.__getattr__ = missing  # type: ignore[method-assign]  # PEP 562


class _BareFinder:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module that is opened bare, None for others. Raises ImportError for UNWANTED ones."""
        if fullname in UNWANTED:
            raise ImportError(f"{fullname} is not needed here")
        if fullname not in BARE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _BareLoader(spec.loader, BARE[fullname])  # type: ignore[assignment]  # no subclass: importlib.abc takes 5 ms
        return spec


def open_bare() -> None:
    """From now on they are opened so; those imported before stay as they are."""
    if not any(isinstance(finder, _BareFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BareFinder())
