"""`eosctl offsets diff` of files, which asks no cluster."""


def test_a_file_that_is_taken_for_another_connector_by_its_name_is_named(eosctl, tmp_path):
    body = '{"offsets": [{"partition": {"f": 1}, "offset": {"p": %d}}]}'
    for name, position in (("off", 1), ("pay", 2)):
        (tmp_path / f"{name}.json").write_text(body % position)
    files = [str(tmp_path / name) for name in ("off.json", "pay.json")]
    ran = eosctl("offsets", "diff", *files)
    assert ran.exit_code == 1
    assert "off.json is taken for the offsets of connector off" in ran.stderr
    named = eosctl("offsets", "diff", *files, "--connector", "pay")
    assert (named.exit_code, named.stderr) == (1, "")
