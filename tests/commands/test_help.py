"""Help, explanations and schemas on the command line."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from eosctl import cli
from eosctl.analysis.catalogue.index import THEMES
from eosctl.analysis.errors import ERROR_PATTERNS
from eosctl.errors import EosctlError
from eosctl.render.answers.kinds import KINDS
from eosctl.render.formats import Output
from eosctl.shell.completion import SCRIPTS
from eosctl.shell.help import in_words
from tests.commands.tree import commands

TREE = commands()


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        (["-h"], ["--help"]),
        (["help"], ["--help"]),
        (["-V"], ["--version"]),
        (["fence", "-h"], ["fence", "--help"]),
        (["help", "fence"], ["fence", "--help"]),
        (["help", "offsets", "show"], ["offsets", "show", "--help"]),
        (["-o", "json", "help", "offsets"], ["offsets", "--help"]),
        (["offsets"], ["offsets", "--help"]),
        (["transactions"], ["transactions", "--help"]),
    ],
)
def test_help_is_shown_however_it_is_asked_for(eosctl, asked, same):
    ran = eosctl(*asked)
    assert ran.exit_code == 0
    assert ran.stdout == eosctl(*same).stdout
    assert ran.stderr == ""


@pytest.mark.parametrize(
    "args", [["-o", "json", "offsets"], ["offsets", "-o", "json"], ["-b", "broker:9092", "offsets"]]
)
def test_a_group_with_options_and_no_command_is_an_error(eosctl, args):
    ran = eosctl(*args)
    assert ran.exit_code == 2
    assert "Missing command." in ran.stderr


@pytest.mark.parametrize(
    ("typed", "meant"), [("docter", "doctor"), ("conector", "connector"), ("transaction", "transactions")]
)
def test_help_of_a_command_that_does_not_exist_names_the_one_most_like_it(eosctl, typed, meant):
    ran = eosctl("help", typed)
    assert ran.exit_code == 2
    assert f"No such command '{typed}'. Did you mean '{meant}'?\n" in ran.stderr


def test_commands_are_grouped_by_what_they_are_for(eosctl):
    titles = re.findall(r"^([A-Z][a-z ]+):$", eosctl("--help").stdout, re.MULTILINE)
    themes = ["Diagnose", "Transactions", "Offsets", "Access", "Plans", "Prove", "Set up"]
    assert titles == ["Examples", "Exit codes", *themes, "Options"]


def test_every_command_has_one_line_at_80_columns_with_its_whole_summary(eosctl):
    groups = [each for each in TREE if each.commands]
    for group in groups:
        shown = eosctl(*group.path.split()[1:], "--help").stdout
        for each in TREE:
            parent, _, name = each.path.rpartition(" ")
            if parent == group.path:
                assert re.search(rf"^  {name} +{re.escape(each.summary)}$", shown, re.MULTILINE), each.path


def test_usage_names_arguments_without_nested_brackets():
    usages = {each.path: each.usage for each in TREE}
    assert usages["eosctl explain"] == "eosctl explain [OPTIONS] [ID|ERROR...]"
    assert usages["eosctl profile use"] == "eosctl profile use [OPTIONS] NAME"
    assert usages["eosctl transactions describe"] == "eosctl transactions describe [OPTIONS] ID..."
    assert [usage for usage in usages.values() if re.search(r"\[\[|[{}<>]|\.\.\.\.", usage)] == []


def test_values_and_bounds_are_in_words():
    odd = re.compile(r"[<>]=|\d\.0\b[;\]]|^<|^\[[A-Z|]+\]")
    parameters = [(each.path, one) for each in TREE for one in each.parameters]
    assert [(path, one.name) for path, one in parameters if odd.search(one.help) or odd.search(one.value or "")] == []
    timeout = next(one for path, one in parameters if path == "eosctl fence" and one.name == "timeout")
    expected = "Timeout of one request. A connection to a broker must open within 10 s.  [default: 30; at least 0.001]"
    assert timeout.help == expected


@pytest.mark.parametrize(
    ("typers", "ours"),
    [
        ("[x>=1]", "[at least 1]"),
        ("[x<=9.5]", "[at most 9.5]"),
        ("[default: 1; 0<=x<=3]", "[default: 1; 0 to 3]"),
        ("[default: 15.0; x>=0.0]", "[default: 15; at least 0]"),
        ("[default: 4.3.1]", "[default: 4.3.1]"),
        ("[default: 127.0.0.1:9464; or none]", "[default: 127.0.0.1:9464; or none]"),
        ("[default: 0.0.0.0:1]", "[default: 0.0.0.0:1]"),
        ("[default: 4.0.0]", "[default: 4.0.0]"),
        ("[default: 1.0-rc1]", "[default: 1.0-rc1]"),
        ("[default: 2.0; 1.0<=x<=3.0]", "[default: 2; 1 to 3]"),
        ("max>=1", "max>=1"),
        ("Input should be less than or equal to 3", "must be at most 3"),
        ("Invalid value for '--a' (env var: 'EOSCTL_A'): 'x' is", "Invalid value for '--a': 'x' is"),
        ("Input should be a valid integer, unable to parse string as an integer", "must be a valid integer"),
        ("Value error, 'x' is not one of 'a'", "'x' is not one of 'a'"),
        ("Missing option '--to'. Choose from:\n\ta,\n\tb", "Missing option '--to'. Choose from a, b"),
    ],
)
def test_messages_of_typer_are_reworded(typers, ours):
    assert in_words(typers) == ours


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_the_shell(eosctl, shell):
    ran = eosctl("completion", shell)
    assert ran.exit_code == 0
    assert ran.stdout == SCRIPTS[shell].format(generated=f"made by `eosctl completion {shell}`")


def test_completion_of_another_shell_is_an_error(eosctl):
    ran = eosctl("completion", "tcsh")
    assert ran.exit_code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in ran.stderr


def test_all_help_as_json_has_what_a_program_needs_to_type_a_command(eosctl):
    ran = eosctl("--help-json")
    answer = json.loads(ran.stdout)
    assert (ran.exit_code, answer["kind"], answer["version"]) == (0, "help", 1)
    commands = {each["path"]: each for each in answer["data"]["commands"]}
    assert list(commands) == [each.path for each in TREE]
    options = {each["name"]: each for each in commands["eosctl doctor"]["parameters"]}
    told = {name: (each["value"], each["choices"], each["default"], each["repeated"]) for name, each in options.items()}
    assert told["severity"] == ("error|warning|info", ["error", "warning", "info"], "info", False)
    assert told["timeout"] == ("SECONDS", [], 30.0, False)
    assert told["worker_config"] == ("FILE", [], None, True)
    assert told["preflight"] == (None, [], True, False)
    assert told["verbose"] == (None, [], 0, True)
    assert options["output"]["choices"] == list(Output)


def test_all_help_as_json_explains_every_exit_code(eosctl):
    def codes(error):
        yield str(error.exit_code)
        for each in error.__subclasses__():
            yield from codes(each)

    meanings = json.loads(eosctl("--help-json").stdout)["data"]["exit_codes"]
    assert meanings.keys() == {"0", "1", "3", *codes(EosctlError)}
    assert meanings["3"] == "incomplete: not all was read"
    assert meanings["74"] == "the answer could not be written"


def explained(ran):
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)["data"]["explanations"]


def test_a_finding_is_explained_by_its_id_and_by_its_name(eosctl):
    [shadow] = explained(eosctl("explain", "eos080", "-o", "json"))
    assert (shadow["id"], shadow["name"], shadow["title"]) == ("EOS080", "shadowed-offset", "shadowed offset")
    assert shadow["severity"] == "error"
    assert "eosctl migrate-offsets --connector <connector>" in shadow["commands"][0]
    assert shadow["reported_by"] == ["doctor", "upgrade-check", "offsets show"]
    assert explained(eosctl("explain", "shadowed-offset", "-o", "json")) == [shadow]


def test_a_name_that_three_topics_share_explains_each(eosctl):
    found = explained(eosctl("explain", "open-transaction", "-o", "json"))
    assert [(each["id"], each["reported_by"][-1]) for each in found] == [
        ("EOS063", "inspect-config"),
        ("EOS088", "offsets show"),
        ("EOS233", "audit"),
    ]


def test_people_read_the_fix_and_who_reports_it(eosctl):
    lines = eosctl("explain", "EOS203").stdout.splitlines()
    assert lines[0] == "FINDING      zombie wrote source offsets"
    assert lines[-1] == "REPORTED-BY  audit"


def test_an_error_is_explained_as_before_and_has_no_severity(eosctl):
    [error] = explained(eosctl("explain", "InvalidPidMappingException", "-o", "json"))
    assert (error["id"], error["name"], error["severity"], error["reported_by"]) == ("id-expired", None, None, [])
    assert eosctl("explain", "InvalidPidMappingException").stdout.startswith("ERROR ")


@pytest.mark.parametrize(
    ("text", "near"),
    [("EOS0800", "EOS080"), ("shadow-offset", "shadowed-offset"), ("ProducerFencdException", "ProducerFencedException"),
     ("org.apache.kafka.common.errors.TransactionCoordinatrFencdException:", "TransactionCoordinatorFencedException")],
)  # fmt: skip
def test_an_unknown_name_is_reported_with_names_that_are_spelt_alike(eosctl, text, near):
    ran = eosctl("explain", text, "-o", "json")
    data = json.loads(ran.stdout)["data"]
    assert (ran.exit_code, data["explanations"], near in data["near"]) == (1, [], True)
    said = eosctl("explain", text)
    assert (said.exit_code, " ".join(said.stdout.split())[:19]) == (1, "No entry matches: " + text[0])


def test_each_command_stands_on_a_line_of_its_own_however_narrow_the_terminal_is(eosctl, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = eosctl("explain", "task pay-0: ProducerFencedException", "--group-id", "ours").stdout.splitlines()
    commands = [line.partition("eosctl ")[2] for line in lines if "eosctl " in line]
    assert commands == [
        "transactions describe ours-pay-0 --group-id ours",
        "transactions log ours-pay-0 --history",
        "inspect-config --connector pay --group-id ours",
    ]


def test_a_text_like_no_entry_is_reported_as_unknown(eosctl):
    ran = eosctl("explain", "xyzzy 12")
    assert ran.exit_code == 1
    assert " ".join(ran.stdout.split()) == "No entry matches: xyzzy 12. `eosctl explain --list` lists all entries."


@pytest.mark.parametrize(
    ("text", "title"),
    [("KafkaStorageException", "KafkaStorageException: KAFKA_STORAGE_ERROR, code 56"),
     ("the broker answered OFFSET_NOT_AVAILABLE", "OFFSET_NOT_AVAILABLE, code 78"),
     ("org.apache.kafka.connect.errors.ConnectException: it broke", "errors.ConnectException")],
)  # fmt: skip
def test_a_class_of_kafka_is_explained_by_the_protocol(eosctl, text, title):
    [found] = explained(eosctl("explain", text, "-o", "json"))
    assert found["title"].endswith(title)
    assert "retriable" in found["cause"]


def test_the_list_has_every_finding_under_its_theme_and_every_error(eosctl):
    data = json.loads(eosctl("explain", "--list", "-o", "json").stdout)["data"]
    assert [(each["theme"], each["id"], each["name"]) for each in data["rules"]] == [
        (theme.title, kind.id, kind.name) for theme in THEMES for kind in theme.kinds
    ]
    assert [each["id"] for each in data["errors"]] == [pattern.id for pattern in ERROR_PATTERNS]


def test_the_group_of_the_environment_stands_in_the_commands(eosctl, monkeypatch):
    monkeypatch.setenv("EOSCTL_GROUP_ID", "g7")
    [error] = explained(eosctl("explain", "ProducerFencedException in task pay-0", "-o", "json"))
    assert error["commands"][0] == "eosctl transactions describe g7-pay-0 --group-id g7"


def test_a_profile_s_group_and_its_name_stand_in_the_commands(eosctl):
    assert eosctl("profile", "add", "lab", "-b", "lab:9092", "--group-id", "g8").exit_code == 0
    [error] = explained(eosctl("explain", "ProducerFencedException in task pay-0", "--profile", "lab", "-o", "json"))
    assert error["commands"][0] == "eosctl transactions describe g8-pay-0 --group-id g8 --profile lab"
    assert eosctl("profile", "use", "lab").exit_code == 0
    [error] = explained(eosctl("explain", "ProducerFencedException in task pay-0", "-o", "json"))
    assert error["commands"][0] == "eosctl transactions describe g8-pay-0 --group-id g8"


def test_a_schema_is_printed_as_it_is_and_accepts_what_the_command_prints(eosctl):
    schema = json.loads(eosctl("schema", "explain").stdout)
    document = json.loads(eosctl("explain", "EOS001", "-o", "json").stdout)
    jsonschema.Draft202012Validator(schema).validate(document)
    del document["data"]["explanations"][0]["cause"]
    with pytest.raises(jsonschema.ValidationError, match="'cause' is a required property"):
        jsonschema.Draft202012Validator(schema).validate(document)


def test_programs_that_ask_for_documents_get_one(eosctl):
    document = json.loads(eosctl("schema", "explain", "-o", "json").stdout)
    assert document["kind"] == "schema"
    assert document["data"]["schema"] == json.loads(eosctl("schema", "explain").stdout)


def test_without_a_kind_all_are_listed(eosctl):
    rows = json.loads(eosctl("schema", "-o", "json").stdout)["data"]["kinds"]
    assert [row["kind"] for row in rows] == [kind.name for kind in KINDS]
    assert {"kind": "fence", "version": 1, "commands": ["fence"]} in rows


@pytest.mark.parametrize(
    "args",
    [
        ("schema",),
        ("explain", "EOS001"),
        ("explain",),
        ("watch", "--once", "-b", "127.0.0.1:1", "--timeout", "1"),
        ("schema", "nothing"),
    ],
)
def test_lines_are_what_their_schemas_say(eosctl, args):
    """As every document that a test has a command print is (tests/schemas.py)."""
    lines = [json.loads(line) for line in eosctl(*args, "-o", "jsonl").stdout.splitlines()]
    assert {each["kind"].partition("/")[0] for each in lines} == {lines[0]["kind"]}


def test_a_kind_that_does_not_exist_leads_to_the_one_like_it(eosctl):
    ran = eosctl("schema", "ofsets.show")
    assert ran.exit_code == 2
    assert "there is no document of kind ofsets.show" in ran.stderr
    assert "did you mean offsets.show" in ran.stderr


def test_errors_and_the_help_have_schemas_too(eosctl):
    error = json.loads(eosctl("schema", "nothing", "-o", "json").stdout)
    jsonschema.Draft202012Validator(json.loads(eosctl("schema", "error").stdout)).validate(error)
    helped = json.loads(eosctl("--help-json").stdout)
    jsonschema.Draft202012Validator(json.loads(eosctl("schema", "help").stdout)).validate(helped)


def _commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, each in getattr(command, "commands", {}).items():
        yield from _commands(each, *path, name)
    if not getattr(command, "commands", {}):
        yield path, command


def test_every_default_in_help_is_what_the_code_uses(eosctl) -> None:
    """Also where it has a dot, a zero or a colon: the words of help once made 127.0.1 of an address."""
    wrong, seen = [], 0
    for path, command in _commands(cli.root_command()):
        shown = "".join(eosctl(*path, "--help").stdout.split())  # a line may end within a default
        for option in command.params:
            default = getattr(option.default, "value", option.default)
            plain = isinstance(default, (str, float, int)) and default not in ("", True, False)
            if option.show_default is True and plain:
                seen += 1
                text = f"{default:g}" if isinstance(default, float) else str(default)
                wrong += [] if f"default:{text}" in shown else [(path, option.name, text)]
    assert not wrong, "\n".join(map(str, wrong))
    assert seen > 20
