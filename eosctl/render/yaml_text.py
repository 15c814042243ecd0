"""YAML for people and programs: no aliases, and no character that a terminal does not show."""

from collections.abc import Iterable
from typing import Any

from eosctl.model.unseen import UNSEEN, escaped_in_yaml


def yaml_text(documents: Iterable[Any], *, width: int = 1 << 30, explicit_start: bool = False) -> str:
    """The documents, in block style; each is written twice where two others share it."""
    import yaml

    every = list(documents)

    def dumped(base: Any) -> str:  # noqa: ANN401  # PyYAML names no common class
        plain: Any = type("Plain", (base,), {"ignore_aliases": lambda *_: True})
        plain.add_representer(str, _quoted)
        options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "default_flow_style": False}
        return str(yaml.dump_all(every, Dumper=plain, width=width, explicit_start=explicit_start, **options))

    try:
        return escaped_in_yaml(dumped(getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
    except UnicodeEncodeError:  # the fast one encodes as it goes and knows no lone surrogates
        return escaped_in_yaml(dumped(yaml.SafeDumper))


def _quoted(dumper: Any, text: str) -> Any:  # noqa: ANN401  # PyYAML's classes have no types
    style = None if (text.isascii() and text.isprintable()) or UNSEEN.search(text) is None else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
