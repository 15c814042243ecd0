"""What the rules know of workers: the same from a properties file of each and from the resource of all of them."""

from pathlib import Path

import pytest

from eosctl.analysis.upgrade import check_upgrade
from eosctl.errors import ConfigError
from eosctl.model.evidence import Evidence, WorkerEvidence
from eosctl.model.rules import Phase
from eosctl.model.skipped import Skipped
from eosctl.operations.evidence_request import EvidenceRequest, files_of, worker_files_of
from tests.strimzi_shapes import SHAPES, THREE_PRINCIPALS, Shape

URLS = ("http://w1:8083", "http://w2:8083")
UNKNOWN: dict[str, WorkerEvidence | Skipped] = {url: Skipped("not asked here") for url in URLS}


def files_as(shape: Shape, folder: Path) -> tuple[EvidenceRequest, EvidenceRequest]:
    """The request with a properties file of each worker, and that with the resource."""
    worker = "".join(f"{key}={value}\n" for key, value in shape.worker.items())
    for number in (1, 2):
        (folder / f"w{number}").write_text(f"{worker}rest.advertised.host.name=w{number}\nrest.advertised.port=8083\n")
    (folder / "connect.yaml").write_text(shape.worker_yaml.replace("replicas: 1", "replicas: 2"))
    return (
        EvidenceRequest({}, (folder / "w1", folder / "w2")),
        EvidenceRequest({}, (folder / "connect.yaml",)),
    )


@pytest.mark.parametrize("name", SHAPES)
def test_both_forms_say_the_same_of_each_worker(tmp_path: Path, name: str):
    by_file, by_resource = (dict(worker_files_of(each, UNKNOWN)) for each in files_as(SHAPES[name], tmp_path))
    own = {"rest.advertised.host.name", "rest.advertised.port"}
    assert list(by_file) == list(by_resource) == list(URLS)
    for url in URLS:
        told = {key: value for key, value in by_file[url].items() if key not in own}
        assert told == {key: value for key, value in by_resource[url].items() if key in told}
    verdicts = [
        check_upgrade(Evidence(as_of=0, worker_files=files, group_id="g"), phase).verdict
        for phase in Phase
        if phase in {Phase.PREPARING, Phase.ENABLED, Phase.DISABLED}
        for files in (by_file, by_resource)
    ]
    assert verdicts[0::2] == verdicts[1::2]


def test_each_worker_is_told_of_by_the_file_of_the_resource(tmp_path: Path):
    _, request = files_as(THREE_PRINCIPALS, tmp_path)
    evidence = Evidence(as_of=0, worker_files=worker_files_of(request, UNKNOWN), group_id="g")
    assert files_of(request, evidence) == dict.fromkeys(URLS, str(tmp_path / "connect.yaml"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("observedGeneration: 4", "observedGeneration: 3", "has not carried out generation 4 of .* yet, it has 3"),
        ("replicas: 3", "replicas: 1", "has 1 replica, and 2 workers were asked"),
    ],
)
def test_a_resource_that_does_not_say_what_the_workers_run_with_is_refused(
    tmp_path: Path, old: str, new: str, said: str
):
    (tmp_path / "connect.yaml").write_text(THREE_PRINCIPALS.worker_yaml.replace(old, new))
    with pytest.raises(ConfigError, match=said):
        worker_files_of(EvidenceRequest({}, (tmp_path / "connect.yaml",)), UNKNOWN)
