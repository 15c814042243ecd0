"""No format writes a character that a terminal obeys or hides; one with escapes reads back as the same value."""

import json
import subprocess
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eosctl.codecs.offsets_topic import encode_kip875
from eosctl.codecs.yaml_text import decode_yaml
from eosctl.errors import EosctlError, Unsupported, UsageError
from eosctl.model.acls import AclBinding, Operation, transactional_id
from eosctl.model.offsets import ConnectorOffset
from eosctl.model.report import failed_gate
from eosctl.model.text import UNSEEN, shell_word
from eosctl.render.answers.acls import AclFormat, EmitOptions, emit_acls
from eosctl.render.document import Column, Document, Table
from eosctl.render.formats import Output, text_of
from eosctl.render.gates import junit, sarif
from eosctl.render.layout import Page
from eosctl.render.watch_files import watch_service
from tests.attack.test_terminal_names import HOSTILE

NAMES = st.lists(st.sampled_from((*HOSTILE, "\x85", "\x0b", "\n", "'", "\\", "a", "ö")) | st.characters()).map("".join)
ENCODABLE = NAMES.map(lambda name: name.encode("utf-8", "ignore").decode())


def unseen(text):
    return [ascii(char) for char in UNSEEN.findall(text) if char not in "\n\t"]


@given(NAMES)
def test_every_output_format_is_safe_and_the_machine_formats_keep_the_value(name):
    document = Document("x", {"rows": [{"name": name}]}, blocks=(Table("rows", (Column("NAME", "name"),)),))
    shown = {output: text_of(document, output, Page(80, colour=False)) for output in Output}
    assert {output: unseen(text) for output, text in shown.items()} == {output: [] for output in Output}
    assert json.loads(shown[Output.JSON])["data"]["rows"] == [{"name": name}]
    assert json.loads(shown[Output.JSONL].splitlines()[1])["data"] == {"name": name}
    assert yaml.safe_load(shown[Output.YAML])["data"]["rows"] == [{"name": name}]


@given(NAMES)
def test_files_for_pipelines_are_safe(name):
    gate = failed_gate(name, EosctlError(name))
    assert [unseen(text) for text in (sarif(gate), junit(gate))] == [[], []]
    json.loads(sarif(gate))


@pytest.mark.parametrize("form", AclFormat)
@given(name=ENCODABLE)
def test_every_format_of_acls_is_safe_or_refused(form, name):
    try:
        binding = AclBinding("User:w", Operation.WRITE, transactional_id(f"a{name}b"))
        text = emit_acls((binding,), form, EmitOptions())
    except Unsupported:
        assert form is AclFormat.CSV
        return
    assert unseen(text) == []


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_a_shell_reads_a_quoted_word_as_it_is(shell):
    for char in {*HOSTILE, "\n", "'\n"} - {"\ud800", "\x00"}:
        for word in (f"a{char}0\\b'", f'-%s$(id)`id`"{char}', f"{char}\n\n"):
            script = f"printf %s {shell_word(word)}"
            assert subprocess.run([shell, "-c", script], capture_output=True, check=True).stdout.decode() == word


def test_a_unit_refuses_a_line_end():
    file = SimpleNamespace(program="eosctl", profiles=("a\nExecStart=/bin/x",), address="a:1", every_s=1)
    with pytest.raises(UsageError, match="a unit of systemd cannot have"):
        watch_service(file)


def test_a_merge_works_and_a_merge_of_too_many_is_refused_by_its_name():
    assert decode_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}\n", "f") == {"a": {"x": 1}, "b": {"x": 1, "y": 2}}
    lines = ["a0: &a0 {k: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 8)]
    with pytest.raises(EosctlError, match="<< merges more than 100000 keys"):
        decode_yaml("\n".join(lines), "f")


@given(NAMES)
def test_exported_offsets_are_safe_and_read_back(name):
    exported = encode_kip875((ConnectorOffset({"file": name}, {"position": name}),))
    assert unseen(exported) == []
    assert json.loads(exported)["offsets"] == [{"partition": {"file": name}, "offset": {"position": name}}]
