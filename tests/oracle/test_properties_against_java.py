"""decode_properties and java.util.Properties read the same files and must agree in every key and value."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from properties_oracle import PropertiesOracle

from eosctl.codecs.properties import ENCODING, decode_properties
from eosctl.errors import ConfigError

CORPUS = sorted((Path(__file__).parents[1] / "golden" / "properties").glob("*.properties"))
SPECIAL = "\\\\\\=: \t\f\n\r#!\n\\u00fcu0ab \xfc\x85\x00"

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def oracle():
    with PropertiesOracle() as running:
        yield running


def decoded(file):
    try:
        return decode_properties(file.decode(ENCODING), origin="file")
    except ConfigError:
        return None


def test_the_corpus_is_there():
    assert len(CORPUS) >= 40


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_a_file_is_read_as_java_reads_it(oracle, file):
    content = file.read_bytes()
    assert decoded(content) == oracle.decode(content)


def _campaign(examples):
    quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    return settings(max_examples=examples, database=None, suppress_health_check=quiet)


FILES = st.one_of(
    st.binary(max_size=60),
    st.text(SPECIAL, max_size=40).map(lambda text: text.encode(ENCODING)),
    st.lists(st.sampled_from(["\\", "\n", "\r", " ", "#", "=", "a", "\\u00e9", "\\u"]), max_size=12).map(
        lambda parts: "".join(parts).encode()
    ),
)


@_campaign(2_000)
@example(b"\\\n#x")
@example(b"\\\r\n")
@example(b"\\\n!\\")
@given(file=FILES)
def test_any_bytes_are_read_as_java_reads_them(oracle, file):
    assert decoded(file) == oracle.decode(file)


@pytest.mark.long
@_campaign(200_000)
@given(file=FILES)
def test_any_bytes_are_read_as_java_reads_them_over_a_campaign(oracle, file):
    assert decoded(file) == oracle.decode(file)
