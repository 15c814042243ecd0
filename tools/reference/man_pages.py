"""A page of the manual for each command, in man(7) macros."""

from collections.abc import Iterator, Sequence

from eosctl.shell.command_tree import CommandHelp, Parameter, page_name, shown
from eosctl.version import __version__


def man_page(command: CommandHelp, notice: str) -> str:
    """One page of section 1, with `notice` as a comment at its head."""
    title = page_name(command.path)
    lines = [f'.\\" {notice}', f'.TH {title.upper()} 1 "" "eosctl {__version__}" "eosctl"']
    lines += [".SH NAME", _roff(f"{title} - {_uncapitalised(command.summary).rstrip('.')}")]
    lines += [".SH SYNOPSIS", f".B {_roff(command.usage)}", ".SH DESCRIPTION"]
    for paragraph in command.paragraphs:
        lines += [".PP", _roff(paragraph)]
    for name, block in command.blocks.items():
        lines += [f".SH {_roff(name.upper())}", ".nf", *(_roff(line) for line in block.splitlines()), ".fi"]
    for name, shared in (("OPTIONS", False), ("SHARED OPTIONS", True)):
        lines += _man_options(name, [each for each in command.parameters if each.shared is shared])
    lines += [f".SH SEE ALSO\n{_see_also(command)}"]
    return "\n".join(lines) + "\n"


def _man_options(name: str, parameters: Sequence[Parameter]) -> Iterator[str]:
    if parameters:
        yield f".SH {name}"
    for parameter in parameters:
        yield from (".TP", f".B {_roff(shown(parameter))}", _roff(parameter.help or "-"))
        if parameter.environment:
            yield f"Environment: {_roff(parameter.environment)}."


def _see_also(command: CommandHelp) -> str:
    parent = command.path.rpartition(" ")[0]
    pages = [parent] if parent else []
    pages += [f"{command.path} {name}" for name in command.commands]
    return ", ".join(f"{_roff(page_name(page))}(1)" for page in pages)


def _uncapitalised(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
