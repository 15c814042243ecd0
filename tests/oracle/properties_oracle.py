"""java.util.Properties itself, through PropertiesOracle.java."""

from pathlib import Path

from eosctl.sandbox.jars import DEFAULT_KAFKA_VERSION, resolve_jars
from eosctl.sandbox.java import compile_java, find_java
from tests.jvm import Oracle, sized

SOURCE = Path(__file__).with_name("PropertiesOracle.java")


class PropertiesOracle(Oracle):
    """One JVM that reads properties files."""

    def __init__(self) -> None:
        jars = resolve_jars(DEFAULT_KAFKA_VERSION, lambda _: None)
        classes = compile_java(jars.compiler, SOURCE, str(jars.compiler))
        super().__init__(
            [str(find_java()), "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp", str(classes), "PropertiesOracle"]
        )

    def decode(self, file: bytes) -> dict[str, str] | None:
        """Key -> value as Java reads the file, None where it refuses it."""
        answer = self.answer_to(sized(file))
        return None if "malformed" in answer else answer["properties"]
