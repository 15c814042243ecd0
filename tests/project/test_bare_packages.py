"""Modules that are opened without running them differ from whole ones in time alone."""

import json
import platform
import subprocess
import sys
from importlib import import_module, resources

import pytest

from eosctl.bare_packages import CALLED, ELSEWHERE, load_json, read_text, system

CONNECTED = {"_ssl", "_hashlib", "kafka.net.sasl.scram", "kafka.metrics", "kafka.protocol.consumer.group"}
"""Modules of other logins and protections than those of a plain connection, and of work that eosctl leaves alone."""
UNUSED = {"difflib", "gettext", "importlib.resources", "platform", "shutil", "textwrap", "typer.completion"}
"""Modules of help, of names like one that is not known, and of other systems."""

LENIENT = ("typing_extensions", "get_type_hints")
"""Where typing has a function of its own of that name, as in Python 3.11, it knows fewer forms."""


@pytest.mark.parametrize(
    ("module", "name", "place"),
    [
        (module, name, place)
        for module, names in ELSEWHERE.items()
        for name, place in names.items()
        if place != "eosctl.bare_packages" and (module, name) != LENIENT
    ],
)
def test_a_name_of_another_module_is_the_same_there(module, name, place):
    assert getattr(import_module(module), name) is getattr(import_module(place), name)


@pytest.mark.parametrize(("module", "name"), [(module, name) for module in CALLED for name in sorted(CALLED[module])])
def test_a_name_that_is_only_called_can_be(module, name):
    assert callable(getattr(import_module(module), name))


def test_a_file_of_a_package_has_the_text_that_importlib_reads():
    package = "kafka.protocol.schemas.resources"
    names = [each.name for each in resources.files(package).iterdir() if each.name.endswith(".json")]
    assert len(names) > 90
    for name in names:
        assert read_text(package, name) == read_text(import_module(package), name) == resources.read_text(package, name)


def test_the_schema_of_a_message_is_that_of_the_library_without_its_comments():
    code = "import json, sys; from kafka.protocol.schemas import load_json\n"
    code += "assert load_json.__module__ == 'kafka.protocol.schemas.load_json'\n"
    code += "print(json.dumps({name: load_json(name) for name in sys.argv[1:]}))"
    resources_of = resources.files("kafka.protocol.schemas.resources")
    names = [each.name.removesuffix(".json") for each in resources_of.iterdir() if each.name.endswith(".json")]
    given = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True).stdout
    for name, schema in json.loads(given).items():
        schema.pop("license")
        schema.pop("doc", None)
        assert load_json(name) == schema


def test_the_operating_system_has_the_name_that_platform_gives():
    assert system() == platform.system()


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_call_runs_the_module_and_gives_its_value():
    code = "import sys; from eosctl.bare_packages import SELDOM_USED, open_bare; open_bare(SELDOM_USED)\n"
    code += "from kafka.net.sasl import get_sasl_mechanism; from hashlib import sha256\n"
    code += "assert not {'_hashlib', 'kafka.net.sasl.plain'} & set(sys.modules)\n"
    code += "print(sha256(b'').hexdigest()[:8], get_sasl_mechanism('PLAIN').__name__)\n"
    code += "import kafka.net.sasl; print(kafka.net.sasl.get_sasl_mechanism.__module__)"
    ran = run(code)
    assert ran.stdout == "e3b0c442 SaslMechanismPlain\nkafka.net.sasl\n", ran.stderr


def test_a_fork_ignores_ctrl_c_before_it_becomes_another_program():
    """As pyspark starts Spark. The functions of _signal, which are no names of signal, refuse its SIG_IGN."""
    code = "from eosctl.bare_packages import SELDOM_USED, open_bare; open_bare(SELDOM_USED)\n"
    code += "import signal, subprocess\n"
    code += "ignore = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    code += "print(subprocess.run(['true'], preexec_fn=ignore).returncode)"
    ran = run(code)
    assert ran.stdout == "0\n", ran.stderr


def test_a_plain_connection_loads_neither_tls_nor_logins_nor_help():
    code = "import atexit, sys\n"
    code += "whole = lambda: (name for name, each in sys.modules.items() if type(each) is type(sys))\n"
    code += "atexit.register(lambda: print('LOADED', *whole(), file=sys.stderr))\n"
    code += "sys.argv = ['eosctl', 'inspect-config', '-b', '127.0.0.1:1', '--group-id', 'g', '--timeout', '1']\n"
    code += "from eosctl.__main__ import main; main()"
    loaded = set(run(code).stderr.partition("LOADED ")[2].split())
    assert "kafka.net.connection" in loaded
    assert loaded & (CONNECTED | UNUSED) == set()
