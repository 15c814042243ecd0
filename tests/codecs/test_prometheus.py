"""Samples as lines of Prometheus' text format."""

from eosctl.codecs.prometheus import encode_samples
from eosctl.model.watch import Metric, Sample

UP = Metric("eosctl_up", "whether it is up")
LAG = Metric("eosctl_lag", "records behind", ("group", "topic"))


def test_a_metric_has_its_help_and_type_before_its_samples_and_a_label_is_escaped() -> None:
    samples = [Sample(LAG, ("g", "t"), 3), Sample(UP, (), 1.5), Sample(LAG, ('a"b', "c\\d\ne"), 0)]
    assert list(encode_samples(samples)) == [
        "# HELP eosctl_lag records behind",
        "# TYPE eosctl_lag gauge",
        'eosctl_lag{group="g",topic="t"} 3',
        'eosctl_lag{group="a\\"b",topic="c\\\\d\\ne"} 0',
        "# HELP eosctl_up whether it is up",
        "# TYPE eosctl_up gauge",
        "eosctl_up 1.5",
    ]
