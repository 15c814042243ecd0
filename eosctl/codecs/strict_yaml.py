"""YAML that people write by hand: plain values only, no key twice, and nothing that fills the memory."""

import re
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Final

from eosctl.codecs.json_limits import is_too_deep
from eosctl.errors import ConfigError

if TYPE_CHECKING:
    import yaml

MOST_MERGED: Final = 100_000
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
_MERGE: Final = "tag:yaml.org,2002:merge"
_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_WITH_EXPONENT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+")


def decode_yaml(text: str, origin: str) -> object:
    """The one document in `text`; ConfigError names `origin` (the file) and the line."""
    return next(_parsed(text, origin, kubernetes=False, several=False))


def decode_kubernetes_yaml(text: str, origin: str) -> tuple[object, ...]:
    """The documents in `text` as Kubernetes' tools read them (sigs.k8s.io/yaml); ConfigError as `decode_yaml`.

    Other than in YAML 1.1 dates and times of day are text, and `1e3` is a number.
    """
    return tuple(_parsed(text, origin, kubernetes=True, several=True))


def _parsed(text: str, origin: str, *, kubernetes: bool, several: bool) -> Iterator[object]:
    import yaml

    if is_too_deep(text):
        raise ConfigError(f"{origin}: it is nested too deeply")
    loader = _strict_loader(origin)
    if kubernetes:
        _read_as_kubernetes(loader)
    try:
        if several:
            yield from yaml.load_all(text, loader)
        else:
            yield yaml.load(text, loader)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f": line {error.problem_mark.line + 1}"
        raise ConfigError(f"{origin}{line}: this is not YAML: {error.problem}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{origin}: a value is too large or nested too deeply") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{origin}: this is not YAML") from error


def _strict_loader(origin: str) -> "type[yaml.SafeLoader]":
    import yaml

    class Strict(yaml.SafeLoader):
        """YAML's plain values only, and no key twice."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
            """The mapping; an error where a key is given twice."""
            seen: set[object] = set()
            for key, _ in node.value:
                if key.tag == _MERGE:
                    continue
                name = self.construct_object(key, deep=True)
                if not isinstance(name, Hashable):
                    raise ConfigError(f"{origin}: line {key.start_mark.line + 1}: a key is not text")
                if name in seen:
                    raise ConfigError(f"{origin}: line {node.start_mark.line + 1}: {name} is given twice")
                seen.add(name)
            return super().construct_mapping(node, deep)

        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            """Merges (`<<`) of merges multiply: a page of them would fill the memory."""
            super().flatten_mapping(node)
            if len(node.value) > MOST_MERGED:
                raise ConfigError(f"{origin}: line {node.start_mark.line + 1}: << merges more than {MOST_MERGED} keys")

    return Strict


def _read_as_kubernetes(loader: "type[yaml.SafeLoader]") -> None:
    loader.yaml_implicit_resolvers = {
        first: [each for each in resolvers if each[0] != _TIMESTAMP]
        for first, resolvers in loader.yaml_implicit_resolvers.items()
    }
    loader.add_implicit_resolver("tag:yaml.org,2002:float", _WITH_EXPONENT, list("-+.0123456789"))
    for tag in _NUMBERS:
        loader.add_constructor(tag, _NoTime(loader.yaml_constructors[tag]))


class _NoTime:
    """Constructs a number, but `12:30` is text."""

    def __init__(self, construct: Callable[..., object]) -> None:
        self._construct = construct

    def __call__(self, loader: "yaml.SafeLoader", node: "yaml.ScalarNode") -> object:
        return node.value if ":" in node.value else self._construct(loader, node)
