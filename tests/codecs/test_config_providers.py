"""References to config providers become values, and nothing else changes."""

import pytest

from eosctl.codecs.client_properties import KNOWN, resolve_references
from eosctl.errors import ConfigError
from eosctl.sources.config_providers import look_up


def told(provider, path, key):
    return f"<{provider.rpartition('.')[2]} {path} {key}>"


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("${file:/etc/x.properties:key}", "<FileConfigProvider /etc/x.properties key>"),
        ("a ${env:NAME} b ${env:OTHER}", "a <EnvVarConfigProvider  NAME> b <EnvVarConfigProvider  OTHER>"),
        ("${dir:/run/secrets:password}", "<DirectoryConfigProvider /run/secrets password>"),
        ("${vault:a:b} ${nothing} $ {env:X}", "${vault:a:b} ${nothing} $ {env:X}"),
    ],
)
def test_references_are_replaced_where_they_stand(value, resolved):
    assert resolve_references({"key": value}, told, origin="file") == {"key": resolved}


def test_declared_providers_are_called_by_their_own_name():
    properties = {"config.providers": "e", "config.providers.e.class": KNOWN["env"], "a": "${e:NAME}"}
    assert resolve_references(properties, told, origin="file")["a"] == "<EnvVarConfigProvider  NAME>"


def test_what_a_provider_gives_is_not_resolved_again():
    assert resolve_references({"a": "${env:A}"}, lambda *_: "${env:B}", origin="file") == {"a": "${env:B}"}


def test_files_environment_and_directories_are_looked_up(tmp_path, monkeypatch):
    (tmp_path / "p.properties").write_text("key = geheim \n")
    (tmp_path / "password").write_text("geheim\n")
    monkeypatch.setenv("EOSCTL_TEST_SECRET", "geheim")
    given = {
        "a": f"${{file:{tmp_path}/p.properties:key}}",
        "b": "${env:EOSCTL_TEST_SECRET}",
        "c": f"${{dir:{tmp_path}:password}}",
    }
    assert resolve_references(given, look_up, origin="file") == {"a": "geheim ", "b": "geheim", "c": "geheim\n"}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("${env:EOSCTL_NOT_THERE}", r"a from f: \$\{env:EOSCTL_NOT_THERE\}: the environment has no EOSCTL_NOT_THERE"),
        ("${file:/not/there:key}", "cannot read the provider's file /not/there"),
        ("${dir:/tmp:../etc/passwd}", "is not the name of a file in /tmp"),
        ("${v:a:b}", "config provider x.Vault is not known here"),
    ],
)
def test_what_cannot_be_looked_up_is_said(value, says):
    given = {"config.providers": "v", "config.providers.v.class": "x.Vault", "a": value}
    with pytest.raises(ConfigError, match=says):
        resolve_references(given, look_up, origin="f")
