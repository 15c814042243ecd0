"""Files that eosctl writes have no character that a terminal obeys or hides, and a reader has the same value."""

import json
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from eosctl.analysis.catalogue.audit import OFFSET_SET_BACK
from eosctl.cli import root_command
from eosctl.codecs.yaml_text import Address, append_document, append_items, decode_kubernetes_yaml, set_value
from eosctl.model.report import Finding, Severity, gate_of
from eosctl.model.text import UNSEEN
from eosctl.operations import completion
from eosctl.render.formats import yaml_text
from eosctl.render.gates import junit, sarif
from eosctl.render.watch_files import kubernetes_objects
from eosctl.shell.completion import complete
from tests.attack.test_terminal_names import HOSTILE
from tests.render.audit_reports import rich_report

HERE = Address(0)
PARTS = ("a", "ö", "{", "](", ", x: 1", "# x", "<", "&", "\n", "\x85", "'", "\\")
NAMES = st.lists(st.sampled_from((*HOSTILE, *PARTS))).map("".join)
WRITABLE = NAMES.map(lambda name: name.encode("utf-8", "ignore").decode())
BLOCK = "kind: K\nmetadata:\n  name: o\nspec:\n  config: {}\n  list:\n  - a\n"
FLOW = "kind: K\nmetadata: {name: o}\nspec: {config: {a: b}, list: [a]}\n"
JSON = '{"kind": "K", "metadata": {"name": "o"}, "spec": {"config": {"a": "b"}, "list": ["a"]}}'


def unseen(text, but=""):
    return [ascii(char) for char in UNSEEN.findall(text) if char not in "\n" + but]


@pytest.mark.parametrize("text", [BLOCK, FLOW], ids=["block", "flow"])
@given(name=WRITABLE)
def test_an_edited_resource_shows_every_character_and_reads_back(text, name):
    edited = set_value(text, HERE, ("metadata", "name"), f"x{name}")
    edited = set_value(edited, HERE, ("spec", "config", f"k{name}"), f"v{name}")
    edited = append_items(edited, HERE, ("spec", "list"), [{f"i{name}": f"w{name}"}])
    edited = append_document(edited, {f"d{name}": [name]})
    assert unseen(edited) == []
    first, second = decode_kubernetes_yaml(edited, "f")
    assert first["metadata"]["name"] == f"x{name}"
    assert first["spec"]["config"][f"k{name}"] == f"v{name}"
    assert first["spec"]["list"] == ["a", {f"i{name}": f"w{name}"}]
    assert second == {f"d{name}": [name]}


@given(name=WRITABLE)
def test_an_edited_resource_in_json_stays_json(name):
    edited = set_value(JSON, HERE, ("metadata", "name"), f"x{name}")
    edited = append_items(edited, HERE, ("spec", "list"), [f"w{name}"])
    assert unseen(edited, but="\U000e0041") == []
    for read in (json.loads(edited), decode_kubernetes_yaml(edited, "f")[0]):
        assert (read["metadata"]["name"], read["spec"]["list"]) == (f"x{name}", ["a", f"w{name}"])


@given(name=NAMES)
def test_findings_with_hostile_names_are_safe_in_files_for_pipelines(name):
    finding = Finding(OFFSET_SET_BACK, Severity.ERROR, f"s{name}", f"m{name}", f"c{name}")
    report = replace(rich_report(), findings=(finding, finding), kinds=(OFFSET_SET_BACK,))
    gate = gate_of("audit", report)
    found = json.loads(sarif(gate))["runs"][0]["results"]
    assert [unseen(sarif(gate)), unseen(junit(gate))] == [[], []]
    assert len(found) == 2
    assert len({each["partialFingerprints"]["primaryLocationLineHash"] for each in found}) == 2
    assert len(ElementTree.fromstring(junit(gate)).findall(".//failure")) == 1


@given(name=NAMES)
def test_objects_of_kubernetes_for_watch_show_every_character(name):
    file = SimpleNamespace(profiles=(f"p{name}",), program="eosctl", address="a:1", every_s=1, version="1")
    text = yaml_text(kubernetes_objects(file, {"groups": []}), explicit_start=True)
    assert unseen(text) == []
    *_, nightly = yaml.safe_load_all(text)
    container = nightly["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["eosctl", "audit", "--profile", f"p{name}"]


@pytest.mark.parametrize("char", HOSTILE, ids=ascii)
def test_a_tab_offers_no_name_with_a_character_that_is_not_seen(char, monkeypatch):
    monkeypatch.setattr(completion, "profile_names", lambda: ("seen", f"a{char}b"))
    offers = complete(root_command(), "eosctl profile use ")
    assert offers == ["seen"]
