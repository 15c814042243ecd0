"""map_subject and Kafka's own SslPrincipalMapper make the same names of certificates' subjects."""

import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from eosctl.codecs.client_properties import map_subject
from eosctl.errors import ConfigError
from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, resolve_jars
from eosctl.sandbox.java import compile_java
from tests.jvm import java_with

pytestmark = pytest.mark.kafka

Mapper = Callable[[str, str], str | None]
SUBJECTS = ("CN=orders,OU=Data,O=Example,C=DE", "CN=orders", "CN=Ünal\\, J.,O=a/b", "OU=Data,CN=x")
PATTERNS = (
    *("^CN=(.*?),.*$", "^CN=(.*?)$", "CN=(.*?),OU=(.*?)", "^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$", ".*", "(.*)"),
    *("^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$", "^cn=(.*)$", "CN=(\\w+)(,.*)?", "^CN=(.*),O=a\\/b$", "(", "[a-"),
)
# No two numbers without a group in one: Kafka escapes the second one in the wrong place.
REPLACEMENTS = ("$1", "$1@$2", "$0", "$12", "$01", "x", "", "$4", "\\$1", "a\\\\b", "$1/x".replace("/", "\\/"))


@pytest.fixture(scope="module")
def kafka() -> Iterator[Mapper]:
    """Kafka's result for (rules, subject): None where it refuses."""
    jars = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None)
    source = Path(__file__).with_name("PrincipalRulesOracle.java")
    classes = compile_java(jars.compiler, source, jars.classpath)
    launcher = java_with(jars, classes)
    with subprocess.Popen(
        [*launcher, "PrincipalRulesOracle"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:

        def ask(rules: str, subject: str) -> str | None:
            texts = [text.encode() for text in (rules, subject)]
            process.stdin.write(b"".join(struct.pack(">i", len(text)) + text for text in texts))
            process.stdin.flush()
            answer = process.stdout.readline().decode().rstrip("\n")
            return answer[1:] if answer.startswith("=") else None

        yield ask
        process.stdin.close()


def ours(rules: str, subject: str) -> str | None:
    try:
        return map_subject(subject, rules)
    except ConfigError:
        return None


RULE = st.one_of(
    st.sampled_from(["DEFAULT", "", "default", "RULE:x"]),
    st.builds(
        "RULE:{}/{}/{}".format,
        st.sampled_from(PATTERNS),
        st.sampled_from(REPLACEMENTS),
        st.sampled_from(["", "L", "U", "x"]),
    ),
)


@settings(max_examples=500, database=None, suppress_health_check=list(HealthCheck))
@example(["RULE:.*/x/"], "CN=orders", ",")
@example(["RULE:^CN=(.*?),.*$/$1/L", "DEFAULT"], "CN=Orders,O=x", " , ")
@given(st.lists(RULE, min_size=1, max_size=3), st.sampled_from(SUBJECTS), st.sampled_from([",", ", ", " , "]))
def test_a_subject_gets_the_name_that_kafka_gives_it(kafka: Mapper, rules: list[str], subject: str, comma: str):
    text = comma.join(rules)
    assert ours(text, subject) == kafka(text, subject), text
