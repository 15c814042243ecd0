"""The bill of materials names everything that the lock files pin, and nothing else."""

import json
import re

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from eosctl.version import __version__
from tests.project.sbom import bill_of_materials, write_bill
from tests.project.test_distribution import LOCK


def test_every_pinned_package_and_jar_is_in_the_bill_with_its_hashes():
    bill = bill_of_materials()
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", __version__)
    packages = {each["purl"]: each for each in bill["components"] if "purl" in each}
    lock = LOCK.read_text()
    assert len(packages) == len(re.findall(r"^[A-Za-z0-9].*==", lock, re.MULTILINE))
    hashes = [each["content"] for part in packages.values() for each in part["externalReferences"][0]["hashes"]]
    assert len(hashes) == lock.count("--hash=sha256:")
    names = {each["name"] for each in bill["components"]}
    assert {"httpcore", "typer", "kafka_2.13-4.3.1.jar", "kafka_2.13-3.3.2.jar"} <= names


def test_references_are_unique_and_all_of_them_lead_somewhere():
    bill = bill_of_materials()
    references = [bill["metadata"]["component"]["bom-ref"], *(each["bom-ref"] for each in bill["components"])]
    assert len(references) == len(set(references))
    assert {each["ref"] for each in bill["dependencies"]} == set(references)
    [whole] = [each for each in bill["dependencies"] if "dependsOn" in each]
    assert whole["ref"] == bill["metadata"]["component"]["bom-ref"]
    assert set(whole["dependsOn"]) <= set(references)


def test_the_bill_follows_the_schema_of_cyclonedx(tmp_path):
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(write_bill(tmp_path).read_text()) is None


def test_the_bill_is_the_same_for_the_same_lock_files(tmp_path):
    assert json.loads(write_bill(tmp_path).read_text()) == bill_of_materials()
