"""Help: how it is asked for, how it is ordered, and that it reads."""

import json
import re

import pytest

from eosctl import cli
from eosctl.errors import EosctlError
from eosctl.render.formats import Output
from eosctl.shell.command_tree import walk
from eosctl.shell.completion import SCRIPTS
from eosctl.shell.help import in_words

TREE = tuple(walk(cli.root_command(), cli.PROGRAM))


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


def test_help_of_a_command_that_does_not_exist_names_one_like_it(eosctl):
    ran = eosctl("help", "docter")
    assert ran.exit_code == 2
    assert "No such command 'docter'. Did you mean 'doctor'?" in ran.stderr


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
    assert timeout.help == "How long one request may take.  [default: 30; at least 0.001]"


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
        ("Input should be a valid integer, unable to parse string as an integer", "must be a valid integer"),
        ("Value error, 'x' is not one of 'a'", "'x' is not one of 'a'"),
        ("Missing option '--to'. Choose from:\n\ta,\n\tb", "Missing option '--to'. Choose from a, b"),
    ],
)
def test_what_typer_says_is_put_in_words(typers, ours):
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


def test_all_help_as_json_says_what_every_exit_code_means(eosctl):
    def codes(error):
        yield str(error.exit_code)
        for each in error.__subclasses__():
            yield from codes(each)

    meanings = json.loads(eosctl("--help-json").stdout)["data"]["exit_codes"]
    assert meanings.keys() == {"0", "1", "3", *codes(EosctlError)}
    assert meanings["3"] == "incomplete: not all was read"
    assert meanings["74"] == "the answer could not be written"
