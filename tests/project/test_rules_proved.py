"""Every rule is proved on a real cluster by a test that says so, or says why it cannot be."""

from pathlib import Path

import pytest

from eosctl.analysis.rules.registry import RULES
from tools.reference.proofs import proofs

ROOT = Path(__file__).parents[2]
PROVED = proofs(ROOT)


def test_each_rule_is_proved_or_gives_its_reason() -> None:
    assert sorted(PROVED) == sorted(rule.id for rule in RULES if rule.unproven is None)


@pytest.mark.parametrize(("rule", "test"), list(PROVED.items()))
def test_the_module_of_a_proof_looks_for_the_rule(rule: str, test: str) -> None:
    text = (ROOT / test.partition("::")[0]).read_text()
    assert text.count(rule) > text.count(f'proves("{rule}")')


def test_two_tests_that_claim_one_rule_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "integration"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / f"test_{name}.py").write_text('@pytest.mark.proves("EOS001")\ndef test_it(): ...\n')
    with pytest.raises(ValueError, match=r"test_a.py::test_it and .*test_b.py::test_it both claim to prove EOS001"):
        proofs(tmp_path)
