"""Histograms whose buckets double."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosctl.model.audit_states import bucket_bounds, quantile


@pytest.mark.parametrize(("bucket", "bounds"), [(0, (0, 0)), (1, (1, 1)), (2, (2, 3)), (3, (4, 7)), (11, (1024, 2047))])
def test_a_bucket_holds_figures_up_to_the_double(bucket, bounds):
    assert bucket_bounds(bucket) == bounds


@given(st.integers(0, 2**63))
def test_every_figure_lies_in_the_bucket_of_its_bit_length(figure):
    low, high = bucket_bounds(figure.bit_length())
    assert low <= figure <= high


@pytest.mark.parametrize(
    ("histogram", "share", "expected"),
    [
        ({}, 0.5, None),
        ({0: 0}, 0.5, None),
        ({0: 3}, 0.99, 0),
        ({3: 50, 4: 49, 9: 1}, 0.5, 7),
        ({3: 50, 4: 49, 9: 1}, 0.51, 15),
        ({3: 50, 4: 49, 9: 1}, 0.99, 15),
        ({3: 50, 4: 49, 9: 1}, 1.0, 511),
    ],
)
def test_a_quantile_is_the_highest_figure_of_its_bucket(histogram, share, expected):
    assert quantile(histogram, share) == expected


@given(st.lists(st.integers(0, 2**40), min_size=1), st.floats(0.01, 1))
def test_no_fewer_than_that_share_lie_below_a_quantile(figures, share):
    histogram = {figure.bit_length(): 0 for figure in figures}
    for figure in figures:
        histogram[figure.bit_length()] += 1
    found = quantile(histogram, share)
    assert sum(figure <= found for figure in figures) >= share * len(figures) - 1e-9
